"""EFA: what the ranks' variables make of the device: on, off, slower, or the end of the process."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from fabriclint.comparison import declared_comparison
from fabriclint.node import Scalar, Unknown
from fabriclint.pod import Variable, WorkerPod
from fabriclint.rule import Finding, Fix, Place, RenameKey, ReplaceText, SetValue, Severity, rule
from fabriclint.schema.suggest import misspelt
from fabriclint.views import JobView
from fabriclint_rules.alike import once
from fabriclint_rules.efa_pods import (
    EFA,
    attached,
    hidden,
    lets_efa_in,
    machines,
    meant,
    missing_variable,
    on_neuron,
    switch,
    text_of,
    written,
)
from fabriclint_rules.pod_mending import add_variable
from fabriclint_schemas.variables import efa, libfabric, nccl

_FORK_SAFE = "FI_EFA_FORK_SAFE"
_RDMA = "FI_EFA_USE_DEVICE_RDMA"
_VERBS_FORK = ("RDMAV_FORK_SAFE", "IBV_FORK_SAFE")
_INTEGER = re.compile(r"\s*[+-]?(0[xX][0-9a-fA-F]+|\d+)")


def _off(pod: WorkerPod) -> bool:
    """Whether EFA's rules about NCCL do not apply: Neuron's own stack, or no EFA at all."""
    return pod.worker is None or on_neuron(pod.worker) or not meant(pod)


@rule("EFA003", "fork-safe", Severity.WARNING, on=JobView, yields_to=("EFA001",))
def fork_safe(job: JobView) -> Iterator[Finding]:
    """Fork safety is asked for with FI_EFA_FORK_SAFE, and for nothing with RDMAV_FORK_SAFE.

    The OFI plugin sets FI_EFA_FORK_SAFE by itself. RDMAV_FORK_SAFE and IBV_FORK_SAFE act on all of ibverbs: on current
    kernels they do nothing, on older ones they switch huge pages off, as FI_EFA_FORK_SAFE does. With
    FI_EFA_USE_HUGE_PAGE=1 libfabric aborts the process there. AICR's contract writes FI_EFA_FORK_SAFE=1 out.

    Fix: remove RDMAV_FORK_SAFE; write FI_EFA_FORK_SAFE=1 where the contract asks for it.
    Silent: FI_EFA_FORK_SAFE missing outside of AICR's contract, FI_EFA_USE_HUGE_PAGE=0 (the cure for 'Cannot allocate
    memory' at fork), jobs without EFA, Neuron, variables out of view.
    Bad: the older name (efa-jobset)
        @@ env:
        +   - name: RDMAV_FORK_SAFE # <-
        +     value: "1"
    Bad: the older name in its place (efa-trainjob)
        ~ FI_EFA_FORK_SAFE => RDMAV_FORK_SAFE # <-
    Bad: huge pages by force, handed on by mpirun (efa-mpijob)
        ~ NCCL_DEBUG=WARN => FI_EFA_USE_HUGE_PAGE=1 # <-
    Bad: AICR's contract without it (efa-trainjob)
        @@ env: # <-
        -   - name: FI_EFA_FORK_SAFE
        -     value: "1"
    Good: not written out in a job of another kind (efa-jobset)
        ~ value: WARN => value: VERSION
    Good: no huge pages, on purpose (efa-pytorchjob)
        @@ env:
        +   - name: FI_EFA_USE_HUGE_PAGE
        +     value: "0"
    Good: another fabric's job keeps its variable (nccl-jobset)
        @@ env:
        +   - name: RDMAV_FORK_SAFE
        +     value: "1"
    Source: aws/aws-ofi-nccl@2daf7d3 src/platform-aws.cpp, doc/efa-env-var.md; ofiwg/libfabric@af8ddbe
        prov/efa/src/efa_fork_support.c; NVIDIA AICR, "Attaching a Training Workload to the Cluster Fabric".
    """
    yield from once(job, _fork_safe)


def _lacks_fork_safe(pod: WorkerPod) -> bool:
    """Whether AICR's contract holds and its FI_EFA_FORK_SAFE is nowhere, under a misspelt name neither."""
    if pod.contract != "aicr" or not attached(pod) or hidden(pod):
        return False
    names = written(pod)
    return _FORK_SAFE not in names and not any(_meant_name(n) == _FORK_SAFE for n in names.variables)


def _fork_safe(pod: WorkerPod) -> Iterator[Finding]:
    if _off(pod):
        return
    environment = pod.ranks_env
    lacking = _lacks_fork_safe(pod)
    found = False
    for name in _VERBS_FORK:
        variable = environment.get(name)
        if variable is not None:
            found = True
            yield pod.finding(
                name_of(variable)[0],
                f"'{name}' does nothing for EFA on current kernels and switches huge pages off on older ones; the OFI plugin "
                f"sets '{_FORK_SAFE}' itself.",
                help=f"Write '{_FORK_SAFE}=1' in its place."
                if lacking
                else f"Remove '{name}'; write '{_FORK_SAFE}=1' where fork safety is to be written out.",
                by_contract=lacking,
            )
            break
    huge = environment.get("FI_EFA_USE_HUGE_PAGE")
    value = text_of(huge.value) if huge is not None else None
    if huge is not None and value is not None and switch(value):
        yield pod.finding(
            huge.place,
            "'FI_EFA_USE_HUGE_PAGE=1' beside fork safety, which the OFI plugin asks for, aborts the process on kernels before 5.13.",
            help="Remove it: huge pages are used where they are safe.",
        )
    if found or not lacking:
        return
    yield pod.finding(
        missing_variable(pod),
        f"The ranks' environment lacks '{_FORK_SAFE}=1', which AICR's tested EFA runtime sets; a process that forks may corrupt "
        "registered memory.",
        help=f"Add '{_FORK_SAFE}' with the value \"1\".",
        by_contract=True,
        fix=add_variable(pod.worker, _FORK_SAFE, "1") if pod.worker is not None else None,
    )


@rule("EFA004", "socket-ifname", Severity.WARNING, on=JobView, also=(Severity.NOTE,), yields_to=("EFA001",))
def socket_ifname(job: JobView) -> Iterator[Finding]:
    """NCCL is told its bootstrap interface where it can see more than one.

    On the host's network of a machine with many EFA cards NCCL sees every interface and may take one that does not
    reach the other nodes: the job hangs before any transport is chosen. In a pod's own network there is only eth0.

    Fix: set NCCL_SOCKET_IFNAME: eth0 in the pod network; on the host's network a list that leaves the traps out.
    Silent: pods in the pod network outside of AICR's contract, machines with one EFA device, one node, Neuron.
    Bad: the host's network (efa-jobset)
        @@ restartPolicy: Never
        + hostNetwork: true
        + dnsPolicy: ClusterFirstWithHostNet
        @@ pretrain.py
          env: # <-
    Bad: the contract pins the interface (efa-trainjob)
        @@ env: # <-
        -   - name: NCCL_SOCKET_IFNAME
        -     value: eth0
    Good: a pod has eth0 alone (efa-jobset)
        ~ value: WARN => value: VERSION
    Good: the host's network with the traps left out (efa-jobset)
        @@ restartPolicy: Never
        + hostNetwork: true
        + dnsPolicy: ClusterFirstWithHostNet
        @@ env:
        +   - name: NCCL_SOCKET_IFNAME
        +     value: ^lo,docker,veth,eni,pod-id-link0
    Source: NVIDIA/nccl@5067397 src/misc/socket.cc; aws/amazon-vpc-cni-k8s@b521883; NVIDIA AICR, "Attaching a Training
        Workload to the Cluster Fabric".
    """
    yield from once(job, _socket_ifname)


def _socket_ifname(pod: WorkerPod) -> Iterator[Finding]:
    worker = pod.worker
    if _off(pod) or worker is None or not attached(pod) or pod.multi_node is False or hidden(pod):
        return
    names = written(pod)
    if "NCCL_SOCKET_IFNAME" in names or any(_meant_name(n) == "NCCL_SOCKET_IFNAME" for n in names.variables):
        return
    amount = worker.amount(EFA)
    admitted = machines(pod)
    many = (amount is not None and not isinstance(amount, Unknown) and amount > 1) or (
        admitted is not None and all(t.efa > 1 for t in admitted)
    )
    if not many:
        return
    sees_more = pod.host_network or efa()["multi-nic"] in pod.annotations
    if not sees_more and pod.contract != "aicr":
        return
    if sees_more:
        message = (
            "NCCL_SOCKET_IFNAME is not set and the pod sees every interface of a node with many EFA cards; NCCL may take one that "
            "does not reach the other nodes, and the job hangs."
        )
        help = f"Set NCCL_SOCKET_IFNAME, to '{efa()['complete exclusion']}' or to the name that `ip route get 1.1.1.1` prints there."
    else:
        message = "The ranks' environment lacks 'NCCL_SOCKET_IFNAME=eth0', which AICR's tested EFA runtime pins; NCCL chooses its bootstrap interface itself."
        help = "Add NCCL_SOCKET_IFNAME with the value eth0."
    yield pod.finding(
        missing_variable(pod),
        message,
        help=help,
        severity=Severity.NOTE if worker.start.probe and not pod.by_ssh else None,
        by_contract=not sees_more,
        fix=add_variable(worker, "NCCL_SOCKET_IFNAME", "eth0") if not sees_more else None,
    )


@rule(
    "EFA007",
    "provider-disabled",
    Severity.ERROR,
    on=JobView,
    also=(Severity.WARNING, Severity.NOTE),
    yields_on_line=("DOC003", "DOC008"),
)
def provider_disabled(job: JobView) -> Iterator[Finding]:
    """No variable takes the ranks off the EFA device that they asked for.

    FI_PROVIDER without `efa`, another network in NCCL_NET, or NCCL_NET_PLUGIN=none leave the devices idle: NCCL runs
    over TCP or stops. FI_EFA_USE_DEVICE_RDMA=0 makes the plugin refuse to start on machines with GPUDirect, and =1
    aborts the process on those whose EFA cannot read by RDMA.

    Fix: remove the variable, or give it the value that the message names.
    Silent: pods that ask for no EFA, NCCL_IB_DISABLE (EFA does not use NCCL's InfiniBand transport), NVLink checks of
    one rack with NCCL_NET_PLUGIN=none, Neuron; a file that declares itself a comparison run gets a warning.
    Bad: another provider (efa-jobset)
        ~ value: efa => value: tcp # <-
    Bad: the plugin switched off for a job in which mpirun hands the variable on (efa-mpijob)
        ~ NCCL_DEBUG=WARN => NCCL_NET_PLUGIN=none # <-
    Bad: GPUDirect switched off where the plugin needs it (efa-pytorchjob)
        @@ env:
        +   - name: FI_EFA_USE_DEVICE_RDMA
        +     value: "0" # <-
    Bad: exported in the start text (efa-lws)
        ~ export FI_PROVIDER=efa => export FI_PROVIDER=^efa # <-
    Bad: the device cannot read by RDMA (efa-raycluster)
        ~ g6e.48xlarge => g5.48xlarge
        @@ env:
        +   - name: FI_EFA_USE_DEVICE_RDMA
        +     value: "1" # <-
        ~ vpc.amazonaws.com/efa: "4" => vpc.amazonaws.com/efa: "1"
    Bad: NCCL over sockets (efa-jobset)
        ~ value: AWS Libfabric => value: Socket # <-
    Bad: doubled connections where GPUDirect works (efa-jobset)
        ~ name: NCCL_DEBUG => name: OFI_NCCL_NIC_DUP_CONNS
        ~ value: WARN => value: "4" # <-
    Good: RDMA off where the device has none (efa-raycluster)
        ~ g6e.48xlarge => g5.48xlarge
        @@ env:
        +   - name: FI_EFA_USE_DEVICE_RDMA
        +     value: "0"
        ~ vpc.amazonaws.com/efa: "4" => vpc.amazonaws.com/efa: "1"
    Good: a list that keeps efa, and NCCL's InfiniBand switched off (efa-jobset)
        ~ value: efa => value: ^tcp,sockets
        ~ name: NCCL_DEBUG => name: NCCL_IB_DISABLE
        ~ value: WARN => value: "1"
    Good: the plugin by name (efa-mpijob)
        ~ NCCL_DEBUG=WARN => NCCL_NET_PLUGIN=ofi
    Source: ofiwg/libfabric@af8ddbe src/fabric.c, prov/efa/src/rdm/efa_rdm_util.c; aws/aws-ofi-nccl@2daf7d3
        src/platform-aws.cpp; NVIDIA/nccl@5067397 src/plugin/net.cc; NVIDIA/aicr#2277.
    """
    yield from once(job, _provider_disabled)


def _provider_disabled(pod: WorkerPod) -> Iterator[Finding]:
    worker = pod.worker
    if worker is None or on_neuron(worker) or not attached(pod):
        return
    heavy = Severity.ERROR
    found = [*_provider(pod), *_device_rdma(pod), *_network(pod), *_plugin(pod), *_gpudirect(pod)]
    if any(f.severity is None for f in found) and declared_comparison(pod):
        heavy = Severity.WARNING
    if any(f.severity is not Severity.NOTE for f in found):
        found = [f for f in found if f.severity is not Severity.NOTE]
    for finding in found:
        yield finding.with_(severity=heavy) if finding.severity is None else finding


def _value(pod: WorkerPod, name: str) -> tuple[Variable, str] | None:
    variable = pod.ranks_env.get(name)
    value = text_of(variable.value) if variable is not None else None
    return (variable, value) if variable is not None and value is not None else None


def _provider(pod: WorkerPod) -> Iterator[Finding]:
    found = _value(pod, "FI_PROVIDER")
    if found is None:
        return
    variable, value = found
    if not lets_efa_in(value):
        yield pod.finding(
            variable.place,
            f"'FI_PROVIDER={value}' leaves the efa provider out; libfabric does not use the EFA devices that the pod asks for."
            if value
            else "An empty 'FI_PROVIDER' filters every provider out; libfabric does not use the EFA devices that the pod asks for.",
            help="Write 'efa', or remove the variable.",
        )
    elif value != "efa" and not value.startswith("^"):
        yield pod.finding(
            variable.place,
            f"'FI_PROVIDER={value}' keeps EFA, but only exactly 'efa' or nothing lets the plugin choose its settings for AWS.",
            help="Write 'efa', or remove the variable.",
            severity=Severity.NOTE,
        )


def _device_rdma(pod: WorkerPod) -> Iterator[Finding]:
    found = _value(pod, _RDMA)
    worker = pod.worker
    if found is None or worker is None:
        return
    variable, value = found
    wanted = switch(value)
    admitted = machines(pod)
    if wanted is None:
        yield pod.finding(
            variable.place,
            f"'{_RDMA}={value}' is none of libfabric's words for on and off; the process aborts.",
            help='Write "1" or "0", or remove the variable: since libfabric 1.18 the device decides.',
        )
        return
    if wanted:
        if admitted is not None and all(not t.reads_rdma for t in admitted):
            yield pod.finding(
                variable.place,
                f"'{_RDMA}={value}' on '{admitted[0].name}', whose EFA cannot read by RDMA; the process aborts.",
                help='Write "0", or remove the variable.',
            )
        return
    if _value(pod, "OFI_NCCL_DISABLE_GDR_REQUIRED_CHECK") is not None:
        return
    if admitted is not None:
        if all(t.requires_gpudirect for t in admitted):
            yield pod.finding(
                variable.place,
                f"'{_RDMA}={value}' on '{admitted[0].name}' switches GPUDirect off; the OFI plugin refuses to start without it and "
                "NCCL falls back to TCP.",
                help="Remove the variable: the device decides.",
            )
        elif all(t.reads_rdma for t in admitted):
            yield pod.finding(
                variable.place,
                f"'{_RDMA}={value}' on '{admitted[0].name}' switches off what its EFA can do; transfers are slower.",
                help="Remove the variable: the device decides.",
                severity=Severity.WARNING,
            )
        return
    amount = worker.amount(EFA)
    gpus = worker.gpus
    several = not isinstance(amount, Unknown) and amount is not None and amount > 1
    whole = not isinstance(gpus, Unknown) and gpus >= 8
    yield pod.finding(
        variable.place,
        f"'{_RDMA}={value}' is right on g4dn, g5 and p3dn alone; where the machine has GPUDirect the OFI plugin refuses to start and "
        "NCCL falls back to TCP.",
        help="Remove the variable: the device decides.",
        severity=Severity.WARNING if several and whole else Severity.NOTE,
    )


def _network(pod: WorkerPod) -> Iterator[Finding]:
    found = _value(pod, "NCCL_NET")
    if found is None:
        return
    variable, value = found
    data = efa()
    if value.lower() in data["networks"]:
        return
    end = (
        "NCCL runs over TCP and the EFA devices stay idle."
        if value.lower() == "socket"
        else "NCCL does not use the EFA devices."
    )
    if value.lower() not in ("socket", "ib"):
        end = "no network of EFA has that name, and NCCL does not start."
    yield pod.finding(
        variable.place,
        f"'NCCL_NET={value}' beside EFA; {end}",
        help=f"Write '{data['network']}', the name that every release of the OFI plugin answers to, or remove the variable.",
        silences=("NCCL005", "NCCL006"),
    )


def _plugin(pod: WorkerPod) -> Iterator[Finding]:
    found = _value(pod, "NCCL_NET_PLUGIN")
    worker = pod.worker
    if found is None or worker is None:
        return
    variable, value = found
    data = efa()
    lowered = value.lower()
    name = lowered.rsplit("/", 1)[-1].removeprefix("libnccl-net-").removesuffix(".so")
    another = name in data["other plugins"] or any(w in lowered for w in ("hpcx", "sharp"))
    if not another and any(w in lowered for w in data["plugin words"]):
        return
    if another:
        launched = any(c.start.probe for p in pod.launchers for c in p.main_containers)
        if (worker.start.probe or launched) and any("imex" in c or "compute-domain" in c for c in pod.claim_classes()):
            return
        what = "switches every network plugin off" if name == "none" else "is another network's plugin"
        yield pod.finding(
            variable.place,
            f"'NCCL_NET_PLUGIN={value}' {what}; the OFI plugin is not loaded and NCCL falls back to TCP beside idle EFA devices.",
            help="Remove the variable, or name the OFI plugin: 'ofi' from its release 1.15 on, or its file's full path.",
            silences=("NCCL006",),
        )
    elif value == "":
        yield pod.finding(
            variable.place,
            "An empty 'NCCL_NET_PLUGIN' means no plugin since NCCL 2.27; EFA is then not used.",
            help="Remove the variable.",
            severity=Severity.WARNING,
        )
    else:
        yield pod.finding(
            variable.place,
            f"'NCCL_NET_PLUGIN={value}' is no name of the OFI plugin; when no such file is found NCCL goes on without EFA.",
            help="Remove the variable, or name the plugin: 'ofi' from its release 1.15 on, or its file's full path.",
            severity=Severity.NOTE,
        )


def _gpudirect(pod: WorkerPod) -> Iterator[Finding]:
    admitted = machines(pod)
    direct = admitted is not None and all(t.requires_gpudirect for t in admitted)
    found = _value(pod, "FI_HMEM_DISABLE_P2P")
    if found is not None and switch(found[1]) and (admitted is None or direct):
        yield pod.finding(
            found[0].place,
            "'FI_HMEM_DISABLE_P2P=1' takes GPUDirect away; machines with it do not start the OFI plugin, others stage every byte in "
            "host memory.",
            help="Remove the variable.",
            severity=Severity.WARNING,
        )
    found = _value(pod, "NCCL_NET_GDR_LEVEL")
    if found is not None and direct and (found[1] == "LOC" or re.match(r"\s*0+(?![1-9xX])", found[1])):
        yield pod.finding(
            found[0].place,
            f"'NCCL_NET_GDR_LEVEL={found[1]}' keeps GPUDirect off on '{admitted[0].name if admitted else ''}'; every byte goes through "
            "host memory.",
            help="Remove the variable: NCCL knows the distance.",
            severity=Severity.WARNING,
        )
    found = _value(pod, "OFI_NCCL_NIC_DUP_CONNS")
    if found is not None and direct and re.fullmatch(r"\s*\+?0*[1-9]\d*", found[1]):
        yield pod.finding(
            found[0].place,
            f"'OFI_NCCL_NIC_DUP_CONNS={found[1]}' is for machines without GPUDirect, and '{admitted[0].name if admitted else ''}' "
            "has it; the OFI plugin refuses to start and NCCL falls back to TCP.",
            help="Remove the variable.",
        )
    found = _value(pod, "OFI_NCCL_PROTOCOL")
    fast = direct and all(t.family.startswith(("p5", "p6")) for t in admitted or ())
    if found is not None and fast and found[1].upper() == "SENDRECV":
        yield pod.finding(
            found[0].place,
            "'OFI_NCCL_PROTOCOL=SENDRECV' is the slower protocol on this machine; the plugin would take RDMA.",
            help="Remove the variable.",
            severity=Severity.NOTE,
        )
    found = _value(pod, "NCCL_PROTO")
    if found is not None and found[1].lower() == "simple":
        yield pod.finding(
            found[0].place,
            "'NCCL_PROTO=simple' was needed up to release 1.5 of the OFI plugin; since then it forbids the faster protocols.",
            help="Remove the variable.",
            severity=Severity.NOTE,
        )


def _meant_name(name: str) -> str | None:
    """The known variable that a misspelt one stands for; None for known names and for those of others."""
    data = libfabric()
    if name in data["slips"]:
        return str(data["slips"][name])
    if name.startswith(("RDMAV_", "IBV_")):
        return misspelt(name, data["verbs"]) if name not in data["verbs"] else None
    if name.startswith("OFI_NCCL_"):
        plugin = nccl()["plugin"]
        if name in plugin["variables"] or name in plugin["build names"]:
            return None
        return misspelt(name, plugin["variables"])
    if name.startswith("NCCL_"):
        return misspelt(name, ("NCCL_SOCKET_IFNAME",)) if name != "NCCL_SOCKET_IFNAME" else None
    if not name.startswith("FI_") or name in data["names"] or name.startswith(tuple(data["other providers"])):
        return None
    near = misspelt(name, data["names"])
    if near is not None:
        return near
    longer = [n for n in data["names"] if n.startswith(name + "_")]
    shorter = [n for n in data["names"] if name.startswith(n + "_")]
    both = longer or shorter
    return both[0] if len(both) == 1 and name.count("_") >= 2 else None


@rule("EFA008", "misspelt-variable", Severity.WARNING, on=JobView)
def misspelt_variable(job: JobView) -> Iterator[Finding]:
    """Variables of libfabric and of the OFI plugin are spelt as those read them.

    A name that nobody reads is ignored without a word: what it was to change stays as it is.

    Fix: write the name that the message gives.
    Silent: names that are near to no known one, names of other providers (FI_TCP_..., FI_VERBS_...), build arguments
    such as OFI_NCCL_VERSION.
    Bad: a letter left out (efa-jobset)
        ~ name: FI_PROVIDER => name: FI_PROVIDR # <-
    Bad: half of a name (efa-pytorchjob)
        @@ env:
        +   - name: FI_EFA_ENABLE_SHM # <-
        +     value: "0"
    Bad: a slip that mpirun hands on (efa-mpijob)
        ~ NCCL_DEBUG=WARN => RDMAV_FORM_SAFE=1 # <-
    Bad: the plugin's own (efa-lws)
        ~ export FI_EFA_USE_DEVICE_RDMA=1 => export OFI_NCCL_PROTOCOLL=RDMA # <-
    Good: another provider's name (efa-jobset)
        ~ name: NCCL_DEBUG => name: FI_OFI_RXM_USE_SRX
        ~ value: WARN => value: "1"
    Good: a build argument (efa-pytorchjob)
        @@ env:
        +   - name: OFI_NCCL_VERSION
        +     value: 1.16.3
    Source: ofiwg/libfabric@af8ddbe prov/efa/src/efa_env.c; aws/aws-ofi-nccl@2daf7d3 include/nccl_ofi_param.h.
    """
    yield from once(job, _misspelt)


def _misspelt(pod: WorkerPod) -> Iterator[Finding]:
    for variable in written(pod).variables.values():
        name = variable.name
        if name.startswith("NCCL_") and name not in libfabric()["slips"]:
            continue
        right = _meant_name(name)
        if right is None:
            continue
        place, fix = name_of(variable, right)
        yield pod.finding(
            place,
            f"Nothing reads the variable '{name}'; it is ignored, and what it was to change stays as it is.",
            help=f"Write '{right}'.",
            fix=fix,
        )


def name_of(variable: Variable, right: str | None = None) -> tuple[Place, Fix | None]:
    """The place of a variable's name, and the fix that writes another name there."""
    node = variable.place.node
    parent = node.parent
    if variable.origin in ("env", "mpirun") and variable.place.within is None and parent is not None:
        name = parent.at("name")
        if name is not None and getattr(name, "value", None) == variable.name:
            fix = Fix(f"write {right}", (SetValue(name, right),)) if right is not None else None
            return Place(name), fix
    within = variable.place.within
    if within is not None and isinstance(node, Scalar) and isinstance(node.value, str):
        end = within[0] + len(variable.name)
        if node.value[within[0] : end] == variable.name:
            span = (within[0], end)
            fix = Fix(f"write {right}", (ReplaceText(node, span, right),)) if right is not None else None
            return Place(node, within=span), fix
    if variable.origin == "envFrom" and node.key == variable.name:
        fix = Fix(f"write {right}", (RenameKey(node, right),)) if right is not None else None
        return Place(node, on_key=True), fix
    return variable.place, None


@rule("EFA010", "fatal-variable", Severity.ERROR, on=JobView, also=(Severity.WARNING, Severity.NOTE))
def fatal_variable(job: JobView) -> Iterator[Finding]:
    """No variable is set that makes libfabric's EFA provider abort, or that no release reads any more.

    Some retired variables end the process as soon as they are set, whatever their value, so that nobody relies on
    them. Others are simply not read any more.

    Fix: remove the variable.
    Silent: jobs without EFA.
    Bad: a retired size (efa-jobset)
        @@ env:
        +   - name: FI_EFA_MTU_SIZE # <-
        +     value: "9000"
    Bad: handed on by mpirun (efa-mpijob)
        ~ NCCL_DEBUG=WARN => FI_EFA_TX_IOV_LIMIT=4 # <-
    Bad: no credits (efa-lws)
        ~ export FI_EFA_USE_DEVICE_RDMA=1 => export FI_EFA_TX_MIN_CREDITS=0 # <-
    Good: credits (efa-lws)
        ~ export FI_EFA_USE_DEVICE_RDMA=1 => export FI_EFA_TX_MIN_CREDITS=64
    Good: a size that is read (efa-jobset)
        @@ env:
        +   - name: FI_EFA_TX_SIZE
        +     value: "4096"
    Source: ofiwg/libfabric@af8ddbe prov/efa/src/efa_env.c and at the tags v1.13 to v2.6.
    """
    yield from once(job, _fatal)


def _fatal(pod: WorkerPod) -> Iterator[Finding]:
    if pod.worker is None or not meant(pod):
        return
    data = libfabric()
    environment = pod.ranks_env
    for name, since in data["aborts"].items():
        variable = environment.get(name)
        if variable is not None:
            yield pod.finding(
                name_of(variable)[0],
                f"'{name}' is retired: libfabric {since} and later abort the process when it is set, whatever its value.",
                help="Remove the variable.",
            )
    found = _value(pod, "FI_EFA_TX_MIN_CREDITS")
    if found is not None and _number(found[1]) <= 0:
        yield pod.finding(
            found[0].place,
            f"'FI_EFA_TX_MIN_CREDITS={found[1]}' is not above zero; libfabric aborts the process.",
            help="Write a number above zero, or remove the variable.",
        )
    found = _value(pod, "FI_EFA_IFACE")
    if found is not None and found[1] == "":
        yield pod.finding(
            found[0].place,
            "An empty 'FI_EFA_IFACE' names no device; libfabric aborts the process.",
            help="Remove the variable: all devices are used.",
        )
    elif found is not None and "," not in found[1] and found[1] != "all" and _several_devices(pod):
        yield pod.finding(
            found[0].place,
            f"'FI_EFA_IFACE={found[1]}' names one device of a pod that has several; the others stay idle.",
            help="Remove the variable: all devices are used.",
            severity=Severity.WARNING,
        )
    for name, since in data["dead"].items():
        variable = environment.get(name)
        if variable is not None:
            yield pod.finding(
                name_of(variable)[0],
                f"Nothing reads '{name}' any more{f' since libfabric {since}' if since else ''}.",
                help="Remove the variable.",
                severity=Severity.NOTE,
            )
    yield from _words(pod, environment.variables.values())


def _several_devices(pod: WorkerPod) -> bool:
    amount = pod.worker.amount(EFA) if pod.worker is not None else None
    return not isinstance(amount, Unknown) and amount is not None and amount > 1


def _number(value: str) -> int:
    """A whole number as libfabric reads it: the rest of the text is ignored, a word is 0."""
    found = _INTEGER.match(value)
    if found is None:
        return 0
    digits = found.group(1)
    negative = "-" in found.group(0)
    base = 16 if digits[:2].lower() == "0x" else 8 if digits.startswith("0") and digits != "0" else 10
    try:
        number = int(digits, base)
    except ValueError:
        number = 0
    return -number if negative else number


def _words(pod: WorkerPod, variables: Iterable[Variable]) -> Iterator[Finding]:
    """Words where libfabric reads a number, and the reverse."""
    data = libfabric()
    for variable in variables:
        value = text_of(variable.value)
        if value is None or variable.name == _RDMA:
            continue
        if variable.name in data["integers"] and switch(value) and not value.strip().isdigit():
            yield pod.finding(
                variable.place,
                f"'{variable.name}' is a number for libfabric: the word '{value}' reads as 0 and switches it off.",
                help='Write "1" or "0".',
                severity=Severity.WARNING,
            )
        elif variable.name in data["switches"] and switch(value) is None:
            yield pod.finding(
                variable.place,
                f"'{variable.name}={value}' is none of libfabric's words for on and off; the default stays.",
                help='Write "1" or "0".',
                severity=Severity.NOTE,
            )


@rule("EFA011", "plugin-variable-value", Severity.ERROR, on=JobView, yields_on_line=("DOC003", "DOC008"))
def plugin_variable_value(job: JobView) -> Iterator[Finding]:
    """Variables of the OFI plugin have values that it can read.

    Up to release 1.15 a bad value was ignored and 1.16 read it as 0; 1.17 and 1.18 end the process while the library
    loads; from 1.19 on the plugin does not start and NCCL falls back to TCP.

    Fix: switches take true, false or a whole number; numbers have no unit; words are those of the plugin.
    Silent: names that the plugin does not know, values out of view.
    Bad: a word for a switch (efa-jobset)
        @@ env:
        +   - name: OFI_NCCL_DISABLE_DMABUF
        +     value: "yes" # <-
    Bad: a unit (efa-mpijob)
        ~ NCCL_DEBUG=WARN => OFI_NCCL_MIN_STRIPE_SIZE=128K # <-
    Bad: a protocol that does not exist (efa-lws)
        ~ export FI_EFA_USE_DEVICE_RDMA=1 => export OFI_NCCL_PROTOCOL=SEND_RECV # <-
    Good: the protocol in any case (efa-lws)
        ~ export FI_EFA_USE_DEVICE_RDMA=1 => export OFI_NCCL_PROTOCOL=rdma
    Good: a switch (efa-jobset)
        @@ env:
        +   - name: OFI_NCCL_DISABLE_DMABUF
        +     value: "True"
    Source: aws/aws-ofi-nccl@ed1861e, 42f78e8, f998c19, 9a68289, 86ebeaf, 2475c4c include/nccl_ofi_param*.h.
    """
    yield from once(job, _plugin_values)


def reads(kind: object, value: str) -> bool:
    """Whether a strict release of the OFI plugin (1.17 on) reads the value of a variable of this kind."""
    if isinstance(kind, list):
        return value.upper() in kind
    number = re.fullmatch(r"\s*[+-]?\d+", value)
    if kind == "switch":
        return value.lower() in ("true", "false") or number is not None
    if kind == "unsigned":
        return re.fullmatch(r"\s*\+?\d+", value) is not None
    if kind == "int":
        return number is not None and -(2**31) <= int(value) < 2**31
    if kind == "number":
        return re.fullmatch(r"\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", value) is not None
    return value != "" and not re.search(r"\s", value)


def _plugin_values(pod: WorkerPod) -> Iterator[Finding]:
    if pod.worker is None:
        return
    plugin = nccl()["plugin"]
    for variable in pod.ranks_env.variables.values():
        kind = plugin["variables"].get(variable.name)
        value = text_of(variable.value)
        if kind is None or value is None:
            continue
        if variable.name in plugin["set at all fails"]:
            yield pod.finding(
                name_of(variable)[0],
                f"'{variable.name}' is removed: from release 1.19 on the OFI plugin does not start when it is set, and NCCL falls back "
                "to TCP.",
                help="Remove the variable.",
            )
        elif not reads(kind, value):
            yield pod.finding(
                variable.place,
                f"The OFI plugin cannot read '{variable.name}={value}'; releases 1.17 and 1.18 end the process, from 1.19 on the plugin "
                "does not start and NCCL falls back to TCP.",
                help=_right(kind),
            )


def _right(kind: object) -> str:
    if isinstance(kind, list):
        return f"Write {' or '.join(kind)}."
    return {
        "switch": "Write true, false, 1 or 0.",
        "text": "Write a text without blanks, or remove the variable.",
        "number": "Write a number without a unit.",
        "unsigned": "Write a whole number without sign and unit.",
    }.get(str(kind), "Write a whole number without a unit.")

"""IB003-IB006, IB009: the variables by which the ranks use InfiniBand, or do not."""

from __future__ import annotations

from collections.abc import Iterator

from fabriclint.comparison import declared_comparison
from fabriclint.node import Scalar, Unknown
from fabriclint.pod import Variable, WorkerPod
from fabriclint.rule import Applicability, Finding, Fix, SetValue, Severity, rule
from fabriclint.views import JobView
from fabriclint_rules.alike import once
from fabriclint_rules.attachment import family, only_probes
from fabriclint_rules.attachments import entries_of
from fabriclint_rules.ib_ranks import by_contract, link, missing, on_infiniband, profile_of, told
from fabriclint_rules.nccl_grammar import InterfaceList, exact_integer, integer
from fabriclint_rules.pod_mending import add_variable
from fabriclint_schemas.verbs import image_has_hpcx, verbs


def _set_fix(variable: Variable, value: str) -> Fix | None:
    node = variable.place.node
    if variable.origin != "env" or not isinstance(node, Scalar) or variable.place.within is not None:
        return None
    return Fix(f"write {value}", (SetValue(node, value, quoted=True),), Applicability.UNSAFE)


def _given(pod: WorkerPod, name: str) -> tuple[Variable, str] | None:
    variable = pod.ranks_env.get(name)
    if variable is None or isinstance(variable.value, Unknown):
        return None
    return variable, variable.value


@rule("IB003", "ib-disabled", Severity.ERROR, on=JobView, also=(Severity.WARNING,))
def ib_disabled(job: JobView) -> Iterator[Finding]:
    """NCCL_IB_DISABLE is 0 or unset where the ranks are wired for InfiniBand.

    Any number but 0 switches NCCL's InfiniBand transport off, and the job runs over TCP without an error. NCCL reads a
    number and nothing else: a word such as `true` is 0, which leaves InfiniBand on.

    Fix: remove the variable or write "0".

    Silent: other fabrics, whose plugins do not read it; one node; runs that declare themselves a comparison by their
    name, a label or a comment.

    Bad: switched off (ib-jobset)
        @@ NCCL_IB_DISABLE
        ~ "0" => "1"  # <-
    Bad: by the launcher, for all ranks (ib-mpijob)
        ~ NCCL_IB_DISABLE=0 => NCCL_IB_DISABLE=1  # <-
    Bad: in a TrainJob (ib-trainjob)
        @@ NCCL_IB_DISABLE
        ~ "0" => "1"  # <-
    Bad: a word is no number (ib-jobset)
        @@ NCCL_IB_DISABLE
        ~ "0" => "true"  # <-
    Good: a comparison that says so (ib-jobset)
        ~ name: weather => name: weather-noib
        ~ weather-node-0-0.weather: => weather-noib-node-0-0.weather-noib:
        @@ NCCL_IB_DISABLE
        ~ "0" => "1"
    Good: an empty value is the default (ib-jobset)
        @@ NCCL_IB_DISABLE
        ~ "0" => ""
    Good: hexadecimal, and zero (ib-mpijob)
        ~ NCCL_IB_DISABLE=0 => NCCL_IB_DISABLE=0x0
    Source: NVIDIA/nccl@5067397 src/misc/param.cc, src/transport/net_ib; Mellanox/nccl-rdma-sharp-plugins@2f5ac02.
    """
    yield from once(job, _disabled)


def _disabled(pod: WorkerPod) -> Iterator[Finding]:
    given = _given(pod, "NCCL_IB_DISABLE")
    if given is None or not on_infiniband(pod) or pod.multi_node is False:
        return
    variable, text = given
    number = integer(text)
    if number is None or (number == 0 and exact_integer(text)):
        return
    if declared_comparison(pod):
        return
    if number == 0:
        meant = "off" if text.strip().lower() in ("true", "yes", "on", "y", "t") else "on"
        yield pod.finding(
            variable.place,
            f"NCCL_IB_DISABLE is '{text}', which NCCL reads as 0; InfiniBand stays on"
            + (
                ", although the value means to switch it off."
                if meant == "off"
                else ", and any other reader may differ."
            ),
            help='Write "0", or "1" to switch it off.',
            severity=Severity.WARNING,
        )
        return
    image = pod.worker.image if pod.worker is not None else None
    plugin = (told(pod, "NCCL_NET_PLUGIN") or "").strip().lower()
    plugin_off = integer(told(pod, "NCCL_IBEXT_DISABLE") or "") not in (None, 0)
    if isinstance(image, str) and image_has_hpcx(image) and plugin != "none" and not plugin_off:
        yield pod.finding(
            variable.place,
            f"NCCL_IB_DISABLE is '{text}': NCCL's own InfiniBand transport is off, and only the image's HPC-X plugin, which "
            "reads NCCL_IBEXT_DISABLE, still uses the cards.",
            help='Remove the variable or write "0".',
            severity=Severity.WARNING,
            fix=_set_fix(variable, "0"),
        )
        return
    pinned = (told(pod, "NCCL_NET") or "").lower() == "ib"
    then = "NCCL, whose NCCL_NET asks for it, stops" if pinned else "the job runs over TCP"
    read = "" if exact_integer(text) else f", which NCCL reads as {number}"
    yield pod.finding(
        variable.place,
        f"NCCL_IB_DISABLE is '{text}'{read}: InfiniBand is switched off and {then}.",
        help='Remove the variable or write "0".',
        fix=_set_fix(variable, "0"),
    )


@rule("IB004", "net-plugin", Severity.WARNING, on=JobView)
def net_plugin(job: JobView) -> Iterator[Finding]:
    """On AICR's AKS, NCCL_NET_PLUGIN is `none`.

    Most images with MPI carry a network plugin that NCCL loads before its own InfiniBand transport. It has its own
    switches and its own faults; the tested setting leaves it out.

    Fix: set NCCL_NET_PLUGIN to none.

    Silent: under the generic contract; `sys`, `spcx` and paths, which are chosen on purpose; NCCL_IBEXT_DISABLE=1, which
    keeps the plugin off; SHARP (NCCL_COLLNET_ENABLE=1, or CollNet in NCCL_ALGO), which needs it.

    Bad: not set (ib-trainjob)
        @@ env:  # <-
        @@ value: "0"
        - - name: NCCL_NET_PLUGIN
        -   value: none
    Bad: another plugin (ib-trainjob)
        ~ value: none => value: ucx  # <-
    Good: the plugin is kept off (ib-trainjob)
        ~ NCCL_NET_PLUGIN => NCCL_IBEXT_DISABLE
        ~ value: none => value: "1"
    Good: none of it holds outside the contract (ib-trainjob; contract=generic)
        @@ value: "0"
        - - name: NCCL_NET_PLUGIN
        -   value: none
    Source: NVIDIA/nccl@5067397 src/plugin/net.cc; NVIDIA AICR, "Attaching a Training Workload to the Cluster Fabric".
    """
    yield from once(job, _plugin)


def _plugin(pod: WorkerPod) -> Iterator[Finding]:
    wanted = profile_of(pod).get("contract", {}).get("NCCL_NET_PLUGIN")
    worker = pod.worker
    if wanted is None or pod.contract != "aicr" or worker is None or pod.multi_node is not True or only_probes(worker):
        return
    algorithm = (told(pod, "NCCL_ALGO") or "").lower()
    if told(pod, "NCCL_COLLNET_ENABLE") == "1" or "collnet" in algorithm:
        return
    given = _given(pod, "NCCL_NET_PLUGIN")
    if given is not None and given[1] != "":
        words = [w.strip().lower() for w in given[1].split(",")]
        if words[0] in (wanted, "sys", "spcx") or "/" in given[1] or words[0].startswith("lib"):
            return
        yield by_contract(
            pod.finding(
                given[0].place,
                f"NCCL_NET_PLUGIN is '{given[1]}', not '{wanted}'; NCCL loads that plugin before its own InfiniBand transport.",
                help=f"Write '{wanted}'.",
                fix=_set_fix(given[0], wanted),
            )
        )
        return
    if not missing(pod, "NCCL_NET_PLUGIN") or integer(told(pod, "NCCL_IBEXT_DISABLE") or "") not in (None, 0):
        return
    yield by_contract(
        pod.finding(
            worker.missing("env"),
            f"NCCL_NET_PLUGIN is not set to '{wanted}'; NCCL loads the network plugin of the image, if it has one, before its own "
            "InfiniBand transport.",
            help=f"Add NCCL_NET_PLUGIN with the value '{wanted}' to the ranks' environment.",
            fix=add_variable(worker, "NCCL_NET_PLUGIN", wanted),
        )
    )


@rule("IB005", "socket-ifname", Severity.WARNING, on=JobView, yields_on_line=("NCCL007",))
def socket_ifname(job: JobView) -> Iterator[Finding]:
    """NCCL_SOCKET_IFNAME names the control interface, not the fabric's.

    NCCL's ranks meet over TCP before any transport is chosen. Over IP on an InfiniBand card that is slow and often not
    routed between nodes; an interface that the pod has not ends the job at once.

    Fix: write the pod's primary interface, eth0.

    Silent: no value under the generic contract; exclusions; interfaces that the pod's own attachments make; providers
    whose profile says so.

    Bad: not set, by AICR's contract (ib-trainjob)
        @@ env:  # <-
        @@ value: none
        - - name: NCCL_SOCKET_IFNAME
        -   value: eth0
    Bad: IP over InfiniBand under the host's network (ib-host)
        ~ value: eth0 => value: ib0  # <-
    Bad: a card of the verbs, not an interface (ib-host)
        ~ value: eth0 => value: "=mlx5_0"  # <-
    Good: an interface of the host, by its full name (ib-host)
        ~ value: eth0 => value: =eno1
    Good: a list for two kinds of nodes (ib-host)
        ~ value: eth0 => value: eth0,ens
    Good: the attachment makes net1 (ib-networks)
        ~ value: eth0 => value: net1
    Source: NVIDIA/nccl@5067397 src/misc/socket.cc, src/bootstrap.cc; NVIDIA AICR.
    """
    yield from once(job, _socket)


def _socket(pod: WorkerPod) -> Iterator[Finding]:
    worker = pod.worker
    if worker is None or pod.multi_node is False or family(pod) not in ("", "IB"):
        return
    given = _given(pod, "NCCL_SOCKET_IFNAME")
    profile = profile_of(pod)
    if given is None or len(given[1]) < 2:
        wanted = profile.get("contract", {}).get("NCCL_SOCKET_IFNAME")
        if wanted is None or pod.contract != "aicr" or pod.multi_node is not True or only_probes(worker):
            return
        if given is None and not missing(pod, "NCCL_SOCKET_IFNAME"):
            return
        yield by_contract(
            pod.finding(
                worker.missing("env") if given is None else given[0].place,
                "NCCL_SOCKET_IFNAME is not set; with several interfaces NCCL may choose one for its bootstrap that other nodes "
                "cannot reach.",
                help=f"Add NCCL_SOCKET_IFNAME with the value '{wanted}' to the ranks' environment.",
                fix=add_variable(worker, "NCCL_SOCKET_IFNAME", wanted)
                if given is None and not pod.host_network
                else None,
            )
        )
        return
    variable, text = given
    listed = InterfaceList(text)
    if listed.excludes:
        return
    allowed = tuple(profile.get("socket_interfaces", ()))
    made = entries_of(pod)
    names = {e.interface or "" for e in made} if made is not None else set()
    for entry in listed.entries:
        if allowed and entry.startswith(allowed):
            continue
        if made is None or any(n.startswith(entry) for n in names if n):
            continue
        if entry.startswith(tuple(verbs()["interface_prefixes"])):
            yield pod.finding(
                variable.place,
                f"NCCL_SOCKET_IFNAME names '{entry}', an interface of the fabric; NCCL's bootstrap then runs over it, and fails "
                "where it has no address that the other nodes reach.",
                help="Write the primary interface: eth0 in a pod's own network.",
                severity=Severity.WARNING,
            )
            return
        if (
            entry.startswith("net")
            and entry[3:].isdecimal()
            and not made
            and not pod.host_network
            and not pod.claim_names
        ):
            yield pod.finding(
                variable.place,
                f"NCCL_SOCKET_IFNAME names '{entry}', but no annotation attaches a second network; the interface does not exist "
                "and NCCL stops with 'no socket interface found'.",
                help="Write 'eth0', or add the annotation k8s.v1.cni.cncf.io/networks.",
                severity=Severity.WARNING,
            )
            return


@rule("IB006", "host-network-ifname", Severity.NOTE, on=JobView)
def host_network_ifname(job: JobView) -> Iterator[Finding]:
    """Under the host's network, NCCL_SOCKET_IFNAME names an interface of the host.

    A pod's own network always has eth0. The host's primary interface may be called otherwise; a name that nothing
    matches ends the job with 'no socket interface found'.

    Fix: take the name that `ip route get 1.1.1.1` prints on the node.

    Silent: providers whose hosts have eth0 (AKS, OKE, Nebius, GKE's fabrics); a list with other names beside it.

    Bad: eth0 of some host (ib-host)
        ~ value: eth0 => value: eth0  # <-
        ~ rdma/hca_shared_devices_a: 1 => rdma/fabric: 1
    Bad: the exact name, which the host may not have either (ib-host)
        ~ value: eth0 => value: "=eth0"  # <-
        ~ rdma/hca_shared_devices_a: 1 => rdma/fabric: 1
    Good: the profile knows the host (ib-host)
        ~ value: eth0 => value: eth0
    Good: two names (ib-host)
        ~ value: eth0 => value: eth0,eno
        ~ rdma/hca_shared_devices_a: 1 => rdma/fabric: 1
    Source: NVIDIA/nccl@5067397 src/misc/socket.cc; NVIDIA NCCL user guide.
    """
    yield from once(job, _host_interface)


#: Fabrics of GKE, whose nodes have eth0 as their primary interface.
_OF_GKE = ("TCPXO", "TCPX", "GIB")


def _host_interface(pod: WorkerPod) -> Iterator[Finding]:
    given = _given(pod, "NCCL_SOCKET_IFNAME")
    if given is None or not pod.host_network or pod.multi_node is False:
        return
    variable, text = given
    listed = InterfaceList(text)
    if listed.excludes or listed.entries != ["eth0"] or profile_of(pod).get("host_interface") == "eth0":
        return
    if family(pod) in _OF_GKE:
        return
    yield pod.finding(
        variable.place,
        "NCCL_SOCKET_IFNAME is 'eth0' and the pod uses the host's network; where the host's primary interface is called "
        "otherwise, NCCL stops with 'no socket interface found'.",
        help="Compare it with what `ip route get 1.1.1.1` prints on the node.",
        severity=Severity.NOTE,
    )


@rule("IB009", "gid-index", Severity.NOTE, on=JobView)
def gid_index(job: JobView) -> Iterator[Finding]:
    """NCCL_IB_GID_INDEX is for RoCE.

    On InfiniBand links NCCL does not use it. The line does no harm; it hints that the file was made for another
    fabric.

    Fix: remove it.

    Silent: RoCE, and resources that do not tell what the cards speak.

    Bad: an index on InfiniBand (ib-jobset)
        @@ env:
        +   - name: NCCL_IB_GID_INDEX
        +     value: "3"  # <-
    Bad: handed out by the launcher (ib-mpijob)
        ~ -x NCCL_IB_DISABLE=0 => -x NCCL_IB_GID_INDEX=3  # <-
    Good: the cards may be RoCE (ib-pytorchjob)
        @@ env:
        +   - name: NCCL_IB_GID_INDEX
        +     value: "3"
    Good: no index (ib-jobset)
        ~ NCCL_IB_DISABLE => NCCL_IB_TIMEOUT
        ~ "0" => "22"
    Source: NVIDIA/nccl@5067397 src/transport/net_ib/connect.cc.
    """
    yield from once(job, _gid)


def _gid(pod: WorkerPod) -> Iterator[Finding]:
    given = _given(pod, "NCCL_IB_GID_INDEX")
    if given is None or link(pod) != "InfiniBand" or (integer(given[1]) or 0) < 0:
        return
    yield pod.finding(
        given[0].place,
        f"NCCL_IB_GID_INDEX is '{given[1]}', but these cards are InfiniBand, where NCCL does not use it.",
        help="Remove it.",
        severity=Severity.NOTE,
    )

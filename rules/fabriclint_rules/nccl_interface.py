"""NCCL007: the interface that the ranks' bootstrap is told to use is one that the pod has."""

from __future__ import annotations

import re
from collections.abc import Iterator

from fabriclint.node import Mapping
from fabriclint.pod import Variable, WorkerPod
from fabriclint.rule import Finding, Severity, rule
from fabriclint.views import JobView
from fabriclint_rules.alike import once
from fabriclint_rules.efa_pods import attached as on_efa
from fabriclint_rules.efa_pods import machines, text_of
from fabriclint_rules.nccl_grammar import InterfaceList
from fabriclint_rules.nccl_variables import judged
from fabriclint_schemas.variables import efa

#: What a pod in its own network has, in the kernel's order.
_POD = ("lo", "eth0")
_ADDRESS = re.compile(
    r"^\^?=?(?:\d{1,3}(?:\.\d{1,3}){3}(?:[:/]\d+)?|\[?[0-9a-fA-F]*:[0-9a-fA-F:]*:[0-9a-fA-F:]*\]?(?::\d+)?|[a-z]+://.*)$"
)
_HOST_FIELDS = ("status.podIP", "status.podIPs", "status.hostIP", "status.hostIPs", "spec.nodeName", "metadata.name")
#: Annotations by which a pod gets more interfaces than its own network's.
_MORE = (
    "k8s.v1.cni.cncf.io/networks",
    "networking.gke.io/interfaces",
    "k8s.amazonaws.com/nicConfig",
    "v1.multus-cni.io/default-network",
)


@rule(
    "NCCL007",
    "socket-ifname-form",
    Severity.ERROR,
    on=JobView,
    also=(Severity.WARNING,),
    yields_on_line=("DOC003", "RUN004"),
)
def socket_ifname_form(job: JobView) -> Iterator[Finding]:
    """NCCL_SOCKET_IFNAME names an interface that the pod has and that reaches the other nodes.

    The value is a list of name prefixes, all excluded by one `^` in front. A list that leaves nothing ends the start
    with 'no socket interface found'; one that leaves `lo` makes every node wait for itself. In its own network a pod
    has eth0 and lo.

    Fix: eth0 in the pod network; on the host's network the name that the host has.
    Silent: values out of view, lists of a pod with further networks, names on the host's network, one node with lo.
    Bad: an exclusion that takes eth0 with it (nccl-jobset)
        ~ value: eth0 => value: ^docker,lo,veth_def_agent,eth # <-
    Bad: a host's interface in the pod's network (efa-raycluster)
        ~ value: eth0 => value: ens # <-
    Bad: the loopback across nodes (nccl-mpijob)
        ~ -x NCCL_SOCKET_IFNAME=eth0 => -x NCCL_SOCKET_IFNAME=lo # <-
    Bad: an address (efa-pytorchjob)
        @@ env:
        +   - name: NCCL_SOCKET_IFNAME
        +     valueFrom: # <-
        +       fieldRef:
        +         fieldPath: status.podIP
    Bad: Gloo knows no exclusion (efa-jobset)
        @@ env:
        +   - name: GLOO_SOCKET_IFNAME
        +     value: ^lo,docker # <-
    Good: an exclusion that leaves eth0 (nccl-jobset)
        ~ value: eth0 => value: ^lo,docker,veth
    Good: the host's name on the host's network (efa-raycluster)
        @@ workerGroupSpecs:
        @@ spec:
        +   hostNetwork: true
        +   dnsPolicy: ClusterFirstWithHostNet
        ~ value: eth0 => value: ens
    Good: a list for nodes of two kinds (nccl-mpijob)
        ~ -x NCCL_SOCKET_IFNAME=eth0 => -x NCCL_SOCKET_IFNAME=ens,eth0
    Source: NVIDIA/nccl@73cf112 src/misc/socket.cc, src/bootstrap.cc; aws-samples/aws-do-eks#51, #54;
        awslabs/awsome-distributed-training#519; pytorch/pytorch torch/csrc/distributed/c10d/init.cpp.
    """
    yield from once(job, _judge)


def _judge(pod: WorkerPod) -> Iterator[Finding]:
    if not judged(pod):
        return
    environment = pod.ranks_env
    for name in ("NCCL_SOCKET_IFNAME", "GLOO_SOCKET_IFNAME", "TP_SOCKET_IFNAME"):
        variable = environment.get(name)
        if variable is None:
            continue
        field = _field(variable)
        if field is not None:
            yield pod.finding(
                variable.place,
                f"'{name}' gets '{field}', which is no name of an interface; no interface matches and the ranks do not start.",
                help="Write the interface's name: eth0 in the pod network.",
            )
            continue
        value = text_of(variable.value)
        if value is None:
            continue
        if _ADDRESS.match(value):
            yield pod.finding(
                variable.place,
                f"'{name}={value}' is an address where the name of an interface belongs; no interface matches and the ranks do not start.",
                help="Write the interface's name: eth0 in the pod network.",
            )
        elif name == "NCCL_SOCKET_IFNAME":
            yield from _nccl(pod, variable, value)
        else:
            yield from _plain(pod, variable, value)


def _field(variable: Variable) -> str | None:
    node = variable.place.node
    path = node.string("fieldRef", "fieldPath") if isinstance(node, Mapping) else None
    return path if path in _HOST_FIELDS else None


def _own_network(pod: WorkerPod) -> bool:
    """Whether the pod has a network of its own and, as far as one can see, nothing beside it."""
    network = pod.spec.scalar("hostNetwork")
    return not (
        pod.host_network
        or pod.workload.runtime_alone
        or pod.annotations_open
        or pod.claim_names
        or any(key.startswith(_MORE) for key in pod.annotations)
        or (network is not None and not isinstance(network.value, bool))
    )


def _nccl(pod: WorkerPod, variable: Variable, value: str) -> Iterator[Finding]:
    wanted = InterfaceList(value)
    if wanted.unset:
        return
    only_loopback = (
        wanted.select(["lo", "eth0", "ens5", "enp1s0", "bond0", "ib0", "net1"]) == ["lo"] and not wanted.excludes
    )
    if only_loopback and all(e in ("lo", "l") for e in wanted.entries):
        if pod.multi_node is True:
            yield pod.finding(
                variable.place,
                f"'NCCL_SOCKET_IFNAME={value}' is the loopback, which reaches no other node; the ranks wait for each other and time out.",
                help="Write eth0, or the name that the host has under hostNetwork.",
            )
        return
    keeps_loopback = wanted.excludes and bool(wanted.entries) and "lo" in wanted.select(["lo"])
    if keeps_loopback and pod.multi_node is True and (pod.host_network or _own_network(pod)):
        yield pod.finding(
            variable.place,
            f"'NCCL_SOCKET_IFNAME={value}' leaves the loopback in, the first of all interfaces; NCCL takes it for its bootstrap and the "
            "nodes do not reach each other.",
            help=f"Write '{value},lo', or eth0 in the pod network.",
        )
        return
    if _own_network(pod):
        if not wanted.select(_POD):
            what = "excludes it" if wanted.excludes else "matches neither"
            yield pod.finding(
                variable.place,
                f"'NCCL_SOCKET_IFNAME={value}' leaves NCCL no interface: a pod in its own network has eth0 and lo, and the value {what}; "
                "the ranks do not start.",
                help="Write eth0, or remove the variable: NCCL finds eth0 by itself.",
            )
        return
    # Deployments of one pod each may be one distributed server; a device asked for says so.
    several = pod.multi_node is not False or (pod.site.pods is None and on_efa(pod))
    if pod.host_network and wanted.excludes and _on_eks(pod) and several:
        traps = [t for t in efa()["host traps"] if t in wanted.select([t])]
        if traps:
            yield pod.finding(
                variable.place,
                f"'NCCL_SOCKET_IFNAME={value}' leaves in '{traps[0]}', a link-local interface that EKS Pod Identity puts on the host; a "
                "node may give it for its address, and the others do not reach it.",
                help=f"Write '{efa()['complete exclusion']}'.",
                severity=Severity.WARNING,
            )


def _on_eks(pod: WorkerPod) -> bool:
    return on_efa(pod) or machines(pod) is not None


def _plain(pod: WorkerPod, variable: Variable, value: str) -> Iterator[Finding]:
    name = variable.name
    library = "Gloo" if name.startswith("GLOO") else "TensorPipe"
    if value.startswith(("^", "=")):
        yield pod.finding(
            variable.place,
            f"'{name}={value}': {library} takes names as they are and knows no '{value[0]}'; no such interface exists and the process "
            "group does not start.",
            help="Write one interface's name: eth0 in the pod network.",
        )
    elif "," in value:
        missing = [n for n in value.split(",") if n not in _POD]
        if library == "TensorPipe" or (_own_network(pod) and missing):
            why = "it takes one name" if library == "TensorPipe" else f"a pod in its own network has no '{missing[0]}'"
            yield pod.finding(
                variable.place,
                f"'{name}={value}' is a list, which {library} does not search: {why}; the process group does not start.",
                help="Write one interface's name: eth0 in the pod network.",
            )

"""DEV008: Gloo, which engines of several pods use beside NCCL, finds an interface that the pods share."""

from __future__ import annotations

import re
from collections.abc import Iterator
from math import prod

from fabriclint.group import GroupView, RoleGroup
from fabriclint.launch.facts import Launcher
from fabriclint.node import Unknown
from fabriclint.rule import Finding, Severity, rule
from fabriclint_rules.attachment import fabric_annotations_of
from fabriclint_rules.ib_ranks import missing

_NAME = "GLOO_SOCKET_IFNAME"
_ENGINES = ("vllm", "sglang", "trtllm", "ray start", "dynamo")
#: Interfaces of hosts: no pod's own network has one.
_HOST = re.compile(r"(?:en[opsx]\w*|ens\w*|enP\w*|bond\d+\S*|ibp?\d\S*|ibs\d\S*|br-\S+|em\d+|wl\S+|eno\d\S*)")


@rule("DEV008", "gloo-interface", Severity.WARNING, on=GroupView, yields_on_line=("NCCL007",))
def gloo_interface(group: GroupView) -> Iterator[Finding]:
    """Gloo is told the interface under the host's network, and one that exists in a pod's own.

    Inference engines connect their pods with Gloo beside NCCL. Under the host's network it takes the address that the
    host's name resolves to, often a loopback; a name that the pod does not have ends the start.

    Fix: set GLOO_SOCKET_IFNAME to the interface that `ip route get 1.1.1.1` prints; in a pod's own network leave it out.

    Silent: one pod; torchrun and mpirun alone; values that the script exports; several networks or claims.

    Bad: vllm over two hosts (dev-engine)
        @@ env:  # <-
        -   - name: GLOO_SOCKET_IFNAME
        -     value: eno1
    Bad: the host's interface in a pod network (dev-engine)
        - hostNetwork: true
        - dnsPolicy: ClusterFirstWithHostNet
        ~ value: eno1 => value: ens32  # <-
        ~ value: eno1 => value: eth0
    Bad: sglang (dev-engine)
        ~ vllm serve => python -m sglang.launch_server --model-path
        ~ --tensor-parallel-size => --tp-size
        ~ --node-rank => --node-rank
        @@ env:  # <-
        -   - name: GLOO_SOCKET_IFNAME
        -     value: eno1
    Good: the script exports it (dev-engine)
        ~ exec vllm => export GLOO_SOCKET_IFNAME=eno1; exec vllm
        @@ env:
        -   - name: GLOO_SOCKET_IFNAME
        -     value: eno1
    Good: torchrun alone (ib-host)
        ~ value: eth0 => value: eth0
    Good: eth0 in a pod network (dev-engine)
        - hostNetwork: true
        - dnsPolicy: ClusterFirstWithHostNet
        ~ value: eno1 => value: eth0
        ~ value: eno1 => value: eth0
    Source: pytorch/pytorch torch/csrc/distributed/c10d (Gloo); vllm and sglang on several nodes.
    """
    if group.multi_node is not True:
        return
    engine = _engine(group)
    if engine is not None:
        yield from _on_host(*engine)
    for role in group.ranks_on:
        yield from _in_pod_network(role)
        return


def _on_host(role: RoleGroup, engine: str) -> Iterator[Finding]:
    pod, worker = role.pod, role.pod.worker
    if worker is None or not pod.host_network or not missing(pod, _NAME) or worker.start.unseen:
        return
    yield pod.finding(
        worker.missing("env"),
        f"'{engine}' spans several pods on the host's network and {_NAME} is not set; Gloo takes the address of the host's "
        "name, which may be a loopback, and the pods do not find each other.",
        help=f"Set {_NAME} to the interface that `ip route get 1.1.1.1` prints on the node.",
    )


def _in_pod_network(role: RoleGroup) -> Iterator[Finding]:
    pod = role.pod
    if pod.host_network:
        return
    variable = pod.ranks_env.get(_NAME)
    if variable is None or isinstance(variable.value, Unknown) or pod.claim_names:
        return
    if fabric_annotations_of(pod) or pod.annotations_open or _HOST.fullmatch(variable.value) is None:
        return
    yield pod.finding(
        variable.place,
        f"{_NAME} is '{variable.value}', an interface of hosts; the pod has a network of its own, where it does not exist, and "
        "Gloo stops at the start.",
        help="Write 'eth0', or remove the variable.",
    )


def _engine(group: GroupView) -> tuple[RoleGroup, str] | None:
    """The inference engine that runs over several pods of the group, with the first role that starts it; else None."""
    found: list[tuple[RoleGroup, Launcher]] = []
    for role in group.ranks_on:
        main = role.start.launch.main if role.start is not None else None
        one = next((o for o in (main.launchers if main else ()) if o.family.startswith(_ENGINES)), None)
        if one is not None:
            found.append((role, one))
    pods = sum(role.pods for role, _ in found if isinstance(role.pods, int))
    if pods < 2:
        return None
    if not any(_spans(role, one) for role, one in found):
        return None
    return found[0][0], found[0][1].family


def _spans(role: RoleGroup, one: Launcher) -> bool:
    """Whether an engine is told of several nodes: by their number, or by more GPUs than a pod has."""
    if one.family.startswith("ray"):
        return True
    if one.nodes.value not in (None, 1):
        return True
    sizes = [f.number for f in (one.tensor, one.pipeline) if f.number is not None]
    gpus = role.gpus
    return bool(sizes) and isinstance(gpus, int) and 0 < gpus < prod(sizes)

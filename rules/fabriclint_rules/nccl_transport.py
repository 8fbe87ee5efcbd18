"""NCCL's transports: forced off the fabric, contradicting each other, or left to fall back in silence."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from fabriclint.comparison import declared_comparison
from fabriclint.pod import WorkerPod
from fabriclint.rule import Finding, Related, Severity, rule
from fabriclint.views import JobView
from fabriclint_rules.alike import once
from fabriclint_rules.attachment import fabric_annotations_of, fabric_devices_of, has_daemon
from fabriclint_rules.efa_pods import attached as on_efa
from fabriclint_rules.efa_pods import missing_variable
from fabriclint_rules.nccl_grammar import chosen, integer
from fabriclint_rules.nccl_variables import judged, variable_of

_BUILT_IN = ("ib", "socket")


def attached(pod: WorkerPod) -> bool:
    """Whether a fabric is certainly given to the pod: a device, networks, a daemon, the host's verbs devices, NICs by claim."""
    worker = pod.worker
    if worker is None:
        return False
    if fabric_devices_of(worker) or fabric_annotations_of(pod) or has_daemon(pod):
        return True
    if any((v.string("hostPath", "path") or "").startswith("/dev/infiniband") for v in pod.volumes.values()):
        return True
    return any(word in c for c in pod.claim_classes() for word in ("rdma", "dranet", "roce", "efa"))


@rule(
    "NCCL005",
    "transport-forced-off",
    Severity.ERROR,
    on=JobView,
    also=(Severity.NOTE,),
    yields_to=("EFA007",),
    yields_on_line=("TCPXO028", "TCPX028", "GIB028", "POD011", "IB003"),
)
def transport_forced_off(job: JobView) -> Iterator[Finding]:
    """Ranks on a fabric are not told to use sockets.

    NCCL_NET=Socket is no preference: NCCL takes nothing else, and the devices that the pods asked for stay idle.

    Fix: remove NCCL_NET, or name the fabric's network.
    Silent: one node, pods without a fabric's devices, files that declare themselves a comparison run. Switching P2P or
    shared memory off inside the node is a note.
    Bad: a left-over of a comparison (nccl-jobset)
        @@ env:
        +   - name: NCCL_NET
        +     value: Socket # <-
    Bad: handed on by mpirun (nccl-mpijob)
        ~ -x NCCL_IB_HCA=mlx5 => -x NCCL_NET=socket # <-
    Good: a comparison run that says so (nccl-jobset)
        ~ name: simulate => name: simulate-tcp
        ~ simulate-node-0-0.simulate:29400 => simulate-tcp-node-0-0.simulate-tcp:29400
        @@ env:
        +   - name: NCCL_NET
        +     value: Socket
    Good: no device, so nothing is lost (nccl-mpijob)
        ~ -x NCCL_IB_HCA=mlx5 => -x NCCL_NET=Socket
        @@ limits:
        -   rdma/hca_shared_devices_a: 1
    Source: NVIDIA/nccl@5067397 src/init.cc, src/plugin/net.cc.
    """
    yield from once(job, _forced_off)


def _forced_off(pod: WorkerPod) -> Iterator[Finding]:
    if not judged(pod):
        return
    found = variable_of(pod, "NCCL_NET")
    if (
        found is not None
        and found[1].lower() == "socket"
        and pod.multi_node is True
        and not on_efa(pod)
        and attached(pod)
        and not declared_comparison(pod)
    ):
        network = pod.fabric.profile.get("network") if pod.fabric is not None and pod.fabric.profile else None
        yield pod.finding(
            found[0].place,
            f"'NCCL_NET={found[1]}' makes NCCL use TCP alone, although the pods are given a fabric; NCCL leaves its devices idle.",
            help=f"Remove NCCL_NET, or write '{network}'." if network else "Remove NCCL_NET.",
            silences=("NCCL006",),
        )
    for name, what in (("NCCL_P2P_DISABLE", "P2P between the GPUs"), ("NCCL_SHM_DISABLE", "shared memory")):
        inner = variable_of(pod, name)
        if inner is None:
            continue
        number = integer(inner[1])
        if number == 1 or (number not in (0, None) and name == "NCCL_SHM_DISABLE"):
            yield pod.finding(
                inner[0].place,
                f"'{name}={inner[1]}' switches {what} of one node off; ranks there talk over slower ways.",
                help="Remove it where it is no cure for a fault of the node.",
                severity=Severity.NOTE,
            )


class _Pair(NamedTuple):
    """Two variables that cannot both be meant."""

    first: str
    second: str
    message: str
    help: str


@rule("NCCL006", "contradiction", Severity.WARNING, on=JobView, yields_to=("IB003", "EFA007"), yields_on_line=("POD011",))  # fmt: skip
def contradiction(job: JobView) -> Iterator[Finding]:
    """No two variables ask for what cannot be had together.

    NCCL takes each by itself: with the plugins off it does not find the network that NCCL_NET names and stops; with
    an algorithm whose transport is off nothing is left to choose.

    Fix: remove one of the two.
    Silent: values out of view, and pairs that are merely unusual.
    Bad: a plugin's network with plugins off (nccl-jobset)
        @@ env:
        +   - name: NCCL_NET_PLUGIN
        +     value: none
        +   - name: NCCL_NET
        +     value: UCX # <-
    Bad: InfiniBand alone, with InfiniBand off, and no device by which IB003 would speak (nccl-mpijob)
        ~ -x NCCL_IB_HCA=mlx5 => -x NCCL_NET=IB -x NCCL_IB_DISABLE=1 # <-
        ~ rdma/hca_shared_devices_a: 1 => memory: 1Ti
    Bad: NVLS alone, with NVLS off (efa-pytorchjob)
        @@ env:
        +   - name: NCCL_NVLS_ENABLE
        +     value: "0"
        +   - name: NCCL_ALGO
        +     value: NVLS,NVLSTree # <-
    Good: another algorithm beside it (efa-pytorchjob)
        @@ env:
        +   - name: NCCL_NVLS_ENABLE
        +     value: "0"
        +   - name: NCCL_ALGO
        +     value: NVLS,Ring
    Good: plugins off for the built-in transport (nccl-mpijob)
        ~ -x NCCL_IB_HCA=mlx5 => -x NCCL_NET=IB -x NCCL_NET_PLUGIN=none
    Source: NVIDIA/nccl@5067397 src/plugin/net.cc, src/mnnvl.cc, src/graph/tuning.cc.
    """
    yield from once(job, _contradiction)


def _contradiction(pod: WorkerPod) -> Iterator[Finding]:
    if not judged(pod):
        return
    for pair in _pairs(pod):
        second = variable_of(pod, pair.second)
        first = variable_of(pod, pair.first)
        if first is None or second is None:
            continue
        yield pod.finding(
            second[0].place,
            pair.message.format(first=f"{pair.first}={first[1]}", second=f"{pair.second}={second[1]}"),
            help=pair.help,
            related=(Related(first[0].place, f"{pair.first} is set here."),),
        )


def _pairs(pod: WorkerPod) -> Iterator[_Pair]:
    def value(name: str) -> str | None:
        found = variable_of(pod, name)
        return found[1] if found is not None else None

    def number(name: str) -> int | None:
        text = value(name)
        return integer(text) if text is not None else None

    net, plugins = value("NCCL_NET"), value("NCCL_NET_PLUGIN")
    none = plugins is not None and plugins.lower() == "none"
    if none and net and net.lower() not in _BUILT_IN:
        yield _Pair(
            "NCCL_NET_PLUGIN",
            "NCCL_NET",
            "'{second}' is a plugin's network, but '{first}' loads no plugin; NCCL does not start.",
            "Remove NCCL_NET_PLUGIN, or write IB or Socket.",
        )
    if net is not None and net.lower() == "ib" and number("NCCL_IB_DISABLE") not in (None, 0):
        yield _Pair(
            "NCCL_IB_DISABLE",
            "NCCL_NET",
            "'{second}' wants InfiniBand, but '{first}' switches it off; NCCL does not start.",
            "Remove NCCL_IB_DISABLE.",
        )
    if number("NCCL_MNNVL_ENABLE") == 1 and number("NCCL_CUMEM_ENABLE") == 0:
        yield _Pair(
            "NCCL_CUMEM_ENABLE",
            "NCCL_MNNVL_ENABLE",
            "'{second}' wants NVLink between nodes, which needs the memory that '{first}' switches off; NCCL does not start.",
            "Remove NCCL_CUMEM_ENABLE.",
        )
    algorithms = value("NCCL_ALGO")
    if algorithms is not None and number("NCCL_NVLS_ENABLE") == 0:
        enabled = chosen("NCCL_ALGO", algorithms, strict=True)
        if enabled is not None and enabled["all"] and enabled["all"] <= {"NVLS", "NVLSTree"}:
            yield _Pair(
                "NCCL_NVLS_ENABLE",
                "NCCL_ALGO",
                "'{second}' allows NVLS alone, which '{first}' switches off; no algorithm is left.",
                "Add another algorithm (Ring, Tree), or remove one of the two.",
            )
    if none and number("NCCL_COLLNET_ENABLE") == 1:
        yield _Pair(
            "NCCL_NET_PLUGIN",
            "NCCL_COLLNET_ENABLE",
            "'{second}' needs a plugin (SHARP), but '{first}' loads none; collectives go on without it.",
            "Remove NCCL_NET_PLUGIN, or NCCL_COLLNET_ENABLE.",
        )


@rule("NCCL008", "fallback-not-forbidden", Severity.NOTE, on=JobView, default=False, yields_to=("EFA001",))
def fallback_not_forbidden(job: JobView) -> Iterator[Finding]:
    """A job that is wired for a fabric pins NCCL_NET, so that losing the fabric stops it.

    Without NCCL_NET a job whose fabric is lost goes on over TCP in silence; with it NCCL does not start. A loud end
    is often the better one, but not in every cluster, and so this is advice to switch on.

    Fix: set NCCL_NET to the fabric's network.
    Silent: unless it is selected; values out of view, one node.
    Bad: nothing pinned (efa-mpijob)
        @@ command: # <-
    Bad: a job of pods (nccl-jobset)
        @@ env: # <-
    Good: pinned (efa-jobset)
        ~ value: WARN => value: VERSION
    Good: pinned for the ranks by mpirun (efa-mpijob)
        ~ NCCL_DEBUG=WARN => NCCL_NET=AWS Libfabric
    Source: NVIDIA/nccl@5067397 src/plugin/net.cc; aws/aws-ofi-nccl@2daf7d3 src/nccl_ofi_interface_nvidia.cpp.
    """
    yield from once(job, _fallback)


def _fallback(pod: WorkerPod) -> Iterator[Finding]:
    if not judged(pod) or pod.multi_node is not True or pod.fabric is None or not attached(pod):
        return
    environment = pod.ranks_env
    network = pod.fabric.profile.get("network") if pod.fabric.profile else None
    if network is None or "NCCL_NET" in environment or environment.open or declared_comparison(pod):
        return
    yield pod.finding(
        missing_variable(pod),
        "NCCL_NET is not pinned; when the fabric is lost the job goes on over TCP in silence.",
        help=f"Set NCCL_NET to '{network}'.",
    )

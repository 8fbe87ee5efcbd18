"""MPI jobs: one launcher that runs mpirun, workers that wait for it.

Sources: kubeflow/mpi-operator@101db14 (v0.8.0) pkg/controller; kubeflow/trainer@c77ee3f (v1.9.3) pkg/controller.v1/mpi.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fabriclint.finding import Place
from fabriclint.group import GroupView, Hosts, RoleGroup
from fabriclint.group.gang import Later, policy_gangs
from fabriclint.kinds import number
from fabriclint.node import UNKNOWN, Mapping, Scalar, Unknown
from fabriclint.workload import PodRole

if TYPE_CHECKING:
    from fabriclint.group.make import Making
    from fabriclint.pod import ContainerView, PodView


def group(making: Making) -> GroupView:
    """The group of an MPI job."""
    spec, name = making.spec, making.name
    slots = number(spec.at("slotsPerWorker"), 1)
    by_ssh = bool(making.data.get("ssh"))
    as_worker = by_ssh and spec.true("runLauncherAsWorker")
    implementation = spec.string("mpiImplementation") or "OpenMPI"
    roles: list[RoleGroup] = []
    for pod in making.job.pods:
        lower = pod.name.lower()
        pods = UNKNOWN if pod.site.pods is None else pod.site.pods
        hosts = None
        if isinstance(name, str):
            # Without ssh a host is a pod's name, which nobody looks up.
            exec_ = not by_ssh
            hosts = Hosts(f"{name}-{lower}-{{}}", (pods,), (0,), bare=exec_)
            if lower == "launcher":
                hosts = Hosts(f"{name}-launcher", bare=exec_)
        policy = pod.site.owner.string("restartPolicy") if pod.site.owner is not None else None
        role = making.role(pod, lower, pods, hosts=hosts, restart=policy, main=_main(making, pod))
        role.restart = role.restart or making.data["restart"].get(lower)
        role.default_start = making.data["starts"].get(lower)
        facts: dict[str, Any] = {
            "role": lower,
            "slots": slots,
            "launcher": lower == "launcher",
            "hidden": not pod.site.runs_ranks,
            implementation: True,
        }
        making.inject(role, lambda _index, facts=facts: facts)
        roles.append(role)
    if by_ssh:
        _wait(spec, roles)
    services = (name,) if by_ssh and isinstance(name, str) else ()
    return making.group(
        roles,
        subdomain=name if by_ssh else None,
        services=services,
        ssh=by_ssh,
        slots_place=Place(given) if (given := spec.at("slotsPerWorker")) is not None else None,
        slots=slots if not isinstance(slots, Unknown) else UNKNOWN,
        restart=next((r.restart for r in roles if r.pod.role is PodRole.LAUNCHER), None),
        suspended=spec.true("runPolicy", "suspend"),
        own_gangs=policy_gangs(spec, roles),
        hides=None if as_worker else making.data.get("hides until ready"),
    )


def _wait(spec: Mapping, roles: list[RoleGroup]) -> None:
    """A launcher that is made when the workers are ready."""
    policy = spec.at("launcherCreationPolicy")
    if not isinstance(policy, Scalar) or policy.value != "WaitForWorkersReady":
        return
    workers = [r for r in roles if r.pod.role is not PodRole.LAUNCHER and isinstance(r.pods, int) and r.pods > 0]
    for role in roles if workers else ():
        if role.pod.role is PodRole.LAUNCHER:
            edit = "Remove 'launcherCreationPolicy', or write a 'minAvailable' of the workers only."
            said = "The launcher is made when the workers are ready"
            role.later = Later(Place(policy), said, tuple(r.name for r in workers), edit=edit)


def _main(making: Making, pod: PodView) -> ContainerView | None:
    """The container that has keys and hosts, the first; of a worker, the one that the kind names for its ranks."""
    first = next(iter(pod.main_containers), None)
    if pod.role is PodRole.LAUNCHER or not making.data.get("names main"):
        return first
    named = making.spec.string("mainContainer")
    return next((c for c in pod.main_containers if c.name == named), first)

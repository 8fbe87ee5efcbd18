"""Jobs that number their pods: batch Job, CronJob's, JobSet, StatefulSet, a single Pod."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabriclint.finding import Place
from fabriclint.group import GroupView, Hosts, RoleGroup
from fabriclint.group.gang import Gang, Later, scheduled_by
from fabriclint.group.injection import table
from fabriclint.kinds import number
from fabriclint.node import UNKNOWN, Mapping, Scalar, Unknown, open_value
from fabriclint.workload import PodRole

if TYPE_CHECKING:
    from fabriclint.group.make import Making
    from fabriclint.pod import PodView, Variable

#: How far the pods of a replicated job must have come before the next are made.
_STATES = {"Ready": "are ready", "Complete": "have ended"}
_WITHOUT_STEPS = "Remove 'podGroupPolicy', or do the earlier step in an init container and remove 'dependsOn'."
#: What a Job gives its pods where the file does not.
_OF_JOB = ("JOB_COMPLETION_INDEX",)


def group(making: Making) -> GroupView:
    """The group of a numbered job."""
    how = making.row.get("shape", "job")
    if how != "jobset" and not making.job.pods:
        return making.group([])
    return {"jobset": _jobset, "statefulset": _statefulset, "pod": _pod, "job": _job}[how](making)


def _index(making: Making, role: RoleGroup) -> None:
    making.inject(role, lambda index: {"index": index})


def text_or_unknown(node: Mapping, *path: str) -> str | Unknown | None:
    """The string at the path; UNKNOWN when it is open; None when absent."""
    found = node.at(*path)
    if found is None or (isinstance(found, Scalar) and found.value is None):
        return None
    if isinstance(found, Scalar) and isinstance(found.value, str) and not open_value(found.value):
        return found.value
    return UNKNOWN


def _jobset(making: Making) -> GroupView:
    spec, name = making.spec, making.name
    given = text_or_unknown(spec, "network", "subdomain")
    subdomain = given if given is not None else name
    dns = spec.at("network", "enableDNSHostnames")
    named = not (isinstance(dns, Scalar) and dns.value is False)
    publish = spec.at("network", "publishNotReadyAddresses")
    hidden = named and isinstance(publish, Scalar) and publish.value is False
    roles: list[RoleGroup] = []
    for pod in making.job.pods:
        owner = pod.site.owner
        pods = UNKNOWN if pod.site.pods is None else pod.site.pods
        if making.job.workload.runtime_alone and pod.role is PodRole.WORKER:
            pods = UNKNOWN  # numNodes of a TrainJob decides
        hosts = None
        mode = owner.string("template", "spec", "completionMode") if owner is not None else None
        called = owner.string("name") if owner is not None else None
        if owner is not None and isinstance(name, str) and called and not open_value(called) and mode != "NonIndexed":
            replicas = number(owner.at("replicas"), 1)
            each = number(owner.at("template", "spec", "parallelism"), 1)
            hosts = Hosts(f"{name}-{pod.name}-{{}}-{{}}", (replicas, each), (0, 0))
        # JobSet fills in the policy of a template that has none.
        role = making.role(pod, pod.name, pods, hosts=hosts, restart_of_job="OnFailure")
        if mode != "NonIndexed":
            _index(making, role)
        if making.job.workload.resolved is not None:
            own = role.container.env if role.container is not None else ()
            role.injected = {n: v for n, v in role.injected.items() if n not in own} | _added(role)
            role.wins = "controller"
            role.overwritten = _overwritten(making, role)
            listed = [line.name.split(".")[0] for line in getattr(making.job.workload.resolved, "hosts", ())]
            if listed and role.hosts is not None:
                role.listed = any(role.hosts.has(name) is True for name in listed)
        roles.append(role)
    _in_order(making, roles)
    if making.job.workload.resolved is not None:
        making.data = {**making.data, "maker": making.data["resolved maker"]}
    return making.group(
        roles,
        subdomain=subdomain if named else _own_subdomain(making),
        user_service=not named,
        unnamed_by=None if named else "enableDNSHostnames: false",
        services=(subdomain,) if named and isinstance(subdomain, str) else (),
        restart=_policy(spec, "failurePolicy", "maxRestarts"),
        success=text_or_unknown(spec, "successPolicy", "operator"),
        gives_address=getattr(making.job.workload.resolved, "policy", None) in making.data["policies with address"],
        suspended=spec.true("suspend"),
        slots=next((s for s in map(_processes, roles) if s is not None), None),
        ssh=any(p.by_ssh for p in making.job.pods),
        hides="Write 'publishNotReadyAddresses: true'." if hidden else None,
        hides_place=Place(publish) if hidden and publish is not None else None,
        own_gangs=_policy_gangs(making, roles),
    )


def _own_subdomain(making: Making) -> str | Unknown | None:
    """The subdomain of the pod templates where JobSet sets none; UNKNOWN where they differ."""
    given = [text_or_unknown(pod.spec, "subdomain") for pod in making.job.pods]
    return given[0] if given and all(g == given[0] for g in given) else UNKNOWN


def _in_order(making: Making, roles: list[RoleGroup]) -> None:
    """Replicated jobs that are made only when others are ready, or have ended."""
    order = making.spec.at("startupPolicy", "startupPolicyOrder")
    before: list[RoleGroup] = []
    for role in roles:
        owner = role.pod.site.owner
        there = {r.name: r for r in before if r.all_pods != 0}
        if isinstance(order, Scalar) and order.value == "InOrder" and there:
            said = f"The pods of '{role.name}' are made when those of '{list(there)[-1]}' are ready"
            role.later = Later(Place(order), said, tuple(there))
        elif owner is not None:
            awaited = [
                (e.string("name") or "", _STATES.get(e.string("status") or "")) for e in owner.mappings("dependsOn")
            ]
            awaited = [(name, state) for name, state in awaited if name in there and state]
            if awaited:
                said = f"The pods of '{role.name}' are made when those of '{awaited[0][0]}' {awaited[0][1]}"
                place = Place(owner.fields["dependsOn"], on_key=True)
                role.later = Later(place, said, tuple(name for name, _ in awaited))
        before.append(role)


def _policy_gangs(making: Making, roles: list[RoleGroup]) -> list[Gang]:
    """The gang of all pods that the controller of a TrainJob makes, where the runtime has a policy for one."""
    workload = making.job.workload
    runtime = getattr(workload.resolved, "runtime", None) if not workload.runtime_alone else workload.manifest
    policies = runtime.root.mapping("spec", "podGroupPolicy") if runtime is not None else None
    made: list[Gang] = []
    for row in table()["pod groups"]:
        node = policies.at(row["policy"]) if policies is not None and "policy" in row else None
        if not isinstance(node, Mapping) or not all(scheduled_by(r, row) for r in roles if r.at_once != 0):
            continue
        made.append(Gang(roles, None, Place(node, on_key=True), _WITHOUT_STEPS))
    return made


def _added(role: RoleGroup) -> dict[str, str | Unknown | None]:
    """Variables of a resolved JobSet that stand in no file: the controller of the TrainJob wrote them."""
    container = role.container
    made: dict[str, str | Unknown | None] = {}
    for name, variable in container.env.variables.items() if container is not None else ():
        entry = variable.place.node.parent
        written = entry.at("name") if entry is not None else None
        if written is None or not isinstance(written.source, Scalar) or written.source.value != name:
            made[name] = variable.value
    return made


def _overwritten(making: Making, role: RoleGroup) -> list[Variable]:
    """Variables of the runtime, in a file of the user's, in whose place the controller of the TrainJob wrote its own."""
    from fabriclint.pod import Variable
    from fabriclint.views import replicated_jobs

    runtime = getattr(making.job.workload.resolved, "runtime", None)
    container = role.container
    if runtime is None or container is None:
        return []
    made: list[Variable] = []
    for job in replicated_jobs(runtime):
        if job.string("name") != role.pod.name:
            continue
        for written in job.mappings("template", "spec", "template", "spec", "containers"):
            for entry in written.mappings("env") if written.string("name") == container.name else ():
                name, value = entry.string("name"), entry.scalar("value")
                if name in role.injected and name not in _OF_JOB and value is not None and value.source.doc is not None:
                    made.append(Variable(name, UNKNOWN if value.open else value.text, Place(value), "env"))
    return made


def _processes(role: RoleGroup) -> int | str | Unknown | None:
    """Processes per node as Trainer hands them to torchrun."""
    value = role.environment().get("PET_NPROC_PER_NODE")
    if isinstance(value, str):
        return int(value) if value.isdecimal() else value
    return value


def _policy(spec: Mapping, *path: str) -> str | Unknown | None:
    found = spec.at(*path)
    return found.text if isinstance(found, Scalar) and found.value is not None else None


def _own_service(making: Making, pod: PodView, given: str | Unknown | None, hosts: Hosts | None) -> GroupView:
    pods = UNKNOWN if pod.site.pods is None else pod.site.pods
    role = making.role(pod, pod.name or "worker", pods, hosts=hosts)
    if making.row.get("shape", "job") == "job" and hosts is not None:
        _index(making, role)
    return making.group(
        [role],
        subdomain=given,
        user_service=True,
        restart=text_or_unknown(pod.spec, "restartPolicy"),
        suspended=making.spec.true("suspend"),
    )


def _job(making: Making) -> GroupView:
    pod = making.job.pods[0]
    indexed = making.spec.string("completionMode") == "Indexed"
    hosts = None
    if indexed and isinstance(making.name, str):
        hosts = Hosts(f"{making.name}-{{}}", (UNKNOWN if pod.site.pods is None else pod.site.pods,), (0,))
    made = _own_service(making, pod, text_or_unknown(pod.spec, "subdomain"), hosts)
    if indexed and hosts is None:
        _index(making, made.roles[0])
    mode = making.spec.at("completionMode")
    if isinstance(making.name, str) and (mode is None or getattr(mode, "value", None) == "NonIndexed"):
        made.roles[0].if_numbered = Hosts(f"{making.name}-{{}}", (UNKNOWN,), (0,))
    made.roles[0].restart_of_job = ""
    # No parallelism is how a Job is paused.
    made.roles[0].scalable = number(making.spec.at("parallelism"), 1) == 0
    return made


def _statefulset(making: Making) -> GroupView:
    pod = making.job.pods[0]
    start = number(making.spec.at("ordinals", "start"), 0)
    hosts = None
    if isinstance(making.name, str) and isinstance(start, int):
        hosts = Hosts(f"{making.name}-{{}}", (UNKNOWN if pod.site.pods is None else pod.site.pods,), (start,))
    made = _own_service(making, pod, text_or_unknown(making.spec, "serviceName"), hosts)
    if text_or_unknown(making.spec, "podManagementPolicy") in (None, "OrderedReady"):
        made.ordered = Place(making.spec.nearest("podManagementPolicy"), on_key=True)
        said = "Each pod is made when the one before is ready"
        edit = "Write 'podManagementPolicy: Parallel'."
        made.roles[0].later = Later(made.ordered, said, (made.roles[0].name,), 1, edit)
    return made


def _pod(making: Making) -> GroupView:
    pod = making.job.pods[0]
    host = text_or_unknown(pod.spec, "hostname")
    chosen = host if host is not None else making.name
    hosts = Hosts(chosen) if isinstance(chosen, str) else None
    return _own_service(making, pod, text_or_unknown(pod.spec, "subdomain"), hosts)

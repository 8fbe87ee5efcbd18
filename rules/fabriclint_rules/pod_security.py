"""POD015: what the Pod Security level of a namespace forbids.

The checks of `baseline` and `restricted` as the admission plug-in makes them, each with the field it looks at.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from fabriclint.node import Mapping, Node, Scalar
from fabriclint.pod import ContainerView, PodView
from fabriclint.rule import Finding, Place, Related, Severity, rule
from fabriclint.views import JobView
from fabriclint_schemas.pods import pod_security

_VERSION = re.compile(r"v1\.([0-9]{1,5})", re.ASCII)
#: Newer than any release: what `latest` stands for.
_LATEST = 10**6


class Forbidden(NamedTuple):
    """One thing that a level forbids: the check's own name, what is wrong, and where."""

    check: str
    what: str
    place: Place


def forbidden(pod: PodView, level: str, version: str = "latest") -> list[Forbidden]:
    """All that a level forbids in a pod, in the order in which the pod is written."""
    if level == "privileged":
        return []
    found = _VERSION.fullmatch(version)
    minor = int(found[1]) if found is not None else _LATEST
    checks = _BASELINE if level == "baseline" else (*(c for c in _BASELINE if c is not _proc_mount), *_RESTRICTED)
    out = [f for check in checks for f in check(pod, minor)]
    if level == "restricted":
        # The stricter check says it in its own words.
        out = [f for f in out if f.check not in ("non-default capabilities", "hostPath volumes")]
    return sorted(out, key=lambda f: f.place.node.source.start)


def _security(container: ContainerView) -> Mapping | None:
    return container.node.mapping("securityContext")


def _contexts(pod: PodView) -> Iterator[tuple[str, Mapping]]:
    """The security contexts of the pod and its containers, with whose they are."""
    own = pod.spec.mapping("securityContext")
    if own is not None:
        yield "the pod", own
    for container in pod.containers:
        given = _security(container)
        if given is not None:
            yield f"the container '{container.name}'", given


def _host_namespaces(pod: PodView, minor: int) -> Iterator[Forbidden]:
    for key in pod_security()["host_namespaces"]:
        node = pod.spec.at(key)
        if node is not None and node.true():
            yield Forbidden("host namespaces", f"'{key}'", Place(node, on_key=True))


def _privileged(pod: PodView, minor: int) -> Iterator[Forbidden]:
    for container in pod.containers:
        node = container.node.at("securityContext", "privileged")
        if node is not None and node.true():
            yield Forbidden("privileged", f"'privileged' in '{container.name}'", Place(node, on_key=True))


def _capabilities(pod: PodView, minor: int) -> Iterator[Forbidden]:
    allowed = pod_security()["baseline_capabilities"]
    for container in pod.containers:
        for added in container.added_capabilities:
            if added.text not in allowed and not added.open:
                yield Forbidden(
                    "non-default capabilities", f"the capability '{added.text}' of '{container.name}'", Place(added)
                )


def _host_paths(pod: PodView, minor: int) -> Iterator[Forbidden]:
    for name, volume in pod.volumes.items():
        node = volume.at("hostPath")
        if isinstance(node, Mapping):
            yield Forbidden("hostPath volumes", f"the hostPath volume '{name}'", Place(node, on_key=True))


def _host_ports(pod: PodView, minor: int) -> Iterator[Forbidden]:
    for container in pod.containers:
        for port in container.node.mappings("ports"):
            node = port.scalar("hostPort")
            if node is not None and isinstance(node.value, int) and node.value != 0:
                yield Forbidden("hostPort", f"the hostPort {node.value} of '{container.name}'", Place(node))


def _app_armor(pod: PodView, minor: int) -> Iterator[Forbidden]:
    table = pod_security()
    for whose, context in _contexts(pod):
        node = context.scalar("appArmorProfile", "type")
        if node is not None and not node.open and node.text not in table["app_armor"]:
            yield Forbidden("forbidden AppArmor profile", f"the AppArmor profile '{node.text}' of {whose}", Place(node))
    for key, node in pod.annotations.items():
        begins = node.text.startswith(("runtime/default", "localhost/"))
        if key.startswith(table["app_armor_annotation"]) and node.text and not begins and not node.open:
            yield Forbidden("forbidden AppArmor profile", f"the AppArmor profile '{node.text}'", Place(node))


def _selinux(pod: PodView, minor: int) -> Iterator[Forbidden]:
    types = {name for name, since in pod_security()["selinux_types"].items() if minor >= since}
    for whose, context in _contexts(pod):
        for key in ("type", "user", "role"):
            node = context.scalar("seLinuxOptions", key)
            if node is None or node.open or (key == "type" and node.text in types) or not node.text:
                continue
            yield Forbidden("seLinuxOptions", f"the SELinux {key} '{node.text}' of {whose}", Place(node))


def _proc_mount(pod: PodView, minor: int) -> Iterator[Forbidden]:
    if minor < pod_security()["since"]["user_namespace_proc_mount"] or not _own_users(pod):
        yield from _proc_mount_unmasked(pod, minor)


def _proc_mount_unmasked(pod: PodView, minor: int) -> Iterator[Forbidden]:
    for container in pod.containers:
        node = container.node.scalar("securityContext", "procMount")
        if node is not None and not node.open and node.text not in ("", "Default"):
            yield Forbidden("procMount", f"procMount '{node.text}' of '{container.name}'", Place(node))


def _own_users(pod: PodView) -> bool:
    node = pod.spec.scalar("hostUsers")
    return node is not None and node.value is False


def _seccomp(pod: PodView, minor: int) -> Iterator[Forbidden]:
    for whose, context in _contexts(pod):
        node = context.scalar("seccompProfile", "type")
        if node is not None and node.text == "Unconfined":
            yield Forbidden("seccompProfile", f"the seccomp profile 'Unconfined' of {whose}", Place(node))


def _sysctls(pod: PodView, minor: int) -> Iterator[Forbidden]:
    safe = {name for name, since in pod_security()["sysctls"].items() if minor >= since}
    for entry in pod.spec.mappings("securityContext", "sysctls"):
        node = entry.scalar("name")
        if node is not None and not node.open and node.text not in safe:
            yield Forbidden("forbidden sysctls", f"the sysctl '{node.text}'", Place(node))


def _probe_hosts(pod: PodView, minor: int) -> Iterator[Forbidden]:
    if minor < pod_security()["since"]["probe_host"]:
        return
    places = [
        ("livenessProbe",),
        ("readinessProbe",),
        ("startupProbe",),
        ("lifecycle", "postStart"),
        ("lifecycle", "preStop"),
    ]
    for container in pod.containers:
        for path in places:
            for way in ("httpGet", "tcpSocket"):
                node = container.node.scalar(*path, way, "host")
                if node is not None and not node.open and node.text:
                    yield Forbidden("probe or lifecycle host", f"the host '{node.text}' of a probe", Place(node))


_Check = Callable[[PodView, int], Iterator[Forbidden]]
_BASELINE: tuple[_Check, ...] = (
    _host_namespaces,
    _privileged,
    _capabilities,
    _host_paths,
    _host_ports,
    _app_armor,
    _selinux,
    _proc_mount,
    _seccomp,
    _sysctls,
    _probe_hosts,
)


def _volume_types(pod: PodView, minor: int) -> Iterator[Forbidden]:
    allowed = pod_security()["restricted_volumes"]
    for name, volume in pod.volumes.items():
        for key, node in volume.fields.items():
            if key != "name" and key not in allowed and not (isinstance(node, Scalar) and node.value is None):
                yield Forbidden("restricted volume types", f"the {key} volume '{name}'", Place(node, on_key=True))


def _escalation(pod: PodView, minor: int) -> Iterator[Forbidden]:
    for container in pod.containers:
        node = container.node.at("securityContext", "allowPrivilegeEscalation")
        if isinstance(node, Scalar) and (node.value is False or node.open):
            continue
        place = Place(node) if node is not None else container.missing("securityContext")
        what = f"'allowPrivilegeEscalation: false' is not written in '{container.name}'"
        yield Forbidden("allowPrivilegeEscalation != false", what, place)


def _drop_all(pod: PodView, minor: int) -> Iterator[Forbidden]:
    allowed = pod_security()["restricted_capabilities"]
    for container in pod.containers:
        if container.capabilities_open:
            continue
        dropped = container.node.sequence("securityContext", "capabilities", "drop")
        names = [i.text for i in (dropped.items if dropped is not None else []) if isinstance(i, Scalar)]
        if "ALL" not in names:
            place = container.missing("securityContext", "capabilities", "drop")
            what = f"'{container.name}' does not drop ALL capabilities"
            yield Forbidden("unrestricted capabilities", what, place)
        for added in container.added_capabilities:
            if added.text not in allowed:
                what = f"the capability '{added.text}' of '{container.name}'"
                yield Forbidden("unrestricted capabilities", what, Place(added))


def _of_container_or_pod(container: ContainerView, *path: str) -> Node | None:
    own = container.node.at("securityContext", *path)
    if own is not None and not (isinstance(own, Scalar) and own.value is None):
        return own
    return container.pod.spec.at("securityContext", *path)


def _non_root(pod: PodView, minor: int) -> Iterator[Forbidden]:
    if minor >= pod_security()["since"]["user_namespace_root"] and _own_users(pod):
        return
    for container in pod.containers:
        node = _of_container_or_pod(container, "runAsNonRoot")
        if isinstance(node, Scalar) and (node.value is True or node.open):
            continue
        place = Place(node) if node is not None else container.missing("securityContext")
        yield Forbidden("runAsNonRoot != true", f"'runAsNonRoot: true' is not written for '{container.name}'", place)
    for whose, context in _contexts(pod):
        user = context.scalar("runAsUser")
        if user is not None and user.value == 0 and not isinstance(user.value, bool):
            yield Forbidden("runAsUser=0", f"'runAsUser: 0' of {whose}", Place(user))


def _seccomp_written(pod: PodView, minor: int) -> Iterator[Forbidden]:
    allowed = pod_security()["seccomp_restricted"]
    for container in pod.containers:
        node = _of_container_or_pod(container, "seccompProfile", "type")
        if isinstance(node, Scalar) and (node.text in allowed or node.open):
            continue
        if isinstance(node, Scalar) and node.text == "Unconfined":
            continue  # said by the check above
        place = Place(node) if node is not None else container.missing("securityContext")
        what = f"no seccomp profile is written for '{container.name}'"
        yield Forbidden("seccompProfile", what, place)


_RESTRICTED: tuple[_Check, ...] = (
    _proc_mount_unmasked,
    _volume_types,
    _escalation,
    _drop_all,
    _non_root,
    _seccomp_written,
)


class _Level(NamedTuple):
    namespace: str
    level: str
    version: str
    place: Place | None


def _level_of(job: JobView) -> _Level | None:
    """The level that the job's namespace enforces, from the files or from the snapshot of the cluster."""
    table = pod_security()
    name = job.workload.manifest.namespace
    lookup = job.pods[0].lookup if job.pods else None
    if lookup is None:
        return None
    found = lookup.namespace(job.workload)
    if found is not None:
        labels = found.mapping("metadata", "labels")
        node = labels.scalar(table["label"]) if labels is not None else None
        if node is not None and not node.open:
            level = node.text if node.text in table["levels"] else "restricted"
            version = (labels.string(table["version_label"]) if labels is not None else None) or "latest"
            return _Level(found.string("metadata", "name") or "", level, version, Place(node))
    labels_of_cluster = lookup.cluster_labels(job.workload)
    if labels_of_cluster is not None and table["label"] in labels_of_cluster:
        level = labels_of_cluster[table["label"]]
        version = labels_of_cluster.get(table["version_label"], "latest")
        return _Level(name or "", level if level in table["levels"] else "restricted", version, None)
    return None


@rule("POD015", "security-level", Severity.ERROR, on=JobView)
def security_level(job: JobView) -> Iterator[Finding]:
    """The pods need nothing that their namespace's Pod Security level forbids.

    The level judges pods only. The Job, JobSet or TrainJob around them is admitted, a custom kind without a word of
    warning, and its pods are then refused one after another: nothing runs, and only an event says why. `baseline`
    forbids IPC_LOCK, hostPath, hostNetwork and privileged; `restricted` wants a good deal written out besides.

    Fix: label the namespace `pod-security.kubernetes.io/enforce: privileged`, or take out what the level forbids.

    Silent: namespaces not in view (in the files or the cluster snapshot), without the label, or at `privileged`; values
    that a template fills in.

    Bad: memory is locked under baseline (pod-namespace)
        ~ enforce: privileged => enforce: baseline
        @@ add: [IPC_LOCK]  # <-
    Bad: the host's network under baseline (whole)
        apiVersion: v1
        kind: Namespace
        metadata:
          name: research
          labels:
            pod-security.kubernetes.io/enforce: baseline
        ---
        apiVersion: kubeflow.org/v1
        kind: PyTorchJob
        metadata:
          name: train
          namespace: research
        spec:
          pytorchReplicaSpecs:
            Master:
              replicas: 1
              template:
                spec:
                  hostNetwork: true  # <-
                  containers:
                    - name: pytorch
                      image: registry.example/train:1
                      command: [python, train.py]
                      resources:
                        limits:
                          nvidia.com/gpu: 1
    Bad: a JobSet takes the node's shared memory by path (near-jobset)
        ~ team: weather => pod-security.kubernetes.io/enforce: baseline
        @@ volumes:
        - emptyDir:
        -   medium: Memory
        + hostPath:  # <-
        +   path: /dev/shm
    Bad: a LeaderWorkerSet's engine is privileged (near-lws)
        ~ team: answers => pod-security.kubernetes.io/enforce: baseline
        @@ image:
        + securityContext:
        +   privileged: true  # <-
    Bad: a StatefulSet says nothing of what restricted wants written out (near-set)
        ~ team: engine => pod-security.kubernetes.io/enforce: restricted
        @@ containers:
          - name: engine  # <-
    Good: a privileged namespace, as GPU clusters' guides make it (pod-namespace)
        ~ add: [IPC_LOCK] => add: [IPC_LOCK, SYS_PTRACE]
    Good: nothing that baseline forbids (pod-namespace)
        ~ enforce: privileged => enforce: baseline
        ~ add: [IPC_LOCK] => drop: [ALL]
    Good: only a warning is asked for (pod-namespace)
        ~ enforce: privileged => warn: restricted
    Good: memory for shared files and a claim are no fault of a PyTorchJob (near-pytorchjob)
        ~ team: captions => pod-security.kubernetes.io/enforce: baseline
    Good: the ssh of an MPIJob asks for nothing (near-mpijob)
        ~ team: reduce => pod-security.kubernetes.io/enforce: baseline
    Source: kubernetes/pod-security-admission@39b45cd policy, admission/admission.go; kubernetes/website Pod Security
        Standards.
    """
    level = _level_of(job)
    if level is None or level.level == "privileged":
        return
    for pod in job.pods:
        if pod.site.form not in ("template", "podspec"):
            continue
        found = forbidden(pod, level.level, level.version)
        if not found:
            continue
        first, *others = found
        more = f" and {len(others)} more" if others else ""
        related = [Related(f.place, f"'{level.level}' forbids this too: {f.what}.") for f in others[:7]]
        if level.place is not None:
            related.append(Related(level.place, "The level is set here."))
        alone = (
            "" if job.workload.kind == "Pod" else f"; the {job.workload.kind} looks accepted and its pods never appear"
        )
        yield pod.finding(
            first.place,
            f"The namespace '{level.namespace}' enforces '{level.level}', which forbids {first.what}{more}{alone}.",
            help=f"Label the namespace {pod_security()['label']}=privileged, or take out what '{level.level}' forbids.",
            related=tuple(related),
        )

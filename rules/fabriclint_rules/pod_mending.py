"""Fixes of a container that lacks something: in its own file, or in a TrainJob's patch when that is where it can stand."""

from __future__ import annotations

from typing import Any

from fabriclint.node import Mapping, Node, Sequence
from fabriclint.pod import ContainerView
from fabriclint.rule import AddField, Change, Fix

MANAGER = "fabriclint.dev/fabric"
_JOBS = ("trainingRuntimeSpec", "template", "spec", "replicatedJobs")
_POD = ("template", "spec", "template", "spec")


def stands_in_trainjob(container: ContainerView) -> bool:
    """Whether what the container lacks is to be written into its TrainJob: its runtime is no file of the user's."""
    workload = container.pod.workload
    if workload.landing is None:
        return False
    return _root(container.missing("securityContext").node) is workload.manifest.root


def carries_security(container: ContainerView) -> bool:
    """Whether its TrainJob can give the container a securityContext: by runtimePatches (2.2), not by older overrides."""
    version = getattr(container.pod.workload.landing, "version", "2.2")
    spec = container.pod.workload.manifest.root.mapping("spec")
    older = [k for k in ("podTemplateOverrides", "podSpecOverrides") if spec is not None and k in spec.fields]
    return version not in ("2.0", "2.1") and not older


def add_volume_and_mount(container: ContainerView, volume: dict[str, Any], path: str, message: str) -> Fix | None:
    """Add a volume to the pod and mount it; None where the file has no place for it."""
    pod = container.pod
    there = pod.volumes.get(volume["name"])
    if there is not None and there.string("emptyDir", "medium") != "Memory":
        return None
    if _half_written(container):
        return None
    mount = {"name": volume["name"], "mountPath": path}
    if stands_in_trainjob(container):
        of_pod = {"volumes": [volume]} if there is None else {}
        return _patched(container, {"volumeMounts": [mount]}, of_pod, message)
    if pod.site.form not in ("template", "podspec"):
        return None
    changes: list[Change] = [AddField(container.node, ("volumeMounts",), [mount], append=True)]
    if there is None:
        changes.append(AddField(pod.spec, ("volumes",), [volume], append=True))
    return Fix(message, tuple(changes))


def add_variable(container: ContainerView, name: str, value: str) -> Fix | None:
    """Add a variable to the container's env, or to the trainer block that its TrainJob feeds it by.

    None where sshd starts the ranks, which take nothing of the pod's own env.
    """
    workload = container.pod.workload
    if getattr(container.pod, "by_ssh", False):
        return None
    added = [{"name": name, "value": value}]
    root = workload.manifest.root
    if workload.landing is not None and _root(container.missing("env").node) is root:
        if root.mapping("spec", "trainer") is None:
            return None
        return Fix(f"add {name}", (AddField(root, ("spec", "trainer", "env"), added, append=True),))
    return Fix(f"add {name}", (AddField(container.node, ("env",), added, append=True),))


def mount_host_folders(container: ContainerView, wanted: list[tuple[str, str]]) -> Fix | None:
    """Mount folders of the host, (path in the container, folder), by the volumes that have them, or by new ones."""
    pod = container.pod
    if stands_in_trainjob(container) or pod.site.form not in ("template", "podspec"):
        return None
    if _half_written(container):
        return None
    changes: list[Change] = []
    for where, host in wanted:
        name = next((n for n, v in pod.volumes.items() if v.string("hostPath", "path") == host), None)
        if name is None:
            name = host.strip("/").replace("/", "-").replace("_", "-")[:63]
            if name in pod.volumes:
                return None
            volume = {"name": name, "hostPath": {"path": host}}
            changes.append(AddField(pod.spec, ("volumes",), [volume], append=True))
        mount = {"name": name, "mountPath": where}
        changes.append(AddField(container.node, ("volumeMounts",), [mount], append=True))
    return Fix(f"mount {' and '.join(host for _, host in wanted)}", tuple(changes))


def _half_written(container: ContainerView) -> bool:
    """Whether a mount lacks its path or name: one that is misspelt may be the one that is missed."""
    return any(m.string("mountPath") is None or m.string("name") is None for m in container.mounts)


def add_capability(container: ContainerView, name: str) -> Fix | None:
    """Add a capability to the container; in a TrainJob as a runtimePatches entry for it."""
    message = f"add the capability {name}"
    if stands_in_trainjob(container):
        if not carries_security(container):
            return None
        # A patch's list replaces the runtime's: what that had is repeated.
        kept = [c.text for c in container.added_capabilities]
        return _patched(container, {"securityContext": {"capabilities": {"add": [*kept, name]}}}, {}, message)
    return Fix(message, (AddField(container.node, ("securityContext", "capabilities", "add"), [name], append=True),))


def _patched(
    container: ContainerView, of_container: dict[str, Any], of_pod: dict[str, Any], message: str
) -> Fix | None:
    trainjob = container.pod.workload.manifest.root
    if not carries_security(container) or trainjob.mapping("spec") is None:
        return None
    listed = "containers" if container.kind == "main" else "initContainers"
    entry = {"name": container.name, **of_container}
    spec = {**of_pod, listed: [entry]}
    job = {"name": container.pod.name, "template": {"spec": {"template": {"spec": spec}}}}
    patches = trainjob.mappings("spec", "runtimePatches")
    for patch in patches:
        for there in patch.mappings(*_JOBS):
            if there.string("name") == container.pod.name:
                return _into_patch(there, listed, container, of_container, of_pod, message)
    for patch in patches:
        if patch.string("manager") == MANAGER:
            return Fix(message, (AddField(patch, _JOBS, [job], append=True),))
    made = {"manager": MANAGER, "trainingRuntimeSpec": {"template": {"spec": {"replicatedJobs": [job]}}}}
    return Fix(message, (AddField(trainjob, ("spec", "runtimePatches"), [made], append=True),))


def _into_patch(
    job: Mapping,
    listed: str,
    container: ContainerView,
    of_container: dict[str, Any],
    of_pod: dict[str, Any],
    message: str,
) -> Fix | None:
    """Into the patch that already changes the replicated job."""
    spec = job.mapping(*_POD)
    if spec is None:
        return Fix(message, (AddField(job, _POD, {**of_pod, listed: [{"name": container.name, **of_container}]}),))
    changes: list[Change] = []
    there = next((c for c in spec.mappings(listed) if c.string("name") == container.name), None)
    if there is None:
        changes.append(AddField(spec, (listed,), [{"name": container.name, **of_container}], append=True))
    else:
        for key, value in of_container.items():
            changes.extend(_added(there, (key,), value))
    changes.extend(AddField(spec, (key,), value, append=True) for key, value in of_pod.items())
    return Fix(message, tuple(changes))


def _added(node: Mapping, path: tuple[str, ...], value: Any) -> list[Change]:
    """Add a value that may be partly there: mappings are gone into, lists are appended to."""
    there = node.at(*path)
    if isinstance(value, dict) and isinstance(there, Mapping):
        return [change for key, below in value.items() for change in _added(node, (*path, key), below)]
    if isinstance(value, list):
        held = [i.plain() for i in there.items] if isinstance(there, Sequence) else []
        missing = [v for v in value if v not in held]
        return [AddField(node, path, missing, append=True)] if missing else []
    return [AddField(node, path, value)]


def _root(node: Node) -> Node:
    node = node.source
    while node.parent is not None:
        node = node.parent
    return node

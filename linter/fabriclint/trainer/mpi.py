"""What Trainer's mpi plugin adds: counts, the ssh key, the hostfile and Open MPI's variables.

Source: kubeflow/trainer@dc7656a pkg/runtime/framework/plugins/mpi.
"""

from __future__ import annotations

from typing import Any

from fabriclint.node import Mapping, Node, build
from fabriclint.trainer.assembly import Assembly, Count, PodSet, count_at
from fabriclint.trainer.demand import gpus, looked_at
from fabriclint.trainer.edit import list_in, same_name, same_path, upsert, whole
from fabriclint.trainer.outcome import Host, ResolvedJob
from fabriclint_schemas.trainer.load import names


def apply_mpi(job: ResolvedJob, assembly: Assembly) -> bool:
    """Counts by name, volumes, mounts and variables. False when the plugin fails."""
    settings = assembly.settings
    assert settings is not None
    table = names()
    workers = assembly.by_name(table["node"])
    asked = assembly.asked("numNodes")
    if workers is not None and asked is not None:
        if assembly.launcher_is_node:
            workers.count = asked if asked.value is None else Count(max(asked.value - 1, 1), asked.cause)
        else:
            workers.count = asked
    slots = slot_count(assembly)
    for podset in assembly.podsets:
        if podset.name not in (table["node"], table["launcher"]):
            continue
        launcher = podset.name == table["launcher"]
        volumes = list_in(podset.pod, "volumes", settings)
        upsert(volumes, build(_ssh_volume(assembly), settings), same_name)
        if launcher:
            upsert(volumes, build(_hostfile_volume(assembly), settings), same_name)
        for container in podset.containers():
            if container.string("name") == table["node"] and not _equip(
                job, assembly, settings, container, slots, launcher=launcher
            ):
                return False
    job.hosts = hosts(assembly, slots)
    return True


def _equip(
    job: ResolvedJob, assembly: Assembly, settings: Mapping, container: Mapping, slots: Count, *, launcher: bool
) -> bool:
    table, mpi = names(), names()["mpi"]
    mounts = list_in(container, "volumeMounts", settings)
    path = settings.string("sshAuthMountPath") or ""
    cause = settings.at("sshAuthMountPath") or settings
    upsert(mounts, build({"name": mpi["ssh_volume"], "mountPath": path}, cause), same_path)
    if not launcher:
        return True
    upsert(mounts, build({"name": mpi["hostfile_volume"], "mountPath": mpi["hostfile_directory"]}, settings), same_path)
    implementation = settings.scalar("mpiImplementation")
    if implementation is not None and implementation.value == "":
        job.fail(
            "build",
            implementation,
            "'mpiImplementation' is empty, and Trainer's controller builds nothing for it; the JobSet is never made.",
            "B6",
        )
        return False
    env = list_in(container, "env", settings)
    values = (f"{mpi['hostfile_directory']}/{mpi['hostfile']}", "true", slots.text, mpi["rsh_args"])
    for name, value in zip(table["ompi"], values, strict=True):
        made: Node = build({"name": name, "value": value}, slots.cause if value == slots.text else settings)
        upsert(env, made, same_name)
    return True


def slot_count(assembly: Assembly) -> Count:
    """Processes per host: the TrainJob's, else the runtime's, else, when that is 1, the number of GPUs."""
    settings = assembly.settings
    assert settings is not None
    asked = assembly.asked("numProcPerNode")
    if asked is not None:
        return asked
    own = count_at(settings.at("numProcPerNode")) or Count(1, settings)
    if own.value == 1 and assembly.release.slots_from_gpus:
        found = gpus(looked_at(assembly))
        if found is not None and (found.value is None or found.value > 1):
            return found
    return own


def hosts(assembly: Assembly, slots: Count) -> list[Host]:
    """The lines of the hostfile; none when a count is open."""
    made: list[Host] = []
    for podset in assembly.podsets:
        if podset.name != names()["node"] and not (assembly.launcher_is_node and podset.name == names()["launcher"]):
            continue
        if podset.count.value is None:
            return []
        for replica in range(_replicas(assembly, podset)):
            for pod in range(min(podset.count.value, 4096)):
                made.append(Host(f"{assembly.name}-{podset.name}-{replica}-{pod}.{assembly.subdomain}", slots.value))
    return made


def _replicas(assembly: Assembly, podset: PodSet) -> int:
    """How many replicas of a replicated job the hostfile has; up to 2.2 the first only."""
    if not assembly.release.hostfile_replicas or podset.step == "trainer":
        return 1
    return max(1, min(whole(podset.job.at("replicas")) or 1, 4096))


def _ssh_volume(assembly: Assembly) -> dict[str, Any]:
    mpi = names()["mpi"]
    secret: dict[str, Any] = {"secretName": f"{assembly.name}-{mpi['ssh_volume']}"}
    items: list[dict[str, Any]] = [{"key": key, "path": path} for key, path in mpi["ssh_items"]]
    if assembly.release.ssh_modes:
        whole_volume, *modes = assembly.release.ssh_modes
        secret["defaultMode"] = whole_volume
        for item, mode in zip(items, modes, strict=True):
            item["mode"] = mode
    secret["items"] = items
    return {"name": mpi["ssh_volume"], "secret": secret}


def _hostfile_volume(assembly: Assembly) -> dict[str, Any]:
    mpi = names()["mpi"]
    item = {"key": mpi["hostfile"], "path": mpi["hostfile"], "mode": mpi["hostfile_mode"]}
    source = {"name": f"{assembly.name}-{mpi['hostfile_volume']}", "items": [item]}
    return {"name": mpi["hostfile_volume"], "configMap": source}

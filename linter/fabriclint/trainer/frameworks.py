"""What Trainer's plugins for JAX, XGBoost, Flux and plain jobs add.

Source: kubeflow/trainer@dc7656a pkg/runtime/framework/plugins/{jax,xgboost,flux,plainml}.
"""

from __future__ import annotations

from fabriclint.node import Mapping, build
from fabriclint.trainer.assembly import Assembly, PodSet, add_port
from fabriclint.trainer.demand import gpus, looked_at
from fabriclint.trainer.edit import is_set, list_in, same_name, same_path, texts, upsert
from fabriclint.trainer.outcome import ResolvedJob
from fabriclint.trainer.variables import from_trainjob
from fabriclint_schemas.trainer.load import names


def _take_count(assembly: Assembly) -> PodSet | None:
    podset = assembly.by_step("trainer")
    asked = assembly.asked("numNodes")
    if podset is not None and asked is not None:
        podset.count = asked
    return podset


def apply_plain(assembly: Assembly) -> None:
    """The count and the TrainJob's variables."""
    podset = _take_count(assembly)
    trainer = assembly.trainer
    if podset is None or trainer is None or podset.node is None:
        return
    entries = trainer.mappings("env")
    for entry in entries:
        upsert(list_in(podset.node, "env", trainer), from_trainjob(entry), same_name)


def apply_jax(job: ResolvedJob, assembly: Assembly) -> bool:
    """The count and JAX's variables. False when the controller crashes for want of a trainer job."""
    podset = _take_count(assembly)
    if podset is None:
        if "jax" in assembly.release.crashes_without_trainer_job:
            label = names()["ancestor_label"]
            job.refuse(
                assembly.settings or assembly.trainjob,
                f"No replicated job of the runtime has the label '{label}: trainer', and Trainer's controller crashes on a "
                "jax policy without one; the JobSet is never made.",
                "B2",
                stage="build",
            )
            return False
        return True
    trainer = assembly.trainer
    if trainer is None or podset.node is None:
        return True
    table = names()
    host = f"{assembly.name}-{table['node']}-0-0.{assembly.name}:{table['port']}"
    processes, rank, address = table["jax"]
    env = list_in(podset.node, "env", trainer)
    for entry in (
        build({"name": processes, "value": podset.count.text}, podset.count.cause),
        build({"name": rank, "valueFrom": {"fieldRef": {"fieldPath": table["rank_field"]}}}, trainer),
        build({"name": address, "value": host}, trainer),
    ):
        upsert(env, entry, same_name)
    add_port(podset.node, trainer)
    return True


def apply_xgboost(assembly: Assembly) -> None:
    """The count and the tracker's variables: one worker per GPU, or per node."""
    podset = _take_count(assembly)
    trainer = assembly.trainer
    if podset is None or trainer is None or podset.node is None:
        return
    table = names()
    found = gpus(looked_at(assembly))
    devices = found.value if found is not None else 1
    count = podset.count.value
    workers = "" if count is None or devices is None else str(count * max(devices, 1))
    uri, port, task, number = table["dmlc"]
    env = list_in(podset.node, "env", trainer)
    for entry in (
        build({"name": uri, "value": f"{assembly.name}-{table['node']}-0-0.{assembly.name}"}, trainer),
        build({"name": port, "value": str(table["port"])}, trainer),
        build({"name": task, "valueFrom": {"fieldRef": {"fieldPath": table["rank_field"]}}}, trainer),
        build({"name": number, "value": workers or podset.count.text}, podset.count.cause),
    ):
        upsert(env, entry, same_name)
    add_port(podset.node, trainer)


def apply_flux(job: ResolvedJob, assembly: Assembly) -> bool:
    """The wrapper around the command, the installer, volumes. False when the controller crashes."""
    trainer = assembly.trainer
    if trainer is None or not is_set(trainer, "numNodes"):
        where = trainer or assembly.trainjob.nearest("spec")
        job.refuse(
            where,
            "'spec.trainer.numNodes' is not given, and Trainer's controller crashes on a flux policy without it; the JobSet is "
            "never made.",
            "B11",
            stage="build",
        )
        return False
    flux = names()["flux"]
    settings = assembly.settings or trainer
    config = f"{assembly.name}{flux['config_suffix']}"
    labelled = assembly.by_step("trainer")
    own = labelled.node if labelled is not None else None
    image = _installer_image(own, trainer)
    words = [*(texts(trainer.at("command")) or []), *(texts(trainer.at("args")) or [])]
    script = " ".join(words).strip()
    where = trainer.at("command") or settings
    trainer.put("command", build(["/bin/bash", f"{flux['config_path']}/entrypoint.sh", script], where))
    trainer.drop("args")
    for podset in assembly.podsets:
        if podset.name != names()["node"]:
            continue
        volumes = list_in(podset.pod, "volumes", settings)
        for volume in (
            {"name": flux["software_volume"], "emptyDir": {}},
            {"name": flux["install_volume"], "emptyDir": {}},
            {"name": config, "configMap": {"name": config, "defaultMode": flux["config_mode"]}},
            {
                "name": flux["curve_volume"],
                "secret": {"secretName": f"{assembly.name}-{flux['curve_volume']}", "defaultMode": flux["curve_mode"]},
            },
        ):
            upsert(volumes, build(volume, settings), same_name)
        install = {"name": flux["install_volume"], "mountPath": flux["install_path"]}
        scripts = {"name": config, "mountPath": flux["config_path"], "readOnly": True}
        installer = {
            "name": flux["installer"],
            "image": image,
            "command": ["/bin/bash", f"{flux['config_path']}/init.sh"],
            "volumeMounts": [install, scripts],
        }
        list_in(podset.pod, "initContainers", settings).add(build(installer, settings))
        for container in podset.containers():
            if container.string("name") != names()["node"]:
                continue
            mounts = list_in(container, "volumeMounts", settings)
            for mount in (
                install,
                {"name": flux["software_volume"], "mountPath": flux["software_path"]},
                scripts,
                {"name": flux["curve_volume"], "mountPath": flux["curve_path"], "readOnly": True},
            ):
                upsert(mounts, build(mount, settings), same_path)
    return True


def _installer_image(container: Mapping | None, trainer: Mapping) -> str:
    """The installer's image: as the runtime's or the TrainJob's variables say, else Trainer's own."""
    flux = names()["flux"]
    image: str = flux["image"]
    for entry in container.mappings("env") if container is not None else ():
        value = entry.scalar("value")
        if entry.string("name") == flux["image_variable"] and value is not None:
            image = value.text
    for entry in trainer.mappings("env"):
        if entry.string("name") == flux["image_variable"]:
            value = entry.scalar("value")
            image = value.text if value is not None else ""
    return image

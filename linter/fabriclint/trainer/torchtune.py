"""torchtune under Trainer's torch policy: which model a runtime's name means, what is refused, the command.

Source: kubeflow/trainer@dc7656a pkg/runtime/framework/plugins/torch/torchtune.go.
"""

from __future__ import annotations

from fabriclint.node import Mapping, Node, Scalar, Sequence
from fabriclint.trainer.assembly import Assembly, PodSet
from fabriclint.trainer.demand import gpus, looked_at
from fabriclint.trainer.edit import is_absent, open_at, texts, whole
from fabriclint.trainer.outcome import ResolvedJob
from fabriclint_schemas.trainer.load import names


def is_torchtune(trainer: Mapping) -> bool:
    """Whether the TrainJob's command is exactly `tune run`."""
    command: list[str] = names()["torchtune"]["command"]
    return texts(trainer.at("command")) == command


def model_of(runtime_name: str) -> str:
    """The model that the name of a runtime means; empty unless the name has three parts."""
    parts = runtime_name.split("-")
    return f"{parts[1].replace('.', '_')}/{parts[2].upper()}" if len(parts) == 3 else ""


def recipe_of(assembly: Assembly, nodes: int, processes: str | None, args: list[str]) -> tuple[str, str]:
    """The recipe and the configuration for a number of nodes and of processes (None: not given)."""
    table = names()["torchtune"]
    found = gpus(looked_at(assembly))
    devices = found.value if found is not None else 0
    one_device = processes == "1"
    kind = "full-multinode" if nodes > 1 else "full"
    if assembly.release.torchtune == "fixed-recipes":
        kind = "full-single" if nodes == 1 and one_device else kind
    elif nodes == 1:
        qlora = any(table["qlora"] in a for a in args) and not any(table["dora"] in a for a in args)
        kind = "qlora" if qlora else "lora" if any(table["lora"] in a for a in args) else "full"
        if one_device or devices == 1:
            kind += "-single"
    name, suffix = table["recipes"][kind]
    return name, f"{model_of(assembly.runtime_name)}{suffix}"


def rendezvous_and_recipe(assembly: Assembly, podset: PodSet, processes: Scalar) -> list[str]:
    """What is put behind `tune run`."""
    table = names()["torchtune"]
    trainer = assembly.trainer
    assert trainer is not None
    nodes = podset.count.value if podset.count.value is not None else 1
    number = int(processes.text) if processes.text.isdigit() else None
    found = gpus(looked_at(assembly))
    devices = (found.value or 0) if found is not None else 0
    if assembly.release.torchtune == "fixed-recipes":
        several = nodes > 1 or number != 1
    else:
        several = nodes > 1 or (number > 1 if number is not None else devices > 1)
    host = f"{assembly.name}-{names()['node']}-0-0.{assembly.name}:{names()['port']}"
    recipe, config = recipe_of(assembly, nodes, processes.text, texts(trainer.at("args")) or [])
    made = [f"{table['rendezvous']}={host}"] if several else []
    made += [recipe, table["config"], config]
    for there in assembly.podsets:
        if there.step == "trainer":
            for container in there.containers():
                if container.string("name") == names()["node"]:
                    made += [c for c in texts(container.at("command")) or [] if c.split("=")[0] in table["fixed"]]
    return made


def judge_torchtune(job: ResolvedJob, assembly: Assembly) -> None:
    """Refuse what the webhook refuses of a TrainJob that runs torchtune."""
    table = names()["torchtune"]
    trainer, root = assembly.trainer, assembly.trainjob
    assert trainer is not None
    reference = root.nearest("spec", "runtimeRef", "name")
    model = model_of(assembly.runtime_name)
    if model not in table["models"]:
        known = ", ".join(table["models"])
        job.refuse(
            reference,
            f"'{assembly.runtime_name}' names no model that torchtune is set up for ({known}): a runtime's name needs three "
            "parts, as torchtune-llama3.2-1b.",
            "R8",
        )
    given = trainer.at("numNodes")
    nodes = whole(given)
    if (
        is_absent(given)
        and assembly.release.torchtune != "lora-single-node"
        and assembly.release.name in ("2.0", "2.1")
    ):
        job.refuse(trainer, "The webhook of this Trainer crashes on torchtune without 'numNodes'.", "R8")
        return
    if open_at(given):
        return
    nodes = 1 if nodes is None else nodes
    if nodes > 1 and model != table["multi_node"]:
        job.refuse(
            given or trainer, f"'numNodes' is {nodes}, and torchtune runs model '{model}' on one node only.", "R8"
        )
    args = texts(trainer.at("args")) or []
    if assembly.release.torchtune == "fixed-recipes":
        return
    processes = trainer.at("numProcPerNode")
    text = processes.text if isinstance(processes, Scalar) and processes.value is not None else None
    _, config = recipe_of(assembly, nodes, text, args)
    found = gpus(looked_at(assembly))
    sure = not open_at(processes) and (found is None or found.value is not None)
    if "_qlora" in config and sure:
        where: Node = trainer.at("args") or trainer
        if model == table["no_qlora"]:
            job.refuse(where, f"QLoRA is not there for model '{model}'.", "R8")
        if not config.endswith("_single_device") and model in table["one_device_for_qlora"]:
            wide = processes or trainer.at("resourcesPerNode") or where
            job.refuse(wide, f"QLoRA of model '{model}' runs on exactly one GPU: one process and one GPU.", "R8")
    if assembly.release.torchtune == "lora-single-node":
        if nodes > 1 and any(table["lora"] in a for a in args):
            job.refuse(given or trainer, "torchtune does LoRA on one node only.", "R8")
        listed = trainer.at("args")
        for item in listed.items if isinstance(listed, Sequence) else ():
            key = item.text.split("=")[0] if isinstance(item, Scalar) else ""
            if key in table["fixed"]:
                job.refuse(item, f"'{key}' is set by the runtime and may not stand in the TrainJob's args.", "R8")

"""What Trainer's torch plugin adds: the variables of torchrun, or torchtune's command.

Source: kubeflow/trainer@dc7656a pkg/runtime/framework/plugins/torch.
"""

from __future__ import annotations

from fabriclint.node import Mapping, Node, Scalar, build
from fabriclint.trainer.assembly import Assembly, Count, add_port
from fabriclint.trainer.demand import cpus, gpus, limits_first, looked_at
from fabriclint.trainer.edit import list_in, named, same_name, texts, upsert
from fabriclint.trainer.torchtune import is_torchtune, rendezvous_and_recipe
from fabriclint.trainer.variables import from_trainjob
from fabriclint_schemas.trainer.load import names


def apply_torch(assembly: Assembly) -> None:
    """Count, variables, port and torchtune's command, on the container `node` of the first trainer job."""
    podset = assembly.by_step("trainer")
    asked = assembly.asked("numNodes")
    if podset is not None and asked is not None:
        podset.count = asked
    trainer = assembly.trainer
    if podset is None or trainer is None or podset.node is None:
        return
    node = podset.node
    env = list_in(node, "env", trainer)
    for entry in trainer.mappings("env"):
        upsert(env, from_trainjob(entry), same_name)
    processes = process_count(assembly)
    tune = is_torchtune(trainer)
    for variable in rendezvous(assembly, podset.count, processes, trainer, tune=tune):
        upsert(env, variable, same_name)
    if tune:
        command = [*(texts(trainer.at("command")) or []), *rendezvous_and_recipe(assembly, podset, processes)]
        where = trainer.at("command") or trainer
        trainer.put("command", build(command, where))
    add_port(node, trainer)
    for target in _targets(assembly):
        more = list_in(target, "env", trainer)
        for variable in rendezvous(assembly, podset.count, processes, trainer, tune=False):
            upsert(more, variable, same_name)


def rendezvous(assembly: Assembly, count: Count, processes: Node, cause: Node, *, tune: bool) -> list[Node]:
    """The PET_ variables; without the address for torchtune, which is told it on its command line."""
    table = names()
    host = f"{assembly.name}-{table['node']}-0-0.{assembly.name}"
    nodes, per_node, rank, address, port = table["pet"]
    made = [
        build({"name": nodes, "value": count.text}, count.cause),
        build({"name": per_node, "value": getattr(processes, "text", "")}, processes),
        build({"name": rank, "valueFrom": {"fieldRef": {"fieldPath": table["rank_field"]}}}, cause),
    ]
    if not tune:
        made.append(build({"name": address, "value": host}, cause))
        made.append(build({"name": port, "value": str(table["port"])}, cause))
    return made


def process_count(assembly: Assembly) -> Scalar:
    """PET_NPROC_PER_NODE: what is given, else `auto` with GPUs, else the number of CPUs; with the node it is from."""
    trainer = assembly.trainer
    assert trainer is not None
    given: Node | None = trainer.at("numProcPerNode")
    settings = assembly.settings
    if not isinstance(given, Scalar) or given.value is None:
        given = settings.at("numProcPerNode") if settings is not None else None
    wanted = given.text if isinstance(given, Scalar) and given.value is not None else "auto"
    cause: Node = given or trainer
    resources = looked_at(assembly)
    if assembly.release.processes == "job-limits-first":
        asked = trainer.mapping("resourcesPerNode")
        text = limits_first(asked, wanted) if asked is not None else wanted
        return _scalar(text, asked or cause)
    found = gpus(resources)
    if wanted == "cpu" or (wanted == "auto" and found is None):
        return _scalar(str(max(1, cpus(resources))), resources or cause)
    return _scalar(wanted, cause if wanted != "auto" or found is None else found.cause)


def _scalar(text: str, cause: Node) -> Scalar:
    made = build(text, cause)
    assert isinstance(made, Scalar)
    return made


def _targets(assembly: Assembly) -> list[Mapping]:
    """Containers that the runtime's torch.envInjection names, besides `node`."""
    settings = assembly.settings
    found: list[Mapping] = []
    for target in settings.mappings("envInjection", "targets") if settings is not None else ():
        podset = assembly.by_name(target.string("jobName") or "")
        for name in texts(target.at("containerNames")) or ():
            for key in ("initContainers", "containers"):
                container = named(podset.containers(key), name) if podset is not None else None
                if container is not None:
                    found.append(container)
    return found

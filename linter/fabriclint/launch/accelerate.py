"""accelerate launch. Source: accelerate 1.15.0 commands/launch.py over torch 2.15.0."""

from __future__ import annotations

import re

from fabriclint.launch.facts import Fact, Launcher, Lookup, integer
from fabriclint.launch.options import Parsed, both, parse
from fabriclint.launch.word import HOLE, Word
from fabriclint.node import UNKNOWN, Unknown, open_value

VALUED = both(
    "config_file",
    "num_processes",
    "num_machines",
    "machine_rank",
    "main_process_ip",
    "main_process_port",
    "rdzv_backend",
    "rdzv_conf",
    "max_restarts",
    "monitor_interval",
    "role",
    "log_dir",
    "tee",
    "gpu_ids",
    "mixed_precision",
    "num_cpu_threads_per_process",
    "dynamo_backend",
    "dynamo_mode",
    "deepspeed_config_file",
    "deepspeed_hostfile",
    "deepspeed_exclusion_filter",
    "deepspeed_inclusion_filter",
    "deepspeed_multinode_launcher",
    "deepspeed_moe_layer_cls_names",
    "zero_stage",
    "offload_optimizer_device",
    "offload_param_device",
    "gradient_accumulation_steps",
    "gradient_clipping",
    "zero3_init_flag",
    "zero3_save_16bit_model",
    "fsdp_version",
    "fsdp_offload_params",
    "fsdp_min_num_params",
    "fsdp_sharding_strategy",
    "fsdp_auto_wrap_policy",
    "fsdp_transformer_layer_cls_to_wrap",
    "fsdp_backward_prefetch",
    "fsdp_state_dict_type",
    "fsdp_forward_prefetch",
    "fsdp_use_orig_params",
    "fsdp_cpu_ram_efficient_loading",
    "fsdp_sync_module_states",
    "fsdp_activation_checkpointing",
    "fsdp_reshard_after_forward",
    "megatron_lm_tp_degree",
    "megatron_lm_pp_degree",
    "fp8_backend",
    "main_training_function",
    "downcast_bf16",
    "env",
    "enable_cpu_affinity_",
    "ipex_",
    "parallelism_config_tp_size",
    "parallelism_config_dp_shard_size",
    "parallelism_config_dp_replicate_size",
    "offload_optimizer_nvme_path",
    "offload_param_nvme_path",
    "local_ranks_filter",
) | {"-r": "redirects", "--redirects": "redirects", "-t": "tee"}
FLAGS = both(
    "multi_gpu",
    "use_deepspeed",
    "use_fsdp",
    "use_megatron_lm",
    "cpu",
    "tpu",
    "use_xpu",
    "ipex",
    "same_network",
    "no_python",
    "module",
    "debug",
    "quiet",
    "dynamo_use_fullgraph",
    "dynamo_use_dynamic",
    "use_mps_device",
    "enable_cpu_affinity",
    "dynamo_use_regional_compilation",
    "use_parallelism_config",
    "help",
) | {"-m": "module", "-q": "quiet", "-h": "help"}


_NUMBERS = ("num_processes", "num_machines", "machine_rank", "main_process_port")
_LINE = re.compile(r"(\w+):[ \t]*('[^'\n]*'|\"[^\"\\\n]*\"|[^\s#&*!|>'\"{\[][^#\n]*?)?[ \t]*(?:#.*)?\r?$", re.MULTILINE)
#: Sorts of jobs that accelerate starts by torchrun's way; deepspeed may start its own.
_BY_TORCH = ("MULTI_GPU", "FSDP", "DEEPSPEED")


def _configured(file: Word) -> dict[str, Fact] | None:
    """What a configuration in view says by its plain lines; None when it may say more than can be read."""
    if HOLE in file.raw or file.raw.lstrip()[:1] in ("{", "["):
        return None
    said: dict[str, Fact] = {}
    sort, nested = None, None
    for found in re.finditer(r"^[ \t]*(\w+):[ \t]*['\"]?([\w.-]*)", file.raw, re.MULTILINE):
        if found[1] == "distributed_type":
            sort = found[2]
        elif found[1] == "deepspeed_multinode_launcher":
            nested = found[2]
    if sort not in _BY_TORCH or (sort == "DEEPSPEED" and nested != "standard"):
        return None
    for found in _LINE.finditer(file.raw):
        if found.start() and file.raw[found.start() - 1] != "\n":
            continue
        name, text = found[1], (found[2] or "").strip()
        place = file.part(found.start(2), found.end(2)) if text else file.part(found.start(1), found.end(1))
        text = text.strip("'\"")
        if name in _NUMBERS:
            said[name] = integer(text, place)
            if isinstance(said[name].value, str):
                said[name] = Fact(UNKNOWN, place)
        elif name in ("main_process_ip", "same_network"):
            said[name] = Fact(UNKNOWN if open_value(text) else text, place)
    return said


def read(words: list[Word], lookup: Lookup, files: dict[str, Word] | None = None) -> Launcher:
    """Read the words behind `accelerate launch`. `files`: the texts in view by their paths."""
    made = Launcher("accelerate", words)
    got: Parsed = parse(words, VALUED, FLAGS, prefixes=False)
    made.inner = got.rest
    for text, reason, place in got.errors:
        # The list of options is that of one release: another may know more.
        made.refuse(text, reason, place, "1.15" if "exist" in reason else "")
    if not got.rest and not got.errors and not got.unclear:
        made.refuse("", "the training script is missing", None)
    facts: dict[str, Fact] = {}
    for name in _NUMBERS:
        facts[name] = Fact()
        if name in got.values:
            value, place = got.values[name]
            facts[name] = integer(value, place)
            if isinstance(facts[name].value, str):
                made.refuse(value, f"'{value}' is no number", place)
                facts[name] = Fact(UNKNOWN, place)
    if got.unclear or got.errors:
        made.forget()
        return made
    configured = "config_file" in got.values
    written: dict[str, Fact] | None = {}
    if configured:
        value, place = got.values["config_file"]
        made.options["config_file"] = Fact(UNKNOWN if HOLE in value else value, place)
        file = (files or {}).get(value)
        written = _configured(file) if file is not None else None
    file_value: Unknown | None = UNKNOWN if written is None else None

    def say(name: str) -> Fact:
        fact = facts.get(name, Fact())
        return fact if fact.value is not None else (written or {}).get(name, Fact(file_value))

    machines, processes, rank, port = (
        say(n) for n in ("num_machines", "num_processes", "machine_rank", "main_process_port")
    )
    address = say("main_process_ip")
    if "main_process_ip" in got.values:
        value, place = got.values["main_process_ip"]
        address = Fact(UNKNOWN if HOLE in value else value, place)
    made.processes = processes
    count = machines.value if machines.value is not None else 1
    if isinstance(count, Unknown):
        made.nodes, made.processes_per_node = machines, Fact(UNKNOWN, processes.place)
        made.backend = Fact(UNKNOWN)
        made.host, made.port, made.node_rank = (
            address if address.value is not None else Fact(UNKNOWN),
            port,
            rank,
        )
        return made
    assert isinstance(count, int)
    total = processes.value
    if count > 1:
        made.nodes = machines
        made.node_rank = rank
        if rank.value is None:
            made.refuse("", "several machines need --machine_rank", machines.place)
        made.processes_per_node = (
            Fact(total // count, processes.place) if isinstance(total, int) else Fact(UNKNOWN, processes.place)
        )
    elif total in (0, 1):
        made.nodes, made.processes_per_node = Fact(1), Fact(1, processes.place)
        return made
    else:
        # torchrun's own defaults apply: the PET_ variables of a torch runtime.
        nodes = lookup("PET_NNODES")
        made.nodes = Fact(1, machines.place) if nodes is None else integer(nodes, None)
        pet_rank = lookup("PET_NODE_RANK")
        made.node_rank = rank if rank.value is not None else Fact(0) if pet_rank is None else integer(pet_rank, None)
        made.processes_per_node = Fact(total if total is not None else UNKNOWN, processes.place)
        if isinstance(made.nodes.value, int) and isinstance(total, int):
            made.processes = Fact(made.nodes.value * total, processes.place)
        elif nodes is not None:
            made.processes = Fact(UNKNOWN, processes.place)
        if address.value is None:
            pet = lookup("PET_MASTER_ADDR")
            address = Fact("127.0.0.1" if pet is None else pet)
    backend = got.values.get("rdzv_backend")
    made.backend = (
        Fact("static") if backend is None else Fact(UNKNOWN if HOLE in backend[0] else backend[0], backend[1])
    )
    made.host = address if address.value is not None else Fact("None")
    made.port = port if port.value is not None else Fact(29500)
    same = say("same_network").value
    if isinstance(same, Unknown) and made.backend.value != "static":
        made.host = Fact(UNKNOWN)
    elif made.backend.value not in ("static", UNKNOWN) and ("same_network" in got.flags or same in ("true", "True")):
        made.host, made.port = Fact("localhost"), Fact(29400)
    return made

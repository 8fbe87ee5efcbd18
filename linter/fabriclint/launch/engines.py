"""Inference engines: vllm serve, sglang, trtllm-serve."""

from __future__ import annotations

from fabriclint.launch.facts import NOT_SAID, Fact, Launcher, integer
from fabriclint.launch.word import HOLE, Word
from fabriclint.node import UNKNOWN

#: fact -> spellings.
#: Sources: vllm 0.33.0 engine/arg_utils.py, sglang 0.5.23 server_args.py, TensorRT-LLM@020c89e.
_VLLM: dict[str, tuple[str, ...]] = {
    "tensor": ("--tensor-parallel-size", "-tp"),
    "pipeline": ("--pipeline-parallel-size", "-pp"),
    "data": ("--data-parallel-size", "-dp"),
    "nodes": ("--nnodes", "-n"),
    "node_rank": ("--node-rank", "-r"),
    "host": ("--master-addr",),
    "port": ("--master-port",),
}
_SGLANG: dict[str, tuple[str, ...]] = {
    "tensor": ("--tensor-parallel-size", "--tp-size"),
    "pipeline": ("--pipeline-parallel-size", "--pp-size"),
    "data": ("--data-parallel-size", "--dp-size"),
    "nodes": ("--nnodes",),
    "node_rank": ("--node-rank",),
    "init": ("--dist-init-addr", "--nccl-init-addr"),
}
_TRTLLM: dict[str, tuple[str, ...]] = {
    "tensor": ("--tp_size",),
    "pipeline": ("--pp_size",),
    "gpus": ("--gpus_per_node",),
}
_TABLES: dict[str, dict[str, tuple[str, ...]]] = {"vllm": _VLLM, "sglang": _SGLANG, "trtllm": _TRTLLM}
#: Options of sglang that are often written with underscores, which it takes in none.
_DASHED = frozenset(s for names in _SGLANG.values() for s in names) | {
    "--model-path",
    "--served-model-name",
    "--tokenizer-path",
    "--trust-remote-code",
    "--context-length",
    "--mem-fraction-static",
    "--kv-cache-dtype",
    "--max-running-requests",
    "--chunked-prefill-size",
    "--expert-parallel-size",
    "--ep-size",
    "--enable-dp-attention",
    "--enable-metrics",
    "--attention-backend",
    "--tool-call-parser",
    "--reasoning-parser",
    "--disable-radix-cache",
    "--log-level",
    "--api-key",
}
#: Other long options that a prefix could mean just as well.
_OTHERS = {
    "vllm": (
        "--tensor-parallel-size",
        "--pipeline-parallel-size",
        "--data-parallel-size",
        "--data-parallel-size-local",
        "--data-parallel-start-rank",
        "--data-parallel-address",
        "--data-parallel-rpc-port",
        "--data-parallel-backend",
        "--data-parallel-hybrid-lb",
        "--data-parallel-external-lb",
        "--data-parallel-rank",
        "--node-rank",
        "--nnodes",
        "--master-addr",
        "--master-port",
        "--no-enable",
    ),
    "sglang": (
        "--tp-size",
        "--pp-size",
        "--dp-size",
        "--pp-max-micro-batch-size",
        "--pp-async-batch-depth",
        "--tensor-parallel-size",
        "--pipeline-parallel-size",
        "--data-parallel-size",
        "--nnodes",
        "--node-rank",
        "--dist-init-addr",
        "--nccl-init-addr",
    ),
    "trtllm": (),
}


def read(family: str, words: list[Word]) -> Launcher:
    """Read the words behind the engine's name (and its `serve`)."""
    made = Launcher(family, words)
    spellings = {s: fact for fact, names in _TABLES[family].items() for s in names}
    found: dict[str, Fact] = {}
    i = 0
    attention = False
    while i < len(words):
        word = words[i]
        raw = word.raw
        if word.open and i and (not words[i - 1].raw.startswith("--") or "=" in words[i - 1].raw):
            # The model, or the value of an option before it, is one word; anything else may be options.
            made.unclear = True
        name, equals, value = raw.partition("=")
        if family == "vllm" and name.startswith("--"):
            name = name.replace("_", "-")
        if family == "sglang" and name.startswith("--") and "_" in name and name.replace("_", "-") in _DASHED:
            dashed = name.replace("_", "-")
            made.refuse(raw, f"sglang knows '{dashed}' only, with dashes", word.place, instead=dashed)
        attention |= name == "--enable-dp-attention"
        fact = spellings.get(name)
        if fact is None and family != "trtllm" and name.startswith("--") and len(name) > 4:
            near = [s for s in _OTHERS[family] if s.startswith(name)]
            fact = spellings.get(near[0]) if len(near) == 1 else None
            if len(near) > 1 and family == "sglang" and name == "--pp":
                made.refuse(raw, f"the option '{name}' is ambiguous", word.place, "0.5.23")
        if family == "vllm" and name in ("--tp", "--pp", "--dp"):
            made.refuse(raw, f"vllm has no option '{name}' ('{name[1:]}' is one)", word.place, instead=name[1:])
        if family == "sglang" and name in ("-tp", "-pp", "-dp"):
            made.refuse(raw, f"sglang has no option '{name}' ('-{name}' is one)", word.place, instead=f"-{name}")
        if family == "sglang" and fact is None and name in ("--tp", "--dp"):
            fact = {"--tp": "tensor", "--dp": "data"}[name]
        if fact is None:
            i += 1
            continue
        if equals:
            text, place = value, word.part(len(raw) - len(value), len(raw)) if value else word.place
            i += 1
        elif i + 1 < len(words):
            text, place = words[i + 1].raw, words[i + 1].place
            i += 2
        else:
            break
        if fact in ("host", "init"):
            found[fact] = Fact(UNKNOWN if HOLE in text else text, place)
        else:
            found[fact] = integer(text, place)
            if isinstance(found[fact].value, str):
                made.refuse(text, f"'{text}' is no number", place)
                found[fact] = Fact(UNKNOWN, place)
    if "init" in found:
        init = found.pop("init")
        if isinstance(init.value, str):
            host, colon, port = init.value.rpartition(":")
            made.host = Fact(host if colon else init.value, init.place)
            made.port = integer(port, init.place) if colon else NOT_SAID
        else:
            made.host = made.port = init
    for name, value_fact in found.items():
        setattr(made, name if name != "gpus" else "processes_per_node", value_fact)
    if made.unclear:
        for name in ("tensor", "pipeline", "data", "nodes"):
            if getattr(made, name).value is None:
                setattr(made, name, Fact(UNKNOWN))
    sizes = [made.tensor, made.pipeline] + ([] if attention else [made.data])
    numbers = [1 if f.value is None else f.value for f in sizes]
    stated = next((f.place for f in sizes if f.place), None)
    if all(isinstance(n, int) for n in numbers):
        total = 1
        for n in numbers:
            total *= n if isinstance(n, int) else 1
        made.gpus = Fact(total, stated)
    else:
        made.gpus = Fact(UNKNOWN, stated)
    return made

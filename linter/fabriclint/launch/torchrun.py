"""torchrun, `python -m torch.distributed.run`, `python -m torch.distributed.launch`.

Source: torch 2.15.0 distributed/run.py, elastic/rendezvous/utils.py.
"""

from __future__ import annotations

import re

from fabriclint.launch.facts import NOT_SAID, Fact, Launcher, Lookup, integer
from fabriclint.launch.options import both, parse
from fabriclint.launch.word import HOLE, Place, Word
from fabriclint.node import UNKNOWN, Unknown

VALUED = both(
    "nnodes",
    "nproc_per_node",
    "rdzv_backend",
    "rdzv_endpoint",
    "rdzv_id",
    "rdzv_conf",
    "max_restarts",
    "monitor_interval",
    "start_method",
    "event_log_handler",
    "log_dir",
    "redirects",
    "tee",
    "local_ranks_filter",
    "duplicate_stdout_filters",
    "duplicate_stderr_filters",
    "node_rank",
    "master_addr",
    "master_port",
    "local_addr",
    "logs_specs",
    "numa_binding",
    "role",
    "signals_to_handle",
) | {"-r": "redirects", "-t": "tee"}
FLAGS = both("standalone", "module", "no_python", "run_path", "virtual_local_rank", "use_env", "help") | {
    "-m": "module",
    "-h": "help",
}
_HOST = re.compile(r"[\w.:-]+")


def endpoint(text: str) -> tuple[str, int | None] | str:
    """(host, port or None) of a rendezvous endpoint, or why it is refused."""
    text = text.strip()
    if not text:
        return "localhost", None
    if text[0] == "[" and text[-1] == "]":
        host, port_text = text[1:-1], None
    else:
        host, colon, port = text.rpartition(":")
        host, port_text = (host, port) if colon else (text, None)
        if host[:1] == "[" and host[-1:] == "]":
            host = host[1:-1]
    if port_text is not None and (not port_text.isdigit() or len(port_text) > 9 or int(port_text) > 65535):
        return f"what follows the last ':' of '{text}' is no port"
    if not _HOST.fullmatch(host):
        return f"'{text}' has no plain host name"
    return host, int(port_text) if port_text is not None else None


def read(words: list[Word], lookup: Lookup, *, launch: bool = False) -> Launcher:
    """Read the words behind the program's name."""
    made = Launcher("torchrun", words)
    flags = FLAGS if launch else {k: v for k, v in FLAGS.items() if v != "use_env"}
    got = parse(words, VALUED, flags)
    made.inner = got.rest
    for wrong, reason, at in got.errors:
        made.refuse(wrong, reason, at)
    if "help" in got.flags:
        return made

    def value(name: str) -> tuple[str | Unknown | None, Place | None]:
        if name in got.values:
            text, place = got.values[name]
            return (UNKNOWN if HOLE in text else text), place
        return lookup("PET_" + name.upper()), None

    def switch(name: str) -> bool | Unknown:
        if name in got.flags:
            return True
        text = lookup("PET_" + name.upper())
        if text is None:
            return False
        fact = integer(text, None)
        if isinstance(fact.value, str):
            made.refuse(f"PET_{name.upper()}={fact.value}", "it must be a number", None)
            return UNKNOWN
        return UNKNOWN if isinstance(fact.value, Unknown) else bool(fact.value)

    if not got.rest and not got.errors and not got.unclear:
        made.refuse("", "the training script is missing", None)
    # -- how many
    text, place = value("nnodes")
    low: int | Unknown = 1
    high: int | Unknown = 1
    if isinstance(text, Unknown):
        low = high = UNKNOWN
    elif text is not None:
        numbers = [integer(t, place).value for t in text.split(":")]
        if len(numbers) > 2 or not all(isinstance(n, int) for n in numbers):
            made.refuse(text, f"'{text}' is no number of nodes", place)
            low = high = UNKNOWN
        else:
            low, high = numbers[0], numbers[-1]  # type: ignore[assignment]
            if isinstance(low, int) and isinstance(high, int) and not 0 < low <= high:
                made.refuse(text, f"'{text}' is no number of nodes", place)
    both_known = isinstance(low, int) and isinstance(high, int)
    made.nodes = Fact(low if low == high or not both_known else (low, high), place)  # type: ignore[arg-type]
    text, place = value("nproc_per_node")
    made.processes_per_node = Fact(1) if text is None else integer(text, place)
    per = made.processes_per_node.value
    if isinstance(per, str) and per not in ("auto", "gpu", "cpu", "xpu"):
        made.refuse(per, f"'{per}' is neither a number nor auto, gpu, cpu or xpu", place)
        made.processes_per_node = Fact(UNKNOWN, place)
    if isinstance(low, int) and low == high and isinstance(per, int):
        made.processes = Fact(low * per, made.processes_per_node.place)
    # -- where they meet
    text, place = value("master_port")
    port = integer(text, place)
    if isinstance(port.value, str):
        made.refuse(port.value, f"'{port.value}' is no port", place)
    text, place = value("node_rank")
    rank = Fact(0) if text is None else integer(text, place)
    if isinstance(rank.value, str):
        made.refuse(rank.value, f"'{rank.value}' is no node rank", place)
    address, address_place = value("master_addr")
    made.master = Fact(address, address_place)
    backend, backend_place = value("rdzv_backend")
    backend = "static" if backend is None else backend
    target, target_place = value("rdzv_endpoint")
    configuration, place = value("rdzv_conf")
    if isinstance(configuration, str) and configuration.strip():
        for entry in configuration.split(","):
            key, _, right = entry.partition("=")
            if not key.strip() or not right.strip():
                made.refuse(configuration, f"'{entry}' is no KEY=VALUE", place)
    numa, place = value("numa_binding")
    if isinstance(numa, str) and numa not in ("node", "socket", "exclusive", "core-complex"):
        made.refuse(numa, f"'{numa}' is no binding", place)
    if "no_python" in got.flags and "module" in got.flags:
        made.refuse("--no-python", "'--no-python' and '--module' exclude each other", got.flags["no_python"])
    if launch and "no_python" in got.flags and "use_env" not in got.flags:
        made.refuse("--no-python", "'--no-python' needs '--use-env'", got.flags["no_python"])
    standalone = switch("standalone")
    made.standalone = Fact(UNKNOWN if isinstance(standalone, Unknown) else int(standalone), got.flags.get("standalone"))
    if got.unclear or isinstance(standalone, Unknown):
        made.forget() if got.unclear else None
        made.host = made.port = made.backend = Fact(UNKNOWN)
        return made
    if standalone:
        made.backend, made.host, made.port = (
            Fact("c10d", backend_place),
            Fact("localhost", got.flags.get("standalone")),
            Fact(0),
        )
        return made
    made.backend = Fact(backend, backend_place)
    if isinstance(backend, Unknown) or isinstance(target, Unknown):
        made.host = made.port = Fact(UNKNOWN, target_place)
        if backend == "static":
            made.node_rank = rank
        return made
    target = target or ""
    if backend == "static":
        if not target and port.value is None:
            if isinstance(high, Unknown):
                # One node meets at a free local port, several at the master.
                made.host = Fact(UNKNOWN if address is None else address, address_place)
                made.port = Fact(UNKNOWN)
                made.node_rank = rank
                return made
            if high == 1:
                made.backend, made.host, made.port = Fact("c10d"), Fact("localhost"), Fact(0)
                return made
        made.node_rank = rank
        if not target:
            made.host = Fact("127.0.0.1" if address is None else address, address_place)
            made.port = Fact(29500) if port.value is None else port
            if isinstance(made.host.value, str) and not _HOST.fullmatch(made.host.value.strip()):
                made.refuse(made.host.value, f"'{made.host.value}' is no host name", address_place)
            return made
    read_endpoint = endpoint(target)
    if isinstance(read_endpoint, str):
        made.refuse(target, read_endpoint, target_place)
        made.host = made.port = NOT_SAID
        return made
    host, found = read_endpoint
    made.host = Fact(host, target_place)
    if found is None and backend == "static":
        made.refuse(target, f"the endpoint '{target}' has no port", target_place)
    default = {"c10d": 29400, "etcd": 2379, "etcd-v2": 2379}.get(backend)
    made.port = Fact(found if found is not None else default if backend != "static" else None, target_place)
    return made

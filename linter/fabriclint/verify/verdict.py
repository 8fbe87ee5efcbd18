"""Judges the collected proofs: one of five verdicts, with reason, strength and causes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from fabriclint.verify.evidence import Failure, Log, Process, Proof
from fabriclint.verify.lines import Tally
from fabriclint.verify.tables import tables

#: Exit code of each verdict.
EXITS = {"fabric": 0, "partly": 1, "sockets": 1, "failed": 1, "none": 2}
_ORDER = ("channel", "runtime", "banner", "none")
_EVERYTHING = "kubectl logs -n NAMESPACE -c CONTAINER -l LABELS --tail=-1 --prefix"
_SHOW_INIT = "Set NCCL_DEBUG=INFO and NCCL_DEBUG_SUBSYS=INIT,NET,ENV in the ranks' environment (behind any sourced NCCL profile), run a short job and read it with: "


@dataclass
class Verdict:
    """What the log says; field names are those of the JSON contract."""

    verdict: str
    reason: str
    fabric: str
    expected: str | None = None
    gpudirect: str = "unknown"
    strength: str = "none"
    seen: int = 0
    of: int | None = None
    nodes: int | None = None
    nccl: str | None = None
    plugins: list[str] = field(default_factory=list)
    communicators: list[dict[str, object]] = field(default_factory=list)
    evidence: list[Proof] = field(default_factory=list)
    causes: list[tuple[int, str, str | None]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    next: str = ""

    @property
    def exit_code(self) -> int:
        """0 on the fabric, 1 not or partly, 2 unknown."""
        return EXITS[self.verdict]


def judge(log: Log, tally: Tally, expected: str | None) -> Verdict:
    """The verdict over all processes that are left after restarts."""
    used = {id(p): _fabrics(p, log) for p in log.processes}
    telling = [p for p in log.processes if used[id(p)]]
    result = Verdict("none", "", "none", expected)
    _count(result, log, telling)
    fabrics = {f for p in telling for f in used[id(p)]}
    strength = min((p.networks()[1] for p in telling), key=_ORDER.index, default="none")
    failed = _failed(log, telling)
    single = _single_node(log)
    if failed and not (single and _complete(log)):
        result.verdict = "failed"
        result.reason = f"NCCL ended before a data connection: {failed.cause.message}"
        result.fabric = _one(fabrics)
        result.strength = strength
    elif single and fabrics - tables().cliques:
        result.reason = f"all ranks are on one node, so nothing crossed the network (NCCL would use {_names(fabrics)})"
        result.fabric = _one(fabrics)
        result.next = "Run one step on at least two nodes and verify that log."
    elif not telling:
        result.reason, result.next = _why_none(log, tally, single)
    else:
        _combine(result, log, telling, used, fabrics, strength)
    result.gpudirect = _gpudirect(log, telling, result)
    result.causes = _causes(log, result, expected)
    result.evidence = sorted((p for key in _proof_keys(log.processes) for p in key), key=lambda p: (p.line, p.text))[
        :20
    ]
    _notes(result, log)
    if not result.next:
        result.next = _next(result)
    return result


def _fabrics(process: Process, log: Log) -> set[str]:
    names, _ = process.networks()
    return {_fabric(name, log) for name in names}


def _fabric(name: str, log: Log) -> str:
    network = tables().network(name)
    if network is None:
        return "unknown"
    if network.kind == "provider":
        known = {tables().providers.get(p.split(";")[0], "libfabric") for p in log.providers}
        if "socket" in known and len(known) > 1:
            known.discard("socket")
        return known.pop() if len(known) == 1 else "libfabric"
    if network.kind == "link":
        return tables().links[next(iter(log.links))] if len(log.links) == 1 else "verbs"
    return network.fabric


def _count(result: Verdict, log: Log, telling: list[Process]) -> None:
    worlds = [w for p in log.processes if (w := p.world()) is not None]
    largest = max((n for _, n in worlds), default=0)
    ranks = {r for r, n in worlds if n == largest}
    others = len(telling)
    copies = sum(p.copies - 1 for p in telling)
    result.seen = len({*ranks}) + (others if not ranks else 0) + copies
    if largest:
        result.of = largest
        result.seen = min(result.seen, largest)
    elif log.listed:
        result.of = len(log.listed)
    stated = [n for p in log.processes for size, n in p.nodes.items() if size == largest]
    hosts = {p.where[1] or p.where[0] for p in log.processes if p.where[1] or p.where[0]}
    listed = set(log.listed.values())
    if stated:
        result.nodes = max(stated)
    elif hosts or listed:
        result.nodes = max(len({p.where[1] for p in telling if p.where[1]}), len(listed)) or None
    result.nccl = log.version
    result.plugins = sorted(log.plugins)
    sizes = sorted({n for p in log.processes for _, n in p.comms if n > 1}, reverse=True)[:8]
    for size in sizes:
        nodes = max((p.nodes.get(size, 0) for p in log.processes), default=0)
        members = {r for p in log.processes for r, n in p.comms if n == size}
        result.communicators.append({"ranks": size, "seen": len(members), "nodes": nodes or None})


def _single_node(log: Log) -> bool:
    """Whether the log shows every rank on one node."""
    worlds = [w for p in log.processes if (w := p.world()) is not None and w[1] > 1]
    largest = max((n for _, n in worlds), default=0)
    stated = [n for p in log.processes for size, n in p.nodes.items() if size == largest]
    if stated:
        return max(stated) == 1
    if len(log.listed) > 1:
        return len(set(log.listed.values())) == 1
    if not largest:
        return False
    mine = [p for p in log.processes if (w := p.world()) is not None and w[1] == largest]
    hosts = {p.where[:2] for p in mine}
    ranks = {w[0] for p in mine if (w := p.world()) is not None}
    return len(ranks) == largest and len(hosts) == 1 and all(h[1] for h in hosts)


def _complete(log: Log) -> bool:
    return any(p.complete for p in log.processes)


def _failed(log: Log, telling: list[Process]) -> Failure | None:
    """The fatal error that ended the job before any data connection, or None."""
    if any(p.channels for p in log.processes):
        return None
    moved = any(p.runtime for p in log.processes)
    fatal = sorted((f for p in log.processes for f in p.failures if f.cause.level == "S"), key=lambda f: f.line)
    if moved:
        return next((f for f in fatal if f.cause.connect), None)
    for process in sorted(log.processes, key=lambda p: p.first):
        for failure in process.failures:
            if _fatal(failure) and not (process.complete or (not process.where[1] and _complete(log))):
                return failure
    return None


def _fatal(failure: Failure) -> bool:
    """Whether the error ends the job: one that NCCL tries again does not yet."""
    return failure.cause.level == "S" and "retrying" not in failure.text


def _combine(
    result: Verdict,
    log: Log,
    telling: list[Process],
    used: dict[int, set[str]],
    fabrics: set[str],
    strength: str,
) -> None:
    wanted = tables().expected.get(result.expected or "", {})
    good = {f for f in fabrics if f != "socket"}
    result.strength = strength
    if not good:
        names = sorted({n for p in telling for n in p.networks()[0]})
        result.verdict, result.fabric = "sockets", "socket"
        result.reason = f"the ranks' data went over TCP (NCCL used {', '.join(names)})"
        return
    if "socket" in fabrics:
        result.verdict, result.fabric = "partly", _one(good)
        slow = [_place(p) for p in telling if "socket" in used[id(p)]]
        fast = [_place(p) for p in telling if used[id(p)] - {"socket"}]
        result.reason = (
            f"{_names(good)} on {_list(fast)}, TCP sockets on {_list(slow)}"
            if set(slow) != set(fast)
            else f"both {_names(good)} and TCP sockets on {_list(fast)}"
        )
        return
    result.verdict = "fabric"
    result.fabric = _one(good)
    result.reason = f"the ranks' data went over {_names(good)}"
    if strength == "banner":
        result.reason = f"NCCL chose {_names(good)}"
    accepted = {result.expected, *wanted.get("also", ())}
    if result.expected and good - accepted:
        result.verdict = "partly"
        result.reason = (
            f"{result.reason}, which is not the expected {tables().title(result.expected)}"
            if not good & accepted
            else f"some ranks used {_names(good - accepted)} and not the expected {result.expected}"
        )
    outcomes = wanted.get("outcomes", {})
    result.notes += sorted({outcomes[f] for f in good if f in outcomes and result.expected not in good})


def _place(process: Process) -> str:
    world = process.world()
    host = process.where[1] or process.where[0] or "a process without host"
    return f"{host} rank {world[0]}" if world else f"{host} pid {process.where[2] or '?'}"


def _list(names: Iterable[str]) -> str:
    ordered = sorted(set(names))
    return ", ".join(ordered[:4]) + (f" and {len(ordered) - 4} more" if len(ordered) > 4 else "")


def _one(fabrics: set[str]) -> str:
    ordered = sorted(fabrics - {"socket"} - tables().cliques) or sorted(fabrics)
    return "+".join(ordered) if ordered else "none"


def _names(fabrics: set[str]) -> str:
    return " and ".join(tables().title(f) for f in sorted(fabrics)) or "no network"


def _gpudirect(log: Log, telling: list[Process], result: Verdict) -> str:
    flags: set[bool] = set()
    for process in telling:
        for name, direct in process.channels.items():
            network = tables().network(name)
            if network is not None and network.kind == "tcp":
                flags.add(False)
            elif network is not None and network.suffix_tells_gpudirect:
                flags |= direct
    if not flags:
        return "no" if result.verdict == "sockets" or (log.no_gdr and result.verdict == "fabric") else "unknown"
    if len(flags) > 1 or (flags == {True} and _other_rank_without(log)):
        return "partly"
    return "yes" if flags == {True} else "no"


def _other_rank_without(log: Log) -> bool:
    return any(False in p.ring_gdr and max(p.nodes.values(), default=0) > 1 for p in log.processes)


def _causes(log: Log, result: Verdict, expected: str | None) -> list[tuple[int, str, str | None]]:
    """Known causes once each; warnings only when the verdict needs an explanation."""
    levels = {"S"} if result.verdict == "fabric" else {"S", "F", "W", "C"}
    found: dict[int, Failure] = {}
    for failure in sorted((f for p in log.processes for f in p.failures), key=lambda f: f.line):
        if failure.cause.level in levels:
            found.setdefault(id(failure.cause), failure)
    if any(f.cause.level in "SF" for f in found.values()):
        found = {k: f for k, f in found.items() if f.cause.level != "C"}
    rank = {"S": 0, "F": 1, "W": 2, "C": 3}
    ordered = sorted(found.values(), key=lambda f: (rank[f.cause.level], f.line))
    return [(f.line, f.cause.message, f.cause.rule(expected)) for f in ordered[:10]]


def _proof_keys(processes: list[Process]) -> list[list[Proof]]:
    """One proof of each kind, from the first process that has it."""
    kinds: dict[str, Proof] = {}
    for process in processes:
        for key, proof in process.proofs.items():
            if key not in kinds or proof.line < kinds[key].line:
                kinds[key] = proof
    return [list(kinds.values())]


def _notes(result: Verdict, log: Log) -> None:
    if result.strength == "banner" and result.verdict in ("fabric", "sockets", "partly"):
        result.notes.append("no data connection is shown: the log holds only NCCL's choice")
    if result.of and result.seen < result.of and result.verdict in ("fabric", "partly", "sockets"):
        result.notes.append(f"{result.seen} of {result.of} ranks are in the log")
    hosts = {p.where[1] for p in log.processes if p.where[1]}
    if result.verdict == "fabric" and len(hosts) == 1 and (result.nodes or 2) != 1:
        result.notes.append("one host is in the log, the others are not")
    if result.verdict == "fabric" and result.causes:
        result.notes.append(
            "the network was used, and an error is in the log too: exit code 0 speaks of the network alone"
        )
    if log.deduplicated:
        result.notes.append("Ray left out repeated lines; they are counted, their ranks are not named")
    if log.earlier_runs:
        why = f" ({log.earlier_failures[0].cause.message})" if log.earlier_failures else ""
        result.notes.append(f"{log.earlier_runs} earlier run in the file is not judged{why}")


def _why_none(log: Log, tally: Tally, single: bool) -> tuple[str, str]:
    """Why a log without evidence cannot tell, and what to do."""
    if single:
        return ("all ranks are on one node", "Run one step on at least two nodes and verify that log.")
    if not tally.any_nccl and log.listed:
        return ("a benchmark's output without NCCL's own lines", _SHOW_INIT + _EVERYTHING)
    if not tally.any_nccl and tally.launcher:
        return ("a launcher's log without the ranks' output: the ranks' lines are in the worker pods", _EVERYTHING)
    if not tally.any_nccl:
        return (
            "nothing in the log is NCCL's: NCCL_DEBUG is unset, or this is another container's log, or NCCL_DEBUG_FILE takes the lines",
            _SHOW_INIT + _EVERYTHING,
        )
    if not tally.info and tally.warn:
        return ("only warnings: NCCL_DEBUG=WARN hides the line that names the network", _SHOW_INIT + _EVERYTHING)
    if not tally.info and log.version:
        return ("only NCCL's version line: the level is VERSION or WARN", _SHOW_INIT + _EVERYTHING)
    if not tally.info:
        return ("no line of NCCL's INFO level is in the log", _SHOW_INIT + _EVERYTHING)
    if log.deduplicated:
        return ("Ray left out repeated lines; what is left names no network", "Set RAY_DEDUP_LOGS=0 and " + _EVERYTHING)
    if not log.init_text:
        return (
            "no line of NCCL's start is in the log: it is cut (10 lines by default with a selector), or NCCL_DEBUG_SUBSYS lacks INIT",
            _SHOW_INIT + _EVERYTHING,
        )
    return ("NCCL's lines are there, but none names the network that was used", _SHOW_INIT + _EVERYTHING)


def _next(result: Verdict) -> str:
    if result.verdict == "fabric":
        return "" if result.strength != "banner" else "Run one collective on two nodes to see data connections."
    if not result.causes:
        return "fabriclint check MANIFEST"
    _, message, rule = result.causes[0]
    if rule is not None:
        return f"fabriclint rule {rule}"
    return next((c.step for c in tables().causes if c.message == message and c.step), "fabriclint check MANIFEST")

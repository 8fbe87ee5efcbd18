"""Collects per process what the telling lines prove: channels, data path, choice and failures."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from fabriclint.verify.lines import LogLine
from fabriclint.verify.tables import Cause, tables

_CHANNEL = re.compile(
    r"(?:Channel|Ring|CollNet) \d+(?:/\d+)? ?: (?P<a>\d+)(?:\[[^\]]*\])?(?: -> (?P<b>\d+)(?:\[[^\]]*\])?)?"
    r"(?: \[(?P<way>send|receive)\])? via (?:(?P<mn>P2P/MNNVL)|(?:NET|COLLNET)/(?P<name>[^/]+)/\d+(?P<rest>\S*))"
)
_BANNER = re.compile(r"Using network ([A-Za-z][\w ]*\w)")
#: What collectors put before a line, up to so many characters: a time, a tag in brackets, a name and a colon or a bar. Prose and scripts that speak
#: of the banner have other words there.
_TAGS = 300
_TAGGED = re.compile(
    r"(?:\s*(?:\d{4}-\d\d-\d\d[T ])?\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?|\s*\[[^\[\]'\"]*\](?:<\w+>)?:?"
    r"|\s*\([^()'\"]*\)|\s*[\w./-]+(?::| *\|)|\s*[A-Z]\d{4} [\d:.]+ +\d+ [\w.]+:\d+\])*+\s*"
)
_STARTED = re.compile(r"(?:Initialized|Assigned) NET plugin ([A-Za-z][\w ]*?\w)(?= to comm|\s*\[|\s*$)")
_LOADED = re.compile(r"(?:Loaded net plugin|Successfully loaded external (?:network )?plugin) (\S.*)")
_COMM = re.compile(r"rank (\d+) n[rR]anks (\d+)")
_ID = re.compile(r"commId (0x[0-9a-f]+)")
_NODES = re.compile(r"\bnNodes (\d+)")
_RING = re.compile(r"Connected all rings, use ring PXN \d GDR ([01])")
_VERSION = re.compile(r"[NR]CCL version ?:? ?(\d+\.\d+(?:\.\d+)?)")
_DEVICE_LIST = re.compile(r"#\s+Rank\s+(\d+)\s.*?\bon\s+(\S+)\s+device")
_WHO_CUT = re.compile(r"^\S+:\d+$")

Place = tuple[str, str, str]


@dataclass
class Proof:
    """One line worth showing: its number, its text and what it proves."""

    line: int
    text: str
    proves: str


@dataclass
class Failure:
    """One known failure: the line, its text and the table's cause."""

    line: int
    text: str
    cause: Cause


@dataclass
class Process:
    """One rank's process."""

    where: Place
    first: int
    last: int
    device: str = ""
    channels: dict[str, set[bool]] = field(default_factory=dict)
    runtime: set[str] = field(default_factory=set)
    chosen: dict[str, int] = field(default_factory=dict)
    banners: dict[str, int] = field(default_factory=dict)
    pending: dict[str, str] = field(default_factory=dict)
    comms: dict[tuple[int, int], int] = field(default_factory=dict)
    nodes: dict[int, int] = field(default_factory=dict)
    complete: int = 0
    ring_gdr: set[bool] = field(default_factory=set)
    failures: list[Failure] = field(default_factory=list)
    proofs: dict[str, Proof] = field(default_factory=dict)
    copies: int = 1
    version_line: int = 0
    earlier: int = 0

    def world(self) -> tuple[int, int] | None:
        """(rank, ranks) in the largest communicator, or None."""
        return max(self.comms, key=lambda c: c[1], default=None)

    def ended_early(self) -> bool:
        """Whether a fatal error came before any communicator was complete."""
        return not self.complete and not self.channels and any(f.cause.level == "S" for f in self.failures)

    def networks(self) -> tuple[set[str], str]:
        """The printed names of the networks this process used, and how strong that evidence is."""
        if self.channels:
            return set(self.channels), "channel"
        if self.runtime:
            return set(self.runtime), "runtime"
        if self.banners:
            names = set(self.banners)
            return names, "banner"
        if self.chosen:
            known = list(self.chosen)
            return {max(known, key=lambda n: self.chosen[n])}, "banner"
        return set(), "none"


@dataclass
class Log:
    """Everything the log proves."""

    processes: list[Process] = field(default_factory=list)
    providers: Counter[str] = field(default_factory=Counter)
    links: set[str] = field(default_factory=set)
    plugins: dict[str, int] = field(default_factory=dict)
    version: str | None = None
    listed: dict[int, str] = field(default_factory=dict)
    peers: set[int] = field(default_factory=set)
    init_text: bool = False
    earlier_runs: int = 0
    earlier_failures: list[Failure] = field(default_factory=list)
    deduplicated: bool = False
    no_gdr: bool = False


def collect(lines: Iterable[LogLine]) -> Log:
    """The proofs of all lines, with restarts of a process taken out and counted."""
    log = Log()
    known: dict[Place, Process] = {}
    for line in lines:
        _take(line, log, known)
    log.processes = list(known.values())
    _leave_out_restarts(log)
    return log


def _take(line: LogLine, log: Log, known: dict[Place, Process]) -> None:
    text = line.text
    listed = _DEVICE_LIST.search(text)
    if listed:
        log.listed[int(listed[1][:9])] = listed[2]
        return
    version = _VERSION.search(text)
    if version:
        log.version = version[1]
        if not line.level:
            return
    where = (line.pod, line.host or "", line.pid or (f"[{line.device}]" if line.device else ""))
    process = known.get(where)
    if process is not None and version and process.version_line not in (0, line.number):
        # The same pid again, as in a restarted container: a process prints its version once.
        log.earlier_runs = max(log.earlier_runs, process.earlier + 1)
        log.earlier_failures += process.failures
        process = known[where] = Process(where, line.number, line.number, line.device, earlier=process.earlier + 1)
    if process is None:
        process = known[where] = Process(where, line.number, line.number, line.device)
    process.last = max(process.last, line.number)
    if version and process.where[1]:
        process.version_line = line.number
    if line.repeated:
        log.deduplicated = True
        process.copies = max(process.copies, line.repeated + 1)
    if _channel(line, process, log):
        return
    _choice(line, process, log)
    _communicator(line, process, log)
    _failure(line, process)


def _channel(line: LogLine, process: Process, log: Log) -> bool:
    if " via " not in line.text:
        return False
    found = _CHANNEL.search(line.text)
    if not found:
        return " via " in line.text and "NET/" in line.text and line.text.startswith(("Channel", "Ring"))
    name = "MNNVL" if found["mn"] else found["name"]
    network = tables().network(name)
    if network is None:
        return True
    direct = "/GDRDMA" in (found["rest"] or "")
    _mark_link(line.text, log)
    process.channels.setdefault(name, set()).add(direct)
    for end in (found["a"], found["b"]):
        if end is not None and len(log.peers) < 100_000:
            log.peers.add(int(end[:9]))
    log.init_text = True
    _show(process, "channel " + name, line, f"data connection over {name}" + (", GPUDirect" if direct else ""))
    return True


def _mark_link(text: str, log: Log) -> None:
    if "IB" not in text and "localGid" not in text and "SHARP" not in text:
        return
    for pattern, link in tables().link_marks:
        if pattern.search(text):
            log.links.add(link)


def _choice(line: LogLine, process: Process, log: Log) -> None:
    text = line.text
    if not ("NET" in text or "net" in text or "tcpx" in text):
        return
    _mark_link(text, log)
    banner = _BANNER.search(text)
    name = _known_name(banner[1]) if banner else None
    if banner and name and (line.level or _stands_alone(text, banner)):
        log.init_text = True
        process.banners[name] = line.number
        process.pending[line.tid] = name
        _show(process, "banner " + name, line, f"NCCL chose {name}")
    started = _STARTED.search(text)
    if started and tables().network(started[1]) is not None and line.level:
        log.init_text = True
        process.chosen[started[1]] = line.number
        _show(process, "started " + started[1], line, f"{started[1]} starts here")
    loaded = _LOADED.search(text)
    if loaded and line.level and len(log.plugins) < 50:
        log.plugins.setdefault(loaded[1].strip(), line.number)
    provider = next((m for mark in tables().provider_marks if (m := mark.search(text))), None)
    if provider:
        log.init_text = True
        log.providers[provider[1]] += 1
        _show(process, "provider", line, f"Libfabric's provider is {provider[1]}")
    if "disabling GDR" in text or "GDR not supported" in text:
        log.no_gdr = True
    if not (line.level or text.startswith("NET/") or "NCCL" in text):
        return
    for pattern, name in tables().runtime:
        if pattern.search(text):
            process.runtime.add(name)
            _show(process, "runtime " + name, line, f"the data path of {name} is in use")
    for pattern, name in tables().chosen:
        if pattern.search(text):
            log.init_text = True
            process.chosen[name] = line.number
            _show(process, "started " + name, line, f"{name} was initialised")


def _stands_alone(text: str, banner: re.Match[str]) -> bool:
    """Whether a banner that lost NCCL's own prefix is the whole of its line, but for a collector's tags."""
    rest = text[banner.end() :].strip()
    return not rest and banner.start() <= _TAGS and _TAGGED.fullmatch(text, 0, banner.start()) is not None


def _known_name(words: str) -> str | None:
    """The network that the words begin with; some vendors' NCCL goes on behind it."""
    parts = words.split(" ")
    return next((n for k in (len(parts), 2, 1) if tables().network(n := " ".join(parts[:k]))), None)


def _communicator(line: LogLine, process: Process, log: Log) -> None:
    text = line.text
    comm = _COMM.search(text)
    if comm and "comm 0x" in text:
        log.init_text = True
        key = (int(comm[1][:9]), int(comm[2][:9]))
        process.comms[key] = line.number
        if key[1] == 1:
            alone = process.pending.pop(line.tid, None)
            if alone is not None:
                process.banners.pop(alone, None)
        else:
            process.pending.pop(line.tid, None)
        nodes = _NODES.search(text)
        if nodes:
            process.nodes[key[1]] = max(process.nodes.get(key[1], 0), int(nodes[1][:9]))
    if "Init COMPLETE" in text and line.level:
        log.init_text = True
        process.complete = line.number
    ring = _RING.search(text)
    if ring:
        process.ring_gdr.add(ring[1] == "1")


def _failure(line: LogLine, process: Process) -> None:
    text = line.text
    if len(process.failures) >= 50 or _WHO_CUT.match(text):
        return
    for cause in tables().causes:
        if cause.pattern.search(text):
            if all(f.cause is not cause for f in process.failures):
                process.failures.append(Failure(line.number, _short(text), cause))
            return


def _show(process: Process, key: str, line: LogLine, proves: str) -> None:
    process.proofs.setdefault(key, Proof(line.number, _short(line.text), proves))


def _short(text: str) -> str:
    clean = "".join(c if c.isprintable() else " " for c in text).strip()
    return clean if len(clean) <= 200 else clean[:197] + "..."


def _leave_out_restarts(log: Log) -> None:
    """Drop processes that a later process of the same host, device and rank replaced."""
    by_place: dict[tuple[str, str], list[Process]] = {}
    for process in log.processes:
        if process.where[1]:
            by_place.setdefault((process.where[1], process.device), []).append(process)
    dropped: set[int] = set()
    for group in by_place.values():
        group.sort(key=lambda p: p.first)
        chain = 0
        for index, old in enumerate(group):
            for new in group[index + 1 :]:
                if new.first > old.last and _same_rank(old, new):
                    dropped.add(id(old))
                    chain += 1
                    break
        log.earlier_runs = max(log.earlier_runs, chain)
    for process in log.processes:
        if id(process) in dropped:
            log.earlier_failures += process.failures
    log.processes = [p for p in log.processes if id(p) not in dropped]
    _leave_out_failed_run(log)


def _leave_out_failed_run(log: Log) -> None:
    """Drop a first run on other hosts: all its processes failed before any process of the next began."""
    failed = [p for p in log.processes if p.ended_early()]
    others = [p for p in log.processes if not p.ended_early() and (p.complete or p.channels)]
    if not failed or not others:
        return
    begin = min(p.first for p in others)
    if max(p.last for p in failed) < begin:
        log.earlier_runs += 1
        log.earlier_failures += [f for p in failed for f in p.failures]
        log.processes = [p for p in log.processes if p.last >= begin]


def _same_rank(old: Process, new: Process) -> bool:
    """Whether one may have replaced the other: both began a communicator or failed before it, ranks agree."""
    a, b = old.world(), new.world()
    if a and b:
        return a == b
    return bool(new.comms or new.banners) and bool(old.failures or old.banners)

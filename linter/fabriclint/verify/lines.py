"""Finds the telling lines of a log in one pass over its bytes and takes off what stands around them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any, BinaryIO, NamedTuple

from fabriclint.verify.tables import tables

#: Bytes read at once; a line longer than this is cut there.
BLOCK = 1 << 22
#: How many distinct lines are remembered so that repeated channels cost nothing; memory stays bounded.
REMEMBERED = 50_000

#: Texts of lines that prove something even where NCCL's own prefix was cut away.
_BARE = (b"NET/", b"Using network", b"comm 0x", b"RCCL version", b"#  Rank")
#: What a line with NCCL's prefix must hold to be read.
_TELLING = re.compile(
    rb"NET|NCCL WARN|Using network|[rR]anks \d|CCL version|Connected all rings|MNNVL|[nN]et plugin|Init COMPLETE|libibverbs|libnvidia-ml"
    rb"|XML topology|Invalid value|Unrecognized element|CollNet|ibv_|mismatch "
)
_CHANNEL_NUMBER = re.compile(rb"Channel \d+(?:/\d+)? :")
_ANSI = re.compile(rb"\x1b\[[0-9;?]*[ -/]*[@-~]")
_CLOUDWATCH = re.compile(rb"^\s*\|\s*\S+?(?:Z|[+-]\d\d:\d\d)\s*(?:\|\s*)?")
_WHO = re.compile(r"(?<![\w.<>%])([\w.<>%-]+):(\d+):(\d+)(?: \[(\d+)\])? ")
_DEVICE = re.compile(r"\[(\d+)\] (?=NCCL |\S.* NCCL WARN )")
_REPEATED = re.compile(r"\s*\[repeated (\d+)x across cluster\]\s*$")
_POD = re.compile(r"^\[pod/([^/\]]+)/[^\]]*\] ")
_KEYS = ("textPayload", "message", "log", "msg", "@message", "jsonPayload")


class LogLine(NamedTuple):
    """One telling line: its number, who printed it (host, pid, tid, device, '' when cut away) and the text."""

    number: int
    pod: str
    host: str
    pid: str
    tid: str
    device: str
    level: str
    text: str
    repeated: int


class Tally:
    """What the whole log holds besides its telling lines."""

    def __init__(self) -> None:
        self.any_nccl = False
        self.info = False
        self.warn = False
        self.launcher = False
        self.bytes = 0


def _chunks(stream: BinaryIO) -> Iterator[bytes]:
    """The stream's bytes, unpacked when it begins like gzip; a damaged or cut end is the log's end.

    UTF-16, which PowerShell's `>` writes, becomes UTF-8.
    """
    data = stream.read(BLOCK)
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        import codecs

        decoder = codecs.getincrementaldecoder("utf-16")("replace")
        while data:
            yield decoder.decode(data).encode("utf-8", "replace")
            data = stream.read(BLOCK)
        return
    if not data.startswith(b"\x1f\x8b"):
        while data:
            yield data
            data = stream.read(BLOCK)
        return
    import zlib

    member = zlib.decompressobj(31)
    while data:
        try:
            out = member.decompress(data, BLOCK)
        except zlib.error:
            return
        if out:
            yield out
        data = member.unconsumed_tail
        if member.eof:
            data = member.unused_data
            member = zlib.decompressobj(31)
        if not data:
            data = stream.read(BLOCK)


def _blocks(stream: BinaryIO) -> Iterator[bytes]:
    """Blocks that end at a line's end."""
    rest = b""
    for data in _chunks(stream):
        data = rest + data
        cut = data.rfind(b"\n") + 1
        if not cut and len(data) < 2 * BLOCK:
            rest = data
            continue
        if not cut:
            cut = len(data)
        yield data[:cut]
        rest = data[cut:]
    if rest:
        yield rest


def telling(stream: BinaryIO, tally: Tally) -> Iterator[LogLine]:
    """Every line that can prove something, in order; repeated channels of one process only once."""
    anchors = (*_BARE, *tables().anchors)
    seen: set[bytes] = set()
    number = 1
    for block in _blocks(stream):
        tally.bytes += len(block)
        nccl = block.count(b"NCCL ")
        _count_words(block, nccl, tally)
        # Where most lines are NCCL's it is cheaper to compare whole lines than to search for each text.
        found = _dense(block, seen, anchors) if nccl * 400 > len(block) else _sparse(block, seen, anchors)
        for offset, raw in found:
            yield from _read(raw, number + offset)
        number += block.count(b"\n")


def _dense(block: bytes, seen: set[bytes], anchors: tuple[bytes, ...]) -> Iterator[tuple[int, bytes]]:
    keys = _CHANNEL_NUMBER.sub(b"Channel :", block).split(b"\n")
    fresh: Iterable[int] = range(len(keys))
    if not _restarts(block, seen):
        fresh = [i for i, key in enumerate(keys) if key not in seen]
        if not fresh:
            return
    raws = block.split(b"\n")
    for index in fresh:
        if _is_new(keys[index], seen, anchors):
            yield index, raws[index]


def _sparse(block: bytes, seen: set[bytes], anchors: tuple[bytes, ...]) -> Iterator[tuple[int, bytes]]:
    at = lines = 0
    for start in _starts(block, (b"NCCL ", *anchors)):
        end = block.find(b"\n", start)
        raw = block[start : end if end >= 0 else len(block)]
        if not _is_new(_CHANNEL_NUMBER.sub(b"Channel :", raw), seen, anchors):
            continue
        lines += block.count(b"\n", at, start)
        at = start
        yield lines, raw


def _restarts(block: bytes, seen: set[bytes]) -> bool:
    """Whether a process may begin anew inside the block: every process prints its version once."""
    return bool(seen) and b"NCCL INFO NCCL version" in block


def _is_new(key: bytes, seen: set[bytes], anchors: tuple[bytes, ...]) -> bool:
    """Whether a line tells something and was not read before; a version line read again starts over."""
    if key in seen:
        if b"NCCL INFO NCCL version" not in key:
            return False
        seen.clear()
    if len(seen) < REMEMBERED and len(key) < 1000:
        seen.add(key)
    return _TELLING.search(key) is not None or any(a in key for a in anchors)


def _starts(block: bytes, anchors: tuple[bytes, ...]) -> list[int]:
    """The offsets of the lines that hold an anchor, in order."""
    found: set[int] = set()
    for anchor in anchors:
        at = block.find(anchor)
        while at >= 0:
            found.add(block.rfind(b"\n", 0, at) + 1)
            end = block.find(b"\n", at)
            if end < 0:
                break
            at = block.find(anchor, end)
    return sorted(found)


def _count_words(block: bytes, nccl: int, tally: Tally) -> None:
    if nccl:
        tally.any_nccl = True
        tally.info = tally.info or b"NCCL INFO" in block
        tally.warn = tally.warn or b"NCCL WARN" in block
    # A launcher says so at its start.
    if tally.bytes <= 2 * BLOCK and not tally.launcher:
        tally.launcher = b"mpirun" in block or b"prterun" in block


def _read(raw: bytes, number: int) -> Iterator[LogLine]:
    if b"\x1b" in raw:
        raw = _ANSI.sub(b"", raw)
    pod = ""
    stripped = raw.strip(b"\xef\xbb\xbf \r\t")
    if stripped.startswith(b"{"):
        unwrapped = _unwrapped(stripped)
        if unwrapped is not None:
            text, pod = unwrapped
            for part in re.split(r"[\r\n]|\\n", text):
                yield from _line(part, number, pod)
            return
    raw = _CLOUDWATCH.sub(b"", raw)
    for piece in raw.split(b"\r"):
        decoded = piece.decode("utf-8", "replace")
        for part in decoded.split("\\n") if "\\n" in decoded else (decoded,):
            yield from _line(part, number, pod)


def _unwrapped(raw: bytes) -> tuple[str, str] | None:
    """The message and the pod of one JSON record, or None when it is none."""
    try:
        value = json.loads(raw)
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, dict):
        return None
    text: Any = None
    holder = value
    for key in _KEYS:
        inner = holder.get(key)
        if isinstance(inner, dict):
            inner = inner.get("message") or inner.get("log")
        if isinstance(inner, str):
            text = inner
            break
    if text is None:
        return None
    pod = ""
    resource = value.get("resource")
    if isinstance(resource, dict) and isinstance(resource.get("labels"), dict):
        pod = str(resource["labels"].get("pod_name") or "")
    kubernetes = value.get("kubernetes")
    if isinstance(kubernetes, dict):
        pod = str(kubernetes.get("pod_name") or "")
    return text, pod


def _line(text: str, number: int, pod: str) -> Iterator[LogLine]:
    named = _POD.match(text)
    if named:
        pod = named[1]
        text = text[named.end() :]
    repeated = 0
    times = _REPEATED.search(text)
    if times:
        repeated = int(times[1][:9])
        text = text[: times.start()]
    # A line whose newline was lost is glued to the next one: cut where another prefix begins.
    whos = [w for w in _WHO.finditer(text) if w[4] is not None or text.startswith("NCCL ", w.end())]
    if not whos:
        device = _DEVICE.search(text)
        yield LogLine(number, pod, "", "", "", device[1] if device else "", _level(text), _message(text), repeated)
        return
    head = text[: whos[0].start()]
    if "NCCL " in head:
        yield LogLine(number, pod, "", "", "", "", _level(head), _message(head), repeated)
    for here, following in zip(whos, [*whos[1:], None], strict=True):
        part = text[here.end() : following.start() if following else len(text)]
        yield LogLine(number, pod, here[1], here[2], here[3], here[4] or "", _level(part), _message(part), repeated)


def _level(text: str) -> str:
    if "NCCL WARN " in text:
        return "WARN"
    return "INFO" if "NCCL INFO " in text else ""


def _message(text: str) -> str:
    at = text.find("NCCL INFO ")
    return (text[at + 10 :] if at >= 0 else text).rstrip()

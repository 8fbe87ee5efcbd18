"""Finds the telling lines of a log in one pass over its bytes and takes off what stands around them."""

from __future__ import annotations

import gzip
import io
import json
import re
from collections.abc import Iterator
from typing import Any, BinaryIO, NamedTuple

from fabriclint.verify.tables import tables

#: Bytes read at once; a line longer than this is cut there.
BLOCK = 1 << 22
#: How many distinct lines are remembered so that repeated channels cost nothing; memory stays bounded.
REMEMBERED = 200_000

_ANCHORS = (
    b"NET/",
    b"COLLNET/",
    b" NCCL WARN ",
    b"Using network",
    b" NET plugin ",
    b"ranks ",
    b"Ranks ",
    b"CCL version",
    b"Connected all rings",
    b" on HOST",
    b"MNNVL",
    b"RLIMIT_MEMLOCK",
    b"#  Rank",
    b"NCCL error",
    b"ncclSystemError",
)
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


def opened(stream: BinaryIO) -> BinaryIO:
    """The stream, unpacked when it begins like gzip."""
    head = stream.read(2)
    joined = io.BufferedReader(_Joined(head, stream), 1 << 20)
    if head == b"\x1f\x8b":
        return gzip.GzipFile(fileobj=joined)  # type: ignore[return-value]
    return joined


class _Joined(io.RawIOBase):
    def __init__(self, head: bytes, rest: BinaryIO) -> None:
        self._head = head
        self._rest = rest

    def readable(self) -> bool:
        return True

    def readinto(self, target: Any) -> int:
        data = self._head or self._rest.read(len(target))
        part, self._head = data[: len(target)], data[len(target) :] if self._head else b""
        target[: len(part)] = part
        return len(part)


def _blocks(stream: BinaryIO) -> Iterator[bytes]:
    """Blocks that end at a line's end; what gzip cannot unpack any more is the log's end."""
    rest = b""
    while True:
        try:
            data = stream.read(BLOCK)
        except (EOFError, OSError, gzip.BadGzipFile, ValueError):
            data = b""
        except Exception as broken:  # zlib.error has no common base
            if type(broken).__name__ != "error":
                raise
            data = b""
        if not data:
            if rest:
                yield rest
            return
        data = rest + data
        cut = data.rfind(b"\n") + 1
        if not cut and len(data) < 2 * BLOCK:
            rest = data
            continue
        if not cut:
            cut = len(data)
        yield data[:cut]
        rest = data[cut:]


def telling(stream: BinaryIO, tally: Tally) -> Iterator[LogLine]:
    """Every line that can prove something, in order; repeated channels of one process only once."""
    anchors = (*_ANCHORS, *tables().anchors)
    seen: set[bytes] = set()
    number = 1
    for block in _blocks(stream):
        tally.bytes += len(block)
        _count_words(block, tally)
        starts = _starts(block, anchors)
        at = 0
        for start in starts:
            end = block.find(b"\n", start)
            raw = block[start : end if end >= 0 else len(block)]
            key = _key(raw)
            if key in seen:
                continue
            if len(seen) < REMEMBERED:
                seen.add(key)
            number += block.count(b"\n", at, start)
            at = start
            yield from _read(raw, number)
        number += block.count(b"\n", at)


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


def _key(raw: bytes) -> bytes:
    """What makes a line new: for a channel everything but its number."""
    at = raw.find(b"Channel ")
    if at < 0:
        return raw
    colon = raw.find(b" : ", at)
    return raw[:at] + raw[colon:] if colon > 0 else raw


def _count_words(block: bytes, tally: Tally) -> None:
    if not tally.any_nccl:
        tally.any_nccl = b"NCCL" in block
    if not tally.info:
        tally.info = b"NCCL INFO" in block
    if not tally.warn:
        tally.warn = b"NCCL WARN" in block
    if not tally.launcher:
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

"""Questions to the disk that have an answer for every path: also where a name is too long, a link leads to itself,
a folder may not be entered, or what is read would never end."""

# pathlib's own questions raise there.
# ruff: noqa: PTH110, PTH112, PTH113, PTH114, PTH116, PTH123
from __future__ import annotations

import errno
import io
import os
import stat
from pathlib import Path

#: Bytes of the largest file that is read as a whole. A cluster's own store takes objects of 1.5 MB; a snapshot of
#: thousands of nodes has tens of MB.
LARGEST = 256 << 20
#: Seconds that a pipe may be without a writer: a shell may start it after the reader.
PATIENCE = 5
#: Bytes that are looked at before they are read.
BLOCK = 1 << 16


def is_file(path: Path | str) -> bool:
    """Whether a file can be seen there."""
    return os.path.isfile(path)


def is_folder(path: Path | str) -> bool:
    """Whether a folder can be seen there."""
    return os.path.isdir(path)


def is_link(path: Path | str) -> bool:
    """Whether a link stands there, wherever it leads."""
    return os.path.islink(path)


def exists(path: Path | str) -> bool:
    """Whether anything can be seen there."""
    return os.path.exists(path)


def real(path: Path | str) -> Path:
    """The path without links, as far as they lead anywhere."""
    return Path(os.path.realpath(path))


def contents(path: Path | str) -> bytes:
    """All bytes of a file. Raises OSError, whose `strerror` says why; also for what has no end."""
    with opened(path) as stream:
        data = stream.read(LARGEST + 1)
    if len(data) > LARGEST:
        raise too_large()
    return data


def too_large() -> OSError:
    """What is raised for an input above LARGEST."""
    return OSError(errno.EFBIG, f"it is larger than {LARGEST >> 20} MiB, and no manifest or snapshot is")


def opened(path: Path | str) -> io.BufferedReader:
    """A file to read, of any size. Raises OSError, whose `strerror` says why; also for a device that has no end and
    for a pipe that nobody writes to.
    """
    seen = os.stat(path)
    if stat.S_ISDIR(seen.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    if is_device(path):
        raise OSError(errno.ENODEV, "it is a device, not a file")
    # A pipe without a writer is not waited for here, and a file of the kernel's (/proc/kmsg) not at its end.
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
    descriptor = os.open(path, flags)
    try:
        if stat.S_ISFIFO(seen.st_mode):
            _await_writer(path, descriptor)
        if stat.S_ISREG(seen.st_mode) and not seen.st_size:
            return io.BufferedReader(io.BytesIO(_all(descriptor)), BLOCK)
        if hasattr(os, "O_NONBLOCK"):
            os.set_blocking(descriptor, True)
        handed, descriptor = descriptor, -1
        return io.BufferedReader(io.FileIO(handed), BLOCK)
    finally:
        if descriptor >= 0:
            os.close(descriptor)


def is_device(path: Path | str) -> bool:
    """Whether it is a device that may never end, as /dev/zero; a terminal and /dev/null do end."""
    try:
        if not stat.S_ISCHR(os.stat(path).st_mode) or os.path.realpath(path) == os.devnull:
            return False
        with open(path, "rb", buffering=0) as device:
            return not device.isatty()
    except OSError:
        return False  # opening it says why


def _all(descriptor: int) -> bytes:
    """What a file without a size holds: it is empty, or of the kernel's own."""
    parts: list[bytes] = []
    left = LARGEST + 1
    while left > 0 and (part := os.read(descriptor, min(left, BLOCK))):
        parts.append(part)
        left -= len(part)
    return b"".join(parts)


def _await_writer(path: Path | str, descriptor: int) -> None:
    """Until a pipe has bytes or its writer is done. Raises OSError when there is no writer; a slow one is waited for."""
    import contextlib
    import select

    if not hasattr(select, "poll"):
        return
    pipe = select.poll()
    pipe.register(descriptor, select.POLLIN | select.POLLHUP)
    if pipe.poll(PATIENCE * 1000):
        return
    with contextlib.suppress(OSError):
        # A pipe that a writer has left says so, and without another one this was the last.
        os.close(os.open(path, os.O_WRONLY | os.O_NONBLOCK))
    if any(events & select.POLLHUP for _, events in pipe.poll(0)):
        raise OSError(errno.EPIPE, "no program writes to this pipe")

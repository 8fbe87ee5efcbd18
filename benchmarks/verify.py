"""Speed and memory of `verify` on generated logs: every line NCCL's, and one in fifty.

Run: python benchmarks/verify.py [megabytes]
"""

from __future__ import annotations

import io
import resource
import sys
import time
from collections.abc import Callable


def nccl_block(ranks: int = 16) -> bytes:
    """About a megabyte in which every line is NCCL's."""
    out: list[str] = []
    channel = 0
    while sum(map(len, out[-ranks:])) * len(out) < (1 << 20) * ranks:
        for rank in range(ranks):
            who = f"train-node-{rank // 8}:{100 + rank}:{200 + rank} [{rank % 8}] NCCL INFO"
            peer = (rank + 1) % ranks
            via = "NET/FasTrak/1" if rank // 8 != peer // 8 else "P2P/CUMEM"
            out.append(f"{who} Channel {channel % 64:02d}/0 : {rank}[{rank % 8}] -> {peer}[{peer % 8}] via {via}\n")
        channel += 1
        if len(out) > 12000:
            break
    return "".join(out).encode()


def net_block(ranks: int = 16) -> bytes:
    """The worst case: every line a network channel."""
    return nccl_block(ranks).replace(b"via P2P/CUMEM", b"[send] via NET/FasTrak/1")


def mixed_block() -> bytes:
    """About a megabyte in which one line in fifty is NCCL's."""
    nccl = nccl_block().splitlines(keepends=True)
    out: list[bytes] = []
    for number in range(12000):
        if number % 50 == 0:
            out.append(nccl[number // 50 % len(nccl)])
        out.append(b"2026-01-01 10:00:00 INFO trainer step=%d loss=2.3 tokens per second 10000, all fine\n" % number)
    return b"".join(out)


class Repeated(io.RawIOBase):
    """A stream of one block again and again; holds the block only."""

    def __init__(self, block: bytes, total: int) -> None:
        self._block = block
        self._left = max(1, total // len(block))
        self._at = 0

    def readable(self) -> bool:
        return True

    def readinto(self, target: memoryview) -> int:  # type: ignore[override]
        if self._at == len(self._block):
            self._left -= 1
            self._at = 0
        if self._left <= 0:
            return 0
        part = self._block[self._at : self._at + len(target)]
        target[: len(part)] = part
        self._at += len(part)
        return len(part)


def main() -> None:
    from fabriclint.cli.verify import run

    megabytes = int(sys.argv[1]) if len(sys.argv) > 1 else 300
    kinds: dict[str, Callable[[], bytes]] = {"mixed": mixed_block, "all NCCL": nccl_block, "all channels": net_block}
    for name, make in kinds.items():
        stream = io.BufferedReader(Repeated(make(), megabytes << 20))
        began = time.perf_counter()
        text, _ = run("-", None, "text", stream)
        took = time.perf_counter() - began
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
        print(f"{name}: {megabytes / took:.0f} MB/s, peak {peak} MiB, {text.splitlines()[0]}")


if __name__ == "__main__":
    main()

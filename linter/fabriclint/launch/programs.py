"""Which launcher a program is, also behind other programs, and which launcher it starts in turn."""

from __future__ import annotations

import re

from fabriclint.launch.commands import MPI_STARTERS
from fabriclint.launch.facts import Launcher, Lookup, hosts_of_file, refuse_lines
from fabriclint.launch.word import HOLE, Word

_PYTHON = re.compile(r"python[0-9.]*|pypy3?")
#: Programs that run another one: how many own words follow their options, options with a value (None: all have one).
_BEFORE: dict[str, tuple[int, frozenset[str] | None]] = {
    "nsys": (1, None),
    "ncu": (0, frozenset(("-o", "--set", "-k", "--section", "-c", "-s"))),
    "sudo": (0, frozenset(("-u", "-g", "-C", "-h", "-p"))),
    "numactl": (0, frozenset(("-C", "-m", "-N", "-i"))),
    "strace": (0, frozenset(("-o", "-e", "-p", "-s"))),
    "gdb": (0, frozenset(("-ex",))),
    "env": (0, frozenset(("-u", "-C"))),
    "nohup": (0, frozenset()),
    "timeout": (1, frozenset(("-s", "-k"))),
    "exec": (0, frozenset()),
    "stdbuf": (0, frozenset(("-i", "-o", "-e"))),
    "nice": (0, frozenset(("-n",))),
    "trtllm-llmapi-launch": (0, frozenset()),
    "time": (0, frozenset()),
    "conda": (1, frozenset(("-n", "-p", "--name", "--prefix"))),
    "uv": (1, frozenset(("--with", "--python"))),
    "poetry": (1, frozenset()),
}
PROBES = re.compile(
    r"fi_info|fi_pingpong|ib_\w+_(?:bw|lat)|rping|osu_\w+|iperf3?|\w+_perf(?:_mpi)?|nvbandwidth|ibv_\w+pingpong|"
    r"dcgmi|gpu-burn|gpu_burn|nccom-test"
)
IDLE = frozenset(["sleep", "tail", "wait", "sshd", "pause", "true", "read", "cat", "watch"])


def behind(words: list[Word]) -> list[Word]:
    """The words without the programs that merely run another one."""
    for _ in range(8):
        if not words:
            return words
        name = words[0].raw.rsplit("/", 1)[-1]
        if name not in _BEFORE or words[0].open:
            return words
        own, valued = _BEFORE[name]
        i = 1
        if name in ("nsys", "conda", "uv", "poetry"):
            i, own = 2, 0
        while i < len(words) and words[i].raw.startswith("-") and not words[i].open:
            if words[i].raw == "--":
                i += 1
                break
            i += 2 if _takes_next(words, i, valued) else 1
        i += own
        while name in ("env", "sudo") and i < len(words) and re.match(r"[A-Za-z_]\w*=", words[i].raw):
            i += 1
        if i >= len(words):
            return words
        words = words[i:]
    return words


def _takes_next(words: list[Word], i: int, valued: frozenset[str] | None) -> bool:
    """Whether an option's value is the next word."""
    if valued is not None:
        return words[i].raw in valued
    short = not words[i].raw.startswith("--")
    joined = len(words[i].raw) > 2 if short else "=" in words[i].raw
    return not joined and words[i].raw not in ("-h", "--help") and i + 1 < len(words) and words[i + 1].raw[:1] != "-"


def read(words: list[Word], lookup: Lookup, files: dict[str, Word] | None = None) -> Launcher | None:
    """The launcher that the words call, None when they call something else."""
    made = _read(words, lookup, files)
    written = (files or {}).get(made.hostfile.string or "") if made is not None else None
    if made is not None and written is not None:
        made.named += hosts_of_file(written)
        refuse_lines(made, written)
    return made


def _read(words: list[Word], lookup: Lookup, files: dict[str, Word] | None) -> Launcher | None:
    # Each launcher's reader is imported when a command calls it: most runs see one or none.
    words = behind(words)
    if not words or HOLE in words[0].raw:
        return None
    name = words[0].raw.rsplit("/", 1)[-1]
    rest = words[1:]
    if _PYTHON.fullmatch(name):
        i = 0
        while i < len(rest) and rest[i].raw.startswith("-") and rest[i].raw not in ("-m", "-c", "-"):
            i += 2 if rest[i].raw in ("-W", "-X") else 1
        if i + 1 >= len(rest) or rest[i].raw != "-m":
            return None
        name, rest = rest[i + 1].raw, rest[i + 2 :]
        if name in ("torch.distributed.run", "torch.distributed.launch"):
            from fabriclint.launch import torchrun

            return torchrun.read(rest, lookup, launch=name.endswith("launch"))
        if name in ("sglang.launch_server", "vllm.entrypoints.openai.api_server"):
            from fabriclint.launch import engines

            return engines.read(name.split(".")[0], rest)
        if name in ("accelerate.commands.launch", "deepspeed.launcher.runner"):
            name = name.split(".")[0]
            rest = [words[0], *rest] if name == "accelerate" else rest
        else:
            return None
    if name in {"torchrun", "torch.distributed.run"}:
        from fabriclint.launch import torchrun

        return torchrun.read(rest, lookup)
    if name == "accelerate":
        from fabriclint.launch import accelerate

        return (
            accelerate.read(rest[1:], lookup, files)
            if rest and (rest[0].raw == "launch" or rest[0] is words[0])
            else None
        )
    if name == "accelerate-launch":
        from fabriclint.launch import accelerate

        return accelerate.read(rest, lookup, files)
    if name in ("deepspeed", "ds"):
        from fabriclint.launch import deepspeed

        return deepspeed.read(rest, lookup, hostfile=_hostfile(rest, files))
    if name in MPI_STARTERS:
        from fabriclint.launch import mpirun

        return mpirun.read(rest, lookup, program=name)
    if name == "srun":
        from fabriclint.launch import clusters

        return clusters.srun(rest)
    if name == "horovodrun":
        from fabriclint.launch import clusters

        return clusters.horovodrun(rest)
    if name == "ray":
        from fabriclint.launch import clusters

        return clusters.ray(rest)
    if name == "vllm":
        from fabriclint.launch import engines

        return engines.read("vllm", rest[1:]) if rest and rest[0].raw == "serve" else None
    if name == "sglang":
        from fabriclint.launch import engines

        return engines.read("sglang", rest[1:]) if rest and rest[0].raw == "serve" else None
    if name == "trtllm-serve":
        from fabriclint.launch import engines

        return engines.read("trtllm", rest)
    return None


def _hostfile(words: list[Word], files: dict[str, Word] | None) -> Word | None:
    for k, word in enumerate(words):
        path = word.raw.partition("=")[2] if word.raw.startswith("--hostfile=") else None
        if word.raw in ("-H", "--hostfile") and k + 1 < len(words):
            path = words[k + 1].raw
        if path is not None:
            text = (files or {}).get(path)
            return text if text is not None and HOLE not in text.raw else None
    return None

"""Options that a launcher does not know: whether no release of it does, or only the one that was measured.

The list of options is that of one release, and a later one may know more. What has one dash, what another launcher calls
so, and what the launcher itself writes with the other sign between its words, is none of its own in any.
"""

from __future__ import annotations

from functools import cache

from fabriclint.launch import accelerate, clusters, deepspeed, torchrun

_TABLES: dict[str, tuple[dict[str, str], dict[str, str]]] = {
    "torchrun": (torchrun.VALUED, torchrun.FLAGS),
    "accelerate": (accelerate.VALUED, accelerate.FLAGS),
    "deepspeed": (deepspeed.VALUED, deepspeed.FLAGS),
    "horovodrun": (clusters.HOROVOD_VALUED, clusters.HOROVOD_FLAGS),
    "srun": (clusters.SRUN_VALUED, clusters.SRUN_FLAGS),
}


@cache
def _known(family: str) -> frozenset[str]:
    return frozenset(name for table in _TABLES[family] for name in table)


def owners(option: str, family: str) -> list[str]:
    """Launchers, other than this one, that know an option of this name."""
    name = option.partition("=")[0]
    return [f for f in _TABLES if f != family and name.startswith("--") and name in _known(f)]


def meant(option: str, family: str) -> str:
    """The launcher's own option that a misspelt one is; "" when that cannot be told."""
    name = option.partition("=")[0]
    if family not in _TABLES or not name.startswith("-"):
        return ""
    words, known = name.lstrip("-"), _known(family)
    for spelt in ("--" + words, "--" + words.replace("_", "-"), "--" + words.replace("-", "_")):
        if len(words) > 1 and spelt != name and spelt in known:
            return spelt
    from fabriclint.schema.suggest import misspelt

    # What another launcher calls so is no slip.
    return (misspelt(name, sorted(known)) or "") if len(words) > 4 and not owners(option, family) else ""


def never_known(option: str, family: str) -> bool:
    """Whether no release of the launcher takes the option; False when that is not known."""
    name = option.partition("=")[0]
    if family not in _TABLES:
        return False
    if not name.startswith("--"):
        return len(name) > 1
    words = name[2:]
    swapped = {"--" + words.replace("-", "_"), "--" + words.replace("_", "-")} - {name}
    return bool(swapped & _known(family)) or bool(owners(option, family))

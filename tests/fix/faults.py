"""Manifests with a fault that can be mended: written ones and made ones, in many styles.

The written ones are the rules' Bad examples and the mutation table; the others are correct manifests with one line spoilt.
"""

from __future__ import annotations

import inspect
import random
import re
import sys
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).parent.parent / "rules"))

from example import BASES, whole
from restyle import STYLES

from fabriclint.assemble import assemble
from fabriclint.config import Settings
from fabriclint.engine import builtin_pack, lint
from fabriclint.report.model import Report, ReportOptions
from fabriclint.rule_page import page


class Fault(NamedTuple):
    """A text with at least one finding that has edits; `about` names it."""

    about: str
    text: str
    name: str
    settings: Settings
    spoilt: bool = False

    def report(self, texts: dict[str, bytes] | None = None) -> Report:
        """What is found in it, or in the text that stands in for it."""
        data = (texts or {}).get(self.name, self.text.encode())
        return assemble(lint([], self.settings, stdin=(self.name, data)), self.settings, ReportOptions())


#: Codes whose findings, and fixes, are made by the reader and not by the rule's function.
_READERS = ("DOC002", "SUP003")


def _written() -> Iterator[tuple[str, str, str]]:
    for rule in builtin_pack().load():
        mends = rule.code in _READERS or "Fix(" in inspect.getsource(rule.check)
        for number, (kind, title, block) in enumerate(page(rule).examples_as_written if mends else ()):
            if kind == "Bad":
                yield f"{rule.code}-{number}", title, block
    from test_mutants import MUTANTS

    mending = {r.code for r in builtin_pack().load() if "Fix(" in inspect.getsource(r.check)}
    for name, code, heading, block in MUTANTS:
        if code in mending:
            yield name, heading, block


@cache
def faults() -> tuple[Fault, ...]:
    """Every written fault that can be mended, as it is written."""
    out = []
    for about, heading, block in _written():
        try:
            example = whole(heading, block)
        except ValueError:
            continue  # an old fragment
        given: dict[str, Any] = {k.replace("-", "_"): (("*", v),) for k, v in example.options.items()}
        snapshot = given.pop("snapshot", None)
        if snapshot is not None:
            given["cluster"] = (("*", str(BASES / snapshot[0][1])),)
        fault = Fault(about, example.text, example.name, Settings(isolated=True, **given))
        if any(f.fix is not None and f.fix.edits for f in fault.report().findings):
            out.append(fault)
    return tuple(out)


def _misspelt(line: str) -> str | None:
    """A letter of the key lost."""
    found = re.match(r"(\s*(?:- )?)([A-Za-z]{6,}):", line)
    if found is None:
        return None
    key = found[2]
    return f"{found[1]}{key[:3]}{key[4:]}:{line[found.end() :]}"


def _number(line: str) -> str | None:
    """The quotes of a number lost."""
    found = re.match(r"(\s*(?:- )?value: )[\"'](\d+)[\"']", line)
    return f"{found[1]}{found[2]}{line[found.end() :]}" if found is not None else None


def _twice(line: str) -> str | None:
    """The key once more in front of itself, with another value."""
    found = re.match(r"(\s*)([\w./-]+): (?![|>&{\[])\S", line)
    return f"{found[1]}{found[2]}: another\n{line}" if found is not None else None


def _suppressed(line: str) -> str | None:
    plain = line.strip() and not re.search(r"[#|>{\[]|^\S*---", line) and line.rstrip().endswith(tuple("abcdefgrstxy:"))
    return f"{line}  # fabriclint: ignore[DOC009] not so" if plain else None


def _suppressed_above(line: str) -> str | None:
    found = re.match(r"(\s*)(?:- )?[A-Za-z]+:", line)
    return f"{found[1]}# fabriclint: ignore[DOC009] not so\n{line}" if found is not None else None


def _capability(line: str) -> str | None:
    return line.replace("IPC_LOCK", "CAP_IPC_LOCK") if "[IPC_LOCK" in line or "- IPC_LOCK" in line else None


def _medium(line: str) -> str | None:
    return line.replace("medium: Memory", "medium: memory") if "medium: Memory" in line else None


def _prefixed(line: str) -> str | None:
    found = re.search(r'"network": ?"', line)
    return f"{line[: found.end()]}network.networking.gke.io/{line[found.end() :]}" if found is not None else None


def _unlabelled(line: str) -> str | None:
    return "" if "trainjob-ancestor-step" in line else None


def _no_restart_policy(line: str) -> str | None:
    return "" if "restartPolicy: Always" in line else None


def _label(line: str) -> str | None:
    """A label beside the others whose value is a word that YAML takes for none."""
    found = re.match(r"(\s+)labels:$", line)
    return f"{line}\n{found[1]}  example.com/rehearsal: true" if found is not None else None


OPERATORS: tuple[Callable[[str], str | None], ...] = (
    _misspelt, _number, _twice, _suppressed, _suppressed_above, _capability, _medium, _prefixed, _unlabelled,
    _no_restart_policy, _label,
)  # fmt: skip
_EXAMPLES = Path(__file__).parents[2] / "examples"


def _made() -> Iterator[Fault]:
    """Correct manifests with one line spoilt."""
    bases = sorted(p for p in BASES.glob("*.yaml") if not p.stem.startswith("snapshot"))
    for path in [*bases, *sorted(_EXAMPLES.glob("*/correct/*.yaml"))]:
        lines = path.read_text().split("\n")
        for number, line in enumerate(lines):
            for operator in OPERATORS:
                spoilt = operator(line)
                if spoilt is not None:
                    text = "\n".join([*lines[:number], *([spoilt] if spoilt else []), *lines[number + 1 :]])
                    about = f"{path.parent.name}/{path.name}:{number + 1} {operator.__name__.strip('_')}"
                    yield Fault(about, text, path.name, Settings(isolated=True), spoilt=True)


@cache
def mutants(count: int) -> list[tuple[Fault, str]]:
    """`count` faults with a style each, the same ones every time, every operator about as often as every other."""
    chance = random.Random(6)
    kinds: dict[str, list[Fault]] = {}
    for fault in [*faults(), *_made()]:
        kinds.setdefault(fault.about.split()[-1] if " " in fault.about else "written", []).append(fault)
    pool = [(fault, style) for some in kinds.values() for fault in some for style in STYLES]
    weight = {name: 1 / len(some) for name, some in kinds.items()}
    weights = [weight[f.about.split()[-1] if " " in f.about else "written"] for f, _ in pool]
    keyed = sorted(zip(pool, weights, strict=True), key=lambda p: chance.random() ** (1 / p[1]), reverse=True)
    return [pair for pair, _ in keyed[:count]]


def restyled(fault: Fault, style: str) -> tuple[Fault, Report] | None:
    """The fault in another hand, and what is found in it; None when it can no longer be mended there."""
    made = Fault(f"{fault.about} {style}", STYLES[style](fault.text), fault.name, fault.settings, fault.spoilt)
    report = made.report()
    return (made, report) if any(f.fix is not None and f.fix.edits for f in report.findings) else None

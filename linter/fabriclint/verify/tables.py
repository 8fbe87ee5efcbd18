"""The phrases of NCCL logs as compiled tables: networks, links, providers and causes."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any


@dataclass(frozen=True)
class Network:
    """One name NCCL prints for a network: its fabric id and what decides further (`kind`)."""

    pattern: re.Pattern[str]
    fabric: str
    kind: str
    suffix_tells_gpudirect: bool


@dataclass(frozen=True)
class Cause:
    """One known failure text; `level` is S fatal, F fallback, W warning, C consequence of another."""

    pattern: re.Pattern[str]
    level: str
    message: str
    rules: str | dict[str, str] | None
    connect: bool
    #: What to do where no rule judges it.
    step: str

    def rule(self, expected: str | None) -> str | None:
        """The manifest rule that judges this cause; some causes have one per expected fabric."""
        if isinstance(self.rules, dict):
            return self.rules.get(expected or "")
        return self.rules


@dataclass(frozen=True)
class Tables:
    """All tables of the log reader."""

    networks: tuple[Network, ...]
    providers: dict[str, str]
    provider_marks: tuple[re.Pattern[str], ...]
    links: dict[str, str]
    titles: dict[str, str]
    expected: dict[str, dict[str, Any]]
    runtime: tuple[tuple[re.Pattern[str], str], ...]
    chosen: tuple[tuple[re.Pattern[str], str], ...]
    link_marks: tuple[tuple[re.Pattern[str], str], ...]
    causes: tuple[Cause, ...]
    anchors: tuple[bytes, ...]

    def network(self, name: str) -> Network | None:
        """The network of a printed name, or None for a name this table does not know."""
        return next((n for n in self.networks if n.pattern.fullmatch(name)), None)

    @property
    def cliques(self) -> set[str]:
        """Fabrics of memory links that reach over nodes without a NIC."""
        return {n.fabric for n in self.networks if n.kind == "clique"}

    def title(self, fabric: str) -> str:
        """The fabric's name for people."""
        return self.titles.get(fabric, fabric)


@cache
def tables() -> Tables:
    """The tables, read once."""
    n = _read("networks.json")
    c = _read("causes.json")
    pairs = {
        key: tuple((re.compile(row["pattern"]), row.get("network") or row["link"]) for row in n[key])
        for key in ("runtime", "chosen", "link_marks")
    }
    return Tables(
        tuple(
            Network(re.compile(r["pattern"]), r["fabric"], r["kind"], r["suffix_tells_gpudirect"])
            for r in n["networks"]
        ),
        n["providers"],
        tuple(re.compile(r["pattern"]) for r in n["provider_marks"]),
        n["links"],
        n["titles"],
        n["expected"],
        pairs["runtime"],
        pairs["chosen"],
        pairs["link_marks"],
        tuple(
            Cause(
                re.compile(r["pattern"]),
                r["level"],
                r["message"],
                r["rule"],
                r.get("connect", False),
                r.get("next", ""),
            )
            for r in c["causes"]
        ),
        tuple(a.encode() for a in c["anchors"]),
    )


def _read(name: str) -> dict[str, Any]:
    text = files("fabriclint_schemas").joinpath("nccl_logs").joinpath(name).read_text("utf-8")
    loaded: dict[str, Any] = json.loads(text)
    return loaded

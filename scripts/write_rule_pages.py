"""Writes docs/rules: one page for each family, made of the rules' docstrings, and a table of all rules.

usage: write_rule_pages.py    (tests/test_rule_pages.py holds that the pages are fresh)
"""

from __future__ import annotations

from itertools import groupby
from pathlib import Path

from fabriclint.engine import builtin_pack
from fabriclint.rule import Rule
from fabriclint.rule_page import page

PAGES = Path(__file__).parents[1] / "docs" / "rules"
MADE = "<!-- Made by scripts/write_rule_pages.py from the rules' docstrings. -->"
#: What each family is about, in the order of the table.
FAMILIES = {
    "DOC": "Manifests as Kubernetes reads them",
    "TRN": "Kubeflow Trainer",
    "POD": "Any worker pod",
    "TCPXO": "GKE: GPUDirect-TCPXO",
    "TCPX": "GKE: GPUDirect-TCPX",
    "GIB": "GKE: GPUDirect-RDMA with gIB",
    "EFA": "AWS: Elastic Fabric Adapter",
    "IB": "InfiniBand and RDMA",
    "NCCL": "NCCL's variables",
    "RUN": "Ranks, launchers and what meets whom",
    "DEV": "Devices, attachments and claims",
    "FIT": "Against a cluster's snapshot",
    "SUP": "Suppressions",
}
_READING = (
    "Examples change a manifest that is right: `-` goes, `+` comes, `@@` says below which line. "
    "`Bad` gives the finding, `Good` gives none."
)


def families() -> dict[str, list[Rule]]:
    """The built-in rules by family, in the order of the table."""
    rules = sorted(builtin_pack().load(), key=lambda r: (list(FAMILIES).index(r.family), r.code))
    return {name: list(some) for name, some in groupby(rules, key=lambda r: r.family)}


def written() -> dict[str, str]:
    """Each page's text by its file's name."""
    pages = {}
    index = ["# Rules", "", MADE, "", "`fabriclint rule CODE` shows the same page in the terminal."]
    for family, rules in families().items():
        index += [
            "",
            f"## [{FAMILIES[family]}]({family}.md)",
            "",
            "| code | name | severity | says |",
            "|---|---|---|---|",
        ]
        text = [f"# {family}: {FAMILIES[family]}", "", MADE, "", _READING]
        for r in rules:
            severities = ", ".join(s.value for s in r.severities)
            title = r.summary.replace("|", "\\|")
            index.append(f"| [{r.code}]({family}.md#{r.code.lower()}-{r.name}) | {r.name} | {severities} | {title} |")
            text += ["", f"## {r.code} {r.name}", "", f"*{severities}* — {page(r).title}", "", page(r).markdown]
        pages[f"{family}.md"] = "\n".join(text) + "\n"
    pages["README.md"] = "\n".join(index) + "\n"
    return pages


def main() -> None:
    """Write the pages, and remove those of families that are gone."""
    PAGES.mkdir(parents=True, exist_ok=True)
    pages = written()
    for old in PAGES.glob("*.md"):
        if old.name not in pages:
            old.unlink()
    for name, text in pages.items():
        (PAGES / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()

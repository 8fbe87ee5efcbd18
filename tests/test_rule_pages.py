"""The pages of docs/rules are what the rules' docstrings say now."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[1]
PAGES = ROOT / "docs" / "rules"


@pytest.fixture(scope="module")
def writer() -> ModuleType:
    spec = importlib.util.spec_from_file_location("write_rule_pages", ROOT / "scripts" / "write_rule_pages.py")
    assert spec is not None and spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


def test_the_pages_are_fresh(writer: ModuleType) -> None:
    stale = [
        name
        for name, text in writer.written().items()
        if not (PAGES / name).exists() or (PAGES / name).read_text(encoding="utf-8") != text
    ]
    assert stale == [], "write them anew: make docs"
    assert {p.name for p in PAGES.glob("*.md")} == set(writer.written())


def test_each_link_of_the_table_leads_to_a_heading() -> None:
    table = (PAGES / "README.md").read_text(encoding="utf-8")
    links = re.findall(r"\]\((\w+\.md)#([\w-]+)\)", table)
    assert len(links) > 200
    headings = {
        (p.name, re.sub(r"[^\w -]", "", h).strip().lower().replace(" ", "-"))
        for p in PAGES.glob("*.md")
        for h in re.findall(r"^## (.+)$", p.read_text(encoding="utf-8"), re.M)
    }
    assert [link for link in links if link not in headings] == []

"""A fabric that works like one that is known is a data file and its examples, and no code."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from example import Example, whole
from test_mutants import read

import fabriclint_schemas.profiles as loader
from fabriclint.assemble import assemble
from fabriclint.config import Settings
from fabriclint.engine import lint
from fabriclint.report.model import ReportOptions

HALL = Path(__file__).parents[1] / "data" / "fabrics" / "hall"
EXAMPLES = list(read(HALL / "examples.txt"))
PROFILE: dict[str, Any] = json.loads((HALL / "profile.json").read_text())


@pytest.fixture
def with_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The folder of profiles with one more file."""
    shutil.copytree(Path(loader.__file__).parent, tmp_path / "profiles", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(HALL / "profile.json", tmp_path / "profiles" / "hall.json")
    monkeypatch.setattr(loader, "files", lambda package: tmp_path / "profiles")
    loader.profiles.cache_clear()
    yield
    monkeypatch.undo()
    loader.profiles.cache_clear()


def loud(example: Example, **settings: Any) -> list[tuple[str, int]]:
    made = Settings(isolated=True, **settings)
    result = lint([], made, stdin=(example.name, example.text.encode()))
    assert not [n for n in result.notes if n.code == "internal-error"], result.notes
    return [(f.code, f.region.line) for f in assemble(result, made, ReportOptions()).findings if f.severity != "note"]


@pytest.mark.usefixtures("with_file")
@pytest.mark.parametrize(("code", "heading", "block"), [pytest.param(*m[1:], id=m[0]) for m in EXAMPLES])
def test_the_rules_judge_it_by_its_file(code: str, heading: str, block: str) -> None:
    example = whole(heading, block)
    assert loud(example) == [(code, line) for line in example.marked]


@pytest.mark.parametrize(("code", "heading", "block"), [pytest.param(*m[1:], id=m[0]) for m in EXAMPLES])
def test_the_configuration_gives_the_same_fabric_to_the_rules(code: str, heading: str, block: str) -> None:
    example = whole(heading, block)
    assert loud(example, profiles={"hall": PROFILE}) == [(code, line) for line in example.marked]


def test_without_the_file_most_of_it_is_unknown_and_silent() -> None:
    found = [loud(whole(heading, block)) for _, code, heading, block in EXAMPLES if code in ("IB002", "IB003", "IB010")]
    assert found == [[] for _ in found]


@pytest.mark.usefixtures("with_file")
def test_its_right_manifest_is_silent() -> None:
    assert loud(whole("(ib-jobset)", "- rdma/hca_shared_devices_a: 1\n+ hall.example/rdma: 1")) == []


def test_no_rule_knows_the_name_of_a_provider() -> None:
    """The rules of the family judge by what profiles say, never by a profile's name."""
    folder = Path(__file__).parents[2] / "rules" / "fabriclint_rules"
    names = [f"'{n}'" for n in loader.profiles()] + [f'"{n}"' for n in loader.profiles()]
    for path in [*folder.glob("ib_*.py"), *folder.glob("attachments*.py"), *folder.glob("devices_*.py")]:
        text = path.read_text()
        assert [n for n in names if n in text] == [], path.name

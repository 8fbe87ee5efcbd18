"""What the pages print can be used as it stands."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from ruamel.yaml import YAML

from fabriclint.cli.config import schema
from fabriclint.config import ConfigError, load_config
from fabriclint_schemas.profiles import profiles

ROOT = Path(__file__).parents[2]


def blocks(page: str, language: str = "yaml") -> list[str]:
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    return re.findall(rf"```{language}\n(.*?)```", text, re.DOTALL)


def loaded(text: str) -> Any:
    return YAML(typ="safe").load(text)


def test_the_profiles_of_the_page_can_be_used(tmp_path: Path) -> None:
    path = tmp_path / ".fabriclint.yaml"
    path.write_text(blocks("configuration.md")[1])
    assert set(load_config(path).profiles) == {"aks-ib", "lab"}


def test_the_page_names_every_fabric() -> None:
    page = (ROOT / "docs" / "configuration.md").read_text(encoding="utf-8")
    named = page[page.index("## Fabrics and profiles") : page.index("`fabriclint explain FILE`")]
    assert re.findall(r"`([\w-]+)`", named) == sorted(profiles())


def test_the_configuration_of_the_page_is_right(tmp_path: Path) -> None:
    text = blocks("configuration.md")[0]
    jsonschema.validate(loaded(text), schema())
    (tmp_path / "platform").mkdir()
    (tmp_path / "platform" / "fabriclint.yaml").write_text("ignore: [DOC001]\n")
    (tmp_path / "repository").mkdir()
    path = tmp_path / "repository" / ".fabriclint.yaml"
    path.write_text(re.sub(r"(?m)^packs: .*$", "packs: [fabric]", text))
    assert load_config(path).output == "text"


def test_the_page_names_every_key() -> None:
    first, second = blocks("configuration.md")
    assert set(schema()["properties"]) <= {*loaded(first), *loaded(second)}


def test_the_fault_of_the_page_is_what_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".fabriclint.yaml").write_text("ignore: []\nfabric: eks-efa\nselct: []\n")
    with pytest.raises(ConfigError) as caught:
        load_config(tmp_path / ".fabriclint.yaml")
    assert f"fabriclint: {caught.value}\n" in blocks("configuration.md", "text")


def test_the_workflow_gives_the_action_inputs_that_it_has() -> None:
    action = loaded((ROOT / "action.yml").read_text())
    workflow = loaded(blocks("ci.md")[0])
    steps = workflow["jobs"]["fabriclint"]["steps"]
    (ours,) = [s for s in steps if "fabriclint@" in s.get("uses", "")]
    assert set(ours["with"]) <= set(action["inputs"])
    (upload,) = [s for s in steps if "upload-sarif" in s.get("uses", "")]
    assert upload["with"]["sarif_file"] == ours["with"]["sarif-file"]
    assert upload["if"] == "always()"
    assert workflow["permissions"]["security-events"] == "write"


def test_the_table_of_inputs_is_the_actions() -> None:
    page = (ROOT / "docs" / "ci.md").read_text()
    table = page[page.index("| input |") : page.index("Outputs:")]
    assert re.findall(r"^\| `([\w-]+)` \|", table, re.M) == list(loaded((ROOT / "action.yml").read_text())["inputs"])


def test_the_hooks_of_the_page_are_in_the_manifest() -> None:
    page = (ROOT / "docs" / "pre-commit.md").read_text()
    hooks = {h["id"]: h["entry"] for h in loaded((ROOT / ".pre-commit-hooks.yaml").read_text())}
    assert dict(re.findall(r"^\| `(fabriclint[\w-]*)` \| `([^`]+)` \|", page, re.M)) == hooks
    assert loaded(blocks("pre-commit.md")[0])["repos"][0]["hooks"][0]["id"] in hooks

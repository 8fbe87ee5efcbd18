"""An object in one line has the faults that it has over many: a line hides nothing there."""

from __future__ import annotations

import json
from pathlib import Path

from ruamel.yaml import YAML

from fabriclint.config import Settings
from fabriclint.engine import lint

BASES = Path(__file__).parents[1] / "bases"


def codes(text: str, name: str) -> list[str]:
    found = lint([], Settings(isolated=True), stdin=(name, text.encode())).findings
    return sorted(f.code for f in found if f.severity.name != "NOTE")


def test_three_variables_at_fault_are_three_findings_in_one_line() -> None:
    document = YAML(typ="safe").load((BASES / "nccl-jobset.yaml").read_text(encoding="utf-8"))
    pod = document["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]["spec"]
    env = pod["containers"][0]["env"]
    env += [{"name": "NCCL_BUFFSIZE", "value": "4M"}, {"name": "NCCL_IB_DISABLE", "value": "1"}]
    next(e for e in env if e["name"] == "NCCL_SOCKET_IFNAME")["value"] = "lo"
    over_many = codes(json.dumps(document, indent=2), "x.json")
    assert over_many == ["IB003", "NCCL003", "NCCL007"]
    assert codes(json.dumps(document), "x.json") == over_many


def test_one_fault_stays_one_finding_in_one_line() -> None:
    document = YAML(typ="safe").load((BASES / "efa-jobset.yaml").read_text(encoding="utf-8"))
    pod = document["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]["spec"]
    next(e for e in pod["containers"][0]["env"] if e["name"] == "NCCL_NET")["value"] = "Socket"
    assert codes(json.dumps(document, indent=2), "x.json") == codes(json.dumps(document), "x.json") == ["EFA007"]

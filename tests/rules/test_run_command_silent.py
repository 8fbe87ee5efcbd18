"""Where the rules on command words must say nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from fabriclint.assemble import assemble
from fabriclint.config import Settings
from fabriclint.engine import lint
from fabriclint.report.model import ReportOptions

BASES = Path(__file__).parent.parent / "bases"
CODES = ("RUN004", "RUN005", "RUN022")


def found(text: str) -> list[tuple[str, str]]:
    """(code, severity) of what the rules say, notes too."""
    settings = Settings(isolated=True, select=CODES)
    result = lint([], settings, stdin=("job.yaml", text.encode()))
    assert not [n for n in result.notes if n.code == "internal-error"], result.notes
    return [(f.code, str(f.severity)) for f in assemble(result, settings, ReportOptions()).findings]


def pytorch(command: str, more: str = "") -> str:
    """The PyTorchJob with another command in both roles, and more of the container's own YAML."""
    text = (BASES / "run-pytorchjob.yaml").read_text()
    added = "".join(f"\n              {line}" for line in more.split("\n") if line)
    return text.replace("command: [torchrun, train.py]", f"command: {command}{added}")


SILENT = {
    "a shell reads the words": pytorch('[sh, -c, "torchrun train.py --store=$MASTER_ADDR"]'),
    "a script reads the words again": pytorch("[/opt/run.sh, $MASTER_ADDR]"),
    "a program that makes a command of them": pytorch("[envsubst, $MASTER_ADDR]"),
    "an escape": pytorch("[torchrun, train.py, --store=$$MASTER_ADDR]"),
    "a name that nothing defines": pytorch("[torchrun, train.py, '--lr=${optimizer.lr}', --who=$NOBODY]"),
    "args of the image's own program": pytorch("[torchrun, train.py]").replace("command: [", "args: [$MASTER_ADDR, "),
    "what whoever applies the file fills in": pytorch(
        "[torchrun, train.py, '--team=${TEAM}']", "env:\n  - name: TEAM\n    value: ${TEAM}"
    ),
    "an unseen ConfigMap may define it": pytorch(
        "[torchrun, train.py]",
        "envFrom:\n  - configMapRef: {name: far}\nenv:\n  - name: CACHE\n    value: $(ROOT)/cache",
    ),
    "a Service may define it": pytorch(
        "[torchrun, train.py]", "env:\n  - name: STORE\n    value: $(ETCD_SERVICE_HOST):2379"
    ),
    "it is defined above": pytorch(
        "[torchrun, train.py]", "env:\n  - name: A\n    value: x\n  - name: B\n    value: $(A)/y"
    ),
    "an escaped reference": pytorch("[torchrun, train.py]", "env:\n  - name: B\n    value: $$(A)/y"),
    "a script in a value": pytorch(
        "[bash, -c, 'eval \"$B\"']", "env:\n  - name: B\n    value: torchrun train.py --store=$(hostname)"
    ),
    "a template": pytorch('["{{ program with words }}"]'),
    "a path with a space": pytorch('["/opt/big model/run"]'),
    "the program's own options": pytorch("[mpirun, --allow-run-as-root, -np, '4', ./run, -bind-to, x, --tp_size, '2']"),
    "an mpirun of unknown make": pytorch("[mpirun, -np, '4', -ppn, '1', ./run]"),
}


@pytest.mark.parametrize("text", SILENT.values(), ids=SILENT.keys())
def test_nothing_is_said_of(text: str) -> None:
    assert [f for f in found(text) if f[1] != "note"] == []


def test_what_the_controller_appends_is_not_there_for_a_value() -> None:
    text = pytorch("[torchrun, train.py]", "env:\n  - name: STORE\n    value: $(MASTER_ADDR):1")
    assert found(text) == [("RUN004", "warning")]


def test_a_dollar_in_a_value_is_a_note() -> None:
    text = pytorch("[torchrun, train.py]", "env:\n  - name: PATH\n    value: /opt/bin:$PATH")
    assert found(text) == [("RUN004", "note")]


def test_an_option_that_only_some_releases_refuse_is_a_note() -> None:
    text = (BASES / "run-mpijob.yaml").read_text()
    text = text.replace('mpirun, -np, "2"', 'mpirun, --allow-run-as-root, -np, "2", -bind-to, none')
    assert found(text) == [("RUN022", "note")]

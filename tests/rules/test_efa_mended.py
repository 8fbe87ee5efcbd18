"""Misspelt names are written right where they stand: in env, in a script, behind mpirun's -x."""

from __future__ import annotations

import pytest
from test_efa_silence import base

from fabriclint.config import Settings
from fabriclint.engine import lint
from fabriclint.finding import ReplaceText, SetValue

MISSPELT = [
    (base("efa-lws", ("export FI_PROVIDER", "export FI_PROVIDR")), "FI_PROVIDR", "FI_PROVIDER"),
    (base("efa-mpijob", ("FI_PROVIDER=", "FI_PROVIDR=")), "FI_PROVIDR", "FI_PROVIDER"),
    (base("efa-jobset", ("FI_PROVIDER", "FI_PROVIDR")), "FI_PROVIDR", "FI_PROVIDER"),
    (
        base("nccl-mpijob", ("-x NCCL_SOCKET_IFNAME=", "-x NCCL_SOCKET_INFAME=")),
        "NCCL_SOCKET_INFAME",
        "NCCL_SOCKET_IFNAME",
    ),
]


@pytest.mark.parametrize(("text", "wrong", "right"), MISSPELT)
def test_the_fix_replaces_the_name_alone(text: str, wrong: str, right: str) -> None:
    result = lint([], Settings(isolated=True), stdin=("job.yaml", text.encode()))
    (finding,) = [f for f in result.findings if f.code in ("EFA008", "NCCL001")]
    assert finding.fix is not None
    (change,) = finding.fix.changes
    if isinstance(change, ReplaceText):
        value = getattr(change.node, "value", "")
        assert value[slice(*change.within)] == wrong
        assert change.text == right
    else:
        assert isinstance(change, SetValue)
        assert (getattr(change.node, "value", ""), change.value) == (wrong, right)

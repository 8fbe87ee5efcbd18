"""A mount under a misspelt key is the schema's finding alone."""

from __future__ import annotations

from pathlib import Path

import pytest
from test_families import loud

BASE = (Path(__file__).parent.parent / "bases" / "pod-jobset.yaml").read_text()


@pytest.mark.parametrize(
    ("right", "wrong"), [("mountPath: /dev/shm", "mountPaht: /dev/shm"), ("volumeMounts:", "volumeMount:")]
)
def test_a_misspelt_mount_is_not_also_a_missing_one(right: str, wrong: str) -> None:
    assert right in BASE
    codes = {code for code, _ in loud(BASE.replace(right, wrong))}
    assert "DOC005" in codes
    assert "POD001" not in codes

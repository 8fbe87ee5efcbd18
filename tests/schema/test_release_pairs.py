"""Which daemon goes with which plugin is known in one place, and read from there by all who ask."""

from __future__ import annotations

from pathlib import Path

import pytest

from fabriclint.assemble import assemble
from fabriclint.config import Settings
from fabriclint.engine import lint
from fabriclint.report.model import ReportOptions
from fabriclint_schemas.pairs import listed_pairs, paired_daemon, paired_daemons, release_of
from fabriclint_schemas.profiles import profiles

BASE = (Path(__file__).parents[1] / "bases" / "tcpxo-job.yaml").read_text()
PLUGIN = "mirror.example/gpudirect-tcpxo/nccl-plugin-gpudirecttcpx-dev"


@pytest.mark.parametrize("fabric", ["gke-tcpxo", "gke-tcpx"])
def test_every_listed_plugin_has_the_daemon_of_its_row(fabric: str) -> None:
    pairs = listed_pairs(profiles()[fabric])
    assert pairs
    for plugin, daemon in pairs:
        assert daemon in paired_daemons(profiles()[fabric], plugin)
        found = paired_daemon(fabric, "v" + ".".join(map(str, plugin)))
        assert found is not None
        assert release_of(found) == max(d for p, d in pairs if p == plugin)


def test_beyond_the_table_the_step_of_the_profile_counts() -> None:
    assert paired_daemon("gke-tcpxo", "v1.0.40") == "v1.0.46"
    assert paired_daemon("gke-tcpxo", "v1.1.0") is None
    assert paired_daemon("gke-tcpxo", "v2.0.0") is None
    assert paired_daemon("gke-tcpx", "v3.1.99") is None
    assert paired_daemon("gke-tcpxo", "latest") is None


@pytest.mark.parametrize(("plugin", "daemon"), [("v1.0.40", "v1.0.47"), ("v1.0.15", "v1.0.22")])
def test_a_rule_names_the_daemon_that_the_table_names(plugin: str, daemon: str) -> None:
    text = BASE.replace("image: registry.example/train:1", f"image: {PLUGIN}:{plugin}").replace(
        ":v1.0.21", f":{daemon}"
    )
    given = Settings(isolated=True, select=("TCPXO015",))
    (found,) = assemble(lint([], given, stdin=("job.yaml", text.encode())), given, ReportOptions()).findings
    assert f"paired with {paired_daemon('gke-tcpxo', plugin)};" in found.message


def test_daemons_of_another_line_than_an_unlisted_plugin_are_not_judged() -> None:
    text = BASE.replace("image: registry.example/train:1", f"image: {PLUGIN}:v1.0.40").replace(":v1.0.21", ":v1.1.3")
    given = Settings(isolated=True, select=("TCPXO015",))
    assert assemble(lint([], given, stdin=("job.yaml", text.encode())), given, ReportOptions()).findings == ()

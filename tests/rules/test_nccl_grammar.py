"""What NCCL, libfabric and the OFI plugin were recorded to make of values is what the rules think they make of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fabriclint_rules.efa_pods import lets_efa_in, switch
from fabriclint_rules.efa_variables import _number, reads
from fabriclint_rules.nccl_grammar import InterfaceList, chosen, debug_level, integer, level, unknown_words
from fabriclint_schemas.variables import nccl, nccl_release

DATA = Path(__file__).parent.parent / "data" / "nccl"


def table(name: str) -> Any:
    return json.loads((DATA / f"{name}.json").read_text())


VALUES, INTERFACES, PLUGIN, LIBFABRIC = (table(n) for n in ("values", "interfaces", "plugin", "libfabric"))


@pytest.mark.parametrize(("text", "outcome"), VALUES["int"])
def test_numbers(text: str, outcome: str) -> None:
    assert integer(text) == (None if outcome == "default" else int(outcome))


@pytest.mark.parametrize(("text", "outcome", "older"), VALUES["level"])
def test_levels(text: str, outcome: str, older: dict[str, str]) -> None:
    assert (level(text) or "default") == outcome
    for release, other in older.items():
        major, minor = release.split(".")
        assert (level(text, (int(major), int(minor))) or "default") == other


@pytest.mark.parametrize(("text", "outcome"), VALUES["debug"])
def test_debug_levels(text: str, outcome: str) -> None:
    assert (debug_level(text) or "nothing") == outcome


def shown(made: dict[str, frozenset[str]] | None, name: str) -> str:
    if made is None:
        return "error"
    order = nccl()["lists"][name]
    names = {n: ",".join(w for w in order if w in words) or "-" for n, words in made.items()}
    # A list for every function is one; the recording writes them out when one differs.
    if len(set(names.values())) == 1:
        return "all=" + names["all"]
    return " ".join(f"{f}={names.get(f, names['all'])}" for f in nccl()["functions"])


@pytest.mark.parametrize(("name", "text", "newer", "older"), VALUES["list"])
def test_algorithms_and_protocols(name: str, text: str, newer: str, older: str) -> None:
    assert shown(chosen(name, text, strict=True), name) == newer
    assert shown(chosen(name, text, strict=False), name).replace(",PAT", "").replace("PAT", "-") == older.replace(
        ",PAT", ""
    )


@pytest.mark.parametrize(("text", "where", "selected"), [r for r in INTERFACES["rows"] if len(r[0]) > 1])
def test_interface_lists(text: str, where: str, selected: str) -> None:
    found = InterfaceList(text)
    assert not found.unset
    interfaces = INTERFACES["sets"][where].split()
    # Names with an IPv4 address come first.
    interfaces.sort(key=lambda i: i.endswith("/6"))
    assert (" ".join(found.select([i.partition("/")[0] for i in interfaces])) or "none") == selected


@pytest.mark.parametrize(("name", "text", "outcome"), PLUGIN["rows"])
def test_the_plugins_values(name: str, text: str, outcome: str) -> None:
    plugin = nccl()["plugin"]
    refused = name in plugin["set at all fails"] or not reads(plugin["variables"][name], text)
    assert refused == (outcome == "plugin fails to start")


@pytest.mark.parametrize(("text", "efa"), LIBFABRIC["provider"])
def test_provider_filters(text: str, efa: bool) -> None:
    assert lets_efa_in(text) is efa


@pytest.mark.parametrize(("text", "outcome"), LIBFABRIC["switch"])
def test_libfabrics_switches(text: str, outcome: str) -> None:
    assert switch(text) == {"on": True, "off": False, "refused": None}[outcome]


@pytest.mark.parametrize(("text", "outcome"), LIBFABRIC["int"])
def test_libfabrics_numbers(text: str, outcome: str) -> None:
    assert (_number(text) > 0) == (int(outcome) > 0) or len(text) > 9


@pytest.mark.parametrize(
    ("image", "release"),
    [
        ("public.ecr.aws/hpc-cloud/nccl-tests:cuda12.8.1-efa1.43.2-ofiv1.16.3-ncclv2.27.7-1-testsv2.16.9", (2, 27)),
        ("nvcr.io/nvidia/pytorch:24.12-py3", (2, 23)),
        ("nvcr.io/nvidia/pytorch:25.01-py3", (2, 25)),
        ("pytorch/pytorch:2.6.0-cuda12.4-cudnn9-runtime", (2, 21)),
        ("registry.example:5000/train", None),
        ("registry.example/train:1", None),
        ("nvcr.io/nvidia/pytorch:latest", None),
    ],
)
def test_the_nccl_of_an_image(image: str, release: tuple[int, int] | None) -> None:
    assert nccl_release(image) == release


@settings(max_examples=100)
@given(st.text(max_size=40))
def test_any_text_can_be_read(text: str) -> None:
    integer(text)
    level(text)
    debug_level(text)
    lets_efa_in(text)
    _number(text)
    for name in nccl()["lists"]:
        chosen(name, text, strict=True)
        chosen(name, text, strict=False)
        unknown_words(name, text)
    found = InterfaceList(text).select(["lo", "eth0", "eth1"])
    assert set(found) <= {"lo", "eth0", "eth1"}
    for kind in ("switch", "int", "unsigned", "number", "text", ["A", "B"]):
        assert reads(kind, text) in (True, False)

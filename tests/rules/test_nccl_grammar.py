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
from fabriclint_rules.nccl_ranges import beyond, no_network, no_plugin, unknown_policy
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


@pytest.mark.parametrize(
    ("name", "number", "said"),
    [
        ("NCCL_IB_TIMEOUT", 32, "without end"),
        ("NCCL_IB_TIMEOUT", -1, "without end"),
        ("NCCL_IB_TC", 300, "sends 44"),
        ("NCCL_IB_SL", 16, "does not fit"),
        ("NCCL_IB_QPS_PER_CONNECTION", 129, "queue pairs"),
        ("NCCL_NTHREADS", 96 + 1, "no multiple of 32"),
        ("NCCL_MAX_NCHANNELS", 0, "as 1"),
        ("NCCL_MIN_NCHANNELS", 128, "as 64"),
        ("NCCL_MAX_CTAS", 0, "default stays"),
        ("NCCL_COMM_BLOCKING", 2, "default stays"),
        ("NCCL_IB_ROCE_VERSION_NUM", 3, "no version of RoCE"),
    ],
)
def test_numbers_beyond_their_range(name: str, number: int, said: str) -> None:
    found = beyond(name, number)
    assert found is not None
    assert said in found.message


@pytest.mark.parametrize(
    ("name", "number"),
    [
        ("NCCL_IB_TIMEOUT", 0),
        ("NCCL_IB_TIMEOUT", 31),
        ("NCCL_IB_TC", -1),
        ("NCCL_IB_TC", 255),
        ("NCCL_IB_SL", -1),
        ("NCCL_IB_QPS_PER_CONNECTION", 128),
        ("NCCL_NTHREADS", 512),
        ("NCCL_NTHREADS", 0),
        ("NCCL_MIN_NCHANNELS", 64),
        ("NCCL_SOCKET_NTHREADS", 99),
        ("source", 1),
    ],
)
def test_numbers_within_their_range_are_silent(name: str, number: int) -> None:
    assert beyond(name, number) is None


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("NCCL_CTA_POLICY", "efficiency|ZERO"),
        ("NCCL_CTA_POLICY", "2"),
        ("NCCL_NETDEVS_POLICY", "max:4"),
        ("NCCL_NETDEVS_POLICY", "Auto"),
        ("NCCL_NET_MERGE_POLICY", "rail"),
        ("NCCL_CHECK_MODE", "DEBUG_GLOBAL"),
        ("NCCL_CHECK_MODE", "DEFAULT"),
        ("NCCL_CTA_POLICY", ""),
        ("source", "x"),
        ("NCCL_SYM_KERNEL", "anything"),
    ],
)
def test_policies_that_are_known_are_silent(name: str, value: str) -> None:
    assert unknown_policy(name, value) is None


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("NCCL_CTA_POLICY", "7", "'7'"),
        ("NCCL_CTA_POLICY", "0|EFFICIENCY", "as 0"),
        ("NCCL_CTA_POLICY", "DEFAULT | ZERO", "'DEFAULT '"),
        ("NCCL_NETDEVS_POLICY", "MAX:", "'MAX:'"),
        ("NCCL_NETDEVS_POLICY", "MAX:x", "'MAX:x'"),
        ("NCCL_NET_MERGE_POLICY", "NONE", "'NONE'"),
        ("NCCL_CHECK_MODE", "debug_local", "'debug_local'"),
    ],
)
def test_policies_that_are_unknown(name: str, value: str, said: str) -> None:
    found = unknown_policy(name, value)
    assert found is not None
    assert said in found.message


@settings(max_examples=100)
@given(st.sampled_from(sorted(nccl()["policies"])), st.text(max_size=12))
def test_any_text_is_a_policy_or_none(name: str, value: str) -> None:
    unknown_policy(name, value)


@pytest.mark.parametrize("value", ["", "IB,Socket", "IB ", "tcp", "efa", "ib0", "aws-ofi"])
def test_recorded_names_that_are_no_network(value: str) -> None:
    assert no_network(value) is not None


@pytest.mark.parametrize(
    "value", ["ib", "Socket", "SOCKET", "AWS Libfabric", "Libfabric", "FasTrak", "gIB", "UCX", "IBext_v8", "our-own"]
)
def test_names_that_a_plugin_may_have(value: str) -> None:
    assert no_network(value) is None


@pytest.mark.parametrize(
    ("value", "release", "said"),
    [
        (" ofi", None, "blank"),
        ("hpcx, ofi", (2, 30), "blank"),
        ("hpcx,ofi", (2, 22), "one name"),
        ("hpcx,ofi", (2, 18), "one name"),
        ("hpcx,ofi", (2, 27), None),
        ("hpcx,ofi", None, None),
        ("ofi", (2, 18), None),
        ("", None, None),
        ("/opt/x/libnccl-net.so", None, None),
    ],
)
def test_names_of_plugins(value: str, release: tuple[int, int] | None, said: str | None) -> None:
    found = no_plugin(value, release)
    assert (found is None) is (said is None)
    assert found is None or said is None or said in found.message

"""`$(NAME)` in command and args: the container receives what the kubelet expands, and the reader reads that."""

from __future__ import annotations

import pytest

from fabriclint.launch import read_launch
from fabriclint.launch.expansion import arguments
from fabriclint.node import UNKNOWN, Unknown

KNOWN = {"NODES": "4", "ADDRESS": UNKNOWN, "SIZE": "8"}


def lookup(name: str) -> str | Unknown | None:
    return KNOWN.get(name)


def unseen(name: str) -> str | Unknown | None:
    """An environment that an unseen ConfigMap may add to."""
    return KNOWN.get(name, UNKNOWN)


@pytest.mark.parametrize(
    ("text", "received"),
    [
        ("--nnodes=$(NODES)", "--nnodes=4"),
        ("$$(NODES)", "$(NODES)"),
        ("$(ABSENT)", "$(ABSENT)"),
        ("$(hostname)", "$(hostname)"),
        ("a $ b", "a $ b"),
        ("$(NODES)x$(SIZE)", "4x8"),
    ],
)
def test_a_known_name_is_filled_in_and_the_rest_stays(text: str, received: str) -> None:
    assert arguments([text], lookup)[0].text == received


@pytest.mark.parametrize("text", ["$(ADDRESS):29400", "$(TRAIN_SERVICE_HOST)", "$(TRAIN_PORT_29500_TCP_ADDR)"])
def test_a_value_that_is_not_in_view_is_unknown(text: str) -> None:
    assert arguments([text], lookup)[0].text is UNKNOWN


def test_what_an_unseen_map_may_set_is_unknown_and_a_command_stays_a_command() -> None:
    words = arguments(["$(MASTER)", "$(nproc)", "$((1 + 2))"], unseen)
    assert [w.text for w in words] == [UNKNOWN, "$(nproc)", "$((1 + 2))"]


def test_one_unknown_address_leaves_the_other_options_known() -> None:
    argv = ["torchrun", "--nnodes=$(NODES)", "--nproc-per-node=$(SIZE)", "--rdzv-endpoint=$(ADDRESS):29400", "t.py"]
    launcher = read_launch(argv, lookup, words=arguments(argv, lookup)).launcher
    assert launcher is not None and not launcher.refusals
    assert (launcher.nodes.value, launcher.processes_per_node.value, launcher.host.value) == (4, 8, UNKNOWN)
    # The place is that of the text in the file.
    assert launcher.nodes.place is not None
    assert argv[1][launcher.nodes.place.start : launcher.nodes.place.end] == "$(NODES)"


def test_a_script_sees_the_value_and_not_the_substitution_of_a_shell() -> None:
    argv = ["bash", "-c", "torchrun --nnodes $(NODES) --nproc-per-node $$(nproc) t.py"]
    launcher = read_launch(argv, lookup, words=arguments(argv, lookup)).launcher
    assert launcher is not None
    assert launcher.nodes.value == 4

"""NCCL_IB_HCA is read as NCCL reads it: compared with what its releases were recorded to choose."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fabriclint_rules.ib_cards import CardList
from fabriclint_schemas.verbs import known_card

TABLE = Path(__file__).parents[1] / "data" / "nccl" / "ib_hca.tsv"
ROWS = [
    (json.loads(value), cards, used)
    for line in TABLE.read_text().splitlines()
    if not line.startswith("#")
    for value, cards, used in [line.split("\t")]
]


def ports(cards: str) -> list[tuple[str, int]]:
    """The ports that are up: (card, number)."""
    out: list[tuple[str, int]] = []
    for card in cards.split():
        name, _, states = card.partition("/")
        out.extend((name, n) for n, state in enumerate(states or "I", 1) if state != "D")
    return out


@pytest.mark.parametrize(
    ("value", "cards", "used"), ROWS, ids=[f"{v or 'empty'}-{n}" for n, (v, _, _) in enumerate(ROWS)]
)
def test_the_ports_are_those_that_nccl_takes(value: str, cards: str, used: str) -> None:
    listed = CardList(value)
    found = [f"{card}:{port}" for card, port in ports(cards) if listed.takes(card, port)]
    assert " ".join(found) == ("" if used == "none" else used)


def test_there_is_something_to_compare_with() -> None:
    assert len(ROWS) > 50


def test_no_more_than_32_entries_count() -> None:
    listed = CardList("=" + ",".join(f"mlx5_{n}" for n in range(40)))
    assert listed.takes("mlx5_31") and not listed.takes("mlx5_32")


@pytest.mark.parametrize(
    "name", ["mlx5", "m", "mlx5_0", "ibp26s0", "roceo1", "rocep1s0", "bnxt_re0", "erdma_0", "rdmap16s27"]
)
def test_cards_of_known_families(name: str) -> None:
    assert known_card(name)


@pytest.mark.parametrize("name", ["m1x5_0", "MLX5_0", "eth0", "mlx5-0", "mxl5_0", "none", "0", '"mlx5_0"'])
def test_names_that_no_known_card_has(name: str) -> None:
    assert not known_card(name)

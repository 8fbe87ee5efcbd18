"""RDMA verbs: families of cards, images with and without the libraries, words of claims."""

from __future__ import annotations

import json
import re
from functools import cache
from importlib.resources import files
from typing import Any


@cache
def verbs() -> dict[str, Any]:
    """The table as it stands."""
    table: dict[str, Any] = json.loads(
        (files("fabriclint_schemas") / "tables" / "verbs.json").read_text(encoding="utf-8")
    )
    return table


def image_lacks_verbs(image: str) -> bool:
    """Whether an image is known to come without libibverbs."""
    return any(re.fullmatch(p, image) for p in verbs()["images_without"])


def image_has_hpcx(image: str) -> bool:
    """Whether an image is known to bring HPC-X and its network plugin, which NCCL loads first."""
    return any(re.fullmatch(p, image) for p in verbs()["hpcx_images"])


def known_card(name: str) -> bool:
    """Whether an entry of NCCL_IB_HCA, a prefix, can name a card of a known family."""
    return any(name.startswith(f) or f.startswith(name) for f in verbs()["card_families"])

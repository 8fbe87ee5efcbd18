"""Kubernetes quantities: `500m`, `8Gi`, `1e3`."""

from __future__ import annotations

from decimal import Decimal


def parse_quantity(value: str | int | float) -> Decimal | None:
    """The amount, or None when Kubernetes refuses it. Source: apimachinery 1.35 resource.ParseQuantity."""
    raise NotImplementedError

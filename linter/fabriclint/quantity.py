"""Kubernetes quantities: `500m`, `8Gi`, `1e3`."""

from __future__ import annotations

import re
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal

_FORM = re.compile(r"([+-]?)([0-9]*)(?:\.([0-9]*))?(?:(Ki|Mi|Gi|Ti|Pi|Ei)|([numkMGTPE])|[eE]([+-]?[0-9]+))?", re.ASCII)
_TENS = {"n": -9, "u": -6, "m": -3, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_LARGEST = Decimal(2**63 - 1)
_WIDE = Context(prec=400)


def parse_quantity(value: str | int | float) -> Decimal | None:
    """The amount, or None when Kubernetes refuses it. Source: apimachinery 1.35 resource.ParseQuantity."""
    if isinstance(value, bool):
        return None
    text = str(value).strip(" \t\r\n")
    found = _FORM.fullmatch(text) if text else None
    if found is None or text in ("+", "-", "."):
        return None
    sign, whole, part, binary, ten, exponent = found.groups()
    power = _TENS[ten] if ten else int(exponent or 0)
    if abs(power) > 300 or len(text) > 300:
        return None
    amount = Decimal(f"{whole or '0'}.{part or '0'}")
    scale = Decimal(1024 ** ("KMGTPE".index(binary[0]) + 1)) if binary else Decimal(1).scaleb(power)
    amount = _WIDE.multiply(amount, scale)
    amount = amount.quantize(Decimal("1e-9"), rounding=ROUND_CEILING, context=_WIDE)
    if binary or len(whole) + len(part or "") > 18:
        amount = min(amount, _LARGEST)
    return -amount if sign == "-" else amount


def as_count(value: str | int | float) -> int | None:
    """The whole number an extended resource takes, or None when refused or fractional."""
    amount = parse_quantity(value)
    if amount is None or amount != amount.to_integral_value(rounding=ROUND_FLOOR, context=_WIDE):
        return None
    return int(amount)

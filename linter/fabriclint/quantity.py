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


def canonical(value: str | int | float) -> str | None:
    """The form that the API server prints, or None when refused: `1000m` is `1`, `1.5Gi` is `1536Mi`.

    Source: apimachinery 1.35 resource.Quantity; a text with an exponent that is a multiple of three stays as it is.
    """
    amount = parse_quantity(value)
    if amount is None:
        return None
    text = str(value).strip(" \t\r\n")
    found = _FORM.fullmatch(text)
    exponent = found.group(6) if found is not None else None
    if amount == 0:
        return "0"
    if exponent is not None and found is not None and int(exponent) % 3 == 0 and not found.group(3):
        return text
    if text.startswith("0") and text.isdecimal():
        return text  # leading zeros are kept as they were written
    sign, size = ("-", -amount) if amount < 0 else ("", amount)
    if found is not None and found.group(4) and size == size.to_integral_value(context=_WIDE):
        whole, power = int(size), 0
        while whole % 1024 == 0 and power < 6:
            whole, power = whole // 1024, power + 1
        return f"{sign}{whole}{('', 'Ki', 'Mi', 'Gi', 'Ti', 'Pi', 'Ei')[power]}"
    scaled, steps = int(_WIDE.multiply(size, Decimal(10**9))), -9
    while scaled % 1000 == 0 and (steps < 18 or exponent is not None):
        scaled, steps = scaled // 1000, steps + 3
    if exponent is not None:
        return f"{sign}{scaled}e{steps}" if steps else f"{sign}{scaled}"
    suffix = {v: k for k, v in _TENS.items()}.get(steps, "")
    return f"{sign}{scaled}{suffix}"

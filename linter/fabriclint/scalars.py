"""What Kubernetes' YAML reader (go-yaml v2 behind sigs.k8s.io/yaml) makes of a scalar (facts Y02 to Y05)."""

from __future__ import annotations

import math
import re
import struct

#: Texts with a fixed meaning; only looked up where the first character is one of `_FIRST`.
_FIXED: dict[str, bool | float | None] = {
    **dict.fromkeys(("y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"), True),
    **dict.fromkeys(("n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"), False),
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **dict.fromkeys((".nan", ".NaN", ".NAN"), float("nan")),
    **dict.fromkeys((".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"), float("inf")),
    **dict.fromkeys(("-.inf", "-.Inf", "-.INF"), float("-inf")),
}
_FIRST = frozenset("yYnNtTfFoO~.+-0123456789")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?", re.ASCII)
#: Go's ParseFloat on a text that begins with a dot: an underscore only between digits.
_DOT_FLOAT = re.compile(r"\.[0-9](_?[0-9])*([eE][-+]?[0-9](_?[0-9])*)?", re.ASCII)
_INT = re.compile(r"([-+]?)(?:0[xX]([0-9a-fA-F]+)|0[bB]([01]+)|0[oO]([0-7]+)|(0[0-7]*)|([1-9][0-9]*))", re.ASCII)
#: Go reads a sign after a leftover `0b` prefix.
_BINARY_SIGNED = re.compile(r"0b([-+][01]+)", re.ASCII)
_INT64_MIN, _INT64_MAX, _UINT64_MAX = -(1 << 63), (1 << 63) - 1, (1 << 64) - 1


def resolve_plain(text: str) -> bool | int | float | str | None:
    """The value of a plain, untagged scalar, as sigs.k8s.io/yaml gives it to kubectl.

    Timestamps and sexagesimal numbers stay text; an integer beyond 64 bits becomes a float.
    """
    if not text:
        return None
    first = text[0]
    if first not in _FIRST:
        return text
    if text in _FIXED:
        return _FIXED[text]
    if first == ".":
        return _float(text.replace("_", ""), text) if _DOT_FLOAT.fullmatch(text) else text
    if first in "yYnNtTfFoO~":
        return text
    digits = text.replace("_", "") if "_" in text else text
    whole = _INT.fullmatch(digits)
    if whole is not None:
        number = _integer(whole)
        if _INT64_MIN <= number <= _INT64_MAX or (number <= _UINT64_MAX and number >= 0 and not whole[1]):
            return number
    if _FLOAT.fullmatch(digits):
        return _float(digits, text)
    signed = _BINARY_SIGNED.fullmatch(digits)
    if signed is not None:
        return int(signed[1], 2)
    return text


def _integer(found: re.Match[str]) -> int:
    sign, hexadecimal, binary, octal, old_octal, decimal = found.groups()
    if decimal is not None:
        # Python refuses to convert thousands of digits; past 64 bits the value is a float anyway.
        number = int(decimal) if len(decimal) <= 40 else 10**40
    elif old_octal is not None:
        number = int(old_octal, 8)
    elif hexadecimal is not None:
        number = int(hexadecimal, 16)
    else:
        number = int(binary, 2) if binary is not None else int(octal, 8)
    return -number if sign == "-" else number


def _float(digits: str, text: str) -> float | str:
    """The float, or the text as it stands when it is out of a 64-bit float's range."""
    number = float(digits)
    return text if number in (float("inf"), float("-inf")) else number


def resolve_tagged(tag: str, text: str) -> bool | int | float | str | None:
    """The value of a scalar with an explicit tag; raises ValueError where Kubernetes' reader refuses it.

    `tag` is the resolved tag (`tag:yaml.org,2002:int`, `!`, `!custom`); unknown tags leave the text as it is.
    """
    short = tag.removeprefix("tag:yaml.org,2002:") if tag.startswith("tag:yaml.org,2002:") else ""
    if short == "binary":
        import base64

        return base64.b64decode("".join(text.split()), validate=True).decode("utf-8", "replace")
    if short in ("null", "bool", "int", "float"):
        value = resolve_plain(text)
        kind = "null" if value is None else type(value).__name__
        if short == "float" and kind == "int":
            return float(value)  # type: ignore[arg-type]
        if short != kind:
            raise ValueError(f"'{text}' is no {short}")
        return value
    return text


def key_text(value: bool | int | float | str | None) -> str | None:
    """The JSON key that a resolved scalar becomes (`on`: 'true', `1.0`: '1'), or None if it is refused."""
    if isinstance(value, str):
        return value
    if value is None:
        return None
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value) if value <= _INT64_MAX else None
    return _float32_text(value)


def _float32_text(value: float) -> str:
    """Go's strconv.FormatFloat(value, 'g', -1, 32)."""
    if math.isnan(value):
        return ".nan"
    try:
        near: float = struct.unpack("f", struct.pack("f", value))[0]
    except OverflowError:
        near = float("inf") if value > 0 else float("-inf")
    if near in (float("inf"), float("-inf")):
        return ".inf" if near > 0 else "-.inf"
    if near == 0:
        return "-0" if str(near).startswith("-") else "0"
    shown = ""
    for precision in range(9):
        shown = f"{near:.{precision}e}"
        try:
            if struct.unpack("f", struct.pack("f", float(shown)))[0] == near:
                break
        except OverflowError:
            continue
    mantissa, _, exponent_text = shown.partition("e")
    exponent = int(exponent_text)
    # Go's threshold for the shortest form is a precision of 6.
    if exponent < -4 or exponent >= 6:
        return f"{mantissa}e{'-' if exponent < 0 else '+'}{abs(exponent):02d}"
    digits = mantissa.replace(".", "").removeprefix("-")
    sign = "-" if mantissa.startswith("-") else ""
    if exponent < 0:
        return f"{sign}0.{'0' * (-exponent - 1)}{digits}"
    whole = digits[: exponent + 1].ljust(exponent + 1, "0")
    rest = digits[exponent + 1 :]
    return f"{sign}{whole}.{rest}" if rest else sign + whole

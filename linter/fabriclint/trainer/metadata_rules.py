"""Labels and annotations that no object can have.

Source: kubernetes/apimachinery v0.35 pkg/apis/meta/v1/validation, pkg/util/validation.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from fabriclint.node import Mapping, Node, Scalar

_NAME_PART = re.compile(r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]")
_VALUE = re.compile(r"(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?")
_SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_LONGEST = 63
_LONGEST_PREFIX = 253


def bad_entries(metadata: Mapping | None) -> Iterator[tuple[Node, str]]:
    """The entries that are refused, each with what is wrong with it; what is filled in elsewhere is none."""
    for field in ("labels", "annotations"):
        held = metadata.mapping(field) if metadata is not None else None
        for key, value in held.fields.items() if held is not None else ():
            if "{" in key or "$" in key or "__" in key or "<" in key:
                continue
            if not _is_key(key.lower() if field == "annotations" else key):
                yield value, f"'{key}' is no key of {field} (at most {_LONGEST} characters behind the slash)"
            elif field == "labels" and isinstance(value, Scalar) and not _is_value(value):
                text = value.text if len(value.text) <= 40 else value.text[:37] + "..."
                yield (
                    value,
                    f"'{text}' is no value of label '{key}' (at most {_LONGEST} letters, digits, '-', '_', '.')",
                )


def _is_key(key: str) -> bool:
    prefix, slash, name = key.rpartition("/")
    if slash and (len(prefix) > _LONGEST_PREFIX or not _SUBDOMAIN.fullmatch(prefix)):
        return False
    return len(name) <= _LONGEST and _NAME_PART.fullmatch(name) is not None


def _is_value(value: Scalar) -> bool:
    """True also for what is no text or filled in elsewhere."""
    if not isinstance(value.value, str) or value.open:
        return True
    return len(value.value) <= _LONGEST and _VALUE.fullmatch(value.value) is not None

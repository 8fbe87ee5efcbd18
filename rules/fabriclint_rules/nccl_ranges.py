"""Numbers that are beyond what a variable of NCCL can hold, and words that its policies do not know."""

from __future__ import annotations

from typing import Any, NamedTuple

from fabriclint.rule import Severity
from fabriclint_schemas.variables import nccl


class Reading(NamedTuple):
    """What NCCL makes of a value, and the edit."""

    message: str
    help: str
    severity: Severity


def beyond(name: str, number: int) -> Reading | None:
    """What becomes of a number that NCCL reads as it stands and cannot use as it stands."""
    rows = nccl()["ranges"]
    row: dict[str, Any] | None = rows.get(name)
    if row is None or name == "source" or number == row.get("unset"):
        return None
    low, high, step = row["from"], row["to"], row.get("multiple", 1)
    if low <= number <= high:
        if number % step == 0:
            return None
        return Reading(
            f"'{name}={number}' is no multiple of {step}; NCCL takes its maximum, {high} threads at most.",
            f"Write a multiple of {step} from {low} to {high}, or remove the variable.",
            Severity.WARNING,
        )
    what = row.get("below", row["beyond"]) if number < low else row["beyond"]
    advice = f"Write a number from {low} to {high}, or remove the variable."
    if what == "limited":
        nearest = low if number < low else high
        return Reading(f"NCCL reads '{name}={number}' as {nearest}, its limit.", advice, Severity.NOTE)
    return Reading(f"'{name}={number}' {_OUTCOMES[what].format(byte=number % 256)}", advice, Severity.WARNING)


_OUTCOMES = {
    "endless": "is a wait without end on InfiniBand and RoCE; ranks whose peer is gone hang instead of stopping.",
    "byte": "does not fit in the packet's field; NCCL sends {byte}, another traffic class.",
    "field": "does not fit in InfiniBand's field; the card takes another number or refuses the connection.",
    "refused": "is a number of queue pairs that NCCL cannot make; the connections between nodes fail.",
    "no match": "is no version of RoCE; no address of a card has it, and NCCL stays with the first one.",
    "ignored": "is out of NCCL's range; the default stays.",
}


def unknown_policy(name: str, value: str) -> Reading | None:
    """What becomes of a word that a policy of NCCL does not know."""
    rows = nccl()["policies"]
    row: dict[str, Any] | None = rows.get(name)
    if row is None or name == "source" or value == "":
        return None
    known = {w if row.get("exact") else w.upper() for w in (*row["words"], *row.get("numbers", ()))}
    counted = row.get("counted")
    parts = value.split(row["separator"]) if "separator" in row else [value]
    if value[0] in row.get("numbers", ()) and len(parts) > 1:
        return Reading(
            f"NCCL reads '{name}={value}' as {value[0]}: numbers cannot be joined with words.",
            f"Write words: {row['separator'].join(row['words'][1:])}.",
            Severity.WARNING,
        )
    for part in parts:
        word = part if row.get("exact") else part.upper()
        if word in known or (counted and word.startswith(counted) and _counts(word.removeprefix(counted))):
            continue
        return Reading(
            f"'{part}' in '{name}' is nothing that NCCL knows; it is ignored and the default stays.",
            f"Write {' or '.join(row['words'])}.",
            Severity.WARNING,
        )
    return None


def no_network(value: str) -> Reading | None:
    """NCCL_NET as NCCL reads it: the whole value is one network's name, in any case, and nothing else will do."""
    advice = (
        "Write the name of one network as its plugin has it (IB, Socket, 'AWS Libfabric', gIB, FasTrak), or remove it."
    )
    if value == "":
        return Reading("'NCCL_NET' is empty, which is no network's name; NCCL does not start.", advice, Severity.ERROR)
    if "," in value or value != value.strip():
        what = "a list" if "," in value else "a name with blanks around it"
        return Reading(
            f"'NCCL_NET={value}' is {what}, and NCCL takes one name, letter by letter; it does not start.",
            advice,
            Severity.ERROR,
        )
    if value.lower() in nccl()["no networks"]:
        return Reading(
            f"'NCCL_NET={value}': no plugin calls its network so; NCCL does not start without one that does.",
            advice,
            Severity.WARNING,
        )
    return None


def no_plugin(value: str, release: tuple[int, int] | None) -> Reading | None:
    """NCCL_NET_PLUGIN as NCCL makes file names of it: blanks are part of them, and a list is one before 2.27."""
    parts = value.split(",")
    blank = next((p for p in parts if p != p.strip()), None)
    if blank is not None:
        return Reading(
            f"'{blank}' in 'NCCL_NET_PLUGIN' has a blank, which NCCL takes for a part of the file's name; it finds no such "
            "plugin and goes on without.",
            "Write the names without blanks.",
            Severity.WARNING,
        )
    since = tuple(int(n) for n in nccl()["plugin lists since"].split("."))
    if len(parts) > 1 and release is not None and release < since:
        return Reading(
            f"'NCCL_NET_PLUGIN={value}' is a list, and the image's NCCL {release[0]}.{release[1]} takes it for one name; it "
            "finds no such plugin and goes on without.",
            f"Write one name, or take an image with NCCL {nccl()['plugin lists since']}.",
            Severity.WARNING,
        )
    return None


def _counts(text: str) -> bool:
    """Whether atoi reads more than nothing."""
    digits = text.lstrip(" +")
    return digits[:1].isdigit() and int("".join(c for c in digits.split()[0] if c.isdigit()) or "0") > 0

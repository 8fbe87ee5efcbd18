"""IB008: NCCL_IB_HCA names cards that exist, in the form that NCCL reads."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from fabriclint.comparison import declared_comparison
from fabriclint.node import Unknown
from fabriclint.pod import PodView, WorkerPod
from fabriclint.rule import Finding, Place, Severity, rule
from fabriclint.views import JobView
from fabriclint_rules.alike import once
from fabriclint_rules.attachment import family
from fabriclint_rules.machines import machine_types
from fabriclint_schemas.machines import rdma_cards
from fabriclint_schemas.verbs import known_card

#: More entries than this are cut.
_MOST = 32
_SPACE = " \t\n\v\f\r"


class CardList:
    """NCCL_IB_HCA: a sign for the whole list, then `name[:port]`, names being prefixes, or whole behind `=`."""

    def __init__(self, text: str) -> None:
        self.excludes = text.startswith("^")
        rest = text.removeprefix("^")
        self.exact = rest.startswith("=")
        self.entries = [e for e in rest.removeprefix("=").split(",") if e.partition(":")[0]][:_MOST]

    @property
    def names(self) -> list[str]:
        """The entries' names, without ports."""
        return [e.partition(":")[0] for e in self.entries]

    def takes(self, card: str, port: int = 1) -> bool:
        """Whether NCCL uses a port of a card, as its releases up to 2.27 decide it."""
        if not self.entries:
            return not self.excludes
        return any(self._fits(e, card, port) for e in self.entries) != self.excludes

    def _fits(self, entry: str, card: str, port: int) -> bool:
        name, colon, number = entry.partition(":")
        if not (card == name if self.exact else card.startswith(name)):
            return False
        if not colon:
            return True
        found = re.match(r"\s*([+-]?\d+)", number)
        wanted = int(found[1]) if found is not None else 0
        return wanted == port or wanted < 0

    def select(self, cards: Sequence[str]) -> list[str]:
        """The cards, with one port each, that NCCL uses."""
        return [c for c in cards if self.takes(c)]


# NCCL reads the port as a number, so that a word is 0; ports count from 1. An empty one is any port in newer releases.
_PORTLESS = re.compile(r"[^:]+:(?:\s*[+-]?0+(?!\d)[^:]*|\s*[A-Za-z_][^:]*)(?::.*)?")


@rule("IB008", "hca-grammar", Severity.ERROR, on=JobView, also=(Severity.WARNING,))
def hca_grammar(job: JobView) -> Iterator[Finding]:
    """NCCL_IB_HCA is one sign (`^`, `=` or `^=`) for the whole list, then names of cards behind commas.

    A name is a prefix unless the list begins with `=`. A sign inside the list is part of a name, which no card has. A list
    that matches no card leaves NCCL without InfiniBand and the job runs over TCP; an exclusion that matches none leaves in
    what was to be kept out.

    Fix: put the sign in front of the list; write `=` before full names.

    Silent: a bare family such as `mlx5`; names that a template fills in; comparison runs that say so; other fabrics.

    Bad: a sign inside the list (ib-jobset)
        ~ value: mlx5 => value: mlx5_0,=mlx5_2  # <-
    Bad: two signs, of which the second is a name (ib-jobset)
        ~ value: mlx5 => value: ==mlx5_0,mlx5_1  # <-
    Bad: an exclusion of everything (ib-lws)
        ~ value: ibp => value: ^  # <-
        ~ value: ibp => value: ^
    Bad: a digit for a letter (ib-pytorchjob)
        ~ value: mlx5 => value: ^m1x5_0  # <-
        ~ value: mlx5 => value: ^m1x5_0
    Bad: mlx5_1 is the beginning of mlx5_10, too (ib-mpijob)
        ~ ==mlx5_0,mlx5_1,mlx5_2,mlx5_3 => =mlx5_0,mlx5_1,mlx5_10,mlx5_11  # <-
    Bad: a blank belongs to the name (ib-jobset)
        ~ value: mlx5 => value: mlx5_0, mlx5_1  # <-
    Bad: ports count from 1 (ib-jobset)
        ~ value: mlx5 => value: mlx5_0:0,mlx5_1:0  # <-
    Good: behind -x the first = is the assignment (ib-mpijob)
        ~ ==mlx5_0 => ==mlx5_4
    Good: ports (ib-jobset)
        ~ value: mlx5 => value: mlx5_0:1,mlx5_2:1
    Good: all but one, by its full name (ib-jobset)
        ~ value: mlx5 => value: ^=mlx5_8
    Source: NVIDIA/nccl@5067397 src/misc/utils.cc, src/transport/net_ib; NVIDIA/nccl#236.
    """
    yield from once(job, _cards)


def _cards(pod: WorkerPod) -> Iterator[Finding]:
    variable = pod.ranks_env.get("NCCL_IB_HCA")
    if variable is None or isinstance(variable.value, Unknown) or family(pod) not in ("", "IB"):
        return
    text = variable.value
    if "$" in text or declared_comparison(pod):
        return
    listed = CardList(text)
    wrong = next((e for e in listed.entries if "^" in e or "=" in e), None)
    if wrong is not None:
        lost = all("^" in e or "=" in e for e in listed.entries)
        then = (
            "no card matches and the job runs over TCP"
            if lost and not listed.excludes
            else "that entry matches no card"
        )
        yield pod.finding(
            variable.place,
            f"NCCL_IB_HCA is '{text}': a '^' or '=' behind the first is part of the name '{wrong}', so {then}.",
            help="Write one sign in front of the whole list: '^' to exclude, '=' for full names, '^=' for both.",
        )
        return
    if listed.excludes and not [n for n in listed.names if n]:
        yield pod.finding(
            variable.place,
            f"NCCL_IB_HCA is '{text}', which excludes every card; the job runs over TCP.",
            help="Name the cards to leave out behind '^', or remove the variable.",
        )
        return
    portless = [e for e in listed.entries if _PORTLESS.fullmatch(e)]
    if portless:
        lost = len(portless) == len(listed.entries) and not listed.excludes
        yield pod.finding(
            variable.place,
            f"NCCL_IB_HCA names '{portless[0]}', and no card has such a port; "
            + ("no card matches and the job runs over TCP." if lost else "that entry matches no card."),
            help=f"Write '{portless[0].partition(':')[0]}', or ':1' for the first port.",
            severity=None if lost else Severity.WARNING,
        )
        return
    yield from _doubtful(pod, variable.place, text, listed)


def _doubtful(pod: WorkerPod, place: Place, text: str, listed: CardList) -> Iterator[Finding]:
    blank = next((n for n in listed.names if n != n.strip(_SPACE)), None)
    if blank is not None:
        yield pod.finding(
            place,
            f"NCCL_IB_HCA is '{text}': the blank is part of the name '{blank}', which no card has.",
            help="Remove the blanks.",
            severity=Severity.WARNING,
        )
        return
    strange = next((n for n in listed.names if n and not known_card(n)), None)
    if strange is not None:
        then = "the exclusion leaves every card in" if listed.excludes else "NCCL finds no card of that name"
        yield pod.finding(
            place,
            f"NCCL_IB_HCA names '{strange}', which begins like no known RDMA card; {then} unless it was renamed on the node.",
            help="Write a name that `ibv_devices` prints on the node: mlx5_0, or the family, mlx5.",
            severity=Severity.WARNING,
        )
        return
    if listed.exact:
        return
    wide = _too_wide(pod, listed)
    if wide is not None:
        name, other = wide
        yield pod.finding(
            place,
            f"NCCL_IB_HCA names '{name}', which as a prefix also takes '{other}' and its like.",
            help=f"Write '=' in front of the list: '{'^' if listed.excludes else ''}={','.join(listed.entries)}'.",
            severity=Severity.WARNING,
        )


def _too_wide(pod: PodView, listed: CardList) -> tuple[str, str] | None:
    """A name that ends in a digit and begins the name of another listed or existing card, with that one."""
    names = listed.names
    for name in names:
        if not re.search(r"_\d+$", name):
            continue
        other = next((n for n in names if n != name and n.startswith(name)), None)
        if other is not None:
            return name, other
    counts = [rdma_cards(t) for t in machine_types(pod)]
    most = min((c for c in counts if c is not None), default=0) if counts and None not in counts else 0
    if most > 10:
        one = next((n for n in names if n.endswith("_1")), None)
        if one is not None:
            return one, f"{one}0"
    return None

"""What the command line says beside the report: one line each, on standard error, whatever names stand in it."""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING

from fabriclint.disk import LARGEST, too_large
from fabriclint.one_line import one_line

if TYPE_CHECKING:
    from fabriclint.report.model import Notification

#: A name or a value without a blank is shown up to here.
_LONG = re.compile(r"\S{320,}")


def say(text: object) -> None:
    """Write a line. Where standard error takes none (a full disk, a closed pipe) the run goes on without it."""
    try:  # noqa: SIM105
        sys.stderr.write(one_line(_LONG.sub(lambda m: f"{m[0][:120]}...{m[0][-40:]}", str(text))) + "\n")
    except OSError:
        pass


def complain(sentence: object) -> None:
    """Write a sentence of the program's own."""
    say(f"fabriclint: {sentence}")


def notify(notification: Notification) -> None:
    """Write what a run has to say beside its findings."""
    where = f"{notification.path}: " if notification.path else ""
    say(f"{where}{notification.level}: {notification.message}")


def standard_input() -> bytes:
    """All of standard input. Raises OSError with a reason: an input that is not there is not an empty one."""
    if sys.stdin is None:
        raise OSError(0, "it is closed")
    data = sys.stdin.buffer.read(LARGEST + 1)
    if len(data) > LARGEST:
        raise too_large()
    return data

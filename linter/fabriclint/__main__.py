"""The console script: answers `--version` before anything is imported, and turns surprises into sentences."""

from __future__ import annotations

import os
import sys

#: Objects that are made before memory is searched for unused trees: more than most runs make at all.
_GARBAGE = 1_000_000


def main() -> int:
    """Run the command line. Returns the exit code (0, 1, 2, or 130 when interrupted)."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # closed by the caller, who wants the exit code alone
            setattr(sys, name, open(os.devnull, "w"))  # noqa: PTH123, SIM115
    return _flushed(_code())


def _code() -> int:
    try:
        if sys.argv[1:] in (["--version"], ["-V"]):
            from fabriclint import __version__

            sys.stdout.write(f"fabriclint {__version__}\n")
            return 0
        import gc

        gc.set_threshold(_GARBAGE)  # a short run makes trees and throws them away at once
        from fabriclint.cli.front import run

        return run(sys.argv[1:])
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        _silenced(sys.stdout)
        return 0
    except Exception as error:  # the last resort: a sentence, never a traceback
        return _told(_sentence(error))


def _sentence(error: Exception) -> str:
    if isinstance(error, OSError):
        try:
            os.getcwd()  # noqa: PTH109
        except OSError:
            return "the working directory is no longer there; change to one that is."
        import errno

        if error.filename is None and error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO):
            return f"the output cannot be written: {error.strerror}."
    return f"internal error: {type(error).__name__}: {error}. Please report it."


def _told(sentence: str) -> int:
    try:  # noqa: SIM105
        sys.stderr.write(f"fabriclint: {sentence}\n")
    except OSError:
        pass  # the exit code says it
    return 2


def _flushed(code: int) -> int:
    """What the streams still hold is written now: at the interpreter's end a full disk would be a traceback."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        _silenced(sys.stdout)
    except OSError as error:
        _silenced(sys.stdout)
        code = _told(_sentence(error))
    try:
        sys.stderr.flush()
    except OSError:
        _silenced(sys.stderr)
    return code


def _silenced(stream: object) -> None:
    """Let a stream that takes nothing more lead nowhere."""
    descriptor = 2 if stream is sys.stderr else 1
    os.dup2(os.open(os.devnull, os.O_WRONLY), descriptor)


if __name__ == "__main__":
    sys.exit(main())

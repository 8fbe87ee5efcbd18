"""The console script: answers `--version` before anything is imported, and turns surprises into sentences."""

from __future__ import annotations

import sys


def main() -> int:
    """Run the command line. Returns the exit code (0, 1, 2, or 130 when interrupted)."""
    if sys.argv[1:] in (["--version"], ["-V"]):
        from fabriclint import __version__

        sys.stdout.write(f"fabriclint {__version__}\n")
        return 0
    import gc

    gc.disable()  # a short run makes trees and throws them away at once
    try:
        from fabriclint.cli.front import run

        return run(sys.argv[1:])
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        import os

        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return 0
    except Exception as error:  # the last resort: a sentence, never a traceback
        sys.stderr.write(f"fabriclint: internal error: {type(error).__name__}: {error}. Please report it.\n")
        return 2


if __name__ == "__main__":
    sys.exit(main())

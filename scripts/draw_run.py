"""Draws the README's picture: a real run of `fabriclint check` as SVG, without fonts or addresses of others.

usage: draw_run.py [OUTPUT]    (default docs/run.svg; `-` writes to standard output)
"""

from __future__ import annotations

import io
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
SHOWN = "examples/gke-tcpxo/broken"
#: What the picture shows of a run: its first findings, whole.
FINDINGS = 3
COLUMNS = 118


def run() -> str:
    """The report in colour, as a terminal gets it."""
    command = [sys.executable, "-m", "fabriclint", "check", "--color", "always", SHOWN]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False).stdout


def draw(report: str) -> str:
    """The first findings and the closing line of a report, as SVG."""
    from rich.console import Console
    from rich.terminal_theme import MONOKAI
    from rich.text import Text

    *findings, closing = report.strip("\n").split("\n\n")
    console = Console(record=True, width=COLUMNS, file=io.StringIO(), force_terminal=True, color_system="truecolor")
    console.print(Text.from_ansi(f"$ fabriclint check {SHOWN}"))
    for finding in findings[:FINDINGS]:
        console.print(Text.from_ansi(finding), end="\n\n")
    if len(findings) > FINDINGS:
        console.print(f"... {len(findings) - FINDINGS} more", style="dim", highlight=False)
    console.print(Text.from_ansi(closing))
    svg = console.export_svg(title="fabriclint", theme=MONOKAI, unique_id="run")
    svg = re.sub(r"\s*@font-face\s*\{.*?\}", "", svg, flags=re.S)
    svg = re.sub(r"<!--.*?-->\s*", "", svg, flags=re.S)
    return re.sub(r"[ \t]+\n", "\n", svg).replace("Fira Code", "ui-monospace, Menlo, Consolas, DejaVu Sans Mono")


def main() -> None:
    """Write the picture."""
    where = sys.argv[1] if len(sys.argv) > 1 else str(ROOT / "docs" / "run.svg")
    picture = draw(run())
    if where == "-":
        sys.stdout.write(picture)
    else:
        Path(where).write_text(picture, encoding="utf-8")


if __name__ == "__main__":
    main()

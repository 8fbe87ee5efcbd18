"""What the README shows of runs is what the installed command prints."""

from __future__ import annotations

import html
import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
PICTURE = (ROOT / "docs" / "run.svg").read_text(encoding="utf-8")


def shown_runs() -> list[tuple[list[str], str]]:
    """The commands of the console blocks, and what stands below each."""
    blocks = re.findall(r"```console\n\$ fabriclint (.*)\n((?:.*\n)*?)```", README)
    return [(command.split(), output) for command, output in blocks]


def printed(arguments: list[str]) -> str:
    command = [sys.executable, "-m", "fabriclint", *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False).stdout


def texts(svg: str) -> str:
    """The text of a picture, without places and colours: its lines come in order."""
    lines = re.findall(r"<text[^>]*>([^<]*)</text>", svg)
    return " ".join(html.unescape("".join(lines)).split())


def test_there_is_a_run_to_show() -> None:
    assert len(shown_runs()) >= 1


@pytest.mark.parametrize(("arguments", "output"), shown_runs(), ids=[" ".join(a) for a, _ in shown_runs()])
def test_a_console_block_is_what_the_command_prints(arguments: list[str], output: str) -> None:
    assert printed(arguments).strip() == output.strip()


def test_the_picture_is_a_real_run() -> None:
    where = ROOT / "scripts" / "draw_run.py"
    spec = importlib.util.spec_from_file_location("draw_run", where)
    assert spec is not None and spec.loader is not None
    drawing = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(drawing)
    assert texts(drawing.draw(drawing.run())) == texts(PICTURE), "draw it anew: .venv/bin/python scripts/draw_run.py"


def test_the_picture_asks_nobody_for_anything() -> None:
    assert re.findall(r"https?://(?!www\.w3\.org/)[^\s\"']+", PICTURE) == []
    assert "@import" not in PICTURE and "url(http" not in PICTURE

"""What `--diff` prints, `git apply` and `patch` make into what `--fix` writes: every style, any name, all at once."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from faults import faults
from restyle import STYLES

from fabriclint.cli.front import run

#: Names that a diff has to say so that both programs find the file.
NAMES = (
    "plain", "with space", "quo'te", 'dq"x', "tab\tx", "new\nline", "emoji😀", "back\\slash", "-dash", "a|b", "%0A", "ü",
    "caf\udce9", " lead", "trail ", "[x]", "*",
)  # fmt: skip
#: Every third of the written faults: the pace of a test, and all kinds of them.
SOME = slice(None, None, 3)


def written(root: Path) -> int:
    """The faults as files, each in a folder and a style of its own; returns how many."""
    count = 0
    for number, fault in enumerate(faults()[SOME]):
        style = list(STYLES)[number % len(STYLES)]
        text = STYLES[style](fault.text)
        if text is None:
            continue
        suffix = ".json" if style.startswith("json") else ".yaml"
        path = root / str(number) / (NAMES[number % len(NAMES)] + suffix)
        path.parent.mkdir(parents=True)
        path.write_bytes(text.encode())
        count += 1
    return count


def held(root: Path) -> dict[bytes, bytes]:
    """The files below a folder, by name."""
    return {os.fsencode(p.relative_to(root)): p.read_bytes() for p in root.rglob("*") if p.is_file()}


@pytest.mark.skipif(shutil.which("patch") is None or shutil.which("git") is None, reason="needs patch and git")
def test_git_and_patch_make_of_the_diff_what_fix_writes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("fixed", "git", "patch"):
        assert written(tmp_path / name) > 80
    before = held(tmp_path / "fixed")
    monkeypatch.chdir(tmp_path / "fixed")
    assert run(["check", "--diff", "--unsafe-fixes", "--isolated"]) == 1
    (tmp_path / "all.diff").write_bytes(capsys.readouterr().out.encode())
    assert held(Path()) == before
    run(["check", "--unsafe-fixes", "--isolated", "-o", "concise"])
    fixed = held(Path())
    assert sum(fixed[name] != before[name] for name in fixed) > 80

    environment = {**os.environ, "GIT_CEILING_DIRECTORIES": str(tmp_path)}
    for name, command in (
        ("git", ["git", "apply", "../all.diff"]),
        ("patch", ["patch", "-p1", "--binary", "-i", "../all.diff"]),
    ):
        done = subprocess.run(command, cwd=tmp_path / name, env=environment, capture_output=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        assert held(tmp_path / name) == fixed

    run(["check", "--unsafe-fixes", "--isolated", "-o", "concise"])
    assert held(Path()) == fixed


def test_a_file_in_utf_16_is_named_beside_the_diff(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.yaml").write_bytes(next(f for f in faults() if not f.settings.cluster).text.encode("utf-16"))
    monkeypatch.chdir(tmp_path)
    assert run(["check", "--diff", "--unsafe-fixes", "--isolated"]) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert "a.yaml: note: The file is UTF-16" in err

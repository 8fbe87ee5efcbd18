"""Properties of the log reader: nothing raises, wrapping and order change nothing, memory stays flat."""

from __future__ import annotations

import io
import json
import os
import random
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fabriclint.cli.verify import is_manifest, main, run
from fabriclint.verify.lines import BLOCK

DATA = Path(__file__).parent.parent / "data" / "verify"
STABLE = (
    "fastrak.log",
    "efa-aws-libfabric.log",
    "socket.log",
    "half-the-hosts.log",
    "single-node.log",
    "infiniband-banner.log",
)
PIECES = [
    b"NCCL INFO ", b"NCCL WARN ", b"Channel 00/0 : ", b"0[0] -> 1[0] ", b"via NET/IB/", b"Using network ", b"IB", b"comm 0x1 rank ",
    b" nranks ", b"999999999999999999999", b"\n", b"\r", b"{", b'{"log":"', b"\\n", b"h:1:2 [0] ", b"\x1f\x8b", b"\xff", b"\x00",
    b"[pod/a/b] ", b" [repeated 9x across cluster]", b"\x1b[3", b"nNodes ", b"#  Rank  0 on h device",
]  # fmt: skip


def judged(log: bytes) -> dict[str, object]:
    text, _ = run("-", None, "json", io.BytesIO(log))
    said: dict[str, object] = json.loads(text)
    return said


def essence(log: bytes) -> tuple[object, ...]:
    said = judged(log)
    return said["verdict"], said["fabric"], said["gpudirect"], said["strength"]


@settings(max_examples=100, deadline=None)
@given(st.lists(st.one_of(st.sampled_from(PIECES), st.binary(max_size=20)), max_size=30).map(b"".join))
def test_arbitrary_bytes_get_one_of_the_five_verdicts(log: bytes) -> None:
    for form in ("json", "text"):
        text, code = run("-", None, form, io.BytesIO(log))
        assert code in (0, 1, 2)
        assert text.endswith("\n")


@settings(max_examples=40, deadline=None)
@given(st.sampled_from(STABLE), st.randoms(use_true_random=False))
def test_interleaving_the_ranks_does_not_change_the_verdict(name: str, chance: random.Random) -> None:
    log = (DATA / name).read_bytes()
    queues: dict[bytes, list[bytes]] = {}
    for line in log.splitlines(keepends=True):
        queues.setdefault(line.split(b" ")[0], []).append(line)
    mixed = []
    while queues:
        key = chance.choice(sorted(queues))
        mixed.append(queues[key].pop(0))
        if not queues[key]:
            del queues[key]
    assert essence(b"".join(mixed)) == essence(log)


@pytest.mark.parametrize("name", STABLE)
@pytest.mark.parametrize(
    "prefix",
    [b"[1,3]<stdout>:", b"12: ", b"[pod/a-0/node] ", b"ns a-0 node ", b"2026-01-02T03:04:05.67Z ", b"(W pid=3, ip=192.0.2.1) ",
     b"\x1b[36m(W pid=3)\x1b[0m ", b"[default0]:", b"192.0.2.9: ", b"  | 2026-01-02T03:04:05.67Z | ", b"10%|#\r"],
)  # fmt: skip
def test_a_prefix_before_every_line_does_not_change_the_verdict(name: str, prefix: bytes) -> None:
    log = (DATA / name).read_bytes()
    wrapped = b"".join(prefix + line for line in log.splitlines(keepends=True))
    assert essence(wrapped) == essence(log)


@pytest.mark.parametrize(
    "before",
    ["", "2026-01-02T03:04:05.67Z ", "03:04:05 ", "[rank0]: ", "[1,3]<stdout>:", "12: ", "worker-0 | ", "node-1: [2] ",
     "(Worker pid=3, ip=192.0.2.1) ", "I0102 03:04:05.678 91 comm.cc:12] "],
)  # fmt: skip
def test_a_choice_that_lost_its_own_prefix_counts_behind_a_collectors(before: str) -> None:
    assert judged(f"{before}Using network Socket\n".encode())["verdict"] == "sockets"


@pytest.mark.parametrize(
    "before", ["# ", "it says ", "echo '", '- pattern: "', "Note: ", "12:12:12" * 20_000 + "!", "[a]" * 200]
)
def test_a_choice_that_is_only_spoken_of_is_no_evidence(before: str) -> None:
    words = " (and goes on)" if before == "Note: " else ""
    assert judged(f"{before}Using network Socket{words}\n".encode())["verdict"] == "none"


@pytest.mark.parametrize("name", STABLE)
def test_lines_of_others_between_do_not_change_the_verdict(name: str) -> None:
    log = (DATA / name).read_bytes()
    diluted = b"".join(b"step 1, all is well\n" * 100 + line for line in log.splitlines(keepends=True))
    assert essence(diluted) == essence(log)


def test_an_error_behind_the_use_of_the_fabric_is_noted_beside_its_cause() -> None:
    error = b"job-node-1:9:9 [0] NCCL WARN NET/OFI Request completed with error. RC: 103. Error: 4126 (Unresponsive)\n"
    log = (DATA / "efa-aws-libfabric.log").read_bytes()
    assert judged(log)["causes"] == []
    said = judged(log + error)
    assert said["verdict"] == "fabric"
    assert said["causes"]
    assert any("exit code 0 speaks of the network alone" in n for n in said["notes"])  # type: ignore[attr-defined]


def test_the_line_number_is_that_of_the_file_behind_the_first_block() -> None:
    filler = b"nothing of interest in this line of a long file\n"
    count = BLOCK // len(filler) + 100
    log = filler * count + b"h:1:2 [0] NCCL INFO Using network Socket\n"
    evidence = judged(log)["evidence"]
    assert isinstance(evidence, list)
    assert [e["line"] for e in evidence] == [count + 1]


def test_an_unknown_expectation_is_a_sentence() -> None:
    text, code = run("-", "warp-drive", "text", io.BytesIO(b""))
    assert code == 2
    assert text.startswith("fabriclint: 'warp-drive' is no fabric")


def test_a_missing_file_is_a_sentence() -> None:
    text, code = run("no-such.log", None, "text", None)
    assert code == 2
    assert "no-such.log: cannot be read" in text


@pytest.mark.parametrize(
    ("text", "manifest"),
    [
        ("apiVersion: v1\nkind: Pod\n", True),
        ("# a comment\n---\nkind: Pod\napiVersion: v1\n", True),
        ('{\n"apiVersion": "v1",\n"kind": "Pod"}', True),
        ("h:1:2 [0] NCCL INFO Using network IB\n", False),
        ("  apiVersion: v1\n  kind: Pod\n", False),
        ("", False),
    ],
)
def test_a_manifest_is_told_from_a_log_by_its_content(tmp_path: Path, text: str, manifest: bool) -> None:
    path = tmp_path / "input"
    path.write_text(text, encoding="utf-8")
    assert is_manifest(str(path)) is manifest


def test_the_command_prints_the_verdict_and_returns_its_code(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(str(DATA / "socket.log"), expect="gke-tcpxo") == 1
    assert capsys.readouterr().out.startswith("sockets: ")


@pytest.mark.slow
def test_memory_is_flat_over_300_megabytes() -> None:
    """Peaks of processes of their own, in KiB: ten times the log adds next to nothing."""
    program = (
        "import io, resource, sys; sys.path.insert(0, sys.argv[1]); import verify as made;"
        "from fabriclint.cli.verify import run;"
        "stream = io.BufferedReader(made.Repeated(made.net_block(), int(sys.argv[2]) << 20));"
        "code = run('-', None, 'text', stream)[1];"
        "print(code, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)"
    )
    folder = str(Path(__file__).parent.parent.parent / "benchmarks")
    peaks = []
    for megabytes in ("30", "300"):
        ran = subprocess.run(
            [sys.executable, "-c", program, folder, megabytes],
            capture_output=True,
            text=True,
            check=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        )
        code, peak = ran.stdout.split()
        assert code == "0"
        peaks.append(int(peak))
    assert peaks[1] < peaks[0] + 15_000


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("name", STABLE)
def test_a_log_that_powershell_wrote_is_read(name: str, encoding: str) -> None:
    log = (DATA / name).read_bytes()
    assert essence(("\ufeff" + log.decode().replace("\n", "\r\n")).encode(encoding)) == essence(log)


def test_what_a_log_holds_does_not_act_on_the_terminal() -> None:
    line = b"node-0\x1b]0;x\x07:12:34 [0] NCCL INFO Channel 00/0 : 3[1] -> 0[0] [receive] via NET/IB/0\x07\x9b31m\n"
    text, _ = run("-", None, "text", io.BytesIO(line * 3))
    assert not [c for c in text if c != "\n" and not c.isprintable()]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
@pytest.mark.parametrize("manifest", [False, True])
def test_a_pipe_is_read_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], manifest: bool
) -> None:
    monkeypatch.chdir(tmp_path)
    whole = Path(__file__).parent.parent / "bases" / "efa-jobset.yaml" if manifest else DATA / "fastrak.log"
    (tmp_path / "whole").write_bytes(whole.read_bytes())
    assert main("whole") == 0
    expected = capsys.readouterr().out.replace("whole", "pipe")
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with subprocess.Popen(["sh", "-c", f"cat '{whole}' > '{pipe}'"]) as writer:
        code = main("pipe")
        writer.wait()
    assert code == 0
    assert capsys.readouterr().out == expected

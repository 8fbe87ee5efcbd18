"""Pipes, devices, sockets and files of the kernel's, given to each command: a sentence and a code, and always an end."""

from __future__ import annotations

import os
import socket
import threading
from pathlib import Path

import pytest

from fabriclint import disk

pytestmark = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")

#: Commands that read the file which is named last.
READERS = (
    "check",
    "check --fix",
    "explain",
    "resolve",
    "verify",
    "config check",
    "cluster trim",
    "baseline create",
    "check --config",
    "check --baseline",
    "check faulty.yaml --cluster",
    "baseline update --baseline",
    "new eks-efa --from-snapshot",
)


@pytest.fixture(autouse=True)
def _impatient(monkeypatch):
    monkeypatch.setattr(disk, "PATIENCE", 0.05)


@pytest.mark.parametrize("command", READERS)
@pytest.mark.parametrize("device", ["/dev/zero", "/dev/full"])
def test_a_device_without_an_end_is_no_file(fabriclint, faulty, command, device):
    if not Path(device).exists():
        pytest.skip("no such device here")
    ran = fabriclint(*command.split(), device)
    assert ran.code == 2
    assert "is a device, not a file" in ran.err


@pytest.mark.parametrize("command", READERS)
def test_a_pipe_that_nobody_writes_to_is_not_waited_for(fabriclint, faulty, tmp_path, command):
    os.mkfifo(tmp_path / "pipe")
    ran = fabriclint(*command.split(), "pipe")
    assert ran.code == 2
    assert "no program writes to this pipe" in ran.err


@pytest.mark.parametrize("command", READERS)
def test_a_socket_is_told(fabriclint, faulty, command):
    with socket.socket(socket.AF_UNIX) as made:
        made.bind("socket")
        ran = fabriclint(*command.split(), "socket")
    assert ran.code == 2
    assert "socket" in ran.err
    assert "internal error" not in ran.err


@pytest.mark.parametrize("command", [r for r in READERS if r != "verify"])
def test_a_file_beyond_all_manifests_is_not_read(fabriclint, faulty, tmp_path, monkeypatch, command):
    monkeypatch.setattr(disk, "LARGEST", 1 << 20)
    (tmp_path / "large").write_bytes(b"#" * (1 << 20) + b"#")
    ran = fabriclint(*command.split(), "large")
    assert ran.code == 2
    assert "it is larger than 1 MiB" in ran.err


def test_a_large_file_in_a_folder_is_left_out_with_a_notice(fabriclint, faulty, tmp_path, monkeypatch):
    monkeypatch.setattr(disk, "LARGEST", 1 << 20)
    (tmp_path / "data.json").write_bytes(b" " * (1 << 20) + b"{}")
    ran = fabriclint("check", "-v", "-o", "concise")
    assert ran.code == 1
    assert "data.json: warning: The file is not read: it is larger than 1 MiB" in ran.err
    assert ran.out.startswith("faulty.yaml:11:")


@pytest.mark.parametrize("text", ["", "kind: ConfigMap\n"])
def test_a_pipe_with_a_late_writer_is_read_to_its_end(tmp_path, monkeypatch, text):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    written = text * 20_000

    def write() -> None:
        with pipe.open("w") as out:
            threading.Event().wait(0.2)  # longer than the patience with a pipe that has no writer
            out.write(written)

    writer = threading.Thread(target=write)
    opener = threading.Thread(target=lambda: got.append(disk.contents(pipe)))
    got: list[bytes] = []
    monkeypatch.setattr(disk, "PATIENCE", 5)
    opener.start()
    writer.start()
    opener.join()
    writer.join()
    assert got == [written.encode()]


def test_a_slow_writer_is_waited_for(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    writer = os.open(pipe, os.O_WRONLY)
    try:
        timer = threading.Timer(0.3, lambda: (os.write(writer, b"a: b\n"), os.close(writer)))
        timer.start()
        assert disk.contents(pipe) == b"a: b\n"
        timer.join()
    finally:
        os.close(reader)


def test_an_empty_file_and_the_null_device_are_read(tmp_path):
    (tmp_path / "empty").touch()
    assert disk.contents(tmp_path / "empty") == b""
    assert disk.contents(os.devnull) == b""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs the kernel's own files")
def test_a_file_of_the_kernels_without_a_size_is_read():
    assert b"Name:" in disk.contents("/proc/self/status")


def test_fixing_what_comes_through_a_pipe_leaves_the_pipe(fabriclint, faulty, faulty_text, tmp_path, monkeypatch):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    monkeypatch.setattr(disk, "PATIENCE", 5)

    def write() -> None:
        pipe.write_text(faulty_text)

    writer = threading.Thread(target=write)
    writer.start()
    ran = fabriclint("check", "--fix", "pipe")
    writer.join()
    assert ran.code == 2
    assert "'pipe' is not written: it is no regular file." in ran.err
    assert pipe.is_fifo()


def test_a_pipe_among_ignore_files_and_templates_is_passed_over(fabriclint, faulty, tmp_path):
    os.mkfifo(tmp_path / ".gitignore")
    os.mkfifo(tmp_path / "more.yaml")
    assert fabriclint("check").code == 1

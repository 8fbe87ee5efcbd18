"""The fixes of fabric rules for what is missing: mounts of the host's folders, and variables that a contract asks for."""

from __future__ import annotations

from pathlib import Path

import pytest
from example import whole
from ruamel.yaml import YAML

from fabriclint.assemble import assemble
from fabriclint.config import Settings
from fabriclint.engine import lint
from fabriclint.fix.mend import mend
from fabriclint.report.model import Report, ReportOptions

BASES = Path(__file__).parent.parent / "bases"


def mended(text: str, *, unsafe: bool = False) -> tuple[str, list[str]]:
    """The text after all fixes, and the errors and warnings that are left."""
    settings = Settings(isolated=True)

    def report(texts: dict[str, bytes]) -> Report:
        given = texts.get("job.yaml", text.encode())
        return assemble(lint([], settings, stdin=("job.yaml", given)), settings, ReportOptions())

    made = mend(report, unsafe=unsafe)
    return made.after.get("job.yaml", text), [f.code for f in made.report.findings if f.severity != "note"]


#: Base and lines that take something away; the fix puts the same in, perhaps in another place of its list.
MISSING = {
    "the daemon's /sys": ("trainer-tcpxo", "@@ NET_ADMIN\n- - name: sys\n-   mountPath: /hostsysfs"),
    "the daemon's /proc/sys": ("tcpxo-job", "@@ NET_ADMIN\n- - name: proc-sys\n-   mountPath: /hostprocsysfs"),
    "the daemon's libraries": ("tcpxo-job", "@@ NET_ADMIN\n- - name: libraries\n-   mountPath: /usr/local/nvidia"),
    "the worker's libraries": ("trainer-tcpxo", "@@ IPC_LOCK\n- - name: libraries\n-   mountPath: /usr/local/nvidia"),
    "the worker's aperture devices": (
        "tcpxo-mega-jobset",
        "@@ IPC_LOCK\n- - name: aperture\n-   mountPath: /dev/aperture_devices",
    ),
    "memory for /dev/shm": ("trainer-tcpxo", "- emptyDir:\n-   medium: Memory\n+ emptyDir: {}"),
    "fork safety": ("efa-trainjob", '- - name: FI_EFA_FORK_SAFE\n-   value: "1"'),
    "EFA's bootstrap interface": ("efa-trainjob", "- - name: NCCL_SOCKET_IFNAME\n-   value: eth0"),
    "InfiniBand's bootstrap interface": ("ib-trainjob", "- - name: NCCL_SOCKET_IFNAME\n-   value: eth0"),
    "the built-in transport": ("ib-trainjob", "- - name: NCCL_NET_PLUGIN\n-   value: none"),
}


@pytest.mark.parametrize(("base", "lines"), MISSING.values(), ids=MISSING)
def test_what_is_missing_is_put_in(base: str, lines: str) -> None:
    right = (BASES / f"{base}.yaml").read_text()
    wrong = whole(f"({base})", lines).text
    assert wrong != right
    text, left = mended(wrong)
    assert left == []
    assert _unordered(text) == _unordered(right)


def test_a_folder_that_no_volume_has_gets_one() -> None:
    lines = """\
@@ NET_ADMIN
- - name: proc-sys
-   mountPath: /hostprocsysfs
@@ volumes:
- - name: proc-sys
-   hostPath:
-     path: /proc/sys"""
    text, left = mended(whole("(tcpxo-job)", lines).text)
    assert left == []
    assert "name: proc-sys\n" in text
    assert text.count("path: /proc/sys\n") == 1


def test_a_misspelt_mount_is_not_mounted_twice() -> None:
    wrong = whole("(tcpxo-job)", "~ mountPath: /hostsysfs => mountPaht: /hostsysfs").text
    text, left = mended(wrong, unsafe=True)
    assert left == []
    assert text == wrong.replace("mountPaht", "mountPath")


def test_an_amount_of_none_becomes_one_only_when_asked_for() -> None:
    lines = "~ devices_a: 1 => devices_a: 0\n~ devices_a: 1 => devices_a: 0"
    wrong = whole("(ib-trainjob)", lines).text
    assert mended(wrong) == (wrong, ["IB001"])
    assert mended(wrong, unsafe=True) == ((BASES / "ib-trainjob.yaml").read_text(), [])


def test_ranks_that_sshd_starts_get_no_variable_in_the_pods_env() -> None:
    wrong = whole("(trainer-mpi)", "~ nvidia.com/gpu: 8 => nvidia.com/gpu: 8\n+ rdma/hca_shared_devices_a: 1").text
    assert "NCCL_SOCKET_IFNAME" not in mended(wrong)[0]


def _unordered(text: str) -> object:
    """The documents of a text, with lists of named entries and mounts as sets."""

    def plain(node: object) -> object:
        if isinstance(node, dict):
            return frozenset((k, plain(v)) for k, v in node.items())
        if isinstance(node, list):
            return frozenset(map(plain, node)) if node and isinstance(node[0], dict) else tuple(map(plain, node))
        return node

    return [plain(d) for d in YAML(typ="safe", pure=True).load_all(text)]

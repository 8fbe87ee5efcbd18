"""The fixes of the POD rules, as whole texts: what is added, and where a TrainJob takes it."""

from __future__ import annotations

from pathlib import Path

import pytest
from example import whole

from fabriclint.assemble import assemble
from fabriclint.config import Settings
from fabriclint.engine import lint
from fabriclint.fix.mend import mend
from fabriclint.report.model import Report, ReportOptions

BASES = Path(__file__).parent.parent / "bases"


def mended(text: str, *, unsafe: bool = False) -> tuple[str, list[str]]:
    """The text after all fixes, and the POD errors and warnings that are left."""
    settings = Settings(isolated=True, select=("POD",))

    def report(texts: dict[str, bytes]) -> Report:
        given = texts.get("job.yaml", text.encode())
        return assemble(lint([], settings, stdin=("job.yaml", given)), settings, ReportOptions())

    made = mend(report, unsafe=unsafe)
    return made.after.get("job.yaml", text), [f.code for f in made.report.findings if f.severity != "note"]


#: Base and lines that break it; the fix gives the base back, line for line.
BACK = {
    "a mount and its volume": (
        "pod-lws",
        """\
@@ vpc.amazonaws.com/efa
-     volumeMounts:
-       - name: dshm
-         mountPath: /dev/shm
- volumes:
-   - name: dshm
-     emptyDir:
-       medium: Memory
""",
    ),
    "the word for memory": ("pod-job", "~ medium: Memory => medium: memory"),
    "the capability's name": ("pod-job", "~ add: [IPC_LOCK] => add: [CAP_IPC_LOCK]"),
}


@pytest.mark.parametrize(("base", "lines"), BACK.values(), ids=BACK)
def test_a_fix_gives_the_right_manifest_back(base: str, lines: str) -> None:
    right = (BASES / f"{base}.yaml").read_text()
    wrong = whole(f"({base})", lines.strip("\n")).text
    assert wrong != right
    text, left = mended(wrong)
    assert text == right
    assert left == []


def test_a_capability_is_added_to_the_list_there_is() -> None:
    wrong = whole("(pod-mpijob)", "~ add: [IPC_LOCK] => add: [SYS_NICE]").text
    text, left = mended(wrong)
    assert text == wrong.replace("[SYS_NICE]", "[SYS_NICE, IPC_LOCK]")
    assert left == []


def test_a_device_that_is_only_requested_is_written_in_limits_too() -> None:
    base = (BASES / "pod-job.yaml").read_text()
    wrong = base.replace("              rdma/ib: 8\n", "            requests:\n              rdma/ib: 8\n")
    text, left = mended(wrong)
    assert text == base.replace(
        "              rdma/ib: 8\n", "              rdma/ib: 8\n            requests:\n              rdma/ib: 8\n"
    )
    assert left == []


def test_a_request_unlike_its_limit_is_changed_only_when_asked_for() -> None:
    base = (BASES / "pod-job.yaml").read_text()
    wrong = base.replace(
        "            limits:\n", "            requests:\n              rdma/ib: 4\n            limits:\n"
    )
    assert mended(wrong) == (wrong, ["POD006"])
    assert mended(wrong, unsafe=True) == (wrong.replace("rdma/ib: 4", 'rdma/ib: "8"'), [])


def test_the_pods_dns_policy_is_written() -> None:
    wrong = whole("(pod-job)", "+ hostNetwork: true\n  containers:").text
    text, left = mended(wrong)
    assert "\n      dnsPolicy: ClusterFirstWithHostNet\n" in text
    assert left == []


def test_a_misspelt_effect_is_put_right() -> None:
    wrong = whole(
        "(pod-job)", "+ tolerations:\n+   - {key: gpu, operator: exists, effect: NoSchedul}\n  containers:"
    ).text
    text, left = mended(wrong)
    assert "{key: gpu, operator: Exists, effect: NoSchedule}" in text
    assert left == []


TRAINJOB = """\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata:
  name: train
spec:
  runtimeRef:
    name: torch-distributed
  trainer:
    image: registry.example/train:1
    command: [torchrun, train.py]
    numNodes: 2
    resourcesPerNode:
      limits:
        nvidia.com/gpu: 8
        vpc.amazonaws.com/efa: 32
"""


def test_a_trainjob_on_a_shipped_runtime_gets_one_patch_with_both() -> None:
    text, left = mended(TRAINJOB)
    assert left == []
    assert text.startswith(TRAINJOB)
    assert text.count("manager: fabriclint.dev/fabric") == 1
    assert text.count("- name: node") == 2
    for part in ("medium: Memory", "mountPath: /dev/shm", "IPC_LOCK"):
        assert text.count(part) == 1


def test_a_patch_that_is_there_is_gone_into_and_its_lists_are_kept() -> None:
    wrong = whole("(pod-trainjob)", "~ add: [IPC_LOCK] => add: [SYS_PTRACE]").text
    text, left = mended(wrong)
    assert text == wrong.replace("[SYS_PTRACE]", "[SYS_PTRACE, IPC_LOCK]")
    assert left == []


def test_a_trainjob_of_a_trainer_without_capabilities_gets_no_fix_and_is_told_so() -> None:
    settings = Settings(isolated=True, select=("POD003",), trainer_version=(("*", "2.1"),))
    result = lint([], settings, stdin=("job.yaml", TRAINJOB.encode()))
    (found,) = assemble(result, settings, ReportOptions()).findings
    assert found.fix is None or not found.fix.edits
    assert "runtimePatches of Trainer 2.2" in found.help


def test_a_runtime_of_ones_own_is_mended_in_its_file() -> None:
    right = (BASES / "pod-runtime.yaml").read_text()
    wrong = whole("(pod-runtime)", "~ add: [IPC_LOCK] => add: []").text
    text, left = mended(wrong)
    assert text == right
    assert left == []


def test_memory_that_no_container_mounts_is_what_the_fix_mounts() -> None:
    """The volume was meant for it; a second one would only hide that."""
    lines = """\
@@ vpc.amazonaws.com/efa
-     volumeMounts:
-       - name: dshm
-         mountPath: /dev/shm
  volumes:
~   - name: dshm =>   - name: scratch
"""
    text, left = mended(whole("(pod-lws)", lines.strip("\n")).text)
    assert left == []
    assert text.count("medium: Memory") == (BASES / "pod-lws.yaml").read_text().count("medium: Memory")
    assert (
        "- name: scratch\n                mountPath: /dev/shm" in text or "name: scratch, mountPath: /dev/shm" in text
    )

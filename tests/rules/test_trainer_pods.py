"""The pods of a TrainJob and its runtime: judged as they run, told at the user's line, once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from fabriclint.assemble import assemble
from fabriclint.config import Settings
from fabriclint.engine import lint
from fabriclint.report.model import ReportedFinding, ReportOptions

BASES = Path(__file__).parents[1] / "bases"


def base(name: str) -> str:
    return (BASES / f"{name}.yaml").read_text()


def found(text: str, **settings: Any) -> list[ReportedFinding]:
    chosen = Settings(isolated=True, **settings)
    result = lint([], chosen, stdin=("job.yaml", text.encode()))
    assert [n for n in result.notes if n.code == "internal-error"] == []
    return [f for f in assemble(result, chosen, ReportOptions()).findings if f.severity != "note"]


def said(text: str, **settings: Any) -> list[tuple[str, int]]:
    return [(f.code, f.region.line) for f in found(text, **settings)]


def line(text: str, wanted: str, after: str = "") -> int:
    start = text.index(after) if after else 0
    return text[: text.index(wanted, start)].count("\n") + 1


SHM = "                      volumeMounts:\n                        - name: dshm\n                          mountPath: /dev/shm\n"


def without_shm(text: str) -> str:
    """A runtime whose worker has lost its shared memory, and the volume with it."""
    assert SHM in text
    text = text.replace(SHM, "")
    volumes = "                  volumes:\n                    - name: dshm\n                      emptyDir:\n                        medium: Memory\n"
    assert volumes in text
    return text.replace(volumes, "")


def test_a_fault_of_the_runtime_stands_at_the_runtime() -> None:
    text = without_shm(base("trainer-torch"))
    assert said(text) == [("POD001", line(text, "- name: node\n                      image"))]


def test_two_trainjobs_on_one_runtime_say_its_fault_once() -> None:
    text = without_shm(base("trainer-torch"))
    job = text.partition("---\n")[2]
    two = text + "---\n" + job.replace("name: pretrain", "name: second").replace("numNodes: 2", "numNodes: 3")
    assert said(two) == [("POD001", line(two, "- name: node\n                      image"))]


def test_a_fault_of_the_runtime_belongs_to_the_runtime_in_a_report() -> None:
    (fault,) = found(without_shm(base("trainer-torch")))
    assert fault.object is not None and fault.object.kind == "TrainingRuntime"


def test_what_the_trainjobs_own_resources_call_for_stands_at_the_trainjob() -> None:
    text = without_shm(base("trainer-torch")).replace(
        "    numNodes: 2\n    image", "    numNodes: 2\n    resourcesPerNode: {limits: {nvidia.com/gpu: 8}}\n    image"
    )
    assert said(text) == [("POD001", line(text, "trainer:\n    numNodes"))]


def test_an_existing_patch_of_the_container_is_the_place_to_add_to() -> None:
    patch = """\
  runtimePatches:
    - manager: speech.example/fabric
      trainingRuntimeSpec:
        template:
          spec:
            replicatedJobs:
              - name: node
                template:
                  spec:
                    template:
                      spec:
                        containers:
                          - name: node
                            securityContext:
                              privileged: false
"""
    text = base("trainer-shipped").replace("nvidia.com/gpu: 1", "nvidia.com/gpu: 8") + patch
    assert said(text) == [("POD001", line(text, "- name: node\n                            security"))]


def test_what_a_shipped_runtime_lacks_stands_at_the_trainjob() -> None:
    text = base("trainer-shipped").replace("nvidia.com/gpu: 1", "nvidia.com/gpu: 8")
    assert said(text) == [("POD001", line(text, "trainer:\n"))]


def test_lost_gpus_are_one_finding_and_the_other_faults_are_still_seen() -> None:
    text = without_shm(base("trainer-torch")).replace(
        "    numNodes: 2\n    image", "    numNodes: 2\n    resourcesPerNode: {limits: {memory: 1Gi}}\n    image"
    )
    assert sorted(c for c, _ in said(text)) == ["POD001", "TRN006"]


def test_a_refused_trainjob_is_still_judged() -> None:
    text = without_shm(base("trainer-torch")).replace("vision.example/pool", "pool")
    assert sorted(c for c, _ in said(text)) == ["POD001", "TRN018"]


def test_a_runtime_named_by_the_wrong_kind_is_the_one_that_is_meant() -> None:
    text = without_shm(base("trainer-torch")).replace("    kind: TrainingRuntime\n    name", "    name")
    assert sorted(c for c, _ in said(text)) == ["POD001", "TRN009"]


def test_patches_in_the_field_of_another_release_are_read_as_that_release_reads_them() -> None:
    text = without_shm(base("trainer-torch"))
    head, _, _ = text.partition("  runtimePatches:")
    text = head + (
        "  podTemplateOverrides:\n"
        "    - targetJobs: [{name: node}]\n"
        "      spec:\n"
        "        containers: [{name: node, volumeMounts: [{name: shm, mountPath: /dev/shm}]}]\n"
        "        volumes: [{name: shm, emptyDir: {medium: Memory}}]\n"
    )
    assert [c for c, _ in said(text)] == ["TRN019"]


def test_a_runtime_in_a_file_that_only_answers_questions_is_used_and_not_reported(tmp_path: Path) -> None:
    from fabriclint.discover import discover

    runtime, _, job = without_shm(base("trainer-torch")).partition("---\n")
    (tmp_path / "runtime.yaml").write_text(runtime)
    (tmp_path / "job.yaml").write_text(job.replace("image: registry.example/train:2", "numProcPerNode: 4"))
    settings = Settings(root=tmp_path)
    result = lint(discover([str(tmp_path / "job.yaml")]), settings)
    report = assemble(result, settings, ReportOptions())
    assert {(f.code, Path(f.region.path).name) for f in report.findings if f.severity != "note"} == {
        ("TRN025", "job.yaml")
    }


def test_a_pair_of_a_trainjob_and_its_runtime_is_one_workload() -> None:
    chosen = Settings(isolated=True)
    result = lint([], chosen, stdin=("job.yaml", base("trainer-torch").encode()))
    assert assemble(result, chosen, ReportOptions()).summary.workloads == 1


TWO_ROLES = """\
apiVersion: jobset.x-k8s.io/v1alpha2
kind: JobSet
metadata:
  name: train
spec:
  replicatedJobs:
    - name: one
      template:
        spec:
          template:
            spec:
              restartPolicy: Never
              containers:
                - name: worker
                  image: registry.example/train:1
                  command: [torchrun, train.py]
                  resources: {limits: {nvidia.com/gpu: 8}}
                  securityContext: {capabilities: {add: [IPC-LOCK]}}
                  volumeMounts: [{name: shm, mountPath: /dev/shm}]
              volumes: [{name: shm, emptyDir: {medium: Memory}}]
    - name: two
      template:
        spec:
          template:
            spec:
              restartPolicy: Never
              containers:
                - name: worker
                  image: registry.example/train:1
                  command: [torchrun, train.py]
                  resources: {limits: {nvidia.com/gpu: 8, rdma/hca_shared_devices_a: 1}}
                  volumeMounts: [{name: shm, mountPath: /dev/shm}]
              volumes: [{name: shm, emptyDir: {medium: Memory}}]
"""


def test_a_cause_in_one_pod_template_does_not_silence_another() -> None:
    # POD003 yields to POD005, and that stands in the other template.
    codes = {c for c, _ in said(TWO_ROLES, select=("POD003", "POD005"))}
    assert codes == {"POD003", "POD005"}


def test_a_cause_in_its_own_pod_template_silences_what_follows_from_it() -> None:
    text = TWO_ROLES.replace(
        "{limits: {nvidia.com/gpu: 8}}", "{limits: {nvidia.com/gpu: 8, rdma/hca_shared_devices_a: 1}}"
    )
    text = text.partition("    - name: two\n")[0]
    assert [c for c, _ in said(text, select=("POD003", "POD005"))] == ["POD005"]


def test_the_cause_in_one_trainjob_does_not_silence_another_on_the_same_runtime() -> None:
    text = base("trainer-fabric")
    job = text.partition("---\n")[2]
    first = job.replace("    numNodes: 2\n", "    resourcesPerNode: {limits: {memory: 1Gi}}\n")
    second = job.replace("name: weather", "name: climate").replace("    numNodes: 2\n", "")
    runtime = text.partition("---\n")[0].replace("numNodes: 2", "numNodes: 1")
    codes = said(f"{runtime}---\n{first}---\n{second}", select=("TRN",))
    # TRN012 yields to TRN006, which is the first TrainJob's alone.
    assert [c for c, _ in codes] == ["TRN006", "TRN012"]


@pytest.mark.parametrize("name", ["trainer-torch", "trainer-fabric", "trainer-steps", "trainer-tcpxo"])
@pytest.mark.parametrize("version", ["2.2", "2.3"])
def test_a_good_pair_is_silent_for_every_release_with_its_field(name: str, version: str) -> None:
    assert said(base(name), trainer_version=(("*", version),)) == []

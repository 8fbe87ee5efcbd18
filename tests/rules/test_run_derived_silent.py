"""What RUN says nothing of in start texts that stand elsewhere than in the command: files, lists, arrays, several jobs."""

from __future__ import annotations

import textwrap

import pytest

from fabriclint.assemble import assemble
from fabriclint.config import Settings
from fabriclint.engine import lint
from fabriclint.report.model import ReportOptions


def said(text: str) -> list[tuple[str, int]]:
    """(code, line) of every warning and error."""
    made = Settings(isolated=True, select=("RUN", "DEV", "DOC", "NCCL", "TRN"))
    result = lint([], made, stdin=("job.yaml", text.encode()))
    assert not [n for n in result.notes if n.code == "internal-error"], result.notes
    findings = assemble(result, made, ReportOptions()).findings
    return [(f.code, f.region.line) for f in findings if str(f.severity) != "note"]


JOBSET = """\
apiVersion: jobset.x-k8s.io/v1alpha2
kind: JobSet
metadata:
  name: tides
spec:
  replicatedJobs:
    - name: node
      replicas: 1
      template:
        spec:
          parallelism: 2
          completions: 2
          backoffLimit: 0
          template:
            spec:
              restartPolicy: Never
              containers:
                - name: main
                  image: registry.example/tides:1
                  command: COMMAND
                  resources:
                    limits:
                      nvidia.com/gpu: 8
                  volumeMounts:
                    - name: dshm
                      mountPath: /dev/shm
                    - name: texts
                      mountPath: /texts
              volumes:
                - name: dshm
                  emptyDir:
                    medium: Memory
                - name: texts
                  configMap:
                    name: texts
"""


def with_file(key: str, text: str, command: str) -> str:
    """A JobSet of two pods with eight GPUs each, and a ConfigMap that is mounted at /texts."""
    data = textwrap.indent(text, "    ")
    return (
        f"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: texts\ndata:\n  {key}: |\n{data}\n---\n"
        + JOBSET.replace("COMMAND", command)
    )


RIGHT = "torchrun --nnodes=2 --nproc-per-node=8 --rdzv-backend=c10d --rdzv-endpoint=tides-node-0-0.tides:29500 train.py"
WRONG = RIGHT.replace("nproc-per-node=8", "nproc-per-node=4")


@pytest.mark.parametrize(
    ("command", "text"),
    [
        pytest.param("[bash, /texts/run.sh]", WRONG, id="by a shell"),
        pytest.param("[/texts/run.sh]", f"#!/usr/bin/env bash\n{WRONG}", id="by itself"),
        pytest.param('[sh, -c, "cd /texts && ./run.sh"]', WRONG, id="from its folder"),
        pytest.param('[bash, -c, "source /texts/run.sh"]', WRONG, id="sourced"),
        pytest.param(
            '[bash, -c, "cp /texts/run.sh /tmp/ && chmod +x /tmp/run.sh && exec /tmp/run.sh"]', WRONG, id="copied"
        ),
    ],
)
def test_a_fault_in_a_mounted_script_stands_in_the_config_map(command: str, text: str) -> None:
    made = with_file("run.sh", text, command)
    at = made.split("\n").index("    " + WRONG) + 1
    assert said(made) == [("RUN006", at)]


@pytest.mark.parametrize(
    ("command", "text"),
    [
        pytest.param("[bash, /texts/run.sh]", RIGHT, id="nothing wrong in it"),
        pytest.param("[bash, /texts/other.sh]", WRONG, id="another file"),
        pytest.param("[bash, run.sh]", WRONG, id="the image says in which folder"),
        pytest.param("[python, /texts/run.sh]", WRONG, id="no shell reads it"),
        pytest.param("[/texts/run.sh]", f"#!/usr/bin/env python3\n{WRONG}", id="a script of another language"),
        pytest.param(
            '[bash, -c, "sed s/4/8/ /texts/run.sh > /tmp/run.sh; bash /tmp/run.sh"]', WRONG, id="changed on the way"
        ),
        pytest.param("[cat, /texts/run.sh]", WRONG, id="shown"),
        pytest.param("[bash, /texts/run.sh]", WRONG.replace("4", "$GPUS"), id="a number that the image may set"),
        pytest.param("[bash, /texts/run.sh]", WRONG.replace("=4", "={{ gpus }}"), id="a template"),
        pytest.param(
            "[bash, /texts/run.sh]", f"if [ -e /x ]; then\n{WRONG}\nelse\n{RIGHT}\nfi", id="one of two branches"
        ),
    ],
)
def test_mounted_scripts_that_are_right_or_not_run_are_silent(command: str, text: str) -> None:
    assert said(with_file("run.sh", text, command)) == []


def test_a_config_map_of_another_namespace_is_not_read() -> None:
    text = with_file("run.sh", WRONG, "[bash, /texts/run.sh]")
    text = text.replace("  name: texts\ndata", "  name: texts\n  namespace: a\ndata").replace(
        "  name: tides\nspec", "  name: tides\n  namespace: b\nspec"
    )
    assert said(text) == []


def test_items_name_the_files_of_a_config_map() -> None:
    text = with_file("start", WRONG, "[bash, /texts/run.sh]")
    assert said(text) == []
    items = "                    name: texts\n                    items: [{key: start, path: run.sh}]\n"
    assert [c for c, _ in said(text.replace("                    name: texts\n", items))] == ["RUN006"]


def test_a_single_file_is_mounted_by_its_sub_path() -> None:
    text = with_file("start", WRONG, "[bash, /opt/go.sh]").replace(
        "mountPath: /texts", "mountPath: /opt/go.sh\n                      subPath: start"
    )
    assert [c for c, _ in said(text)] == ["RUN006"]


NAMES = {
    "a Job by a store": "rendezvous.tools:29500",
    "a StatefulSet's pod of a like name": "tides-cache-0.tides-cache:29500",
    "a Service of the job's own": "tides-rendezvous:29500",
    "a pod": "tides-node-0-1.tides:29500",
}


@pytest.mark.parametrize("host", NAMES.values(), ids=NAMES.keys())
def test_names_that_may_be_another_object_s_are_silent(host: str) -> None:
    command = RIGHT.replace("tides-node-0-0.tides:29500", host)
    assert said(JOBSET.replace("COMMAND", f"[bash, -c, '{command}']")) == []


@pytest.mark.parametrize(
    "worker",
    [
        "ray start --address=$HEAD:6379 --block",
        "ray start --address=other-head:6390 --block",
        "ray start --address=auto --block",
        "ray start --head --block",
    ],
)
def test_ray_workers_that_may_find_their_head_are_silent(worker: str) -> None:
    text = JOBSET.replace("COMMAND", f"[bash, -c, '{worker}']")
    assert said(text) == []

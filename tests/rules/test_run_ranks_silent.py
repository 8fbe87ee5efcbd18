"""Where the rules on ranks, counts and options must say nothing: a manifest for each line of what they leave alone."""

from __future__ import annotations

import pytest
from example import whole

from fabriclint.assemble import assemble
from fabriclint.config import Settings
from fabriclint.engine import lint
from fabriclint.report.model import ReportOptions

STATIC = "torchrun, --nnodes=2, --nproc-per-node=1, --master-addr=weather-ranks-0-0.weather, --master-port=29500"


def said(code: str, base: str, *lines: str) -> list[str]:
    """The severities of what a rule says of a base with changed lines."""
    made = Settings(isolated=True, select=(code,))
    text = whole(f"({base})", "\n".join(lines)).text
    result = lint([], made, stdin=("job.yaml", text.encode()))
    assert not [n for n in result.notes if n.code == "internal-error"], result.notes
    assert result.jobs, "the text holds a job"
    return [str(f.severity) for f in assemble(result, made, ReportOptions()).findings]


SILENT = {
    # RUN006
    "RUN006 fewer ranks than GPUs under mpirun": ("run-mpijob", '~ -np, "2" => -np, "1"'),
    "RUN006 more on purpose": ("run-mpijob", '~ -np, "2" => --oversubscribe, -np, "8"'),
    "RUN006 an open count": ("run-mpijob", '~ -np, "2" => -np, "64"', '~ replicas: 2 => replicas: "{{ workers }}"'),
    "RUN006 workers without GPUs": ("run-tfworkers", "@@ image"),
    "RUN006 all GPUs": ("near-jobset", "~ --nproc-per-node=8 => --nproc-per-node=auto"),
    "RUN006 auto in the kind's own field": ("run-pytorchjob", '~ nprocPerNode: "1" => nprocPerNode: auto'),
    "RUN006 the benchmark's own number": ("run-mpijob", "~ ./reduce] => ./reduce, -n, '200', -np, '9']"),
    "RUN006 slots that stay free": ("run-mpijob", "@@ Worker:", "~ nvidia.com/gpu: 1 => nvidia.com/gpu: 4"),
    "RUN006 sizes that the pods' GPUs hold": (
        "near-lws",
        "- command: ...",
        '+ command: [vllm, serve, /m, -tp, "8", -pp, "2"]',
    ),
    "RUN006 a number that only a variable of the image gives": (
        "near-jobset",
        "~ --nproc-per-node=8 => --nproc-per-node=$(GPUS)",
    ),
    # RUN008
    "RUN008 one pod": (
        "run-jobset",
        "~ parallelism: 2 => parallelism: 1",
        "~ completions: 2 => completions: 1",
        f"~ [python, forecast.py] => [{STATIC}, forecast.py]",
    ),
    "RUN008 the pod's own number": (
        "run-jobset",
        f"~ [python, forecast.py] => [{STATIC}, --node-rank=$(JOB_COMPLETION_INDEX), forecast.py]",
    ),
    "RUN008 a number out of the host's name": (
        "run-statefulset",
        "- command: ...",
        '+ command: [bash, -c, "torchrun --nnodes=2 --nproc-per-node=1 --node-rank=${HOSTNAME##*-} --master-addr=engine-0.engine --master-port=29400 s.py"]',
    ),
    "RUN008 torchrun's variable in the env list": (
        "run-jobset",
        "- command: [python, forecast.py]",
        f"+ command: [{STATIC}, forecast.py]",
        "+ env:",
        "+   - name: PET_NODE_RANK",
        "+     valueFrom: {fieldRef: {fieldPath: \"metadata.annotations['batch.kubernetes.io/job-completion-index']\"}}",
    ),
    "RUN008 a map that is not in view": (
        "run-jobset",
        "- command: [python, forecast.py]",
        f"+ command: [{STATIC}, forecast.py]",
        "+ envFrom:",
        "+   - configMapRef: {name: ranks}",
    ),
    "RUN008 a script that sets it first": (
        "run-jobset",
        '~ [python, forecast.py] => [bash, -c, ". /opt/ranks.sh; torchrun --nnodes=2 --node-rank=$RANK --master-addr=$MASTER_ADDR --master-port=29500 t.py"]',
    ),
    "RUN008 a default beside the variable": (
        "run-statefulset",
        "- command: ...",
        '+ command: [bash, -c, "python s.py --rank ${RANK:-0} --head ${MASTER_ADDR:-localhost}"]',
    ),
    "RUN008 branches of a script": (
        "run-statefulset",
        "- command: ...",
        '+ command: [bash, -c, "if [[ $HOSTNAME == engine-0 ]]; then torchrun --nnodes=2 --node-rank=0 --master-addr=engine-0.engine --master-port=1 s.py; else torchrun --nnodes=2 --node-rank=1 --master-addr=engine-0.engine --master-port=1 s.py; fi"]',
    ),
    "RUN008 a leader and workers with a rank each": (
        "run-lws-mpi",
        "- command: ...",
        "+ command: [torchrun, --nnodes=2, --node-rank=0, --master-addr=$(LWS_LEADER_ADDRESS), --master-port=1, s.py]",
        "@@ workerTemplate",
        "- command: ...",
        "+ command: [torchrun, --nnodes=2, --node-rank=1, --master-addr=$(LWS_LEADER_ADDRESS), --master-port=1, s.py]",
    ),
    "RUN008 engines that Ray brings together": (
        "run-raycluster",
        "@@ workerGroupSpecs",
        "- - name: worker",
        "+ - name: worker",
        '+   command: [bash, -c, "vllm serve m -tp 1 -pp 2"]',
    ),
    "RUN008 each pod is a shard": (
        "run-jobset",
        "~ [python, forecast.py] => [torchrun, --nproc-per-node=1, forecast.py]",
    ),
    "RUN008 what a PyTorchJob sets": (
        "run-pytorchjob",
        '~ [torchrun, train.py] => [bash, -c, "torchrun --nnodes=4 --node-rank=$RANK --master-addr=$MASTER_ADDR --master-port=$MASTER_PORT t.py"]',
        '~ [torchrun, train.py] => [bash, -c, "torchrun --nnodes=4 --node-rank=$RANK --master-addr=$MASTER_ADDR --master-port=$MASTER_PORT t.py"]',
    ),
    "RUN008 what Trainer sets": ("trainer-torch", "@@ kind: TrainJob"),
    # RUN012
    "RUN012 a policy by a template": ("job", '~ restartPolicy: Never => restartPolicy: "{{ policy }}"'),
    "RUN012 JobSet fills it in": ("run-jobset", "@@ spec"),
    "RUN012 Volcano's tasks": ("run-volcano", "~ restartPolicy: OnFailure => restartPolicy: Always"),
    "RUN012 a StatefulSet": ("run-statefulset", "@@ spec"),
    "RUN012 a group that starts again together": ("run-leaderworkerset", "@@ spec"),
    # RUN017
    "RUN017 a runtime's count that the TrainJob has too": (
        "trainer-torch",
        "- command: [torchrun, train.py]",
        "+ command: [torchrun, train.py]",
        "+ env:",
        "+   - name: PET_NNODES",
        '+     value: "2"',
    ),
    "RUN017 a runtime's own variable": (
        "trainer-torch",
        "- command: [torchrun, train.py]",
        "+ command: [torchrun, train.py]",
        "+ env:",
        "+   - name: NCCL_DEBUG",
        "+     value: INFO",
    ),
    "RUN017 a sidecar's variable": (
        "trainer-torch",
        "- - name: log-shipper",
        "+ - name: log-shipper",
        "+   env:",
        "+     - name: PET_NNODES",
        '+       value: "4"',
    ),
    # RUN022
    "RUN022 an older Open MPI by the image": (
        "run-mpijob",
        "- image: registry.example/reduce:1.0",
        "+ image: registry.example/openmpi:4.1.6",
        '~ -np, "2" => --allow-run-as-root, -bind-to, none, -np, "2"',
    ),
    "RUN022 a tag that is the operator's": (
        "run-mpijob",
        "- image: registry.example/reduce:1.0",
        "+ image: registry.example/openmpi:0.5.0",
    ),
    "RUN022 hosts in the newer variable": (
        "run-mpijob",
        "- command: [mpirun,...",
        '+ command: [/opt/openmpi5/bin/mpirun, -np, "2", ./reduce]',
        "+ env:",
        "+   - name: PRTE_MCA_prte_default_hostfile",
        "+     value: /etc/mpi/hostfile",
    ),
    "RUN022 a value by a variable that is not seen": (
        "run-jobset",
        '~ [python, forecast.py] => [bash, -c, "torchrun --nproc-per-node=$GPUS --nnodes=$N forecast.py"]',
    ),
    "RUN022 the program's own options": (
        "run-jobset",
        "~ [python, forecast.py] => [torchrun, forecast.py, -np, '8', --bf16]",
    ),
    "RUN022 a branch of a script": (
        "run-jobset",
        '~ [python, forecast.py] => [bash, -c, "if [ $X = 1 ]; then torchrun -np 8 t.py; fi; python t.py"]',
    ),
}


@pytest.mark.parametrize("name", SILENT)
def test_nothing_is_said_of(name: str) -> None:
    base, *lines = SILENT[name]
    assert said(name.partition(" ")[0], base, *lines) == []


NOTES = {
    "an option that another release may know": (
        "RUN022",
        "run-jobset",
        "~ [python, forecast.py] => [torchrun, --new-thing=1, forecast.py]",
    ),
    "an ambiguous option, which newer Pythons take": (
        "RUN022",
        "run-jobset",
        "~ [python, forecast.py] => [torchrun, --nproc, '1', forecast.py]",
    ),
    "a count of a runtime that becomes a number in the pod": (
        "RUN017",
        "trainer-torch",
        "- command: [torchrun, train.py]",
        "+ command: [torchrun, train.py]",
        "+ env:",
        "+   - name: PET_NPROC_PER_NODE",
        '+     value: "8"',
    ),
}


@pytest.mark.parametrize("name", NOTES)
def test_no_more_than_a_note_is_given_for(name: str) -> None:
    code, base, *lines = NOTES[name]
    assert said(code, base, *lines) == ["note"]

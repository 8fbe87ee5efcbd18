"""Command lines in the forms that people write them, each right for its job: the rules on launches say nothing."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from fabriclint.assemble import assemble
from fabriclint.config import Settings
from fabriclint.engine import lint
from fabriclint.report.model import ReportOptions

BASES = Path(__file__).parent.parent / "bases"
JOBSET, INDEXED, SET, GROUP = "near-jobset", "run-indexed", "near-set", "near-lws"
PYTORCH, WORKERS, MPI, EXEC = "near-pytorchjob", "run-workers", "run-mpijob", "run-mpijob-exec"
VOLCANO, VOLCANO_MPI, TRAINER, JAX = (
    "near-volcano",
    "run-volcano-mpi",
    "trainer-torch",
    "run-jaxjob",
)
MEETING = "--rdzv-backend=c10d --rdzv-endpoint=weather-ranks-0-0.weather:29400"
HEAD = "weather-ranks-0-0.weather"


def found(text: str) -> list[tuple[str, int, str]]:
    """(code, line, message) of errors and warnings about how ranks run."""
    settings = Settings(isolated=True, select=("RUN",))
    result = lint([], settings, stdin=("job.yaml", text.encode()))
    assert not [n for n in result.notes if n.code == "internal-error"], result.notes
    assert result.jobs, "the text holds a job"
    findings = assemble(result, settings, ReportOptions()).findings
    return [(f.code, f.region.line, f.message) for f in findings if str(f.severity) != "note"]


def started(base: str, words: list[str], env: dict[str, str] | None = None) -> str:
    """A base whose containers with a command have another one, and variables."""
    text = (BASES / f"{base}.yaml").read_text()
    variables = "".join(f"\n\\1  - {{name: {n}, value: {json.dumps(v)}}}" for n, v in (env or {}).items())
    more = f"\n\\1env:{variables}" if env else ""
    command = json.dumps(words).replace("\\", "\\\\")
    made, count = re.subn(r"(?m)^( *)command: .*$", f"\\1command: {command}{more}", text)
    assert count, base
    return made


def shell(base: str, text: str, env: dict[str, str] | None = None) -> str:
    """The same by bash."""
    return started(base, ["bash", "-c", text], env)


LINES = {
    "waits for the workers first, with a count that the image sets": shell(
        MPI,
        "export NCCL_DEBUG=INFO\n"
        "until mpirun -np 2 -x LD_LIBRARY_PATH hostname; do sleep 5; done\n"
        "mpirun -np ${NP} --bind-to none -x NCCL_DEBUG ./reduce",
    ),
    "exec at the end of a script": shell(
        JOBSET, f"set -euo pipefail\nexec torchrun --nnodes=2 --nproc-per-node=8 {MEETING} t.py"
    ),
    "a login shell with a function": started(
        JOBSET,
        [
            "bash",
            "-lc",
            f'main() {{\n  local n=8\n  torchrun --nnodes 2 --nproc_per_node $n {MEETING} t.py "$@"\n}}\nmain --lr 1e-4',
        ],
    ),
    "a default for a variable that nobody sets": shell(
        JOBSET, f"torchrun --nnodes=${{NNODES:-2}} --nproc-per-node=${{NPROC:-8}} {MEETING} t.py"
    ),
    "a variable of the image": shell(
        JOBSET, f"torchrun --nnodes=$NODES --nproc-per-node=$GPUS_PER_NODE {MEETING} t.py"
    ),
    "counts from the env list": shell(
        JOBSET, f"torchrun --nnodes=$N --nproc-per-node=$G {MEETING} t.py", {"N": "2", "G": "8"}
    ),
    "a heredoc that makes the program": shell(
        JOBSET,
        f"cat > /tmp/t.py <<'EOF'\nimport os\nprint(os.environ['RANK'], \"$RANK --node-rank=0\")\nEOF\ntorchrun --nnodes=2 --nproc-per-node=8 {MEETING} /tmp/t.py",
    ),
    "GPUs counted on the node": shell(
        JOBSET, f"torchrun --nnodes=2 --nproc-per-node=$(nvidia-smi -L | wc -l) {MEETING} t.py"
    ),
    "all GPUs by torchrun itself": started(
        JOBSET,
        [
            "python3",
            "-u",
            "-m",
            "torch.distributed.run",
            "--nnodes=2",
            "--nproc_per_node=gpu",
            *MEETING.split(),
            "t.py",
        ],
    ),
    "the index as the node's rank": shell(
        JOBSET,
        f"torchrun --nnodes=2 --nproc-per-node=8 --node-rank=$JOB_COMPLETION_INDEX --master-addr={HEAD} --master-port=29400 t.py",
    ),
    "the index by Kubernetes' own form": started(
        JOBSET,
        [
            "torchrun",
            "--nnodes=2",
            "--nproc-per-node=8",
            "--node-rank=$(JOB_COMPLETION_INDEX)",
            f"--master-addr={HEAD}",
            "--master-port=29400",
            "t.py",
        ],
    ),
    "accelerate with all that it asks": shell(
        JOBSET,
        f"accelerate launch --multi_gpu --mixed_precision bf16 --num_machines 2 --num_processes 16 --machine_rank $JOB_COMPLETION_INDEX --main_process_ip {HEAD} --main_process_port 29400 t.py --bs 4",
    ),
    "accelerate with a file out of view": shell(
        JOBSET, "accelerate launch --config_file /cfg/fsdp.yaml --machine_rank $JOB_COMPLETION_INDEX t.py"
    ),
    "a profiler around the launcher": shell(
        JOBSET, f"nsys profile -o /out/r_%h -t cuda,nvtx torchrun --nnodes=2 --nproc-per-node=8 {MEETING} t.py"
    ),
    "a test beside the training": shell(
        JOBSET, f"nvidia-smi; ibv_devinfo || true; sleep 5; torchrun --nnodes=2 --nproc-per-node=8 {MEETING} t.py"
    ),
    "one that names the first pod otherwise than the rest": shell(
        SET,
        'if [ "${HOSTNAME##*-}" = 0 ]; then R=0; else R=${HOSTNAME##*-}; fi\ntorchrun --nnodes=2 --nproc-per-node=8 --node-rank=$R --master-addr=engine-0.engine --master-port=29400 serve.py',
    ),
    "branches with a rank each": shell(
        SET,
        "case $HOSTNAME in\n engine-0) torchrun --nnodes=2 --nproc-per-node=8 --node-rank=0 --master-addr=engine-0.engine --master-port=29400 s.py ;;\n *) torchrun --nnodes=2 --nproc-per-node=8 --node-rank=1 --master-addr=engine-0.engine --master-port=29400 s.py ;;\nesac",
    ),
    "vllm over both pods": shell(
        SET,
        "vllm serve /models/m -tp 8 -pp 2 --nnodes 2 --node-rank ${HOSTNAME##*-} --master-addr engine-0.engine $([ ${HOSTNAME##*-} = 0 ] || echo --headless)",
    ),
    "vllm by Ray, a leader and workers in one text": shell(
        GROUP,
        "if [ $LWS_WORKER_INDEX = 0 ]; then ray start --head --port=6379; vllm serve m --tensor-parallel-size 8 --pipeline-parallel-size 2; else ray start --address=$LWS_LEADER_ADDRESS:6379 --block; fi",
    ),
    "vllm's own script for a group": shell(
        GROUP,
        "bash /vllm-workspace/examples/multi-node-serving.sh leader --ray_cluster_size=$(LWS_GROUP_SIZE); vllm serve m -tp 8 -pp 2",
    ),
    "sglang over a group": started(
        GROUP,
        [
            "python3",
            "-m",
            "sglang.launch_server",
            "--model-path",
            "/m",
            "--tp",
            "16",
            "--dist-init-addr",
            "$(LWS_LEADER_ADDRESS):20000",
            "--nnodes",
            "$(LWS_GROUP_SIZE)",
            "--node-rank",
            "$(LWS_WORKER_INDEX)",
            "--trust-remote-code",
        ],
    ),
    "sglang in a shell": shell(
        GROUP,
        "sglang serve --model-path /m --tp-size 8 --pp-size 2 --nnodes=$LWS_GROUP_SIZE --node-rank=$LWS_WORKER_INDEX --dist-init-addr=$LWS_LEADER_ADDRESS:20000",
    ),
    "data parallel attention": shell(
        GROUP,
        "python -m sglang.launch_server --model-path /m --tp 16 --dp 16 --enable-dp-attention --nnodes 2 --node-rank $LWS_WORKER_INDEX --dist-init-addr $LWS_LEADER_ADDRESS:5000",
    ),
    "torchrun in a group": shell(
        GROUP,
        "torchrun --nnodes=$LWS_GROUP_SIZE --nproc-per-node=8 --node-rank=$LWS_WORKER_INDEX --master-addr=$LWS_LEADER_ADDRESS --master-port=29500 serve.py",
    ),
    "each pod serves by itself": shell(GROUP, "vllm serve m --tensor-parallel-size 8"),
    "variables that a PyTorchJob sets": shell(
        PYTORCH,
        "torchrun --nnodes=$PET_NNODES --nproc-per-node=8 --node-rank=$RANK --master-addr=$MASTER_ADDR --master-port=$MASTER_PORT t.py",
    ),
    "nothing but the script": started(PYTORCH, ["torchrun", "t.py", "--config", "c.yaml"]),
    "accelerate in a PyTorchJob": shell(
        PYTORCH,
        "accelerate launch --num_machines 4 --num_processes 32 --machine_rank $RANK --main_process_ip $MASTER_ADDR --main_process_port $MASTER_PORT t.py",
    ),
    "a script that reads RANK": started(PYTORCH, ["python", "t.py", "--rank", "$(RANK)", "--world-size=$(WORLD_SIZE)"]),
    "elastic Workers by hand": started(
        WORKERS,
        [
            "torchrun",
            "--nnodes=1:3",
            "--nproc-per-node=1",
            "--max-restarts=3",
            "--rdzv-id=stars",
            "--rdzv-backend=c10d",
            "--rdzv-endpoint=stars-worker-0:29400",
            "m.py",
        ],
    ),
    "the first test of every cluster": started(
        MPI,
        [
            "mpirun",
            "--allow-run-as-root",
            "-np",
            "2",
            "-N",
            "1",
            "-x",
            "NCCL_DEBUG=INFO",
            "-x",
            "LD_LIBRARY_PATH",
            "--mca",
            "btl_tcp_if_include",
            "eth0",
            "--bind-to",
            "none",
            "/opt/nccl-tests/all_reduce_perf",
            "-b",
            "8",
            "-e",
            "1G",
            "-f",
            "2",
            "-g",
            "1",
        ],
    ),
    "a hostfile that is made first": shell(
        MPI,
        "awk '{print $1\" slots=1\"}' /etc/mpi/hostfile > /tmp/h; mpirun --allow-run-as-root --hostfile /tmp/h -np 2 ./reduce",
    ),
    "mpirun waits for names": shell(
        MPI,
        "for h in $(cut -d' ' -f1 /etc/mpi/hostfile); do until ssh -o StrictHostKeyChecking=no $h true; do sleep 2; done; done\nmpirun --allow-run-as-root -np 2 ./reduce",
    ),
    "ranks that are shells": started(
        MPI,
        [
            "mpirun",
            "--allow-run-as-root",
            "-np",
            "2",
            "bash",
            "-c",
            "source /opt/env.sh && python t.py --local $OMPI_COMM_WORLD_LOCAL_RANK",
        ],
    ),
    "deepspeed by the operator's hostfile": started(
        MPI, ["deepspeed", "--hostfile", "/etc/mpi/hostfile", "--no_ssh_check", "t.py", "--deepspeed", "ds.json"]
    ),
    "horovodrun by hosts": started(
        MPI, ["horovodrun", "-np", "2", "-H", "reduce-worker-0.reduce:1,reduce-worker-1.reduce:1", "python", "t.py"]
    ),
    "hydra by node": started(MPI, ["mpiexec.hydra", "-ppn", "1", "-n", "2", "-genv", "NCCL_DEBUG", "INFO", "./reduce"]),
    "ranks of an MPIJob without sshd": started(
        EXEC, ["mpirun", "-np", "2", "-bind-to", "none", "-map-by", "slot", "-x", "NCCL_DEBUG", "./tides"]
    ),
    "hosts in Volcano's file": shell(
        VOLCANO_MPI,
        "N=$(wc -l < /etc/volcano/rank.host); mpirun --allow-run-as-root --hostfile /etc/volcano/rank.host -np $N ./tides",
    ),
    "Volcano's index as rank": shell(
        VOLCANO,
        "torchrun --nnodes=$VC_RANK_NUM --nproc-per-node=8 --node-rank=$VC_TASK_INDEX --master-addr=${VC_RANK_HOSTS%%,*} --master-port=29400 t.py",
    ),
    "Trainer's own variables": shell(TRAINER, "echo $PET_NNODES; torchrun --nproc-per-node=8 t.py"),
    "deepspeed's ranks by torchrun in a TrainJob": started(TRAINER, ["torchrun", "t.py", "--deepspeed", "ds.json"]),
    "a NeMo script": started(
        TRAINER,
        [
            "bash",
            "-c",
            "cd /opt/NeMo && torchrun $(echo --nproc-per-node=8) examples/pretrain.py trainer.num_nodes=2 trainer.devices=8 exp_dir=${OUT}",
        ],
    ),
    "Hydra's own interpolation": started(
        JOBSET,
        [
            "torchrun",
            "--nnodes=2",
            "--nproc-per-node=8",
            *MEETING.split(),
            "t.py",
            "dir=${hydra.runtime.output_dir}",
            "'+x=$y'",
        ],
    ),
    "jax by its own variables": shell(
        JAX, "python fold.py --coordinator=$COORDINATOR_ADDRESS:$COORDINATOR_PORT --n=$NUM_PROCESSES --id=$PROCESS_ID"
    ),
    "an Indexed Job": shell(
        INDEXED,
        "export MASTER_ADDR=stars-0.stars MASTER_PORT=29500\ntorchrun --nnodes=2 --nproc-per-node=1 --node-rank=$JOB_COMPLETION_INDEX --master-addr=$MASTER_ADDR --master-port=$MASTER_PORT map.py",
    ),
    "shards that do not meet": started(
        INDEXED, ["torchrun", "--nproc-per-node=1", "map.py", "--shard=$(JOB_COMPLETION_INDEX)"]
    ),
    "trtllm under mpirun": started(
        MPI,
        ["mpirun", "--allow-run-as-root", "-np", "2", "trtllm-llmapi-launch", "trtllm-serve", "/m", "--tp_size", "2"],
    ),
    "srun in a pod of a Slurm cluster": shell(
        JOBSET, "srun -N2 --ntasks-per-node=8 --mpi=pmix bash -c 'python t.py --rank $SLURM_PROCID'"
    ),
    "a conda environment": shell(
        JOBSET,
        f"source /opt/conda/etc/profile.d/conda.sh && conda activate t && torchrun --nnodes=2 --nproc-per-node=8 {MEETING} t.py",
    ),
    "one that is written to a file and then run": shell(
        JOBSET,
        f"cat <<EOF > /tmp/run.sh\nexport NCCL_DEBUG=INFO\ntorchrun --nnodes=2 --nproc-per-node=8 {MEETING} t.py\nEOF\nchmod +x /tmp/run.sh\nbash /tmp/run.sh",
    ),
    "logs through tee": shell(
        JOBSET, f"torchrun --nnodes=2 --nproc-per-node=8 {MEETING} t.py 2>&1 | tee /logs/$HOSTNAME.log"
    ),
    "tries again": shell(
        JOBSET, f"for i in 1 2 3; do torchrun --nnodes=2 --nproc-per-node=8 {MEETING} t.py && break; sleep 10; done"
    ),
}


@pytest.mark.parametrize("text", LINES.values(), ids=LINES.keys())
def test_a_right_command_line_is_left_alone(text: str) -> None:
    assert found(text) == []


def test_there_are_fifty_of_them() -> None:
    assert len(LINES) >= 50

"""Where the rules on the ranks' variables must say nothing, or no more than a note."""

from __future__ import annotations

from pathlib import Path

import pytest

from fabriclint.assemble import assemble
from fabriclint.config import Settings
from fabriclint.engine import lint
from fabriclint.report.model import ReportOptions

BASES = Path(__file__).parent.parent / "bases"


def found(text: str) -> list[tuple[str, str]]:
    """(code, severity) of what the rules say, notes too."""
    settings = Settings(isolated=True, select=("RUN009", "RUN017", "RUN021"))
    result = lint([], settings, stdin=("job.yaml", text.encode()))
    assert not [n for n in result.notes if n.code == "internal-error"], result.notes
    return [(f.code, str(f.severity)) for f in assemble(result, settings, ReportOptions()).findings]


def mpi(command: str, *changes: tuple[str, str], name: str = "NCCL_ALGO", value: str = "Ring") -> str:
    """The MPIJob with another command of the launcher and a variable in the launcher's env."""
    text = (BASES / "run-mpijob.yaml").read_text()
    at = " " * 14
    env = f"command: {command}\n{at}env:\n{at}  - name: {name}\n{at}    value: {value}"
    for old, new in (('command: [mpirun, -np, "2", ./reduce]', env), *changes):
        assert old in text, old
        text = text.replace(old, new)
    return text


def pytorch(name: str, value: str, *changes: tuple[str, str]) -> str:
    """The PyTorchJob with a variable in both roles; `value` is the entry's own YAML behind the name."""
    text = (BASES / "run-pytorchjob.yaml").read_text()
    at = " " * 14
    env = f"command: [torchrun, train.py]\n{at}env:\n{at}  - name: {name}\n{at}    {value}"
    for old, new in (("command: [torchrun, train.py]", env), *changes):
        assert old in text, old
        text = text.replace(old, new)
    return text


def worker_env(command: str, *changes: tuple[str, str]) -> str:
    """The MPIJob with another command of the launcher and a variable in the workers' env."""
    text = (BASES / "run-mpijob.yaml").read_text()
    at = " " * 14
    own = f"- name: worker\n{at}env:\n{at}  - name: NCCL_ALGO\n{at}    value: Ring\n"
    for old, new in (
        ('command: [mpirun, -np, "2", ./reduce]', f"command: {command}"),
        ("- name: worker\n", own),
        *changes,
    ):
        assert old in text, old
        text = text.replace(old, new)
    return text


def lws(command: str, *changes: tuple[str, str]) -> str:
    """The LeaderWorkerSet with another start of its leader and a variable in the leader's env."""
    text = (BASES / "run-lws-mpi.yaml").read_text()
    start = next(line for line in text.splitlines() if "mpirun" in line)
    at = " " * 12
    made = f"{at}{command}\n{at}env:\n{at}  - name: NCCL_ALGO\n{at}    value: Tree"
    for old, new in ((start, made), *changes):
        assert old in text, old
        text = text.replace(old, new)
    return text


OPEN = "mpirun, --allow-run-as-root, -np, '2'"
WORKER = ("- name: worker\n", "- name: worker\n              command: {}\n")
SILENT = {
    "named by -x": mpi(f"[{OPEN}, -x, NCCL_ALGO, ./reduce]"),
    "given by -x": mpi(f"[{OPEN}, -x, NCCL_ALGO=Tree, ./reduce]"),
    "in Open MPI's own list": mpi(f"[{OPEN}, --mca, mca_base_env_list, 'NCCL_ALGO;PATH', ./reduce]"),
    "by a pattern that one release takes": mpi(f"[{OPEN}, -x, 'NCCL_*', ./reduce]"),
    "hydra": mpi("[mpiexec.hydra, -np, '2', ./reduce]"),
    "an mpirun for which the operator prepares two makes": mpi(
        "[mpirun, -np, '2', ./reduce]", ("kubeflow.org/v2beta1", "kubeflow.org/v1")
    ),
    "the workers' own env without sshd": worker_env("[mpirun, -np, '2', ./reduce]", ("v2beta1", "v1")),
    "an implementation that is filled in": mpi(
        "[mpirun, -np, '2', ./reduce]", ("slotsPerWorker: 1", 'mpiImplementation: "{{ make }}"')
    ),
    "Intel's mpirun": mpi("[mpirun, -np, '2', ./reduce]", ("slotsPerWorker: 1", "mpiImplementation: Intel")),
    "MPICH's mpirun": mpi("[mpirun, -np, '2', ./reduce]", ("slotsPerWorker: 1", "mpiImplementation: MPICH")),
    "a list of names in the launcher's env": mpi(
        "[mpirun, -np, '2', ./reduce]",
        ("value: Ring", f"value: Ring\n{' ' * 16}- name: OMPI_MCA_mca_base_env_list\n{' ' * 18}value: NCCL_ALGO"),
    ),
    "a launcher whose env is not in view": mpi(
        "[mpirun, -np, '2', ./reduce]", ("env:\n", f"envFrom: [{{configMapRef: {{name: more}}}}]\n{' ' * 14}env:\n")
    ),
    "given by -x, and left on the workers": worker_env("[mpirun, -np, '2', -x, NCCL_ALGO=Ring, ./reduce]"),
    "handed on by Intel's from the launcher's env": worker_env(
        "[mpirun, -np, '2', ./reduce]",
        ("slotsPerWorker: 1", "mpiImplementation: Intel"),
        ("command: [mpirun", f"env: [{{name: NCCL_ALGO, value: Ring}}]\n{' ' * 14}command: [mpirun"),
    ),
    "workers that start by a script": worker_env(
        "[mpirun, -np, '2', ./reduce]", ("- name: worker\n", f"- name: worker\n{' ' * 14}command: [/opt/worker.sh]\n")
    ),
    "workers that hand their env to sshd": worker_env(
        "[mpirun, -np, '2', ./reduce]",
        (
            "- name: worker\n",
            f"- name: worker\n{' ' * 14}command: [sh, -c, 'env >> /etc/environment; exec /usr/sbin/sshd -De']\n",
        ),
    ),
    "a launcher whose program is not seen, beside the workers' env": worker_env("[/opt/go.sh]"),
    "an mpirun that stays in its pod": lws("command: [mpirun, --allow-run-as-root, -np, '1', ./serve]"),
    "a group whose workers set it in their start": lws(
        "command: [mpirun, --allow-run-as-root, -np, '2', ./serve]",
        ("command: [/usr/sbin/sshd, -D]", "command: [sh, -c, 'export NCCL_ALGO=Ring; ./agent']"),
    ),
    "a group whose workers' image decides": lws(
        "command: [mpirun, --allow-run-as-root, -np, '2', ./serve]",
        ("command: [/usr/sbin/sshd, -D]", "env: [{name: NCCL_ALGO, value: Ring}]"),
    ),
    "options that are not seen": mpi("[bash, -c, 'mpirun --allow-run-as-root $(cat options) -np 2 ./reduce']"),
    "a script that is not seen": mpi("[/opt/run.sh]"),
    "the launcher's own variable": mpi(f"[{OPEN}, ./reduce]", name="OMP_NUM_THREADS", value="'4'"),
    "set for the ranks behind mpirun": mpi(f"[{OPEN}, env, NCCL_ALGO=Ring, ./reduce]"),
    "one pod": mpi(f"[{OPEN}, ./reduce]", ("replicas: 2", "replicas: 1")),
    "set where the workers start": mpi(
        f"[{OPEN}, ./reduce]",
        (WORKER[0], WORKER[1].format("[bash, -c, 'echo NCCL_ALGO=Ring >> /etc/environment; /usr/sbin/sshd -D']")),
    ),
    "the controller's own value": pytorch("MASTER_PORT", 'value: "23456"'),
    "a name that no controller sets": pytorch("NCCL_DEBUG", "value: INFO"),
    "an address that nobody sets here": pytorch("MAIN_ADDR", "value: captions-master-0"),
    "transports of a network": pytorch("UCX_TLS", "value: 'self,sm,tcp'"),
    "transports that are left out": pytorch("UCX_TLS", "value: ^sm"),
    "all transports": pytorch("UCX_TLS", "value: all"),
    "an open list": pytorch("UCX_TLS", 'value: "{{ tls }}"'),
    "one node": pytorch("UCX_TLS", "value: sm").split("    Worker:")[0],
    "mpirun does not hand it on": mpi(f"[{OPEN}, ./reduce]", name="UCX_TLS", value="sm"),
}


@pytest.mark.parametrize("text", SILENT.values(), ids=SILENT.keys())
def test_nothing_is_said_of(text: str) -> None:
    assert found(text) == []


def test_two_names_in_one_option_hand_on_neither() -> None:
    assert found(mpi(f"[{OPEN}, -x, 'NCCL_ALGO,NCCL_DEBUG', ./reduce]")) == [("RUN009", "warning")]


@pytest.mark.parametrize(
    "text",
    [
        mpi("[mpirun, -np, '2', ./reduce]"),
        mpi(f"[{OPEN}, ./reduce]", ("v2beta1", "v1")),
        worker_env("[mpirun, -np, '2', ./reduce]"),
        worker_env("[mpirun, -np, '2', ./reduce]", ("slotsPerWorker: 1", "mpiImplementation: MPICH")),
        worker_env(
            "[mpirun, -np, '2', ./reduce]",
            ("- name: worker\n", f"- name: worker\n{' ' * 14}command: [/usr/sbin/sshd, -De]\n"),
        ),
        lws("command: [mpirun, --allow-run-as-root, -np, '2', ./serve]"),
    ],
)
def test_what_the_ranks_do_not_get_is_said_once(text: str) -> None:
    assert found(text) == [("RUN009", "warning")]


def test_the_same_name_on_launcher_and_workers_is_one_finding() -> None:
    text = mpi(
        "[mpirun, -np, '2', ./reduce]",
        ("- name: worker\n", f"- name: worker\n{' ' * 14}env: [{{name: NCCL_ALGO, value: Ring}}]\n"),
    )
    assert found(text) == [("RUN009", "warning")]


def test_a_value_that_is_not_known_is_a_note() -> None:
    text = pytorch("MASTER_ADDR", "valueFrom: {fieldRef: {fieldPath: status.podIP}}")
    assert found(text) == [("RUN017", "note")]


def test_a_variable_on_which_nothing_hangs_is_a_note() -> None:
    assert found(pytorch("PYTHONUNBUFFERED", 'value: "0"')) == [("RUN017", "note")]


def test_where_the_file_wins_each_pod_gets_the_same() -> None:
    text = (BASES / "run-jobset.yaml").read_text()
    at = " " * 18
    env = f"{at}env:\n{at}  - name: JOB_COMPLETION_INDEX\n{at}    value: '0'\n"
    text = text.replace(f"{at}resources:", f"{env}{at}resources:")
    assert found(text) == [("RUN017", "note")]

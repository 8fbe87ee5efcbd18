"""The environment of the ranks: of the pod, of its start text, or of the launcher that starts them."""

from __future__ import annotations

import pytest

from fabriclint.config import Settings
from fabriclint.engine import lint
from fabriclint.node import UNKNOWN
from fabriclint.pod import Environment

MPIJOB = """\
apiVersion: kubeflow.org/{version}
kind: MPIJob
metadata: {{name: train}}
spec:
  mpiReplicaSpecs:
    Launcher:
      replicas: 1
      template:
        spec:
          containers:
            - name: launcher
              image: registry.example/train:1
              command: {command}
              env:
                - {{name: NCCL_DEBUG, value: WARN}}
                - {{name: NCCL_NET, value: Socket}}
    Worker:
      replicas: 2
      template:
        spec:
          containers:
            - name: worker
              image: registry.example/train:1
              command: {start}
              env:
                - {{name: FI_PROVIDER, value: tcp}}
              resources:
                limits: {{nvidia.com/gpu: 8}}
"""
OPEN = "[mpirun, --allow-run-as-root, -x, NCCL_DEBUG, -x, FI_EFA_FORK_SAFE=1, python, train.py]"


def ranks(command: str, version: str = "v2beta1", start: str = "[/usr/sbin/sshd, -D]") -> Environment:
    text = MPIJOB.format(version=version, command=command, start=start)
    result = lint([], Settings(isolated=True), stdin=("job.yaml", text.encode()))
    (worker,) = result.jobs[0].workers
    return worker.ranks_env


def values(environment: Environment) -> dict[str, object]:
    return {n: v.value for n, v in environment.variables.items()}


def test_over_ssh_the_ranks_see_what_mpirun_hands_on_and_nothing_of_their_pod() -> None:
    assert values(ranks(OPEN)) == {"NCCL_DEBUG": "WARN", "FI_EFA_FORK_SAFE": "1"}


def test_a_name_without_a_value_leads_to_the_launchers_own_line() -> None:
    variable = ranks(OPEN).get("NCCL_DEBUG")
    assert variable is not None
    assert variable.place.node.route[-3:] == ("env", 0, "value")


def test_over_exec_the_ranks_have_their_pods_env_too() -> None:
    assert values(ranks(OPEN, "v1"))["FI_PROVIDER"] == "tcp"


def test_a_worker_that_writes_its_env_for_sshd_hands_it_on() -> None:
    made = ranks(OPEN, start="[bash, -c, 'env >> /etc/environment; /usr/sbin/sshd -D']")
    assert values(made)["FI_PROVIDER"] == "tcp"


def test_hydra_hands_the_launchers_whole_env_on() -> None:
    made = ranks("[mpiexec.hydra, -genv, FI_PROVIDER, efa, -n, '16', python, train.py]")
    assert values(made) == {"NCCL_DEBUG": "WARN", "NCCL_NET": "Socket", "FI_PROVIDER": "efa"}


@pytest.mark.parametrize("command", ["[bash, /run.sh]", "[mpirun, -n, '16', python, train.py]"])
def test_what_a_script_or_an_unknown_mpirun_hands_on_is_open(command: str) -> None:
    assert ranks(command).value("NCCL_NET") is UNKNOWN


def test_an_unset_name_under_set_u_may_be_the_images_own() -> None:
    text = "bash, -c, 'set -euo pipefail; cd $WORKDIR; export NCCL_NET=Socket; mpirun -x NCCL_NET=IB python train.py'"
    assert values(ranks(f"[{text}]"))["NCCL_NET"] == "IB"

"""What RUN023 says nothing of: commands that leave room for sshd and Ray, or of which that cannot be told."""

from __future__ import annotations

import pytest
from example import whole

from fabriclint.assemble import assemble
from fabriclint.config import Settings
from fabriclint.engine import lint
from fabriclint.report.model import ReportOptions

WORKER = ["@@ Worker:", "- - name: worker", "+ - name: worker"]
LAUNCHER = '- command: [mpirun, -np, "2", ./reduce]'
SLEEPS = [*WORKER, "+   command: [sleep, infinity]"]
RAY = ["@@ workerGroupSpecs", "- - name: worker", "+ - name: worker"]


def said(base: str, *lines: str) -> list[str]:
    made = Settings(isolated=True, select=("RUN023",))
    text = whole(f"({base})", "\n".join(lines)).text
    result = lint([], made, stdin=("job.yaml", text.encode()))
    assert not [n for n in result.notes if n.code == "internal-error"], result.notes
    return [f.code for f in assemble(result, made, ReportOptions()).findings]


@pytest.mark.parametrize(
    "lines",
    [
        [*WORKER, "+   command: [bash, /opt/worker.sh]"],
        [*WORKER, "+   command: [bash, -c, 'service ssh start; sleep infinity']"],
        [*WORKER, "+   command: [bash, -c, '/opt/prepare && sleep infinity']"],
        [*WORKER, "+   command: [bash, -c, 'source /opt/env; sleep infinity']"],
        [*WORKER, "+   command: [python, serve.py]"],
        [*WORKER, '+   command: ["{{ worker }}"]'],
        [*WORKER, "+   command: [sleep, infinity]", "+   lifecycle: {postStart: {exec: {command: [/usr/sbin/sshd]}}}"],
        [
            *WORKER,
            "+   command: [sleep, infinity]",
            "+ - name: ssh",
            "+   image: s",
            "+   command: [/usr/sbin/sshd, -D]",
        ],
        ["@@ Worker:", "~ replicas: 2 => replicas: 0", *SLEEPS[1:]],
        [LAUNCHER, "+ command: [sleep, infinity]", *SLEEPS],
        [LAUNCHER, "+ command: [/opt/go.sh]", *SLEEPS],
        [LAUNCHER, "+ command: [python, drive.py]", *SLEEPS],
        [LAUNCHER, '+ command: [mpirun, --mca, plm_rsh_agent, /opt/agent, -np, "2", ./reduce]', *SLEEPS],
        [
            LAUNCHER,
            '+ command: [mpirun, -np, "2", ./reduce]',
            "+ env: [{name: OMPI_MCA_plm_rsh_agent, value: /opt/agent}]",
            *SLEEPS,
        ],
    ],
    ids=[
        "a script",
        "ssh as a service",
        "a program before that is not known",
        "a file that is read in",
        "a program of the user's own",
        "a command that a template fills in",
        "sshd in a hook",
        "sshd in a sidecar",
        "no workers",
        "a launcher that waits too",
        "a launcher whose script is not seen",
        "a launcher that is no mpirun",
        "an agent of the user's own",
        "an agent in the environment",
    ],
)
def test_nothing_is_said_of_an_mpi_worker(lines: list[str]) -> None:
    assert said("run-mpijob", *lines) == []


LEADER = '-H, "poems-0.poems,poems-0-1.poems"'
REST = "~ [/usr/sbin/sshd, -D] => [sleep, infinity]"


@pytest.mark.parametrize(
    ("base", "lines"),
    [
        ("run-lws-mpi", [f"~ {LEADER} => --hostfile, /data/hosts", REST]),
        ("run-lws-mpi", [f'~ {LEADER} => -H, "other-0.other,other-1.other"', REST]),
        ("run-lws-mpi", [f'~ {LEADER} => -H, "{{{{ hosts }}}}"', REST]),
        ("run-lws-mpi", [f"~ {LEADER} => --mca, plm_rsh_agent, /opt/agent, {LEADER}", REST]),
        ("run-lws-mpi", ["~ size: 2 => size: 1", REST]),
        ("run-lws-mpi", ["~ [/usr/sbin/sshd, -D] => [/opt/wait.sh]"]),
        ("run-volcano-mpi", ["@@ name: rank", "- command: ...", "+ command: [/opt/rank.sh]"]),
        ("run-mpijob-exec", [*WORKER, "+   command: [sleep, infinity]"]),
        ("trainer-mpi", ["- command: [/usr/sbin/sshd, ...]", "+ command: [bash, -c, '/usr/sbin/sshd; sleep 9d']"]),
        (
            "run-jobset-mpi",
            ['~ mpirun, => "{{ launcher }}",', "- command: [/usr/sbin/sshd, -D]", "+ command: [sleep, 9d]"],
        ),
    ],
    ids=[
        "hosts from a file of the user's own",
        "hosts of another object",
        "hosts that are filled in later",
        "an agent of the leader's own",
        "a group of one",
        "a script in the rest of the group",
        "a script in a task",
        "a job without sshd",
        "sshd before the wait",
        "a launcher that is filled in later",
    ],
)
def test_nothing_is_said_of_pods_that_wait(base: str, lines: list[str]) -> None:
    assert said(base, *lines) == []


@pytest.mark.parametrize(
    "lines",
    [
        [*RAY, "+   command: [bash, -c, tail -f /dev/null]"],
        [*RAY, "+   command: [sleep, '30']"],
        [*RAY, "+   args: ['sleep infinity &']"],
        [*RAY, "+   args: ['if [ -e /data/stay ]; then sleep infinity; fi']"],
        [*RAY, "+   command: [/opt/prepare.sh]"],
        [*RAY, '+   command: [sleep, "{{ time }}"]'],
        [*RAY, "+   command: [ray start --block --address=search-head-svc:6379]"],
        [
            "@@ metadata:",
            "+   annotations: {ray.io/overwrite-container-cmd: 'true'}",
            *RAY,
            "+   command: [sleep, inf]",
        ],
        [
            "@@ workerGroupSpecs",
            "@@ containers:",
            "+   - name: worker",
            "+     image: r",
            "@@ - name",
            "+   args: [sleep, inf]",
        ],
    ],
    ids=[
        "a shell whose words lose their quotes",
        "a sleep that ends",
        "a sleep in the background",
        "a sleep that hangs on the node",
        "a script",
        "a time that a template fills in",
        "ray start by hand",
        "an annotation",
        "a sidecar behind Ray",
    ],
)
def test_nothing_is_said_of_a_ray_pod(lines: list[str]) -> None:
    assert said("run-raycluster", *lines) == []


@pytest.mark.parametrize(
    ("base", "lines"),
    [
        ("run-mpijob", SLEEPS),
        ("run-raycluster", [*RAY, "+   command: [/opt/prepare.sh, '&&', sleep, inf]"]),
        ("run-raycluster", [*RAY, "+   command: [/usr/sbin/sshd, -D]"]),
    ],
)
def test_what_keeps_sshd_or_ray_away_is_found(base: str, lines: list[str]) -> None:
    assert said(base, *lines) == ["RUN023"]

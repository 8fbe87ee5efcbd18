"""What the real shells, launchers and the kubelet did with texts, against what the reader says."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest

from fabriclint.launch import Certainty, Launch, Launcher, read_launch
from fabriclint.launch.expansion import build, expand
from fabriclint.launch.word import HOLE
from fabriclint.node import UNKNOWN

_DATA = Path(__file__).parent.parent / "data" / "launch"
_BASE = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": "/root"}
_PROGRAMS = ["torchrun", "failing", "python", "mpirun", "ray", "vllm", "accelerate", "ssh", "sudo", "nsys"]


def rows(name: str) -> list[list[str]]:
    """The rows of a table without its header."""
    lines = (_DATA / f"{name}.tsv").read_text("utf-8").splitlines()[1:]
    return [line.split("\t") for line in lines]


def started(launch: Launch, environment: dict[str, str]) -> list[str]:
    """The programs that were started, each with the variables that changed, in no order."""
    found = []
    for program in launch.programs:
        call = program.invocation
        if call.words[0].raw in _PROGRAMS:
            changed = {n: a.raw for n, a in call.environment.items() if a.raw not in (None, environment.get(n))}
            found.append(json.dumps([[w.raw for w in call.words], changed], sort_keys=True))
    return sorted(found)


@pytest.mark.parametrize("row", rows("shell"), ids=lambda r: r[0][:60])
def test_a_shell_starts_what_was_recorded(row: list[str]) -> None:
    argv, environment, wanted = (json.loads(cell) for cell in row)
    environment = {**_BASE, **environment}
    launch = read_launch(argv, environment.get, image_shell="dash")
    assert started(launch, environment) == sorted(json.dumps(w, sort_keys=True) for w in wanted)
    assert not launch.open


@pytest.mark.parametrize("row", rows("shell_open"), ids=lambda r: r[0][:60])
def test_a_shell_whose_result_depends_on_something_out_of_view_is_not_certain(row: list[str]) -> None:
    argv, environment = (json.loads(cell) for cell in row)
    launch = read_launch(argv, {**_BASE, **environment}.get, image_shell="dash")
    calls = [p.invocation for p in launch.programs if p.invocation.words[0].raw in _PROGRAMS]
    assert (
        launch.open
        or launch.unseen
        or any(c.certainty is not Certainty.CERTAIN or c.open_names for c in calls)
        or any(w.open or w.glob or HOLE in w.raw for c in calls for w in c.words)
        or any(HOLE in (a.raw or "") for c in calls for a in c.environment.values())
    )


def launcher(command: str, environment: dict[str, str]) -> tuple[Launch, Launcher]:
    """The outermost launcher of a command line."""
    launch = read_launch(shlex.split(command), environment.get)
    return launch, launch.programs[0].launchers[0]


def summary(one: Launcher) -> str:
    """nodes, processes per node, backend, rendezvous."""
    nodes = one.nodes.value
    return f"{nodes} {one.processes_per_node.value} {one.backend.value} {one.host.value}:{one.port.value}"


@pytest.mark.parametrize("row", rows("torchrun"), ids=lambda r: r[0][:70])
def test_torchrun_forms_the_group_that_was_recorded(row: list[str]) -> None:
    _, one = launcher(row[0], dict(e.split("=", 1) for e in row[1].split()))
    if row[2] == "refused":
        assert one.refused
        return
    assert not one.refused
    nodes, per_node, backend, meets, rank = row[2].split()
    low, high = (int(n) for n in nodes.split(":"))
    assert one.nodes.value == (low if low == high else (low, high))
    assert (one.backend.value, f"{one.host.value}:{one.port.value}") == (backend, meets)
    if per_node != "-":
        assert one.processes_per_node.value == int(per_node)
    assert one.node_rank.value == (None if rank == "-" else int(rank))


@pytest.mark.parametrize("row", rows("accelerate"), ids=lambda r: r[0][:70])
def test_accelerate_forms_the_group_that_was_recorded(row: list[str]) -> None:
    _, one = launcher(row[0], json.loads(row[1]) if row[1] else {})
    said, wanted = summary(one).split(), row[2].split()
    assert [s for s in said if s != str(UNKNOWN)] == [w for s, w in zip(said, wanted, strict=True) if s != str(UNKNOWN)]
    assert not one.refused


@pytest.mark.parametrize("row", rows("mpirun"), ids=lambda r: r[0][:70])
def test_mpirun_hands_on_what_was_recorded(row: list[str]) -> None:
    environment = json.loads(row[1])
    launch, one = launcher(row[0], environment)
    assert not one.refused
    assert one.processes.value in (int(row[2]), None, UNKNOWN)
    names = ("FOO", "NCCL_DEBUG", "FI_PROVIDER")
    got = {n: environment[n] for n in names} if one.forwards == "all" else {}
    for given in one.forwarded:
        value = environment.get(given.name) if given.value is None else given.value
        if given.works is True and value is not None:
            got[given.name] = value
    got.update({n: a.value for n, a in launch.programs[0].ranks.items()})
    assert "|".join(f"{n}={v}" for n, v in sorted(got.items())) == row[3].replace("-", "", len(row[3]) == 1)


@pytest.mark.parametrize("row", rows("engines"), ids=lambda r: r[0][:70])
def test_an_engine_needs_the_gpus_that_were_recorded(row: list[str]) -> None:
    _, one = launcher(row[0], {})
    assert one.gpus.value == int(row[1])


_STANDARD = [["A", "one"], ["B", "two"], ["E", ""], ["A_B", "ab"], ["A-B", "dash"], ["A.B", "dot"]]


@pytest.mark.parametrize("row", rows("kubernetes"), ids=lambda r: r[1])
def test_the_kubelet_expands_as_recorded(row: list[str]) -> None:
    env, argument, result = (json.loads(cell) for cell in row)
    values = build([], [(n, v) for n, v in (_STANDARD if env == "std" else env)])
    assert expand(argument, values.get).value == result


@pytest.mark.parametrize("row", rows("kubernetes_env"), ids=lambda r: r[1][:70])
def test_the_kubelet_builds_an_environment_as_recorded(row: list[str]) -> None:
    inherited, env, texts, (wanted, received) = (json.loads(cell) for cell in row)
    # What a field or a Secret gives is not in view.
    elsewhere = any(value is None for _, value in env)
    values = build([(n, v) for n, v in inherited], [(n, UNKNOWN if v is None else v) for n, v in env])
    assert set(values) == set(wanted)
    assert all(v == wanted[n] or (elsewhere and v is UNKNOWN) for n, v in values.items())
    got = [expand(text, values.get).value for text in texts]
    assert all(g == r or (elsewhere and g is UNKNOWN) for g, r in zip(got, received, strict=True))


def written(command: str, files: dict[str, str]) -> list[str]:
    """The words of a command, or a shell's text that writes files first."""
    if not files:
        return shlex.split(command)
    return ["bash", "-c", "".join(f"cat > {n} <<'END'\n{text}END\n" for n, text in files.items()) + command]


def facts(one: Launcher, environment: dict[str, str]) -> dict[str, object]:
    """What is known of a launcher, in the recordings' words."""
    said: dict[str, object] = {
        "nodes": one.nodes.value,
        "each": one.processes_per_node.value,
        "ranks": one.processes.value,
        "gpus": one.gpus.value,
        "hostfile": one.hostfile.value,
        "head": one.head,
        "program": [w.raw for w in one.inner],
    }
    if one.host.value is not None:
        said["address"] = f"{one.host.value}:{one.port.value}" if one.port.value is not None else one.host.value
    if one.hosts is not None:
        said["hosts"] = dict(one.hosts)
    if one.forwards in ("all", "listed"):
        names = {n for n in (*environment, "BAR") if n != "PATH"}
        got = {n: v for n, v in environment.items() if n in names} if one.forwards == "all" else {}
        for given in one.forwarded:
            value = environment.get(given.name) if given.value is None else given.value
            if given.works is True and value is not None and given.app == 0 and given.name in names:
                got[given.name] = str(value)
        said["env"] = got
    return {name: value for name, value in said.items() if value is not None and value is not UNKNOWN}


RECORDED = [(r[0], *(json.loads(c) if c else {} for c in r[1:])) for r in rows("launchers")]


@pytest.mark.parametrize(("command", "environment", "files", "wanted"), RECORDED, ids=[r[0][:80] for r in RECORDED])
def test_nothing_is_said_of_a_launcher_that_was_recorded_otherwise(
    command: str, environment: dict[str, str], files: dict[str, str], wanted: dict[str, object]
) -> None:
    main = read_launch(written(command, files), environment.get, image_shell="bash").main
    assert main is not None
    one = main.launchers[0]
    if wanted.get("refused"):
        assert one.refusals
        return
    assert not one.refused
    known = facts(one, environment)
    assert {n: v for n, v in known.items() if n in wanted and n != "env"} == {
        n: v for n, v in wanted.items() if n in known and n != "env"
    }
    seen = known.get("env")
    if isinstance(seen, dict) and "env" in wanted:
        assert {n: v for n, v in seen.items() if n in ("FOO", "BAR", "NCCL_DEBUG", "FI_PROVIDER")} == wanted["env"]


def test_most_of_what_was_recorded_is_known() -> None:
    told = known = 0
    for command, environment, files, wanted in RECORDED:
        main = read_launch(written(command, files), environment.get, image_shell="bash").main
        if main is not None and not wanted.get("refused"):
            told += len(wanted)
            known += len(facts(main.launchers[0], environment).keys() & wanted.keys())
    assert known >= 0.85 * told, f"{known} of {told}"

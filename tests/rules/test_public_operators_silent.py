"""What manifests of job operators in public taught: where nothing is to be said, and what is said in which words."""

from __future__ import annotations

from pathlib import Path

import pytest

from fabriclint.assemble import assemble
from fabriclint.config import Settings
from fabriclint.engine import lint
from fabriclint.report.model import ReportOptions

BASES = Path(__file__).parent.parent / "bases"


def told(text: str, *codes: str) -> list[tuple[str, str, int, str, str]]:
    """(code, severity, line, message, help) of what the rules of these codes say, notes too."""
    settings = Settings(isolated=True, select=codes)
    result = lint([], settings, stdin=("job.yaml", text.encode()))
    assert not [n for n in result.notes if n.code == "internal-error"], result.notes
    found = assemble(result, settings, ReportOptions()).findings
    return [(f.code, str(f.severity), f.region.line, f.message, f.help or "") for f in found]


def base(name: str, *changes: tuple[str, str]) -> str:
    """A base with parts of its text replaced."""
    text = (BASES / f"{name}.yaml").read_text()
    for old, new in changes:
        assert old in text, old
        text = text.replace(old, new)
    return text


def launcher(words: str) -> str:
    """The MPIJob whose mpirun has these words in front of its own."""
    return base("run-mpijob", ("[mpirun,", f"[mpirun, --allow-run-as-root, {words},"))


def env(name: str, value: str, more: str = "") -> str:
    """The JobSet with a variable, and variables above it."""
    listed = f"command: [python, forecast.py]\nenv:\n{more}  - name: {name}\n    value: {value}"
    old = "command: [python, forecast.py]"
    text = (BASES / "run-jobset.yaml").read_text()
    at = next(line.index(old) for line in text.split("\n") if old in line)
    return text.replace(old, listed.replace("\n", "\n" + " " * at))


WAYS = {
    "-bind-to": (launcher("-bind-to, none"), "RUN022", "Write '--bind-to', which all releases take."),
    "two options with one dash": (
        launcher("-bind-to, none, -map-by, slot"),
        "RUN022",
        "Write '--bind-to' and '--map-by', which all releases take.",
    ),
    "an option of sglang with underscores": (
        base("run-leaderworkerset", ("[serve-engine]", '[python3, -m, sglang.launch_server, --tp_size, "4"]')),
        "RUN022",
        "Write '--tp-size', which all releases take.",
    ),
    "torchrun's option with one dash": (
        base("run-jobset", ("[python, forecast.py]", "[torchrun, -nnodes=2, forecast.py]")),
        "RUN022",
        "Write '--nnodes'.",
    ),
    "a misspelt option of torchrun": (
        base("run-jobset", ("[python, forecast.py]", "[torchrun, --nproc_per_nodes=1, forecast.py]")),
        "RUN022",
        "Write '--nproc_per_node'.",
    ),
    "a token that whoever applies the file fills in": (
        env("HF_TOKEN", "${OUR_TOKEN}"),
        "RUN004",
        "Fill it in before the file is applied (envsubst), or define it in an entry above and write $(OUR_TOKEN).",
    ),
    "the image's PATH": (
        env("PATH", "/opt/bin:$PATH"),
        "RUN004",
        "Write the whole value, or put it together in the command, where a shell reads it.",
    ),
    "the image's PATH in the form of Kubernetes": (
        env("PATH", "/opt/bin:$(PATH)"),
        "RUN004",
        "Write the whole value, or put it together in the command, where a shell reads it.",
    ),
    "a variable that stands above": (
        env("CACHE", "${ROOT}/cache", "  - name: ROOT\n    value: /data\n"),
        "RUN004",
        "Write $(ROOT).",
    ),
    "a variable of each rank": (
        env("SHARD", "part-${OMPI_COMM_WORLD_RANK}"),
        "RUN004",
        "Put the value together in the command, where a shell reads it.",
    ),
}


@pytest.mark.parametrize(("text", "code", "way"), WAYS.values(), ids=WAYS.keys())
def test_the_way_out_says_what_to_write(text: str, code: str, way: str) -> None:
    assert [f[4] for f in told(text, code)] == [way]


def test_the_pods_of_a_job_without_roles_are_its_pods() -> None:
    text = base("pod-job", ("subdomain: train\n", "# none\n"))
    said = [f[3] for f in told(text, "RUN001")]
    assert len(said) == 1
    assert "and its pods have no subdomain" in said[0]


def grouped(name: str, path: str) -> str:
    """The LeaderWorkerSet with a variable from a field of the pod."""
    text = (BASES / "run-leaderworkerset.yaml").read_text()
    old = "command: [serve-engine]"
    at = next(line.index(old) for line in text.split("\n") if old in line)
    added = f'env:\n  - name: {name}\n    valueFrom: {{fieldRef: {{fieldPath: "{path}"}}}}'
    return text.replace(old, f"{old}\n{added}".replace("\n", "\n" + " " * at))


@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("LWS_WORKER_INDEX", "metadata.labels['leaderworkerset.sigs.k8s.io/worker-index']"),
        ("LWS_GROUP_SIZE", "metadata.annotations['leaderworkerset.sigs.k8s.io/size']"),
    ],
)
def test_the_controllers_own_value_by_a_field_is_no_news(name: str, path: str) -> None:
    assert told(grouped(name, path), "RUN017") == []


def test_another_field_in_the_place_of_the_controllers_value_is_a_note() -> None:
    said = told(grouped("LWS_WORKER_INDEX", "metadata.name"), "RUN017")
    assert {(f[0], f[1]) for f in said} == {("RUN017", "note")}


def pytorch(command: str, more: str = "") -> str:
    """The PyTorchJob with another command in its Master, and more of that container's own YAML."""
    text = (BASES / "run-pytorchjob.yaml").read_text()
    added = "".join(f"\n              {line}" for line in more.split("\n") if line)
    return text.replace("command: [torchrun, train.py]", f"command: {command}{added}", 1)


HOSTS_MAY_BE_THERE = {
    "a volume at its folder": pytorch(
        "[deepspeed, --hostfile=/etc/mpi/hostfile, train.py]", "volumeMounts:\n  - {name: hosts, mountPath: /etc/mpi}"
    ),
    "a volume above it": pytorch(
        "[deepspeed, --hostfile=/etc/mpi/hostfile, train.py]", "volumeMounts:\n  - {name: hosts, mountPath: /etc}"
    ),
    "mounts of a template": pytorch(
        "[deepspeed, --hostfile=/etc/mpi/hostfile, train.py]", "volumeMounts: '{{ mounts }}'"
    ),
    "the script writes it": pytorch(
        "[bash, -c, 'mkdir -p /etc/mpi; python hosts.py > /etc/mpi/hostfile; deepspeed --hostfile=/etc/mpi/hostfile train.py']"
    ),
    "a program of the user's own runs first": pytorch(
        "[bash, -c, './prepare.sh && deepspeed --hostfile=/etc/mpi/hostfile train.py']"
    ),
    "the image may bring a list of its own": pytorch("[deepspeed, --hostfile=/workspace/hostfile, train.py]"),
    "a path from a variable": pytorch("[bash, -c, 'deepspeed --hostfile=$HOSTS train.py']"),
    "the image's own program": pytorch("[torchrun, train.py]").replace("command: [torchrun", "args: [deepspeed", 1),
    "a hook writes it": pytorch(
        "[deepspeed, --hostfile=/etc/mpi/hostfile, train.py]",
        "lifecycle:\n  postStart:\n    exec: {command: [write-hosts, /etc/mpi]}",
    ),
    "deepspeed in the one master": pytorch("[deepspeed, train.py]"),
    "another launcher behind deepspeed": base(
        "run-pytorchjob", ("[torchrun, train.py]", "[deepspeed, --launcher=slurm, train.py]")
    ),
    "an MPIJob is given it": base(
        "run-mpijob", ("[mpirun,", "[deepspeed, --hostfile=/etc/mpi/hostfile, train.py]  # [")
    ),
    "an MPIJob's image may link deepspeed's own place to it": base(
        "run-mpijob", ("[mpirun,", "[deepspeed, train.py]  # [")
    ),
    "pods that serve each by themselves": base("run-statefulset", ("[torchrun,", "[deepspeed, serve.py]  # [")),
}


@pytest.mark.parametrize("text", HOSTS_MAY_BE_THERE.values(), ids=HOSTS_MAY_BE_THERE.keys())
def test_a_hostfile_that_may_be_there_is_no_fault(text: str) -> None:
    assert "deepspeed" in text
    assert [f for f in told(text, "RUN001") if f[1] != "note"] == []


def test_a_hostfile_that_no_controller_makes_is_told_with_the_way_out() -> None:
    ((_, severity, _, message, help),) = told(pytorch("[deepspeed, --hostfile, /etc/mpi/hostfile, train.py]"), "RUN001")
    assert severity == "warning"
    assert message.endswith("which only an MPIJob is given; it finds no file and starts ranks in its own pod alone.")
    assert help == "Start each pod's ranks with torchrun, which reads what the training-operator sets."


def test_several_nodes_without_hosts_end_deepspeed() -> None:
    said = told(pytorch("[deepspeed, --num_nodes=4, --hostfile=/etc/mpi/hostfile, train.py]"), "RUN001")
    assert [f[3].rpartition("; ")[2] for f in said] == ["it finds no file and ends."]


def test_a_field_that_a_later_operator_may_know_is_told_with_the_release_that_is_known() -> None:
    text = (BASES / "run-raycluster.yaml").read_text().replace("\nspec:\n", "\nspec:\n  quarantine: true\n", 1)
    ((*_, help),) = told(text, "DOC005")
    assert help.startswith("Remove the field, or write the one that was meant; the fields of kuberay v1.")


@pytest.mark.parametrize(("kind", "said"), [("run-mpijob", "in an MPIJob;"), ("run-jobset", "in a JobSet;")])
def test_a_kind_has_its_article(kind: str, said: str) -> None:
    text = (BASES / f"{kind}.yaml").read_text().replace("\nspec:\n", "\nspec:\n  quarantine: true\n", 1)
    assert [said in f[3] for f in told(text, "DOC005")] == [True]


@pytest.mark.parametrize(("privileged", "severity"), [("true", "note"), ("false", "error")])
def test_a_misspelt_capability_costs_a_privileged_container_nothing(privileged: str, severity: str) -> None:
    context = f"securityContext:\n  privileged: {privileged}\n  capabilities: {{add: [CAP_SYS_ADMIN]}}"
    assert [f[1] for f in told(pytorch("[torchrun, train.py]", context), "POD005")] == [severity]


@pytest.mark.parametrize(
    ("image", "severity"),
    [
        ("gcr.io/samples/serve:3", "note"),
        ("public.ecr.aws/samples/serve:3", "note"),
        ("us-central1-docker.pkg.dev/ours/serve/serve:3", "warning"),
        ("111122223333.dkr.ecr.us-east-1.amazonaws.com/serve:3", "warning"),
    ],
)
def test_a_registry_that_all_clusters_pull_from_is_no_sign_of_a_cloud(image: str, severity: str) -> None:
    text = base("pod-lws", ("registry.example/serve:3", image), ("vpc.amazonaws.com/efa: 32", ""))
    assert {f[1] for f in told(text, "POD008")} == {severity}


def explained(text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> str:
    """What explain says of where the ranks meet."""
    from fabriclint.cli import explain

    file = tmp_path / "job.yaml"
    file.write_text(text)
    explain.run([str(file)], output_format="text", config=None, isolated=True, trainer_version=None)
    return next(line for line in capsys.readouterr().out.split("\n") if "rendezvous" in line).split(maxsplit=1)[1]


def test_an_address_in_the_files_own_env_is_not_put_down_to_the_controller(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = base(
        "run-volcano",
        ("pytorch: [--master=master, --worker=worker, --port=23456]", "svc: []"),
        (
            "command: [python, train.py]",
            "command: [python, train.py]\n              env: [{name: MASTER_ADDR, value: head}]",
        ),
    )
    assert explained(text, tmp_path, capsys) == "head (set by the file)"


def test_deepspeed_is_not_said_to_meet_by_a_variable_that_it_does_not_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = base("near-workers", ("[torchrun,", "[deepspeed, --hostfile=/data/hosts, train.py]  # ["))
    assert explained(text, tmp_path, capsys) == "at an address that is known only at run time"


BEHIND_A_SCRIPT = {
    "a script that hands its words on": '[sh, -c, \'exec "$0" "$@"\', python, train.py]',
    "a script that reads one of them": "[bash, -c, 'python ${1}', name, train.py]",
    "a name for the script": "[bash, -xc, 'torchrun train.py', trainer]",
    "two dashes before the script": "[/bin/bash, -lc, --, 'torchrun train.py']",
    "options and no script": "[bash, -c, -e, -x]",
    "a script of the image with its words": "[bash, /opt/run.sh, --nodes, '2']",
    "a program's own -c": "[python, -c, main, --nodes=2]",
    "a script from a template": "[bash, -c, '{{ script }}', --nodes=2]",
}


@pytest.mark.parametrize("command", BEHIND_A_SCRIPT.values(), ids=BEHIND_A_SCRIPT.keys())
def test_words_behind_a_shells_script_are_left_alone(command: str) -> None:
    assert told(pytorch(command), "RUN005") == []


def slots(*changes: tuple[str, str]) -> str:
    """The MPIJob of sixteen ranks on two workers of eight GPUs, with one slot each."""
    return base("pod-mpijob", ("slotsPerWorker: 8", "slotsPerWorker: 1"), *changes)


SLOTS_ENOUGH = {
    "as many as there are ranks": base("pod-mpijob", ("slotsPerWorker: 8", "slotsPerWorker: 12")),
    "it may go beyond them": slots(("mpirun,", "mpirun, --oversubscribe,")),
    "by a variable": slots(
        (
            "command: [mpirun",
            "env: [{name: OMPI_MCA_rmaps_base_oversubscribe, value: '1'}]\n              command: [mpirun",
        )
    ),
    "a list of hosts of its own": slots(("mpirun,", "mpirun, --hostfile, /data/hosts,")),
    "hosts in its own words": slots(("mpirun,", "mpirun, --host, 'train-worker-0:8,train-worker-1:8',")),
    "Intel's mpirun goes round again": slots(("slotsPerWorker: 1", "slotsPerWorker: 1\n  mpiImplementation: Intel")),
    "a file that is read first": slots(
        ('[mpirun, -np, "16", python, train.py]', "[bash, -c, '. /etc/ours; mpirun -np 16 python train.py']")
    ),
    "a number from a variable": slots(('"16"', "$(RANKS)")),
}


@pytest.mark.parametrize("text", SLOTS_ENOUGH.values(), ids=SLOTS_ENOUGH.keys())
def test_slots_that_may_be_enough_are_no_fault(text: str) -> None:
    assert [f for f in told(text, "RUN006") if "not enough slots" in f[3]] == []


def test_too_few_slots_are_told_at_their_own_line_or_at_the_number_of_ranks() -> None:
    ((_, severity, line, message, help),) = told(slots(), "RUN006")
    assert (severity, line) == ("warning", 6)
    assert message.endswith("the list of hosts has 2 slots (2 nodes with 1 each); it ends with 'not enough slots'.")
    assert help == "Write 'slotsPerWorker: 8', or start 2 ranks."
    ((_, _, line, _, _),) = told(base("pod-mpijob", ("  slotsPerWorker: 8\n", "")), "RUN006")
    assert line == 14

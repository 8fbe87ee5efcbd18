"""What manifests of clouds' fabrics in public taught: where nothing is to be said, and what is said in which words."""

from __future__ import annotations

import pytest
from test_efa_silence import EFA32, GPU8, base, env, job

from fabriclint.assemble import assemble
from fabriclint.config import Settings
from fabriclint.engine import lint
from fabriclint.launch import read_launch
from fabriclint.node import UNKNOWN
from fabriclint.report.model import ReportOptions

PRIVILEGED = "securityContext: {privileged: true}\n"
HOST_DEVICES = "volumes: [{name: ib, hostPath: {path: /dev/infiniband}}]"
MOUNTED = "volumeMounts: [{name: ib, mountPath: /dev/infiniband}]\n"
SHARED = GPU8.replace("nvidia.com/gpu: 8", "nvidia.com/gpu: 8, rdma/hca_shared_devices_a: 1")
NIXL = '[vllm, serve, m, --kv-transfer-config, \'{"kv_connector":"NixlConnector"}\']'


def told(text: str, *codes: str, **settings: object) -> list[tuple[str, str, str, str]]:
    """(code, severity, message, help) of what the rules of these codes say, notes too."""
    given = Settings(isolated=True, select=codes, **settings)  # type: ignore[arg-type]
    result = lint([], given, stdin=("job.yaml", text.encode()))
    assert not [n for n in result.notes if n.code == "internal-error"], result.notes
    found = assemble(result, given, ReportOptions()).findings
    return [(f.code, str(f.severity), f.message, f.help or "") for f in found]


SILENT = {
    "EFA for a privileged container that mounts the host's devices": (
        job(GPU8 + env(FI_PROVIDER="efa") + PRIVILEGED + MOUNTED, extra=HOST_DEVICES),
        "EFA001",
    ),
    "EFA for a privileged container": (job(GPU8 + env(FI_PROVIDER="efa") + PRIVILEGED), "EFA001"),
    "a variable that the image's NCCL still reads": (
        job(
            EFA32.replace("registry.example/train:1", "registry.example/nccl-tests:cuda-13.0-nccl-2.29.2")
            + env(NCCL_CREATE_THREAD_CONTEXT="1")
        ),
        "NCCL002",
    ),
    "an image whose base has changed from release to release": (
        job(
            GPU8.replace("registry.example/train:1", "ultralytics/yolov5:v7.0")
            + env(NCCL_IB_HCA="mlx5")
            + PRIVILEGED
            + MOUNTED,
            extra=HOST_DEVICES,
        ),
        "IB007",
    ),
}


@pytest.mark.parametrize("title", sorted(SILENT))
def test_nothing_is_said_of(title: str) -> None:
    text, code = SILENT[title]
    assert told(text, code) == []


LOUD = {
    "EFA for a container that is not privileged": (
        job(GPU8 + env(FI_PROVIDER="efa") + MOUNTED, extra=HOST_DEVICES),
        "EFA001",
        "error",
    ),
    "all verbs devices for a container that may open its own alone": (
        job(EFA32 + MOUNTED, extra=HOST_DEVICES),
        "EFA012",
        "warning",
    ),
    "a left-over of older kernels": (job(EFA32 + env(RDMAV_FORK_SAFE="1")), "EFA003", "warning"),
    "a left-over beside what the contract asks for": (
        base("efa-trainjob", ("- name: FI_EFA_FORK_SAFE", "- name: RDMAV_FORK_SAFE\n        value: '1'\n      - name: FI_EFA_FORK_SAFE")),
        "EFA003",
        "warning",
    ),
    "a left-over in place of what the contract asks for": (
        base("efa-trainjob", ("FI_EFA_FORK_SAFE", "RDMAV_FORK_SAFE")),
        "EFA003",
        "warning",
    ),
    "a shared device on one node, whose ranks do not use it": (job(SHARED, pods=1), "POD003", "note"),
    "a shared device on two nodes": (job(SHARED), "POD003", "warning"),
    "an engine of one node that moves its memory to another job": (
        job(SHARED.replace("[torchrun, train.py]", NIXL), pods=1),
        "POD003",
        "warning",
    ),
    "a variable that a newer NCCL dropped": (job(EFA32 + env(NCCL_CREATE_THREAD_CONTEXT="1")), "NCCL002", "note"),
}  # fmt: skip


@pytest.mark.parametrize("title", sorted(LOUD))
def test_it_is_told_as_loud_as_it_is(title: str) -> None:
    text, code, severity = LOUD[title]
    assert [(c, s) for c, s, _, _ in told(text, code)] == [(code, severity)]


@pytest.mark.parametrize(("resource", "severity"), [("vpc.amazonaws.com/efa: 32", "error"), ("rdma/ib: 1", "error")])
def test_aicrs_contract_is_an_error_on_several_nodes(resource: str, severity: str) -> None:
    text = job(GPU8.replace("nvidia.com/gpu: 8", f"nvidia.com/gpu: 8, {resource}"))
    ((_, found, _, help_text),) = told(text, "POD003", contract=(("*", "aicr"),))
    assert found == severity
    assert "contract: generic" in help_text


def test_a_removed_variable_is_told_with_the_release_that_read_it_last() -> None:
    ((_, _, message, _),) = told(job(EFA32 + env(NCCL_CREATE_THREAD_CONTEXT="1")), "NCCL002")
    assert message == "No NCCL after 2.30.4 reads 'NCCL_CREATE_THREAD_CONTEXT'; there the setting has no effect."


@pytest.mark.parametrize(
    ("listed", "what"),
    [("[]", "lacks the capabilities 'NET_ADMIN' and 'NET_BIND_SERVICE'"), ("[NET_ADMIN]", "lacks the capability 'NET_BIND_SERVICE'")],
)  # fmt: skip
def test_capabilities_of_the_daemon_are_listed_as_a_sentence_does(listed: str, what: str) -> None:
    text = base("tcpxo-job", ("[NET_ADMIN, NET_BIND_SERVICE]", listed))
    assert what in told(text, "TCPXO016")[0][2]


PRINTED = {
    "one of two words": ('if [ "$1" = a ]; then echo yes; else echo no; fi', None),
    "nothing, or a word": ('[ "$1" = a ] && echo yes', None),
    "the same in both": ('if [ "$1" = a ]; then echo yes; else echo yes; fi', "yes"),
    "a case": ("case $1 in a) echo yes;; *) echo no;; esac", None),
    "a loop of unknown length": ("for f in $1; do echo yes; done", None),
    "before and behind": ('echo a; if [ "$1" = b ]; then true; fi', "a"),
}


@pytest.mark.parametrize("title", sorted(PRINTED))
def test_what_a_substitution_prints_is_known_where_all_branches_print_the_same(title: str) -> None:
    """Both branches' words were strung together, and the second became the launcher's script."""
    body, printed = PRINTED[title]
    script = (
        f'set -- "$RANK_IN_JOB"; exec torchrun --rdzv-conf=is_host=$({body}) --nnodes=4 --nproc-per-node=8 train.py'
    )
    launch = read_launch(["bash", "-c", script], {"RANK_IN_JOB": UNKNOWN}.get)
    (program,) = [p for p in launch.programs if p.invocation.name == "torchrun"]
    words = [w.text for w in program.invocation.words]
    assert words[2:] == ["--nnodes=4", "--nproc-per-node=8", "train.py"]
    assert words[1] == (f"--rdzv-conf=is_host={printed}" if printed else words[1])
    assert isinstance(words[1], str) == (printed is not None)


def test_a_field_at_the_wrong_level_has_one_path_in_message_and_help() -> None:
    text = job(EFA32, extra="imagePullPolicy: Always")
    ((_, _, message, help_text),) = told(text, "DOC007")
    assert "it belongs at 'spec.template.spec.containers[0].imagePullPolicy'" in message
    assert help_text == "Move it to 'spec.template.spec.containers[0].imagePullPolicy'."


@pytest.mark.parametrize(
    ("image", "word"),
    [
        ("your-image:latest", "your-image"),
        ("ghcr.io/your-org/train:1", "your-org"),
        ("your-registry.example/train:1", "your-registry"),
        ("yourusername/act-training:latest", "yourusername"),
        ("xxxxxxxxxxxx.dkr.ecr.us-east-1.amazonaws.com/pytorch-efa:latest", "xxxxxxxxxxxx"),
        ("my-registry/my-trainer:latest", None),
        ("registry.example/yourself/train:1", None),
        ("registry.example/team/for-your-eyes:1", None),
        ("xxx:1", None),
    ],
)
def test_an_image_of_nobodys_registry_is_a_placeholder(image: str, word: str | None) -> None:
    found = told(job(EFA32.replace("registry.example/train:1", image)), "DOC003")
    assert [m.split("'")[1] for _, _, m, _ in found] == ([word] if word else [])


def test_a_declared_fabric_is_named_as_what_asks_for_the_device() -> None:
    ((_, _, message, _),) = told(job(GPU8), "EFA001", fabric=(("*", "eks-efa"),))
    assert "although EFA is declared as the fabric of this file; it gets no device" in message


UNSET = "command: [bash, -c, 'set -eu; nvidia-smi; export LD_LIBRARY_PATH=/opt/x:$LD_LIBRARY_PATH; torchrun --nnodes=4 --nproc-per-node=8 t.py']"


def test_a_variable_of_the_image_does_not_end_a_shell_that_wants_all_set() -> None:
    """What the image may set was taken for unset: the launch behind it was not seen."""
    text = job(GPU8.replace("command: [torchrun, train.py]", UNSET))
    ((_, severity, message, _),) = told(text, "RUN006")
    assert severity == "warning"
    assert "told of 4 nodes and the job has 2 pods" in message


@pytest.mark.parametrize(
    "options",
    [
        "-s none -t nvtx,cuda -o /logs/rank",
        "--session-new nemo-$RANDOM --wait all",
        "--capture-range=cudaProfilerApi --capture-range-end stop --stats true -f true",
        "--sample=none -x true -- ",
        "",
    ],
)
def test_a_profiler_in_front_hides_no_launcher(options: str) -> None:
    launch = read_launch(["bash", "-c", f"nsys profile {options} torchrun --nnodes=4 t.py"], {}.get)
    assert launch.launcher is not None
    assert launch.launcher.nodes.value == 4

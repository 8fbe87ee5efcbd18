"""EFA: what the container's image must bring, which the device plugin does not: libfabric, the OFI plugin, NIXL's way to it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from fabriclint.node import Scalar
from fabriclint.pod import ContainerView, Variable, WorkerPod
from fabriclint.rule import Finding, Place, Severity, rule
from fabriclint.views import JobView
from fabriclint_rules.alike import once
from fabriclint_rules.efa_pods import asks, attached, hidden, on_neuron, uses_nixl, written
from fabriclint_schemas.variables import efa

_LITERAL = re.compile(r"\$(?:LD_LIBRARY_PATH\b|\{LD_LIBRARY_PATH\}|\(LD_LIBRARY_PATH\))")


def _listed(image: str, rows: list[dict[str, Any]]) -> bool:
    """Whether an image is one of a list, by repository and tag."""
    repository, _, tag = image.partition("@")[0].rpartition(":")
    if not repository or "/" in tag:
        repository, tag = image.partition("@")[0], ""
    for row in rows:
        if re.fullmatch(row["repository"], repository) is None:
            continue
        if "tag" in row and re.search(row["tag"], tag) is None:
            continue
        if "tag without" in row and row["tag without"] in tag:
            continue
        return True
    return False


@rule("EFA005", "image-without-efa", Severity.WARNING, on=JobView, yields_to=("EFA001",), yields_on_line=("DOC003",))
def image_without_efa(job: JobView) -> Iterator[Finding]:
    """The image of a worker on EFA carries libfabric with its efa provider, and the OFI plugin.

    The device plugin gives the container devices and nothing else. An image without the two falls back to sockets,
    whatever LD_LIBRARY_PATH says.

    Fix: build from an image that has the EFA stack, or install it in yours (EFA's installer brings both).
    Silent: images that are not known, start texts and init containers that install it, jobs on one node, probes,
    Neuron, NIXL.
    Bad: the framework's own image (efa-jobset)
        ~ registry.example/pretrain-efa:3 => pytorch/pytorch:2.8.0-cuda12.9-cudnn9-runtime # <-
    Bad: workers of an MPI job (efa-mpijob)
        @@ name: worker
        ~ registry.example/train-efa:3 => docker.io/nvidia/cuda:12.6.3-devel-ubuntu22.04 # <-
    Bad: Ray's image (efa-raycluster)
        @@ name: ray-worker
        ~ registry.example/ray-efa:5 => rayproject/ray:2.44.0-py311-gpu # <-
    Good: an image of one's own (efa-jobset)
        ~ registry.example/pretrain-efa:3 => registry.example/pytorch/pytorch:2.8.0
    Good: installed at the start (efa-lws)
        ~ registry.example/engine-efa:2 => vllm/vllm-openai:v0.10.0
        ~ export FI_PROVIDER=efa => curl -s https://efa.example/aws-efa-installer.tgz | tar xz && cd aws-efa-installer && ./efa_installer.sh -y
    Source: aws/deep-learning-containers@e0ecede; vllm-project/vllm#55635; NVIDIA AICR, "Attaching a Training Workload
        to the Cluster Fabric".
    """
    yield from once(job, _image)


def _image(pod: WorkerPod) -> Iterator[Finding]:
    worker = pod.worker
    if worker is None or not attached(pod) or on_neuron(worker) or pod.multi_node is False or uses_nixl(pod):
        return
    if worker.start.probe and not pod.by_ssh:
        return
    image = worker.image
    node = worker.image_node
    if not isinstance(image, str) or node is None:
        return
    if not _listed(image, efa()["images"]["without"]):
        pod.lookup.unseen(f"whether the image '{image}' carries the EFA stack", node)
        return
    if (worker.start.unseen and worker.command_seen and not pod.by_ssh) or _installs(pod, worker):
        return
    yield pod.finding(
        Place(node),
        f"The image '{image}' carries neither libfabric's efa provider nor the OFI plugin; NCCL falls back to TCP beside the EFA "
        "devices.",
        help="Take an image that has the EFA stack, or install libfabric and aws-ofi-nccl in it.",
    )


def _installs(pod: WorkerPod, worker: ContainerView) -> bool:
    words = efa()["installs"]
    if any(w in worker.start_text for w in words):
        return True
    mounted = {m.string("name") for m in worker.mounts}
    for container in pod.init_containers:
        shared = [m.string("name") for m in container.mounts if m.string("name") in mounted]
        if shared or any(w in container.start_text for w in words):
            return True
    for mount in worker.mounts:
        volume = pod.volumes.get(mount.string("name") or "")
        path = mount.string("mountPath") or ""
        if volume is not None and path.startswith(("/opt/", "/usr/local/")) and volume.at("emptyDir") is None:
            return True
    return False


@rule(
    "EFA006",
    "library-path",
    Severity.WARNING,
    on=JobView,
    also=(Severity.NOTE,),
    yields_to=("EFA001",),
    yields_on_line=("EFA005",),
)
def library_path(job: JobView) -> Iterator[Finding]:
    """LD_LIBRARY_PATH, where it is set, names the folder of the OFI plugin.

    A variable replaces the image's own value whole, and Kubernetes does not expand `$LD_LIBRARY_PATH` in it. What the
    image had is lost, and with it the plugin: NCCL falls back to TCP.

    Fix: put the plugin's folder in the list (/opt/amazon/ofi-nccl/lib, .../lib64 or .../lib/x86_64-linux-gnu, as the
    image has it), or leave the variable out.
    Silent: lists with any folder of the plugin, images that are not known to need the path, values set in a shell,
    a full path in NCCL_NET_PLUGIN, NIXL, Neuron.
    Bad: what the image had, in a form that nobody expands (efa-jobset)
        @@ env:
        +   - name: LD_LIBRARY_PATH
        +     value: /opt/extra/lib:$LD_LIBRARY_PATH # <-
    Bad: an image that needs the folder (efa-mpijob)
        ~ registry.example/train-efa:3 => public.ecr.aws/hpc-cloud/nccl-tests:latest
        ~ /opt/amazon/ofi-nccl/lib64:/usr/local/cuda/lib64 => /usr/local/cuda/lib64 # <-
        ~ registry.example/train-efa:3 => public.ecr.aws/hpc-cloud/nccl-tests:latest
    Good: the plugin's folder in the list (efa-jobset)
        @@ env:
        +   - name: LD_LIBRARY_PATH
        +     value: /opt/amazon/ofi-nccl/lib/x86_64-linux-gnu:/opt/amazon/efa/lib
    Good: a shell expands it (efa-lws)
        ~ export FI_PROVIDER=efa => export LD_LIBRARY_PATH=/opt/extra/lib:$LD_LIBRARY_PATH
    Source: kubernetes/kubernetes third_party/forked/golang/expansion; NVIDIA-NeMo/RL#2359; NVIDIA AICR, "Attaching a
        Training Workload to the Cluster Fabric".
    """
    yield from once(job, _library_path)


def _library_path(pod: WorkerPod) -> Iterator[Finding]:
    worker = pod.worker
    if worker is None or not attached(pod) or on_neuron(worker) or uses_nixl(pod) or pod.multi_node is False:
        return
    environment = pod.ranks_env
    variable = environment.get("LD_LIBRARY_PATH")
    plugin = environment.get("NCCL_NET_PLUGIN")
    if variable is None or (plugin is not None and "/" in str(plugin.value)):
        return
    text = _as_written(variable)
    if text is None:
        return
    literal = _LITERAL.search(text)
    if any(folder in text for folder in efa()["plugin folders"]):
        if literal is not None:
            yield pod.finding(
                variable.place,
                f"'{literal.group()}' stays as it is in this value: nothing expands it here. The plugin's folder is named beside it.",
                help=f"Remove '{literal.group()}'.",
                severity=Severity.NOTE,
            )
        return
    image = worker.image
    if literal is not None:
        yield pod.finding(
            variable.place,
            f"'{literal.group()}' stays as it is in this value: nothing expands it here, the image's own list is lost, and no folder "
            "of the OFI plugin is named; NCCL falls back to TCP.",
            help="Name the plugin's folder (such as /opt/amazon/ofi-nccl/lib64), or leave LD_LIBRARY_PATH to the image.",
        )
    elif isinstance(image, str) and _listed(image, efa()["images"]["path needed"]):
        yield pod.finding(
            variable.place,
            f"LD_LIBRARY_PATH replaces the list of the image '{image}' and names no folder of the OFI plugin; NCCL falls back to TCP.",
            help="Add the plugin's folder (such as /opt/amazon/ofi-nccl/lib64), or leave LD_LIBRARY_PATH to the image.",
        )


def _as_written(variable: Variable) -> str | None:
    """The value where Kubernetes or mpirun takes it as it stands; None where a shell has had its hands on it."""
    node = variable.place.node
    if variable.origin == "env" or (variable.origin == "mpirun" and variable.place.within is None):
        return node.text if isinstance(node, Scalar) else None
    if variable.origin == "mpirun" and isinstance(variable.value, str) and isinstance(node, Scalar):
        # A word of its own in command or args is no shell's.
        return variable.value if node.text.endswith(variable.value) and "\n" not in node.text else None
    return None


@rule("EFA013", "nixl-backend", Severity.WARNING, on=JobView)
def nixl_backend(job: JobView) -> Iterator[Finding]:
    """NIXL is told to use libfabric where the pod asks for EFA.

    NIXL takes UCX when no backend is named. UCX knows EFA in recent builds alone, moves data over it in software, or
    goes to TCP without a word, beside the EFA devices.

    Fix: name the backend: `"backends": ["LIBFABRIC"]` in the connector's extra configuration,
    SGLANG_DISAGGREGATION_NIXL_BACKEND=LIBFABRIC, MX_NIXL_BACKEND=LIBFABRIC.
    Silent: configurations that name a backend, those in files that are not in view, pods without EFA.
    Bad: a connector without a backend (efa-lws)
        ~ exec python -m engine.serve --nodes 2 => exec vllm serve model --kv-transfer-config '{"kv_connector":"NixlConnector","kv_role":"kv_both"}' # <-
    Bad: SGLang's way (efa-jobset)
        ~ pretrain.py => --disaggregation-transfer-backend=nixl # <-
    Good: the backend named (efa-lws)
        ~ exec python -m engine.serve --nodes 2 => exec vllm serve model --kv-transfer-config '{"kv_connector":"NixlConnector","kv_role":"kv_both","kv_connector_extra_config":{"backends":["LIBFABRIC"]}}'
    Good: by a variable (efa-jobset)
        ~ pretrain.py => --disaggregation-transfer-backend=nixl
        @@ env:
        +   - name: SGLANG_DISAGGREGATION_NIXL_BACKEND
        +     value: LIBFABRIC
    Source: vllm-project/vllm#41814; ai-dynamo/nixl#909, @8770b65; openucx/ucx#10692.
    """
    yield from once(job, _nixl)


def _nixl(pod: WorkerPod) -> Iterator[Finding]:
    worker = pod.worker
    if worker is None or not asks(worker) or hidden_text(pod):
        return
    data = efa()["nixl"]
    environment = written(pod)
    others = (v for v in environment.variables.values() if not v.name.startswith(("NCCL_", "FI_", "LD_")))
    texts = [worker.start_text, *(v.value for v in others if isinstance(v.value, str))]
    if any(data["backend"] in t.lower() or '"backends"' in t for t in texts):
        return
    if any(n in environment for n in data["variables"]):
        return
    for word in worker.words:
        for name in data["connectors"]:
            found = _named(word.text, name)
            if found is None:
                continue
            within = found.span() if isinstance(word.value, str) else None
            yield pod.finding(
                Place(word, within=within),
                "NIXL is started without a backend beside EFA devices; it takes UCX, which moves the data in software or over TCP.",
                help='Name LIBFABRIC, as "backends": ["LIBFABRIC"] of the connector or in the engine\'s variable for it.',
            )
            return


def _named(text: str, name: str) -> re.Match[str] | None:
    """Where a text names a connector as a value: no part of a path or a file's name, and nothing that is installed."""
    for found in re.finditer(rf"(?<![\w./-]){re.escape(name)}(?![\w./-])", text):
        if re.search(r"\binstall\b[^\n;|&]*$", text[: found.start()]) is None:
            return found
    return None


def hidden_text(pod: WorkerPod) -> bool:
    """Whether the backend may be named out of view."""
    return pod.worker is None or pod.worker.env.open or (hidden(pod) and not pod.worker.command_seen)

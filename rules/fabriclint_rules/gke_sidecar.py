"""TCPXO and TCPX: the receive daemon beside the worker, its devices, image, flags and life."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from fabriclint.document import Document
from fabriclint.embedded import parse_embedded
from fabriclint.kinds import workload_of
from fabriclint.launch import Word
from fabriclint.node import Mapping, Node, Scalar, Sequence, Unknown, open_value
from fabriclint.pod import ContainerView, PodView, WorkerPod
from fabriclint.rule import AddField, Finding, Fix, Place, Related, Remove, RenameKey, Rule, SetValue, Severity, rule
from fabriclint_rules.gke_wiring import (
    DEVICES,
    INTERFACES,
    TCPX,
    TCPXO,
    chosen_subset,
    containers_open,
    filled_in,
    joined,
    launch_of,
    on_host,
    parsed,
    profile_of,
    quoted,
    sidecar,
    tag_of,
    written,
)
from fabriclint_schemas.pairs import Release, listed_pairs, paired_daemons, release_of


@rule("TCPXO007", "missing-device-annotation", Severity.ERROR, on=WorkerPod, fabric=TCPXO, yields_to=("TCPXO010", "TCPXO011", "TCPXO008"))  # fmt: skip
@rule("TCPX007", "missing-device-annotation", Severity.ERROR, on=WorkerPod, fabric=TCPX, yields_to=("TCPX010", "TCPX011", "TCPX008"))  # fmt: skip
def missing_device_annotation(pod: WorkerPod, rule: Rule) -> Iterator[Finding]:
    """The sidecar is given the GPU devices by `devices.gke.io/container.NAME`.

    The daemon asks for no GPU, so without the annotation it sees no device, ends, and NCCL falls back to TCP.

    Fix: add the annotation with the device list, NAME being the sidecar's name.
    Silent: a privileged sidecar, which sees the host's devices.
    Bad: no device annotation (tcpxo-job)
        @@ annotations: # <-
        - devices.gke.io/container.tcpxo-daemon: |
        -   - path: /dev/nvidia0
        -   - path: /dev/nvidia1
        -   - path: /dev/nvidia2
        -   - path: /dev/nvidia3
        -   - path: /dev/nvidia4
        -   - path: /dev/nvidia5
        -   - path: /dev/nvidia6
        -   - path: /dev/nvidia7
        -   - path: /dev/nvidiactl
        -   - path: /dev/nvidia-uvm
        -   - path: /dev/dmabuf_import_helper
    Bad: a key that the injector does not know (tcpxo-mega-jobset)
        @@ annotations: # <-
        ~ devices.gke.io/container.tcpxo-daemon => device.gke.io/container.tcpxo-daemon
    Good: the list for the sidecar (tcpxo-job)
        @@ devices.gke.io
    Good: a privileged sidecar (tcpxo-mega-jobset)
        - devices.gke.io/container.tcpxo-daemon: |
        -   - path: /dev/nvidia0
        -   - path: /dev/nvidia1
        -   - path: /dev/nvidia2
        -   - path: /dev/nvidia3
        -   - path: /dev/nvidia4
        -   - path: /dev/nvidia5
        -   - path: /dev/nvidia6
        -   - path: /dev/nvidia7
        -   - path: /dev/nvidiactl
        -   - path: /dev/nvidia-uvm
        -   - path: /dev/dmabuf_import_helper
        @@ tcpxo-daemon
        - securityContext:
        -   capabilities:
        -     add: [NET_ADMIN, NET_BIND_SERVICE]
        + securityContext:
        +   privileged: true
    Bad TCPX: no device annotation (tcpx-job)
        @@ annotations: # <-
        - devices.gke.io/container.tcpx-daemon: |
        -   - path: /dev/nvidia0
        -   - path: /dev/nvidia1
        -   - path: /dev/nvidia2
        -   - path: /dev/nvidia3
        -   - path: /dev/nvidia4
        -   - path: /dev/nvidia5
        -   - path: /dev/nvidia6
        -   - path: /dev/nvidia7
        -   - path: /dev/nvidiactl
        -   - path: /dev/nvidia-uvm
    Bad TCPX: a key that the injector does not know (tcpx-jobset)
        @@ annotations: # <-
        ~ devices.gke.io/container.tcpx-daemon => device.gke.io/container.tcpx-daemon
    Good TCPX: the list for the sidecar (tcpx-job)
        @@ devices.gke.io
    Good TCPX: a privileged sidecar (tcpx-jobset)
        - devices.gke.io/container.tcpx-daemon: |
        -   - path: /dev/nvidia0
        -   - path: /dev/nvidia1
        -   - path: /dev/nvidia2
        -   - path: /dev/nvidia3
        -   - path: /dev/nvidia4
        -   - path: /dev/nvidia5
        -   - path: /dev/nvidia6
        -   - path: /dev/nvidia7
        -   - path: /dev/nvidiactl
        -   - path: /dev/nvidia-uvm
        @@ tcpx-daemon
        - securityContext:
        -   capabilities:
        -     add: [NET_ADMIN]
        + securityContext:
        +   privileged: true
    Source: GoogleCloudPlatform/container-engine-accelerators@992db81 nri_device_injector.
    """
    daemon = sidecar(pod)
    if daemon is None or daemon.privileged or pod.annotations_open:
        return
    if any(k.startswith(DEVICES) for k in pod.annotation_keys):
        return
    devices = profile_of(pod)["devices"]
    annotations = pod.metadata.mapping("annotations") if pod.metadata is not None else None
    text = "".join(f"- path: {d}\n" for d in devices)
    yield pod.finding(
        pod.missing_annotation(),
        f"The annotation '{DEVICES}{daemon.name}' is missing; the daemon sees no GPU device and ends, and the job runs over "
        "TCP.",
        help=f"Add it with the {len(devices)} devices, from {devices[0]} to {devices[-1]}.",
        fix=Fix("add the device list", (AddField(annotations, (DEVICES + daemon.name,), text),))
        if annotations
        else None,
    )


@rule("TCPXO008", "device-annotation-target", Severity.ERROR, on=WorkerPod, fabric=TCPXO, yields_to=("TCPXO011",))
@rule("TCPX008", "device-annotation-target", Severity.ERROR, on=WorkerPod, fabric=TCPX, yields_to=("TCPX011",))
def device_annotation_target(pod: WorkerPod, rule: Rule) -> Iterator[Finding]:
    """The device annotation names the sidecar's container.

    An annotation for a container that does not exist is ignored without a word.

    Fix: make the part behind `container.` equal to the sidecar's name.
    Silent: annotations for other containers beside one for the sidecar.
    Bad: another name (tcpxo-job)
        ~ container.tcpxo-daemon => container.tcpx-daemon # <-
    Bad: the worker's name (tcpxo-mega-jobset)
        ~ container.tcpxo-daemon => container.node # <-
    Good: the same name (tcpxo-job)
        @@ container.tcpxo-daemon
    Good: a name of one's own, in both places (tcpxo-mega-jobset)
        ~ container.tcpxo-daemon => container.fastrak-daemon
        ~ name: tcpxo-daemon => name: fastrak-daemon
    Bad TCPX: another name (tcpx-job)
        ~ container.tcpx-daemon => container.tcpx # <-
    Bad TCPX: the worker's name (tcpx-jobset)
        ~ container.tcpx-daemon => container.node # <-
    Good TCPX: the same name (tcpx-job)
        @@ container.tcpx-daemon
    Good TCPX: a name of one's own, in both places (tcpx-jobset)
        ~ container.tcpx-daemon => container.rxdm
        ~ name: tcpx-daemon => name: rxdm
    Source: GoogleCloudPlatform/container-engine-accelerators@992db81 nri_device_injector/nri_device_injector.go.
    """
    daemon = sidecar(pod)
    given = {k[len(DEVICES) :]: v for k, v in pod.annotations.items() if k.startswith(DEVICES)}
    if daemon is None or not given or daemon.name in given or daemon.privileged:
        return
    if any(open_value(name) for name in given) or open_value(daemon.name):
        return
    names = {c.name for c in pod.containers}
    for name, node in given.items():
        what = "belongs to another container" if name in names else "names no container of this pod"
        yield pod.finding(
            Place(node, on_key=True),
            f"'{DEVICES}{name}' {what}; the daemon is called '{daemon.name}', gets no GPU device, and ends.",
            help=f"Write '{DEVICES}{daemon.name}'.",
            related=(Related(daemon.name_place, "This is the daemon."),),
            fix=Fix(f"name {daemon.name}", (RenameKey(node, DEVICES + daemon.name),)) if name not in names else None,
        )
        return


@rule("TCPXO009", "device-list", Severity.ERROR, on=WorkerPod, fabric=TCPXO, yields_to=("TCPXO011",))
@rule("TCPX009", "device-list", Severity.ERROR, on=WorkerPod, fabric=TCPX, yields_to=("TCPX011",))
def device_list(pod: WorkerPod, rule: Rule) -> Iterator[Finding]:
    """The device list is YAML and names every GPU and control device.

    A list that is none, or a path that does not exist, makes the container's creation fail. A missing GPU makes the
    daemon end; without the import helper (TCPXO) it ends with exit code 0, and the pod looks healthy.

    Fix: list nvidia0 to nvidia7, nvidiactl, nvidia-uvm and (TCPXO) dmabuf_import_helper, each as `- path:
    /dev/...`.
    Silent: further devices, a subset of GPUs that the daemon's flags choose, privileged daemons.
    Bad: without the import helper (tcpxo-job)
        @@ devices.gke.io # <-
        - - path: /dev/dmabuf_import_helper
    Bad: a device that no node has (tcpxo-mega-jobset)
        ~ /dev/nvidia7 => /dev/nvidia8 # <-
    Bad: paths without a key (tcpxo-job)
        @@ devices.gke.io # <-
        ~ - path: /dev/nvidia0 => - /dev/nvidia0
    Good: all of them (tcpxo-job)
        @@ devices.gke.io
    Good: one more (tcpxo-mega-jobset)
        @@ nvidia-uvm
        + - path: /dev/nvidia-uvm-tools
    Bad TCPX: without a GPU (tcpx-job)
        @@ devices.gke.io # <-
        - - path: /dev/nvidia3
    Bad TCPX: a device that no node has (tcpx-jobset)
        ~ /dev/nvidia7 => /dev/nvidia8 # <-
    Good TCPX: all of them (tcpx-job)
        @@ devices.gke.io
    Good TCPX: one more (tcpx-jobset)
        @@ nvidia-uvm
        + - path: /dev/dmabuf_import_helper
    Source: GoogleCloudPlatform/container-engine-accelerators@992db81 gpudirect-tcpxo/nccl-test-latest.yaml and
    nri_device_injector/nri_device_injector.go.
    """
    daemon = sidecar(pod)
    node = pod.annotations.get(DEVICES + daemon.name) if daemon is not None else None
    if daemon is None or node is None or not isinstance(node.value, str) or open_value(node.value):
        return
    document = parse_embedded(node)
    root = document.root if isinstance(document, Document) else None
    paths: dict[str, Node] = {}
    ok = isinstance(root, Sequence)
    for item in root.items if isinstance(root, Sequence) else []:
        path = item.at("path") if isinstance(item, Mapping) else None
        if isinstance(path, Scalar) and isinstance(path.value, str):
            paths[path.value] = path
        else:
            ok = False
    if not ok:
        yield pod.finding(
            Place(node, on_key=True),
            f"'{node.key}' is no YAML list of paths; the container '{daemon.name}' cannot be created.",
            help="Write one `- path: /dev/...` a line.",
        )
        return
    devices = profile_of(pod)["devices"]
    odd = [p for p in paths if p not in devices and re.fullmatch(r"(?!/dev/).*|/dev/nvidia\d+", p)]
    if odd:
        yield pod.finding(
            Place(paths[odd[0]]),
            f"The node has no device {quoted(odd)}; the container '{daemon.name}' cannot be created.",
            help=f"Name the devices from {devices[0]} to {devices[-1]}.",
        )
        return
    missing = [d for d in devices if d not in paths]
    if chosen_subset(pod):
        missing = [d for d in missing if not re.fullmatch(r"/dev/nvidia\d+", d)]
    if not missing or daemon.privileged:
        return
    if missing == ["/dev/dmabuf_import_helper"]:
        consequence = "the daemon ends with exit code 0, the pod looks healthy, and the job runs over TCP"
    else:
        consequence = "the daemon does not find all GPUs and ends"
    yield pod.finding(
        Place(node, on_key=True),
        f"The device list of '{daemon.name}' lacks {quoted(missing)}; {consequence}.",
        help=f"Add {', '.join(f'`- path: {d}`' for d in missing[:3])}{' ...' if len(missing) > 3 else ''}.",
    )


@rule("TCPXO011", "missing-sidecar", Severity.ERROR, on=WorkerPod, fabric=TCPXO, also=(Severity.WARNING,))
@rule("TCPX011", "missing-sidecar", Severity.ERROR, on=WorkerPod, fabric=TCPX, also=(Severity.WARNING,))
def missing_sidecar(pod: WorkerPod, rule: Rule) -> Iterator[Finding]:
    """A pod on this fabric carries the receive daemon as a sidecar.

    The plugin talks to the daemon through sockets in the pod; without it NCCL fails or falls back to TCP. A daemon
    of the node cannot see into the pod's network.

    Fix: add the daemon as a native sidecar: an init container with `restartPolicy: Always`.
    Silent: containers that a template adds. On the host's network it is a warning.
    Bad: annotations and no daemon (tcpxo-job)
        @@ template:
        @@ spec: # <-
        - initContainers:
        -   - name: tcpxo-daemon
        -     restartPolicy: Always
        -     image: ...
        -     command: [/bin/sh, -c]
        -     args:
        -       - |
        -         set -e
        -         exec ...
        -     env:
        -       - name: LD_LIBRARY_PATH
        -         value: /usr/local/nvidia/lib64
        -     securityContext:
        -       capabilities:
        -         add: ...
        -     volumeMounts:
        -       - name: libraries
        -         mountPath: /usr/local/nvidia
        -       - name: sys
        -         mountPath: /hostsysfs
        -       - name: proc-sys
        -         mountPath: /hostprocsysfs
    Bad: the same in a JobSet (tcpxo-mega-jobset)
        @@ template:
        @@ template:
        @@ spec: # <-
        - initContainers:
        -   - name: tcpxo-daemon
        -     restartPolicy: Always
        -     image: ...
        -     command: [/bin/sh, -c]
        -     args:
        -       - |
        -         set -e
        -         exec ...
        -     env:
        -       - name: LD_LIBRARY_PATH
        -         value: /usr/local/nvidia/lib64
        -     securityContext:
        -       capabilities:
        -         add: ...
        -     volumeMounts:
        -       - name: libraries
        -         mountPath: /usr/local/nvidia
        -       - name: sys
        -         mountPath: /hostsysfs
        -       - name: proc-sys
        -         mountPath: /hostprocsysfs
    Good: the daemon beside the worker (tcpxo-job)
        @@ tcpxo-daemon
    Good: a daemon of another name (tcpxo-mega-jobset)
        ~ container.tcpxo-daemon => container.rxdm
        ~ name: tcpxo-daemon => name: rxdm
    Bad TCPX: annotations and no daemon (tcpx-job)
        @@ template:
        @@ spec: # <-
        - initContainers:
        -   - name: tcpx-daemon
        -     restartPolicy: Always
        -     image: ...
        -     command: ...
        -     args: ...
        -     env:
        -       - name: LD_LIBRARY_PATH
        -         value: /usr/local/nvidia/lib64
        -     securityContext:
        -       capabilities:
        -         add: ...
        -     volumeMounts:
        -       - name: libraries
        -         mountPath: /usr/local/nvidia
        -       - name: socket
        -         mountPath: /run/tcpx
        -       - name: sys
        -         mountPath: /hostsysfs
        -       - name: proc-sys
        -         mountPath: /hostprocsysfs
    Bad TCPX: the same in a JobSet (tcpx-jobset)
        @@ template:
        @@ template:
        @@ spec: # <-
        - initContainers:
        -   - name: tcpx-daemon
        -     restartPolicy: Always
        -     image: ...
        -     command: ...
        -     args: ...
        -     env:
        -       - name: LD_LIBRARY_PATH
        -         value: /usr/local/nvidia/lib64
        -     securityContext:
        -       capabilities:
        -         add: ...
        -     volumeMounts:
        -       - name: libraries
        -         mountPath: /usr/local/nvidia
        -       - name: socket
        -         mountPath: /run/tcpx
        -       - name: sys
        -         mountPath: /hostsysfs
        -       - name: proc-sys
        -         mountPath: /hostprocsysfs
    Good TCPX: the daemon beside the worker (tcpx-job)
        @@ tcpx-daemon
    Good TCPX: a daemon of another name (tcpx-jobset)
        ~ container.tcpx-daemon => container.rxdm
        ~ name: tcpx-daemon => name: rxdm
    Source: GoogleCloudPlatform/container-engine-accelerators@992db81 gpudirect-tcpxo.
    """
    if sidecar(pod) is not None or containers_open(pod):
        return
    profile = profile_of(pod)
    wired = any(k.startswith((INTERFACES, DEVICES)) for k in pod.annotations)
    variables = [v for v in pod.ranks_env.starting(*profile["signals"]["env"]) if v.origin != "controller"]
    if not wired and not variables:
        return
    node = pod.spec.at("initContainers")
    what = "the annotations" if wired else f"the variable '{variables[0].name}'"
    yield pod.finding(
        Place(node if node is not None else pod.spec, on_key=True),
        f"The pod has {what} of {profile['title']} but no '{profile['sidecar']}' sidecar; the plugin finds no daemon and the "
        "job runs over TCP or fails.",
        help=f"Add '{profile['sidecar']}' ({profile['sidecar_image']}) to initContainers with restartPolicy: Always, its tag "
        "paired with the plugin of your cluster.",
        severity=Severity.WARNING if on_host(pod) or (pod.multi_node is False and not wired) else None,
    )


@rule("TCPXO012", "sidecar-not-native", Severity.ERROR, on=WorkerPod, fabric=TCPXO)
@rule("TCPX012", "sidecar-not-native", Severity.ERROR, on=WorkerPod, fabric=TCPX)
def sidecar_not_native(pod: WorkerPod, rule: Rule) -> Iterator[Finding]:
    """The daemon among the init containers restarts always.

    An ordinary init container has to end before the worker starts, and the daemon never ends: the pod stalls in
    initialization.

    Fix: add `restartPolicy: Always` to the sidecar.
    Silent: the daemon as an ordinary container.
    Bad: an init container without it (tcpxo-job)
          - name: tcpxo-daemon # <-
        -   restartPolicy: Always
    Bad: the same in a runtime (tcpxo-runtime)
          - name: tcpxo-daemon # <-
        -   restartPolicy: Always
    Good: a native sidecar (tcpxo-job)
        @@ restartPolicy: Always
    Good: an init container that installs the plugin beside it (tcpxo-mega-jobset)
        @@ initContainers:
        +   - name: install
        +     image: mirror.example/tool:1
        +     command: [/bin/true]
    Bad TCPX: an init container without it (tcpx-job)
          - name: tcpx-daemon # <-
        -   restartPolicy: Always
    Bad TCPX: the same in a JobSet (tcpx-jobset)
          - name: tcpx-daemon # <-
        -   restartPolicy: Always
    Good TCPX: a native sidecar (tcpx-job)
        @@ restartPolicy: Always
    Good TCPX: another init container beside it (tcpx-jobset)
        @@ initContainers:
        +   - name: fetch
        +     image: mirror.example/tool:1
        +     command: [/bin/true]
    Source: Kubernetes documentation, sidecar containers (1.29); NVIDIA AICR.
    """
    daemon = sidecar(pod)
    if daemon is None or daemon.kind != "init":
        return
    policy = daemon.node.at("restartPolicy")
    if isinstance(policy, Scalar) and policy.open:
        return
    if "install" in daemon.start_text:
        return
    if isinstance(policy, Scalar) and policy.value is not None:
        change: SetValue | AddField = SetValue(policy, "Always")
        place, how = Place(policy), f"has 'restartPolicy: {policy.text}'"
    else:
        change = AddField(daemon.node, ("restartPolicy",), "Always")
        place, how = daemon.name_place, "is an init container without 'restartPolicy: Always'"
    yield pod.finding(
        place,
        f"The daemon '{daemon.name}' {how}; it never ends, so the pod stalls in initialization.",
        help="Write 'restartPolicy: Always' for it: a native sidecar.",
        fix=Fix("restartPolicy: Always", (change,)),
    )


#: Kinds whose object is done when its pods are.
_COMPLETING = (
    ("batch", ("Job", "CronJob")),
    ("jobset.x-k8s.io", ("JobSet",)),
    ("trainer.kubeflow.org", ("TrainJob", "TrainingRuntime", "ClusterTrainingRuntime")),
    ("kubeflow.org", ("PyTorchJob", "TFJob", "JAXJob", "PaddleJob", "XGBoostJob")),
    ("batch.volcano.sh", ("Job",)),
)
_WAY_OUT = re.compile(r"shutdown_when_all_clients_exited|terminat|\bkill\b|\bpkill\b|while\s+\[|until\s+\[|inotifywait")


@rule("TCPXO013", "sidecar-blocks-completion", Severity.WARNING, on=WorkerPod, fabric=TCPXO)
@rule("TCPX013", "sidecar-blocks-completion", Severity.WARNING, on=WorkerPod, fabric=TCPX)
def sidecar_blocks_completion(pod: WorkerPod, rule: Rule) -> Iterator[Finding]:
    """The daemon does not keep the pods of a job from completing.

    An ordinary container that never ends keeps its pod Running after the worker is done, so a Job, a JobSet or a
    TrainJob never completes and holds its nodes.

    Fix: make it a native sidecar: an init container with `restartPolicy: Always`.
    Silent: kinds that do not complete (Pod, Deployment, RayCluster, LeaderWorkerSet), jobs that a launcher ends,
    `--shutdown_when_all_clients_exited`, a file or signal that ends the daemon, activeDeadlineSeconds,
    shareProcessNamespace.
    Bad: an ordinary container in a Job (tcpxo-job)
        - initContainers:
        + containers:
            - name: tcpxo-daemon # <-
        -     restartPolicy: Always
        @@ hostprocsysfs
        - containers:
    Bad: the same in a JobSet (tcpxo-mega-jobset)
        - initContainers:
        + containers:
            - name: tcpxo-daemon # <-
        -     restartPolicy: Always
        @@ hostprocsysfs
        - containers:
    Good: a native sidecar (tcpxo-job)
        @@ restartPolicy: Always
    Good: a daemon that ends with its clients (tcpxo-mega-jobset)
        - initContainers:
        + containers:
            - name: tcpxo-daemon
        -     restartPolicy: Always
        ~ --num_hops=2 => --num_hops=2 --shutdown_when_all_clients_exited=true
        @@ hostprocsysfs
        - containers:
    Bad TCPX: an ordinary container in a Job (tcpx-job)
        - initContainers:
        + containers:
            - name: tcpx-daemon # <-
        -     restartPolicy: Always
        @@ hostprocsysfs
        - containers:
    Bad TCPX: the same in a JobSet (tcpx-jobset)
        - initContainers:
        + containers:
            - name: tcpx-daemon # <-
        -     restartPolicy: Always
        @@ hostprocsysfs
        - containers:
    Good TCPX: a native sidecar (tcpx-job)
        @@ restartPolicy: Always
    Good TCPX: a Job with a deadline (tcpx-jobset)
        @@ completionMode: Indexed
        + activeDeadlineSeconds: 7200
        - initContainers:
        + containers:
            - name: tcpx-daemon
        -     restartPolicy: Always
        @@ hostprocsysfs
        - containers:
    Source: GoogleCloudPlatform/container-engine-accelerators@992db81 gpudirect-tcpxo/best-practice.md.
    """
    daemon, worker = sidecar(pod), pod.worker
    if daemon is None or worker is None or daemon.kind != "main":
        return
    if not any(pod.workload.group == group and pod.workload.kind in kinds for group, kinds in _COMPLETING):
        return
    if pod.launchers or worker.start.idle or _WAY_OUT.search(daemon.start_text):
        return
    if pod.spec.at("activeDeadlineSeconds") is not None or pod.spec.at("shareProcessNamespace") is not None:
        return
    node: Node | None = pod.site.holder.parent
    while isinstance(node, Node):
        if node.at("activeDeadlineSeconds") is not None or _success_elsewhere(node, pod.name):
            return
        node = node.parent
    ends = [
        m.string("name")
        for m in worker.mounts
        if "terminat" in (m.string("name") or "") + (m.string("mountPath") or "")
    ]
    if ends:
        return
    yield pod.finding(
        daemon.name_place,
        f"The daemon '{daemon.name}' is an ordinary container; it never ends, so the pods of this {pod.workload.kind} never "
        "complete.",
        help="Move it to initContainers with restartPolicy: Always; Kubernetes ends such a sidecar with the worker.",
    )


def _success_elsewhere(node: Node, role: str) -> bool:
    """Whether a JobSet's success depends on other replicated jobs than this one."""
    listed = node.sequence("successPolicy", "targetReplicatedJobs")
    names = [i.text for i in listed.items if isinstance(i, Scalar)] if listed is not None else []
    return bool(names) and role not in names


@rule("TCPXO014", "sidecar-image", Severity.WARNING, on=WorkerPod, fabric=TCPXO)
@rule("TCPX014", "sidecar-image", Severity.WARNING, on=WorkerPod, fabric=TCPX)
def sidecar_image(pod: WorkerPod, rule: Rule) -> Iterator[Finding]:
    """The sidecar runs the fabric's own daemon, by a tag.

    The daemons of TCPXO and TCPX do not serve each other's plugin, and a daemon without a tag changes when nobody
    looks.

    Fix: take `tcpgpudmarxd-dev` from the folder of the fabric, or a mirror that keeps its name, with the tag paired
    with the plugin.
    Silent: mirrors that keep the name, digests.
    Bad: the daemon of TCPX (tcpxo-job)
        ~ gpudirect-tcpxo/tcpgpudmarxd-dev:v1.0.21 => gpudirect-tcpx/tcpgpudmarxd-dev:v2.0.12 # <-
    Bad: `latest` (tcpxo-mega-jobset)
        ~ tcpgpudmarxd-dev:v1.0.21 => tcpgpudmarxd-dev:latest # <-
    Good: a mirror (tcpxo-job)
        ~ mirror.example/gpudirect-tcpxo => mirror.example/vision
    Good: tag and digest (tcpxo-mega-jobset)
        ~ :v1.0.21 => :v1.0.21@sha256:0f3a51be2e7f4a9e2e1bb8e0ee5c8f2d0a3c1e6b7d8f9a0b1c2d3e4f5a6b7c8d
    Bad TCPX: the daemon of TCPXO (tcpx-job)
        ~ gpudirect-tcpx/tcpgpudmarxd-dev:v2.0.12 => gpudirect-tcpxo/tcpgpudmarxd-dev:v1.0.21 # <-
    Bad TCPX: no tag (tcpx-jobset)
        ~ tcpgpudmarxd-dev:v2.0.12 => tcpgpudmarxd-dev # <-
    Good TCPX: a mirror (tcpx-job)
        ~ mirror.example/gpudirect-tcpx => mirror.example/vision
    Good TCPX: tag and digest (tcpx-jobset)
        ~ :v2.0.12 => :v2.0.12@sha256:0f3a51be2e7f4a9e2e1bb8e0ee5c8f2d0a3c1e6b7d8f9a0b1c2d3e4f5a6b7c8d
    Source: GoogleCloudPlatform/container-engine-accelerators@992db81 gpudirect-tcpxo and gpudirect-tcpx.
    """
    daemon = sidecar(pod)
    if daemon is None or daemon.image_node is None or not isinstance(daemon.image, str):
        return
    profile = profile_of(pod)
    image, node = daemon.image, daemon.image_node
    tag = tag_of(daemon)
    folder = image.rsplit("/", 2)[-2] if "/" in image else ""
    folders = {"gpudirect-tcpxo", "gpudirect-tcpx"}
    release = release_of(tag) if tag else None
    numbers = ".".join(str(n) for n in release) if release is not None else ""
    sister = folder in folders and folder != profile["sidecar_folder"]
    if (
        folder not in folders
        and numbers.startswith(profile["sister_tag"])
        and daemon.image_name == profile["sidecar_image"]
    ):
        sister = True
    if sister:
        other = "GPUDirect-TCPX" if rule.family == "TCPXO" else "GPUDirect-TCPXO"
        yield pod.finding(
            Place(node),
            f"The image '{image}' is the daemon of {other}; it does not serve {profile['title']}, and the job runs over TCP.",
            help=f"Take {profile['sidecar_folder']}/{profile['sidecar_image']} with a tag v{profile['sidecar_tag']}x.",
            silences=("POD011",),
        )
    elif not daemon.image_name.startswith("tcpgpudmarxd"):
        yield pod.finding(
            Place(node),
            f"The image '{image}' of '{daemon.name}' is not called '{profile['sidecar_image']}'; it may not be the daemon.",
            help=f"Take {profile['sidecar_folder']}/{profile['sidecar_image']}, or a mirror that keeps the name.",
        )
    elif tag in ("", "latest"):
        how = "without a tag" if not tag else "with the tag 'latest'"
        yield pod.finding(
            Place(node),
            f"The daemon's image stands {how}; whether it fits the cluster's plugin cannot be told, and it changes unseen.",
            help="Write the tag that is paired with the plugin of your cluster.",
        )


def _plugin_of(pod: PodView, profile: dict[str, Any]) -> tuple[Release, Node] | None:
    """The release of the plugin's image that a pod carries."""
    for container in pod.containers:
        image, node = container.image, container.image_node
        if container.image_name not in profile["plugin_images"] or not isinstance(image, str) or node is None:
            continue
        folder = image.rsplit("/", 2)[-2] if "/" in image else ""
        if folder.startswith("gpudirect-") and folder != profile["sidecar_folder"]:
            continue
        release = release_of(tag_of(container) or "")
        if release is not None:
            return release, node
    return None


def _installed(pod: PodView, profile: dict[str, Any]) -> tuple[Release, Node, bool] | None:
    """The plugin's release by the installer in view, and whether it stands in the same file; None when several differ."""
    found: list[tuple[Release, Node, bool]] = []
    for manifest in pod.lookup.of_kind(pod.workload, "DaemonSet"):
        workload = workload_of(manifest)
        for site in workload.sites if workload is not None else []:
            one = _plugin_of(PodView(pod.workload, site, pod.lookup), profile)
            if one is not None:
                found.append((*one, manifest.document.source is pod.workload.manifest.document.source))
    near = [f for f in found if f[2]] or found
    return near[0] if near and len({f[0] for f in near}) == 1 else None


@rule("TCPXO015", "plugin-version-skew", Severity.WARNING, on=WorkerPod, fabric=TCPXO, also=(Severity.NOTE,), yields_to=("TCPXO014",))  # fmt: skip
@rule("TCPX015", "plugin-version-skew", Severity.NOTE, on=WorkerPod, fabric=TCPX, also=(Severity.WARNING,), yields_to=("TCPX014",))  # fmt: skip
def plugin_version_skew(pod: WorkerPod, rule: Rule) -> Iterator[Finding]:
    """The daemon's tag is the one paired with the plugin's.

    Daemon and plugin speak one protocol, which releases change. The installer is upgraded first, so a plugin ahead
    of the daemon is the documented order; a daemon ahead of the plugin is not supported.

    Fix: take both tags from one row of the table of releases.
    Silent: digests, `latest`, a plugin that is not in view; a plugin ahead of the daemon, and any pair of TCPX, is
    a note.
    Bad: a daemon ahead of the plugin (tcpxo-job)
        ~ :v1.0.21 => :v1.0.22 # <-
        ~ image: registry.example/train:1 => image: mirror.example/gpudirect-tcpxo/nccl-plugin-gpudirecttcpx-dev:v1.0.15
    Bad: the stale pair of an upgrade that was forgotten (tcpxo-mega-jobset)
        ~ :v1.0.21 => :v1.0.20 # <-
        ~ image: registry.example/train:1 => image: mirror.example/gpudirect-tcpxo/nccl-plugin-gpudirecttcpx-dev:v1.0.11
    Good: a pair (tcpxo-job)
        ~ image: registry.example/train:1 => image: mirror.example/gpudirect-tcpxo/nccl-plugin-gpudirecttcpx-dev:v1.0.15
    Good: a pair with suffixes (tcpxo-mega-jobset)
        ~ :v1.0.21 => :v1.0.13_1
        ~ image: registry.example/train:1 => image: mirror.example/gpudirect-tcpxo/nccl-plugin-gpudirecttcpx-dev:v1.0.7
    Bad TCPX: a daemon of another release (tcpx-job)
        ~ :v2.0.12 => :v2.0.15 # <-
        ~ image: registry.example/train:1 => image: mirror.example/gpudirect-tcpx/nccl-plugin-gpudirecttcpx-dev:v3.1.9
    Bad TCPX: a plugin of another release (tcpx-jobset)
        @@ tcpgpudmarxd-dev:v2.0.12 # <-
        ~ image: registry.example/train:1 => image: mirror.example/gpudirect-tcpx/nccl-plugin-gpudirecttcpx-dev:v3.1.12
    Good TCPX: a pair (tcpx-job)
        ~ image: registry.example/train:1 => image: mirror.example/gpudirect-tcpx/nccl-plugin-gpudirecttcpx-dev:v3.1.9
    Good TCPX: the newest pair (tcpx-jobset)
        ~ :v2.0.12 => :v2.0.15
        ~ image: registry.example/train:1 => image: mirror.example/gpudirect-tcpx/nccl-plugin-gpudirecttcpx-dev:v3.1.12
    Source: GoogleCloudPlatform/container-engine-accelerators@992db81 gpudirect-tcpxo/README.md and the history of
    its test manifests; NVIDIA/aicr#2296, #2379.
    """
    worker = pod.worker
    if worker is not None and worker.image_name in profile_of(pod)["plugin_images"] and worker.image_node is not None:
        untagged = tag_of(worker)
        if untagged in ("", "latest"):
            yield pod.finding(
                Place(worker.image_node),
                f"The plugin's image '{worker.image}' names no release; "
                + (
                    "its newest build is of 2023 and fails with drivers of today."
                    if rule.family == "TCPX"
                    else "no image of that tag is published."
                ),
                help="Write the tag that is paired with the daemon's.",
                severity=Severity.WARNING,
            )
            return
    daemon = sidecar(pod)
    tag = tag_of(daemon) if daemon is not None else None
    release = release_of(tag) if tag else None
    if daemon is None or release is None or daemon.image_node is None:
        return
    profile = profile_of(pod)
    pairs = listed_pairs(profile)
    own = _plugin_of(pod, profile)
    found = (*own, True) if own is not None else _installed(pod, profile)
    if found is None or (found[0], release) in pairs:
        return
    plugin, node, close = found
    fitting = paired_daemons(profile, plugin)
    step = profile.get("pair_step")
    # What no table says is told of daemons of the same line alone.
    reach = 1 if any(p == plugin for p, _ in pairs) else 2
    if not fitting or release in fitting or (step and plugin[:reach] != release[:reach]):
        return
    ahead = release > max(fitting)
    yield pod.finding(
        Place(daemon.image_node),
        f"The daemon '{tag}' is {'ahead of' if ahead else 'behind'} the plugin {written(plugin)}, which is paired with "
        f"{written(max(fitting))}; "
        + (
            "such a pair is not supported, and NCCL may fail or run over TCP."
            if ahead
            else "in an upgrade the daemon follows the plugin."
        ),
        help=f"Take the daemon's tag {written(max(fitting))}, or the plugin paired with {tag}.",
        severity=Severity.WARNING if ahead and step and close else Severity.NOTE,
        related=(Related(Place(node), "This is the plugin."),),
    )


@rule("TCPXO016", "sidecar-capabilities", Severity.ERROR, on=WorkerPod, fabric=TCPXO, yields_on_line=("POD005",))
@rule("TCPX016", "sidecar-capabilities", Severity.ERROR, on=WorkerPod, fabric=TCPX, yields_on_line=("POD005",))
def sidecar_capabilities(pod: WorkerPod, rule: Rule) -> Iterator[Finding]:
    """The daemon may set up the NICs: NET_ADMIN, and for TCPXO NET_BIND_SERVICE.

    Without them it cannot steer the flows to its queues; it ends and the job runs over TCP.

    Fix: add them to the sidecar's `securityContext.capabilities.add`.
    Silent: a privileged sidecar, ALL, a list that a template fills in.
    Bad: one of the two (tcpxo-job)
        ~ add: [NET_ADMIN, NET_BIND_SERVICE] => add: [NET_ADMIN] # <-
    Bad: none (tcpxo-mega-jobset)
        @@ - name: tcpxo-daemon # <-
        - securityContext:
        -   capabilities:
        -     add: [NET_ADMIN, NET_BIND_SERVICE]
    Good: both (tcpxo-job)
        @@ NET_BIND_SERVICE
    Good: privileged (tcpxo-mega-jobset)
        - securityContext:
        -   capabilities:
        -     add: [NET_ADMIN, NET_BIND_SERVICE]
        + securityContext:
        +   privileged: true
    Bad TCPX: another one (tcpx-job)
        ~ add: [NET_ADMIN] => add: [NET_RAW] # <-
    Bad TCPX: none (tcpx-jobset)
        @@ - name: tcpx-daemon # <-
        - securityContext:
        -   capabilities:
        -     add: [NET_ADMIN]
    Good TCPX: NET_ADMIN (tcpx-job)
        @@ NET_ADMIN
    Good TCPX: privileged (tcpx-jobset)
        - securityContext:
        -   capabilities:
        -     add: [NET_ADMIN]
        + securityContext:
        +   privileged: true
    Source: GoogleCloudPlatform/container-engine-accelerators@992db81 gpudirect-tcpxo/nccl-test-latest.yaml.
    """
    daemon = sidecar(pod)
    if daemon is None or daemon.privileged or daemon.capabilities_open or filled_in(daemon):
        return
    granted = {c.text.upper() for c in daemon.added_capabilities}
    lacking = [c for c in profile_of(pod)["capabilities"] if c not in granted and "ALL" not in granted]
    if not lacking:
        return
    spelt = {c.text.upper().replace("-", "_").removeprefix("CAP_"): c for c in daemon.added_capabilities}
    near = next((spelt[c] for c in lacking if c in spelt), None)
    if near is not None:
        right = near.text.upper().replace("-", "_").removeprefix("CAP_")
        yield pod.finding(
            Place(near),
            f"The capability '{near.text}' is not spelt as Kubernetes does; the daemon is not created.",
            help=f"Write '{right}'.",
            fix=Fix(f"write {right}", (SetValue(near, right),)),
        )
        return
    yield pod.finding(
        daemon.missing("securityContext", "capabilities", "add"),
        f"The daemon '{daemon.name}' lacks the {'capability' if len(lacking) == 1 else 'capabilities'} {joined(lacking)}; it "
        "cannot set up the NICs and ends, and the job runs over TCP.",
        help=f"Add {' and '.join(lacking)} to its securityContext.capabilities.add.",
        fix=Fix(
            f"add {' and '.join(lacking)}",
            (AddField(daemon.node, ("securityContext", "capabilities", "add"), lacking, append=True),),
        ),
    )


@rule("TCPXO017", "sidecar-requests-gpu", Severity.ERROR, on=WorkerPod, fabric=TCPXO)
@rule("TCPX017", "sidecar-requests-gpu", Severity.ERROR, on=WorkerPod, fabric=TCPX)
def sidecar_requests_gpu(pod: WorkerPod, rule: Rule) -> Iterator[Finding]:
    """The daemon asks for no GPU.

    The worker asks for all GPUs of the node; with the daemon's beside them the pod fits no node and stays Pending.
    The device annotation gives the daemon its devices.

    Fix: take `nvidia.com/gpu` away from the sidecar.
    Bad: a GPU of its own (tcpxo-job)
        @@ mirror.example
        + resources:
        +   limits:
        +     nvidia.com/gpu: 1 # <-
    Bad: all of them (tcpxo-mega-jobset)
        @@ mirror.example
        + resources:
        +   limits:
        +     nvidia.com/gpu: 8 # <-
    Good: CPU and memory (tcpxo-job)
        @@ mirror.example
        + resources:
        +   requests:
        +     cpu: 200m
        +     memory: 1Gi
    Good: nothing (tcpxo-mega-jobset)
        @@ mirror.example
    Bad TCPX: a GPU of its own (tcpx-job)
        @@ mirror.example
        + resources:
        +   limits:
        +     nvidia.com/gpu: 1 # <-
    Bad TCPX: all of them (tcpx-jobset)
        @@ mirror.example
        + resources:
        +   limits:
        +     nvidia.com/gpu: 8 # <-
    Good TCPX: CPU and memory (tcpx-job)
        @@ mirror.example
        + resources:
        +   requests:
        +     cpu: 200m
        +     memory: 1Gi
    Good TCPX: nothing (tcpx-jobset)
        @@ mirror.example
    Source: GoogleCloudPlatform/container-engine-accelerators@992db81 gpudirect-tcpxo.
    """
    daemon = sidecar(pod)
    node = daemon.resource_node("nvidia.com/gpu") if daemon is not None else None
    if daemon is None or node is None or daemon is pod.worker:
        return
    if isinstance(node, Scalar) and (node.open or node.text in ("0", "")):
        return
    yield pod.finding(
        Place(node),
        f"The daemon '{daemon.name}' asks for {node.text if isinstance(node, Scalar) else ''} GPUs beside the worker's; a node "
        f"has {profile_of(pod)['gpus']}, so the pod stays Pending.",
        help=f"Take nvidia.com/gpu away from the daemon; '{DEVICES}{daemon.name}' gives it the devices.",
        fix=Fix("remove the GPUs", (Remove(node),)),
    )


_FLAG = re.compile(r"--?(?:no)?([a-z][a-z0-9_]*)(?:=|$)")


@rule("TCPXO020", "sidecar-args", Severity.ERROR, on=WorkerPod, fabric=TCPXO, also=(Severity.NOTE,))
def sidecar_args(pod: WorkerPod, rule: Rule) -> Iterator[Finding]:
    """The daemon is given flags that its release knows.

    A flag that it does not know stops it. A retired one (`--uid`, `--alsologtostderr` from v1.0.18, `--num_nics`
    from v1.0.20) prints an error and does nothing.

    Fix: take the flag away; `--num_hops=2` is all that it needs, and the default.
    Silent: releases before the flag was retired; texts behind a word that cannot be seen.
    Bad: a misspelt flag (tcpxo-job)
        ~ --num_hops=2 => --num_hop=2 # <-
    Bad: TCPX's flags (tcpxo-mega-jobset)
        ~ --num_hops=2 => --num_hops=2 --gpu_nic_preset a3vm # <-
    Good: the documented one (tcpxo-job)
        @@ --num_hops=2
    Good: old flags of an old release (tcpxo-mega-jobset)
        ~ :v1.0.21 => :v1.0.13
        ~ --num_hops=2 => --num_hops=2 --num_nics=8 --uid= --alsologtostderr
    Source: google/nccl-plugin-gpudirect-tcpxo@04815d1 README.md and buffer_mgmt_daemon.
    """
    daemon = sidecar(pod)
    if daemon is None:
        return
    flags = profile_of(pod)["flags"]
    release = release_of(tag_of(daemon) or "")
    retired: list[tuple[str, Word]] = []
    for word in _daemon_words(daemon, flags["program"]):
        found = _FLAG.match(word.raw)
        if found is None:
            continue
        name = found[1]
        plain = name if name in flags["known"] or name in flags["retired"] else word.raw.lstrip("-").partition("=")[0]
        if plain in flags["known"]:
            continue
        if plain in flags["retired"]:
            if release is not None and release >= parsed(flags["retired"][plain]):
                retired.append((plain, word))
            continue
        newest = parsed(profile_of(pod)["pairs"][-1][1])
        yield pod.finding(
            _place(daemon, word),
            f"The daemon has no flag '--{plain}'; it stops at once with an unknown flag, and the job runs over TCP.",
            help="Take the flag away; `--num_hops=2` is all that it needs, and the default.",
            severity=None if release is not None and release <= newest else Severity.NOTE,
        )
        return
    if retired:
        names = [f"--{n}" for n, _ in retired]
        one = len(names) == 1
        yield pod.finding(
            _place(daemon, retired[0][1]),
            f"{joined(names)} {'is' if one else 'are'} retired in the daemon {tag_of(daemon)}; it prints an error for "
            f"{'it' if one else 'each'} and goes on.",
            help=f"Take {'it' if one else 'them'} away.",
            severity=Severity.NOTE,
        )


def _daemon_words(daemon: ContainerView, programs: list[str]) -> Iterator[Word]:
    """The words behind the daemon's program, up to the first that cannot be seen."""
    launch = launch_of(daemon)
    for program in launch.programs:
        words = program.invocation.words
        name = program.invocation.name
        if isinstance(name, Unknown) or name not in programs:
            continue
        for word in words[1:]:
            if isinstance(word.text, Unknown) or word.open or word.raw == "--":
                return
            yield word


def _place(container: ContainerView, word: Word) -> Place:
    source = word.source
    words = container.words
    if not 0 <= source < len(words) or not isinstance(words[source].value, str):
        return container.name_place
    return Place(words[source], within=(word.start, max(word.end, word.start + 1)))


@rule("TCPXO029", "env-on-sidecar", Severity.WARNING, on=WorkerPod, fabric=TCPXO, also=(Severity.NOTE,))
@rule("TCPX029", "env-on-sidecar", Severity.WARNING, on=WorkerPod, fabric=TCPX, also=(Severity.NOTE,))
def env_on_sidecar(pod: WorkerPod, rule: Rule) -> Iterator[Finding]:
    """The worker's variables are the worker's.

    NCCL runs in the worker and the plugin with it; a variable on the daemon is read by nobody.

    Fix: move it to the worker's env.
    Silent: LD_LIBRARY_PATH and the daemon's own variables; what the worker has too is a note.
    Bad: the LLCM directory on the daemon (tcpxo-job)
        @@ env:
        +   - name: NCCL_FASTRAK_LLCM_DEVICE_DIRECTORY # <-
        +     value: /dev/aperture_devices
        @@ containers:
        - - name: NCCL_FASTRAK_LLCM_DEVICE_DIRECTORY
        -   value: /dev/aperture_devices
    Bad: a variable of NCCL (tcpxo-mega-jobset)
        @@ env:
        +   - name: NCCL_DEBUG # <-
        +     value: INFO
    Good: in the worker (tcpxo-job)
        @@ NCCL_FASTRAK
    Good: the daemon's own (tcpxo-mega-jobset)
        @@ env:
        +   - name: HEALTH_CHECK_LOG_FILE
        +     value: /run/health-check
    Bad TCPX: the daemon's sockets named on the daemon (tcpx-job)
        @@ env:
        +   - name: NCCL_GPUDIRECTTCPX_FORCE_ACK # <-
        +     value: "0"
    Bad TCPX: a variable of NCCL (tcpx-jobset)
        @@ env:
        +   - name: NCCL_DEBUG # <-
        +     value: INFO
    Good TCPX: in the worker (tcpx-job)
        @@ NCCL_GPUDIRECTTCPX
    Good TCPX: the daemon's own (tcpx-jobset)
        @@ env:
        +   - name: GLOG_v
        +     value: "1"
    Source: google/nccl-plugin-gpudirect-tcpxo@04815d1; NVIDIA/JAX-Toolbox#1481.
    """
    daemon, worker = sidecar(pod), pod.worker
    if daemon is None or worker is None:
        return
    found = [v for v in daemon.env.starting("NCCL_") if v.origin == "env" and v.name != "NCCL_LIB_DIR"]
    if not found:
        return
    only = [v for v in found if v.name not in pod.ranks_env]
    first = (only or found)[0]
    names = quoted([v.name for v in (only or found)])
    many = len(only or found) > 1
    entry = first.place.node.parent
    name = entry.at("name") if isinstance(entry, Mapping) else None
    yield pod.finding(
        Place(name if name is not None else first.place.node),
        f"{names} {'are' if many else 'is'} set on the daemon '{daemon.name}', where no NCCL runs; the plugin reads "
        f"{'them' if many else 'it'} in the worker '{worker.name}'.",
        help=f"Move {'them' if many else 'it'} to the env of '{worker.name}'.",
        severity=None if only else Severity.NOTE,
        related=(Related(worker.name_place, "This is the worker."),),
        silences=(f"{rule.family}021",) if any(v.name.endswith("LLCM_DEVICE_DIRECTORY") for v in only) else (),
    )


@rule("TCPXO031", "health-log-name", Severity.WARNING, on=WorkerPod, fabric=TCPXO)
def health_log_name(pod: WorkerPod, rule: Rule) -> Iterator[Finding]:
    """The daemon's health log has no underscore in its name.

    The daemon refuses such a name, the probe reads a file that never comes, and the pod is not started.

    Fix: write a name such as /run/health-check.
    Silent: underscores in the folders.
    Bad: an underscore (tcpxo-job)
        @@ env:
        +   - name: HEALTH_CHECK_LOG_FILE
        +     value: /run/health_check # <-
    Bad: in the file's ending (tcpxo-mega-jobset)
        @@ env:
        +   - name: HEALTH_CHECK_LOG_FILE
        +     value: /tmp/rxdm.health_log # <-
    Good: a dash (tcpxo-job)
        @@ env:
        +   - name: HEALTH_CHECK_LOG_FILE
        +     value: /run/health-check
    Good: an underscore in the folder (tcpxo-mega-jobset)
        @@ env:
        +   - name: HEALTH_CHECK_LOG_FILE
        +     value: /run/rxdm_logs/health-check
    Source: GoogleCloudPlatform/container-engine-accelerators@992db81 gpudirect-tcpxo/best-practice.md.
    """
    daemon = sidecar(pod)
    variable = daemon.env.get("HEALTH_CHECK_LOG_FILE") if daemon is not None else None
    if daemon is None or variable is None or not isinstance(variable.value, str):
        return
    if "_" not in variable.value.rsplit("/", 1)[-1]:
        return
    yield pod.finding(
        variable.place,
        f"The daemon does not take a log file with an underscore in its name: '{variable.value}'; the health check reads "
        "nothing.",
        help="Write a name without underscores, such as /run/health-check, here and in the probe.",
    )

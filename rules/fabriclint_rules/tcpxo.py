"""TCPXO and TCPX: annotations and sidecar of GKE's GPUDirect fabrics. One mechanism, two profiles."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from fabriclint.document import Document
from fabriclint.embedded import EmbeddedError, parse_embedded
from fabriclint.node import Mapping, Node, Scalar, Sequence, open_value
from fabriclint.pod import ContainerView, WorkerPod
from fabriclint.rule import AddField, Finding, Fix, Place, Related, ReplaceText, Rule, Severity, rule
from fabriclint.views import JobView

TCPXO, TCPX = "gke-tcpxo", "gke-tcpx"
INTERFACES = "networking.gke.io/interfaces"
DEFAULT = "networking.gke.io/default-interface"
DEVICES = "devices.gke.io/container."
_LIST = "kubectl get networks.networking.gke.io -o jsonpath='{range .items[*]}{.metadata.name}{\"\\n\"}{end}'"


def _profile(pod: WorkerPod) -> dict[str, Any]:
    assert pod.fabric is not None
    profile: dict[str, Any] = pod.fabric.profile
    return profile


def _own(pod: WorkerPod, rule: Rule) -> bool:
    """Whether the rule's family is that of the pod's fabric."""
    return pod.fabric is not None and bool(_profile(pod)["family"] == rule.family)


def sidecar(pod: WorkerPod) -> ContainerView | None:
    """The fabric's daemon, told by the last part of its image's name, else by its own name."""
    wanted = _profile(pod)["sidecar_image"]
    for container in pod.containers:
        if container.image_name in (wanted, "tcpgpudmarxd"):
            return container
    names = (_profile(pod)["sidecar"], "tcpxo-daemon", "tcpx-daemon", "fastrak-daemon", "tcpd-daemon")
    return next((c for c in pod.containers if c.name in names), None)


def old_form(pod: WorkerPod) -> bool:
    """The privileged form under hostNetwork, which needs no annotations."""
    return pod.host_network


def _entries(pod: WorkerPod) -> tuple[Scalar, list[Node]] | None:
    """The entries of the interfaces annotation, when it is a list that can be read."""
    node = pod.annotations.get(INTERFACES)
    if node is None or not isinstance(node.value, str) or open_value(node.value):
        return None
    parsed = parse_embedded(node, json=True)
    if isinstance(parsed, Document) and isinstance(parsed.root, Sequence):
        return node, parsed.root.items
    return None


@rule("TCPXO001", "missing-interfaces", Severity.ERROR, on=WorkerPod, fabric=TCPXO, yields_to=("TCPXO010",))
@rule("TCPX001", "missing-interfaces", Severity.ERROR, on=WorkerPod, fabric=TCPX, yields_to=("TCPX010",))
def missing_interfaces(pod: WorkerPod, rule: Rule) -> Iterator[Finding]:
    """The worker's pod template names the GPU networks in `networking.gke.io/interfaces`.

    Without the annotation the pod gets its ordinary interface alone, the plugin finds no GPU NIC, and NCCL falls back
    to TCP.

    Fix: add the annotation to the pod template's metadata, with eth0 on `default` and one entry for each GPU NIC's
    network, as the cluster names them.
    Silent: pods on the host's network (the older privileged form), annotations that a template fills in.
    Bad: no annotations on the pod template
        metadata: {labels: {app: train}}
    Good: the annotation on the pod template
        metadata:
          annotations:
            networking.gke.io/interfaces: '[{"interfaceName":"eth0","network":"default"}, ...]'
    Source: GoogleCloudPlatform/container-engine-accelerators@992db81 gpudirect-tcpxo; NVIDIA AICR.
    """
    if old_form(pod) or INTERFACES in pod.annotations or pod.annotations_open or pod.claim_names:
        return
    profile = _profile(pod)
    yield pod.finding(
        pod.missing_annotation(),
        f"The pod template lacks the annotation '{INTERFACES}'; the pod gets no GPU NIC and NCCL falls back to TCP.",
        help=f"Add it with {profile['interfaces']} entries: eth0 on 'default' and one for each network that `{_LIST}` prints.",
    )


@rule("TCPXO002", "interfaces-not-json", Severity.ERROR, on=WorkerPod, fabric=TCPXO)
@rule("TCPX002", "interfaces-not-json", Severity.ERROR, on=WorkerPod, fabric=TCPX)
def interfaces_not_json(pod: WorkerPod, rule: Rule) -> Iterator[Finding]:
    """The interfaces annotation is a JSON array of `interfaceName` and `network`.

    GKE's webhook refuses a pod whose annotation it cannot read, or attaches nothing.

    Fix: write an array of objects with double quotes, each with `interfaceName` and `network`.
    Bad: single quotes inside
        networking.gke.io/interfaces: "[{'interfaceName':'eth0'}]"
    Good: JSON
        networking.gke.io/interfaces: '[{"interfaceName":"eth0","network":"default"}]'
    Source: GoogleCloudPlatform/container-engine-accelerators@992db81 gpudirect-tcpxo.
    """
    node = pod.annotations.get(INTERFACES)
    if node is None or not isinstance(node.value, str) or open_value(node.value):
        return
    parsed = parse_embedded(node, json=True)
    if isinstance(parsed, EmbeddedError):
        at = min(parsed.offset, max(len(node.value) - 1, 0))
        yield pod.finding(
            Place(node, within=(at, min(at + 1, len(node.value)))),
            f"'{INTERFACES}' is no JSON from here on; the networks are not attached.",
            help='Write [{"interfaceName":"eth0","network":"default"}, ...] with double quotes and no trailing comma.',
        )
        return
    root = parsed.root
    if not isinstance(root, Sequence):
        yield pod.finding(Place(node), f"'{INTERFACES}' is no JSON array; the networks are not attached.",
                          help="Write an array of objects.")  # fmt: skip
        return
    for item in root.items:
        if (
            not isinstance(item, Mapping)
            or item.string("interfaceName") is None
            or (item.string("network") is None and item.string("interface") is None)
        ):
            yield pod.finding(
                Place(item),
                f"An entry of '{INTERFACES}' lacks 'interfaceName' or 'network'; GKE refuses the annotation.",
                help='Each entry is {"interfaceName": "ethN", "network": "NAME"}.',
            )
            return


@rule(
    "TCPXO003",
    "interface-count",
    Severity.ERROR,
    on=WorkerPod,
    fabric=TCPXO,
    also=(Severity.WARNING,),
    yields_to=("TCPXO002",),
)
@rule(
    "TCPX003",
    "interface-count",
    Severity.ERROR,
    on=WorkerPod,
    fabric=TCPX,
    also=(Severity.WARNING,),
    yields_to=("TCPX002",),
)
def interface_count(pod: WorkerPod, rule: Rule) -> Iterator[Finding]:
    """The interfaces annotation names the default interface and every GPU NIC.

    TCPXO gives each of the eight GPUs its own NIC (TCPX: four NICs for eight GPUs). With fewer entries the daemon
    does not find the NICs that it counts and the job runs over TCP, or starts and is slow.

    Fix: list eth0 and every GPU network of the cluster; `kubectl get networks.networking.gke.io` prints their names.
    Silent: more entries than needed under the generic contract; a subset chosen on purpose is a warning.
    Bad: eight entries, eth0 to eth7
        networking.gke.io/interfaces: '[{"interfaceName":"eth0","network":"default"}, ... eth7]'
    Good: nine entries, eth0 to eth8
        networking.gke.io/interfaces: '[{"interfaceName":"eth0","network":"default"}, ... eth8]'
    Source: GoogleCloudPlatform/container-engine-accelerators@992db81 gpudirect-tcpxo/nccl-test-latest.yaml;
        google/nccl-plugin-gpudirect-tcpxo@04815d1 (number of fabric NICs).
    """
    found = _entries(pod)
    if found is None:
        return
    node, items = found
    wanted = _profile(pod)["interfaces"]
    if len(items) < wanted:
        chosen = "NCCL_FASTRAK_ALLOW_NIC_SUBSET" in pod.ranks_env
        yield pod.finding(
            Place(node, on_key=True),
            f"'{INTERFACES}' has {len(items)} entries, but {_profile(pod)['title']} needs {wanted}: "
            f"eth0 and {wanted - 1} GPU NICs; the missing NICs' GPUs are off the fabric.",
            help=f"Add the missing networks; `{_LIST}` prints their names.",
            severity=Severity.WARNING if chosen else None,
        )
    elif len(items) > wanted and pod.contract == "aicr":
        yield pod.finding(
            Place(node, on_key=True),
            f"'{INTERFACES}' has {len(items)} entries, {len(items) - wanted} more than {_profile(pod)['title']} uses.",
            help=f"Keep eth0 and the {wanted - 1} GPU NICs.",
            severity=Severity.WARNING,
            by_contract=True,
        )


@rule("TCPXO004", "interface-names", Severity.ERROR, on=WorkerPod, fabric=TCPXO, yields_to=("TCPXO002",))
@rule("TCPX004", "interface-names", Severity.ERROR, on=WorkerPod, fabric=TCPX, yields_to=("TCPX002",))
def interface_names(pod: WorkerPod, rule: Rule) -> Iterator[Finding]:
    """Interfaces and networks are named once each, eth0 is on `default`, and the numbers have no gap.

    A repeated name attaches one network twice and another not at all.

    Fix: number the interfaces eth0, eth1 ... and give each its own network.
    Bad: a network twice
        [{"interfaceName":"eth1","network":"net1"},{"interfaceName":"eth2","network":"net1"}]
    Good: each its own
        [{"interfaceName":"eth1","network":"net1"},{"interfaceName":"eth2","network":"net2"}]
    Source: GoogleCloudPlatform/container-engine-accelerators@992db81 gpudirect-tcpxo.
    """
    found = _entries(pod)
    if found is None:
        return
    _, items = found
    names: dict[str, Node] = {}
    networks: dict[str, Node] = {}
    for item in items:
        for key, seen in (("interfaceName", names), ("network", networks)):
            value = item.at(key)
            if not isinstance(value, Scalar) or not isinstance(value.value, str) or open_value(value.value):
                continue
            first = seen.get(value.value)
            if first is not None:
                what = "interface" if key == "interfaceName" else "network"
                yield pod.finding(
                    Place(value),
                    f"The {what} '{value.value}' is named twice in '{INTERFACES}'; one GPU NIC is not attached.",
                    help="Give each entry an interface and a network of its own.",
                    related=(Related(Place(first), f"'{value.value}' stands here first."),),
                )
                return
            seen[value.value] = value
    if len(names) != len(items):
        return
    eth0 = names.get("eth0")
    if eth0 is None:
        yield pod.finding(
            Place(pod.annotations[INTERFACES], on_key=True),
            f"'{INTERFACES}' has no entry for 'eth0'; the pod's own network is not attached.",
            help='Add {"interfaceName":"eth0","network":"default"}.',
        )
        return
    parent = eth0.parent
    network = parent.at("network") if parent is not None else None
    if isinstance(network, Scalar) and network.text != "default" and not network.open:
        yield pod.finding(
            Place(network),
            f"'eth0' is on the network '{network.text}', but the pod's own network is 'default'.",
            help='Write "network":"default" for eth0.',
        )
        return
    numbers = sorted(int(n[3:]) for n in names if n.startswith("eth") and n[3:].isdigit())
    if len(numbers) == len(items) and numbers != list(range(len(numbers))):
        gap = next(i for i, n in enumerate(numbers) if n != i)
        yield pod.finding(
            Place(pod.annotations[INTERFACES], on_key=True),
            f"The interfaces of '{INTERFACES}' have a gap: 'eth{gap}' is missing.",
            help="Number the interfaces without a gap.",
        )


@rule(
    "TCPXO005",
    "network-name-form",
    Severity.ERROR,
    on=WorkerPod,
    fabric=TCPXO,
    also=(Severity.WARNING,),
    yields_to=("TCPXO002",),
    yields_on_line=("TCPXO004",),
)
@rule(
    "TCPX005",
    "network-name-form",
    Severity.ERROR,
    on=WorkerPod,
    fabric=TCPX,
    also=(Severity.WARNING,),
    yields_to=("TCPX002",),
    yields_on_line=("TCPX004",),
)
def network_name_form(pod: WorkerPod, rule: Rule) -> Iterator[Finding]:
    """Networks are named by their bare object names.

    `kubectl get ... -o name` puts `network.networking.gke.io/` in front, and GKE finds no network of that name.

    Fix: remove the prefix.
    Silent: any bare name under the generic contract; AICR's clusters have `gpu-nic` in each.
    Bad: pasted from -o name
        {"interfaceName":"eth1","network":"network.networking.gke.io/gpu-nic-0"}
    Good: the bare name
        {"interfaceName":"eth1","network":"gpu-nic-0"}
    Source: NVIDIA AICR, "Attaching a Training Workload to the Cluster Fabric".
    """
    found = _entries(pod)
    if found is None:
        return
    _, items = found
    for item in items:
        value = item.at("network")
        if not isinstance(value, Scalar) or not isinstance(value.value, str) or open_value(value.value):
            continue
        if "/" in value.value:
            bare = value.value.rsplit("/", 1)[-1]
            yield pod.finding(
                Place(value),
                f"'{value.value}' is not a network's bare name; GKE finds no network of that name.",
                help=f"Write '{bare}'.",
                fix=Fix("remove the prefix", (ReplaceText(value, (0, len(value.value)), bare),)),
            )
        elif (
            pod.contract == "aicr"
            and rule.family == "TCPXO"
            and value.value != "default"
            and "gpu-nic" not in value.value
        ):
            yield pod.finding(
                Place(value),
                f"The network '{value.value}' does not hold 'gpu-nic', as AICR's clusters name the GPU NICs.",
                help=f"Take the names that `{_LIST} | grep gpu-nic` prints.",
                severity=Severity.WARNING,
                by_contract=True,
            )


@rule(
    "TCPXO006",
    "default-interface",
    Severity.ERROR,
    on=WorkerPod,
    fabric=TCPXO,
    yields_to=("TCPXO001", "TCPXO002", "TCPXO010"),
)
@rule(
    "TCPX006",
    "default-interface",
    Severity.ERROR,
    on=WorkerPod,
    fabric=TCPX,
    yields_to=("TCPX001", "TCPX002", "TCPX010"),
)
def default_interface(pod: WorkerPod, rule: Rule) -> Iterator[Finding]:
    """`networking.gke.io/default-interface` names one of the interfaces.

    GKE does not attach several networks to a pod that does not say which is its default.

    Fix: add `networking.gke.io/default-interface: eth0`.
    Bad: the annotation is missing
        networking.gke.io/interfaces: '[...]'
    Good: both
        networking.gke.io/default-interface: eth0
    Source: GoogleCloudPlatform/container-engine-accelerators@992db81 gpudirect-tcpxo.
    """
    if old_form(pod) or pod.annotations_open or INTERFACES not in pod.annotations:
        return
    node = pod.annotations.get(DEFAULT)
    if node is None:
        yield pod.finding(
            pod.missing_annotation(),
            f"The annotation '{DEFAULT}' is missing beside '{INTERFACES}'; the networks are not attached.",
            help=f"Add '{DEFAULT}: eth0'.",
        )
        return
    found = _entries(pod)
    if found is None or node.open:
        return
    names = [i.string("interfaceName") for i in found[1]]
    if node.text not in names:
        yield pod.finding(
            Place(node), f"The default interface '{node.text}' is not among the interfaces of '{INTERFACES}'.",
            help="Name one of them: eth0.",
        )  # fmt: skip


@rule(
    "TCPXO007",
    "missing-device-annotation",
    Severity.ERROR,
    on=WorkerPod,
    fabric=TCPXO,
    yields_to=("TCPXO010", "TCPXO011", "TCPXO008"),
)
@rule(
    "TCPX007",
    "missing-device-annotation",
    Severity.ERROR,
    on=WorkerPod,
    fabric=TCPX,
    yields_to=("TCPX010", "TCPX011", "TCPX008"),
)
def missing_device_annotation(pod: WorkerPod, rule: Rule) -> Iterator[Finding]:
    """The sidecar is given the GPU devices by `devices.gke.io/container.NAME`.

    The daemon asks for no GPU, so without the annotation it sees no device, ends, and NCCL falls back to TCP.

    Fix: add the annotation with the device list, NAME being the sidecar's name.
    Silent: a privileged sidecar, which sees the host's devices.
    Bad: no device annotation
        networking.gke.io/interfaces: '[...]'
    Good: the list for the sidecar
        devices.gke.io/container.tcpxo-daemon: |
          - path: /dev/nvidia0
          ...
    Source: GoogleCloudPlatform/container-engine-accelerators@992db81 nri_device_injector.
    """
    daemon = sidecar(pod)
    if daemon is None or daemon.privileged or pod.annotations_open:
        return
    if any(k.startswith(DEVICES) for k in pod.annotations):
        return
    yield pod.finding(
        pod.missing_annotation(),
        f"The annotation '{DEVICES}{daemon.name}' is missing; the sidecar sees no GPU device and ends.",
        help=f"Add it with the {len(_profile(pod)['devices'])} devices, from /dev/nvidia0 to {_profile(pod)['devices'][-1]}.",
    )


@rule(
    "TCPXO008",
    "device-annotation-target",
    Severity.ERROR,
    on=WorkerPod,
    fabric=TCPXO,
    yields_to=("TCPXO011",),
)
@rule("TCPX008", "device-annotation-target", Severity.ERROR, on=WorkerPod, fabric=TCPX, yields_to=("TCPX011",))
def device_annotation_target(pod: WorkerPod, rule: Rule) -> Iterator[Finding]:
    """The device annotation names the sidecar's container.

    An annotation for a container that does not exist is ignored without a word.

    Fix: make the part behind `container.` equal to the sidecar's name.
    Silent: annotations for other containers beside one for the sidecar.
    Bad: another name
        devices.gke.io/container.tcpx-daemon: ...   # the sidecar is called tcpxo-daemon
    Good: the same name
        devices.gke.io/container.tcpxo-daemon: ...
    Source: GoogleCloudPlatform/container-engine-accelerators@992db81 nri_device_injector/nri_device_injector.go.
    """
    daemon = sidecar(pod)
    given = {k[len(DEVICES) :]: v for k, v in pod.annotations.items() if k.startswith(DEVICES)}
    if daemon is None or not given or daemon.name in given or daemon.privileged:
        return
    for name, node in given.items():
        yield pod.finding(
            Place(node, on_key=True),
            f"'{DEVICES}{name}' names no container of this pod that needs it: the sidecar is called '{daemon.name}', and an "
            "annotation for another name is ignored.",
            help=f"Write '{DEVICES}{daemon.name}'.",
            related=(Related(daemon.name_place, "This is the sidecar."),),
        )
        return


@rule("TCPXO009", "device-list", Severity.ERROR, on=WorkerPod, fabric=TCPXO, yields_to=("TCPXO011",))
@rule("TCPX009", "device-list", Severity.ERROR, on=WorkerPod, fabric=TCPX, yields_to=("TCPX011",))
def device_list(pod: WorkerPod, rule: Rule) -> Iterator[Finding]:
    """The device list is YAML and names every GPU and control device.

    A list that is none, or a path that does not exist, makes the container's creation fail; a missing device makes
    the daemon end.

    Fix: list nvidia0 to nvidia7, nvidiactl, nvidia-uvm and (TCPXO) dmabuf_import_helper, each as `- path: /dev/...`.
    Bad: without the import helper
        - path: /dev/nvidia0
        - path: /dev/nvidiactl
    Good: all of them
        - path: /dev/nvidia0
        ...
        - path: /dev/dmabuf_import_helper
    Source: GoogleCloudPlatform/container-engine-accelerators@992db81 gpudirect-tcpxo/nccl-test-latest.yaml.
    """
    daemon = sidecar(pod)
    node = pod.annotations.get(DEVICES + daemon.name) if daemon is not None else None
    if node is None or not isinstance(node.value, str) or open_value(node.value):
        return
    parsed = parse_embedded(node)
    root = parsed.root if isinstance(parsed, Document) else None
    paths: set[str] = set()
    ok = isinstance(root, Sequence)
    if isinstance(root, Sequence):
        for item in root.items:
            path = item.string("path") if isinstance(item, Mapping) else None
            ok = ok and path is not None
            paths.add(path or "")
    if not ok:
        yield pod.finding(
            Place(node, on_key=True),
            f"'{node.key}' is no YAML list of devices; the container cannot be created.",
            help="Write one `- path: /dev/...` a line.",
        )
        return
    missing = [d for d in _profile(pod)["devices"] if d not in paths]
    if missing:
        yield pod.finding(
            Place(node, on_key=True),
            f"The device list lacks '{', '.join(missing)}'; the sidecar ends without them.",
            help=f"Add {', '.join(f'`- path: {d}`' for d in missing[:3])}{' ...' if len(missing) > 3 else ''}.",
        )


_FABRIC_ANNOTATIONS = (INTERFACES, DEFAULT, DEVICES)


@rule("TCPXO010", "annotations-misplaced", Severity.ERROR, on=JobView)
def annotations_misplaced(job: JobView) -> Iterator[Finding]:
    """The fabric's annotations stand on the pod template.

    Annotations of the object, of a replicated job or of the Job template do not reach the pods: nothing is attached.

    Fix: move them to the pod template's metadata (`template.spec.template.metadata` in a replicated job).
    Silent: kind Pod; kinds whose own annotations reach their pods.
    Bad: on the JobSet itself
        kind: JobSet
        metadata: {annotations: {networking.gke.io/interfaces: '[...]'}}
    Good: on the pod template
        template: {metadata: {annotations: {networking.gke.io/interfaces: '[...]'}}}
    Source: kubernetes-sigs/jobset@f22e565; GoogleCloudPlatform/container-engine-accelerators@992db81.
    """
    for pod in job.pods:
        if pod.metadata is job.workload.manifest.root.at("metadata") or pod.site.form != "template":
            continue
        if any(k.startswith(_FABRIC_ANNOTATIONS) for k in pod.annotations):
            continue
        node: Node | None = pod.site.holder.parent
        while node is not None:
            metadata = node.mapping("metadata") if isinstance(node, Mapping) else None
            annotations = metadata.mapping("annotations") if metadata is not None else None
            if annotations is not None:
                wrong = [k for k in annotations.fields if k.startswith(_FABRIC_ANNOTATIONS)]
                if wrong:
                    value = annotations.fields[wrong[0]]
                    code = "TCPX" if pod.fabric is not None and pod.fabric.name == TCPX else "TCPXO"
                    yield Finding(
                        Place(value, on_key=True),
                        f"'{wrong[0]}' stands where it does not reach the pods; only the pod template's annotations do, so no "
                        "network or device is attached.",
                        help="Move the annotations to the pod template's metadata.",
                        silences=tuple(f"{code}{n}" for n in ("001", "006", "007")),
                        subject=pod,
                    )
                    return
            node = node.parent


@rule("TCPXO011", "missing-sidecar", Severity.ERROR, on=WorkerPod, fabric=TCPXO)
@rule("TCPX011", "missing-sidecar", Severity.ERROR, on=WorkerPod, fabric=TCPX)
def missing_sidecar(pod: WorkerPod, rule: Rule) -> Iterator[Finding]:
    """A pod on this fabric carries the receive daemon as a sidecar.

    The plugin talks to the daemon through sockets; without it NCCL fails or falls back to TCP.

    Fix: add the daemon as a native sidecar: an init container with `restartPolicy: Always`.
    Silent: containers that a template adds.
    Bad: annotations and no daemon
        containers: [{name: node, image: train}]
    Good: the daemon beside the worker
        initContainers: [{name: tcpxo-daemon, restartPolicy: Always, image: .../tcpgpudmarxd-dev:v1.0.17}]
    Source: GoogleCloudPlatform/container-engine-accelerators@992db81 gpudirect-tcpxo.
    """
    if sidecar(pod) is not None:
        return
    for key in ("containers", "initContainers"):
        node = pod.spec.at(key)
        if isinstance(node, Scalar) and node.value is not None:
            return
    if any(c.image is not None and not isinstance(c.image, str) for c in pod.containers if c is not pod.worker):
        return
    has_annotation = any(k.startswith((INTERFACES, DEVICES)) for k in pod.annotations)
    if not has_annotation:
        return
    node = pod.spec.at("initContainers")
    yield pod.finding(
        Place(node if node is not None else pod.spec, on_key=True),
        f"The pod has the annotations of {_profile(pod)['title']} but no '{_profile(pod)['sidecar']}' sidecar; "
        "the plugin finds no daemon and the job runs over TCP.",
        help=f"Add '{_profile(pod)['sidecar']}' to initContainers with restartPolicy: Always, its image paired with the "
        "plugin of your cluster.",
    )


@rule("TCPXO012", "sidecar-not-native", Severity.ERROR, on=WorkerPod, fabric=TCPXO)
@rule("TCPX012", "sidecar-not-native", Severity.ERROR, on=WorkerPod, fabric=TCPX)
def sidecar_not_native(pod: WorkerPod, rule: Rule) -> Iterator[Finding]:
    """The daemon among the init containers restarts always.

    An ordinary init container has to end before the worker starts, and the daemon never ends: the pod stalls in
    initialization.

    Fix: add `restartPolicy: Always` to the sidecar.
    Silent: the daemon as an ordinary container.
    Bad: an init container without it
        initContainers: [{name: tcpxo-daemon, image: ...}]
    Good: a native sidecar
        initContainers: [{name: tcpxo-daemon, restartPolicy: Always, image: ...}]
    Source: kubernetes sidecar containers (1.29); NVIDIA AICR.
    """
    daemon = sidecar(pod)
    if daemon is None or daemon.kind != "init":
        return
    policy = daemon.node.at("restartPolicy")
    if isinstance(policy, Scalar) and policy.open:
        return
    if "install" in daemon.start_text:
        return
    yield pod.finding(
        daemon.name_place,
        f"The sidecar '{daemon.name}' is an init container without 'restartPolicy: Always'; it never ends, so the pod stalls "
        "in initialization.",
        help="Add 'restartPolicy: Always' to it.",
        fix=Fix("add restartPolicy: Always", (AddField(daemon.node, ("restartPolicy",), "Always"),)),
    )

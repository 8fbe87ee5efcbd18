"""FIT: whether the objects that a job names or needs beside nodes are in the cluster."""

from __future__ import annotations

import re
from collections.abc import Iterator
from decimal import Decimal

from fabriclint.cluster.claims import shortages
from fabriclint.cluster.match import RefusedError as Refused
from fabriclint.cluster.match import container_requests, limit_defaults, pod_requests
from fabriclint.cluster.snapshot import Object, Snapshot, amounts, listed, mapping
from fabriclint.document import Document, Manifest
from fabriclint.embedded import parse_embedded
from fabriclint.node import Mapping, Node, Scalar, Sequence, Unknown, open_value
from fabriclint.pod import ContainerView, PodView
from fabriclint.quantity import parse_quantity
from fabriclint.rule import Finding, Place, Severity, rule
from fabriclint.views import PlacedJob
from fabriclint_schemas.cluster import tables

_INTERFACES = "networking.gke.io/interfaces"
_MULTUS = "k8s.v1.cni.cncf.io/networks"
_QUEUE = "kueue.x-k8s.io/queue-name"
_MODES = {"gke-tcpxo": "NetDevice", "gke-tcpx": "NetDevice", "gke-gib": "RDMA"}
_RELEASE = re.compile(r":v?([0-9]+\.[0-9]+)(?:\.[0-9]+)?(?:$|[-@])")


@rule("FIT001", "network-not-found", Severity.ERROR, on=PlacedJob)
def network_not_found(view: PlacedJob) -> Iterator[Finding]:
    """Every network of the interfaces annotation is one of the cluster's, and of the fabric's kind.

    Pods that name a network that is not there are never started: the sandbox cannot be made.

    Fix: write the names that `kubectl get networks.networking.gke.io` prints.
    Silent: snapshots that neither hold Network objects nor nodes with network resources.
    Bad: a network of another cluster (tcpxo-jobset; snapshot=snapshot-gke.yaml)
        ~ "network":"gpu-nic-7" => "network":"other-gpu-nic-7" # <-
    Bad: two networks of another cluster (tcpxo-jobset; snapshot=snapshot-gke.yaml)
        ~ "network":"gpu-nic-6" => "network":"other-gpu-nic-6" # <-
        ~ "network":"gpu-nic-7" => "network":"other-gpu-nic-7"
    Good: the cluster's names (tcpxo-jobset; snapshot=snapshot-gke.yaml)
        @@ networking.gke.io/interfaces:
    Good: a snapshot without networks (tcpxo-jobset; snapshot=snapshot-namespaces.yaml)
        @@ networking.gke.io/interfaces:
    Source: GoogleCloudPlatform/gke-networking-api@f5ca9a2 apis/network/v1.
    """
    snapshot = view.snapshot
    known = snapshot.networks
    if not known and not snapshot.collected("Network"):
        return
    for pod in view.job.pods:
        note = pod.annotations.get(_INTERFACES)
        if note is None or not isinstance(note.value, str) or open_value(note.value):
            continue
        parsed = parse_embedded(note, json=True)
        if not isinstance(parsed, Document) or not isinstance(parsed.root, Sequence):
            continue
        missing: list[Scalar] = []
        wrong: list[tuple[Scalar, str]] = []
        wanted = _MODES.get(pod.fabric.name) if pod.fabric is not None else None
        for entry in parsed.root.items:
            name = entry.scalar("network")
            if name is None or not isinstance(name.value, str) or name.open or name.value == "default":
                continue
            mode = snapshot.device_mode(name.value)
            if name.value not in known:
                missing.append(name)
            elif wanted in ("NetDevice",) and mode == "RDMA":
                wrong.append((name, mode))
        if missing:
            names = ", ".join(f"'{m.text}'" for m in missing[:8])
            have = ", ".join(sorted(known)[:10]) or "none"
            yield pod.finding(
                Place(missing[0]),
                f"The cluster has no network {names}; the pods' sandboxes cannot be made and they stay in ContainerCreating.",
                help=f"Write the names that 'kubectl get networks.networking.gke.io' prints; the snapshot has: {have}.",
            )
        if wrong:
            yield pod.finding(
                Place(wrong[0][0]),
                f"The network '{wrong[0][0].text}' is an RDMA network; this fabric needs one of deviceMode NetDevice.",
                help="Name the GPU NICs' networks whose GKENetworkParamSet has deviceMode NetDevice.",
            )


@rule("FIT006", "runtime-differs", Severity.WARNING, on=Manifest)
def runtime_differs(manifest: Manifest, snapshot: Snapshot) -> Iterator[Finding]:
    """The runtime of the file is the one that is installed.

    TrainJobs use what the cluster has: what was judged here is then not what runs.

    Fix: apply the file, or take the installed runtime over.
    Silent: fields that only the cluster has, as the API server fills in defaults.
    Bad: another image than the installed runtime's (fit-trainer; snapshot=snapshot-eks.yaml)
        ~ image: registry.example/train:1 => image: registry.example/train:2 # <-
    Bad: another number of nodes (fit-trainer; snapshot=snapshot-eks.yaml)
        ~ numNodes: 1 => numNodes: 4 # <-
    Good: what is installed (fit-trainer; snapshot=snapshot-eks.yaml)
        @@ kind: ClusterTrainingRuntime
    Good: a runtime of another name (fit-trainer; snapshot=snapshot-eks.yaml)
        ~ name: cpu-runtime => name: cpu-runtime-next
        ~ name: cpu-runtime => name: cpu-runtime-next
    Source: kubeflow/trainer@dc7656a pkg/runtime/core/trainingruntime.go.
    """
    if manifest.kind not in ("TrainingRuntime", "ClusterTrainingRuntime") or manifest.name is None:
        return
    namespace = manifest.namespace if manifest.kind == "TrainingRuntime" else None
    installed = snapshot.find(manifest.kind, manifest.name, namespace)
    spec = manifest.root.mapping("spec")
    if installed is None or spec is None:
        return
    found = _difference(spec, installed.get("spec"))
    if found is not None:
        node, have = found
        yield Finding(
            Place(node, on_key=not isinstance(node, Scalar)),
            f"The installed {manifest.kind} '{manifest.name}' differs from this file at '{node.pointer}'"
            + (f" (it has '{have}' there)" if isinstance(have, str | int) and len(str(have)) < 80 else "")
            + "; TrainJobs use the installed one.",
            "Apply this file, or change it to what is installed.",
        )


def _difference(node: Node, have: object) -> tuple[Node, object] | None:
    """The first place where the file says something else than the cluster; what the file leaves out does not count."""
    if isinstance(node, Mapping):
        for key, child in node.fields.items():
            below = have.get(key) if isinstance(have, dict) else None
            if isinstance(child, Scalar) and (child.value is None or child.open):
                continue
            if below is None and isinstance(child, Mapping | Sequence) and not child.plain():
                continue
            found = _difference(child, below)
            if found is not None:
                return found
        return None
    if isinstance(node, Sequence):
        if not isinstance(have, list) or len(have) != len(node.items):
            return node, None
        return next((f for i, h in zip(node.items, have, strict=True) if (f := _difference(i, h)) is not None), None)
    assert isinstance(node, Scalar)
    if node.open or node.value == have or (have is not None and node.text == str(have)):
        return None
    if isinstance(have, str | int | float) and isinstance(node.value, str | int | float):
        one, other = parse_quantity(node.value), parse_quantity(have)
        if one is not None and one == other:
            return None
    return node, have


@rule("FIT008", "trainer-version", Severity.WARNING, on=Manifest, also=(Severity.NOTE,))
def trainer_version(manifest: Manifest, snapshot: Snapshot, settings: object) -> Iterator[Finding]:
    """The version of Kubeflow Trainer that was configured is the one that is installed.

    Releases differ in what they accept, merge and lose; what was judged is then not what happens.

    Fix: set `trainer-version` to the installed release.
    Silent: images by digest or without a version.
    Bad: 2.3 configured, 2.2 installed (fit-trainer; trainer-version=2.3; snapshot=snapshot-eks.yaml)
        @@ ---
          apiVersion: trainer.kubeflow.org/v1alpha1 # <-
    Bad: 2.1 configured (fit-trainer; trainer-version=2.1; snapshot=snapshot-eks.yaml)
        @@ ---
          apiVersion: trainer.kubeflow.org/v1alpha1 # <-
    Good: the installed one (fit-trainer; trainer-version=2.2; snapshot=snapshot-eks.yaml)
        @@ kind: TrainJob
    Good: a file without a TrainJob (fit-set; trainer-version=2.3; snapshot=snapshot-eks.yaml)
        @@ kind: StatefulSet
    Source: kubeflow/trainer releases 2.0 to 2.3.
    """
    if manifest.group != "trainer.kubeflow.org" or manifest.kind != "TrainJob":
        return
    installed = _installed_trainer(snapshot)
    path = settings.for_path(manifest.uri)  # type: ignore[attr-defined]
    if installed is None or installed == path.trainer_version:
        return
    kind = manifest.root.at("apiVersion")
    yield Finding(
        Place(kind if kind is not None else manifest.root),
        f"The cluster runs Kubeflow Trainer '{installed}', and this file was judged for '{path.trainer_version}'; they differ in "
        "what they accept and merge.",
        f"Set 'trainer-version: \"{installed}\"' in the configuration.",
        Severity.WARNING if path.trainer_version_set else Severity.NOTE,
    )


def _images(item: Object) -> Iterator[str]:
    pod = mapping(item, "spec", "template", "spec")
    for key in ("initContainers", "containers"):
        for container in listed(pod, key):
            yield str(container.get("image") or "")


def _installed_trainer(snapshot: Snapshot) -> str | None:
    for item in snapshot.objects("Deployment"):
        for image in _images(item):
            if "/trainer-controller-manager" in image:
                found = _RELEASE.search(image)
                if found is not None:
                    return found.group(1)
    return None


@rule("FIT010", "kind-not-installed", Severity.ERROR, on=Manifest)
def kind_not_installed(manifest: Manifest, snapshot: Snapshot) -> Iterator[Finding]:
    """The cluster serves the kind and version of every custom resource that carries or wires pods.

    `kubectl apply` refuses it: "no matches for kind".

    Fix: install the operator, or write the version that the cluster serves.
    Silent: snapshots without custom resource definitions; Kubernetes' own kinds.
    Bad: an operator that is not installed (whole; snapshot=snapshot-eks.yaml)
        apiVersion: kubeflow.org/v1 # <-
        kind: PyTorchJob
        metadata: {name: train}
        spec:
          pytorchReplicaSpecs:
            Master:
              replicas: 1
              template:
                spec:
                  containers:
                    - name: pytorch
                      image: registry.example/train:1
    Bad: a queueing system that is not installed (whole; snapshot=snapshot-eks.yaml)
        apiVersion: batch.volcano.sh/v1alpha1 # <-
        kind: Job
        metadata: {name: train}
        spec:
          minAvailable: 1
          tasks:
            - name: one
              replicas: 1
              template:
                spec:
                  restartPolicy: Never
                  containers:
                    - name: main
                      image: registry.example/train:1
    Good: a kind that is (tcpxo-jobset; snapshot=snapshot-gke.yaml)
        @@ kind: JobSet
    Good: a kind of Kubernetes itself (fit-job; snapshot=snapshot-eks.yaml)
        @@ kind: Job
    Source: kubernetes/apiextensions-apiserver.
    """
    if not snapshot.collected("CustomResourceDefinition") or manifest.partial or open_value(manifest.api_version):
        return
    fabric_kinds = {kind for resource, kind, _ in tables()["resources"] if "." in resource}
    if "." not in manifest.group or (manifest.group.endswith(".k8s.io") and not manifest.group.endswith("x-k8s.io")):
        return
    if manifest.kind not in fabric_kinds and not carries_template(manifest.root):
        return
    versions: list[str] | None = None
    for item in snapshot.objects("CustomResourceDefinition"):
        spec = mapping(item, "spec")
        if spec.get("group") == manifest.group and mapping(spec, "names").get("kind") == manifest.kind:
            served = spec.get("served")
            if isinstance(served, str):
                versions = served.split()
            else:
                versions = [str(v.get("name")) for v in listed(spec, "versions") if v.get("served")]
    place = manifest.root.at("apiVersion")
    where = Place(place if place is not None else manifest.root)
    if versions is None:
        yield Finding(
            where,
            f"The cluster does not know the kind '{manifest.kind}' of '{manifest.group}'; 'kubectl apply' refuses the object.",
            "Install the operator that brings it, or use a kind that the cluster has.",
        )
    elif manifest.version not in versions:
        yield Finding(
            where,
            f"The cluster serves '{manifest.kind}' as {', '.join(versions) or 'no version'}, not as '{manifest.version}'; "
            "'kubectl apply' refuses the object.",
            f"Write '{manifest.group}/{versions[-1]}'." if versions else "Install the operator that serves it.",
        )


def carries_template(root: Mapping) -> bool:
    """Whether containers stand somewhere below, so that the object makes pods; TrainJobs make them from a runtime."""
    return root.string("kind") == "TrainJob" or any(
        isinstance(n, Mapping) and isinstance(n.at("containers"), Sequence) for n in root.walk()
    )


@rule("FIT012", "quota-or-limits", Severity.ERROR, on=PlacedJob, also=(Severity.WARNING, Severity.NOTE))
def quota_or_limits(view: PlacedJob) -> Iterator[Finding]:
    """The namespace's LimitRanges and ResourceQuotas admit what the job asks for.

    Pods are refused one by one when they are made: half a job may start. Quotas count extended resources as
    `requests.NAME` only.

    Fix: ask for less, state what the quota wants stated, or have the quota raised.
    Silent: files without a namespace; quotas with scopes; what others use of a quota.
    Bad: 320 CPUs in all of a quota of 300 (fit-job; snapshot=snapshot-eks.yaml)
        ~ cpu: 90 => cpu: 160
        ~ cpu: 90 => cpu: 160 # <-
    Bad: more memory than the namespace allows a container (fit-job; snapshot=snapshot-eks.yaml)
        @@ limits:
        ~ memory: 1000Gi => memory: 1600Gi # <-
    Good: room for the whole job (fit-job; snapshot=snapshot-eks.yaml)
        @@ suspend: true
          parallelism: 2
    Good: a file that names no namespace (fit-set; snapshot=snapshot-eks.yaml)
        @@ kind: StatefulSet
    Source: kubernetes/kubernetes@05e7cb2 pkg/quota/v1/evaluator/core/pods.go; @0061479 plugin/pkg/admission/limitranger.
    """
    namespace = view.namespace
    if namespace is None or open_value(namespace):
        return
    snapshot = view.snapshot
    for pod in view.job.pods:
        yield from _limits(pod, snapshot, namespace)
    yield from _quotas(view, snapshot, namespace)


def _limits(pod: PodView, snapshot: Snapshot, namespace: str) -> Iterator[Finding]:
    for item in snapshot.in_namespace("LimitRange", namespace):
        name = mapping(item, "metadata").get("name")
        for limit in listed(item, "spec", "limits"):
            low, high = amounts(limit.get("min")), amounts(limit.get("max"))
            if limit.get("type") == "Pod":
                totals: dict[str, Decimal] = {}
                for container in pod.containers:
                    for resource in high:
                        amount = container.amount(resource)
                        if isinstance(amount, Decimal):
                            totals[resource] = totals.get(resource, Decimal(0)) + amount
                for resource, total in totals.items():
                    if total > high[resource] and pod.worker is not None:
                        yield pod.finding(
                            pod.worker.missing("resources", "limits", resource),
                            f"The pod's containers state more '{resource}' together than the LimitRange '{name}' allows a pod; "
                            "it is refused.",
                            help="Ask for less, or have the LimitRange changed.",
                        )
                continue
            if limit.get("type") != "Container":
                continue
            for container in pod.containers:
                yield from _container_limits(pod, container, str(name), low, high)


def _container_limits(
    pod: PodView, container: ContainerView, name: str, low: dict[str, Decimal], high: dict[str, Decimal]
) -> Iterator[Finding]:
    for section, bounds, above in (("limits", high, True), ("requests", low, False)):
        for resource, bound in bounds.items():
            node = container.node.scalar("resources", section, resource) or container.node.scalar(
                "resources", "limits" if section == "requests" else "requests", resource
            )
            amount = (
                parse_quantity(node.value) if node is not None and isinstance(node.value, str | int | float) else None
            )
            if node is None or amount is None or node.open:
                continue
            if (above and amount > bound) or (not above and amount < bound):
                word = "above the maximum" if above else "below the minimum"
                yield pod.finding(
                    Place(node),
                    f"The container '{container.name}' states '{node.text}' of '{resource}', {word} of the LimitRange '{name}'; "
                    "the pod is refused.",
                    help="Ask for an amount that the LimitRange allows, or have it changed.",
                )


def _plain(pod: PodView) -> Object:
    made = pod.spec.plain()
    return made if isinstance(made, dict) else {}


def _quotas(view: PlacedJob, snapshot: Snapshot, namespace: str) -> Iterator[Finding]:
    quotas = snapshot.in_namespace("ResourceQuota", namespace)
    if not quotas:
        return
    defaults = limit_defaults(snapshot, namespace)
    totals: dict[str, Decimal] = {}
    for pod in view.job.pods:
        count = pod.site.pods
        if count is None or isinstance(count, Unknown):
            return
        try:
            asked = pod_requests(_plain(pod), defaults)
        except Refused:
            return
        for resource, amount in asked.items():
            totals[resource] = totals.get(resource, Decimal(0)) + amount * count
    for quota in quotas:
        spec = mapping(quota, "spec")
        if spec.get("scopes") or spec.get("scopeSelector"):
            continue
        name = mapping(quota, "metadata").get("name")
        hard = amounts(spec.get("hard"))
        for key, bound in sorted(hard.items()):
            resource = key.removeprefix("requests.")
            if key.startswith("limits.") or ("/" in resource and resource == key):
                continue
            total = totals.get(resource, Decimal(0))
            if total > bound:
                asking = [c for p in view.job.pods for c in p.containers if resource in c.resource_names]
                if not asking:
                    continue
                holder = asking[0]
                node = holder.resource_node(resource)
                yield holder.pod.finding(
                    Place(node) if node is not None else holder.name_place,
                    f"The job asks for {_number(total)} of '{resource}' in all and the quota '{name}' of '{namespace}' allows "
                    f"{_number(bound)}; the pods beyond it are refused.",
                    help="Ask for less, or have the quota raised.",
                )
        wanted = [
            k for k in hard if k in ("cpu", "memory", "requests.cpu", "requests.memory", "limits.cpu", "limits.memory")
        ]
        for pod in view.job.pods:
            for container in pod.containers:
                lacking = [k for k in wanted if not _states(container, k, defaults)]
                if lacking and not container.resources_open:
                    yield pod.finding(
                        container.missing("resources"),
                        f"The container '{container.name}' does not state '{', '.join(lacking)}', which the quota '{name}' of "
                        f"'{namespace}' demands of every container; the pod is refused.",
                        help="State it in the container's resources; init containers and sidecars too.",
                    )
                    break


def _number(value: Decimal) -> str:
    if value >= 1024**3:
        return f"{value / 1024**3:.0f}Gi"
    return f"{value.normalize():f}"


def _states(container: ContainerView, key: str, defaults: object) -> bool:
    resource = key.rpartition(".")[2]
    if container.node.at("resources", "limits", resource) is not None:
        return True
    if not key.startswith("limits.") and container.node.at("resources", "requests", resource) is not None:
        return True
    given = getattr(defaults, "limits", {}) if key.startswith("limits.") else getattr(defaults, "requests", {})
    return resource in given


@rule("FIT013", "queue", Severity.ERROR, on=PlacedJob, also=(Severity.WARNING,))
def queue(view: PlacedJob) -> Iterator[Finding]:
    """The job's queue exists, and its ClusterQueue covers every resource that the pods ask for.

    A workload that asks for a resource outside coveredResources is never admitted; the fabric's own resource is the one
    that is usually forgotten.

    Fix: name a queue of the namespace; have the resource added to the ClusterQueue.
    Silent: queues that were not collected; cpu, memory and pods where the pods do not ask for them.
    Bad: a queue of another name (fit-job; snapshot=snapshot-eks.yaml)
        ~ queue-name: team => queue-name: teams # <-
    Bad: a resource that the queue does not cover (fit-job; snapshot=snapshot-eks.yaml)
          vpc.amazonaws.com/efa: 32
        + hugepages-2Mi: 5Gi # <-
    Good: a queue of the namespace (fit-job; snapshot=snapshot-eks.yaml)
        @@ labels:
          kueue.x-k8s.io/queue-name: team
    Good: no queue (fit-job; snapshot=snapshot-eks.yaml)
        - labels:
        -   kueue.x-k8s.io/queue-name: team
    Source: kubernetes-sigs/kueue@8eab687 pkg/scheduler/flavorassigner/flavorassigner.go.
    """
    label = view.workload.manifest.root.scalar("metadata", "labels", _QUEUE)
    namespace, snapshot = view.namespace, view.snapshot
    if label is None or namespace is None or label.open or not view.job.pods or not snapshot.collected("LocalQueue"):
        return
    pod = view.job.pods[0]
    found = snapshot.find("LocalQueue", label.text, namespace)
    if found is None:
        yield pod.finding(
            Place(label),
            f"The namespace '{namespace}' has no queue '{label.text}'; the job is never admitted and stays suspended.",
            help=f"Name a queue that 'kubectl get localqueues -n {namespace}' prints.",
        )
        return
    name = str(mapping(found, "spec").get("clusterQueue") or "")
    cluster_queue = snapshot.find("ClusterQueue", name)
    if cluster_queue is None:
        if snapshot.collected("ClusterQueue"):
            yield pod.finding(
                Place(label),
                f"The queue '{label.text}' belongs to the ClusterQueue '{name}', which does not exist; the job is never admitted.",
                help="Name another queue, or have the ClusterQueue made.",
            )
        return
    covered: set[str] = set()
    for group in listed(cluster_queue, "spec", "resourceGroups"):
        resources = group.get("coveredResources")
        covered |= {str(r) for r in resources} if isinstance(resources, list) else set()
    told: set[str] = set()
    for one in view.job.pods:
        for container in one.containers:
            try:
                plain = container.node.plain()
                asked = container_requests(plain if isinstance(plain, dict) else {})
            except Refused:
                continue
            for resource, amount in sorted(asked.items()):
                node = container.resource_node(resource)
                if amount and resource not in covered and resource not in told and node is not None:
                    told.add(resource)
                    yield one.finding(
                        Place(node),
                        f"The ClusterQueue '{name}' does not cover '{resource}'; a workload that asks for it is never admitted.",
                        help="Have the resource added to coveredResources with a quota (or to Kueue's excludeResourcePrefixes).",
                        severity=Severity.WARNING,
                    )


@rule("FIT015", "claim", Severity.ERROR, on=PlacedJob, also=(Severity.WARNING,))
def claim(view: PlacedJob) -> Iterator[Finding]:
    """The device classes of the pods' claims, and the attachments they name, exist in the cluster.

    With a class, a template or an attachment missing the pods wait for ever.

    Fix: write the names that `kubectl get deviceclasses` or `kubectl get network-attachment-definitions` print.
    Silent: kinds that were not collected; templates that another file may bring. What of a selector cannot be told
    (functions and types out of the ordinary) counts as met, and devices that other pods hold as free.
    Bad: a class that no driver brought (fit-claims; snapshot=snapshot-eks.yaml)
        @@ name: gpu
          resourceClaimTemplateName: one-gpu # <-
        ~ deviceClassName: gpu.nvidia.com => deviceClassName: gpu.example.com
    Bad: an attachment that does not exist (fit-job; snapshot=snapshot-eks.yaml)
        ~ cni.cncf.io/networks: fast => cni.cncf.io/networks: faster # <-
    Good: the driver's class (fit-claims; snapshot=snapshot-eks.yaml)
        @@ exactly:
          deviceClassName: gpu.nvidia.com
    Good: the attachment's own name (fit-job; snapshot=snapshot-eks.yaml)
        @@ annotations:
          k8s.v1.cni.cncf.io/networks: fast
    Source: kubernetes/kubernetes@v1.35.2 pkg/scheduler/framework/plugins/dynamicresources.
    """
    snapshot = view.snapshot
    for pod in view.job.pods:
        for entry in pod.claim_names.values():
            template = entry.scalar("resourceClaimTemplateName")
            if template is None or not isinstance(template.value, str) or template.open:
                continue
            classes = pod.lookup.claim_classes(view.workload, template.value)
            installed = snapshot.find("ResourceClaimTemplate", template.value, view.namespace)
            if not classes and installed is not None:
                classes = _classes(installed)
            elif not classes and view.namespace is not None and snapshot.collected("ResourceClaimTemplate"):
                yield pod.finding(
                    Place(template),
                    f"The claim template '{template.text}' is neither in the files nor in the namespace '{view.namespace}'; the pods "
                    "wait for it.",
                    help="Apply the ResourceClaimTemplate beside the job, or correct its name.",
                    severity=Severity.WARNING,
                )
            for name in dict.fromkeys(classes):
                if snapshot.collected("DeviceClass") and snapshot.find("DeviceClass", name) is None:
                    yield pod.finding(
                        Place(template),
                        f"The claim '{template.text}' asks for the device class '{name}', which does not exist; the pods stay Pending.",
                        help="Write a class that 'kubectl get deviceclasses' prints, or install its driver.",
                    )
            for short in shortages(_template(pod, view.namespace, template.value, snapshot), snapshot):
                yield pod.finding(
                    Place(template),
                    f"The claim '{template.text}' asks for {short.wanted} of '{short.device_class}' and no node has more than "
                    f"{short.most}; the pods stay Pending.",
                    help="Ask for no more devices than a node has, or correct the claim's selectors.",
                )
        yield from _attachments(pod, snapshot, view.namespace)


def _template(pod: PodView, namespace: str | None, name: str, snapshot: Snapshot) -> Object:
    """The spec of a claim template in view, else of the cluster's, as plain data; empty when neither is there."""
    seen = pod.lookup.neighbour(pod.workload, "ResourceClaimTemplate", name, namespace)
    if seen is not None:
        plain = seen.root.plain()
        return mapping(plain, "spec", "spec")
    return mapping(snapshot.find("ResourceClaimTemplate", name, namespace), "spec", "spec")


def _classes(item: Object) -> list[str]:
    out: list[str] = []
    for request in listed(item, "spec", "spec", "devices", "requests"):
        for holder in (request, mapping(request, "exactly"), *listed(request, "firstAvailable")):
            if isinstance(holder.get("deviceClassName"), str):
                out.append(holder["deviceClassName"])
    return out


def _attachments(pod: PodView, snapshot: Snapshot, namespace: str | None) -> Iterator[Finding]:
    note = pod.annotations.get(_MULTUS)
    if note is None or not snapshot.collected("NetworkAttachmentDefinition") or not isinstance(note.value, str):
        return
    if open_value(note.value) or note.value.lstrip().startswith(("[", "{")):
        return
    at = 0
    for part in note.value.split(","):
        text = part.strip()
        full, _, _ = text.partition("@")
        space, slash, name = full.rpartition("/")
        start = at + part.find(text)
        at += len(part) + 1
        where = space if slash else namespace
        if name and where is not None and snapshot.find("NetworkAttachmentDefinition", name, where) is None:
            yield pod.finding(
                Place(note, within=(start, start + len(full))),
                f"The cluster has no network attachment '{name}' in '{where}'; the pods' sandboxes cannot be made.",
                help="Write a name that 'kubectl get network-attachment-definitions -A' prints.",
            )


@rule("FIT016", "installer-missing", Severity.WARNING, on=PlacedJob)
def installer_missing(view: PlacedJob) -> Iterator[Finding]:
    """The DaemonSet that installs the fabric's plugin, or injects its devices, runs in the cluster.

    Without it the host paths that the pods mount are empty, and NCCL takes TCP.

    Fix: install it.
    Silent: DaemonSets that were not collected.
    Bad: a cluster without the injector and the installer (tcpxo-jobset; snapshot=snapshot-gke-bare.yaml)
        @@ devices.gke.io/container.tcpxo-daemon: # <-
        @@ image: mirror.example/gpudirect-tcpxo/tcpgpudmarxd-dev # <-
    Bad: the same for a single pod (tcpxo-jobset; snapshot=snapshot-gke-bare.yaml)
        ~ parallelism: 2 => parallelism: 1
        ~ completions: 2 => completions: 1
        @@ devices.gke.io/container.tcpxo-daemon: # <-
        @@ image: mirror.example/gpudirect-tcpxo/tcpgpudmarxd-dev # <-
        ~ --nnodes=2 => --nnodes=1
    Good: both are there (tcpxo-jobset; snapshot=snapshot-gke.yaml)
        @@ kind: JobSet
    Good: DaemonSets that were not collected, and a pod that needs none (fit-job; snapshot=snapshot-eks.yaml)
        @@ kind: Job
    Source: GoogleCloudPlatform/container-engine-accelerators@992db81.
    """
    snapshot = view.snapshot
    if not snapshot.collected("DaemonSet"):
        return
    images = [i for item in snapshot.objects("DaemonSet") for i in _images(item)]
    for pod in view.job.workers:
        fabric = pod.fabric.name if pod.fabric is not None else None
        for known in tables()["installers"]:
            if known["fabric"] == fabric and not any(known["image"] in i for i in images):
                evidence = pod.fabric.evidence[0].node if pod.fabric is not None and pod.fabric.evidence else None
                yield pod.finding(
                    Place(evidence) if evidence is not None else Place(pod.spec, on_key=True),
                    f"No DaemonSet of the cluster installs '{known['image'].rpartition('/')[2]}'; the plugin that the pod loads is "
                    "not on the nodes.",
                    help=f"Install the DaemonSet '{known['daemonset']}'.",
                )
        for known in tables()["injectors"]:
            key = next((k for k in pod.annotations if k.startswith(known["annotation"])), None)
            if key is not None and not any(known["image"] in i for i in images):
                yield pod.finding(
                    Place(pod.annotations[key], on_key=True),
                    f"No DaemonSet of the cluster runs '{known['image']}'; the devices of '{key}' are not injected.",
                    help=f"Install the DaemonSet '{known['daemonset']}'.",
                )


@rule(
    "FIT005",
    "plugin-version",
    Severity.WARNING,
    on=PlacedJob,
    also=(Severity.NOTE,),
    yields_to=("TCPXO014", "TCPXO015", "TCPX014", "TCPX015"),
)
def plugin_version(view: PlacedJob) -> Iterator[Finding]:
    """The daemon in the pod is the one that is paired with the plugin the cluster's installer brings.

    Plugin and daemon speak one protocol, which releases change. The installer is upgraded first, so a daemon that is
    behind is a note; one ahead of the plugin is not supported.

    Fix: take the daemon's tag that is paired with the installed plugin.
    Silent: DaemonSets that were not collected; images by digest, without a tag, or of releases that no list pairs;
    several installers that disagree.
    Bad: a daemon ahead of the installed plugin (tcpxo-jobset; snapshot=snapshot-gke.yaml)
        ~ tcpgpudmarxd-dev:v1.0.17 => tcpgpudmarxd-dev:v1.0.20 # <-
    Bad: one release ahead (tcpxo-jobset; snapshot=snapshot-gke.yaml)
        ~ tcpgpudmarxd-dev:v1.0.17 => tcpgpudmarxd-dev:v1.0.18 # <-
    Good: the pair of the installed plugin v1.0.11 (tcpxo-jobset; snapshot=snapshot-gke.yaml)
        @@ tcpgpudmarxd-dev:v1.0.17
    Good: a digest (tcpxo-jobset; snapshot=snapshot-gke.yaml)
        ~ tcpgpudmarxd-dev:v1.0.17 => tcpgpudmarxd-dev@sha256:0000000000000000000000000000000000000000000000000000000000000000
    Source: GoogleCloudPlatform/container-engine-accelerators@992db81 gpudirect-tcpxo/README.md; NVIDIA/aicr#2296.
    """
    from fabriclint_schemas.pairs import paired_daemon, release_of

    snapshot = view.snapshot
    images = [i for item in snapshot.objects("DaemonSet") for i in _images(item)]
    for pod in view.job.workers:
        profile = pod.fabric.profile if pod.fabric is not None else None
        if pod.fabric is None or not isinstance(profile, dict) or not profile.get("pairs"):
            continue
        known = [k["image"] for k in tables()["installers"] if k["fabric"] == pod.fabric.name]
        tags = {
            i.partition("@")[0].rpartition(":")[2]
            for i in images
            if any(i.partition("@")[0].rpartition(":")[0].endswith(k) for k in known)
        }
        wanted = paired_daemon(pod.fabric.name, next(iter(tags))) if len(tags) == 1 else None
        daemon = next((c for c in pod.containers if c.image_name == profile.get("sidecar_image")), None)
        if wanted is None or daemon is None or daemon.image_node is None or not isinstance(daemon.image, str):
            continue
        tag = daemon.image.partition("@")[0].rpartition(":")[2]
        have, fitting = release_of(tag), release_of(wanted)
        if have is None or fitting is None or have == fitting:
            continue
        ahead = have > fitting
        yield pod.finding(
            Place(daemon.image_node),
            f"The daemon '{tag}' is {'ahead of' if ahead else 'behind'} the plugin '{next(iter(tags))}' that the cluster installs, "
            f"which is paired with '{wanted}'; such a pair is not supported.",
            help=f"Take the daemon's tag {wanted}, or have the plugin's installer changed.",
            severity=Severity.WARNING if ahead and profile.get("pair_step") else Severity.NOTE,
        )

"""DEV006, DEV007: claims of GPUs and of NVLink's channels reach a container, and count the pods that share them."""

from __future__ import annotations

from collections.abc import Iterator

from fabriclint.document import Manifest
from fabriclint.node import Mapping, Scalar, Unknown
from fabriclint.pod import PodView
from fabriclint.rule import Finding, Place, Related, Severity, rule
from fabriclint.views import JobView
from fabriclint_rules.alike import once_a_pod
from fabriclint_rules.machines import node_gpus
from fabriclint_schemas.verbs import verbs

#: GPUs of a node whose NVLink reaches other nodes.
_TRAY = 4


def _classes(pod: PodView, entry: Mapping) -> list[str]:
    """The device classes of a claim of the pod, as far as they are in view."""
    template = entry.string("resourceClaimTemplateName")
    if template:
        found = pod.lookup.claim_classes(pod.workload, template)
        if not found and pod.lookup.domain_of(pod.workload, template) is not None:
            return list(verbs()["channel_claim_words"])
        return found
    name = entry.string("resourceClaimName")
    claim = pod.lookup.neighbour(pod.workload, "ResourceClaim", name) if name else None
    if claim is None:
        return []
    return [n.text for n in claim.root.walk() if isinstance(n, Scalar) and n.key == "deviceClassName"]


def _sort(pod: PodView, entry: Mapping) -> str | None:
    """`GPU` or `IMEX channel`, when the claim is known to bring one."""
    classes = _classes(pod, entry)
    if any(w in c for c in classes for w in verbs()["gpu_claim_words"]):
        return "GPU"
    if any(w in c for c in classes for w in verbs()["channel_claim_words"]):
        return "IMEX channel"
    return None


@rule("DEV006", "claim-unused", Severity.WARNING, on=JobView, yields_to=("TRN006",))
def claim_unused(job: JobView) -> Iterator[Finding]:
    """A claim for GPUs or an IMEX channel is used by a container.

    The pod's claim reserves the device; a container gets it only if its own `resources.claims` names it. Without a channel
    NVLink between nodes is not used, without a word.

    Fix: add `claims: [{name: ...}]` to the resources of the worker's container.

    Silent: claims for NICs, which attach to the pod; claims whose template is not in view.

    Bad: the channel stops at the pod (dev-domain)
        @@ resources:
        -   claims:
        -     - name: channel
        @@ resourceClaims:
        ~ - name: channel => - name: channel  # <-
    Bad: a GPU that no container has (fit-claims)
        @@ resourceClaims:
        -   - name: gpu
        +   - name: gpu  # <-
        @@ resources:
        -   claims:
        -     - name: gpu
        +   limits: {cpu: 1}
    Bad: the claim is used under another name (dev-domain)
        @@ claims:
        ~ - name: channel => - name: nic
        @@ resourceClaims:
        +   - name: nic
        +     resourceClaimTemplateName: nic
        ~ - name: channel => - name: channel  # <-
    Good: a network claim attaches to the pod (dev-domain)
        @@ resourceClaims:
        +   - name: nic
        +     resourceClaimTemplateName: nic
    Good: a template that is not in view (dev-domain)
        -   claims:
        -     - name: channel
        ~ resourceClaimTemplateName: dialogue-channel => resourceClaimTemplateName: some-channel
    Good: the container names it (dev-domain)
        ~ numNodes: 4 => numNodes: 0
    Source: NVIDIA/k8s-dra-driver-gpu@2240711 demo/specs/imex; NVIDIA/nccl#1925; kubernetes/kubernetes test/e2e/dra.
    """
    yield from once_a_pod(job, _unused)


def _unused(pod: PodView) -> Iterator[Finding]:
    if any(c.resources_open for c in pod.containers):
        return
    used = {claim.string("name") for c in pod.containers for claim in c.claims}
    for name, entry in pod.claim_names.items():
        sort = _sort(pod, entry) if name not in used else None
        node = entry.at("name")
        if sort is None or node is None:
            continue
        then = "NVLink between nodes is not used" if sort == "IMEX channel" else "its ranks see no GPU of it"
        yield pod.finding(
            Place(node),
            f"No container uses the claim '{name}', which brings {'an' if sort[0] == 'I' else 'a'} {sort}; {then}.",
            help=f"Add 'claims: [{{name: {name}}}]' to the resources of the container that runs the ranks.",
        )


@rule("DEV007", "compute-domain", Severity.WARNING, on=JobView)
def compute_domain(job: JobView) -> Iterator[Finding]:
    """A ComputeDomain's numNodes is 0 or the number of pods that use it, each of which takes a whole node.

    Drivers that do not name their daemons by DNS wait until numNodes nodes are there: with too many, the pods stay in
    ContainerCreating. A node has one channel for each domain, so a second pod on it finds none.

    Fix: write 0 (newer drivers), or the number of pods.

    Silent: 0; pods whose number the files do not say; nodes that are not known.

    Bad: more nodes than pods (dev-domain)
        ~ numNodes: 4 => numNodes: 18  # <-
    Bad: fewer (dev-domain)
        ~ numNodes: 4 => numNodes: 2  # <-
    Bad: two jobs of one file use it (dev-domain)
        + apiVersion: v1
        + kind: Pod
        + metadata:
        +   name: evaluate
        + spec:
        +   restartPolicy: Never
        +   containers:
        +     - name: main
        +       image: registry.example/dialogue:2-arm64
        +       command: [python, evaluate.py]
        +       resources:
        +         claims:
        +           - name: channel
        +   resourceClaims:
        +     - name: channel
        +       resourceClaimTemplateName: dialogue-channel
        + ---
          apiVersion: resource.nvidia.com/v1beta1
        ~ numNodes: 4 => numNodes: 4  # <-
    Bad: a pod takes half of the node (dev-domain)
        ~ nproc-per-node=4 => nproc-per-node=2
        ~ nvidia.com/gpu: 4 => nvidia.com/gpu: 2
        @@ resourceClaims:
        ~ - name: channel => - name: channel  # <-
    Good: the driver counts (dev-domain)
        ~ numNodes: 4 => numNodes: 0
    Good: another size of both (dev-domain)
        ~ numNodes: 4 => numNodes: 8
        ~ parallelism: 4 => parallelism: 8
        ~ completions: 4 => completions: 8
        ~ --nnodes=4 => --nnodes=8
    Good: nothing is known of the node (dev-domain)
        ~ numNodes: 4 => numNodes: 0
        ~ nvidia.com/gpu.product: NVIDIA-GB200 => pool: trays
        ~ nproc-per-node=4 => nproc-per-node=2
        ~ nvidia.com/gpu: 4 => nvidia.com/gpu: 2
    Source: NVIDIA/k8s-dra-driver-gpu@2240711 api/nvidia.com/resource; NVIDIA/k8s-dra-driver-gpu#524.
    """
    for pod in job.pods:
        for entry in pod.claim_names.values():
            template = entry.string("resourceClaimTemplateName")
            domain = pod.lookup.domain_of(pod.workload, template) if template else None
            part = _part_of_node(pod)
            node = entry.at("name")
            if part is not None and node is not None and _sort(pod, entry) == "IMEX channel":
                asked, known = part
                yield pod.finding(
                    Place(node),
                    f"The pod takes {asked} of the node's {known} GPUs and a channel of a ComputeDomain, of which a node has one; "
                    "a second such pod on the node stays pending.",
                    help=f"Ask for all {known} GPUs.",
                )
                return
            if template and domain is not None:
                yield from _count(job, pod, domain, template)
                return


def _part_of_node(pod: PodView) -> tuple[int, int] | None:
    gpus, known = pod.worker.gpus if pod.worker is not None else 0, node_gpus(pod)
    if isinstance(gpus, Unknown) or known is None or not 0 < gpus < known:
        return None
    return gpus, known


def _count(job: JobView, pod: PodView, domain: Manifest, template: str) -> Iterator[Finding]:
    node = domain.root.scalar("spec", "numNodes")
    wanted = node.value if node is not None else None
    if node is None or not isinstance(wanted, int) or isinstance(wanted, bool) or wanted <= 0:
        return
    gpus = pod.worker.gpus if pod.worker is not None else 0
    if not isinstance(gpus, Unknown) and 0 < gpus < _TRAY:
        return
    pods = _pods_of(job, pod, template)
    if pods is None or pods == wanted:
        return
    called = f" '{domain.name}'" if domain.name else ""
    yield pod.finding(
        Place(node),
        f"The ComputeDomain{called} waits for {wanted} nodes, but {pods} pods use it; with drivers that count nodes, "
        f"{'they stay in ContainerCreating' if wanted > pods else 'the pods beyond that number have no NVLink between nodes'}.",
        help=f"Write 0 where the driver names its daemons by DNS (the default today), else {pods}.",
        related=(Related(Place(pod.site.holder, on_key=True), "These pods use it."),),
    )


def _pods_of(job: JobView, pod: PodView, template: str) -> int | None:
    """The pods that claim the template, over all objects in view; None when unknown, or another object's turn to tell."""
    if job.workload.runtime_alone:
        return None
    if job.workload.resolved is not None:
        return _sum(job, template)
    users = pod.lookup.claiming(pod.workload, template)
    if not users or users[0].manifest is not job.workload.manifest:
        return None
    if len(users) == 1:
        return _sum(job, template)
    total = 0
    for user in users:
        # Jobs of several files may run one after the other; those of one file are applied together.
        together = user.kind in verbs()["counted_together"] and user.manifest.uri == job.workload.manifest.uri
        if user.kind not in ("Pod", "Job") and not together:
            return None
        for site in user.sites:
            if not _names(site.spec, template):
                continue
            if not isinstance(site.pods, int) or not isinstance(site.copies, int):
                return None
            total += site.pods * site.copies
    return total


def _sum(job: JobView, template: str) -> int | None:
    total = 0
    for role in job.group.roles:
        if not _names(role.pod.spec, template):
            continue
        count = role.all_pods
        if not isinstance(count, int) or role.pod.site.pods is None or role.scalable:
            return None
        total += count
    return total or None


def _names(spec: Mapping, template: str) -> bool:
    return any(c.string("resourceClaimTemplateName") == template for c in spec.mappings("resourceClaims"))

"""POD010: every mount has its volume."""

from __future__ import annotations

from collections.abc import Iterator

from fabriclint.kinds import matches
from fabriclint.node import Scalar, Sequence, open_value
from fabriclint.pod import PodView, WorkerPod
from fabriclint.rule import Finding, Place, Related, Severity, rule
from fabriclint.schema.suggest import nearest
from fabriclint_rules.attachment import family, job_kind, merged_elsewhere
from fabriclint_schemas.pods import pods


def _added_elsewhere(pod: PodView) -> set[str]:
    """Volumes that the controller adds, or that claim templates of the object make."""
    names = set(pods()["added_volumes"].get(job_kind(pod), ()))
    for root in (pod.workload.manifest.root, pod.workload.root):
        if root is not None:
            found = [node for path in pods()["claim_templates"] for node, _ in matches(root, path)]
            names.update(node.text for node in found if isinstance(node, Scalar))
    return names


@rule("POD010", "mount-without-volume", Severity.ERROR, on=PodView, also=(Severity.NOTE,))
def mount_without_volume(pod: PodView) -> Iterator[Finding]:
    """Every mount names a volume of its pod.

    The API server refuses a pod with a mount whose volume is not there. A Job, JobSet or TrainJob around it is
    admitted all the same: its pods then never appear, and only an event says why.

    Fix: declare the volume, or write the name of the one that is meant.

    Silent: volumes that the kind's controller adds (ssh keys, hostfiles), claim templates, lists that a template
    fills in, kinds whose containers and volumes do not stand in one pod spec.

    Bad: the volume is called otherwise (pod-jobset)
        ~ - name: dshm => - name: shm  # <-
    Bad: no volumes at all (pod-lws)
          volumeMounts:
            - name: dshm  # <-
        @@ mountPath
        - volumes:
        -   - name: dshm
        -     emptyDir:
        -       medium: Memory
    Good: the key that the operator mounts for the launcher (pod-mpijob)
          - name: launcher
            image: registry.example/train:1
        +   volumeMounts:
        +     - name: ssh-auth
        +       mountPath: /keys
    Good: one volume mounted twice (pod-jobset)
          - name: data
            mountPath: /data
        + - name: data
        +   mountPath: /checkpoints
        +   subPath: checkpoints
    Source: kubernetes/kubernetes@v1.35.2 pkg/apis/core/validation/validation.go ValidateVolumeMounts;
        kubeflow/mpi-operator v0.8.0 pkg/controller.
    """
    if pod.site.form not in ("template", "podspec") or merged_elsewhere(pod):
        return
    listed = pod.spec.at("volumes")
    if listed is not None and not (
        isinstance(listed, Sequence) or (isinstance(listed, Scalar) and listed.value is None)
    ):
        return
    if isinstance(listed, Sequence) and any(isinstance(i, Scalar) for i in listed.items):
        return
    if any(open_value(n) for n in pod.volumes):
        return
    missing: dict[str, list[tuple[str, Scalar]]] = {}
    for container in pod.containers:
        for mount in container.mounts:
            node = mount.scalar("name")
            if node is not None and isinstance(node.value, str) and node.value not in pod.volumes and not node.open:
                missing.setdefault(node.value, []).append((container.name, node))
    known = _added_elsewhere(pod) if missing else set()
    for name, users in missing.items():
        if name in known:
            continue
        (container_name, node), *others = users
        meant = nearest(name, pod.volumes)
        hint = f"Did you mean '{meant}'? Else declare" if meant is not None else "Declare"
        yield pod.finding(
            Place(node),
            f"The container '{container_name}' mounts a volume '{name}' that the pod has not; the API server refuses the "
            "pod.",
            help=f"{hint} a volume of that name in the pod's volumes.",
            related=tuple(Related(Place(n), f"'{c}' mounts it too.") for c, n in others),
        )
    if isinstance(pod, WorkerPod) and family(pod) != "GIB":
        yield from _unmounted(pod)


def _unmounted(pod: PodView) -> Iterator[Finding]:
    mounted = {m.string("name") for c in pod.containers for m in (*c.mounts, *c.node.mappings("volumeDevices"))}
    if any(c.mounts_open for c in pod.containers):
        return
    for name, volume in pod.volumes.items():
        # Memory that nobody mounts is POD001's business.
        if name and name not in mounted and volume.at("emptyDir", "medium") is None:
            yield pod.finding(
                Place(volume.nearest("name")),
                f"No container mounts the volume '{name}'.",
                help="Mount it, or take it out.",
                severity=Severity.NOTE,
            )

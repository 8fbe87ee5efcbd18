"""DOC: objects against the schema of their kind."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from fabriclint.document import Manifest
from fabriclint.node import Mapping, Node, Scalar, Sequence
from fabriclint.rule import Applicability, Finding, Fix, Place, RenameKey, Severity, rule

if TYPE_CHECKING:
    from fabriclint.schema import SchemaFault

_TRAINER_GROUPS = ("trainer.kubeflow.org", "jobset.x-k8s.io")
#: The manifest judged last with its release: two rules ask about each manifest, one after the other.
_last: list[tuple[Manifest, str | None, list[SchemaFault]]] = []


def _faults(manifest: Manifest, settings: Any) -> list[SchemaFault]:
    """What the schema says, once per manifest and version."""
    from fabriclint.schema import known, validate

    if manifest.partial or not known(manifest.group, manifest.kind):
        return []
    release = settings.for_path(manifest.uri).trainer_version if manifest.group in _TRAINER_GROUPS else None
    return validate(manifest.root, group=manifest.group, version=manifest.version, kind=manifest.kind, release=release)


def _place(fault: SchemaFault) -> Place:
    by_key = fault.kind in ("unknown-field", "required") or isinstance(fault.node, Mapping | Sequence)
    return Place(fault.node, on_key=by_key)


@rule("DOC005", "schema-violation", Severity.ERROR, on=Manifest, also=(Severity.WARNING, Severity.NOTE),
      yields_on_line=("DOC008", "TRN002", "TRN014", "TRN018", "TRN019", "POD005"))  # fmt: skip
def schema_violation(manifest: Manifest, settings: Any) -> Iterator[Finding]:
    """An object has the fields and types of its kind.

    kubectl validates strictly: one misspelt field or one value of a wrong type, and the API server refuses the whole
    object. Without strict validation the field is dropped in silence, and the pod runs without it.

    Fix: write the field's name or value as the kind's schema has it.
    Silent: values that a template fills in; null, which counts as absent; kinds and versions without a schema here.
    Bad: a misspelt field of a JobSet (tcpxo-jobset)
          spec:
        +   successPolcy: # <-
        +     operator: All
            replicatedJobs:
    Bad: a quantity that is none (trainer-torch)
        @@ kind: TrainJob
          numNodes: 2
        + resourcesPerNode:
        +   limits:
        +     nvidia.com/gpu: 8
        +     memory: 900 GB # <-
    Bad: a word for a number (trainer-torch)
        @@ kind: TrainJob
        ~ numNodes: 2 => numNodes: "2" # <-
    Good: as the schema has it (trainer-torch)
        @@ kind: TrainJob
          numNodes: 2
        + resourcesPerNode:
        +   limits:
        +     nvidia.com/gpu: 8
        +     memory: 900G
    Good: a value that a template fills in (trainer-torch)
        @@ kind: TrainJob
        ~ numNodes: 2 => numNodes: "{{ nodes }}"
    Source: published CRDs of the operators; kubernetes/api v0.35.
    """
    given = settings.for_path(manifest.uri).trainer_version_set
    product = "Trainer " if manifest.group in _TRAINER_GROUPS else ""
    for fault in _faults(manifest, settings):
        if fault.kind == "duplicate" or _misplaced(fault):
            continue  # DOC012 and DOC007 say these
        severity = Severity.ERROR
        message = fault.message
        help_text = "Write the value as the schema has it."
        fix = None
        core = manifest.group in ("", "apps", "batch")
        if fault.suggestion is not None:
            help_text = f"Write '{fault.suggestion}'."
        elif fault.kind == "required":
            help_text = f"Add '{fault.path[-1]}'."
        elif fault.kind == "unknown-field":
            known = _known_of(manifest) if fault.path[0] != "metadata" else ""
            help_text = f"Remove the field, or write the one that was meant{known}."
        if fault.older is not None:
            if fault.suggestion is None:
                what = (
                    "Remove the field"
                    if fault.kind == "unknown-field"
                    else "Write a value of that type, or remove the field"
                )
                where = "trainer-version" if product else "the version"
                help_text = (
                    f"{what}; a cluster that still runs {product}{fault.older} takes it ({where} in the configuration)."
                )
            severity = Severity.ERROR if given else Severity.WARNING
            message = f"{message} {product}{fault.older} took it."
        elif fault.newer is not None:
            severity = Severity.NOTE
            message = f"{message} {product if fault.newer[0].isdigit() else ''}{fault.newer} takes it."
        elif fault.kind == "unknown-field" and fault.suggestion is not None:
            renamed = RenameKey(fault.node, fault.suggestion)
            fix = Fix(f"rename to {fault.suggestion}", (renamed,), Applicability.UNSAFE)
        elif fault.kind == "unknown-field" and core:
            severity = Severity.NOTE
        yield Finding(_place(fault), message, help=help_text, severity=severity, fix=fix)
    if not manifest.partial:
        yield from _empty_resources(manifest)


def _known_of(manifest: Manifest) -> str:
    """Of which release the fields of an operator's kind are known: a later one may have more."""
    from fabriclint_schemas.load import releases_of

    found = releases_of(manifest.group, manifest.kind, manifest.version)
    origin = re.match(r"[^/]+/([^@]+)@\w+ \((v[\d.]+\d)\)", found[-1].origin) if found else None
    return f"; the fields of {origin[1]} {origin[2]} are known here" if origin is not None else ""


def _misplaced(fault: SchemaFault) -> bool:
    """Whether a field is known at another level, and at this one in no release."""
    return fault.moves_to is not None and fault.newer is None and fault.older is None


def _empty_resources(manifest: Manifest) -> Iterator[Finding]:
    """Extended resources without a value, which Kubernetes reads as zero.

    Source: kubernetes/apimachinery v0.35 pkg/api/resource (null is the zero quantity).
    """
    for node in manifest.root.walk():
        if not isinstance(node, Scalar) or node.value is not None or not isinstance(node.key, str):
            continue
        parent = node.parent
        if "/" in node.key and parent is not None and parent.key in ("limits", "requests"):
            above = parent.parent
            if above is not None and above.key == "resources":
                yield Finding(
                    Place(node, on_key=True),
                    f"'{node.key}' in '{parent.key}' has no value, which counts as 0: the container gets no device.",
                    help="Write the number of devices.",
                )


@rule("DOC006", "unsupported-api-version", Severity.ERROR, on=Manifest, also=(Severity.WARNING,))
def unsupported_api_version(manifest: Manifest) -> Iterator[Finding]:
    """An object's apiVersion is one that clusters serve.

    The API server knows no such kind in this version, and the apply ends with "no matches for kind".

    Fix: write the version that is served, and adapt the fields that changed.
    Silent: the same kind's name in groups that are not these projects' own.
    Bad: the name Trainer's API had before its first release (trainer-shipped)
        ~ apiVersion: trainer.kubeflow.org/v1alpha1 => apiVersion: kubeflow.org/v2alpha1 # <-
    Bad: a group that has no such kind (job)
        ~ apiVersion: batch/v1 => apiVersion: v1 # <-
    Bad: a version that no JobSet serves (tcpxo-jobset)
        ~ apiVersion: jobset.x-k8s.io/v1alpha2 => apiVersion: jobset.x-k8s.io/v1 # <-
    Good: the served one (trainer-shipped)
        @@ kind: TrainJob
    Good: of JobSet (tcpxo-jobset)
        @@ kind: JobSet
    Source: kubeflow/trainer@658725b manifests/base/crds; the Kubernetes project's list of removed APIs.
    """
    from fabriclint_schemas.load import index, served_versions

    table = served_versions()
    group, version, kind = manifest.group, manifest.version, manifest.kind
    api = manifest.api_version
    node = manifest.root.at("apiVersion")
    if node is None or "{" in api or "$" in api or "<" in api:
        return
    for name in ("removed", "never", "old"):
        for row in table[name]:
            if (row["group"], row["version"]) == (group, version) and kind in row["kinds"]:
                if name == "removed":
                    why = f"is not served since {row['since']}"
                elif name == "never":
                    why = "was served by no release"
                else:
                    why = "is served by no recent release of the operator"
                yield Finding(
                    Place(node),
                    f"'{api}' of {kind} {why}; the API server knows no such kind.",
                    help=f"Write '{row['use']}', and adapt the fields that changed.",
                    severity=Severity.WARNING if name == "old" else Severity.ERROR,
                )
                return
    home = table["homes"].get(kind)
    if home is not None and api != home and group in table["core groups"]:
        yield Finding(
            Place(node),
            f"'{api}' has no kind {kind}; the API server knows no such kind.",
            help=f"Write '{home}'.",
        )
        return
    for row in table["strict"]:
        if row["group"] == group and kind in row["kinds"]:
            served = {v for release in index()[group, kind] for v in release.versions}
            if version not in served:
                right = f"{group}/{sorted(served)[-1]}"
                yield Finding(
                    Place(node),
                    f"'{api}' of {kind} is served by no carried release; the API server knows no such kind.",
                    help=f"Write '{right}', and adapt the fields that changed.",
                )


@rule("DOC007", "wrong-level", Severity.ERROR, on=Manifest, yields_to=("TCPXO010",),
      yields_on_line=("POD005", "RUN014", "TRN002"))  # fmt: skip
def wrong_level(manifest: Manifest, settings: Any) -> Iterator[Finding]:
    """A field stands at the level where it acts.

    A field of the pod inside a container, or of a container beside it, is refused by the API server. An annotation
    that only acts on pods does nothing on the object or on the Job around it: no interface is attached.

    Fix: move it to the level named.
    Silent: annotations that the pod template carries too.
    Bad: tolerations in a container (job)
        @@ - name: main
          image: registry.example/evaluate:1.4
        + tolerations: # <-
        +   - operator: Exists
    Bad: a field of the pod in the spec of the Job around it (run-jobset)
          parallelism: 2
        + nodeSelector: {pool: batch} # <-
    Bad: an annotation of the set on its pods (run-leaderworkerset)
          workerTemplate:
        +   metadata:
        +     annotations:
        +       leaderworkerset.sigs.k8s.io/exclusive-topology: rack # <-
    Bad: an annotation that acts on pods, on the Job (job)
        @@ name: evaluate
        + annotations:
        +   k8s.v1.cni.cncf.io/networks: rdma-0 # <-
          labels:
    Good: in the pod's spec (job)
          nodeSelector:
            pool: batch
        + tolerations:
        +   - operator: Exists
    Good: an annotation of the Job itself (job)
        @@ name: evaluate
        + annotations:
        +   team.example/owner: vision
          labels:
    Source: published CRDs of the operators; kubernetes/api v0.35 core/v1.
    """
    for fault in _faults(manifest, settings):
        if fault.moves_to is not None and _misplaced(fault):
            target = "".join(f"[{s}]" if isinstance(s, int) else f".{s}" for s in fault.moves_to).removeprefix(".")
            yield Finding(_place(fault), fault.message, help=f"Move it to '{target}'.")
    if not manifest.partial:
        yield from _annotations(manifest)
        yield from _of_the_object(manifest)


def _of_the_object(manifest: Manifest) -> Iterator[Finding]:
    """Annotations that a controller reads on its object, standing on a pod template.

    Source: kubernetes-sigs/lws@2161f38 pkg/controllers/pod_controller.go (the leader gets the affinity, its workers none).
    """
    from fabriclint.kinds import workload_of
    from fabriclint_schemas.load import served_versions

    names = served_versions()["on_object"].get(manifest.kind, ())
    workload = workload_of(manifest) if names else None
    own = manifest.root.at("metadata", "annotations")
    for site in workload.sites if workload is not None else ():
        holder = site.metadata.mapping("annotations") if site.metadata is not None else None
        for key, node in holder.fields.items() if holder is not None else ():
            if key in names and not (isinstance(own, Mapping) and key in own.fields):
                yield Finding(
                    Place(node, on_key=True),
                    f"The annotation '{key}' is read on the {manifest.kind} itself and stands on a pod template: the pods of a "
                    "group are not kept together.",
                    help=f"Move it to the metadata of the {manifest.kind}.",
                )


def _annotations(manifest: Manifest) -> Iterator[Finding]:
    from fabriclint.kinds import carries_pods, workload_of
    from fabriclint_schemas.load import served_versions

    if not carries_pods(manifest.group, manifest.kind) or manifest.group not in (*_TRAINER_GROUPS, "apps", "batch"):
        return
    table = served_versions()
    places = table["metadata_stays"].get(manifest.kind)
    if places is None:
        return
    carried: set[str] = set()
    workload = workload_of(manifest)
    for site in workload.sites if workload is not None else ():
        holder = site.metadata.mapping("annotations") if site.metadata is not None else None
        carried.update(holder.fields if holder is not None else ())
    for place in places:
        for owner in _at(manifest.root, place):
            annotations = owner.mapping("metadata", "annotations")
            for key, node in annotations.fields.items() if annotations is not None else ():
                if key.startswith(tuple(table["pod_annotations"])) and key not in carried:
                    yield Finding(
                        Place(node, on_key=True),
                        f"The annotation '{key}' acts on pods only, and stands on the "
                        f"{manifest.kind if not place else 'Job'}: the pods do not get it.",
                        help="Move it to the metadata of the pod template.",
                    )


def _at(root: Mapping, path: str) -> Iterator[Node]:
    found: list[Node] = [root]
    for step in path.split("/")[1:]:
        below: list[Node] = []
        for node in found:
            if step == "*":
                below.extend(node.items if isinstance(node, Sequence) else ())
            else:
                inner = node.at(step)
                below.extend([inner] if inner is not None else [])
        found = below
    yield from found

"""TRN: what a TrainJob's patches may change in its runtime, and what becomes of the rest."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from fabriclint.node import Mapping, Node, Scalar, Sequence, open_value
from fabriclint.rule import (
    AddField,
    Applicability,
    Change,
    Finding,
    Fix,
    Place,
    Related,
    Remove,
    RenameKey,
    SetValue,
    Severity,
    rule,
)
from fabriclint.schema.suggest import nearest
from fabriclint.trainer.job_patch import FIELDS, JobPatch, patch_field
from fabriclint.trainer.manager_path import is_domain_prefixed_path
from fabriclint.views import TrainJobView
from fabriclint_rules.pod_capabilities import missing_lock

_RESERVED = ("node", "dataset-initializer", "model-initializer")
#: What a patch of a container carries, with the rules that miss it, or see it elsewhere, when its name is wrong.
_CARRIED = {"securityContext": ("POD003", "POD005"), "volumeMounts": ("POD001", "POD010"), "env": ()}
#: What says which entry a patch is about, and changes nothing by itself.
_NAMES = ("name", "manager", "targetJobs")


def _emptied(node: Node) -> Node:
    """The highest node that says nothing more once `node` is gone: it is taken away whole."""
    while True:
        parent = node.parent
        if isinstance(parent, Mapping):
            if any(key not in _NAMES for key, value in parent.fields.items() if value is not node):
                return node
            if parent.key is None or parent.parent is None or (parent.key == "spec" and parent.parent.parent is None):
                return node
        elif isinstance(parent, Sequence):
            if len(parent.items) > 1:
                return node
        else:
            return node
        node = parent


def _moved_env(view: TrainJobView, container: str, env: Sequence) -> Fix | None:
    """Moves a patch's variables to the block that may set them."""
    root = view.manifest.root
    where: tuple[str, ...] = ("spec", "trainer")
    if container != "node":
        where = ("spec", "initializer", container.split("-", maxsplit=1)[0])
        if root.mapping(*where) is None:
            return None
    block = root.mapping(*where)
    there = {e.string("name"): e.plain() for e in (block.mappings("env") if block is not None else [])}
    clash = False
    changes: list[Change] = [Remove(_emptied(env))]
    for entry in env.items:
        name = entry.string("name")
        if name in there:
            clash = clash or there[name] != entry.plain()
            continue
        changes.append(AddField(root, (*where, "env"), [entry.plain()], append=True))
    applicability = Applicability.UNSAFE if clash else Applicability.SAFE
    return Fix(f"move the variables to {'.'.join(where)}.env", tuple(changes), applicability)


@rule("TRN001", "patch-env-on-reserved-container", Severity.ERROR, on=TrainJobView)
def patch_env_on_reserved_container(view: TrainJobView) -> Iterator[Finding]:
    """The worker's variables stand in spec.trainer.env, not in a patch of the runtime.

    Trainer's webhook rejects a patch that sets `env` on a container called node, dataset-initializer or
    model-initializer, in whichever replicated job it stands: these containers belong to the TrainJob's own blocks.

    Fix: move the variables of node to spec.trainer.env, those of an initializer to spec.initializer.*.env.
    Silent: containers of other names, init containers, and an empty list, which Trainer lets pass.
    Bad: a variable in the patch of node (trainer-torch)
        @@ manager: vision.example/pool
          nodeSelector:
            zone: a
        + containers:
        +   - name: node
        +     env: # <-
        +       - name: NCCL_DEBUG
        +         value: WARN
    Bad: a container called node, in the patch of a launcher (trainer-mpi)
        @@ kind: TrainJob
          trainer:
            numNodes: 4
        + runtimePatches:
        +   - manager: vision.example/debug
        +     trainingRuntimeSpec:
        +       template:
        +         spec:
        +           replicatedJobs:
        +             - name: launcher
        +               template:
        +                 spec:
        +                   template:
        +                     spec:
        +                       containers:
        +                         - name: node
        +                           env: # <-
        +                             - name: LOG_LEVEL
        +                               value: debug
    Good: in the trainer block (trainer-torch)
        @@ kind: TrainJob
          env:
        +   - name: NCCL_DEBUG
        +     value: WARN
    Good: the patch of a sidecar (trainer-torch)
        @@ manager: vision.example/pool
          nodeSelector:
            zone: a
        + initContainers:
        +   - name: log-shipper
        +     env:
        +       - name: LEVEL
        +         value: warn
    Source: kubeflow/trainer@dc7656a pkg/runtime/framework/plugins/jobset/jobset.go.
    """
    for patch in view.patches:
        for listed, container in patch.containers():
            name = container.string("name")
            env = container.at("env")
            if listed != "containers" or name not in _RESERVED or not isinstance(env, Sequence) or not env.items:
                continue
            block = "spec.trainer.env" if name == "node" else f"spec.initializer.{name.split('-')[0]}.env"
            yield Finding(
                Place(env, on_key=True),
                f"The patch sets 'env' on the container '{name}'; Trainer's webhook rejects the TrainJob.",
                help=f"Move these variables to {block}.",
                fix=_moved_env(view, name, env),
            )


_TO_TRAINER = {"image": "image", "command": "command", "args": "args", "resources": "resourcesPerNode"}


def _level(path: tuple[str | int, ...]) -> str:
    """What a path inside a patch is a field of, in words."""
    steps = [s for s in path[:-1] if isinstance(s, str)]
    if steps[-1:] in (["containers"], ["initContainers"]):
        return "container"
    if steps[-2:] == ["template", "spec"] and steps[-4:-2] == ["template", "spec"]:
        return "pod"
    if steps[-2:] == ["template", "spec"] and "replicatedJobs" in steps:
        return "Job"
    if steps[-1:] == ["replicatedJobs"]:
        return "replicated job"
    return "runtime"


@rule("TRN002", "patch-unsupported-field", Severity.ERROR, on=TrainJobView, yields_on_line=("POD005",))
def patch_unsupported_field(view: TrainJobView) -> Iterator[Finding]:
    """A patch sets only what a patch can set.

    A container patch takes name, env, volumeMounts and (from Trainer 2.2) securityContext; a pod patch a part of the
    pod's fields. Image, command, resources, ports, hostNetwork, a replicated job's count and the rest are no fields of
    it: the API server refuses the TrainJob, or drops the field where validation is off.

    Fix: image, command and args go to spec.trainer, resources to spec.trainer.resourcesPerNode; everything else into a
    runtime of your own.
    Silent: a field that a later release takes (DOC005 notes it), and one that looks misspelt (DOC005).
    Bad: an image for the worker (trainer-torch)
        @@ manager: vision.example/pool
          nodeSelector:
            zone: a
        + containers:
        +   - name: node
        +     image: registry.example/other:2 # <-
    Bad: the pod's network (trainer-torch)
        @@ manager: vision.example/pool
          nodeSelector:
            zone: a
        + hostNetwork: true # <-
    Good: the image in the trainer block (trainer-torch)
        @@ kind: TrainJob
        @@ numNodes: 2
        + command: [torchrun, other.py]
    Good: what a container patch takes (trainer-torch)
        @@ manager: vision.example/pool
          nodeSelector:
            zone: a
        + containers:
        +   - name: node
        +     securityContext:
        +       capabilities:
        +         add: [IPC_LOCK]
    Source: kubeflow/trainer@dc7656a pkg/apis/trainer/v1alpha1/trainjob_types.go.
    """
    from fabriclint.schema import validate

    manifest = view.manifest
    field = patch_field(view.version)
    if manifest.root.at("spec", field) is None:
        return
    for fault in validate(
        manifest.root, group=manifest.group, version=manifest.version, kind=manifest.kind, release=view.version
    ):
        if fault.kind != "unknown-field" or fault.path[:2] != ("spec", field) or len(fault.path) < 4:
            continue
        later = fault.newer is not None and fault.newer[0].isdigit()
        if later or fault.older is not None or (fault.suggestion is not None and fault.newer is None):
            continue
        name = str(fault.path[-1])
        level = _level(fault.path)
        goes = _TO_TRAINER.get(name) if level == "container" else None
        if level == "container":
            owner = fault.node.parent.string("name") if fault.node.parent is not None else None
            what = f"A patch of the container '{owner}'" if owner else "A container patch"
            if goes is not None and owner not in (None, "node"):
                goes = None
        else:
            what = f"A {level} patch"
        yield Finding(
            Place(fault.node, on_key=True),
            f"{what} cannot set '{name}'; the API server refuses the TrainJob, or drops the field unsaid.",
            help=f"Write it as spec.trainer.{goes}." if goes else f"Set '{name}' in a runtime of your own.",
        )


def _names_of(job: Mapping, listed: str) -> list[str] | None:
    """Container names of a runtime's job; None when they cannot be told."""
    found = job.at("template", "spec", "template", "spec", listed)
    if found is None:
        return []
    if not isinstance(found, Sequence):
        return None
    names = [i.string("name") for i in found.items]
    return None if any(n is None or open_value(n) for n in names) else [n for n in names if n is not None]


def _unknown_containers(
    view: TrainJobView, patch: JobPatch
) -> Iterator[tuple[str, Mapping, Scalar, list[str], list[str]]]:
    job = next((j for j in view.runtime_jobs if j.string("name") == patch.job), None)
    if job is None:
        return
    for listed, container in patch.containers():
        name = container.scalar("name")
        other = "initContainers" if listed == "containers" else "containers"
        here, there = _names_of(job, listed), _names_of(job, other)
        if name is None or not isinstance(name.value, str) or name.open or here is None or there is None:
            continue
        if name.value not in here:
            yield listed, container, name, here, there


@rule("TRN003", "patch-unknown-container", Severity.ERROR, on=TrainJobView)
def patch_unknown_container(view: TrainJobView) -> Iterator[Finding]:
    """A patch changes containers that the runtime has; it cannot add one.

    Trainer 2.0 to 2.3 merge the patch before they look at it, and so admit a name that the runtime does not have. The
    pod then has one more container, in first place and without an image, and the API server refuses every Job: the
    TrainJob exists, no pod ever does. An init container that is patched under `containers` (or the reverse) is such a
    name too.

    Fix: write the name of the runtime's container, under the list it stands in; put a new container into a runtime of
    your own.
    Silent: a runtime that is not in view.
    Bad: a name from another operator (trainer-torch)
        @@ manager: vision.example/pool
          nodeSelector:
            zone: a
        + containers:
        +   - name: pytorch # <-
        +     volumeMounts:
        +       - name: dshm
        +         mountPath: /mnt/shm
    Bad: an init container among the containers (trainer-torch)
        @@ manager: vision.example/pool
          nodeSelector:
            zone: a
        + containers:
        +   - name: log-shipper # <-
        +     env:
        +       - name: LEVEL
        +         value: warn
    Good: the container of the runtime (trainer-torch)
        @@ manager: vision.example/pool
          nodeSelector:
            zone: a
        + containers:
        +   - name: node
        +     volumeMounts:
        +       - name: dshm
        +         mountPath: /mnt/shm
    Good: the init container where it stands (trainer-torch)
        @@ manager: vision.example/pool
          nodeSelector:
            zone: a
        + initContainers:
        +   - name: log-shipper
        +     env:
        +       - name: LEVEL
        +         value: warn
    Source: kubeflow/trainer@dc7656a pkg/runtime/core/trainingruntime.go; kubeflow/trainer#3948.
    """
    for patch in view.patches:
        for listed, container, name, here, there in _unknown_containers(view, patch):
            other = "initContainers" if listed == "containers" else "containers"
            fix: Fix | None = None
            if name.value in there:
                kind = "an init container" if other == "initContainers" else "an ordinary container"
                message = (
                    f"'{name.value}' is {kind} of the runtime; under '{listed}' the patch adds a second one without image, and "
                    "the API server refuses the Job: no pod is created."
                )
                help_text = f"Move the entry to '{other}'."
                whole = container.parent
                spec = patch.spec
                if (
                    isinstance(whole, Sequence)
                    and len(whole.items) == 1
                    and spec is not None
                    and spec.at(other) is None
                ):
                    fix = Fix(f"rename to {other}", (RenameKey(whole, other),), Applicability.UNSAFE)
            else:
                message = (
                    f"The runtime's job '{patch.job}' has no container '{name.value}'; the patch is admitted and adds one "
                    "without image, and the API server refuses the Job: no pod is created."
                )
                near = nearest(str(name.value), [*here, *there])
                known = ", ".join(f"'{n}'" for n in here) or "none"
                help_text = (
                    f"Write '{near}'."
                    if near
                    else f"Patch one that the runtime has ({known}); a new container needs a runtime of your own."
                )
                if near in here:
                    fix = Fix(f"write {near}", (SetValue(name, near),), Applicability.UNSAFE)
            related: tuple[Related, ...] = ()
            if view.own_runtime and view.runtime is not None:
                job = next(j for j in view.runtime_jobs if j.string("name") == patch.job)
                related = (Related(Place(job.nearest("name")), "This is the job that the patch changes."),)
            # What the entry was to give a container does not reach it: that is no fault of its own.
            silences = _missed([container])
            yield Finding(Place(name), message, help=help_text, related=related, fix=fix, silences=silences)


def _missed(containers: Iterable[Mapping]) -> tuple[str, ...]:
    """The codes of what misses, or sees elsewhere, what a patch's entries for containers carry."""
    return tuple(c for one in containers for key, codes in _CARRIED.items() if key in one.fields for c in codes)


@rule("TRN004", "patch-unknown-replicated-job", Severity.ERROR, on=TrainJobView)
def patch_unknown_replicated_job(view: TrainJobView) -> Iterator[Finding]:
    """A patch names a replicated job of the runtime.

    Up to Trainer 2.2 the webhook rejects a TrainJob that patches a job which the runtime does not have. Trainer 2.3
    adds the job, without any container, and JobSet then refuses the whole.

    Fix: write the name of the runtime's replicated job.
    Silent: a runtime that is not in view.
    Bad: a name that the runtime does not have (trainer-torch)
        @@ manager: vision.example/pool
        ~ - name: node => - name: worker # <-
    Bad: the same for the newest release (trainer-torch; trainer-version=2.3)
        @@ manager: vision.example/pool
        ~ - name: node => - name: trainer # <-
    Good: the runtime's own (trainer-torch)
        @@ manager: vision.example/pool
          - name: node
    Good: a job that another patch is for (trainer-steps)
        @@ manager: vision.example/pool
          - name: node
    Source: kubeflow/trainer@dc7656a pkg/runtime/framework/plugins/jobset/jobset.go.
    """
    jobs = view.runtime_jobs
    known = [j.string("name") for j in jobs]
    if not jobs or any(n is None or open_value(n) for n in known):
        return
    names = [n for n in known if n is not None]
    for patch in view.patches:
        name = patch.name
        if not isinstance(name, Scalar) or not isinstance(name.value, str) or name.open or name.value in names:
            continue
        if view.version == "2.3":
            then = "Trainer adds one without containers, and JobSet refuses the job"
        else:
            then = "Trainer's webhook rejects the TrainJob"
        near = nearest(name.value, names) or (names[0] if len(names) == 1 else None)
        listed = ", ".join(f"'{n}'" for n in names)
        yield Finding(
            Place(name),
            f"The runtime has no replicated job '{name.value}'; {then}.",
            help=f"Write '{near}'." if near else f"Write one of {listed}.",
            fix=Fix(f"write {near}", (SetValue(name, near),), Applicability.UNSAFE) if near else None,
            silences=_missed(container for _, container in patch.containers()),
        )


@rule("TRN018", "patch-manager", Severity.ERROR, on=TrainJobView, yields_on_line=("DOC003",))
def patch_manager(view: TrainJobView) -> Iterator[Finding]:
    """Each patch says who manages it, as a domain and a path.

    The manager is the key of the list of patches. Trainer's webhook takes a domain in lower case, a slash and a path;
    the API server takes each manager once.

    Fix: write a name of your own, as example.com/fabric.
    Silent: a manager that a template fills in.
    Bad: a word alone (trainer-torch)
        @@ kind: TrainJob
        ~ vision.example/pool => pool # <-
    Bad: the domain in upper case (trainer-torch)
        @@ kind: TrainJob
        ~ vision.example/pool => Vision.example/pool # <-
    Good: a path of two parts (trainer-torch)
        @@ kind: TrainJob
        ~ vision.example/pool => vision.example/pool/a3
    Good: a domain of one word (trainer-torch)
        @@ kind: TrainJob
        ~ vision.example/pool => vision/pool
    Source: kubeflow/trainer@dc7656a pkg/runtime/framework/plugins/jobset/jobset.go; kubernetes/apimachinery
    IsDomainPrefixedPath.
    """
    if patch_field(view.version) != "runtimePatches":
        return
    seen: dict[str, Scalar] = {}
    for entry in view.manifest.root.mappings("spec", "runtimePatches"):
        manager = entry.at("manager")
        if manager is None or (isinstance(manager, Scalar) and manager.value is None):
            yield Finding(
                Place(manager if manager is not None else entry, on_key=manager is not None),
                "The patch has no 'manager'; the API server refuses the TrainJob.",
                help="Add a manager of your own, as example.com/fabric.",
            )
            continue
        if not isinstance(manager, Scalar) or not isinstance(manager.value, str) or manager.open:
            continue
        if manager.value in seen:
            yield Finding(
                Place(manager),
                f"Two patches have the manager '{manager.value}'; the API server refuses the TrainJob.",
                help="Give each patch a manager of its own, or make one patch of them.",
                related=(Related(Place(seen[manager.value]), "The first stands here."),),
            )
        elif not is_domain_prefixed_path(manager.value):
            yield Finding(
                Place(manager),
                f"The manager '{manager.value}' is no domain and path, as example.com/fabric; Trainer's webhook rejects the "
                "TrainJob.",
                help="Write a domain in lower case, a slash and a path.",
            )
        seen.setdefault(manager.value, manager)


def _as_runtime_patches(view: TrainJobView, field: str) -> list[dict[str, Any]] | None:
    """The entries of an older field as runtimePatches; None when they do not go over one to one."""
    made: list[dict[str, Any]] = []
    for number, entry in enumerate(view.manifest.root.mappings("spec", field), 1):
        plain = entry.plain()
        assert isinstance(plain, dict)
        targets = plain.pop("targetJobs", None)
        if not isinstance(targets, list) or not all(isinstance(t, dict) and "name" in t for t in targets):
            return None
        pod: Any = {"spec": plain} if field == "podSpecOverrides" else plain
        jobs = [{"name": t["name"], "template": {"spec": {"template": pod}}} for t in targets if isinstance(t, dict)]
        manager = "fabriclint.dev/moved" + (f"-{number}" if number > 1 else "")
        made.append({"manager": manager, "trainingRuntimeSpec": {"template": {"spec": {"replicatedJobs": jobs}}}})
    return made or None


@rule("TRN019", "removed-override-field", Severity.ERROR, on=TrainJobView, also=(Severity.WARNING,))
def removed_override_field(view: TrainJobView) -> Iterator[Finding]:
    """The block that changes the runtime is the one of the Trainer release that is installed.

    podSpecOverrides is Trainer 2.0's, podTemplateOverrides 2.1's, runtimePatches 2.2's and later. Under another release
    the block is an unknown field: kubectl refuses it, and a client without strict validation drops it unsaid, so that
    nothing is changed.

    Fix: write the block in the form of the release, or set `trainer-version` to the one your cluster runs.
    Silent: the block of the release; nothing else in the file is judged against the wrong one.
    Bad: the block of 2.1 for 2.2 (trainer-torch; trainer-version=2.2)
        @@ kind: TrainJob
        - runtimePatches:
        -   - manager: vision.example/pool
        -     trainingRuntimeSpec:
        -       template:
        -         spec:
        -           replicatedJobs:
        -             - name: node
        -               template:
        -                 spec:
        -                   template:
        -                     spec:
        -                       nodeSelector:
        -                         zone: a
        + podTemplateOverrides: # <-
        +   - targetJobs:
        +       - name: node
        +     spec:
        +       nodeSelector:
        +         zone: a
    Bad: the block of 2.2 for 2.1 (trainer-torch; trainer-version=2.1)
        @@ kind: TrainJob
        @@ runtimePatches: # <-
    Good: the block of the release (trainer-torch; trainer-version=2.2)
        @@ kind: TrainJob
    Good: the block of 2.1 for 2.1 (trainer-torch; trainer-version=2.1)
        @@ kind: TrainJob
        - runtimePatches:
        -   - manager: vision.example/pool
        -     trainingRuntimeSpec:
        -       template:
        -         spec:
        -           replicatedJobs:
        -             - name: node
        -               template:
        -                 spec:
        -                   template:
        -                     spec:
        -                       nodeSelector:
        -                         zone: a
        + podTemplateOverrides:
        +   - targetJobs:
        +       - name: node
        +     spec:
        +       nodeSelector:
        +         zone: a
    Source: kubeflow/trainer@117ad23, @73c9bec, @dc7656a pkg/apis/trainer/v1alpha1/trainjob_types.go.
    """
    own = patch_field(view.version)
    for field in dict.fromkeys(FIELDS.values()):
        node = view.manifest.root.at("spec", field)
        if field == own or node is None or (isinstance(node, Scalar) and node.value is None):
            continue
        of = [v for v, f in FIELDS.items() if f == field]
        release = of[0] if len(of) == 1 else f"{of[0]} and later"
        fix = None
        if own == "runtimePatches" and view.manifest.root.at("spec", own) is None:
            moved = _as_runtime_patches(view, field)
            if moved is not None:
                add = AddField(view.manifest.root, ("spec", "runtimePatches"), moved)
                fix = Fix("rewrite as runtimePatches", (Remove(node), add), Applicability.UNSAFE)
        judged = "" if view.version_given else ", which fabriclint takes by default"
        yield Finding(
            Place(node, on_key=True),
            f"'{field}' is a field of Trainer {release}; Trainer {view.version}{judged}, has '{own}', and the API server "
            "refuses the TrainJob or drops the block unsaid."
            if judged
            else f"'{field}' is a field of Trainer {release}; Trainer {view.version} has '{own}', and the API server refuses "
            "the TrainJob or drops the block unsaid.",
            help=f"Write the block as '{own}', or set trainer-version to the release that your cluster runs.",
            severity=Severity.ERROR if view.version_given else Severity.WARNING,
            fix=fix,
        )


#: Lists of a pod that a patch replaces as a whole (kubernetes/api core/v1: no patch merge key), by the way to them.
_REPLACED: tuple[tuple[str, ...], ...] = (
    ("tolerations",),
    ("securityContext", "supplementalGroups"),
    ("securityContext", "sysctls"),
    ("affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution", "nodeSelectorTerms"),
    ("affinity", "nodeAffinity", "preferredDuringSchedulingIgnoredDuringExecution"),
)
_REPLACED_IN_CONTAINER: tuple[tuple[str, ...], ...] = (
    ("securityContext", "capabilities", "add"),
    ("securityContext", "capabilities", "drop"),
)
#: Patches of these managers are written by a controller, which adds to what there was.
_CONTROLLERS = ("kueue.x-k8s.io/",)


def _covered(had: Any, listed: list[Any]) -> bool:
    """Whether an item of a replaced list is still there, or something wider is."""
    if had in listed:
        return True
    if isinstance(had, str):
        bare = [str(i).upper().removeprefix("CAP_") for i in listed]
        return had.upper().removeprefix("CAP_") in bare or "ALL" in bare
    if isinstance(had, dict) and ("effect" in had or "operator" in had or "tolerationSeconds" in had or "key" in had):
        for item in listed:
            if not isinstance(item, dict):
                continue
            same_key = item.get("key") == had.get("key") or (
                item.get("key") is None and item.get("operator") == "Exists"
            )
            same_effect = item.get("effect") in (None, "", had.get("effect"))
            same_value = item.get("operator") == "Exists" or item.get("value") == had.get("value")
            if same_key and same_effect and same_value:
                return True
    return False


def _item_text(item: Any) -> str:
    if isinstance(item, dict):
        return str(item.get("key") or item.get("name") or next(iter(item.values()), ""))
    return str(item)


def _needed_lock(view: TrainJobView, name: str, lost: list[Node]) -> Severity | None:
    """How heavy it is that IPC_LOCK is among what a patch takes away; None where no worker of the job needs it."""
    if name != "capabilities.add" or not any(i.plain() in ("IPC_LOCK", "ALL") for i in lost) or view.job is None:
        return None
    severities = [s for pod in view.job.pods if (s := missing_lock(pod)) in (Severity.ERROR, Severity.WARNING)]
    return min(severities, key=lambda s: s is not Severity.ERROR, default=None)


@rule("TRN021", "patch-replaces-list", Severity.WARNING, on=TrainJobView, also=(Severity.ERROR,))
def patch_replaces_list(view: TrainJobView) -> Iterator[Finding]:
    """A list that a patch replaces repeats what the runtime had in it.

    A patch merges maps, containers, volumes and variables, and replaces most other lists as a whole: tolerations,
    capabilities, groups, affinity terms. What the runtime had there is gone, and the pod stays Pending or lacks a right:
    without IPC_LOCK a worker on the fabric may fail to register its buffers.

    Fix: repeat the runtime's items in the patch.
    Silent: lists that merge; items that a wider one covers; patches that Kueue writes.
    Bad: tolerations (trainer-torch)
        @@ manager: vision.example/pool
          nodeSelector:
            zone: a
        + tolerations: # <-
        +   - key: team
        +     operator: Exists
    Bad: capabilities (trainer-fabric)
        @@ kind: TrainJob
        + runtimePatches:
        +   - manager: vision.example/profile
        +     trainingRuntimeSpec:
        +       template:
        +         spec:
        +           replicatedJobs:
        +             - name: node
        +               template:
        +                 spec:
        +                   template:
        +                     spec:
        +                       containers:
        +                         - name: node
        +                           securityContext:
        +                             capabilities:
        +                               add: [IPC_LOCK] # <-
          trainer:
    Bad: IPC_LOCK of a worker on the fabric (trainer-fabric)
        @@ kind: TrainJob
        + runtimePatches:
        +   - manager: vision.example/profile
        +     trainingRuntimeSpec:
        +       template:
        +         spec:
        +           replicatedJobs:
        +             - name: node
        +               template:
        +                 spec:
        +                   template:
        +                     spec:
        +                       containers:
        +                         - name: node
        +                           securityContext:
        +                             capabilities:
        +                               add: [SYS_PTRACE] # <-
          trainer:
    Good: one toleration for all (trainer-torch)
        @@ manager: vision.example/pool
          nodeSelector:
            zone: a
        + tolerations:
        +   - operator: Exists
    Good: what a map has stays (trainer-torch)
        @@ manager: vision.example/pool
        ~ zone: a => zone: b
    Source: kubernetes/apimachinery pkg/util/strategicpatch; kubernetes/api v0.35 core/v1.
    """
    for patch in view.patches:
        if (patch.entry.string("manager") or "").startswith(_CONTROLLERS) or patch.spec is None:
            continue
        job = next((j for j in view.runtime_jobs if j.string("name") == patch.job), None)
        pod = job.mapping("template", "spec", "template", "spec") if job is not None else None
        if pod is None:
            continue
        pairs: list[tuple[Mapping, Mapping, tuple[str, ...]]] = [(patch.spec, pod, path) for path in _REPLACED]
        for listed, container in patch.containers():
            own = next((c for c in pod.mappings(listed) if c.string("name") == container.string("name")), None)
            if own is not None:
                pairs.extend((container, own, path) for path in _REPLACED_IN_CONTAINER)
        for new, old, path in pairs:
            replaced, before = new.sequence(*path), old.sequence(*path)
            if replaced is None or before is None or not replaced.items:
                continue
            items = [i.plain() for i in replaced.items]
            if any(isinstance(i, Scalar) and i.open for i in replaced.items):
                continue
            lost = [i for i in before.items if not _covered(i.plain(), items)]
            if not lost:
                continue
            name = path[-1] if path[-1] not in ("add", "drop") else f"capabilities.{path[-1]}"
            gone = ", ".join(f"'{_item_text(i.plain())}'" for i in lost[:4])
            needed = _needed_lock(view, name, lost)
            yield Finding(
                Place(replaced, on_key=True),
                f"The patch replaces the runtime's '{name}' as a whole; {gone} of the runtime is gone from the pod"
                + (", and NCCL may fail to register its buffers." if needed is not None else "."),
                help=f"Repeat {gone} in this list, or leave the list to the runtime.",
                severity=needed,
                silences=("POD003",) if needed is not None else (),
                related=tuple(Related(Place(i), "The runtime has it here.") for i in lost[:4]),
                fix=Fix(
                    "repeat the runtime's items",
                    tuple(AddField(replaced.parent, (str(replaced.key),), [i.plain()], append=True) for i in lost),
                    Applicability.UNSAFE,
                )
                if replaced.parent is not None
                else None,
            )

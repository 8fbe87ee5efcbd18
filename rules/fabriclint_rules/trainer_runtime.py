"""TRN: which runtime a TrainJob names, and what a runtime must say to be one."""

from __future__ import annotations

from collections.abc import Iterator

from fabriclint.kinds import ANCESTOR_LABEL as LABEL
from fabriclint.node import Mapping, Scalar
from fabriclint.pod import WorkerPod
from fabriclint.rule import AddField, Applicability, Finding, Fix, Place, Related, Remove, SetValue, Severity, rule
from fabriclint.trainer.lookup import GROUP, KINDS, reference
from fabriclint.views import RuntimeView, TrainJobView
from fabriclint_schemas.trainer.load import names

_TORCH_AND_JAX = ("torch", "jax")
_FED = ("image", "command", "args", "env", "resourcesPerNode")


def label_of(job: Mapping) -> Scalar | None:
    """The ancestor label of a replicated job, where Trainer looks for it."""
    return job.scalar("template", "metadata", "labels", LABEL)


def _trainer_job(jobs: list[Mapping]) -> Mapping | None:
    """The replicated job that should be the trainer: `node`, else the only one, else the only one with GPUs."""
    free = [j for j in jobs if not _is_step(j)]
    for job in free:
        if job.string("name") == "node":
            return job
    if len(free) == 1:
        return free[0]
    from fabriclint.workload import gpu_quantity

    with_gpus = [
        j
        for j in free
        if any(
            gpu_quantity(c.at("resources")) for c in j.mappings("template", "spec", "template", "spec", "containers")
        )
    ]
    return with_gpus[0] if len(with_gpus) == 1 else None


def _is_step(job: Mapping) -> bool:
    label = label_of(job)
    return label is not None and label.text in ("dataset-initializer", "model-initializer")


def _labelled_by_patch(user: TrainJobView) -> bool:
    """Whether a patch of the TrainJob puts the label where Trainer looks for it."""
    return any(
        patch.template is not None and patch.template.string("metadata", "labels", LABEL) == "trainer"
        for patch in user.patches
    )


def _lost(view: RuntimeView) -> str:
    """What the TrainJobs in view ask for and do not get without the label, as the end of a sentence; '' for nothing."""
    lost: list[str] = []
    unset = ""
    mpi = view.policy == "mpi"
    for user in view.users:
        if _labelled_by_patch(user):
            continue
        for key in (*_FED, *(() if mpi else ("numNodes",))):
            if user.trainer is not None and user.trainer.at(key) is not None and key not in lost:
                lost.append(key)
    if view.users and view.policy in _TORCH_AND_JAX and not all(_labelled_by_patch(u) for u in view.users):
        unset = "PET_* variables" if view.policy == "torch" else "JAX_* variables"
    said = [f"""ignores '{"', '".join(lost)}' of the TrainJob that uses it"""] if lost else []
    said += [f"sets no {unset}"] if unset else []
    return " and ".join(said)


@rule("TRN005", "missing-ancestor-label", Severity.ERROR, on=RuntimeView, also=(Severity.WARNING,))
def missing_ancestor_label(view: RuntimeView) -> Iterator[Finding]:
    """The runtime's trainer job carries the label `trainer.kubeflow.org/trainjob-ancestor-step: trainer`.

    Trainer looks for the label on the replicated job's own template. Without it nothing of the TrainJob's trainer block
    reaches a pod: no image, command, args, env, resources, number of nodes, and no rendezvous variables. Each pod then
    starts as the only rank of a job of one. On the pod template or on the runtime the label does nothing.

    Fix: add the label to the metadata of the replicated job's template.
    Silent: mpi runtimes whose TrainJobs give a number of nodes at most (mpi counts by name), or whose launcher carries
    the label; a patch that adds it.
    Bad: no label, and a TrainJob that loses its block (trainer-torch)
        @@ replicatedJobs:
          - name: node # <-
            template:
        -     metadata:
        -       labels:
        -         trainer.kubeflow.org/trainjob-ancestor-step: trainer
    Bad: the name of the job as its value (trainer-torch)
        ~ ancestor-step: trainer => ancestor-step: node # <-
    Good: the label where Trainer looks for it (trainer-torch)
        @@ kind: TrainJob
    Good: mpi counts by name (trainer-mpi)
        @@ - name: launcher
        - metadata:
        -   labels:
        -     trainer.kubeflow.org/trainjob-ancestor-step: trainer
    Source: kubeflow/trainer@dc7656a pkg/runtime/core/trainingruntime.go, pkg/runtime/framework/plugins/jobset.
    """
    jobs = view.jobs
    if not jobs or view.manifest.partial:
        return
    if any((label := label_of(j)) is not None and (label.text == "trainer" or label.open) for j in jobs):
        return
    lost = _lost(view)
    if view.users and not lost:
        return
    if view.policy == "mpi" and not lost:
        return
    job = _trainer_job(jobs)
    if job is None:
        return
    wrong = label_of(job)
    name = job.string("name") or ""
    severity = Severity.ERROR if lost else Severity.WARNING
    what = lost or "ignores the TrainJob's trainer block"
    related = [
        Related(Place(user.trainer, on_key=True), "This trainer block is ignored.")
        for user in view.users
        if user.trainer is not None
    ]
    if wrong is not None:
        yield Finding(
            Place(wrong),
            f"The label '{LABEL}' of the replicated job '{name}' is '{wrong.text}', not 'trainer'; Trainer {what}.",
            silences=_CARRIED_BY_ENV,
            help="Write 'trainer'.",
            severity=severity,
            related=tuple(related),
            fix=Fix("write trainer", (SetValue(wrong, "trainer"),)),
        )
        return
    for path, where in (
        (("template", "spec", "template", "metadata", "labels", LABEL), "on the pod template"),
        (("metadata", "labels", LABEL), "here"),
    ):
        misplaced = job.at(*path)
        if misplaced is not None:
            related.insert(0, Related(Place(misplaced, on_key=True), f"The label does nothing {where}."))
    on_object = view.manifest.root.at("metadata", "labels", LABEL)
    if on_object is not None:
        related.insert(0, Related(Place(on_object, on_key=True), "The label does nothing on the runtime itself."))
    place = job.nearest("template", "metadata", "labels")
    if place is job or place.key == "template":
        place = job.nearest("name")
    yield Finding(
        Place(place, on_key=place.key != "name"),
        f"The replicated job '{name}' lacks the label '{LABEL}: trainer'; Trainer {what}.",
        silences=_CARRIED_BY_ENV,
        help=f"Add '{LABEL}: trainer' to template.metadata.labels of the replicated job.",
        severity=severity,
        related=tuple(related),
        fix=Fix("add the label", (AddField(job, ("template", "metadata", "labels", LABEL), "trainer"),))
        # A job without a template has no container for the label to speak of; what is there is not half a job more.
        if job.mapping("template", "spec") is not None
        else None,
    )


@rule("TRN009", "runtime-ref-kind", Severity.ERROR, on=TrainJobView)
def runtime_ref_kind(view: TrainJobView) -> Iterator[Finding]:
    """runtimeRef names the kind and the group that its runtime has.

    Without `kind` Trainer looks for a ClusterTrainingRuntime, also where a TrainingRuntime of that name stands beside
    the TrainJob. Trainer's webhook then rejects the TrainJob, or takes a cluster's runtime of the same name.

    Fix: write `kind: TrainingRuntime` (or ClusterTrainingRuntime) and `apiGroup: trainer.kubeflow.org`.
    Silent: runtimes that are not in view.
    Bad: no kind, and a runtime of the namespace (trainer-torch)
        @@ kind: TrainJob
        ~ runtimeRef: => runtimeRef: # <-
        - kind: TrainingRuntime
    Bad: another project's group (trainer-torch)
        @@ kind: TrainJob
        ~ apiGroup: trainer.kubeflow.org => apiGroup: kubeflow.org # <-
    Bad: the kind of the cluster's runtimes (trainer-torch)
        @@ kind: TrainJob
        ~ kind: TrainingRuntime => kind: ClusterTrainingRuntime # <-
    Good: the default is right for a cluster's runtime (trainer-fabric)
        @@ kind: TrainJob
        - kind: ClusterTrainingRuntime
    Good: all three fields (trainer-torch)
        @@ kind: TrainJob
    Source: kubeflow/trainer@dc7656a pkg/apis/trainer/v1alpha1/trainjob_types.go, pkg/webhooks/trainjob_webhook.go.
    """
    root = view.manifest.root
    ref = reference(view.manifest)
    node = root.mapping("spec", "runtimeRef")
    if ref is None or node is None:
        return
    group, kind, name = ref
    if group != GROUP:
        where = node.at("apiGroup")
        yield Finding(
            Place(where if where is not None else node, on_key=where is None),
            f"'apiGroup: {group}' has no runtimes; Trainer's webhook rejects the TrainJob.",
            help=f"Write '{GROUP}'.",
            fix=Fix(f"write {GROUP}", (SetValue(where, GROUP),)) if isinstance(where, Scalar) else None,
        )
        return
    others = [m for m in view.namesakes if m.kind != kind]
    same = [m for m in view.namesakes if m.kind == kind]
    if kind not in KINDS:
        right = others[0].kind if len({m.kind for m in others}) == 1 else KINDS[1]
        where = node.nearest("kind")
        yield Finding(
            Place(where),
            f"'kind: {kind}' is no kind of runtime; Trainer's webhook rejects the TrainJob.",
            help=f"Write '{KINDS[0]}' or '{KINDS[1]}'.",
            fix=Fix(f"write {right}", (SetValue(where, right),), Applicability.SAFE if others else Applicability.UNSAFE)
            if isinstance(where, Scalar)
            else None,
        )
        return
    if same or not others:
        return
    right = others[0].kind
    written = node.scalar("kind")
    shipped = view.resolved is not None and view.resolved.runtime is not None
    if shipped:
        then = "Trainer takes the runtime of that name that it ships"
    else:
        then = "Trainer's webhook finds none and rejects the TrainJob"
    related = (Related(Place(others[0].root.nearest("kind")), f"This {right} is not looked at."),)
    if written is None:
        yield Finding(
            Place(node, on_key=True),
            f"Without 'kind' the runtime '{name}' is looked for among the ClusterTrainingRuntimes, and '{name}' is a {right}; "
            f"{then}.",
            help=f"Add 'kind: {right}'.",
            related=related,
            fix=Fix(f"add kind: {right}", (AddField(node, ("kind",), right),)),
        )
        return
    yield Finding(
        Place(written),
        f"The runtime '{name}' is a {right}, not a {kind}; {then}.",
        help=f"Write 'kind: {right}'.",
        related=related,
        fix=Fix(f"write {right}", (SetValue(written, right),)),
    )


@rule("TRN010", "runtime-not-found", Severity.NOTE, on=TrainJobView, also=(Severity.ERROR,))
def runtime_not_found(view: TrainJobView) -> Iterator[Finding]:
    """The runtime that a TrainJob names is in view.

    The pod is made of both. Without the runtime only what stands in the TrainJob can be checked: not whether its patches
    meet a container, whether the worker gets its devices, what it starts and over which fabric it runs.

    Fix: check the runtime's file together with the TrainJob, or name its folder in `reference-paths`, or give a cluster
    snapshot that holds the runtimes.
    Silent: runtimes that Trainer itself ships in the release that is judged for. Said once for all TrainJobs of a file
    that name the runtime.
    Bad: a runtime that nobody has seen (trainer-torch)
        @@ kind: TrainJob
        ~ name: torch-gpu => name: torch-cluster # <-
    Bad: one of another release (trainer-shipped; trainer-version=2.1)
        ~ name: torch-distributed => name: jax-distributed # <-
    Good: beside the TrainJob (trainer-torch)
        @@ kind: TrainJob
    Good: one that Trainer ships (trainer-shipped)
        @@ kind: TrainJob
    Source: kubeflow/trainer@dc7656a manifests/base/runtimes; pkg/webhooks/trainjob_webhook.go.
    """
    node = view.manifest.root.scalar("spec", "runtimeRef", "name")
    ref = reference(view.manifest)
    if view.runtime is not None or node is None or ref is None or ref[1] not in KINDS or ref[0] != GROUP:
        return
    if len(view.namesakes) > 1:
        yield Finding(
            Place(node),
            f"Several runtimes called '{node.text}' are in view; which of them is meant is not known, and the pods were not "
            "checked.",
            help="Check the files of one set together.",
            related=tuple(
                Related(Place(m.root.nearest("metadata", "name")), "One stands here.") for m in view.namesakes[:4]
            ),
        )
        return
    snapshot = view.snapshot
    if snapshot is not None and snapshot.collected(ref[1]):
        yield Finding(
            Place(node),
            f"The cluster has no {ref[1]} '{node.text}'; Trainer's webhook rejects the TrainJob.",
            help="Create the runtime first, or name one that the cluster has.",
            severity=Severity.ERROR,
        )
        return
    if view.alike[0] is not view:
        return
    others = [v.manifest.root.nearest("spec", "runtimeRef", "name") for v in view.alike[1:]]
    whose = f"the {len(view.alike)} TrainJobs that name it here lead" if others else "the TrainJob leads"
    yield Finding(
        Place(node),
        f"The {ref[1]} '{node.text}' is not in view; the pods that {whose} to were not checked.",
        help="Check the runtime's file together with this one, or name its folder in reference-paths.",
        severity=Severity.NOTE,
        related=tuple(Related(Place(n), "Another TrainJob names it here.") for n in others[:4]),
    )


@rule("TRN011", "runtime-namespace-mismatch", Severity.ERROR, on=TrainJobView)
def runtime_namespace_mismatch(view: TrainJobView) -> Iterator[Finding]:
    """A TrainingRuntime stands in the namespace of the TrainJob that names it.

    Trainer looks for a TrainingRuntime in the TrainJob's own namespace only; its webhook rejects the TrainJob when the
    runtime is elsewhere.

    Fix: create the runtime in the TrainJob's namespace, or make it a ClusterTrainingRuntime.
    Silent: where one of the two has no namespace written down; runtimes of the whole cluster.
    Bad: the runtime of another team (trainer-torch)
        @@ kind: TrainJob
        ~ namespace: vision => namespace: speech
        ~ name: torch-gpu => name: torch-gpu # <-
    Bad: the runtime moved (trainer-steps)
        ~ namespace: vision => namespace: shared
        @@ kind: TrainJob
        ~ name: torch-steps => name: torch-steps # <-
    Good: one namespace (trainer-torch)
        @@ kind: TrainJob
    Good: the namespace is given at apply (trainer-torch)
        @@ kind: TrainJob
        - namespace: vision
    Source: kubeflow/trainer@dc7656a pkg/runtime/core/trainingruntime.go.
    """
    node = view.manifest.root.scalar("spec", "runtimeRef", "name")
    ref = reference(view.manifest)
    runtime = view.runtime
    if node is None or ref is None or runtime is None or ref[1] != "TrainingRuntime" or runtime.kind != ref[1]:
        return
    here, there = view.manifest.namespace, runtime.namespace
    if not here or not there or here == there:
        return
    spaces = (view.manifest.root.scalar("metadata", "namespace"), runtime.root.scalar("metadata", "namespace"))
    if any(s is None or s.open for s in spaces):
        return
    yield Finding(
        Place(node),
        f"The TrainingRuntime '{node.text}' is in namespace '{there}' and the TrainJob in '{here}'; Trainer's webhook finds no "
        "runtime and rejects the TrainJob.",
        help=f"Create the runtime in '{here}', or make it a ClusterTrainingRuntime.",
        related=(Related(Place(runtime.root.nearest("metadata", "namespace")), "The runtime's namespace."),),
    )


#: Placement that other controllers bring: topology-aware scheduling and queues.
_PLACED_BY = ("kueue.x-k8s.io/podset-", "cloud.google.com/gke-topology", "gke-placement-group")
_QUEUE = "kueue.x-k8s.io/queue-name"


@rule("TRN013", "runtime-without-scheduling", Severity.WARNING, on=WorkerPod, also=(Severity.NOTE,))
def runtime_without_scheduling(pod: WorkerPod) -> Iterator[Finding]:
    """A runtime of your own that is wired to a fabric says which nodes it is for.

    AICR's bundle writes node selectors and tolerations into the runtimes that it ships. A runtime of your own inherits
    nothing of it: its pods stay Pending, or land on another pool with eight GPUs and no fabric.

    Fix: carry the nodeSelector and the tolerations of your bundle over into the runtime.
    Silent: selectors by a patch, claims (they select by themselves), Kueue's queues and topologies, shipped runtimes,
    and runtimes whose TrainJob brings the devices.
    Bad: a fabric and no selector (trainer-fabric)
        @@ ancestor-step: trainer
          spec:
            template:
              spec: # <-
        -       nodeSelector:
        -         node.kubernetes.io/instance-type: Standard_ND96isr_H100_v5
    Bad: the same without a TrainJob (trainer-fabric-alone)
        @@ ancestor-step: trainer
          spec:
            template:
              spec: # <-
        -       nodeSelector:
        -         node.kubernetes.io/instance-type: Standard_ND96isr_H100_v5
    Good: the selector (trainer-fabric)
        @@ kind: TrainJob
    Good: no fabric, any node with GPUs (trainer-torch)
        - nodeSelector:
        -   pool: h100
    Source: NVIDIA AICR, "Attaching a Training Workload to the Cluster Fabric".
    """
    workload = pod.workload
    runtime = getattr(workload.resolved, "runtime", None)
    if not workload.runtime_alone and (runtime is None or runtime.root.doc is None):
        return
    if pod.fabric is None or pod.spec.at("resourceClaims") is not None:
        return
    if (
        pod.spec.at("nodeSelector") is not None
        or pod.spec.at("affinity") is not None
        or pod.spec.at("nodeName") is not None
    ):
        if pod.fabric.name.startswith("gke-") and pod.spec.at("tolerations") is None:
            yield pod.finding(
                pod.missing_field(),
                "The runtime selects nodes and tolerates nothing; a pool that the bundle taints does not take its pods.",
                help="Carry the tolerations of your bundle over, if its pools are tainted.",
                severity=Severity.NOTE,
            )
        return
    own = runtime.document if runtime is not None else workload.manifest.document
    if not any(e.strong and e.node.source.doc is own for e in pod.fabric.evidence):
        return
    if any(key.startswith(_PLACED_BY) for key in pod.annotations):
        return
    labels = workload.manifest.root.mapping("metadata", "labels")
    if labels is not None and _QUEUE in labels.fields:
        return
    yield pod.finding(
        pod.missing_field(),
        "The runtime is wired to a fabric and selects no nodes; its pods may land on a pool without that fabric, or stay "
        "Pending.",
        help="Add the nodeSelector (and the tolerations) of the pool with the fabric.",
    )


@rule("TRN015", "framework-label-missing", Severity.NOTE, on=RuntimeView)
def framework_label_missing(view: RuntimeView) -> Iterator[Finding]:
    """A runtime says its framework in a label.

    Clients that list runtimes (the SDK) skip those without `trainer.kubeflow.org/framework`. Trainer itself does not
    read it.

    Fix: add the label, as `trainer.kubeflow.org/framework: torch`.
    Silent: labels that a template fills in.
    Bad: labels without it (trainer-torch)
        @@ name: torch-gpu
        ~ labels: => labels: # <-
        ~ trainer.kubeflow.org/framework => team
    Bad: no labels (trainer-torch)
        ~ metadata: => metadata: # <-
        @@ namespace: vision
        - labels:
        -   trainer.kubeflow.org/framework: torch
    Good: the label (trainer-torch)
        @@ kind: TrainJob
    Good: another framework (trainer-mpi)
        @@ kind: TrainJob
    Source: kubeflow/trainer@dc7656a manifests/base/runtimes; kubeflow/sdk.
    """
    metadata = view.manifest.root.mapping("metadata")
    if metadata is None:
        return
    labels = metadata.at("labels")
    if isinstance(labels, Scalar) and labels.value is not None:
        return
    if isinstance(labels, Mapping) and any(k == f"{GROUP}/framework" or "{{" in k for k in labels.fields):
        return
    yield Finding(
        Place(metadata.nearest("labels"), on_key=True),
        f"The runtime has no label '{GROUP}/framework'; clients that list runtimes do not show it.",
        help=f"Add '{GROUP}/framework: {view.policy if view.policy != 'plainml' else 'torch'}' to its labels.",
    )


@rule("TRN016", "replicated-job-replicas", Severity.ERROR, on=RuntimeView)
def replicated_job_replicas(view: RuntimeView) -> Iterator[Finding]:
    """A replicated job that Trainer fills in has one replica.

    Trainer sizes a job by its number of pods, and its webhook takes `replicas: 1` only on jobs that carry the ancestor
    label. A count of nodes belongs in mlPolicy.numNodes and spec.trainer.numNodes.

    Fix: remove `replicas` (1 is the default), and write the number of nodes in mlPolicy.numNodes.
    Silent: jobs without the label.
    Bad: two replicas of the trainer (trainer-torch)
        @@ - name: node
        + replicas: 2 # <-
          template:
    Bad: of an initializer (trainer-steps)
        @@ - name: dataset-initializer
        + replicas: 0 # <-
          template:
    Good: one, written out (trainer-torch)
        @@ - name: node
        + replicas: 1
          template:
    Good: a job of your own (trainer-mpi; trainer-version=2.2)
        @@ kind: TrainJob
    Source: kubeflow/trainer@dc7656a pkg/webhooks/trainingruntime_webhook.go.
    """
    steps: dict[str, str] = names()["steps"]
    for job in view.jobs:
        label = label_of(job)
        replicas = job.scalar("replicas")
        step = label.text if label is not None else None
        launcher = view.version == "2.0" and job.string("name") == names()["launcher"]
        if (step not in steps and not launcher) or replicas is None:
            continue
        if not isinstance(replicas.value, int) or isinstance(replicas.value, bool) or replicas.value == 1:
            continue
        yield Finding(
            Place(replicas),
            f"The replicated job '{job.string('name')}' has 'replicas: {replicas.text}' and is one that Trainer fills in; its "
            "webhook rejects the runtime.",
            help="Write 1, and give the number of nodes as mlPolicy.numNodes.",
            fix=Fix("remove replicas", (Remove(replicas),), Applicability.UNSAFE),
        )


#: What is missed in the ranks' environment when the TrainJob's variables reach no container.
_CARRIED_BY_ENV = (
    "IB004",
    "IB005",
    "EFA003",
    "EFA004",
    "EFA006",
    "TCPXO021",
    "TCPXO022",
    "TCPXO023",
    "DEV008",
    "RUN008",
)


@rule("TRN017", "required-container-name", Severity.ERROR, on=RuntimeView)
def required_container_name(view: RuntimeView) -> Iterator[Finding]:
    """A replicated job that Trainer fills in has the container that Trainer writes to.

    The trainer's container is called `node`, those of the initializers dataset-initializer and model-initializer; an
    init container does not count. Trainer's webhook rejects the runtime without it (from 2.1; 2.0 takes it, and the
    TrainJob's block reaches nothing).

    Fix: give the container the name.
    Silent: jobs without the ancestor label, Trainer 2.0.
    Bad: the name of another operator's container (trainer-torch)
        @@ - name: log-shipper
        ~ - name: node => - name: pytorch # <-
    Bad: an initializer with a name of its own (trainer-steps)
        @@ containers:
        ~ - name: dataset-initializer => - name: fetch # <-
    Good: the name that Trainer looks for (trainer-torch)
        @@ kind: TrainJob
    Good: a job that Trainer does not fill in (trainer-mpi)
        @@ kind: TrainJob
    Source: kubeflow/trainer@73c9bec pkg/webhooks/trainingruntime_webhook.go.
    """
    if view.version == "2.0":
        return
    steps: dict[str, str] = names()["steps"]
    for job in view.jobs:
        label = label_of(job)
        wanted = steps.get(label.text) if label is not None else None
        containers = job.sequence("template", "spec", "template", "spec", "containers")
        if wanted is None or label is None or containers is None or not containers.items:
            continue
        held = [c.scalar("name") for c in containers.items]
        if any(n is None or n.open or n.text == wanted for n in held):
            continue
        only = held[0] if len(held) == 1 else None
        listed = ", ".join(f"'{n.text}'" for n in held if n is not None)
        yield Finding(
            Place(only) if only is not None else Place(containers, on_key=True),
            f"The replicated job '{job.string('name')}' is labelled '{label.text}' and has no container '{wanted}' (it has "
            f"{listed}); Trainer's webhook rejects the runtime.",
            help=f"Call the container that does the work '{wanted}'.",
            silences=_CARRIED_BY_ENV,
            related=(Related(Place(label), "The label stands here."),),
            fix=Fix(f"rename to {wanted}", (SetValue(only, wanted),), Applicability.UNSAFE)
            if only is not None
            else None,
        )


@rule("TRN024", "deprecated-runtime", Severity.WARNING, on=TrainJobView)
def deprecated_runtime(view: TrainJobView) -> Iterator[Finding]:
    """A TrainJob names a runtime that will stay.

    A ClusterTrainingRuntime with the label `trainer.kubeflow.org/support: deprecated` will be taken away; Trainer's
    webhook warns of it when the TrainJob is created.

    Fix: name the runtime that takes its place.
    Silent: the label on a TrainingRuntime, where Trainer does not read it.
    Bad: a deprecated runtime (trainer-fabric)
        ~ trainer.kubeflow.org/framework: torch => trainer.kubeflow.org/support: deprecated
        @@ kind: TrainJob
        ~ name: torch-ib => name: torch-ib # <-
    Bad: with both labels (trainer-fabric)
        @@ trainer.kubeflow.org/framework: torch
        + trainer.kubeflow.org/support: deprecated
        @@ kind: TrainJob
        ~ name: torch-ib => name: torch-ib # <-
    Good: a runtime that stays (trainer-fabric)
        @@ kind: TrainJob
    Good: a runtime of the namespace (trainer-torch)
        @@ trainer.kubeflow.org/framework: torch
        + trainer.kubeflow.org/support: deprecated
    Source: kubeflow/trainer@dc7656a pkg/webhooks/clustertrainingruntime_webhook.go.
    """
    runtime = view.runtime
    node = view.manifest.root.scalar("spec", "runtimeRef", "name")
    if runtime is None or node is None or runtime.kind != "ClusterTrainingRuntime":
        return
    label = runtime.root.scalar("metadata", "labels", names()["deprecated_label"])
    if label is None or label.value != "deprecated":
        return
    yield Finding(
        Place(node),
        f"The runtime '{node.text}' is deprecated; a later release or your administrators will remove it, and TrainJobs that "
        "name it are then rejected.",
        help="Name the runtime that takes its place.",
        related=(Related(Place(label, on_key=True), "The runtime says so here."),),
    )


@rule("TRN030", "gang-without-scheduler", Severity.WARNING, on=RuntimeView)
def gang_without_scheduler(view: RuntimeView) -> Iterator[Finding]:
    """A runtime that asks for Volcano's gang has its pods scheduled by Volcano.

    Trainer makes the PodGroup and does not set `schedulerName`. The default scheduler does not look at the PodGroup and
    starts the pods one by one.

    Fix: add `schedulerName: volcano` to each pod template.
    Silent: coscheduling, whose scheduler has a name of the cluster's own.
    Bad: a gang and the default scheduler (trainer-torch)
            torch: {}
        + podGroupPolicy:
        +   volcano: {} # <-
    Bad: only one of the two jobs (trainer-steps)
            torch: {}
        + podGroupPolicy:
        +   volcano: {} # <-
          template:
        @@ - name: node
        - dependsOn:
        -   - name: dataset-initializer
        -     status: Complete
        @@ ancestor-step: trainer
          nodeSelector:
            pool: h100
        + schedulerName: volcano
    Good: both (trainer-torch)
            torch: {}
        + podGroupPolicy:
        +   volcano: {}
        @@ ancestor-step: trainer
          nodeSelector:
            pool: h100
        + schedulerName: volcano
    Good: coscheduling (trainer-torch)
            torch: {}
        + podGroupPolicy:
        +   coscheduling: {}
    Source: kubeflow/trainer@dc7656a pkg/runtime/framework/plugins/volcano.
    """
    gang = view.manifest.root.at("spec", "podGroupPolicy", "volcano")
    if gang is None or (isinstance(gang, Scalar) and gang.value is None):
        return
    lacking = []
    for job in view.jobs:
        pod = job.mapping("template", "spec", "template", "spec")
        scheduler = pod.at("schedulerName") if pod is not None else None
        if pod is None or (isinstance(scheduler, Scalar) and scheduler.open):
            continue
        if scheduler is None or getattr(scheduler, "value", None) in (None, "", "default-scheduler"):
            lacking.append((job, pod))
    if not lacking:
        return
    named = ", ".join(f"'{j.string('name')}'" for j, _ in lacking)
    yield Finding(
        Place(gang, on_key=True),
        f"The runtime asks for Volcano's gang and the pods of {named} have no 'schedulerName: volcano'; the default scheduler "
        "starts them one by one.",
        help="Add 'schedulerName: volcano' to the pod template.",
        related=tuple(
            Related(Place(pod, on_key=True), "These pods go to the default scheduler.") for _, pod in lacking
        ),
        fix=Fix(
            "add schedulerName: volcano",
            tuple(
                AddField(pod, ("schedulerName",), "volcano") for _, pod in lacking if pod.at("schedulerName") is None
            ),
        )
        if all(pod.at("schedulerName") is None for _, pod in lacking)
        else None,
    )

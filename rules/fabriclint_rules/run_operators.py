"""RUN: what the operators refuse, and what they silently do not build."""

from __future__ import annotations

from collections.abc import Iterator

from fabriclint.group import GroupView, Refusal
from fabriclint.rule import Finding, Place, Severity, rule


def _refused(group: GroupView, sort: str) -> Iterator[Finding]:
    return (_finding(refusal) for refusal in group.refusals if refusal.sort == sort)


def _finding(refusal: Refusal) -> Finding:
    words = f" ({refusal.words})" if refusal.words else ""
    severity = Severity.WARNING if refusal.warning else Severity.ERROR
    return Finding(refusal.place, f"{refusal.what}; {refusal.then}{words}.", refusal.edit, severity)


@rule(
    "RUN007",
    "operator-container-name",
    Severity.ERROR,
    on=GroupView,
    also=(Severity.WARNING,),
    yields_on_line=("GIB031",),
)
def operator_container_name(group: GroupView) -> Iterator[Finding]:
    """The container that the operator looks for, by name or as the first, is the one with the ranks.

    Some operators write their variables and their port into the container of one name, and their webhook refuses a job
    whose role has none: nothing is created. Others take the first container, whatever its name: behind a sidecar the
    ranks get no keys, no hosts and no Ray.

    Fix: rename the container with the GPUs, or put it first.

    Silent: a name that is a template expression; a container with GPUs that starts sshd or Ray itself; a launcher with a
    list of hosts of its own; native sidecars; a first container with a claim, or with resources that a template fills in.

    Bad: a PyTorchJob whose worker is called after the model (run-pytorchjob)
        @@ Worker:
        - - name: pytorch
        + - name: captions  # <-
    Bad: the trainer's name in a TFJob (run-tfjob)
        @@ PS:
        - - name: tensorflow
        + - name: ps  # <-
    Bad: the sidecar's name does not help (run-pytorchjob)
        @@ Master:
        @@ containers:
        - - name: pytorch
        + - name: logs
        +   image: registry.example/logs:1
        + - name: main  # <-
    Good: a sidecar may stand first (run-pytorchjob)
        @@ Master:
        @@ containers:
        +   - name: logs
        +     image: registry.example/logs:1
    Bad: a proxy in front of mpirun (run-mpijob)
        @@ Launcher:
        @@ containers:
        +   - name: proxy
        +     image: registry.example/proxy:1
        @@ - name: launcher  # <-
    Bad: Ray is started in the log shipper (run-raycluster)
        @@ groupName
        @@ containers:
        +   - name: logs
        +     image: registry.example/logs:1
        @@ - name: worker  # <-
    Good: an MPIJob's containers have any name (run-mpijob)
        @@ Launcher:
        ~ name: launcher => name: main
    Good: so have a JobSet's (run-jobset)
        ~ name: train => name: forecast
    Good: a sidecar behind the worker (run-mpijob)
        @@ Worker:
          - name: worker
            image: registry.example/reduce:1.0
            resources:
              limits:
                nvidia.com/gpu: 1
        + - name: logs
        +   image: registry.example/logs:1
    Source: kubeflow/trainer@c77ee3f pkg/webhooks/pytorch, tensorflow, xgboost, paddlepaddle, jax, pkg/controller.v1/mpi;
    kubeflow/mpi-operator@101db14 pkg/controller; ray-project/kuberay@59d663a ray-operator/controllers/ray/common/pod.go
    """
    yield from _refused(group, "container")


@rule("RUN015", "name-not-dns", Severity.ERROR, on=GroupView, yields_on_line=("DOC003",))
def name_not_dns(group: GroupView) -> Iterator[Finding]:
    """The job's name, and every name that the operator makes of it, is one that Kubernetes takes.

    Controllers hang a role and an index on the job's name, and use the result as host name, Service or label. A dot,
    a digit at the start, or a few characters too many, and the object is refused, or worse, is admitted and never gets
    all its pods. How long a name may be depends on the kind.

    Fix: shorten or rename the job.

    Silent: names that are template expressions or placeholders; generateName is judged with the five characters that it gets.

    Bad: a dot in the name of an MPIJob (run-mpijob)
        @@ metadata:
        - name: reduce
        + name: reduce.v2  # <-
    Bad: a digit in front (run-leaderworkerset)
        @@ metadata:
        - name: answers
        + name: 70b-answers  # <-
    Bad: the last Service of a PyTorchJob has 64 characters (run-pytorchjob)
        @@ metadata:
        - name: captions
        + name: captions-of-pictures-in-every-language-that-the-team-knows  # <-
    Bad: JobSet asks for room behind the pod's index (run-jobset)
        @@ metadata:
        - name: weather
        + name: weather-of-the-coming-ten-days-on-the-finest-grid  # <-
    Good: a dot is no fault where no host name is made (run-volcano)
        @@ metadata:
        ~ name: speech => name: speech.v2
    Good: 50 characters (run-leaderworkerset)
        @@ metadata:
        ~ name: answers => name: answers-to-the-questions-of-everybody-who-may-aski
    Good: a name made by a template (run-raycluster)
        @@ metadata:
        ~ name: search => name: "{{ name }}"
    Source: kubeflow/mpi-operator@101db14 pkg/apis/kubeflow/validation; kubeflow/trainer@c77ee3f pkg/webhooks;
    kubernetes-sigs/jobset@f22e565 pkg/webhooks; ray-project/kuberay@59d663a ray-operator/controllers/ray/utils
    """
    yield from _refused(group, "name")


@rule(
    "RUN016",
    "replicas-rejected",
    Severity.ERROR,
    on=GroupView,
    also=(Severity.WARNING,),
    yields_on_line=("DOC005", "DOC012"),
)
def replicas_rejected(group: GroupView) -> Iterator[Finding]:
    """Counts and fields are ones that the operator and its webhook accept.

    The schema knows types; what the operator itself refuses (a Master without `replicas: 1`, a Worker with none, a
    subgroup that does not divide the group) shows only at apply time, or, where the operator has no webhook, only as an
    event on an object for which nothing is ever built. The message quotes the operator.

    Fix: as the help says.

    Silent: counts that are template expressions, and whatever depends on the cluster (whether a queue is open, feature
    gates).

    Bad: the Master does not say how many it is (run-pytorchjob)
          Master:  # <-
        -   replicas: 1
    Bad: a role in lower case (run-pytorchjob)
        - Worker:
        + worker:  # <-
    Bad: no Worker replicas count as none, and an MPIJob refuses that (run-mpijob)
          Worker:  # <-
        -   replicas: 2
    Bad: two subgroups of three in a group of four (run-leaderworkerset)
        @@ size: 4
        ~ size: 4 => size: 5
        + subGroupPolicy:
        +   subGroupSize: 3  # <-
    Bad: more pods asked for than there are (run-volcano)
        - minAvailable: 3
        + minAvailable: 4  # <-
    Bad: a policy names a replicated job that is not there (run-jobset)
        - targetReplicatedJobs: [ranks]
        + targetReplicatedJobs: [workers]  # <-
    Bad: an Indexed Job does not say how many are to complete (run-indexed)
        ~ completionMode: Indexed => completionMode: Indexed  # <-
        - completions: 2
    Bad: workers of an engine without the size of their group (run-llm)
        ~ pipeline: 2 => expert: true
        @@ template:
        ~ worker: => worker:  # <-
    Bad: a Ray job in a queue keeps its cluster (run-rayjob)
        @@ metadata:
        +   labels:
        +     kueue.x-k8s.io/queue-name: research
        @@ entrypoint
        - shutdownAfterJobFinishes: true
        + shutdownAfterJobFinishes: false  # <-
    Good: a Worker of a PyTorchJob without replicas is one (run-pytorchjob)
        @@ Worker:
        - replicas: 3
    Good: a subgroup that divides the group without its leader (run-leaderworkerset)
        @@ size: 4
        + subGroupPolicy:
        +   subGroupSize: 3
    Good: a count that is filled in later (run-mpijob)
        @@ Worker:
        ~ replicas: 2 => replicas: "{{ workers }}"
    Good: fewer pods are enough to begin (run-volcano)
        ~ minAvailable: 3 => minAvailable: 1
    Source: kubeflow/trainer@c77ee3f pkg/webhooks; kubeflow/mpi-operator@101db14 pkg/apis/kubeflow/validation;
    kubernetes-sigs/lws@2161f38 pkg/webhooks; kubernetes-sigs/jobset@f22e565 pkg/webhooks;
    volcano-sh/volcano@0a56ed3 pkg/webhooks/admission/jobs; ray-project/kuberay@59d663a ray-operator/controllers/ray/utils;
    kserve/kserve@1fb7810; ai-dynamo/grove@8fa3ece; kubernetes-sigs/kueue@8eab687; kubernetes/kubernetes@0370912 pkg/apis
    """
    yield from _refused(group, "fields")


@rule("RUN018", "no-pods", Severity.WARNING, on=GroupView, yields_on_line=("RUN016",))
def no_pods(group: GroupView) -> Iterator[Finding]:
    """Every role that asks for GPUs gets pods.

    Some kinds count a role without `replicas` as none: the job starts without it, and the ranks that are there wait, or
    train alone.

    Fix: write the number of pods.

    Silent: suspended jobs; roles that an autoscaler or a scale command may raise (a Ray group with maxReplicas, groups
    of a LeaderWorkerSet, a StatefulSet); roles without GPUs; counts that are template expressions.

    Bad: a Volcano task without replicas (run-volcano)
        - minAvailable: 3
        @@ tasks:
          - name: worker  # <-
        -   replicas: 2
    Bad: a Ray group without replicas (run-raycluster)
        @@ workerGroupSpecs:
          - groupName: gpu  # <-
        -   replicas: 2
    Bad: no jobs of a JobSet's ranks (run-jobset)
        - replicas: 1
        + replicas: 0  # <-
    Good: a Ray group that may grow (run-raycluster)
        @@ workerGroupSpecs:
        - replicas: 2
        + minReplicas: 0
        + maxReplicas: 8
    Good: a suspended job (run-jobset)
        @@ spec:
        +   suspend: true
        ~ replicas: 1 => replicas: 0
    Good: groups that are scaled up later (run-leaderworkerset)
        ~ replicas: 2 => replicas: 0
    Source: volcano-sh/volcano@0a56ed3 pkg/controllers/job; ray-project/kuberay@59d663a
    ray-operator/controllers/ray/raycluster_controller.go; kubeflow/trainer@c77ee3f pkg/controller.v1
    """
    if group.suspended:
        return
    for role in group.roles:
        if role.all_pods == 0 and not role.scalable and role.pod.is_worker:
            nodes = group.workload.manifest.root.scalar("spec", "trainer", "numNodes")
            given = nodes is not None and group.workload.landing is not None
            yield Finding(
                Place(nodes) if nodes is not None and given else role.count_place,
                f"'{role.name}' asks for GPUs and gets no pods; "
                + ("the TrainJob is complete at once." if given else "the job runs without it."),
                "Write how many pods it is to have.",
            )

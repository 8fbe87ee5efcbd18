"""TRN: the JobSet and the Jobs that a TrainJob leads to, and who refuses them; nothing of it shows at apply."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from fabriclint.kinds import ANCESTOR_LABEL
from fabriclint.node import Mapping, Node, Scalar, Sequence
from fabriclint.pod import PodView
from fabriclint.rule import Finding, Place, Related, Severity, rule
from fabriclint.trainer.jobset_rules import judge_jobset
from fabriclint.views import JobView, RuntimeView, TrainerView, TrainJobView

_WEBHOOK = "Trainer's webhook rejects the TrainJob"


def _place(node: Node) -> Place:
    return Place(node, on_key=isinstance(node, Mapping | Sequence) and isinstance(node.key, str))


def _sentence(message: str, then: str = "") -> str:
    said = not then or any(word in message for word in ("refuse", "reject", "never"))
    return message if said else f"{message.rstrip('.')}; {then}."


@rule("TRN027", "name-too-long", Severity.ERROR, on=TrainJobView, yields_on_line=("DOC005", "DOC003"))
def name_too_long(view: TrainJobView) -> Iterator[Finding]:
    """The TrainJob's name leaves room for what is put behind it.

    Trainer takes 63 characters. JobSet makes `NAME-JOB-0-INDEX-xxxxx` of it for the pods, which must be DNS labels of 63
    characters: 48 are left beside a job called node, 33 beside a dataset-initializer. JobSet refuses a longer one; the
    TrainJob exists, and only an event says why nothing runs.

    Fix: shorten the name.
    Silent: names that a template fills in, and those that are generated.
    Bad: 50 characters beside a job called node (trainer-torch)
        @@ kind: TrainJob
        ~ name: pretrain => name: pretrain-of-the-large-vision-model-on-all-the-data # <-
    Bad: 40 characters beside an initializer (trainer-steps)
        @@ kind: TrainJob
        ~ name: finetune => name: finetune-of-the-speech-model-of-the-team # <-
    Good: 48 characters (trainer-torch)
        @@ kind: TrainJob
        ~ name: pretrain => name: pretrain-of-the-large-vision-model-on-all-images
    Good: a short name (trainer-steps)
        @@ kind: TrainJob
    Source: kubernetes-sigs/jobset@ecaf56a pkg/webhooks/jobset_webhook.go; kubeflow/trainer#2735.
    """
    job = view.meant or view.resolved
    for reason in job.reasons if job is not None else []:
        if reason.code == "J1":
            yield Finding(
                _place(reason.node), reason.message, help="Shorten the name, or write letters, digits and '-' only."
            )
        elif reason.stage == "name" and reason.node.key == "name":
            yield Finding(
                _place(reason.node),
                _sentence(reason.message, "the API server refuses it"),
                help="Write small letters, digits and '-' only.",
            )


@rule(
    "TRN029",
    "jobset-invalid",
    Severity.ERROR,
    on=TrainerView,
    yields_to=("TRN004",),
    yields_on_line=("DOC005", "DOC012", "DOC007", "TRN027", "RUN012"),
)
def jobset_invalid(view: TrainerView) -> Iterator[Finding]:
    """The JobSet that a runtime describes is one that JobSet takes.

    JobSet's webhook looks at what no schema can: a job waits for one that stands before it, policies name jobs that
    exist, claim templates are mounted, names are DNS labels. Trainer's webhook looks at none of it: the runtime and the
    TrainJob exist, the JobSet never does, and only an event says so.

    Fix: name a replicated job that exists, and let a job wait for one that stands before it.
    Silent: names that a template fills in.
    Bad: waits for a job that comes later (trainer-steps)
        ~ - name: dataset-initializer => - name: dataset-initializer
        @@ dependsOn:
        ~ - name: dataset-initializer => - name: evaluation # <-
    Bad: waits for itself (trainer-steps)
        @@ dependsOn:
        ~ - name: dataset-initializer => - name: node # <-
    Bad: the success of a job that is not there (trainer-mpi)
        ~ targetReplicatedJobs: [launcher] => targetReplicatedJobs: [master] # <-
    Good: waits for the one before (trainer-steps)
        @@ kind: TrainJob
    Good: the success of the launcher (trainer-mpi)
        @@ kind: TrainJob
    Source: kubernetes-sigs/jobset@ecaf56a pkg/webhooks/jobset_webhook.go.
    """
    if isinstance(view, TrainJobView):
        job = view.meant or view.resolved
        reasons = job.of_stage("jobset") if job is not None else []
    elif isinstance(view, RuntimeView) and not any(u.job is not None for u in view.users):
        template = view.manifest.root.mapping("spec", "template")
        reasons = (
            [r for r in judge_jobset(template, view.version) if r.code != "schema"] if template is not None else []
        )
    else:
        return
    told: set[int] = set()
    for reason in reasons:
        above = reason.node.parent.parent if reason.node.parent is not None else None
        if reason.code == "J1" or id(above) in told:
            continue
        told.add(id(reason.node))
        yield Finding(
            _place(reason.node), reason.message, help=_JOBSET_HELP.get(reason.code, "Write what JobSet takes.")
        )
    for node in _waiting_for_themselves(view):
        yield Finding(
            _place(node),
            f"'{node.text}' waits for itself; JobSet takes it and never starts its pods.",
            help=_JOBSET_HELP["J3"],
        )


def _waiting_for_themselves(view: TrainerView) -> Iterator[Scalar]:
    """The names in `dependsOn` by which a replicated job waits for itself; JobSet's webhook lets it pass."""
    if isinstance(view, TrainJobView):
        jobs = view.runtime_jobs
    else:
        jobs = list(view.manifest.root.mappings("spec", "template", "spec", "replicatedJobs"))
    for position, job in enumerate(jobs):
        for entry in job.mappings("dependsOn"):
            node = entry.scalar("name")
            if position and node is not None and not node.open and node.text == job.string("name"):
                yield node


_JOBSET_HELP = {
    "J2": "Write a DNS label: small letters, digits and '-', at most 63.",
    "J3": "Let it wait for a replicated job that stands before it.",
    "J4": "Name a replicated job of this runtime, and write names and reasons as JobSet has them.",
    "J5": "Name a pod that exists.",
    "J6": "Mount each claim template, under a name that no volume has.",
    "J7": "Write a smaller count, or a domain, a slash and a path.",
    "J8": "Set backoffLimit, podReplacementPolicy and completions as InPlaceRestart needs them.",
    "schema": "Write the value as JobSet's schema has it.",
}


@rule(
    "TRN037",
    "jobset-refused",
    Severity.ERROR,
    on=JobView,
    yields_on_line=("DOC005", "DOC012", "DOC007", "RUN015", "RUN016"),
)
def jobset_refused(job: JobView, settings: Any) -> Iterator[Finding]:
    """A JobSet is one that JobSet's webhook takes.

    The webhook looks at what no schema can: groups have names that are DNS labels, claim templates are mounted, the
    manager is a domain and a path, restarts in place have the counts that they need. kubectl apply fails with its
    message, which has no line.

    Fix: write what the message asks for.
    Silent: names that a template fills in; what RUN015 and RUN016 say of names, orders and policies.
    Bad: a group whose name is no label (tcpxo-jobset)
        @@ - name: node
        + groupName: Workers # <-
          template:
    Bad: a manager without a path (tcpxo-jobset)
          spec:
        +   managedBy: queues # <-
            replicatedJobs:
    Good: a group (tcpxo-jobset)
        @@ - name: node
        + groupName: workers
          template:
    Good: a manager (tcpxo-jobset)
          spec:
        +   managedBy: vision.example/queues
            replicatedJobs:
    Source: kubernetes-sigs/jobset@ecaf56a pkg/webhooks/jobset_webhook.go.
    """
    manifest = job.workload.manifest
    if job.workload.kind != "JobSet" or job.workload.group != "jobset.x-k8s.io" or manifest.partial:
        return
    for reason in judge_jobset(manifest.root, settings.for_path(manifest.uri).trainer_version):
        if reason.code != "schema":
            yield Finding(
                _place(reason.node),
                reason.message.replace(
                    "the JobSet is refused and no pod is made", "JobSet's webhook refuses the object"
                ),
                help=_JOBSET_HELP.get(reason.code, "Shorten the name, or write small letters, digits and '-' only."),
            )


_OWN_ADDRESS = ("--rdzv", "--master-addr", "--master_addr", "MASTER_ADDR=", "PET_MASTER_ADDR=", "--standalone")


@rule("TRN038", "rendezvous-host", Severity.ERROR, on=RuntimeView, yields_to=("TRN005", "TRN017", "RUN001"))
def rendezvous_host(view: RuntimeView) -> Iterator[Finding]:
    """The trainer's job of a torch or jax runtime is called node, under the TrainJob's own subdomain.

    Trainer writes the address at which the ranks meet as fixed text: `NAME-node-0-0.NAME`, the first pod of a job
    called node below a service of the TrainJob's name. Under another name of the job, another subdomain or without host
    names that host does not exist, and all ranks wait until they time out.

    Fix: call the job node, and leave network.subdomain and network.enableDNSHostnames out.
    Silent: a command that brings an address of its own; TrainJobs without a trainer block, which get no address.
    Bad: the job has another name (trainer-fabric-alone)
        @@ replicatedJobs:
        ~ - name: node => - name: trainer-node # <-
    Bad: a subdomain of its own (trainer-torch)
        @@ kind: TrainingRuntime
          template:
            spec:
        +     network:
        +       subdomain: ranks # <-
              replicatedJobs:
    Good: the name that Trainer writes (trainer-torch)
        @@ kind: TrainJob
    Good: mpi has its hosts in a file (trainer-mpi)
        @@ kind: TrainingRuntime
          template:
            spec:
        +     network:
        +       subdomain: ranks
              successPolicy:
    Source: kubeflow/trainer@dc7656a pkg/runtime/framework/plugins/{torch,jax}.
    """
    if view.policy not in ("torch", "jax") or (view.users and all(u.trainer is None for u in view.users)):
        return
    job = next((j for j in view.jobs if j.string("template", "metadata", "labels", ANCESTOR_LABEL) == "trainer"), None)
    spec = view.manifest.root.mapping("spec", "template", "spec")
    if job is None or spec is None:
        return
    texts = [t for user in view.users if user.job is not None for pod in user.job.pods for t in (_started(pod),)]
    if not view.users:
        texts = ["\n".join(_scalars(job.mapping("template", "spec", "template", "spec")))]
    if texts and all(any(word in text for word in _OWN_ADDRESS) for text in texts):
        return
    name = job.scalar("name")
    if name is not None and not name.open and name.text != "node":
        yield Finding(
            Place(name),
            f"The trainer's job is called '{name.text}' and Trainer's rendezvous address names a job 'node'; the host does not "
            "exist and the ranks wait for ever.",
            help="Call the replicated job 'node'.",
        )
    subdomain = spec.scalar("network", "subdomain")
    own = {u.manifest.name for u in view.users}
    if subdomain is not None and subdomain.value and not subdomain.open and own != {subdomain.text}:
        yield Finding(
            Place(subdomain),
            f"The subdomain is '{subdomain.text}' and Trainer's rendezvous address has the TrainJob's name in its place; the host "
            "does not exist and the ranks wait for ever.",
            help="Remove 'subdomain': JobSet takes the TrainJob's name.",
        )
    hosts = spec.scalar("network", "enableDNSHostnames")
    if hosts is not None and hosts.value is False:
        yield Finding(
            Place(hosts),
            "'enableDNSHostnames' is false and Trainer's rendezvous address is a host name; it does not exist and the ranks wait "
            "for ever.",
            help="Remove 'enableDNSHostnames'.",
        )


def _started(pod: PodView) -> str:
    return "\n".join(c.start_text for c in pod.main_containers)


def _scalars(node: Node | None) -> list[str]:
    return [n.text for n in node.walk() if isinstance(n, Scalar)] if node is not None else []


@rule("TRN031", "torchtune-refused", Severity.ERROR, on=TrainJobView)
def torchtune_refused(view: TrainJobView) -> Iterator[Finding]:
    """A TrainJob that runs torchtune asks for a model, nodes and devices that Trainer has recipes for.

    With the command `tune run` Trainer reads the model from the runtime's name, and its webhook rejects what no recipe
    is there for: other models, several nodes for most of them, QLoRA on more than one device.

    Fix: name one of Trainer's torchtune runtimes, and keep to its nodes and devices.
    Silent: other commands.
    Bad: a runtime whose name says no model (trainer-torch)
        @@ kind: TrainJob
        ~ name: torch-gpu => name: torch-gpu # <-
        ~ numNodes: 2 => numNodes: 1
          image: registry.example/train:2
        + command: [tune, run]
    Bad: a model for one node (trainer-tune)
        ~ numNodes: 1 => numNodes: 2 # <-
    Good: one node (trainer-tune)
        @@ kind: TrainJob
    Good: torchrun (trainer-torch)
        @@ kind: TrainJob
    Source: kubeflow/trainer@dc7656a pkg/runtime/framework/plugins/torch/torchtune.go.
    """
    for reason in view.reasons("R8"):
        yield Finding(
            _place(reason.node),
            _sentence(reason.message, _WEBHOOK),
            help="Name one of Trainer's torchtune runtimes, and keep to its nodes and devices.",
        )


def _sources(volume: Mapping) -> list[str]:
    return [k for k, v in volume.fields.items() if k != "name" and not (isinstance(v, Scalar) and v.value is None)]


@rule("TRN033", "patch-second-source", Severity.ERROR, on=TrainJobView)
def patch_second_source(view: TrainJobView) -> Iterator[Finding]:
    """A patch does not give a second source to a volume or a variable of the runtime.

    A patch merges field by field. A volume of the runtime's name with another source keeps both, and so does a variable
    with a value where the runtime has valueFrom. The API server refuses each Job: the TrainJob exists, no pod ever does.

    Fix: give the volume a name of its own and mount that, or change it in the runtime.
    Silent: the same source with other settings, which merges.
    Bad: a host's folder over a memory volume (trainer-torch)
        @@ manager: vision.example/pool
          nodeSelector:
            zone: a
        + volumes:
        +   - name: dshm
        +     hostPath: # <-
        +       path: /dev/shm
    Bad: a claim over it (trainer-torch)
        @@ manager: vision.example/pool
          nodeSelector:
            zone: a
        + volumes:
        +   - name: dshm
        +     persistentVolumeClaim: # <-
        +       claimName: scratch
    Good: a limit for the same source (trainer-torch)
        @@ manager: vision.example/pool
          nodeSelector:
            zone: a
        + volumes:
        +   - name: dshm
        +     emptyDir:
        +       sizeLimit: 64Gi
    Good: a volume of its own (trainer-torch)
        @@ manager: vision.example/pool
          nodeSelector:
            zone: a
        + volumes:
        +   - name: scratch
        +     persistentVolumeClaim:
        +       claimName: scratch
    Source: kubernetes/apimachinery pkg/util/strategicpatch; kubernetes/kubernetes v1.35 pkg/apis/core/validation.
    """
    for patch in view.patches:
        job = next((j for j in view.runtime_jobs if j.string("name") == patch.job), None)
        pod = job.mapping("template", "spec", "template", "spec") if job is not None else None
        if pod is None or patch.spec is None:
            continue
        for volume in patch.spec.mappings("volumes"):
            name = volume.string("name")
            there = next((v for v in pod.mappings("volumes") if v.string("name") == name), None)
            new, old = _sources(volume), _sources(there) if there is not None else []
            if there is None or len(new) != 1 or len(old) != 1 or new == old:
                continue
            yield Finding(
                Place(volume.nearest(new[0]), on_key=True),
                f"The runtime's volume '{name}' is '{old[0]}' and the patch adds '{new[0]}'; both stay, and the API server "
                "refuses the Job: no pod is created.",
                help="Give the volume of the patch a name of its own, and mount that.",
                related=(Related(Place(there.nearest(old[0]), on_key=True), "The runtime's source."),)
                if view.own_runtime
                else (),
            )
        for listed, container in patch.containers():
            own = next((c for c in pod.mappings(listed) if c.string("name") == container.string("name")), None)
            for entry in container.mappings("env") if own is not None else ():
                name = entry.string("name")
                before = next((e for e in own.mappings("env") if e.string("name") == name), None) if own else None
                for key, other in (("value", "valueFrom"), ("valueFrom", "value")):
                    if (
                        before is None
                        or before.at(other) is None
                        or before.at(key) is not None
                        or entry.at(key) is None
                    ):
                        continue
                    yield Finding(
                        Place(entry.nearest(key), on_key=True),
                        f"The runtime's variable '{name}' has '{other}' and the patch adds '{key}'; both stay, and the API "
                        "server refuses the Job: no pod is created.",
                        help="Give the variable another name, or change it in the runtime.",
                        related=(Related(Place(before.nearest(other), on_key=True), "The runtime's value."),)
                        if view.own_runtime
                        else (),
                    )


@rule("TRN034", "controller-cannot-build", Severity.ERROR, on=TrainJobView, yields_to=("TRN005",))
def controller_cannot_build(view: TrainJobView) -> Iterator[Finding]:
    """Trainer's controller can build what its webhook lets through.

    A jax policy needs a labelled job, a flux policy needs numNodes, an mpi policy a kind of MPI. The webhook does not
    look at them; the controller fails or crashes at each attempt, and the TrainJob stays without status.

    Fix: as the help says.
    Silent: policies that need nothing.
    Bad: an empty kind of MPI (trainer-mpi)
        ~ mpiImplementation: OpenMPI => mpiImplementation: "" # <-
    Bad: flux without a number of nodes (trainer-torch)
        ~ torch: {} => flux: {}
        @@ kind: TrainJob
        ~ trainer: => trainer: # <-
        - numNodes: 2
    Good: OpenMPI (trainer-mpi)
        @@ kind: TrainJob
    Good: torch (trainer-torch)
        @@ kind: TrainJob
    Source: kubeflow/trainer@dc7656a pkg/runtime/framework/plugins/{jax,flux,mpi}.
    """
    for reason in view.reasons():
        if reason.stage == "build":
            yield Finding(
                _place(reason.node), reason.message, help=_BUILD_HELP.get(reason.code, "Set what the policy needs.")
            )


_BUILD_HELP = {
    "B2": "Add the label 'trainer.kubeflow.org/trainjob-ancestor-step: trainer' to the replicated job's template.",
    "B6": "Write 'OpenMPI'.",
    "B11": "Set spec.trainer.numNodes.",
}
_POLICY = ("R9", "R11", "R12", "R13", "R14")


@rule(
    "TRN035",
    "policy-refused",
    Severity.ERROR,
    on=TrainJobView,
    yields_to=("TRN023",),
    yields_on_line=("TRN014", "TRN022", "DOC005"),
)
def policy_refused(view: TrainJobView) -> Iterator[Finding]:
    """A TrainJob meets what the policies of its runtime ask for.

    Each policy's part of Trainer's webhook has rules of its own: Volcano takes no empty queue, flux no installer of that
    name and no fewer than one process, envInjection only targets that exist, 2.0 and 2.1 only certain words for
    numProcPerNode.

    Fix: as the message says.
    Silent: a runtime that is not in view.
    Bad: a queue without a name (trainer-torch)
            torch: {}
        + podGroupPolicy:
        +   volcano: {}
          template:
        +   metadata:
        +     annotations:
        +       scheduling.volcano.sh/queue-name: "" # <-
            spec:
        @@ ancestor-step: trainer
          nodeSelector:
            pool: h100
        + schedulerName: volcano
    Bad: fewer than no nodes (trainer-shipped)
        ~ numNodes: 2 => numNodes: -1 # <-
    Bad: a word for a number, under 2.1 (trainer-shipped; trainer-version=2.1)
          numNodes: 2
        + numProcPerNode: all # <-
    Good: a queue (trainer-torch)
            torch: {}
        + podGroupPolicy:
        +   volcano: {}
          template:
        +   metadata:
        +     annotations:
        +       scheduling.volcano.sh/queue-name: research
            spec:
        @@ ancestor-step: trainer
          nodeSelector:
            pool: h100
        + schedulerName: volcano
    Good: a word that 2.1 knows (trainer-shipped; trainer-version=2.1)
          numNodes: 2
        + numProcPerNode: auto
    Source: kubeflow/trainer@73c9bec, @dc7656a, @658725b pkg/runtime/framework/plugins.
    """
    nodes = view.manifest.root.scalar("spec", "trainer", "numNodes")
    if nodes is not None and isinstance(nodes.value, int) and not isinstance(nodes.value, bool) and nodes.value < 0:
        yield Finding(
            Place(nodes),
            f"'numNodes' is {nodes.value}; Trainer takes it, and the API server refuses the Job: no pod is created.",
            help="Write the number of nodes.",
        )
    for reason in view.reasons(*_POLICY):
        entry = reason.node
        if reason.code == "R11" and isinstance(entry.parent, Sequence) and entry.parent.key == "env":
            continue
        if reason.code == "R11" and entry.parent is not None and entry.parent.key == "initializer":
            continue
        yield Finding(
            _place(entry),
            _sentence(reason.message, _WEBHOOK),
            help="Change what the message names.",
        )


def _told_elsewhere(node: Node, view: TrainJobView) -> bool:
    """Whether a fault of a pod is another rule's: amounts, mounts, restart policies, containers that a patch added."""
    steps = []
    at: Node | None = node
    while at is not None:
        steps.append(at.key)
        at = at.parent
    if {"resources", "resourcesPerNode"} & set(steps) and "claims" not in steps:
        return True
    if "volumeMounts" in steps or (node.key == "restartPolicy"):
        return True
    return (
        isinstance(node, Mapping)
        and node.string("name") is not None
        and node.at("image") is None
        and (
            node.source.doc is view.manifest.document
            and "volumes" not in steps
            and "env" not in steps
            and "claims" not in steps
        )
    )


@rule(
    "TRN036",
    "jobs-refused",
    Severity.ERROR,
    on=TrainJobView,
    yields_to=("TRN003",),
    yields_on_line=("TRN033", "DOC005", "DOC012", "POD020"),
)
def jobs_refused(view: TrainJobView) -> Iterator[Finding]:
    """The pods that a runtime describes are pods that Kubernetes takes.

    Neither Trainer nor JobSet looks into a pod template beyond its schema: a container without image, a volume without a
    source, a claim that the pod does not have, a key that is too long pass both. The API server refuses each Job that
    JobSet makes; the TrainJob exists, no pod ever does, and only an event of the JobSet says why.

    Fix: as the message says, in the runtime.
    Silent: what spec.trainer fills in; amounts, mounts and restart policies have rules of their own.
    Bad: a sidecar without image (trainer-torch)
        @@ initContainers:
        ~ - name: log-shipper => - name: log-shipper # <-
        - image: registry.example/log-shipper:3
    Bad: an annotation whose name is too long (trainer-torch)
        @@ ancestor-step: trainer
          template:
        +   metadata:
        +     annotations:
        +       vision.example/a-name-that-is-a-good-deal-longer-than-the-sixty-three-characters-it-may-have: "yes" # <-
            spec:
    Good: the worker's image comes from the TrainJob (trainer-torch)
        @@ - name: node
        - image: registry.example/train:1
    Good: an annotation of 63 characters (trainer-torch)
        @@ ancestor-step: trainer
          template:
        +   metadata:
        +     annotations:
        +       vision.example/team: research
            spec:
    Source: kubernetes/kubernetes v1.35 pkg/apis/core/validation; kubeflow/trainer#2363.
    """
    job = view.meant
    for reason in job.of_stage("job") if job is not None else []:
        if _told_elsewhere(reason.node, view):
            continue
        yield Finding(
            _place(reason.node), reason.message, help="Change it in the runtime, or in the patch that sets it."
        )

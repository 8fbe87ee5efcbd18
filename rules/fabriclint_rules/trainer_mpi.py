"""TRN: runtimes whose ranks mpirun starts over ssh."""

from __future__ import annotations

from collections.abc import Iterator

from fabriclint.kinds import ANCESTOR_LABEL
from fabriclint.node import Mapping, Node, Scalar, Sequence
from fabriclint.rule import AddField, Applicability, Finding, Fix, Place, Related, Remove, SetValue, Severity, rule
from fabriclint.views import RuntimeView, TrainerView, TrainJobView
from fabriclint.workload import gpu_quantity
from fabriclint_schemas.trainer.load import names


def _named(jobs: list[Mapping], name: str) -> Mapping | None:
    return next((j for j in jobs if j.string("name") == name), None)


def _pod(job: Mapping) -> Mapping | None:
    return job.mapping("template", "spec", "template", "spec")


def _containers(job: Mapping, key: str = "containers") -> list[Mapping]:
    pod = _pod(job)
    return pod.mappings(key) if pod is not None else []


def _text(container: Mapping) -> str:
    words = []
    for key in ("command", "args"):
        listed = container.at(key)
        words += [i.text for i in listed.items if isinstance(i, Scalar)] if isinstance(listed, Sequence) else []
    return "\n".join(words)


@rule(
    "TRN023",
    "mpi-launcher",
    Severity.ERROR,
    on=TrainerView,
    also=(Severity.WARNING, Severity.NOTE),
    yields_to=("TRN017",),
)
def mpi_launcher(view: TrainerView) -> Iterator[Finding]:
    """A runtime with an mpi policy has the jobs, the names and the key that mpirun needs.

    Trainer finds the pods by name: the replicated job `node` makes the hosts, `launcher` runs mpirun, and in both the
    container called `node` gets the ssh key, in the launcher the hostfile too. Under another name mpirun starts its ranks
    in its own pod only. The key's files are root's and readable by others, which ssh refuses when root itself uses them.
    Workers run sshd and never end, so that the job is over only if its success is the launcher's.

    Fix: use the names; run as a user of your own or copy the key with mode 0600 in an init container; add
    `successPolicy: {operator: All, targetReplicatedJobs: [launcher]}`.
    Silent: an init container or a command that copies the key, an identity file of its own; root workers that only run
    sshd.
    Bad: the workers' job has another name (trainer-mpi)
        @@ mpi-launcher:1
        ~ - name: node => - name: worker # <-
    Bad: no policy of success (trainer-mpi)
        @@ template:
        ~ spec: => spec: # <-
        - successPolicy:
        -   operator: All
        -   targetReplicatedJobs: [launcher]
    Bad: root with the key in place (trainer-mpi)
        ~ sshAuthMountPath: /home/mpiuser/.ssh => sshAuthMountPath: /root/.ssh # <-
        @@ - name: launcher
        - securityContext:
        -   runAsUser: 1000
    Bad: the GPUs go to the launcher (trainer-mpi)
        @@ kind: TrainJob
          numNodes: 4
        + resourcesPerNode: # <-
        +   limits:
        +     nvidia.com/gpu: 8
    Bad: as many launchers as nodes (trainer-mpi)
        ~ numNodes: 1 => numNodes: 4 # <-
    Good: workers by name, a user of its own (trainer-mpi)
        @@ kind: TrainJob
    Good: root with a copy of the key (trainer-mpi)
        ~ sshAuthMountPath: /home/mpiuser/.ssh => sshAuthMountPath: /tmp/key
        @@ - name: launcher
          securityContext:
        -   runAsUser: 1000
        +   runAsUser: 0
        + initContainers:
        +   - name: key
        +     image: registry.example/mpi-launcher:1
        +     command: [bash, -c, "cp /tmp/key/* /root/.ssh/ && chmod 600 /root/.ssh/id_rsa"]
        +     volumeMounts:
        +       - name: mpi-ssh-auth
        +         mountPath: /tmp/key
    Source: kubeflow/trainer@dc7656a pkg/runtime/framework/plugins/mpi; kubeflow/trainer#2650, #3262; kubeflow/mpi-operator#429.
    """
    if isinstance(view, TrainJobView):
        yield from _trainjob(view)
    elif isinstance(view, RuntimeView) and view.policy == "mpi":
        block = view.manifest.root.mapping("spec", "mlPolicy", "mpi")
        if block is not None and view.jobs:
            yield from _jobs(view, block)
            yield from _key(view, block)
            yield from _success(view)
            yield from _launchers(view)


def _jobs(view: RuntimeView, block: Mapping) -> Iterator[Finding]:
    jobs = view.jobs
    if any(isinstance(n := j.at("name"), Scalar) and n.open for j in jobs):
        return
    launcher = _named(jobs, names()["launcher"])
    if _named(jobs, names()["node"]) is None:
        others = [j for j in jobs if j is not launcher]
        meant = others[0] if len(others) == 1 else None
        node = meant.scalar("name") if meant is not None else None
        where: Node = (
            node if node is not None else view.manifest.root.nearest("spec", "template", "spec", "replicatedJobs")
        )
        if launcher is None and meant is None:
            return
        yield Finding(
            Place(where, on_key=node is None),
            "The mpi runtime has no replicated job 'node'"
            + (f" (it has '{node.text}')" if node is not None else "")
            + "; its pods get no ssh key and stand in no hostfile, and numNodes counts nothing.",
            help="Call the workers' job 'node'.",
            silences=("RUN006",),
            fix=Fix("rename to node", (SetValue(node, "node"),), Applicability.UNSAFE) if node is not None else None,
        )
    if block.true("runLauncherAsNode") and launcher is None:
        yield Finding(
            Place(block.nearest("runLauncherAsNode"), on_key=True),
            "'runLauncherAsNode' is true and no replicated job is called 'launcher'; Trainer's webhook rejects TrainJobs of two "
            "or more nodes.",
            help="Call the job that runs mpirun 'launcher'.",
        )
    if launcher is None or launcher.string("template", "metadata", "labels", ANCESTOR_LABEL) == "trainer":
        return
    held = [c.scalar("name") for c in _containers(launcher)]
    if held and all(n is not None and not n.open and n.text != names()["node"] for n in held):
        first = held[0]
        if first is not None:
            yield Finding(
                Place(first),
                f"The launcher's container is called '{first.text}', not 'node'; it gets neither the ssh key nor the hostfile, "
                "and mpirun starts its ranks in its own pod.",
                help="Call it 'node'.",
                fix=Fix("rename to node", (SetValue(first, "node"),), Applicability.UNSAFE) if len(held) == 1 else None,
            )


def _user(job: Mapping, container: Mapping) -> Scalar | None:
    own = container.scalar("securityContext", "runAsUser")
    pod = _pod(job)
    return own if own is not None or pod is None else pod.scalar("securityContext", "runAsUser")


def _key(view: RuntimeView, block: Mapping) -> Iterator[Finding]:
    """Root uses the mounted key in place."""
    launcher = _named(view.jobs, names()["launcher"])
    container = (
        next((c for c in _containers(launcher) if c.string("name") == "node"), None) if launcher is not None else None
    )
    if launcher is None or container is None:
        return
    mount = block.scalar("sshAuthMountPath")
    path = mount.text if mount is not None and mount.value else "/root/.ssh"
    if mount is not None and mount.open:
        return
    user, text = _user(launcher, container), _text(container)
    if user is not None and (user.open or user.value != 0):
        return
    if user is None and "--allow-run-as-root" not in text and not path.startswith("/root/"):
        return
    volume = names()["mpi"]["ssh_volume"]
    for init in _containers(launcher, "initContainers"):
        if path in _text(init) or any(m.string("name") == volume for m in init.mappings("volumeMounts")):
            return
    if "IdentityFile" in text or "-i " in text or "chmod" in text or ".ssh/" in text.replace(path, ""):
        return
    env = {e.string("name"): e.string("value") or "" for e in container.mappings("env")}
    if any("-i " in value or "IdentityFile" in value for value in env.values()):
        return
    where: Node = user if user is not None else (mount if mount is not None else block)
    yield Finding(
        Place(where, on_key=isinstance(where, Mapping)),
        f"The launcher runs as root and uses the ssh key at '{path}' in place; ssh refuses a key of root's that others may read, "
        "and mpirun reaches no worker.",
        help="Run as a user of your own (runAsUser), or copy the key with mode 0600 in an init container.",
        severity=Severity.WARNING,
    )


def _success(view: RuntimeView) -> Iterator[Finding]:
    launcher = _named(view.jobs, names()["launcher"])
    spec = view.manifest.root.mapping("spec", "template", "spec")
    if launcher is None or spec is None or _named(view.jobs, names()["node"]) is None:
        return
    policy = spec.at("successPolicy")
    if isinstance(policy, Scalar) and policy.value is not None:
        return
    targets = policy.at("targetReplicatedJobs") if policy is not None else None
    if isinstance(targets, Sequence) and targets.items:
        named = [i.text for i in targets.items if isinstance(i, Scalar)]
        if names()["node"] not in named or any("{{" in n for n in named):
            return
    wanted = {"operator": "All", "targetReplicatedJobs": [names()["launcher"]]}
    yield Finding(
        Place(policy if policy is not None else spec, on_key=True),
        "The mpi runtime's success waits for the workers too; they run sshd and never end, and the job never completes.",
        help="Add successPolicy: {operator: All, targetReplicatedJobs: [launcher]}.",
        severity=Severity.WARNING,
        fix=Fix("add a successPolicy for the launcher", (AddField(spec, ("successPolicy",), wanted),))
        if policy is None
        else None,
    )


def _launchers(view: RuntimeView) -> Iterator[Finding]:
    """mlPolicy.numNodes sizes the labelled job, which is the launcher."""
    nodes = view.manifest.root.scalar("spec", "mlPolicy", "numNodes")
    launcher = _named(view.jobs, names()["launcher"])
    label = launcher.scalar("template", "metadata", "labels", ANCESTOR_LABEL) if launcher is not None else None
    if nodes is None or not isinstance(nodes.value, int) or nodes.value < 2 or label is None or label.text != "trainer":
        return
    yield Finding(
        Place(nodes),
        f"Under mpi 'mlPolicy.numNodes' counts the job with the label, which is the launcher: {nodes.text} launchers start, each "
        "with its own mpirun.",
        help="Write 1 here; the number of workers is the TrainJob's numNodes.",
        severity=Severity.WARNING,
        related=(Related(Place(label, on_key=True), "The launcher carries the label."),),
        fix=Fix("remove numNodes", (Remove(nodes),), Applicability.UNSAFE),
    )


def _trainjob(view: TrainJobView) -> Iterator[Finding]:
    if view.policy != "mpi" or view.runtime is None:
        return
    block = view.runtime.root.mapping("spec", "mlPolicy", "mpi")
    trainer = view.trainer
    if block is None or trainer is None:
        return
    launcher = _named(view.runtime_jobs, names()["launcher"])
    workers = _named(view.runtime_jobs, names()["node"])
    if launcher is None or workers is None:
        return
    as_node = block.true("runLauncherAsNode")
    label = launcher.scalar("template", "metadata", "labels", ANCESTOR_LABEL)
    own_label = workers.string("template", "metadata", "labels", ANCESTOR_LABEL)
    given = trainer.mapping("resourcesPerNode")
    devices = sorted(
        {
            name
            for half in ("limits", "requests")
            for name in getattr(given.mapping(half) if given is not None else None, "fields", {})
            if "/" in name
        }
    )
    if (
        label is not None
        and label.text == "trainer"
        and own_label != "trainer"
        and not as_node
        and given is not None
        and devices
    ):
        lacking = not any(gpu_quantity(c.at("resources")) for c in _containers(workers))
        then = "the workers get none" if lacking else "they take a node's worth of devices away from the workers"
        yield Finding(
            Place(given, on_key=True),
            f"'resourcesPerNode' reaches the launcher only, which carries the label and runs no rank; {then}.",
            help="Put the workers' resources into the runtime's job 'node', or set runLauncherAsNode in the runtime.",
            silences=("POD001", "POD003", "POD008", "POD017", "RUN010"),
            severity=Severity.WARNING,
            related=(Related(Place(label, on_key=True), "The launcher carries the label."),)
            if view.own_runtime
            else (),
        )
    nodes = trainer.scalar("numNodes")
    if as_node and (nodes is None or nodes.value in (None, 1)):
        yield Finding(
            Place(nodes if nodes is not None else trainer, on_key=True),
            "The launcher counts as a node and 'numNodes' is 1 at most; two pods run all the same.",
            help="Write the number of pods that run ranks, at least 2.",
            severity=Severity.NOTE,
        )

"""RUN: objects beside the job that keep its ranks apart: Services, claims, policies."""

from __future__ import annotations

from collections.abc import Iterator

from fabriclint.group import GroupView, RoleGroup
from fabriclint.group.service import service_of
from fabriclint.node import UNKNOWN, Mapping, Node, Scalar, Sequence, Unknown, open_value
from fabriclint.rule import Finding, Place, Related, Severity, rule
from fabriclint_rules.attachment import whole_node
from fabriclint_rules.mesh import injected


@rule("RUN002", "rendezvous-balanced", Severity.WARNING, on=GroupView, yields_to=("RUN001",))
def rendezvous_balanced(group: GroupView) -> Iterator[Finding]:
    """The Service at which the ranks meet leads to one pod.

    An ordinary Service hands each connection to one of the pods that its selector picks. When that is every rank, a rank
    that looks for the first one mostly reaches another, and the rendezvous times out, now and then.

    Fix: select the first pod only, or make the Service headless and name the pod.

    Silent: headless Services; selectors that pick one pod, or by labels that differ from pod to pod; Services that are
    not in view, that lead out of the cluster or whose endpoints are written by hand; jobs of one pod.

    Bad: torchrun of an Indexed Job meets at a Service over all ranks (run-service)
        ~ train-0.train => train
        @@ kind: Service
        - clusterIP: None
          publishNotReadyAddresses: true
          selector:  # <-
    Bad: a JobSet's ranks, by the Service's name in the namespace (near-jobset)
        ~ weather-ranks-0-0.weather => weather-meeting.climate.svc
        @@ kind: Service
        - clusterIP: None
          selector:  # <-
    Bad: the Service of an elastic PyTorchJob selects by the operator's own label (near-workers)
        ~ rdzvHost: stars-worker-0 => rdzvHost: stars-meeting
        @@ kind: Service
          selector:  # <-
            training.kubeflow.org/job-name: stars
        -   training.kubeflow.org/replica-index: "0"
    Bad: a StatefulSet, with the type written out (near-set)
        ~ engine-0.engine => engine
        @@ kind: Service
        ~ clusterIP: None => type: ClusterIP
          publishNotReadyAddresses: true
          selector:  # <-
    Good: headless, as public Indexed Jobs on EFA have it (run-service)
        @@ kind: Service
    Good: the first pod only (run-service)
        ~ train-0.train => train
        @@ kind: Service
        - clusterIP: None
        @@ selector:
        +   batch.kubernetes.io/job-completion-index: "0"
    Good: the leader of a LeaderWorkerSet only (near-lws)
        ~ $(LWS_LEADER_ADDRESS):29400 => answers-meeting:29400
    Good: the Service of a JobSet is in another file (near-jobset)
        ~ weather-ranks-0-0.weather => weather-rendezvous
    Good: a PyTorchJob meets at the etcd of the namespace (near-workers)
        ~ rdzvBackend: c10d => rdzvBackend: etcd
        ~ rdzvHost: stars-worker-0 => rdzvHost: etcd
    Source: kubernetes/api@3fde3c4 core/v1 ServiceSpec; torch 2.15.0 elastic/rendezvous
    """
    host = group.rendezvous[0]
    if group.multi_node is not True or not isinstance(host, str) or not group.ranks_on:
        return
    service = service_of(group, host)
    if service is None or service.pod is not None or service.headless is not False or service.elsewhere:
        return
    selector = service.selector
    if selector is not None and all(role.selected(selector) is True for role in group.ranks_on):
        yield Finding(
            Place(selector, on_key=True),
            f"The ranks meet at the Service '{service.name}', which is not headless and selects all of them; each "
            "connection goes to any rank and the rendezvous times out.",
            "Select the first pod only, or write 'clusterIP: None' and name the first pod in the address.",
            related=tuple(Related(r.container.name_place, "The ranks.") for r in group.ranks_on[:1] if r.container),
        )


@rule("RUN003", "hidden-until-ready", Severity.WARNING, on=GroupView, yields_to=("RUN001", "RUN002"))
def hidden_until_ready(group: GroupView) -> Iterator[Finding]:
    """A Service shows the names of pods that become ready only together.

    DNS has the name of a pod once it is ready, unless the Service publishes addresses that are not. Ranks whose readiness
    probe asks the engine are ready when the group stands, and the group stands when they have found each other by name.
    JobSet's and LeaderWorkerSet's Services publish; those of the training-operator, the mpi-operator and Volcano do not.

    Fix: `publishNotReadyAddresses: true` in the Service, or no readiness probe.

    Silent: Services that publish, as JobSet and LeaderWorkerSet make them; an MPIJob whose launcher is a worker too
    (its Service publishes); Volcano's plugin told to publish; pods without such a probe, or whose probe only opens a port or runs a command; Services that
    are not in view.

    Bad: a probe by HTTP on the pods of an Indexed Job (run-service)
        @@ image:
        + readinessProbe:
        +   httpGet: {path: /health, port: 8000}
        @@ kind: Service
          spec:  # <-
        @@ clusterIP
        - publishNotReadyAddresses: true
    Bad: the Service of a StatefulSet (near-set)
        @@ kind: Service
          spec:  # <-
        @@ clusterIP
        - publishNotReadyAddresses: true
    Bad: a JobSet that keeps its names back (near-jobset)
        ~ publishNotReadyAddresses: true => publishNotReadyAddresses: false  # <-
        @@ image:
        + readinessProbe:
        +   grpc: {port: 8000}
    Bad: the Master of a PyTorchJob, whose Service is the operator's (near-pytorchjob)
        @@ Master:
        @@ image:
        + readinessProbe:  # <-
        +   httpGet: {path: /health, port: 8000}
    Bad: the workers of an MPIJob (near-mpijob)
        @@ replicas: 2
        @@ image:
        + readinessProbe:  # <-
        +   httpGet: {path: /health, port: 8000}
    Good: published (near-set)
        @@ kind: Service
    Good: no probe, as public training Jobs have it (run-service)
        @@ kind: Service
        - publishNotReadyAddresses: true
    Good: a JobSet publishes by itself (near-jobset)
        - network:
        -   enableDNSHostnames: true
        -   publishNotReadyAddresses: true
        @@ image:
        + readinessProbe:
        +   httpGet: {path: /health, port: 8000}
    Good: so does a LeaderWorkerSet (near-lws)
        @@ image:
        + readinessProbe:
        +   httpGet: {path: /health, port: 8000}
    Good: the probe of an MPIJob's workers asks for sshd (near-mpijob)
        @@ replicas: 2
        @@ image:
        + readinessProbe:
        +   tcpSocket: {port: 2222}
    Source: kubernetes/api@3fde3c4 core/v1 ServiceSpec publishNotReadyAddresses; kubeflow/trainer@c77ee3f
    pkg/controller.v1/common/service.go; kubeflow/mpi-operator@101db14 pkg/controller; kubernetes-sigs/jobset@f22e565
    pkg/controllers
    """
    host = group.rendezvous[0]
    if group.multi_node is not True or group.suspended:
        return
    waiting = [(role, probe) for role in group.ranks_on if (probe := _probe(role)) is not None]
    if not waiting:
        return
    service = service_of(group, host) if isinstance(host, str) else None
    role, probe = waiting[0]
    if service is not None and not service.elsewhere and not service.publishes:
        if service.pod is not None and service.headless is not True:
            return
        waiting = [(r, p) for r, p in waiting if r.selected(service.selector) is True]
        if service.pod is not None:
            waiting = [(r, p) for r, p in waiting if r.hosts is None or r.hosts.has(service.pod) is not False]
        if not waiting or (service.pod is not None and service.name != group.subdomain):
            return
        role, probe = waiting[0]
        given = service.spec.at("publishNotReadyAddresses")
        place = Place(given) if given is not None else Place(service.spec, on_key=True)
        called, edit = f"The Service '{service.name}'", "Write 'publishNotReadyAddresses: true'."
    elif group.hides and _by_own_names(group, host, role):
        place = group.hides_place if group.hides_place is not None else Place(probe, on_key=True)
        called = f"The Service of {group.maker}"
        edit = group.hides
    else:
        return
    yield Finding(
        place,
        f"{called} hides pods that are not ready, and the ranks are to find each other by its names before the readiness "
        f"probe of '{role.name}' can pass; they wait for each other.",
        edit,
        related=(Related(Place(probe, on_key=True), "The readiness probe."),) if place.node is not probe else (),
    )


def _probe(role: RoleGroup) -> Mapping | None:
    """A readiness probe that asks what the ranks serve: one that only opens a port or runs a command asks less."""
    container = role.container
    probe = container.node.mapping("readinessProbe") if container is not None else None
    return probe if probe is not None and (probe.at("httpGet") is not None or probe.at("grpc") is not None) else None


def _by_own_names(group: GroupView, host: object, role: RoleGroup) -> bool:
    """Whether the ranks look up a pod of this role by a name that the controller's Service has."""
    if group.ssh:
        # The launcher reaches each of them by name.
        return bool(group.launchers) and group.starting is not None and group.starting.role in group.launchers
    if group.own_rendezvous or not isinstance(host, str) or group.knows(host) is not True:
        return False
    return role.hosts is not None and role.hosts.has(host.split(".")[0]) is True


@rule("RUN013", "shared-volume-mode", Severity.WARNING, on=GroupView, also=(Severity.ERROR,))
def shared_volume_mode(group: GroupView) -> Iterator[Finding]:
    """A claim that ranks on several nodes mount may be mounted on several nodes.

    A volume of mode ReadWriteOnce is attached to one node: the pods elsewhere stay in ContainerCreating. One of mode
    ReadWriteOncePod is for one pod in the whole cluster: the others are not even scheduled.

    Fix: ReadWriteMany or ReadOnlyMany with a storage class that can; or a claim for each pod.

    Silent: claims that are not in view; claims that offer a shared mode as well; claim templates, which make one for
    each pod; jobs of one pod; pods that take a part of a node, which may stand on one.

    Bad: once for all of an Indexed Job (run-service)
        @@ kind: PersistentVolumeClaim
        ~ ReadWriteMany => ReadWriteOnce  # <-
    Bad: once for all roles of a PyTorchJob (near-pytorchjob)
        @@ kind: PersistentVolumeClaim
        ~ ReadWriteMany => ReadWriteOnce  # <-
    Bad: one pod of a LeaderWorkerSet (near-lws)
        @@ kind: PersistentVolumeClaim
        ~ ReadOnlyMany => ReadWriteOncePod  # <-
    Bad: one pod, whatever the pods of a JobSet take of their nodes (near-jobset)
        ~ nproc-per-node=8 => nproc-per-node=1
        ~ nvidia.com/gpu: 8 => nvidia.com/gpu: 1
        @@ kind: PersistentVolumeClaim
        ~ ReadWriteMany => ReadWriteOncePod  # <-
    Bad: the workers of an MPIJob (near-mpijob)
        @@ kind: PersistentVolumeClaim
        ~ ReadWriteMany => ReadWriteOnce  # <-
    Good: a shared mode, as public MPIJobs with a file system have it (near-mpijob)
        @@ kind: PersistentVolumeClaim
    Good: reading on many nodes (near-lws)
        @@ kind: PersistentVolumeClaim
        ~ [ReadOnlyMany] => [ReadWriteOnce, ReadOnlyMany]
    Good: pods that fit on one node (run-service)
        ~ nvidia.com/gpu: 8 => nvidia.com/gpu: 1
        @@ kind: PersistentVolumeClaim
        ~ ReadWriteMany => ReadWriteOnce
    Good: a PyTorchJob's claim that is not in view, as in most public manifests (near-pytorchjob)
        @@ kind: PersistentVolumeClaim
        ~ name: pictures => name: archive
        ~ ReadWriteMany => ReadWriteOnce
    Source: kubernetes/api@3fde3c4 core/v1 PersistentVolumeAccessMode
    """
    if group.multi_node is not True:
        return
    mounted: dict[str, list[RoleGroup]] = {}
    for role in group.ranks_on:
        for given in role.claims:
            mounted.setdefault(given, []).append(role)
        used = {m.string("name") for c in role.pod.containers for m in c.mounts}
        for volume in role.pod.spec.mappings("volumes"):
            claim = volume.string("persistentVolumeClaim", "claimName")
            if claim is not None and volume.string("name") in used:
                mounted.setdefault(claim, []).append(role)
    for name, roles in sorted(mounted.items()):
        pods = [r.pods for r in roles]
        if not all(isinstance(p, int) for p in pods) or sum(p for p in pods if isinstance(p, int)) < 2:
            continue
        found = roles[0].pod.lookup.neighbour(group.workload, "PersistentVolumeClaim", name)
        modes = found.root.at("spec", "accessModes") if found is not None else None
        entries = [m for m in (modes.items if isinstance(modes, Sequence) else []) if isinstance(m, Scalar)]
        texts = {m.text for m in entries}
        alone = texts == {"ReadWriteOncePod"}
        if not entries or not (alone or (texts == {"ReadWriteOnce"} and all(whole_node(r.pod) for r in roles))):
            continue
        then = "only one of the pods is ever scheduled" if alone else "the pods on other nodes never start"
        yield Finding(
            Place(entries[0]),
            f"The claim '{name}' is of mode '{entries[0].text}' and the ranks on several nodes mount it; {then}.",
            "Write ReadWriteMany (with a storage class that offers it), or give each pod a claim of its own.",
            Severity.ERROR if alone else None,
        )


@rule("RUN014", "blocked-by-policy", Severity.WARNING, on=GroupView)
def blocked_by_policy(group: GroupView) -> Iterator[Finding]:
    """Nothing beside the job closes the ports at which the ranks find each other.

    NCCL, Gloo and MPI listen on ports that the kernel picks. A policy that lets only some ports through to the ranks lets
    them meet, and then stops the connections that their rings are made of. A service mesh is no better: its proxy takes in
    every connection of the pod, knows none of these ports, and runs on when the training has ended.

    Fix: a rule without `ports` from and to the job's own pods; `sidecar.istio.io/inject: "false"` as a label or
    annotation, `linkerd.io/inject: disabled` as an annotation of the pod template.

    Silent: policies and namespaces that are not in view; a rule without ports, or with a range; policies for what others
    send; pods on the host's network, to which no policy applies and no proxy is added; pods that keep out of the mesh, or
    that say which ports the proxy leaves alone; a Ray cluster with a headless Service beside it.

    Bad: the rendezvous' port only (run-service)
        @@ kind: NetworkPolicy
          - from:
            - podSelector: {matchLabels: {job: train}}
        +   ports: [{port: 29500}]  # <-
    Bad: the ranks of a JobSet reach the name server and nothing else (near-jobset)
        @@ egress:
        - - to:
        -     - podSelector: {}
        + - ports: [{port: 53, protocol: UDP}, {port: 53}]  # <-
    Bad: two rules for the workers of an MPIJob (near-mpijob)
        @@ ingress:
          - from:
              - podSelector: {matchLabels: {app: reduce}}
        +   ports: [{port: 22}]  # <-
        + - ports: [{port: 8080}]
    Bad: Istio's label on the namespace of a PyTorchJob (near-pytorchjob)
        ~ team: captions => istio-injection: enabled
        @@ Master:
          metadata:
            labels:  # <-
    Bad: Linkerd's annotation on the namespace of a StatefulSet (near-set)
        ~ labels => annotations
        ~ team: engine => linkerd.io/inject: enabled
        @@ template:
          metadata:
            labels:  # <-
    Bad: the pods of a LeaderWorkerSet ask for the proxy (near-lws)
        @@ workerTemplate:
        @@ labels:
        +   sidecar.istio.io/inject: "true"  # <-
    Good: all ports from and to the namespace's pods (near-jobset)
        @@ kind: NetworkPolicy
    Good: a range (run-service)
        @@ kind: NetworkPolicy
          - from:
            - podSelector: {matchLabels: {job: train}}
        +   ports: [{port: 1024, endPort: 65535}]
    Good: the policy is for other pods (near-mpijob)
        @@ kind: NetworkPolicy
        ~ app: reduce => app: store
        @@ ingress:
          - from:
              - podSelector: {matchLabels: {app: reduce}}
        +   ports: [{port: 22}]
    Good: kept out of the mesh by an annotation, as public PyTorchJobs are (near-pytorchjob)
        ~ team: captions => istio-injection: enabled
        @@ Master:
          metadata:
        +   annotations: {sidecar.istio.io/inject: "false"}
        @@ Worker:
          metadata:
        +   annotations: {sidecar.istio.io/inject: "false"}
    Good: kept out by a label (near-volcano)
        ~ team: speech => istio-injection: enabled
        @@ app: speech
        + sidecar.istio.io/inject: "false"
    Source: kubernetes/api@3fde3c4 networking/v1 NetworkPolicySpec; istio/istio@b0d2c6a pkg/kube/inject/inject.go;
    linkerd/linkerd2@0467b8d pkg/inject/report.go; kubeflow/kubeflow#3935; kubeflow/trainer#1636, #2794;
    kubeflow/mpi-operator#480
    """
    if group.multi_node is not True or not group.ranks_on:
        return
    yield from _by_mesh(group)
    for way, says in (("ingress", "in"), ("egress", "out")):
        for role in group.ranks_on:
            closing = _closed(group, role, way)
            if closing:
                yield Finding(
                    Place(closing[0], on_key=True),
                    f"The policy lets only some ports {says} {'to' if says == 'in' else 'of'} the pods of '{role.name}' and "
                    "the ranks listen on ports that the kernel picks; they meet and then cannot connect.",
                    f"Add a rule without 'ports' {'from' if says == 'in' else 'to'} the job's own pods.",
                    related=tuple(Related(Place(n, on_key=True), "Ports again.") for n in closing[1:]),
                )
                break


def _closed(group: GroupView, role: RoleGroup, way: str) -> list[Node]:
    """The ports that policies let through to or from the pods, when nothing lets all of them through."""
    if role.pod.host_network_possible:
        return []
    space = group.workload.manifest.namespace
    closing: list[Node] = []
    for policy in role.pod.lookup.of_kind(group.workload, "NetworkPolicy"):
        spec = policy.root.mapping("spec")
        if spec is None or policy.group != "networking.k8s.io" or not _applies(spec, way):
            continue
        picks = _picks(spec.at("podSelector"), role)
        if picks is False or (None not in (policy.namespace, space) and policy.namespace != space):
            continue
        entries = spec.at(way)
        if isinstance(entries, Scalar) and entries.value is not None:
            return []
        for entry in entries.items if isinstance(entries, Sequence) else []:
            if not isinstance(entry, Mapping):
                return []
            others = _others(entry.at("from" if way == "ingress" else "to"), role, space)
            ports = entry.at("ports")
            if not isinstance(ports, Sequence) or not ports.items or any(map(_wide, ports.items)):
                if not others:
                    return []
            elif picks is True and policy.namespace == space and not (others and way == "ingress"):
                closing.append(ports)
    return closing


def _applies(spec: Mapping, way: str) -> bool:
    """Whether a policy is one for what goes in, or out."""
    types = spec.at("policyTypes")
    if types is None or (isinstance(types, Scalar) and types.value is None):
        return way == "ingress" or spec.at("egress") is not None
    if not isinstance(types, Sequence):
        return True
    return any(not isinstance(t, Scalar) or t.open or t.text.lower() == way for t in types.items)


def _wide(port: Node) -> bool:
    """Whether an entry of `ports` is more than one port, or cannot be read."""
    return not isinstance(port, Mapping) or "endPort" in port.fields or "port" not in port.fields


def _others(peers: Node | None, role: RoleGroup, space: str | None) -> bool:
    """Whether the peers of a rule are certainly not the ranks themselves."""
    if not isinstance(peers, Sequence) or not peers.items:
        return False
    for peer in peers.items:
        if not isinstance(peer, Mapping) or peer.at("ipBlock") is not None:
            return False
        place = peer.at("namespaceSelector")
        named = peer.string("namespaceSelector", "matchLabels", "kubernetes.io/metadata.name")
        if place is not None and named is not None and space is not None and not open_value(named) and named != space:
            continue
        if peer.at("podSelector") is None or _picks(peer.at("podSelector"), role) is not False:
            return False
    return True


def _picks(selector: Node | None, role: RoleGroup) -> bool | Unknown:
    """Whether a policy's selector picks the pods."""
    if not isinstance(selector, Mapping):
        return UNKNOWN
    found: list[bool | Unknown] = []
    labels = selector.at("matchLabels")
    if isinstance(labels, Mapping):
        found.append(role.selected(labels) if labels.fields else True)
    elif labels is not None and not (isinstance(labels, Scalar) and labels.value is None):
        found.append(UNKNOWN)
    expressions = selector.at("matchExpressions")
    for item in expressions.items if isinstance(expressions, Sequence) else []:
        found.append(_meets(item, role) if isinstance(item, Mapping) else UNKNOWN)
    if set(selector.fields) - {"matchLabels", "matchExpressions"}:
        found.append(UNKNOWN)
    if False in found:
        return False
    return UNKNOWN if UNKNOWN in found else True


def _meets(expression: Mapping, role: RoleGroup) -> bool | Unknown:
    """Whether the pods' labels meet an expression."""
    key, operator = expression.string("key"), expression.string("operator")
    label = role.label(key) if key is not None else UNKNOWN
    listed = expression.sequence("values")
    values = [v.text if isinstance(v, Scalar) and not v.open else None for v in (listed.items if listed else [])]
    if isinstance(label, Unknown) or None in values:
        return UNKNOWN
    if operator in ("Exists", "DoesNotExist"):
        return (label is not None) is (operator == "Exists")
    if operator in ("In", "NotIn"):
        return (label in values) is (operator == "In")
    return UNKNOWN


def _by_mesh(group: GroupView) -> Iterator[Finding]:
    """Ranks into which a service mesh puts its proxy."""
    found = [(role, taken) for role in group.ranks_on if (taken := injected(role.pod)) is not None]
    if not found or (group.own_rendezvous and not group.ssh and _headless_beside(group)):
        return
    role, taken = found[0]
    metadata = role.pod.metadata
    labels = metadata.at("labels") if metadata is not None else None
    if taken.asked is not None:
        place, why = taken.asked, "the pod template asks for it"
    else:
        place = Place(labels, on_key=True) if labels is not None else role.pod.missing_annotation()
        why = f"its namespace '{group.workload.manifest.namespace}' turns it on"
    related = [Related(r.container.name_place, "Into these as well.") for r, _ in found[1:] if r.container is not None]
    if taken.namespace is not None:
        related.insert(0, Related(taken.namespace, "It is turned on here."))
    yield role.pod.finding(
        place,
        f"{taken.mesh} puts its proxy into the pods of '{role.name}' ({why}), which takes in the connections between the "
        "ranks; they hang when they connect, and the proxy outlives the training.",
        help=f"Write {taken.way} on the pod template{_of_runtime(group)}.",
        related=tuple(related),
    )


def _of_runtime(group: GroupView) -> str:
    """Where the pod template of a job stands that is made of a runtime."""
    if group.workload.landing is None:
        return ""
    return " of the runtime, or in 'runtimePatches' at replicatedJobs[].template.spec.template.metadata"


def _headless_beside(group: GroupView) -> bool:
    """Whether a headless Service of the user's own stands beside the job: the documented way into a mesh for Ray."""
    space = group.workload.manifest.namespace
    services = group.pods[0].lookup.of_kind(group.workload, "Service") if group.pods else []
    return any(s.namespace == space and s.root.string("spec", "clusterIP") == "None" for s in services)

"""RUN: objects beside the job that keep its ranks apart: Services, claims, policies."""

from __future__ import annotations

from collections.abc import Iterator

from fabriclint.group import GroupView, RoleGroup
from fabriclint.node import Mapping, Node, Scalar, Sequence
from fabriclint.rule import Finding, Place, Related, Severity, rule
from fabriclint_rules.attachment import whole_node


def _labels(role: RoleGroup) -> dict[str, str]:
    """The labels that the file gives the pods."""
    found = role.pod.metadata.mapping("labels") if role.pod.metadata is not None else None
    return {k: n.text for k, n in (found.fields if found else {}).items() if isinstance(n, Scalar) and not n.open}


def _matches(selector: Mapping | None, role: RoleGroup) -> bool:
    """Whether a plain selector that names something picks the pods by labels of the file."""
    if selector is None or not selector.fields:
        return False
    labels = _labels(role)
    return all(isinstance(n, Scalar) and labels.get(k) == n.text for k, n in selector.fields.items())


def _headless(service: Mapping) -> bool:
    return service.string("spec", "clusterIP") == "None"


@rule("RUN002", "rendezvous-balanced", Severity.WARNING, on=GroupView, yields_to=("RUN001",))
def rendezvous_balanced(group: GroupView) -> Iterator[Finding]:
    """The Service at which the ranks meet leads to one pod.

    An ordinary Service hands each connection to one of the pods that its selector picks. When that is every rank, a rank
    that looks for the first one mostly reaches another, and the rendezvous times out, now and then.

    Fix: select the first pod only, or make the Service headless and name the pod.

    Silent: headless Services; selectors that pick one pod, or by labels that only the controller sets; Services that are
    not in view.

    Bad: torchrun meets at a Service over all ranks (run-service)
        ~ train-0.train => train
        @@ kind: Service
        - clusterIP: None
          publishNotReadyAddresses: true
          selector:  # <-
    Bad: by its name in the namespace (run-service)
        ~ train-0.train => train.default.svc
        @@ kind: Service
        - clusterIP: None
          publishNotReadyAddresses: true
          selector:  # <-
    Bad: the type is written out (run-service)
        ~ train-0.train => train
        @@ kind: Service
        ~ clusterIP: None => type: ClusterIP
          publishNotReadyAddresses: true
          selector:  # <-
    Good: headless (run-service)
        @@ kind: Service
    Good: the first pod only (run-service)
        ~ train-0.train => train
        @@ kind: Service
        - clusterIP: None
        @@ selector:
        +   batch.kubernetes.io/job-completion-index: "0"
    Good: the Service is in another file (run-service)
        ~ train-0.train => meeting
    Source: kubernetes/api@3fde3c4 core/v1 ServiceSpec; torch 2.15.0 elastic/rendezvous
    """
    host = group.rendezvous[0]
    if group.multi_node is not True or not isinstance(host, str) or not group.ranks_on:
        return
    name, *rest = host.split(".")
    space = group.workload.manifest.namespace
    if rest and space is not None and rest[0] != space:
        return
    service = group.pods[0].lookup.neighbour(group.workload, "Service", name)
    if service is None or _headless(service.root) or service.root.string("spec", "type") == "ExternalName":
        return
    if len(rest) > 1 and rest[1] != "svc":
        return
    selector = service.root.mapping("spec", "selector")
    if selector is not None and all(_matches(selector, role) for role in group.ranks_on):
        yield Finding(
            Place(selector, on_key=True),
            f"The ranks meet at the Service '{name}', which is not headless and selects all of them; each connection goes "
            "to any rank and the rendezvous times out.",
            "Select the first pod only, or write 'clusterIP: None' and name the first pod in the address.",
            related=tuple(Related(r.container.name_place, "The ranks.") for r in group.ranks_on[:1] if r.container),
        )


@rule("RUN003", "hidden-until-ready", Severity.WARNING, on=GroupView)
def hidden_until_ready(group: GroupView) -> Iterator[Finding]:
    """A headless Service shows the names of pods that become ready only together.

    DNS has the name of a pod once it is ready, unless the Service publishes addresses that are not. Ranks whose readiness
    probe asks the engine are ready when the group stands, and the group stands when they have found each other by name.

    Fix: `publishNotReadyAddresses: true` in the Service, or no readiness probe.

    Silent: Services that the controller makes (JobSet's and LeaderWorkerSet's publish); pods without such a probe, or
    whose probe only opens a port or runs a command; Services that are not in view.

    Bad: a probe by HTTP (run-service)
        @@ image:
        + readinessProbe:
        +   httpGet: {path: /health, port: 8000}
        @@ kind: Service
          spec:  # <-
        @@ clusterIP
        - publishNotReadyAddresses: true
    Bad: a probe by gRPC (run-service)
        @@ image:
        + readinessProbe:
        +   grpc: {port: 8000}
        @@ kind: Service
          spec:  # <-
        @@ clusterIP
        - publishNotReadyAddresses: true
    Bad: it is written out as false (run-service)
        @@ image:
        + readinessProbe:
        +   httpGet: {path: /health, port: 8000}
        @@ kind: Service
        ~ publishNotReadyAddresses: true => publishNotReadyAddresses: false  # <-
    Good: published (run-service)
        @@ image:
        + readinessProbe:
        +   httpGet: {path: /health, port: 8000}
    Good: no probe (run-service)
        @@ kind: Service
        - publishNotReadyAddresses: true
    Good: the probe only opens a port (run-service)
        @@ image:
        + readinessProbe:
        +   tcpSocket: {port: 29500}
        @@ kind: Service
        - publishNotReadyAddresses: true
    Source: kubernetes/api@3fde3c4 core/v1 ServiceSpec publishNotReadyAddresses
    """
    host = group.rendezvous[0]
    if group.multi_node is not True or not group.user_service or not isinstance(group.subdomain, str):
        return
    if not isinstance(host, str) or host.split(".")[1:2] != [group.subdomain]:
        return
    service = group.pods[0].lookup.neighbour(group.workload, "Service", group.subdomain)
    spec = service.root.mapping("spec") if service is not None else None
    if service is None or spec is None or not _headless(service.root):
        return
    given = spec.at("publishNotReadyAddresses")
    if given is not None and not (isinstance(given, Scalar) and given.value is False):
        return
    for role in group.ranks_on:
        container = role.container
        probe = container.node.mapping("readinessProbe") if container is not None else None
        if probe is not None and (probe.at("httpGet") is not None or probe.at("grpc") is not None):
            yield Finding(
                Place(given) if given is not None else Place(spec, on_key=True),
                f"The Service '{group.subdomain}' hides pods that are not ready, and the ranks are to find each other by its "
                "names before their readiness probe can pass; they wait for each other.",
                "Write 'publishNotReadyAddresses: true'.",
                related=(Related(Place(probe, on_key=True), "The readiness probe."),),
            )
            return


@rule("RUN013", "shared-volume-mode", Severity.WARNING, on=GroupView, also=(Severity.ERROR,))
def shared_volume_mode(group: GroupView) -> Iterator[Finding]:
    """A claim that ranks on several nodes mount may be mounted on several nodes.

    A volume of mode ReadWriteOnce is attached to one node: the pods elsewhere stay in ContainerCreating. One of mode
    ReadWriteOncePod is for one pod in the whole cluster: the others are not even scheduled.

    Fix: ReadWriteMany or ReadOnlyMany with a storage class that can; or a claim for each pod.

    Silent: claims that are not in view; claims that offer a shared mode as well; jobs of one pod; pods that take a part
    of a node, which may stand on one.

    Bad: once for all of an Indexed Job (run-service)
        @@ kind: PersistentVolumeClaim
        ~ ReadWriteMany => ReadWriteOnce  # <-
    Bad: one pod (run-service)
        @@ kind: PersistentVolumeClaim
        ~ ReadWriteMany => ReadWriteOncePod  # <-
    Bad: one pod, whatever the pod takes of its node (run-service)
        ~ nvidia.com/gpu: 8 => nvidia.com/gpu: 1
        @@ kind: PersistentVolumeClaim
        ~ ReadWriteMany => ReadWriteOncePod  # <-
    Good: a shared mode (run-service)
        @@ kind: PersistentVolumeClaim
    Good: reading on many nodes (run-service)
        @@ kind: PersistentVolumeClaim
        ~ [ReadWriteMany] => [ReadWriteOnce, ReadOnlyMany]
    Good: pods that fit on one node (run-service)
        ~ nvidia.com/gpu: 8 => nvidia.com/gpu: 1
        @@ kind: PersistentVolumeClaim
        ~ ReadWriteMany => ReadWriteOnce
    Source: kubernetes/api@3fde3c4 core/v1 PersistentVolumeAccessMode
    """
    if group.multi_node is not True:
        return
    mounted: dict[str, list[RoleGroup]] = {}
    for role in group.ranks_on:
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
    """No NetworkPolicy closes the ports at which the ranks find each other.

    NCCL, Gloo and MPI listen on ports that the kernel picks. A policy that lets only some ports through to the ranks lets
    them meet, and then stops the connections that their rings are made of.

    Fix: a rule without `ports` from the job's own pods.

    Silent: policies that are not in view; a rule without ports, or with a range; pods on the host's network, to which no
    policy applies.

    Bad: the rendezvous' port only (run-service)
        @@ kind: NetworkPolicy
          - from:
            - podSelector: {matchLabels: {job: train}}
        +   ports: [{port: 29500}]  # <-
    Bad: from anywhere (run-service)
        @@ kind: NetworkPolicy
        - - from:
        -   - podSelector: {matchLabels: {job: train}}
        + - ports: [{port: 29500}, {port: 22}]  # <-
    Bad: two rules (run-service)
        @@ kind: NetworkPolicy
          - from:
            - podSelector: {matchLabels: {job: train}}
        +   ports: [{port: 29500}]  # <-
        + - ports: [{port: 8080}]
    Good: all ports from the job's own pods (run-service)
        @@ kind: NetworkPolicy
    Good: a range (run-service)
        @@ kind: NetworkPolicy
          - from:
            - podSelector: {matchLabels: {job: train}}
        +   ports: [{port: 1024, endPort: 65535}]
    Good: the policy is for other pods (run-service)
        @@ kind: NetworkPolicy
        ~ {job: train} => {job: store}
          - from:
            - podSelector: {matchLabels: {job: train}}
        +   ports: [{port: 29500}]
    Source: kubernetes/api@3fde3c4 networking/v1 NetworkPolicySpec
    """
    if group.multi_node is not True or not group.ranks_on:
        return
    space = group.workload.manifest.namespace
    for role in group.ranks_on:
        host = role.pod.spec.at("hostNetwork")
        if host is not None and not (isinstance(host, Scalar) and host.value is False):
            continue
        closing: list[Node] = []
        for policy in role.pod.lookup.of_kind(group.workload, "NetworkPolicy"):
            spec = policy.root.mapping("spec")
            if spec is None or policy.namespace != space or not _picks(spec.at("podSelector"), role):
                continue
            for entry in spec.mappings("ingress"):
                ports = entry.at("ports")
                if not isinstance(ports, Sequence) or not ports.items:
                    return
                if any(
                    not isinstance(p, Mapping) or "endPort" in p.fields or "port" not in p.fields for p in ports.items
                ):
                    return
                closing.append(ports)
        if closing:
            yield Finding(
                Place(closing[0], on_key=True),
                f"The policy lets only some ports through to the pods of '{role.name}' and the ranks listen on ports that the "
                "kernel picks; they meet and then cannot connect.",
                "Add a rule without 'ports' from the job's own pods.",
                related=tuple(Related(Place(n, on_key=True), "Ports again.") for n in closing[1:]),
            )
            return


def _picks(selector: Node | None, role: RoleGroup) -> bool:
    """Whether a policy's selector picks the pods for certain."""
    if not isinstance(selector, Mapping):
        return False
    if not selector.fields:
        return True
    return set(selector.fields) == {"matchLabels"} and _matches(selector.mapping("matchLabels"), role)

"""POD009: names of the cluster in pods on the host's network."""

from __future__ import annotations

import re
from collections.abc import Iterator

from fabriclint.group.service import service_of
from fabriclint.node import Node, Scalar, Unknown
from fabriclint.pod import PodView
from fabriclint.rule import AddField, Finding, Fix, Place, Related, SetValue, Severity, rule
from fabriclint.views import JobView
from fabriclint_rules.alike import once
from fabriclint_rules.attachment import job_kind, merged_elsewhere
from fabriclint_schemas.pods import pods

_POLICY = "ClusterFirstWithHostNet"
_SERVICE = re.compile(r"(?<![\w.-])[a-z0-9][\w${}().-]*\.svc(?:\.|\b)|\$[({]?LWS_LEADER_ADDRESS\b")


@rule("POD009", "host-network-dns", Severity.WARNING, on=JobView)
def host_network_dns(job: JobView) -> Iterator[Finding]:
    """A pod on the host's network that looks up names of the cluster asks the cluster's DNS.

    Under hostNetwork the default dnsPolicy is the node's: names of Services and pods do not resolve, and the ranks
    never find their rendezvous.

    Fix: write `dnsPolicy: ClusterFirstWithHostNet` beside hostNetwork.

    Silent: single pods, DaemonSets, jobs that look up no name of the cluster, kinds whose controller sets the policy
    (MPIJob v2beta1, Volcano), `None` with a dnsConfig.

    Bad: the operator hands the workers the head's name (pod-ray)
        @@ workerGroupSpecs
        + hostNetwork: true  # <-
          containers:
    Bad: the text names a pod of the job (pod-job)
        + hostNetwork: true  # <-
          containers:
    Bad: the text names a Service of the files (serving-service)
        + hostNetwork: true  # <-
          containers:
    Good: asked as it has to be (pod-ray)
        @@ workerGroupSpecs
        + hostNetwork: true
        + dnsPolicy: ClusterFirstWithHostNet
          containers:
    Good: the operator sets it (pod-mpijob)
        @@ mpirun
        + hostNetwork: true
          containers:
    Source: kubernetes/website docs/concepts/services-networking/dns-pod-service; kubeflow/mpi-operator v0.8.0.
    """

    def judge(pod: PodView) -> Iterator[Finding]:
        host = pod.spec.at("hostNetwork")
        if not pod.host_network or host is None or pod.multi_node is not True or merged_elsewhere(pod):
            return
        workload = pod.workload
        if f"{workload.group}/{workload.kind}/{workload.manifest.version}" in pods()["sets_dns_policy"]:
            return
        policy = pod.spec.at("dnsPolicy")
        said = policy.value if isinstance(policy, Scalar) else None
        if said in (_POLICY, "None") or (isinstance(policy, Scalar) and policy.open):
            return
        found = _name_of_the_cluster(job, pod)
        if found is None:
            return
        node, why = found
        change = SetValue(policy, _POLICY) if isinstance(policy, Scalar) and said else None
        yield pod.finding(
            Place(policy) if policy is not None and said else Place(host, on_key=True),
            f"The pod is on the host's network and asks the node's DNS, which knows no name of the cluster; {why}.",
            help=f"Write dnsPolicy: {_POLICY} beside hostNetwork.",
            severity=Severity.WARNING,
            related=(Related(Place(node), "The name stands here."),) if node is not None else (),
            fix=Fix(f"write dnsPolicy: {_POLICY}", (change or AddField(pod.spec, ("dnsPolicy",), _POLICY),)),
        )

    yield from once(job, judge)


def _given_an_address(job: JobView) -> bool:
    """Whether the controller hands the ranks an address; not so for a PyTorchJob of workers alone."""
    if job.workload.kind != "PyTorchJob":
        return True
    return any(name in role.injected for role in job.group.roles for name in job.group.address)


def _name_of_the_cluster(job: JobView, pod: PodView) -> tuple[Node | None, str] | None:
    """What makes the ranks look up a name of the cluster, with its place when the file holds it."""
    if job_kind(pod) in pods()["injects_cluster_names"] and _given_an_address(job):
        return None, f"the ranks of a {pod.workload.kind} are given such a name to meet at"
    hosts = {h.first.partition(".")[0] for _, h in job.group.hosts()}
    texts: list[tuple[Node, str]] = [(w, w.text) for c in pod.main_containers for w in c.words]
    for container in pod.main_containers:
        texts += [(v.place.node, v.value) for v in container.env.variables.values() if not isinstance(v.value, Unknown)]
    for node, text in texts:
        found = _SERVICE.search(text)
        if found is not None:
            return node, f"'{found.group(0).strip('.')}' is such a name"
        for name in sorted(hosts):
            if re.search(rf"(?<![\w.-]){re.escape(name)}(?![\w-])", text):
                return node, f"'{name}' is such a name"
    return _service_in_view(job, texts)


def _service_in_view(job: JobView, texts: list[tuple[Node, str]]) -> tuple[Node | None, str] | None:
    """The Service of the files at which the ranks meet, where it is named as it is called: `engine:5000`."""
    host, _ = job.group.rendezvous
    if not isinstance(host, str) or service_of(job.group, host) is None:
        return None
    node = next((n for n, text in texts if host in text), None)
    return node, f"'{host}' is such a name"

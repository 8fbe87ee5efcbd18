"""What JobSet's and LeaderWorkerSet's webhooks ask of the parts of a set: who names whom, and what divides what.

Sources: kubernetes-sigs/jobset@f22e565 pkg/webhooks/jobset_webhook.go; kubernetes-sigs/lws@2161f38 pkg/webhooks.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from fabriclint.finding import Place
from fabriclint.group import Refusal
from fabriclint.kinds import number
from fabriclint.node import Mapping, Node, Scalar, Unknown

if TYPE_CHECKING:
    from fabriclint.group.refusals import Checked

_LABEL = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")


def _jobs(c: Checked) -> dict[str, Mapping] | None:
    """Replicated jobs by name; None when one of the names cannot be read."""
    made: dict[str, Mapping] = {}
    listed = c.root.sequence("spec", "replicatedJobs")
    for item in listed.items if listed is not None else []:
        name = item.scalar("name")
        if not isinstance(item, Mapping) or name is None or not isinstance(name.value, str) or name.open:
            return None
        made[name.value] = item
    return made


def _texts(node: Node | None) -> Iterator[Scalar]:
    from fabriclint.node import Sequence

    for item in node.items if isinstance(node, Sequence) else []:
        if isinstance(item, Scalar) and isinstance(item.value, str) and not item.open:
            yield item


def subdomain(c: Checked) -> Iterator[Refusal]:
    """network.subdomain is a DNS label."""
    node = c.root.scalar("spec", "network", "subdomain")
    if node is None or not isinstance(node.value, str) or node.open or not node.value:
        return
    if len(node.value) > 63:
        yield c.refusal(node, value=node.value, words=".spec.network.subdomain is too long")
    elif _LABEL.fullmatch(node.value) is None:
        yield c.refusal(
            node, value=node.value, words="a DNS-1035 label must consist of lower case alphanumeric characters"
        )


def targets(c: Checked) -> Iterator[Refusal]:
    """Policies name replicated jobs that are there."""
    jobs = _jobs(c)
    if jobs is None:
        return
    lists = [c.root.at("spec", "successPolicy", "targetReplicatedJobs")]
    lists += [r.at("targetReplicatedJobs") for r in c.root.mappings("spec", "failurePolicy", "rules")]
    for listed in lists:
        for item in _texts(listed):
            if item.text not in jobs:
                yield c.refusal(item, value=item.text, known=", ".join(jobs) or "none")


def coordinator(c: Checked) -> Iterator[Refusal]:
    """The coordinator is a pod that is there, and its name fits a label."""
    jobs = _jobs(c)
    given = c.root.mapping("spec", "coordinator")
    node = given.scalar("replicatedJob") if given is not None else None
    if jobs is None or given is None or node is None or node.open or not isinstance(node.value, str):
        return
    job = jobs.get(node.value)
    if job is None:
        words = f"coordinator replicatedJob {node.value} does not exist"
        yield c.refusal(
            node, what=f"The coordinator names the replicated job '{node.value}', which is not there", words=words
        )
        return
    at, index = given.at("jobIndex"), number(given.at("jobIndex"), 0)
    replicas = number(job.at("replicas"), 1)
    if at is not None and not isinstance(index, Unknown) and not isinstance(replicas, Unknown) and index >= replicas:
        words = f"coordinator job index {index} is invalid for replicatedJob {node.value}"
        yield c.refusal(at, what=f"The coordinator's jobIndex is '{index}', but there are {replicas} jobs", words=words)
        return
    at, pod = given.at("podIndex"), number(given.at("podIndex"), 0)
    pods = number(job.at("template", "spec", "completions"), 1)
    if job.at("template", "spec", "completions") is None:
        pods = number(job.at("template", "spec", "parallelism"), 1)
    if at is not None and not isinstance(pod, Unknown) and not isinstance(pods, Unknown) and pod >= pods:
        words = f"coordinator pod index {pod} is invalid for replicatedJob {node.value}"
        yield c.refusal(at, what=f"The coordinator's podIndex is '{pod}', but each job has {pods} pods", words=words)
        return
    name = c.root.string("metadata", "name")
    if name is not None and not isinstance(index, Unknown) and not isinstance(pod, Unknown):
        where = c.root.string("spec", "network", "subdomain") or name
        label = f"{name}-{node.value}-{index}-{pod}.{where}"
        if len(label) > 63:
            what = f"The coordinator's host name '{label}' has {len(label)} characters and does not fit a label"
            yield c.refusal(node, what=what, words="must be no more than 63 bytes")


def depends_on(c: Checked) -> Iterator[Refusal]:
    """dependsOn names an earlier replicated job, and is not on the first."""
    jobs = _jobs(c)
    if jobs is None:
        return
    before: list[str] = []
    for position, (name, job) in enumerate(jobs.items()):
        node = job.at("dependsOn")
        if node is not None and not (isinstance(node, Scalar)):
            if position == 0:
                words = "DependsOn can't be set for the first ReplicatedJob"
                yield c.refusal(
                    Place(node, on_key=True),
                    what=f"'{name}' is the first replicated job and has 'dependsOn'",
                    words=words,
                )
            else:
                for entry in job.mappings("dependsOn"):
                    other = entry.scalar("name")
                    if other is not None and other.value == name:
                        what = f"'{name}' depends on itself"
                        yield c.refusal(
                            other, what=what, words="", then="itself", edit="Name the job that it is to wait for."
                        )
                    elif (
                        other is not None
                        and isinstance(other.value, str)
                        and not other.open
                        and other.value not in before
                    ):
                        words = f"replicatedJob: {name} cannot depend on replicatedJob: {other.value}"
                        yield c.refusal(
                            other,
                            what=f"'{name}' depends on '{other.value}', which does not stand before it",
                            words=words,
                        )
        before.append(name)


def subgroups(c: Checked) -> Iterator[Refusal]:
    """subGroupSize divides the size of the group, or the size without the leader."""
    template = c.root.mapping("spec", "leaderWorkerTemplate")
    if template is None:
        return
    policy = template.mapping("subGroupPolicy")
    topology = c.root.at("metadata", "annotations", "leaderworkerset.sigs.k8s.io/subgroup-exclusive-topology")
    if policy is None:
        if topology is not None and template.at("subGroupPolicy") is None:
            words = "cannot have subgroup-exclusive-topology without subGroupSize set"
            yield c.refusal(
                Place(topology, on_key=True),
                what="The annotation subgroup-exclusive-topology stands without a subGroupPolicy",
                words=words,
                edit="Set 'subGroupPolicy.subGroupSize', or drop the annotation.",
            )
        return
    node = policy.at("subGroupSize")
    size, part = number(template.at("size"), 1), number(node, 1)
    if isinstance(size, Unknown) or isinstance(part, Unknown) or node is None:
        return
    if part < 1:
        yield c.refusal(node, value=part, size=size, words="subGroupSize must be equal or greater than 1")
    elif size < part:
        yield c.refusal(node, value=part, size=size, words="subGroupSize cannot be larger than size")
    elif size % part and (size - 1) % part:
        yield c.refusal(node, value=part, size=size, words="size or size - 1 must be divisible by subGroupSize")
    elif policy.string("subGroupPolicyType") == "LeaderExcluded" and (size - 1) % part:
        words = "size-1 must be divisible by subGroupSize when using LeaderExcluded"
        yield c.refusal(node, value=part, size=size, words=words)


def rollout(c: Checked) -> Iterator[Refusal]:
    """A rollout that may neither take away a group nor add one cannot begin."""
    update = c.root.mapping("spec", "rolloutStrategy", "rollingUpdateConfiguration")
    if update is None:
        return
    for key in ("maxUnavailable", "maxSurge"):
        given = update.at(key)
        if isinstance(given, Scalar) and re.fullmatch(r"[0-9]+%", given.text) and int(given.text[:-1]) > 100:
            yield c.refusal(given, what=f"{key} is '{given.text}'", words="must not be greater than 100%")
    node = update.at("maxUnavailable")
    low, high = number(node, 1), number(update.at("maxSurge"), 0)
    if node is not None and low == 0 and high == 0 and number(c.root.at("spec", "replicas"), 1) != 0:
        yield c.refusal(node)

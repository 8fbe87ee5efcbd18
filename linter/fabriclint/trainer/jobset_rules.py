"""What JobSet's own webhook and schema refuse of a JobSet: names, order, policies.

Source: kubernetes-sigs/jobset@ecaf56a pkg/webhooks/jobset_webhook.go.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from fabriclint.node import Mapping, Node, Scalar, Sequence
from fabriclint.trainer.edit import all_named, is_absent, texts, whole
from fabriclint.trainer.manager_path import is_domain_prefixed_path
from fabriclint.trainer.metadata_rules import bad_entries
from fabriclint.trainer.outcome import Reason

_LABEL_1035 = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")
_SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_RULE_NAME = re.compile(r"[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?")
_LABEL_VALUE = re.compile(r"(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?")
_LONGEST = 63
_POD_SUFFIX = 6  # a dash and five random characters
_MOST = 2**31 - 1
_REASONS = {"BackoffLimitExceeded", "DeadlineExceeded", "FailedIndexes", "MaxFailedIndexesExceeded", "PodFailurePolicy"}
_LEFT = "the JobSet is refused and no pod is made"


def judge_jobset(root: Mapping, release: str) -> Iterator[Reason]:
    """Reasons of stage `jobset` for a JobSet's tree; `release` is the Trainer release, which pins JobSet's."""
    yield from _schema(root, release)
    for node, text in bad_entries(root.mapping("metadata")):
        yield _say(node, text, "metadata")
    spec = root.mapping("spec")
    if spec is None:
        return
    jobs = spec.mappings("replicatedJobs")
    known = [j.string("name") for j in jobs]
    yield from _names(root, jobs)
    yield from _network(spec, jobs)
    if all_named(spec.at("replicatedJobs")):
        yield from _order(jobs)
        yield from _policies(spec, known)
        yield from _coordinator(root, spec, jobs)
    yield from _claims(root, spec, jobs)
    yield from _sizes(spec, jobs)


def _say(node: Node, message: str, code: str) -> Reason:
    return Reason("jobset", node.source, node.pointer, f"{message}; {_LEFT}.", code)


def _schema(root: Mapping, release: str) -> Iterator[Reason]:
    from fabriclint.schema.validation import validate

    for fault in validate(root, group="jobset.x-k8s.io", version="v1alpha2", kind="JobSet", release=release):
        yield Reason("jobset", fault.node.source, fault.node.pointer, fault.message, "schema")


def _plain(node: Node | None) -> str | None:
    """A text that is written down."""
    if isinstance(node, Scalar) and isinstance(node.value, str) and not node.open:
        return node.value
    return None


def _count(node: Node | None, default: int) -> int:
    found = whole(node)
    return default if found is None else found


def _names(root: Mapping, jobs: list[Mapping]) -> Iterator[Reason]:
    """J1: names of Jobs and pods; the shortest limit over all replicated jobs counts."""
    node = root.at("metadata", "name")
    name = _plain(node)
    if name is None or node is None:
        return
    tightest: tuple[int, str, str] | None = None
    if not _LABEL_1035.fullmatch(name):
        yield _say(node, f"The name '{name}' makes names of Jobs that are no DNS labels (letters, digits, '-')", "J1")
        return
    for job in jobs:
        rj = _plain(job.at("name"))
        if rj is None:
            continue
        if not re.fullmatch(r"[-a-z0-9]*[a-z0-9]", rj):
            yield _say(job.nearest("name"), f"The name '{rj}' of a replicated job is no DNS label", "J1")
            continue
        last = max(_count(job.at("replicas"), 1) - 1, 0)
        completions = whole(job.at("template", "spec", "completions"))
        middle = f"-{rj}-{last}"
        if completions is not None:
            middle += f"-{max(completions - 1, 0)}" + "x" * _POD_SUFFIX
        room = _LONGEST - len(middle)
        if len(name) > room and (tightest is None or room < tightest[0]):
            tightest = (room, rj, middle)
    if tightest is not None:
        room, rj, middle = tightest
        text = (
            f"The name '{name}' has {len(name)} characters, and pods of replicated job '{rj}' leave room for {max(room, 0)} "
            f"({_LONGEST} less what is put behind it)"
        )
        yield _say(node, text, "J1")


def _network(spec: Mapping, jobs: list[Mapping]) -> Iterator[Reason]:
    """J2: names of groups and of the subdomain."""
    node = spec.at("network", "subdomain")
    subdomain = _plain(node)
    if subdomain and node is not None and not (_LABEL_1035.fullmatch(subdomain) and len(subdomain) <= _LONGEST):
        yield _say(node, f"'network.subdomain' is '{subdomain}', which is no DNS label", "J2")
    for job in jobs:
        group = _plain(job.at("groupName"))
        if group and not (_LABEL_1035.fullmatch(group) and len(group) <= _LONGEST):
            yield _say(job.nearest("groupName"), f"'groupName' is '{group}', which is no DNS label", "J2")


def _order(jobs: list[Mapping]) -> Iterator[Reason]:
    """J3: what a replicated job waits for stands before it; the first waits for none."""
    before: set[str | None] = set()
    for index, job in enumerate(jobs):
        name = job.string("name")
        before.add(name)  # JobSet lets a job wait for itself
        listed = job.sequence("dependsOn")
        if listed is None or not listed.items:
            continue
        if index == 0:
            yield _say(listed, f"'{name}' is the first replicated job and has 'dependsOn'", "J3")
            continue  # nothing can stand before it: the edit is to take 'dependsOn' away
        for item in listed.items:
            wanted = _plain(item.at("name"))
            if wanted is not None and wanted not in before:
                yield _say(item.nearest("name"), f"'{name}' waits for '{wanted}', which does not stand before it", "J3")


def _policies(spec: Mapping, known: list[str | None]) -> Iterator[Reason]:
    """J4: targets and rules of the success and failure policies."""
    listed = spec.sequence("successPolicy", "targetReplicatedJobs")
    yield from _targets(listed, known, "successPolicy")
    seen: set[str] = set()
    for rule in spec.mappings("failurePolicy", "rules"):
        yield from _targets(rule.sequence("targetReplicatedJobs"), known, "failurePolicy")
        name = _plain(rule.at("name"))
        if name is not None and name:
            if name in seen:
                yield _say(rule.nearest("name"), f"Two rules of 'failurePolicy' are called '{name}'", "J4")
            seen.add(name)
            if len(name) > 128 or not _RULE_NAME.fullmatch(name):
                yield _say(rule.nearest("name"), f"'{name}' is no name of a rule of 'failurePolicy'", "J4")
        for reason in texts(rule.at("onJobFailureReasons")) or ():
            if reason not in _REASONS:
                yield _say(rule.nearest("onJobFailureReasons"), f"'{reason}' is no reason that a Job fails for", "J4")


def _targets(listed: Sequence | None, known: list[str | None], policy: str) -> Iterator[Reason]:
    for item in listed.items if listed is not None else ():
        name = _plain(item)
        if name is not None and name not in known:
            have = ", ".join(n for n in known if n) or "none"
            yield _say(
                item, f"'{policy}' names a replicated job '{name}', and there is none of that name (but {have})", "J4"
            )


def _coordinator(root: Mapping, spec: Mapping, jobs: list[Mapping]) -> Iterator[Reason]:
    """J5: the coordinator is a pod that exists, and its host fits into a label."""
    block = spec.mapping("coordinator")
    if block is None:
        return
    name = _plain(block.at("replicatedJob"))
    job = next((j for j in jobs if j.string("name") == name), None)
    if name is None:
        return
    if job is None:
        yield _say(
            block.nearest("replicatedJob"), f"'coordinator' names a replicated job '{name}' that is not there", "J5"
        )
        return
    index, pod = _count(block.at("jobIndex"), 0), _count(block.at("podIndex"), 0)
    completions = whole(job.at("template", "spec", "completions"))
    if not 0 <= index < max(_count(job.at("replicas"), 1), 1):
        yield _say(
            block.nearest("jobIndex"), f"'coordinator.jobIndex' is {index}, beyond the replicas of '{name}'", "J5"
        )
    mode = _plain(job.at("template", "spec", "completionMode"))
    if mode not in (None, "Indexed") or completions is None:
        yield _say(block, f"The coordinator's job '{name}' is not Indexed with 'completions'", "J5")
    elif not 0 <= pod < completions:
        yield _say(
            block.nearest("podIndex"), f"'coordinator.podIndex' is {pod}, beyond the completions of '{name}'", "J5"
        )
    own = _plain(root.at("metadata", "name"))
    if own is None:
        return  # made of generateName, or by a template
    endpoint = f"{own}-{name}-{index}-{pod}.{spec.string('network', 'subdomain') or own}"
    if len(endpoint) > _LONGEST or not _LABEL_VALUE.fullmatch(endpoint):
        yield _say(
            block.nearest("replicatedJob"),
            f"The coordinator's host '{endpoint}' is no label value of {_LONGEST} characters",
            "J5",
        )


def _claims(root: Mapping, spec: Mapping, jobs: list[Mapping]) -> Iterator[Reason]:
    """J6: claim templates have names of their own, are mounted, and hide no volume."""
    own = root.string("metadata", "name") or ""
    seen: set[str] = set()
    mounts = {
        mount.string("name")
        for job in jobs
        for key in ("containers", "initContainers")
        for container in job.mappings("template", "spec", "template", "spec", key)
        for mount in container.mappings("volumeMounts")
    }
    sure = all(
        all_named(container.at("volumeMounts"))
        for job in jobs
        for key in ("containers", "initContainers")
        for container in job.mappings("template", "spec", "template", "spec", key)
    )
    for policy in spec.mappings("volumeClaimPolicies"):
        for template in policy.mappings("templates"):
            node = template.nearest("metadata", "name")
            name = _plain(template.at("metadata", "name"))
            if name is None:
                continue
            if name in seen:
                yield _say(node, f"Two templates of 'volumeClaimPolicies' are called '{name}'", "J6")
            seen.add(name)
            if not _SUBDOMAIN.fullmatch(name) or len(f"{name}-{own}") > _LONGEST:
                yield _say(node, f"The claim's name '{name}-{own}' is no name of {_LONGEST} characters", "J6")
            if name not in mounts and sure:
                yield _say(node, f"No container mounts '{name}' of 'volumeClaimPolicies'", "J6")
            for job in jobs:
                for volume in job.mappings("template", "spec", "template", "spec", "volumes"):
                    if volume.string("name") == name:
                        yield _say(
                            volume, f"The volume '{name}' has the name of a template of 'volumeClaimPolicies'", "J6"
                        )


def _sizes(spec: Mapping, jobs: list[Mapping]) -> Iterator[Reason]:
    """J7: counts that can be numbered, and the manager's name; J8: restart in place."""
    for job in jobs:
        parallelism = _count(job.at("template", "spec", "parallelism"), 1)
        if _count(job.at("replicas"), 1) * parallelism > _MOST:
            yield _say(job.nearest("replicas"), "'replicas' times 'parallelism' is beyond a 32-bit number", "J7")
    manager = _plain(spec.at("managedBy"))
    if manager is not None and (len(manager) > _LONGEST or not is_domain_prefixed_path(manager)):
        yield _say(spec.nearest("managedBy"), f"'managedBy' is '{manager}', which is no domain, slash and path", "J7")
    if spec.string("failurePolicy", "restartStrategy") != "InPlaceRestart":
        return
    for job in jobs:
        inner = job.mapping("template", "spec")
        if inner is None:
            continue
        wrong = whole(inner.at("backoffLimit")) != _MOST
        wrong = wrong or inner.string("podReplacementPolicy") != "Failed"
        same = not is_absent(inner.at("completions")) and whole(inner.at("completions")) == whole(
            inner.at("parallelism")
        )
        if wrong or not same:
            text = f"InPlaceRestart needs 'backoffLimit: {_MOST}', 'podReplacementPolicy: Failed' and as many completions as pods"
            yield _say(inner, text, "J8")

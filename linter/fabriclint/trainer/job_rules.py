"""What the API server refuses of the Jobs that a JobSet leads to: pods that its schema lets through.

Neither Trainer nor JobSet looks at these; the JobSet exists then, and no pod ever does.
Source: kubernetes/kubernetes v1.35 pkg/apis/core/validation, pkg/apis/batch/validation.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from fabriclint.node import Mapping, Node, Scalar
from fabriclint.quantity import parse_quantity
from fabriclint.trainer.edit import all_named, is_absent
from fabriclint.trainer.metadata_rules import bad_entries
from fabriclint.trainer.outcome import Reason

_NEVER = "the JobSet exists and its pods are never made"
_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
_LONGEST = 63
_NATIVE = ("cpu", "memory", "ephemeral-storage")
_LISTS = ("initContainers", "containers")


def judge_jobs(root: Mapping) -> Iterator[Reason]:
    """Reasons of stage `job` for a JobSet's tree."""
    claimed = {
        template.string("metadata", "name")
        for policy in root.mappings("spec", "volumeClaimPolicies")
        for template in policy.mappings("templates")
    }
    for job in root.mappings("spec", "replicatedJobs"):
        template = job.mapping("template", "spec", "template")
        pod = template.mapping("spec") if template is not None else None
        if template is None or pod is None:
            continue
        yield from _metadata(job.mapping("template", "metadata"))
        yield from _metadata(template.mapping("metadata"))
        policy = pod.scalar("restartPolicy")
        if policy is not None and policy.value not in (None, "OnFailure", "Never") and not policy.open:
            text = f"'restartPolicy' is '{policy.text}', and a Job's pods take OnFailure or Never"
            yield _say(policy, text)
        yield from _volumes(pod)
        yield from _containers(pod, claimed)


def _say(node: Node, message: str) -> Reason:
    return Reason("job", node.source, node.pointer, f"{message}; {_NEVER}.", "job")


def _metadata(metadata: Mapping | None) -> Iterator[Reason]:
    for node, text in bad_entries(metadata):
        yield _say(node, text)


def _volumes(pod: Mapping) -> Iterator[Reason]:
    seen: set[str] = set()
    for volume in pod.mappings("volumes"):
        name = volume.string("name")
        sources = [k for k, v in volume.fields.items() if k != "name" and not is_absent(v)]
        if any("{{" in k or "$" in k for k in volume.fields):
            continue
        if len(sources) > 1:
            node = volume.fields[sources[-1]]
            yield _say(node, f"Volume '{name}' has {len(sources)} sources ('{sources[0]}', '{sources[1]}')")
        elif not sources:
            yield _say(volume, f"Volume '{name}' has no source")
        if name is not None and name in seen:
            yield _say(volume, f"Two volumes are called '{name}'")
        seen.add(name or "")


def _containers(pod: Mapping, claimed: set[str | None]) -> Iterator[Reason]:
    volumes = {v.string("name") for v in pod.mappings("volumes")} | claimed
    unsure = not all_named(pod.at("volumes"))
    resource_claims = {c.string("name") for c in pod.mappings("resourceClaims")}
    claims_known = all_named(pod.at("resourceClaims"))
    seen: set[str] = set()
    for key in _LISTS:
        for container in pod.mappings(key):
            name = container.string("name") or ""
            node = container.at("name")
            if isinstance(node, Scalar) and not node.open:
                if name in seen:
                    yield _say(container, f"Two containers of the pod are called '{name}'")
                elif not _LABEL.fullmatch(name) or len(name) > _LONGEST:
                    yield _say(node, f"'{name}' is no name of a container")
                seen.add(name)
            if is_absent(container.at("image")) or container.string("image") == "":
                yield _say(container, f"Container '{name}' has no image")
            yield from _env(container, name)
            paths: set[str] = set()
            for mount in container.mappings("volumeMounts"):
                wanted, path = mount.string("name"), mount.string("mountPath")
                if wanted is not None and wanted not in volumes and not unsure and not _open(mount.at("name")):
                    yield _say(
                        mount.nearest("name"), f"Container '{name}' mounts '{wanted}', which is no volume of the pod"
                    )
                if path is not None and path in paths and not _open(mount.at("mountPath")):
                    yield _say(mount.nearest("mountPath"), f"Container '{name}' mounts two volumes at '{path}'")
                paths.add(path or "")
            yield from _resources(container, name, resource_claims if claims_known else None)


def _env(container: Mapping, name: str) -> Iterator[Reason]:
    for entry in container.mappings("env"):
        value, source = entry.at("value"), entry.at("valueFrom")
        if isinstance(value, Scalar) and value.value not in (None, "") and isinstance(source, Mapping):
            text = f"Variable '{entry.string('name')}' of container '{name}' has both 'value' and 'valueFrom'"
            yield _say(source, text)
        elif isinstance(source, Mapping) and len(source.fields) != 1:
            text = f"Variable '{entry.string('name')}' of container '{name}' has {len(source.fields)} sources, not one"
            yield _say(source, text)


def _open(node: Node | None) -> bool:
    return isinstance(node, Scalar) and node.open


def _resources(container: Mapping, name: str, claims: set[str | None] | None) -> Iterator[Reason]:
    resources = container.mapping("resources")
    if resources is None:
        return
    for claim in resources.mappings("claims") if claims is not None else ():
        wanted = claim.string("name")
        if claims is not None and wanted is not None and wanted not in claims and not _open(claim.at("name")):
            yield _say(claim, f"Container '{name}' uses claim '{wanted}', which 'resourceClaims' of the pod has not")
    limits = _amounts(resources.mapping("limits"))
    requests = _amounts(resources.mapping("requests"))
    for resource, node in {**limits, **requests}.items():
        extended = "/" in resource and not resource.startswith("kubernetes.io/")
        limit, request = limits.get(resource), requests.get(resource)
        high = parse_quantity(limit.text) if limit is not None else None
        low = parse_quantity(request.text) if request is not None else None
        whole_only = extended or resource.startswith("hugepages-")
        for amount, where in ((high, limit), (low, request)):
            if extended and amount is not None and amount != amount.to_integral_value() and where is not None:
                yield _say(where, f"'{resource}' of container '{name}' is '{where.text}' and takes whole numbers only")
                break
        else:
            if whole_only and limit is None and request is not None:
                yield _say(node, f"'{resource}' of container '{name}' is requested and has no limit")
            elif high is not None and low is not None and request is not None and limit is not None:
                if whole_only and low != high:
                    text = f"'{resource}' of container '{name}' is requested {request.text} times and limited to {limit.text}"
                    yield _say(request, text)
                elif low > high and (resource in _NATIVE or extended):
                    text = (
                        f"'{resource}' of container '{name}' is requested as {request.text} and limited to {limit.text}"
                    )
                    yield _say(request, text)


def _amounts(amounts: Mapping | None) -> dict[str, Scalar]:
    """The amounts that are written down."""
    if amounts is None:
        return {}
    return {k: v for k, v in amounts.fields.items() if isinstance(v, Scalar) and not v.open and v.value is not None}

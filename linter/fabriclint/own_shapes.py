"""Pods of kinds that write a pod's parts in several places: metadata over metadata, steps of a workflow."""

from __future__ import annotations

from fabriclint.node import Mapping, Node, Scalar, Sequence

#: Fields of a pod that a workflow gives for all its steps, and a step may give for itself.
_OF_ALL = (
    "affinity",
    "automountServiceAccountToken",
    "dnsConfig",
    "dnsPolicy",
    "hostAliases",
    "hostNetwork",
    "imagePullSecrets",
    "nodeSelector",
    "schedulerName",
    "securityContext",
    "serviceAccountName",
    "tolerations",
)


def twin(node: Mapping | Sequence) -> Mapping:
    """An empty mapping that stands where a node does."""
    made = Mapping(node.doc, node.start, node.end)
    made.parent, made.key = node.parent, node.key
    made.key_start, made.key_end = node.key_start, node.key_end
    return made


def over(nodes: list[Mapping]) -> Mapping | None:
    """Labels and annotations of several places, the first winning; the one place itself where there is only one."""
    if len(nodes) < 2:
        return nodes[0] if nodes else None
    made = twin(nodes[0])
    for key in ("annotations", "labels"):
        there = [n for n in (node.at(key) for node in nodes) if n is not None]
        open_ = next((n for n in there if isinstance(n, Scalar) and n.value is not None), None)
        given = [n for n in there if isinstance(n, Mapping)]
        if open_ is not None:
            made.fields[key] = open_
        elif given:
            joined = twin(given[0])
            for one in reversed(given):
                joined.fields.update(one.fields)
            made.fields[key] = joined
    return made


def step_pod(workflow: Mapping, template: Mapping, step: Mapping) -> Mapping:
    """The pod of a workflow's step: its container or set of containers, sidecars, and what workflow and template say.

    Source: argoproj/argo-workflows@16a52d6 workflow/controller/workflowpod.go.
    """
    pod = twin(step)
    for key in _OF_ALL:
        found = template.at(key)
        found = found if found is not None else workflow.at(key)
        if found is not None:
            pod.fields[key] = found
    listed = Sequence(step.doc, step.start, step.end)
    listed.items.extend(step.mappings("containers") if step.key == "containerSet" else [step])
    listed.items.extend(template.mappings("sidecars"))
    pod.fields["containers"] = listed
    for key in ("volumes", "initContainers"):
        both: list[Node] = []
        for holder in (template, workflow) if key == "volumes" else (template,):
            found = holder.at(key)
            if isinstance(found, Scalar) and found.value is not None:
                pod.fields[key] = found
            both.extend(found.items if isinstance(found, Sequence) else [])
        if both and key not in pod.fields:
            joined = Sequence(step.doc, step.start, step.end)
            joined.items.extend(both)
            pod.fields[key] = joined
    return pod

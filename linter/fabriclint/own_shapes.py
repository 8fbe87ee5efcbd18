"""Pods of kinds with shapes of their own, as pod templates: containers, variables, amounts and metadata in other places."""

from __future__ import annotations

from fabriclint.node import Mapping, Node, Scalar, Sequence, build

_GPU = "nvidia.com/gpu"
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
#: Lists of a pod whose entries a strategic patch knows by another key than their name, or replaces as they are (empty).
_MERGED_BY = {"tolerations": "", "volumeMounts": "mountPath", "hostAliases": "ip"}


def twin(node: Node) -> Mapping:
    """An empty mapping that stands where a node does."""
    made = Mapping(node.doc, node.start, node.end)
    made.parent, made.key = node.parent, node.key
    made.key_start, made.key_end = node.key_start, node.key_end
    return made


def copy_of(own: Mapping) -> Mapping:
    """A mapping of the same fields at the same place, which may be given others."""
    made = twin(own)
    made.fields.update(own.fields)
    return made


def over(nodes: list[Mapping]) -> Mapping:
    """Labels and annotations of several places, the first winning."""
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


def beginning(metadata: Mapping, prefixes: tuple[str, ...]) -> Mapping:
    """Labels and annotations of which only those are taken whose names begin so."""
    made = twin(metadata)
    for key in ("annotations", "labels"):
        given = metadata.at(key)
        if isinstance(given, Mapping):
            kept = made.fields[key] = twin(given)
            kept.fields.update({name: node for name, node in given.fields.items() if name.startswith(prefixes)})
        elif isinstance(given, Scalar) and given.value is not None:
            made.fields[key] = given
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
    # The workflow's patch is laid on first, the template's over it.
    for holder in (workflow, template):
        patch = holder.at("podSpecPatch")
        if isinstance(patch, Scalar) and patch.value not in (None, ""):
            pod = _patched(pod, patch)
    return pod


def _patched(pod: Mapping, text: Scalar) -> Mapping:
    """A step's pod under a patch that stands in a text; one that cannot be read may change all that is asked for."""
    from fabriclint.document import Document
    from fabriclint.embedded import parse_embedded

    read = parse_embedded(text)
    patch = read.root if isinstance(read, Document) else None
    made = copy_of(pod)
    containers = pod.sequence("containers")
    if not isinstance(patch, Mapping):
        listed = Sequence(pod.doc, pod.start, pod.end)
        for one in containers.items if containers is not None else []:
            open_ = twin(one)
            open_.fields.update(one.fields if isinstance(one, Mapping) else {})
            open_.fields["resources"] = text
            listed.items.append(open_)
        made.fields["containers"] = listed
        return made
    for key, given in patch.fields.items():
        made.fields[key] = _laid_over(pod.at(key), given, _MERGED_BY.get(key, "name"))
    return made


def _laid_over(own: Node | None, given: Node, key: str = "name") -> Node:
    """A strategic patch: mappings field by field, lists entry by entry by their names, anything else in place of it."""
    if isinstance(own, Mapping) and isinstance(given, Mapping):
        made = copy_of(own)
        for name, value in given.fields.items():
            made.fields[name] = _laid_over(own.at(name), value, _MERGED_BY.get(name, "name"))
        return made
    named = isinstance(given, Sequence) and all(isinstance(i, Mapping) and i.string(key) for i in given.items)
    if not key or not isinstance(own, Sequence) or not isinstance(given, Sequence) or not named:
        return given
    listed = Sequence(own.doc, own.start, own.end)
    left = {i.string(key): i for i in given.items if isinstance(i, Mapping)}
    for one in own.items:
        # The step's own container has no name; the controller calls it so.
        called = (one.string(key) or "main") if isinstance(one, Mapping) else None
        patch = left.pop(called, None)
        listed.items.append(one if patch is None else _laid_over(one, patch))
    listed.items.extend(left.values())
    return listed


def as_pod_spec(place: Mapping, fields: dict[str, Node], containers: list[Mapping]) -> Mapping:
    """A pod spec at a place of the file, for kinds that write their containers in a shape of their own."""
    wrapper = twin(place)
    listed = Sequence(place.doc, place.start, place.end)
    listed.items.extend(containers)
    wrapper.fields.update(fields)
    wrapper.fields["containers"] = listed
    return wrapper


def with_listed_env(container: Mapping, key: str = "environment") -> Mapping:
    """A container whose variables are a mapping, with the same as a list under `env`."""
    given = container.mapping(key)
    made = copy_of(container)
    listed = Sequence(container.doc, container.start, container.end)
    for name, value in (given.fields if given is not None else {}).items():
        entry = twin(value)
        entry.fields["name"] = build(name, value)
        entry.fields["value"] = value
        listed.items.append(entry)
    if listed.items and given is not None:
        listed.parent, listed.key = given.parent, given.key
        listed.key_start, listed.key_end = given.key_start, given.key_end
        made.fields["env"] = listed
    return made


def with_what_stands_beside(container: Mapping, service: Mapping) -> Mapping:
    """A container with what its kind writes beside the pod: amounts, variables, and a Secret with more of them."""
    made = copy_of(container)
    amounts = service.mapping("resources")
    if amounts is not None:
        made.fields["resources"] = _with_amounts(container.at("resources"), _as_amounts(amounts))
    variables = service.sequence("envs")
    own = container.sequence("env")
    if variables is not None:
        listed = Sequence(variables.doc, variables.start, variables.end)
        listed.parent, listed.key = variables.parent, variables.key
        listed.key_start, listed.key_end = variables.key_start, variables.key_end
        # The container's own come later, and win.
        listed.items.extend([*variables.items, *(own.items if own is not None else [])])
        made.fields["env"] = listed
    secret = service.at("envFromSecret")
    if secret is not None and not (isinstance(secret, Scalar) and secret.value in (None, "")):
        more = container.sequence("envFrom")
        name = secret.value if isinstance(secret, Scalar) else None
        given = build([{"secretRef": {"name": name}}], secret)
        assert isinstance(given, Sequence)
        given.items.extend(more.items if more is not None else [])
        made.fields["envFrom"] = given
    return made


def _with_amounts(own: Node | None, beside: Mapping) -> Node:
    """A container's own resources under those beside the pod, which win name by name."""
    if not isinstance(own, Mapping):
        return beside if own is None or (isinstance(own, Scalar) and own.value is None) else own
    made = copy_of(own)
    for section, given in beside.fields.items():
        mine = own.at(section)
        if isinstance(mine, Mapping) and isinstance(given, Mapping):
            both = twin(mine)
            both.fields.update({**mine.fields, **given.fields})
            made.fields[section] = both
        elif not (isinstance(mine, Scalar) and mine.open):
            made.fields[section] = given
    return made


def _as_amounts(amounts: Mapping) -> Mapping:
    """`resources` in Kubernetes' words: `gpu`, and device names below `custom`; a GPU type of its own stays out."""
    resources = twin(amounts)
    for section in ("limits", "requests"):
        given = amounts.mapping(section)
        if given is None or given.at("gpuType") is not None:
            continue
        opened = next((v for k, v in given.fields.items() if k == "custom" and isinstance(v, Scalar) and v.open), None)
        if opened is not None:
            resources.fields[section] = opened
            continue
        listed = twin(given)
        for name, value in given.fields.items():
            if name == "gpu":
                listed.fields[_GPU] = value
            elif isinstance(value, Mapping):
                listed.fields.update(value.fields)
            else:
                listed.fields[name] = value
        resources.fields[section] = listed
    claims = amounts.at("claims")
    if claims is not None:
        resources.fields["claims"] = claims
    return resources

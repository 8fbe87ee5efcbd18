"""POD006: what the API server takes as an amount of a device or of huge pages."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal

from fabriclint.node import Mapping, Node, Scalar, Unknown, open_value
from fabriclint.pod import ContainerView, PodView
from fabriclint.quantity import parse_quantity
from fabriclint.rule import AddField, Applicability, Finding, Fix, Place, Related, SetValue, Severity, rule
from fabriclint_rules.attachment import is_extended

_HUGE = "hugepages-"


def _value(node: Node | None) -> Decimal | Unknown | None:
    """The amount; UNKNOWN where it is filled in elsewhere or is no quantity (the schema's business); None when absent."""
    from fabriclint.node import UNKNOWN

    if node is None:
        return None
    if not isinstance(node, Scalar) or isinstance(node.value, bool) or node.open:
        return UNKNOWN
    if node.value is None or node.value == "":
        return Decimal(0)
    parsed = parse_quantity(node.value)
    return UNKNOWN if parsed is None else parsed


def _empty(node: Node | None) -> bool:
    return isinstance(node, Scalar) and (node.value is None or node.value == "")


@rule("POD006", "extended-resource-requests", Severity.ERROR, on=PodView, yields_on_line=("DOC005", "POD007"))
def extended_resource_requests(pod: PodView) -> Iterator[Finding]:
    """Devices and huge pages are asked for as the API server takes them: whole, in limits, and requested alike.

    A device cannot be shared or overcommitted, so Kubernetes refuses a pod that requests it without a limit, requests
    another amount than its limit, or asks for a part of one. A value that is left empty counts as 0: the pod starts
    and gets none. Huge pages want limits and requests alike too, and cpu or memory beside them.

    Fix: write the amount in limits; leave requests out, or write the same there.

    Silent: limits alone, amounts that a template fills in, different spellings of one amount.

    Bad: requested only (pod-jobset)
          resources:
        +   requests:
        +     rdma/ib: 8  # <-
            limits:
              nvidia.com/gpu: 8
        -     rdma/ib: 8
    Bad: another amount requested than limited (pod-mpijob)
          resources:
        +   requests:
        +     nvidia.com/gpu: 4  # <-
            limits:
    Good: quoted (pod-jobset)
        ~ rdma/ib: 8 => rdma/ib: "8"
    Good: both, in two spellings (pod-mpijob)
          resources:
        +   requests:
        +     nvidia.com/gpu: "8"
            limits:
    Source: kubernetes/kubernetes@v1.35.2 pkg/apis/core/validation/validation.go ValidateResourceRequirements.
    """
    if pod.site.form not in ("template", "podspec", "container"):
        return
    for container in pod.containers:
        yield from _of_container(pod, container)
    yield from _of_pod(pod)


def _names(container: ContainerView) -> list[str]:
    names: list[str] = []
    for _, name, _ in container.resources():
        if name not in names and not open_value(name):
            names.append(name)
    return names


def _of_container(pod: PodView, container: ContainerView) -> Iterator[Finding]:
    huge_without = None
    for name in _names(container):
        limit = container.node.at("resources", "limits", name)
        request = container.node.at("resources", "requests", name)
        if name.startswith("requests."):
            node = limit if limit is not None else request
            assert node is not None
            yield pod.finding(
                Place(node, on_key=True),
                f"'{name}' is no name of a resource in a container, but one of a quota; the API server refuses the pod.",
                help=f"Write '{name.removeprefix('requests.')}'.",
            )
            continue
        if name.startswith(_HUGE):
            huge_without = huge_without or name
            odd = list(_pages(pod, name, limit, request))
            yield from odd or _pair(pod, container, name, limit, request)
        elif is_extended(name):
            found = list(_amounts(pod, name, limit, request))
            yield from found or _pair(pod, container, name, limit, request)
    if huge_without is not None and not {"cpu", "memory"} & container.resource_names and not container.resources_open:
        node = container.resource_node(huge_without)
        assert node is not None
        yield pod.finding(
            Place(node, on_key=True),
            f"'{huge_without}' is asked for without cpu or memory; the API server refuses the pod.",
            help="Write a memory or cpu limit beside it.",
        )


def _pages(pod: PodView, name: str, limit: Node | None, request: Node | None) -> Iterator[Finding]:
    """An amount of huge pages that is no number of whole pages."""
    page = parse_quantity(name.removeprefix(_HUGE))
    for node in (limit, request):
        amount = _value(node)
        if node is None or not isinstance(amount, Decimal) or not page or amount % page == 0:
            continue
        yield pod.finding(
            Place(node),
            f"The amount '{getattr(node, 'text', '')}' of '{name}' is no multiple of the page; the API server refuses the pod.",
            help=f"Write a multiple of {name.removeprefix(_HUGE)}, as 1Gi.",
        )
        return


def _amounts(pod: PodView, name: str, limit: Node | None, request: Node | None) -> Iterator[Finding]:
    """An amount that no device can have; one finding for a resource."""
    for node in (limit, request):
        amount = _value(node)
        if node is None or not isinstance(amount, Decimal):
            continue
        text = getattr(node, "text", "")
        if _empty(node):
            if node is request and limit is not None:
                continue
            yield pod.finding(
                Place(node, on_key=True),
                f"'{name}' has no value, which counts as 0: the container gets none.",
                help="Write the number that the container is to have, or take the line out.",
            )
            return
        if amount < 0:
            yield pod.finding(
                Place(node),
                f"The amount '{text}' of '{name}' is negative; the API server refuses the pod.",
                help="Write a whole number.",
            )
            return
        if amount != amount.to_integral_value():
            yield pod.finding(
                Place(node),
                f"The amount '{text}' of '{name}' is no whole number; the API server refuses the pod.",
                help="Write a whole number; a share of a GPU is a resource of its own (MIG, time slicing).",
            )
            return


def _pair(
    pod: PodView, container: ContainerView, name: str, limit: Node | None, request: Node | None
) -> Iterator[Finding]:
    """Limits and requests of one resource, which have to be alike."""
    if request is None or container.resources_open:
        return
    asked, most = _value(request), _value(limit)
    if limit is None:
        if isinstance(asked, Decimal) and asked == 0 and is_extended(name):
            return
        value = request.value if isinstance(request, Scalar) else None
        yield pod.finding(
            Place(request, on_key=True),
            f"'{name}' stands in requests and not in limits; the API server refuses the pod.",
            help=f"Write '{name}' in limits, with the same value.",
            fix=Fix(f"write {name} in limits too", (AddField(container.node, ("resources", "limits", name), value),)),
        )
        return
    if isinstance(asked, Decimal) and isinstance(most, Decimal) and asked != most:
        assert isinstance(request, Scalar) and isinstance(limit, Scalar)
        yield pod.finding(
            Place(request),
            f"'{name}' is requested '{request.text}' times and limited to '{limit.text}'; the API server refuses the pod "
            "unless both are alike.",
            help=f"Write '{limit.text}' here, or leave '{name}' out of requests.",
            related=(Related(Place(limit), "The limit."),),
            fix=Fix(f"request {limit.text}", (SetValue(request, limit.text),), Applicability.UNSAFE),
        )


def _of_pod(pod: PodView) -> Iterator[Finding]:
    """Devices in the resources of the pod as a whole, which take cpu, memory and huge pages only."""
    for section in ("limits", "requests"):
        amounts = pod.spec.mapping("resources", section)
        for name, node in (amounts.fields if isinstance(amounts, Mapping) else {}).items():
            if is_extended(name) and pod.site.form == "template":
                yield pod.finding(
                    Place(node, on_key=True),
                    f"'{name}' stands in the resources of the pod, which take cpu, memory and huge pages only; the API "
                    "server refuses the pod.",
                    help="Move it to the resources of the container that uses it.",
                )
                return

"""Services in view through which an address leads to the ranks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from fabriclint.node import Mapping, Scalar, Sequence

if TYPE_CHECKING:
    from fabriclint.group import GroupView


@dataclass(frozen=True, slots=True)
class ServiceView:
    """A Service as an address uses it: `pod` is the host name before the Service's, None when the Service is named itself."""

    name: str
    spec: Mapping
    pod: str | None

    @property
    def headless(self) -> bool | None:
        """Whether the name leads to the pods themselves; None when a template decides."""
        node = self.spec.at("clusterIP")
        if isinstance(node, Scalar) and node.open:
            return None
        return isinstance(node, Scalar) and node.value == "None"

    @property
    def elsewhere(self) -> bool:
        """Whether it leads out of the cluster, or to endpoints that somebody else writes."""
        node = self.spec.at("type")
        if isinstance(node, Scalar) and (node.open or node.value == "ExternalName"):
            return True
        return self.selector is None or not self.selector.fields

    @property
    def selector(self) -> Mapping | None:
        """Whom it leads to."""
        return self.spec.mapping("selector")

    @property
    def ports(self) -> list[str] | None:
        """Its ports; None when one of them cannot be read."""
        listed = self.spec.at("ports")
        if not isinstance(listed, Sequence):
            return None
        made: list[str] = []
        for item in listed.items:
            port = item.scalar("port") if isinstance(item, Mapping) else None
            if port is None or port.open or port.value is None:
                return None
            made.append(port.text)
        return made

    @property
    def publishes(self) -> bool:
        """Whether it shows pods that are not ready, or may do so."""
        node = self.spec.at("publishNotReadyAddresses")
        return node is not None and not (isinstance(node, Scalar) and node.value is False)


def service_of(group: GroupView, address: str) -> ServiceView | None:
    """The Service in view that an address names, or below which it names a pod; None when there is none."""
    host, *rest = address.rstrip(".").split(".")
    if not group.pods:
        return None
    below = rest[:1]
    if below and (below[0] == group.subdomain or any(h.has(host) is not False for _, h in group.hosts())):
        return _found(group, below[0], rest[1:], host)
    return _found(group, host, rest, None)


def _found(group: GroupView, name: str, rest: list[str], pod: str | None) -> ServiceView | None:
    space = group.workload.manifest.namespace
    if rest and ((space is not None and rest[0] != space) or rest[1:2] not in ([], ["svc"])):
        return None
    found = group.pods[0].lookup.neighbour(group.workload, "Service", name)
    spec = found.root.mapping("spec") if found is not None and found.group == "" else None
    if found is None or spec is None or (found.namespace is not None and space is None and not rest):
        return None
    return ServiceView(name, spec, pod)


def serves_others(group: GroupView, selector: Mapping) -> bool:
    """Whether a selector picks pods of another object in view, or may do so."""
    wanted = {k: n.text for k, n in selector.fields.items() if isinstance(n, Scalar) and not n.open}
    if len(wanted) != len(selector.fields) or not group.pods:
        return True
    return group.pods[0].lookup.labelled(group.workload, wanted)


__all__ = ["ServiceView", "serves_others", "service_of"]

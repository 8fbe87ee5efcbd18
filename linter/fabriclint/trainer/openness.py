"""Whether all that the verdict hangs on is written down, or something is filled in before Kubernetes sees it."""

from __future__ import annotations

from fabriclint.node import Mapping, Node, Scalar, Sequence

#: Fields whose text no one judges: what is in them changes nothing in the verdict.
_FREE = frozenset(
    {"command", "args", "value", "image", "annotations", "labels", "storageUri", "hostPath", "workingDir"}
)


def decided(node: Node) -> bool:
    """Whether a tree has no open value outside fields of free text."""
    stack: list[Node] = [node]
    while stack:
        here = stack.pop()
        if isinstance(here, Scalar):
            if here.open:
                return False
        elif isinstance(here, Mapping):
            stack.extend(value for key, value in here.fields.items() if key not in _FREE)
        elif isinstance(here, Sequence):
            stack.extend(here.items)
    return True

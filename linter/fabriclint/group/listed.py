"""Controllers of which only the names are known that they set in their pods: engines that are served over several pods.

Sources: ai-dynamo/grove@8fa3ece, vllm-project/aibrix@c546589, kserve/kserve@1fb7810, kubernetes-sigs/lws@2161f38,
NVIDIA/k8s-nim-operator@f9e3047, ai-dynamo/dynamo@015d780.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabriclint.group import GroupView
from fabriclint.group.make import plain_roles

if TYPE_CHECKING:
    from fabriclint.group.make import Making


def group(making: Making) -> GroupView:
    """The roles as the file has them, with the names that the controller sets; `facts` of the data are paths of the spec."""
    facts = {name: making.spec.at(*path.split("/")) is not None for name, path in making.data.get("facts", {}).items()}
    roles = plain_roles(making.job)
    for role in roles:
        role.wins = making.data.get("wins", "file")
        role.scalable = role.scalable or bool(making.data.get("scalable"))
        role.reached = making.reached(role.pod)
        making.inject(role, lambda _index: facts)
    return making.group(roles)

"""What KServe's webhooks ask of an engine that is served over several pods.

Source: kserve/kserve@1fb7810 (v0.20.0) pkg/apis/serving, pkg/controller/v1alpha2/llmisvc.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from fabriclint.finding import Place
from fabriclint.group import Refusal
from fabriclint.group.refusals import closed, opened
from fabriclint.node import Mapping, Sequence

if TYPE_CHECKING:
    from fabriclint.group.refusals import Checked


def parallelism(c: Checked) -> Iterator[Refusal]:
    """A worker has a size to be one of; pipeline and data exclude each other, data and dataLocal go together."""
    spec = c.root.mapping("spec")
    for holder in (spec, spec.mapping("prefill")) if spec is not None else ():
        if holder is None or opened(holder.at("parallelism")):
            continue
        worker, sizes = holder.at("worker"), holder.mapping("parallelism")
        data, local, stages = (sizes.at(k) if sizes is not None else None for k in ("data", "dataLocal", "pipeline"))
        # Shipped configurations, named by baseRefs, may bring the sizes.
        based = spec is not None and spec.at("baseRefs") is not None
        if isinstance(worker, Mapping) and data is None and stages is None and not based:
            yield c.refusal(
                Place(worker, on_key=True),
                what="'worker' stands without the size of the group",
                edit="Write 'parallelism.pipeline', or 'data' and 'dataLocal'.",
            )
        elif data is not None and stages is not None and closed(data) and closed(stages):
            yield c.refusal(
                stages,
                what="parallelism has both 'pipeline' and 'data'",
                edit="Keep one of the two.",
            )
        elif (data is None) is not (local is None) and not based:
            there = data if data is not None else local
            if there is not None and closed(there):
                name, other = ("data", "dataLocal") if data is not None else ("dataLocal", "data")
                yield c.refusal(there, what=f"parallelism has '{name}' without '{other}'", edit=f"Write '{other}' too.")


def one_container(c: Checked) -> Iterator[Refusal]:
    """The worker of an inference service has one container."""
    listed = c.root.at("spec", "predictor", "workerSpec", "containers")
    if isinstance(listed, Sequence) and len(listed.items) > 1:
        yield c.refusal(Place(listed, on_key=True))

"""RUN: pods that wait for one another before all of them are made."""

from __future__ import annotations

from collections.abc import Iterator

from fabriclint.group import GroupView
from fabriclint.rule import Finding, Place, Related, Severity, rule


@rule("RUN020", "ordered-start", Severity.WARNING, on=GroupView)
def ordered_start(group: GroupView) -> Iterator[Finding]:
    """Pods that wait for each other are made at the same time.

    A StatefulSet makes its second pod when the first one is ready. If the first one runs rank 0 of an engine that is
    ready when all ranks are there, neither ever happens.

    Fix: `podManagementPolicy: Parallel`.

    Silent: Parallel; pods without a readiness or startup probe, or whose probe only opens a port or runs a command; start
    texts that name no other pod; one replica.

    Bad: rank 0 is ready when the engine answers (run-statefulset)
          spec:  # <-
            serviceName: engine
            replicas: 2
        -   podManagementPolicy: Parallel
    Bad: written out (run-statefulset)
        ~ podManagementPolicy: Parallel => podManagementPolicy: OrderedReady  # <-
    Bad: a startup probe (run-statefulset)
        ~ podManagementPolicy: Parallel => podManagementPolicy: OrderedReady  # <-
        ~ readinessProbe => startupProbe
    Good: all at once (run-statefulset)
        @@ kind: StatefulSet
    Good: ready as soon as it runs (run-statefulset)
        ~ podManagementPolicy: Parallel => podManagementPolicy: OrderedReady
        - readinessProbe:
        -   httpGet: {path: /health, port: 8000}
    Good: servers that do not know each other (run-statefulset)
        ~ podManagementPolicy: Parallel => podManagementPolicy: OrderedReady
        ~ [torchrun, --nnodes=2, --nproc-per-node=gpu, --rdzv-backend=c10d, "--rdzv-endpoint=engine-0.engine:29400", serve.py] => [python, serve.py]
    Source: kubernetes/api@3fde3c4 apps/v1 StatefulSetSpec podManagementPolicy
    """
    if group.ordered is None or group.suspended or not _named(group):
        return
    for role in group.ranks_on:
        if not isinstance(role.pods, int) or role.pods < 2:
            continue
        for container in role.pod.main_containers:
            for name in ("readinessProbe", "startupProbe"):
                probe = container.node.mapping(name)
                if probe is not None and (probe.at("httpGet") is not None or probe.at("grpc") is not None):
                    yield Finding(
                        group.ordered,
                        f"The pods are made one after the other and the first has a '{name}' that passes when all ranks "
                        "are there; the second pod is never made.",
                        "Write 'podManagementPolicy: Parallel'.",
                        related=(Related(Place(probe, on_key=True), "The probe."),),
                    )
                    return


def _named(group: GroupView) -> bool:
    """Whether the ranks are told of each other: a launcher for several nodes, at the name of one of the pods."""
    start, host = group.starting, group.rendezvous[0]
    if start is None or not isinstance(host, str) or group.knows(host) is False:
        return False
    low = start.launch.nodes.value
    low = low[0] if isinstance(low, tuple) else low
    return isinstance(low, int) and low > 1

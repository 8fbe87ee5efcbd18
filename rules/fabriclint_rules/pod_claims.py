"""POD020: every claim that a container uses is a claim of its pod."""

from __future__ import annotations

from collections.abc import Iterator

from fabriclint.node import Scalar, Sequence, open_value
from fabriclint.pod import PodView
from fabriclint.rule import Finding, Place, Severity, rule
from fabriclint.schema.suggest import nearest
from fabriclint_rules.attachment import merged_elsewhere


@rule("POD020", "claim-not-declared", Severity.ERROR, on=PodView)
def claim_not_declared(pod: PodView) -> Iterator[Finding]:
    """Every claim in a container's resources is named in the pod's resourceClaims.

    A claim is declared on the pod, with its template, and handed to containers by that name. The API server refuses a
    pod whose container names another. A Job, JobSet or TrainJob around it is admitted all the same: its pods never
    appear.

    Fix: declare the claim in the pod's `resourceClaims`, or write the name that stands there.

    Silent: names and lists that a template fills in, kinds whose containers do not stand in a pod spec.

    Bad: no claims on the pod (pod-jobset)
          resources:
        +   claims:
        +     - name: nics  # <-
    Bad: another name (pod-mpijob)
        @@ mpirun
        + resourceClaims:
        +   - name: nic
        +     resourceClaimTemplateName: one-nic
          containers:
        @@ worker
          resources:
        +   claims:
        +     - name: nics  # <-
    Bad: the task's claim stands in the other task (pod-volcano)
        + resourceClaims:
        +   - name: nics
        +     resourceClaimTemplateName: all-nics
          containers:
        @@ name: worker
          resources:
        +   claims:
        +     - name: nics  # <-
    Good: declared and used (pod-jobset)
        + resourceClaims:
        +   - name: nics
        +     resourceClaimTemplateName: all-nics
          containers:
        @@ command
          resources:
        +   claims:
        +     - name: nics
    Good: a network's claim needs no container (pod-mpijob)
        @@ mpirun
        + resourceClaims:
        +   - name: nic
        +     resourceClaimTemplateName: one-nic
          containers:
    Good: a name that a template fills in (pod-volcano)
        @@ name: worker
          resources:
        +   claims:
        +     - name: "{{ claim }}"
    Source: kubernetes/kubernetes@v1.35.2 pkg/apis/core/validation/validation.go validateResourceClaimNames.
    """
    if pod.site.form not in ("template", "podspec") or merged_elsewhere(pod):
        return
    declared = pod.spec.at("resourceClaims")
    if isinstance(declared, Scalar) and declared.value is not None:
        return
    if isinstance(declared, Sequence) and any(isinstance(i, Scalar) for i in declared.items):
        return
    if any(open_value(name) for name in pod.claim_names):
        return
    for container in pod.containers:
        for claim in container.claims:
            node = claim.scalar("name")
            if node is None or not isinstance(node.value, str) or node.open or node.value in pod.claim_names:
                continue
            meant = nearest(node.value, pod.claim_names)
            hint = f"Did you mean '{meant}'? Else declare" if meant is not None else "Declare"
            yield pod.finding(
                Place(node),
                f"The container '{container.name}' uses a claim '{node.value}' that the pod has not; the API server refuses "
                "the pod.",
                help=f"{hint} it in the pod's resourceClaims.",
                silences=("DEV006",),
            )

"""DEV005: the machines that a pod is sent to have the fabric that it is wired for."""

from __future__ import annotations

from collections.abc import Iterator

from fabriclint.pod import WorkerPod
from fabriclint.rule import Evidence, Finding, Place, Related, Severity, rule
from fabriclint.views import JobView
from fabriclint_rules.alike import once
from fabriclint_rules.attachment import family
from fabriclint_rules.ib_ranks import link, on_infiniband, rdma_variable
from fabriclint_rules.machines import lacks_fabric


@rule("DEV005", "fabric-absent-on-machine", Severity.WARNING, on=JobView, yields_to=("EFA002", "TCPXO027", "TCPX027"))
def fabric_absent_on_machine(job: JobView) -> Iterator[Finding]:
    """The machine type has the fabric that the pod asks for.

    On Azure the letter `r` behind the number of cores says that a size has RDMA: ND96isr has InfiniBand, ND96is and the NC
    sizes of today have none. There no node offers the device, and the variables do nothing.

    Fix: select a size with InfiniBand, or take the wiring out.

    Silent: machine types that are not known; one of several types that has it.

    Bad: a size without RDMA (ib-jobset)
        ~ Standard_ND96isr_H100_v5 => Standard_ND96is_H100_v5  # <-
    Bad: the variables alone on NC (dev-azure)
        @@ node.kubernetes.io/instance-type
        - operator: In
        + operator: In
        ~ Standard_ND96isr_H100_v5 => Standard_NC80adis_H100_v5  # <-
    Bad: another cloud's machines (ib-jobset)
        ~ Standard_ND96isr_H100_v5 => a3-megagpu-8g  # <-
    Good: one of the types has it (dev-azure)
        ~ [Standard_ND96isr_H100_v5] => [Standard_ND96isr_H100_v5, Standard_NC80adis_H100_v5]
    Good: a size that is not known (ib-jobset)
        ~ Standard_ND96isr_H100_v5 => Standard_ND300xr_v9
    Good: nothing of InfiniBand is asked (dev-azure)
        ~ Standard_ND96isr_H100_v5 => Standard_NC80adis_H100_v5
        ~ NCCL_IB_HCA => NCCL_DEBUG
        ~ mlx5 => WARN
        - rdma/hca_shared_devices_a: 1
    Source: Azure/aks-rdma-infiniband@700dabb website/docs/getting-started/02-prerequisites.md.
    """
    yield from once(job, _absent)


def _absent(pod: WorkerPod) -> Iterator[Finding]:
    if family(pod) not in ("", "IB") or link(pod) == "Ethernet":
        return
    machine = lacks_fabric(pod, "InfiniBand")
    if machine is None:
        return
    device: Evidence | None = None
    if on_infiniband(pod) and pod.fabric is not None:
        device = next((e for e in pod.fabric.evidence if e.signal.startswith("resource ")), None)
    variable = rdma_variable(pod) if pod.multi_node is True else None
    if device is not None:
        what, where = f"'{device.signal.removeprefix('resource ')}'", Place(device.node)
    elif variable is not None:
        what, where = f"'{variable.name}'", variable.place
    else:
        return
    then = "the pod stays pending" if device is not None else "the job runs over TCP"
    yield pod.finding(
        Place(machine),
        f"Machines of type '{machine.text}' have no InfiniBand, which {what} asks for; {then}.",
        help="Select a machine type with InfiniBand (on Azure an 'r' behind the number of cores), or take the wiring out.",
        related=(Related(where, "InfiniBand is asked for here."),),
    )

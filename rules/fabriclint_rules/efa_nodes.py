"""EFA: what objects of the cluster's side show of nodes that will not have it. Advice, as those are not the job's own files."""

from __future__ import annotations

from collections.abc import Iterator

from fabriclint.document import Manifest
from fabriclint.node import Mapping, Scalar
from fabriclint.pod import WorkerPod
from fabriclint.rule import Finding, Place, Related, Severity, rule
from fabriclint.views import JobView
from fabriclint_rules.alike import once
from fabriclint_rules.efa_pods import EFA, asks, machines
from fabriclint_schemas.eks import InstanceType, eks, instance

_PLUGIN = "aws-efa-k8s-device-plugin"
#: The first release that does not count p6-b200's other verbs devices.
_COUNTS_RIGHT = (0, 5, 10)
_TYPE_LABELS = ("node.kubernetes.io/instance-type", "beta.kubernetes.io/instance-type")


@rule("EFA014", "node-group", Severity.NOTE, on=Manifest)
def node_group(manifest: Manifest) -> Iterator[Finding]:
    """A node group of eksctl with EFA has a type with EFA, in one zone.

    eksctl refuses `efaEnabled` for a type without EFA, and puts the group's nodes, which must reach each other, into one
    zone and subnet only.

    Fix: name a type that has EFA, and one zone.
    Silent: groups without efaEnabled, types that the table does not know.
    Bad: two zones (whole; file=cluster.yaml)
        apiVersion: eksctl.io/v1alpha5
        kind: ClusterConfig
        metadata: {name: train, region: us-east-2}
        managedNodeGroups:
          - name: gpu
            instanceType: p5.48xlarge
            efaEnabled: true
            availabilityZones: [us-east-2a, us-east-2b] # <-
    Bad: a type without EFA (whole; file=cluster.yaml)
        apiVersion: eksctl.io/v1alpha5
        kind: ClusterConfig
        metadata: {name: train, region: us-east-2}
        nodeGroups:
          - name: gpu
            instanceType: g5.4xlarge # <-
            efaEnabled: true
    Good: one zone (whole; file=cluster.yaml)
        apiVersion: eksctl.io/v1alpha5
        kind: ClusterConfig
        metadata: {name: train, region: us-east-2}
        managedNodeGroups:
          - name: gpu
            instanceType: p5.48xlarge
            efaEnabled: true
            availabilityZones: [us-east-2a]
    Good: no EFA asked for (whole; file=cluster.yaml)
        apiVersion: eksctl.io/v1alpha5
        kind: ClusterConfig
        metadata: {name: train, region: us-east-2}
        nodeGroups:
          - name: cpu
            instanceType: g5.4xlarge
            availabilityZones: [us-east-2a, us-east-2b]
    Source: eksctl-io/eksctl@99984ad pkg/apis/eksctl.io/v1alpha5/validation.go, pkg/cfn/builder.
    """
    if manifest.group != "eksctl.io" or manifest.kind != "ClusterConfig":
        return
    for key in ("managedNodeGroups", "nodeGroups"):
        for group in manifest.root.mappings(key):
            enabled = group.scalar("efaEnabled")
            if enabled is None or enabled.value is not True:
                continue
            kind = group.scalar("instanceType")
            known = instance(kind.text) if kind is not None else None
            if kind is not None and known is not None and known.efa == 0:
                yield Finding(
                    Place(kind),
                    f"'{kind.text}' has no EFA, but the group sets 'efaEnabled'; eksctl refuses it.",
                    help="Name a type that has EFA, or remove efaEnabled.",
                )
            zones = group.sequence("availabilityZones")
            if zones is not None and len(zones.items) > 1:
                yield Finding(
                    Place(zones, on_key=True),
                    f"A group with 'efaEnabled' names {len(zones.items)} zones; EFA does not reach from one to another, and eksctl takes one alone.",
                    help="Name one zone.",
                )


@rule("EFA015", "device-plugin", Severity.NOTE, on=JobView, yields_to=("EFA002",))
def device_plugin(job: JobView) -> Iterator[Finding]:
    """The EFA device plugin and the node classes in view serve the machines that a job selects.

    The plugin runs on the instance types of its list alone: on a newer type no node offers the resource and pods stay
    pending. Old releases count two devices on p6-b200 that are no EFA. Karpenter cannot start a node with several
    network cards and a public address.

    Fix: update the plugin's chart; leave the public address out.
    Silent: machines that the job does not say, plugins and node classes that are not in view.
    Bad: a list without the type (whole)
        apiVersion: apps/v1
        kind: DaemonSet
        metadata: {name: efa, namespace: kube-system}
        spec:
          selector: {matchLabels: {app: efa}}
          template:
            metadata: {labels: {app: efa}}
            spec:
              affinity:
                nodeAffinity:
                  requiredDuringSchedulingIgnoredDuringExecution:
                    nodeSelectorTerms:
                      - matchExpressions:
                          - key: node.kubernetes.io/instance-type
                            operator: In
                            values: [p4d.24xlarge, p5.48xlarge] # <-
              containers:
                - name: plugin
                  image: registry.example/eks/aws-efa-k8s-device-plugin:v0.5.3
        ---
        apiVersion: batch/v1
        kind: Job
        metadata: {name: train}
        spec:
          completionMode: Indexed
          completions: 2
          parallelism: 2
          template:
            spec:
              restartPolicy: Never
              nodeSelector: {node.kubernetes.io/instance-type: p5en.48xlarge}
              containers:
                - name: main
                  image: registry.example/train:1
                  resources: {limits: {nvidia.com/gpu: 8, vpc.amazonaws.com/efa: 16}}
                  volumeMounts: [{name: dshm, mountPath: /dev/shm}]
              volumes: [{name: dshm, emptyDir: {medium: Memory}}]
    Bad: a node class with public addresses (whole)
        apiVersion: karpenter.k8s.aws/v1
        kind: EC2NodeClass
        metadata: {name: gpu}
        spec:
          associatePublicIPAddress: true # <-
        ---
        apiVersion: batch/v1
        kind: Job
        metadata: {name: train}
        spec:
          completionMode: Indexed
          completions: 2
          parallelism: 2
          template:
            spec:
              restartPolicy: Never
              nodeSelector: {karpenter.k8s.aws/instance-family: p5en}
              containers:
                - name: main
                  image: registry.example/train:1
                  resources: {limits: {nvidia.com/gpu: 8, vpc.amazonaws.com/efa: 16}}
                  volumeMounts: [{name: dshm, mountPath: /dev/shm}]
              volumes: [{name: dshm, emptyDir: {medium: Memory}}]
    Good: a job without the objects of the cluster in view (efa-lws)
        ~ value: WARN => value: VERSION
    Good: a plugin without a list (whole)
        apiVersion: apps/v1
        kind: DaemonSet
        metadata: {name: efa, namespace: kube-system}
        spec:
          selector: {matchLabels: {app: efa}}
          template:
            metadata: {labels: {app: efa}}
            spec:
              containers:
                - name: plugin
                  image: registry.example/eks/aws-efa-k8s-device-plugin:v0.5.13
        ---
        apiVersion: batch/v1
        kind: Job
        metadata: {name: train}
        spec:
          completionMode: Indexed
          completions: 2
          parallelism: 2
          template:
            spec:
              restartPolicy: Never
              nodeSelector: {node.kubernetes.io/instance-type: p6-b200.48xlarge}
              containers:
                - name: main
                  image: registry.example/train:1
                  resources: {limits: {nvidia.com/gpu: 8, vpc.amazonaws.com/efa: 8}}
                  volumeMounts: [{name: dshm, mountPath: /dev/shm}]
              volumes: [{name: dshm, emptyDir: {medium: Memory}}]
    Source: aws/eks-charts@5239609 stable/aws-efa-k8s-device-plugin; aws-samples/aws-do-eks#56;
        aws/sagemaker-hyperpod-cli#282; aws/karpenter-provider-aws#5666.
    """
    yield from once(job, _served)


def _served(pod: WorkerPod) -> Iterator[Finding]:
    worker = pod.worker
    admitted = machines(pod)
    if worker is None or admitted is None or not asks(worker):
        return
    for manifest in pod.lookup.of_kind(pod.workload, "DaemonSet"):
        spec = manifest.root.mapping("spec", "template", "spec")
        image = _plugin_image(spec) if spec is not None else None
        if spec is None or image is None:
            continue
        yield from _listed(pod, spec, admitted)
        yield from _release(pod, image, admitted)
    if min(t.efa for t in admitted) > 1 and any(label.startswith("karpenter.") for label, _, _ in pod.node_labels()):
        for manifest in pod.lookup.of_kind(pod.workload, "EC2NodeClass"):
            address = manifest.root.at("spec", "associatePublicIPAddress")
            if address is not None and address.true():
                yield pod.finding(
                    Place(address),
                    f"Karpenter gives the node a public address, which AWS refuses for one with several network cards; no '{admitted[0].name}' "
                    "starts.",
                    help="Remove associatePublicIPAddress.",
                    related=(Related(worker.missing("resources", "limits"), f"'{EFA}' is asked for here."),),
                )


def _plugin_image(spec: Mapping) -> Scalar | None:
    for container in spec.mappings("containers"):
        image = container.scalar("image")
        if image is not None and _PLUGIN in image.text:
            return image
    return None


def _listed(pod: WorkerPod, spec: Mapping, admitted: tuple[InstanceType, ...]) -> Iterator[Finding]:
    terms = spec.mappings(
        "affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution", "nodeSelectorTerms"
    )
    for term in terms:
        for expression in term.mappings("matchExpressions"):
            values = expression.sequence("values")
            if expression.string("key") not in _TYPE_LABELS or expression.string("operator") != "In" or values is None:
                continue
            served = {v.text for v in values.items if isinstance(v, Scalar)}
            missing = next((t for t in admitted if t.name not in served), None)
            if missing is not None and all(t.name not in served for t in admitted):
                yield pod.finding(
                    Place(values, on_key=True),
                    f"The EFA device plugin's list lacks '{missing.name}'; it does not run there, no node offers '{EFA}', and the job's pods "
                    "stay Pending.",
                    help=f"Update the plugin's chart, or add '{missing.name}'.",
                )
                return


def _release(pod: WorkerPod, image: Scalar, admitted: tuple[InstanceType, ...]) -> Iterator[Finding]:
    tag = image.text.rpartition(":")[2].removeprefix("v").split("-")[0].split(".")
    if len(tag) < 3 or not all(part.isdigit() for part in tag[:3]):
        return
    release = (int(tag[0]), int(tag[1]), int(tag[2]))
    foreign = next((t for t in admitted if t.name in eks()["foreign verbs devices"]), None)
    if foreign is not None and release < _COUNTS_RIGHT:
        yield pod.finding(
            Place(image),
            f"EFA device plugins before 0.5.10 count two devices of '{foreign.name}' that are no EFA, and may give them to a pod.",
            help="Update the plugin's chart.",
        )

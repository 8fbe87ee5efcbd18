"""Files that are not meant to be applied as they stand: sketches with placeholders, and templates for envsubst."""

from __future__ import annotations

from test_families import report

SKETCH = """\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainingRuntime
metadata:
  name: sketch
  labels:
    trainer.kubeflow.org/framework: torch
spec:
  mlPolicy: {numNodes: 2, torch: {}}
  template:
    spec:
      replicatedJobs:
      - name: node
        template:
          metadata:
            labels:
              trainer.kubeflow.org/trainjob-ancestor-step: trainer
          spec:
            template:
              metadata:
                annotations:
                  devices.gke.io/container.tcpxo-daemon: "<the device list>"
                  networking.gke.io/default-interface: eth0
                  networking.gke.io/interfaces: "<nine entries as JSON>"
              spec:
                nodeSelector: "<from your bundle>"
                tolerations: "<from your bundle>"
                initContainers:
                - name: tcpxo-daemon
                  restartPolicy: Always
                  image: "<registry>/tcpgpudmarxd-dev:<the tag of your plugin>"
                  args: "<from the page>"
                containers:
                - name: node
                  image: <your image>
                  resources:
                    limits: {nvidia.com/gpu: 8}
                  env: "<with the directory>"
                  securityContext: "<the capability>"
                volumes: "<five of them>"
"""

SUBSTITUTED = """\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainingRuntime
metadata:
  name: measure
  namespace: ${NAMESPACE}
spec:
  mlPolicy: {numNodes: 2, torch: {}}
  template:
    spec:
      replicatedJobs:
      - name: node
        template:
          metadata:
            labels:
              trainer.kubeflow.org/trainjob-ancestor-step: trainer
          spec:
            parallelism: ${NODES}
            template:
              metadata:
                annotations:
                  networking.gke.io/default-interface: eth0
                  networking.gke.io/interfaces: '${INTERFACES}'
                  devices.gke.io/container.tcpxo-daemon: ${DEVICES}
              spec:
                nodeSelector: ${SELECTOR}
                initContainers:
                - name: tcpxo-daemon
                  restartPolicy: Always
                  image: ${DAEMON_IMAGE}
                  args: ${DAEMON_ARGS}
                containers:
                - name: node
                  image: ${IMAGE}
                  resources:
                    limits: {nvidia.com/gpu: "${GPUS}"}
                  env: ${ENV}
                  securityContext: ${SECURITY}
                volumes: ${VOLUMES}
"""


def test_a_sketch_gives_one_finding_for_each_placeholder_at_its_line_and_nothing_else() -> None:
    made = report(SKETCH)
    loud = [(f.code, f.region.line) for f in made.findings if f.severity != "note"]
    expected = [("DOC003", n) for n, line in enumerate(SKETCH.split("\n"), 1) if "<" in line]
    assert len(expected) == 10
    assert loud == expected


def test_values_for_envsubst_are_noted_and_never_guilty() -> None:
    made = report(SUBSTITUTED)
    assert [f for f in made.findings if f.severity != "note"] == []
    assert "DOC004" in {f.code for f in made.findings}


def test_a_file_that_is_a_manifest_only_after_substitution_is_skipped_with_a_notification() -> None:
    text = SUBSTITUTED.replace("spec:\n  mlPolicy", "spec:\n  ${POLICY_BLOCK}\n  mlPolicy", 1)
    made = report(text)
    assert [f for f in made.findings if f.severity == "error"] == []
    assert any(n.path == "job.yaml" for n in made.notifications)

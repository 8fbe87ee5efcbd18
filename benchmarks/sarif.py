"""How long 5,000 results take to become SARIF, in multiples of writing as many plain dicts and of a bare Python."""

from __future__ import annotations

import gc
import json
import subprocess
import sys
import time

from fabriclint.__main__ import _GARBAGE as GARBAGE
from fabriclint.report import render
from fabriclint.report.model import (
    Edit,
    ObjectRef,
    Region,
    RelatedPlace,
    Report,
    ReportedFinding,
    ReportedFix,
    RuleInfo,
    Summary,
    ToolInfo,
)

RESULTS = 5_000
FILES = 500
ROUNDS = 5


def report() -> Report:
    """Findings in many files, some with related places and fixes."""
    source = "".join(f"  key{n}: value of some length, as lines have it\n" for n in range(120))
    rules = tuple(
        RuleInfo(f"FAB{n:03}", f"rule-{n}", "A summary.", "A description.", "Help.", "Help.", "error", None, "c", ("t",), "high", "https://example.org/r")
        for n in range(60)
    )  # fmt: skip
    findings = []
    for n in range(RESULTS):
        region = Region(f"k8s/team {n % FILES % 7}/job-{n % FILES}.yaml", n % 110 + 1, 3, n % 110 + 1, 7)
        related = (RelatedPlace(region, "The value stands here."),) if n % 3 == 0 else ()
        fix = ReportedFix("safe", "add it", (Edit(region, "text"),)) if n % 5 == 0 else None
        findings.append(
            ReportedFinding(
                f"FAB{n % 60:03}", "rule", "error", "A message that says what is wrong with 'this value'; it falls back.",
                "Write 'that value'.", "https://example.org/r", region, ObjectRef("v1", "Pod", "space", f"pod-{n}"),
                f"/spec/containers/{n % 4}/env", "gke-tcpxo", f"{n:032x}", related, fix,
            )
        )  # fmt: skip
    sources = {f"k8s/team {n % FILES % 7}/job-{n % FILES}.yaml": source for n in range(RESULTS)}
    return Report(
        ToolInfo("fabriclint", "0.0.0", "https://example.org"), tuple(findings), (), rules, Summary(), sources
    )


def best(call: object, rounds: int = ROUNDS) -> float:
    """The shortest of some runs, in seconds."""
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        call()  # type: ignore[operator]
        times.append(time.perf_counter() - start)
    return min(times)


def main() -> None:
    """Print the ratios."""
    gc.set_threshold(GARBAGE)
    made = report()
    text = render("sarif", made)
    plain = json.loads(text)
    sarif = best(lambda: render("sarif", made))
    dumped = best(lambda: json.dumps(plain, ensure_ascii=False, indent=1))
    bare = best(lambda: subprocess.run([sys.executable, "-c", "pass"], check=True))
    print(f"sarif of {RESULTS} results, {len(text) / 1e6:.1f} MB: {sarif:.3f} s")
    print(f"  {sarif / dumped:.1f} x json.dumps of the same data")
    print(f"  {sarif / bare:.1f} x a bare Python")


if __name__ == "__main__":
    main()

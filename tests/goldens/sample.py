"""One report with everything in it: all severities, related and embedded places, fixes, suppressed and accepted findings."""

from __future__ import annotations

from dataclasses import replace

from fabriclint.report.model import (
    Edit,
    Notification,
    ObjectRef,
    Region,
    RelatedPlace,
    Report,
    ReportedFinding,
    ReportedFix,
    ReportOptions,
    RuleInfo,
    Summary,
    Suppression,
    ToolInfo,
)

RUNTIME = """\
kind: TrainingRuntime
metadata:
  name: torch
spec:
  numNodes: 2
"""
JOB = (
    "kind: TrainJob\n"
    "metadata:\n"
    "\tname: größe 日本 😀  # a tab, wide characters\n"
    "spec:\n"
    "  interfaces: |\n"
    '    [{"interfaceName": "eth0", "network": "default"},\n'
    '     {"interfaceName": "eth1", "network": "network.networking.gke.io/gpu-nic-0"}]\n'
    "  env: [{name: A, value: 1}]\n"
    "  image: <image>\n"
    "  long: " + "x" * 200 + "\n"
).replace("\n", "\r\n")
CLEAN = "kind: Service\n"

TORCH = ObjectRef("trainer.kubeflow.org/v1alpha1", "TrainingRuntime", None, "torch")
TUNE = ObjectRef("trainer.kubeflow.org/v1alpha1", "TrainJob", "ml", "tune")
ODD = "jobs & co/tune: 50%,[a].yaml"


def _rule(code: str, name: str, severity: str, fabric: str | None = None) -> RuleInfo:
    url = f"https://fabriclint.dev/rules/{code}"
    said = f"What {code} wants."
    tags = tuple(t for t in (code[:-3].lower(), fabric) if t)
    return RuleInfo(
        code, name, said, f"{said} And why.", f"{said} Fix: mend it.", f"{said}\n\n```yaml\na: b\n```\n", severity, fabric,
        "correctness", tags, "high" if severity == "error" else "medium", url,
    )  # fmt: skip


RULES = (
    _rule("DOC003", "unfilled-placeholder", "error"),
    _rule("DOC008", "env-value-not-string", "error"),
    _rule("POD012", "long-line", "warning"),
    _rule("SUP003", "unused-suppression", "warning"),
    _rule("TCPXO005", "network-name-form", "error", "gke-tcpxo"),
    _rule("TRN005", "missing-ipc-lock", "warning"),
    _rule("TRN021", "advice", "note"),
)


def _finding(code: str, region: Region, message: str, **more: object) -> ReportedFinding:
    rule = next(r for r in RULES if r.code == code)
    number = f"{abs(hash_of(code + message)):032x}"
    made = ReportedFinding(
        code, rule.name, rule.severity, message, "", rule.url, region, TUNE, "/spec", rule.fabric, number
    )
    return replace(made, **more)  # type: ignore[arg-type]


def hash_of(text: str) -> int:
    """A number for a text that is the same in every run."""
    value = 7
    for character in text:
        value = (value * 31 + ord(character)) % (1 << 126)
    return value


def report() -> Report:
    """The sample."""
    runtime, other = "runtime.yaml", "clean.yaml"
    findings = (
        _finding(
            "TCPXO005", Region(ODD, 7, 44, 7, 79),
            "'network.networking.gke.io/gpu-nic-0' is not a network's bare name; GKE finds no network of that name.",
            help="Write 'gpu-nic-0'.", pointer="/spec/interfaces",
            fix=ReportedFix("safe", "remove the prefix", (Edit(Region(ODD, 7, 44, 7, 70), ""),)),
        ),
        _finding(
            "DOC008", Region(ODD, 8, 26, 8, 27),
            "The value of the variable 'A' is a number ('1'), and Kubernetes takes only strings there: 100% refused.",
            help='Write "1" in quotes.', pointer="/spec/env/0/value",
            fix=ReportedFix("safe", "quote 1", (Edit(Region(ODD, 8, 26, 8, 27), '"1"'),)),
        ),
        _finding(
            "DOC003", Region(ODD, 9, 10, 9, 17), "The placeholder '<image>' is not filled in; the [image] is not pulled.",
            help="Put the image there.", pointer="/spec/image",
            related=(
                RelatedPlace(Region(runtime, 5, 13, 5, 14), "The runtime gives '2' nodes."),
                RelatedPlace(Region(ODD, 3, 2, 3, 6), "The job [tune] stands here."),
            ),
            fix=ReportedFix("unsafe", "remove the image", (), "an alias uses the place too, and would change with it"),
        ),
        _finding("POD012", Region(ODD, 10, 9, 10, 209), "The value is 200 characters long.", pointer="/spec/long"),
        _finding("TRN021", Region(ODD, 1, 1, 1, 5), "The image was not seen.", pointer=""),
        _finding(
            "TRN005", Region(runtime, 3, 9, 3, 14), "The runtime 'torch' lacks a label; the job runs without its fabric.",
            help="Add the label. This holds by the contract of Kubeflow Trainer's kinds.", object=TORCH, pointer="/metadata/name",
            fix=ReportedFix(
                "unsafe", "add the label",
                (Edit(Region(runtime, 3, 14, 3, 14), "\n  labels:\n    step: trainer"),
                 Edit(Region(runtime, 5, 13, 5, 14), "4")),
            ),
        ),
        _finding(
            "POD012", Region(runtime, 4, 1, 4, 5), "The value is short.", object=TORCH, pointer="/spec",
            suppressed=Suppression("inSource", "waiting for #12"),
        ),
        _finding(
            "TRN005", Region(runtime, 5, 3, 5, 11), "The runtime 'torch' has 2 nodes.", object=TORCH, pointer="/spec/numNodes",
            severity="error", suppressed=Suppression("external", "from before fabriclint"),
        ),
        _finding(
            "SUP003", Region(runtime, 5, 3, 5, 14), "Nothing here is suppressed by 'POD003'; remove it.", object=None, pointer="",
        ),
    )  # fmt: skip
    notes = (
        Notification("warning", "unresolved-reference", ODD, "'shared' is two objects; none was taken.", 4),
        Notification("note", "skipped-template", "charts/t.yaml", "This file is a template [of Helm]."),
    )
    return Report(
        ToolInfo("fabriclint", "1.2.3", "https://fabriclint.dev"),
        findings,
        notes,
        RULES,
        Summary(files=4, documents=5, workloads=2, errors=3, warnings=3, notes=1, suppressed=1, baselined=1),
        {ODD: JOB, runtime: RUNTIME, other: CLEAN},
        ReportOptions(uri_prefix="deploy/", exit_code=1, footer=("Not seen: 1 image.",)),
    )

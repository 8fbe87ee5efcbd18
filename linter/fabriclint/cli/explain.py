"""`fabriclint explain`: what was seen of each workload, as text or JSON."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from fabriclint.cli.said import complain, say
from fabriclint.config import ConfigError
from fabriclint.explain import Explained, RoleSeen, explain
from fabriclint.locate import Region
from fabriclint.one_line import one_line

if TYPE_CHECKING:
    from fabriclint.config import Settings
    from fabriclint.discover import Found
    from fabriclint.engine import Lint
    from fabriclint.report.model import Report
    from fabriclint.rule import Pack


def run(
    paths: list[str],
    *,
    output_format: str,
    config: str | None,
    isolated: bool,
    trainer_version: str | None,
) -> int:
    """Explain the workloads of the paths; 0, or 2 when a file cannot be read or an option cannot be used."""
    from fabriclint.cli.check import Options, UsageError, _groups, _standard_input

    options = Options(paths=tuple(paths), config=config, isolated=isolated, trainer_version=trainer_version)
    made: list[Explained] = []
    failed = False
    try:
        if output_format not in ("text", "json"):
            raise UsageError(f"--output-format is text or json, not '{output_format}'.")
        stdin = ("stdin", _standard_input()) if "-" in paths else None
        groups = [g for g in _groups(options) if g[1]] or _groups(options)[:1]
        for settings, found in groups:
            explained, broken = _explained(found, settings, stdin)
            stdin = None
            made.extend(explained)
            failed = failed or broken
    except (UsageError, ConfigError) as error:
        complain(error)
        return 2
    sys.stdout.write(as_json(made) if output_format == "json" else as_text(made))
    if not made and not failed:
        complain("no workload was found here; only objects that carry pods are explained.")
    return 2 if failed else 0


def _explained(found: list[Found], settings: Settings, stdin: tuple[str, bytes] | None) -> tuple[list[Explained], bool]:
    from fabriclint.assemble import assemble
    from fabriclint.engine import lint
    from fabriclint.packs import pack_of
    from fabriclint.report.model import ReportOptions

    errors: list[str] = []

    def judged(pack: Pack) -> Lint:
        done = lint(found, settings, stdin=stdin, pack=pack)
        errors.extend(f"{n.path or 'fabriclint'}: error: {n.message}" for n in done.notes if n.level == "error")
        return done

    def reported(done: Lint) -> Report:
        # At the lines of the stream: what is asked here is which rules fired, not where a template says the same.
        return assemble(done, replace(settings, isolated=True), ReportOptions())

    made = explain(judged, pack_of(settings.packs), settings, reported)
    for line in errors:
        say(line)
    return made, bool(errors)


# --- JSON -----------------------------------------------------------------------------------------------------------


def as_json(made: list[Explained]) -> str:
    """The contract of `explain -o json`, version 1."""
    return json.dumps({"version": 1, "workloads": [_workload(e) for e in made]}, indent=2, ensure_ascii=False) + "\n"


def _workload(e: Explained) -> dict[str, Any]:
    launch = e.launch
    return {
        "object": {
            "apiVersion": e.manifest.api_version,
            "kind": e.manifest.kind,
            "namespace": e.manifest.namespace,
            "name": e.manifest.name,
        },
        "path": e.where.uri,
        "line": e.where.line,
        "fabric": e.fabric.name if e.fabric is not None else None,
        "declared": e.fabric.declared if e.fabric is not None else False,
        "contract": e.contract,
        "evidence": [{"path": r.uri, "line": r.line, "signal": signal} for r, signal in e.evidence],
        **_totals(e),
        "lost": [{"resource": n, "amount": a, "path": r.uri, "line": r.line} for n, a, r in e.lost],
        "groups": [_group(role) for role in e.groups],
        "launch": None
        if launch is None
        else {
            "program": launch.program,
            "nodes": launch.nodes,
            "processes_per_node": launch.processes_per_node,
            "rendezvous": launch.rendezvous,
            "forwarded": launch.forwarded,
        },
        "unknown": [
            {
                "what": u.what,
                "why": u.why,
                "path": u.where.uri if u.where is not None else e.where.uri,
                "line": u.where.line if u.where is not None else e.where.line,
            }
            for u in e.unknown
        ],
        "rules": {
            "fired": e.fired,
            "passed": e.passed,
            "not_applicable": e.not_applicable,
            "could_not_judge": [{"code": code, "why": why} for code, why in e.could_not_judge],
            "silent": [{"code": code, "why": why} for code, why in e.silent],
        },
    }


def _number(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _totals(e: Explained) -> dict[str, Any]:
    group = e.group
    if group is None:
        return {"nodes": None, "gpus": None, "ranks": None, "multi_node": None}
    multi = group.multi_node
    return {
        "nodes": _number(group.nodes),
        "gpus": _number(group.gpus),
        "ranks": _number(group.ranks),
        "multi_node": multi if isinstance(multi, bool) else None,
    }


def _group(role: RoleSeen) -> dict[str, Any]:
    return {
        "role": role.role,
        "name": role.name,
        "pods": role.pods,
        "gpus": role.gpus,
        "devices": role.devices,
        "hosts": role.hosts,
        "environment": role.environment,
        "injected": role.injected,
        "empty": role.empty,
        "replaced": {name: {"file": own, "controller": theirs} for name, (own, theirs) in role.replaced.items()},
    }


# --- text -----------------------------------------------------------------------------------------------------------

_WIDTH = 12


def as_text(made: list[Explained]) -> str:
    """The same for reading, one block a workload."""
    return "\n".join("\n".join(one_line(row) for row in _block(e)) + "\n" for e in made)


def _block(e: Explained) -> list[str]:
    m = e.manifest
    name = f"{m.namespace}/{m.name}" if m.namespace else (m.name or "(no name)")
    lines = [f"{e.where.uri}:{e.where.line} {m.kind} {name}"]
    if e.through:
        lines += _rows("judged", [f"through the TrainJobs that use it: {', '.join(e.through)}"])
        return [*lines, *_rows("contract", [e.contract]), *_rows("rules", _rules(e))]
    lines += _rows("fabric", _fabric(e))
    lines += _rows("contract", [e.contract])
    if e.runtime is not None:
        lines += _rows("runtime", [e.runtime])
    lines += _rows("job", [_job(e)])
    lines += _rows("lost", [f"{name} {amount}, which the runtime has{_at(at, e)}" for name, amount, at in e.lost])
    lines += _rows("groups", [_role_line(r) for r in e.groups])
    lines += _rows("rendezvous", [_rendezvous(e)])
    lines += _rows("launch", [_launch(e)])
    lines += _rows("environment", list(_environment(e)))
    first = {(u.what, u.why): u for u in reversed(e.unknown)}
    lines += _rows("not seen", [f"{u.what}: {u.why}{_at(u.where, e)}" for u in e.unknown if first[u.what, u.why] is u])
    lines += _rows("rules", _rules(e))
    return lines


def _rows(title: str, rows: list[str]) -> list[str]:
    shown = [r for r in rows if r]
    return [f"  {title if i == 0 else '':<{_WIDTH}}{row}" for i, row in enumerate(shown)]


def _at(where: Region | None, e: Explained) -> str:
    if where is None:
        return ""
    return f" (line {where.line})" if where.uri == e.where.uri else f" ({where.uri}:{where.line})"


def _fabric(e: Explained) -> list[str]:
    if e.fabric is None:
        return ["none: nothing in the pods points to one"]
    rows = [f"{e.fabric.name} ({'declared' if e.fabric.declared else 'inferred'})"]
    rows += [f"by {signal}{_at(region, e)}" for region, signal in e.evidence]
    rows += [f"also seen: {name}, by {evidence.signal}" for name, evidence in e.fabric.rivals]
    return rows


def _count(value: object, one: str, many: str) -> str:
    number = _number(value)
    return f"an unknown number of {many}" if number is None else f"{number} {one if number == 1 else many}"


def _job(e: Explained) -> str:
    group = e.group
    if group is None or not group.roles:
        return ""
    if group.suspended:
        return "suspended: no pods until it is resumed"
    nodes, each, gpus, ranks = group.nodes, group.gpus_per_node, group.gpus, group.ranks
    text = _count(nodes, "node", "nodes")
    if _number(each) is not None and each:
        text += f" x {_count(each, 'GPU', 'GPUs')}"
        if _number(gpus) is not None:
            text += f" = {_count(gpus, 'GPU', 'GPUs')}"
    elif each == 0:
        text += "" if any(r.pod.is_worker for r in group.ranks_on) else ", no GPUs"
    elif each is None:
        text += f", {_count(gpus, 'GPU', 'GPUs')} (not the same number on each)"
    elif _number(each) is None:
        text += ", an unknown number of GPUs"
    if _number(ranks) is not None:
        text += f"; {_count(ranks, 'rank', 'ranks')}"
    copies = {_number(r.copies) for r in group.roles if r.pod.site.pods is not None}
    # Parts that are served in different numbers are told apart by the lines of the groups.
    if len(copies) == 1 and copies != {1}:
        text += f"; {_count(copies.pop(), 'such group', 'such groups')}"
    return text


def _title(role: RoleSeen) -> str:
    """The role as the controller labels it, with the file's own name where that says more."""
    same = role.name.lower() in (role.role.lower(), "worker")
    return role.role if same else f"{role.role} '{role.name}'"


def _role_line(role: RoleSeen) -> str:
    title = _title(role)
    parts = ["independent pods" if role.alone else _count(role.pods, "pod", "pods")]
    if role.hosts:
        parts.append(" .. ".join(dict.fromkeys(role.hosts)) + (" .." if role.pods is None else ""))
    if role.gpus is None or role.gpus:
        parts.append(_count(role.gpus, "GPU", "GPUs"))
    parts += [f"{name} {'?' if amount is None else amount}" for name, amount in role.devices.items()]
    return f"{title}: {', '.join(parts)}"


def _rendezvous(e: Explained) -> str:
    group = e.group
    if group is None:
        return ""
    where = e.launch.rendezvous if e.launch is not None else None
    if where is None and e.rendezvous_by is not None:
        host, port = group.rendezvous
        where = f"{host}:{port}" if isinstance(port, str) else str(host)
    if where is not None:
        return f"{where} ({'said' if e.rendezvous_by == 'the command' else 'set'} by {e.rendezvous_by})"
    if group.own_rendezvous:
        return f"by {group.maker}; no address is asked of the file"
    if group.multi_node is False:
        return ""
    host, _ = group.rendezvous
    named = next((n for n in group.address for r in group.ranks_on if n in r.injected), None)
    from fabriclint.group.started import WITHOUT_ADDRESS

    if e.launch is not None and e.launch.program in WITHOUT_ADDRESS:
        named = None
    if host is None and named is not None:
        return f"in {named} (set by {group.maker}, another one in each group)"
    if host is None:
        return "no address is said in the file"
    known = "at an address that is known only at run time"
    return known if named is None else f"{known}, in {named} (set by {group.maker})"


def _launch(e: Explained) -> str:
    launch = e.launch
    if launch is None:
        return ""
    each = "an unknown number of" if launch.processes_per_node is None else str(launch.processes_per_node)
    nodes = "an unknown number of nodes" if launch.nodes is None else _count(launch.nodes, "node", "nodes")
    text = f"{launch.program}: {nodes}, {each} process{'' if launch.processes_per_node == 1 else 'es'} on each"
    if launch.forwarded:
        text += f"; forwarded to the ranks: {', '.join(launch.forwarded)}"
    return text


def _environment(e: Explained) -> list[str]:
    group = e.group
    rows: list[str] = []
    for role in e.groups:
        made = []
        for name in role.injected:
            value = role.replaced[name][1] if name in role.replaced else role.environment.get(name)
            made.append(f"{name}={value}" if value is not None else (f"{name}=''" if name in role.empty else name))
        if made and group is not None:
            rows.append(f"{_title(role)}, set by {group.maker}: {' '.join(made)}")
        for name, (own, theirs) in role.replaced.items():
            shown = "a value of its own" if theirs is None else f"'{theirs}'"
            said = f" ('{own}')" if own is not None else ""
            rows.append(f"{_title(role)}: {name} of the file{said} gives way to {shown}")
    if group is not None and group.ssh:
        rows.append("sshd starts the ranks: they see what the launcher forwards, not their pods' own env")
    return rows


def _ranges(codes: list[str]) -> list[str]:
    """Sorted codes with those that follow each other drawn together: `RUN001-RUN004`."""
    runs: list[list[str]] = []
    for code in codes:
        last = runs[-1][-1] if runs else ""
        numbers = last[-3:].isdecimal() and code[-3:].isdecimal()
        follows = numbers and last[:-3] == code[:-3] and int(last[-3:]) + 1 == int(code[-3:])
        if follows:
            runs[-1].append(code)
        else:
            runs.append([code])
    return [run[0] if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs]


def _rules(e: Explained) -> list[str]:
    rows = [f"{len(e.fired)} fired: {', '.join(e.fired)}" if e.fired else "none fired"]
    rows.append(f"{len(e.passed)} passed: {', '.join(_ranges(e.passed))}" if e.passed else "none passed")
    rows += [f"could not judge: {code} ({why})" for code, why in e.could_not_judge]
    rows += [f"silent: {code} ({why})" for code, why in e.silent]
    if e.not_applicable:
        families: dict[str, int] = {}
        for code in e.not_applicable:
            families[code.rstrip("0123456789")] = families.get(code.rstrip("0123456789"), 0) + 1
        rows.append(f"{len(e.not_applicable)} not applicable: {', '.join(f'{n} of {f}' for f, n in families.items())}")
    return rows

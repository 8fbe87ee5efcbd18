"""`fabriclint rule` and `fabriclint rules`: the documentation of the rules."""

from __future__ import annotations

import difflib
import json
import sys

from fabriclint.cli.said import complain


def show_rule(code: str) -> int:
    """Print one rule's page; 2 with a suggestion when there is none."""
    from fabriclint.engine import builtin_pack
    from fabriclint.rule_page import text_page

    rules = {r.code: r for r in builtin_pack().load()}
    by_name = {r.name: r for r in rules.values()}
    found = rules.get(code.upper()) or by_name.get(code)
    if found is None:
        near = difflib.get_close_matches(code.upper(), list(rules), 1)
        complain(f"There is no rule '{code}'" + (f"; did you mean '{near[0]}'?" if near else "."))
        return 2
    sys.stdout.write(text_page(found))
    return 0


def show_rules(output_format: str) -> int:
    """Print the table."""
    from fabriclint.engine import builtin_pack

    rules = sorted(builtin_pack().load(), key=lambda r: r.code)
    if output_format == "json":
        rows = [
            {
                "code": r.code,
                "name": r.name,
                "severity": r.severity.value,
                "summary": r.summary,
                "fabrics": list(r.fabrics),
            }
            for r in rules
        ]
        sys.stdout.write(json.dumps(rows, indent=2, ensure_ascii=False) + "\n")
    elif output_format == "markdown":
        sys.stdout.write("| code | name | severity | says |\n|---|---|---|---|\n")
        for r in rules:
            sys.stdout.write(f"| {r.code} | {r.name} | {r.severity.value} | {r.summary.replace('|', '/')} |\n")
    elif output_format == "text":
        for r in rules:
            sys.stdout.write(f"{r.code:<9} {r.severity.value:<8} {r.name:<34} {r.summary}\n")
    else:
        complain(f"--output-format is text, json or markdown, not '{output_format}'.")
        return 2
    return 0

"""`fabriclint rule` and `fabriclint rules`: the documentation of the rules."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

from fabriclint.cli.said import complain

if TYPE_CHECKING:
    from fabriclint.rule import Rule


def _rules() -> list[Rule]:
    """The built-in rules and those of the packs that the configuration here names, in code order.

    Raises ConfigError.
    """
    from pathlib import Path

    from fabriclint.config import Settings, find_config, load_config
    from fabriclint.packs import pack_of

    config = find_config(Path.cwd())
    settings = load_config(config) if config is not None else Settings()
    return sorted(pack_of(settings.packs).load(), key=lambda r: r.code)


def show_rule(code: str) -> int:
    """Print one rule's page; 2 with a suggestion when there is none."""
    from fabriclint.config import ConfigError
    from fabriclint.rule_page import text_page

    try:
        rules = {r.code: r for r in _rules()}
    except ConfigError as error:
        complain(error)
        return 2
    by_name = {r.name: r for r in rules.values()}
    found = rules.get(code.upper()) or by_name.get(code)
    if found is None:
        family = [r.code for r in rules.values() if r.family == code.upper()]
        if family:
            complain(f"'{code}' is a family of {len(family)} rules: {', '.join(family)}; name one of them.")
            return 2
        from fabriclint.schema.suggest import hint

        known = [*rules, *by_name]
        meant = hint(code if code in by_name or "-" in code else code.upper(), known, "; 'fabriclint rules' lists all.")
        complain(f"There is no rule '{code}'{meant}")
        return 2
    sys.stdout.write(text_page(found))
    return 0


def show_rules(output_format: str) -> int:
    """Print the table."""
    from fabriclint.config import ConfigError

    try:
        rules = _rules()
    except ConfigError as error:
        complain(error)
        return 2
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

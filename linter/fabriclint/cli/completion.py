"""`fabriclint completion SHELL`: a completion script that starts no program at each TAB."""

from __future__ import annotations

import sys
from typing import Any

from fabriclint.cli.said import complain

SHELLS = ("bash", "zsh", "fish")


def _commands() -> dict[str, list[str]]:
    """Commands (`baseline create` too) and their options, from the application itself."""
    import typer.main

    from fabriclint.cli.app import app

    out: dict[str, list[str]] = {}

    def walk(command: Any, name: str) -> None:
        inner = getattr(command, "commands", None)
        if inner:
            for key, child in inner.items():
                walk(child, f"{name} {key}".strip())
            return
        options = [o for p in command.params for o in getattr(p, "opts", []) if o.startswith("-")]
        out[name] = sorted({*options, "--help"})

    walk(typer.main.get_command(app), "")
    return out


def _first_words(commands: dict[str, list[str]]) -> list[str]:
    return sorted({name.split()[0] for name in commands})


def _bash(commands: dict[str, list[str]]) -> str:
    cases = []
    for name, options in sorted(commands.items()):
        cases.append(f'        "{name}") words="{" ".join(options)}" ;;')
    groups: dict[str, list[str]] = {}
    for name in commands:
        first, _, second = name.partition(" ")
        if second:
            groups.setdefault(first, []).append(second)
    for first, inner in sorted(groups.items()):
        cases.append(f'        "{first}"|"{first} "*) words="{" ".join(sorted(inner))}" ;;')
    listed = "\n".join(cases)
    return f"""_fabriclint() {{
    local word="${{COMP_WORDS[COMP_CWORD]}}" first="${{COMP_WORDS[1]}}" second="${{COMP_WORDS[2]}}" words=""
    if [ "$COMP_CWORD" -eq 1 ]; then
        COMPREPLY=($(compgen -W "{" ".join(_first_words(commands))} --version --help" -- "$word"))
        return
    fi
    case "$first" in
        {"|".join(sorted(groups)) or "-"}) [ "$COMP_CWORD" -gt 2 ] && first="$first $second" ;;
    esac
    case "$first" in
{listed}
    esac
    COMPREPLY=($(compgen -W "$words" -- "$word"))
    case "$word" in -*) ;; *) COMPREPLY+=($(compgen -f -- "$word")) ;; esac
}}
complete -o filenames -F _fabriclint fabriclint
"""


def _fish(commands: dict[str, list[str]]) -> str:
    lines = [
        f"complete -c fabriclint -n __fish_use_subcommand -a '{' '.join(_first_words(commands))}' -f",
    ]
    for name, options in sorted(commands.items()):
        words = name.split()
        when = "; and ".join(f"__fish_seen_subcommand_from {w}" for w in words)
        if len(words) == 2:
            lines.append(f"complete -c fabriclint -n '__fish_seen_subcommand_from {words[0]}' -a {words[1]}")
        for option in options:
            form = f"-l {option[2:]}" if option.startswith("--") else f"-s {option[1:]}"
            lines.append(f"complete -c fabriclint -n '{when}' {form}")
    return "\n".join(dict.fromkeys(lines)) + "\n"


def run(shell: str) -> int:
    """Print the script for a shell; 2 for an unknown one."""
    if shell not in SHELLS:
        complain(f"completion knows {', '.join(SHELLS)}, not '{shell}'.")
        return 2
    commands = _commands()
    if shell == "bash":
        sys.stdout.write(_bash(commands))
    elif shell == "zsh":
        sys.stdout.write("#compdef fabriclint\nautoload -U +X bashcompinit && bashcompinit\n" + _bash(commands))
    else:
        sys.stdout.write(_fish(commands))
    return 0

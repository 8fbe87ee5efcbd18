"""What each sentence of a finding has to be: whole, begun with a capital, and without a gap where a name belongs."""

from __future__ import annotations

import re

#: Words of the language; a name (restartPolicy, mpirun, sshd) may begin a sentence as it is written.
_SMALL = re.compile(
    r"(the|a|an|no|nothing|it|its|this|these|each|every|all|two|both|several|none|one|only|what|where|when|pods?|ranks?|merge|"
    r"write|add|remove|give|set|put|take|name|leave|use|mount|ask|let|make|move|replace|select|start) "
)


def faults(message: str, remedy: str | None) -> list[str]:
    """What is wrong with a finding's sentences, nothing when they are right."""
    found = []
    for called, text in (("message", message), ("help", remedy)):
        if not text:
            continue
        if _SMALL.match(text):
            found.append(f"the {called} begins with a small letter: {text}")
        if not text.rstrip("`'\")").endswith((".", "?", "!", ":")):
            found.append(f"the {called} does not end: {text}")
        if re.search(r"(?<![\w=])''", text):
            found.append(f"the {called} has a gap: {text}")
        if re.search(r"[{}]\w+[{}]", text) and "{" in text and re.search(r"\{(self|role|name|node|pod)\b", text):
            found.append(f"the {called} was not filled in: {text}")
    return found

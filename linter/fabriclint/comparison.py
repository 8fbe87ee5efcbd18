"""Whether a job says of itself that it is a comparison run: over TCP on purpose, to be set beside the fabric."""

from __future__ import annotations

import re

from fabriclint.comments import scan
from fabriclint.node import Scalar
from fabriclint.pod import PodView

_WORDS = ("noib", "tcp", "sockets", "socket", "ena", "baseline", "noefa", "nofabric")
_WORD = re.compile(r"(?<![A-Za-z0-9])(?:" + "|".join(_WORDS) + r")(?![A-Za-z0-9])", re.IGNORECASE)


def declared_comparison(pod: PodView) -> bool:
    """Whether the object's name, a label's value or a comment of its document has such a word; never the file's name."""
    manifest = pod.workload.manifest
    texts = [manifest.name or ""]
    labels = manifest.root.mapping("metadata", "labels")
    texts.extend(v.text for v in (labels.fields.values() if labels else ()) if isinstance(v, Scalar))
    texts.extend(v.text for v in pod.labels.values())
    if any(_WORD.search(t) for t in texts):
        return True
    document = manifest.document
    source = document.source
    found = scan(source, [document], "#")
    return any(document.start <= c.start < document.end and _WORD.search(c.text) for c in found)

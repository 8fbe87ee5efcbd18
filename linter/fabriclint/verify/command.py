"""The command that shows whether a manifest's job is on its fabric."""

from __future__ import annotations

from collections.abc import Mapping


def logs_command(namespace: str | None, labels: Mapping[str, str], container: str | None) -> str:
    """The kubectl line that collects all lines of all ranks. `--tail=-1` because a selector cuts to ten lines."""
    words = ["kubectl logs"]
    if namespace:
        words.append(f"-n {namespace}")
    words.append(f"-c {container}" if container else "--all-containers")
    words.append("-l " + ",".join(f"{k}={v}" for k, v in labels.items()))
    words.append("--tail=-1 --prefix --max-log-requests=1000")
    return " ".join(words)

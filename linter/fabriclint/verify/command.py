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


def command_text(
    namespace: str | None,
    labels: Mapping[str, str],
    container: str | None,
    network: str | None,
    nccl_debug: str | None,
) -> str:
    """What to run and what to expect; says when the manifest's NCCL_DEBUG hides the telling line.

    `network` is the name NCCL prints for the expected fabric, None when unknown; `nccl_debug` the ranks' value.
    """
    out = [f"{logs_command(namespace, labels, container)} | fabriclint verify -"]
    if network:
        out.append(f"expect: NCCL INFO Using network {network}")
    if (nccl_debug or "").upper() not in ("INFO", "ABORT", "TRACE"):
        shown = f"NCCL_DEBUG is '{nccl_debug}'" if nccl_debug else "NCCL_DEBUG is not set"
        out.append(f"{shown}; the line that names the network is not printed.")
        out.append("For a short run, set in the ranks' environment (behind any sourced NCCL profile):")
        out.append('  - {name: NCCL_DEBUG, value: "INFO"}')
        out.append('  - {name: NCCL_DEBUG_SUBSYS, value: "INIT,NET,ENV"}')
    return "\n".join(out) + "\n"

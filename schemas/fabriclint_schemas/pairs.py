"""Plugin and daemon releases that belong together, as the profiles list them."""

from __future__ import annotations

import re

from fabriclint_schemas.profiles import profiles

Release = tuple[int, ...]


def release_of(tag: str) -> Release | None:
    """The three numbers of a tag; `v`, what follows `-` or `_`, and leading zeros do not count; None for others."""
    found = re.fullmatch(r"v?(\d+)\.(\d+)\.(\d+)(?:[-_.][\w.-]*)?", tag)
    return tuple(int(n) for n in found.groups()) if found is not None else None


def paired_daemon(fabric: str, plugin: str) -> str | None:
    """The newest daemon's tag that goes with the plugin's tag; None when no pair is known.

    Beyond the list the profile's `pair_step` (daemon's patch = plugin's patch + step) is used.
    """
    profile = profiles()[fabric]
    release = release_of(plugin)
    if release is None:
        return None
    pairs = [(release_of(p), d) for p, d in profile.get("pairs", ())]
    fitting = [d for p, d in pairs if p == release]
    if fitting:
        return f"v{max(fitting, key=lambda d: release_of(d) or ())}"
    step, known = profile.get("pair_step"), [p for p, _ in pairs if p is not None]
    if step and known and release > max(known) and release[:2] == max(known)[:2]:
        return f"v{release[0]}.{release[1]}.{release[2] + step}"
    return None

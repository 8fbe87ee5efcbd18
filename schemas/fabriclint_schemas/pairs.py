"""Plugin and daemon releases that belong together, as the profiles list them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from fabriclint_schemas.profiles import profiles

Release = tuple[int, ...]


def release_of(tag: str) -> Release | None:
    """The three numbers of a tag; `v`, what follows `-` or `_`, and leading zeros do not count; None for others."""
    found = re.fullmatch(r"v?(\d+)\.(\d+)\.(\d+)(?:[-_.][\w.-]*)?", tag)
    return tuple(int(n) for n in found.groups()) if found is not None else None


def listed_pairs(profile: Mapping[str, Any]) -> list[tuple[Release, Release]]:
    """(plugin, daemon) of the profile's table of releases, in its order."""
    made = [(release_of(plugin), release_of(daemon)) for plugin, daemon in profile.get("pairs", ())]
    return [(plugin, daemon) for plugin, daemon in made if plugin is not None and daemon is not None]


def paired_daemons(profile: Mapping[str, Any], plugin: Release) -> list[Release]:
    """The daemon's releases that go with a plugin's; empty when no pair is known.

    Beyond the table the profile's `pair_step` (daemon's patch = plugin's patch + step) is used.
    """
    pairs = listed_pairs(profile)
    fitting = [daemon for known, daemon in pairs if known == plugin]
    step = profile.get("pair_step")
    if fitting or not step or not pairs:
        return fitting
    newest = max(known for known, _ in pairs)
    return [(*plugin[:2], plugin[2] + step)] if plugin > newest and plugin[:2] == newest[:2] else []


def paired_daemon(fabric: str, plugin: str) -> str | None:
    """The newest daemon's tag that goes with the plugin's tag, as published; None when no pair is known."""
    profile = profiles()[fabric]
    release = release_of(plugin)
    fitting = paired_daemons(profile, release) if release is not None else []
    if not fitting:
        return None
    newest = max(fitting)
    published = (daemon for _, daemon in profile.get("pairs", ()) if release_of(daemon) == newest)
    return f"v{next(published, '.'.join(map(str, newest)))}"

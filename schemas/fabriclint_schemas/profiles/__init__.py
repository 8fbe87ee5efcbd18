"""Fabric profiles: signals, counts, names and devices of each fabric, one JSON file each."""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from typing import Any

Profile = dict[str, Any]


class ProfileError(Exception):
    """A profile of the configuration that cannot be used; the text is a sentence without its place."""


@cache
def profiles() -> dict[str, Profile]:
    """All profiles by name: every data file of this folder."""
    out: dict[str, Profile] = {}
    for entry in sorted(files(__name__).iterdir(), key=lambda e: e.name):
        if entry.name.endswith(".json") and not entry.name.endswith(".schema.json"):
            profile: Profile = json.loads(entry.read_text(encoding="utf-8"))
            out[profile["name"]] = profile
    return out


def schema() -> dict[str, Any]:
    """The JSON schema of a profile."""
    made: dict[str, Any] = json.loads((files(__name__) / "profile.schema.json").read_text(encoding="utf-8"))
    return made


_made: dict[str, dict[str, Profile]] = {}


def overridden(changes: dict[str, Any]) -> dict[str, Profile]:
    """The profiles with a configuration's changes: by name, what differs from a known profile, or a whole new one.

    A new profile says `like: NAME` to start from a known one, whose signals it does not take over. Mappings are merged,
    everything else is replaced. Raises ProfileError.
    """
    key = json.dumps(changes, sort_keys=True, default=str)
    if key not in _made:
        _made[key] = _over(changes)
    return _made[key]


def _over(changes: dict[str, Any]) -> dict[str, Profile]:
    known = profiles()
    out = dict(known)
    for name, change in changes.items():
        if not isinstance(change, dict):
            raise ProfileError(f"The profile '{name}' is a mapping of what differs in your cluster.")
        rest = {k: v for k, v in change.items() if k != "like"}
        like = change.get("like")
        if like is not None and like not in known:
            raise ProfileError(f"The profile '{name}' is like '{like}', which is none of {', '.join(known)}.")
        base = known.get(name)
        if base is None and like is not None:
            base = {k: v for k, v in known[like].items() if k not in ("signals", "title")}
        if base is None:
            near = _near(name, known)
            if near and not {"family", "signals"} <= rest.keys():
                raise ProfileError(f"There is no profile '{name}'; did you mean '{near}'?")
            base = {}
        made = {"title": name, **_merged(base, rest), "name": name}
        fault = _fault(made)
        if fault is not None:
            raise ProfileError(f"The profile '{name}' cannot be used: {fault}.")
        out[name] = made
    return out


def _merged(base: Profile, change: dict[str, Any]) -> Profile:
    made = dict(base)
    for key, value in change.items():
        old = made.get(key)
        made[key] = _merged(old, value) if isinstance(old, dict) and isinstance(value, dict) else value
    return made


def _near(name: str, known: dict[str, Profile]) -> str | None:
    from difflib import get_close_matches

    return next(iter(get_close_matches(name, known, 1, 0.7)), None)


def _fault(profile: Profile) -> str | None:
    """The first thing in a profile that the schema does not allow, in words; None for a good one."""
    from jsonschema import Draft202012Validator

    errors = sorted(
        Draft202012Validator(schema()).iter_errors(profile), key=lambda e: (list(map(str, e.path)), e.message)
    )
    if not errors:
        return None
    where = ".".join(str(step) for step in errors[0].path)
    said = errors[0].message.rstrip(".")
    return f"in '{where}', {said}" if where else said

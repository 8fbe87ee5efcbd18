"""Whether the manager of a runtime patch is a domain-prefixed path."""

from __future__ import annotations

import re


def is_domain_prefixed_path(manager: str) -> bool:
    """True for `domain/path` as the TrainJob webhook asks: a DNS-1123 subdomain, a slash, a non-empty path.

    Source: kubernetes/apimachinery IsDomainPrefixedPath (trainer fact R3).
    """
    domain, _, path = manager.partition("/")
    label = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
    return (
        len(domain) <= 253
        and re.fullmatch(rf"{label}(\.{label})*", domain) is not None
        and re.fullmatch(r"[A-Za-z0-9/\-._~%!$&'()*+,;=:]+", path) is not None
    )

"""The manager of a runtime patch."""

import pytest

from fabriclint.trainer.manager_path import is_domain_prefixed_path


@pytest.mark.parametrize("manager", ["example.com/team", "a/b/c", "kueue.x-k8s.io/manager"])
def test_a_domain_and_a_path_are_accepted(manager: str) -> None:
    assert is_domain_prefixed_path(manager)


@pytest.mark.parametrize(
    "manager", ["", "team", "/team", "example.com/", "Example.com/team", "a_b/c", "a/b c", "a/b\n"]
)
def test_anything_else_is_not(manager: str) -> None:
    assert not is_domain_prefixed_path(manager)

"""The files that are read, and those that are not."""

from __future__ import annotations

import pytest

from fabriclint.discover import discover


@pytest.fixture
def tree(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in (
        "a.yaml",
        "b.yml",
        "c.json",
        "notes.txt",
        "sub/d.YAML",
        "sub/made/e.yaml",
        "sub/keep/f.yaml",
        "node_modules/g.yaml",
        ".git/h.yaml",
        "old/i.yaml",
    ):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("a: 1\n")
    (tmp_path / ".gitignore").write_text("made/\n*.yml\n")
    return tmp_path


def uris(*paths, **options):
    return [f.uri for f in discover(paths, **options)]


def test_a_folder_gives_its_yaml_and_json_without_what_git_ignores(tree):
    assert uris(".") == ["a.yaml", "c.json", "old/i.yaml", "sub/d.YAML", "sub/keep/f.yaml"]


def test_the_gitignore_above_a_given_folder_holds_too(tree):
    assert uris("sub") == ["sub/d.YAML", "sub/keep/f.yaml"]


def test_a_nearer_gitignore_takes_back_what_a_farther_one_ignores(tree):
    (tree / "sub" / ".gitignore").write_text("!made/\n")
    assert "sub/made/e.yaml" in uris(".")


def test_excluded_patterns_are_relative_to_their_own_folder(tree):
    assert "old/i.yaml" not in uris(".", exclude=["/old/"], exclude_root=tree)
    assert "old/i.yaml" in uris(".", exclude=["/old/"], exclude_root=tree / "sub")


def test_a_file_given_by_name_is_read_whatever_it_is_called_or_excluded(tree):
    found = list(discover(["notes.txt", "b.yml", "old/i.yaml"], exclude=["old"], exclude_root=tree))
    assert [(f.uri, f.error, f.named) for f in found] == [
        ("b.yml", None, True),
        ("notes.txt", None, True),
        ("old/i.yaml", None, True),
    ]


def test_a_file_is_listed_once_and_its_name_wins_over_its_folder(tree):
    found = [f for f in discover([".", "a.yaml", tree / "a.yaml"]) if f.uri == "a.yaml"]
    assert [f.named for f in found] == [True]


def test_a_missing_path_is_an_error_entry(tree):
    (found,) = discover(["none.yaml"])
    assert found.error == "No file or folder 'none.yaml'; check the path."


def test_links_are_not_followed_out_of_the_tree(tree, tmp_path_factory):
    outside = tmp_path_factory.mktemp("outside")
    (outside / "x.yaml").write_text("a: 1\n")
    (tree / "sub" / "away").symlink_to(outside)
    (tree / "sub" / "x.yaml").symlink_to(outside / "x.yaml")
    (tree / "notes.yaml").symlink_to(tree / "notes.txt")
    (tree / "sub" / "loop").symlink_to(tree)
    found = uris(".")
    assert "notes.yaml" in found
    assert [u for u in found if "away" in u or "loop" in u or u.endswith("/x.yaml")] == []


def test_a_git_root_bounds_the_search_for_gitignore_files(tree):
    (tree / "sub" / ".git").mkdir()
    assert "sub/made/e.yaml" in uris("sub/made")

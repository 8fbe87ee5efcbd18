"""Order of lists merged by key."""

from fabriclint.trainer.merge_order import merged_order


def test_a_new_item_comes_first() -> None:
    assert merged_order(["a", "b"], ["x"]) == ["x", "a", "b"]


def test_naming_an_old_item_leaves_it_in_its_place() -> None:
    assert merged_order(["a", "b", "c"], ["b"]) == ["a", "b", "c"]


def test_the_order_of_the_patch_reorders_old_items() -> None:
    assert merged_order(["a", "b", "c"], ["c", "a"]) == ["b", "c", "a"]


def test_an_empty_patch_changes_nothing() -> None:
    assert merged_order(["a", "b"], []) == ["a", "b"]

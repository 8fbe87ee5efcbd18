"""Long values and long lists of one line stay readable in a message."""

from __future__ import annotations

from fabriclint.assemble import assemble
from fabriclint.config import Settings
from fabriclint.engine import lint
from fabriclint.report.model import ReportOptions

POD = "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  containers:\n"


def messages(text: str, code: str) -> list[str]:
    result = lint([], Settings(isolated=True), stdin=("a.yaml", text.encode()))
    return [f.message for f in assemble(result, Settings(), ReportOptions()).findings if f.code == code]


def test_a_value_of_fifty_thousand_characters_is_cut_in_the_message() -> None:
    (told,) = messages(
        POD + f"    - {{name: c, image: {'x' * 50_000}/REPLACE_ME}}\n    - {{name: d, image: <{'y' * 50_000}>}}\n",
        "DOC003",
    )[1:]
    assert len(told) < 400
    assert "...'" in told


def test_many_faults_of_one_line_are_a_few_messages_and_a_count() -> None:
    entries = ", ".join(f"{{name: V{n}, value: {n}}}" for n in range(200))
    (told,) = messages(POD + f"    - {{name: c, image: x, env: [{entries}]}}\n", "DOC008")
    shown = told.count("the API server refuses the object")
    assert 1 <= shown <= 3
    assert told.endswith(f"And {200 - shown} more on this line.")
    assert len(told) <= 300

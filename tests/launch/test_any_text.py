"""The command reader on arbitrary text: it ends, it raises nothing, and its places lie in the text."""

from __future__ import annotations

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fabriclint.launch import Launch, read_launch
from fabriclint.launch.expansion import expand
from fabriclint.node import UNKNOWN, Unknown

_PIECES = st.sampled_from(
    [
        "torchrun",
        "--nnodes=",
        "$N",
        "${N}",
        "${N:-2}",
        "${N#*-}",
        "${N/a/b}",
        "$(",
        "$((",
        "))",
        ")",
        "(",
        "((",
        "`",
        "'",
        '"',
        "\\",
        "\n",
        " ",
        ";",
        ";;",
        "&&",
        "\\\n",
        "&",
        "<<EOF\n",
        "EOF\n",
        "<<-'E'\n",
        "\t",
        "if ",
        "then ",
        "fi",
        "while ",
        "true",
        "do ",
        "done",
        "for i in ",
        "case x in ",
        "*)",
        "esac",
        "{ ",
        "}",
        "{a,b}",
        "{1..9}",
        "[[ ",
        "]]",
        "[ ",
        "]",
        "export A=",
        "A=1 ",
        "B=(",
        "$@",
        '"$@"',
        "$1",
        "bash -c ",
        "sh -c ",
        "source ",
        ". f",
        "exec ",
        "eval ",
        "env ",
        "timeout 5 ",
        "function f ",
        "f() ",
        "f",
        "return",
        "break",
        "exit 1",
        "set -e",
        "set -u",
        "set -- ",
        "unset A",
        "mpirun -np 4 -x A ",
        "#",
        "!",
        "~",
        "=",
        "+=",
        "<",
        ">",
        "> f",
        "cat f",
        "echo ",
        "printf %s ",
        "local x=",
        "read x",
        "$?",
        "$#",
        "${#A[@]}",
        "${A[@]:1}",
        "srun ",
        "vllm serve ",
        "-tp ",
        "8",
    ]
)
_TEXTS = st.lists(_PIECES, max_size=25).map("".join) | st.text(max_size=60)
_SETTINGS = settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def environment(name: str) -> str | Unknown | None:
    """N is a number, U is not in view, nothing else is set."""
    known: dict[str, str | Unknown] = {"N": "4", "U": UNKNOWN, "HOME": "/root"}
    return known.get(name)


def places(launch: Launch) -> list[tuple[int, int, int]]:
    """All places that a launch holds."""
    words = [w for p in launch.programs for w in (*p.invocation.words, *p.inner)] + launch.unseen
    found: list[tuple[int, int, int]] = [tuple(w.place) for w in words]  # type: ignore[misc]
    found += [tuple(w.part(k, k + 1)) for w in words for k in range(len(w.raw))]  # type: ignore[misc]
    found += [tuple(a.place) for a in launch.exports if a.place is not None]  # type: ignore[misc]
    found += [tuple(s.place) for s in launch.sourced]  # type: ignore[misc]
    found += [tuple(f.place) for f in launch.forwarded if f.place.source >= 0]  # type: ignore[misc]
    return found


@_SETTINGS
@given(_TEXTS, st.sampled_from(["bash", "sh"]), st.sampled_from(["bash", "dash", "unknown"]))
def test_a_script_is_read_without_an_exception_and_places_lie_in_it(text: str, shell: str, sh_is: str) -> None:
    argv = [shell, "-c", text, "zero", "one"]
    for source, start, end in places(read_launch(argv, environment, image_shell=sh_is)):
        assert 0 <= source < len(argv)
        assert 0 <= start <= end <= len(argv[source])


@_SETTINGS
@given(
    st.lists(_PIECES | st.text(max_size=10), max_size=12),
    st.sampled_from(["torchrun", "mpirun", "srun", "deepspeed", "accelerate", "vllm", "ray"]),
)
def test_a_command_line_is_read_without_an_exception_and_places_lie_in_it(words: list[str], program: str) -> None:
    argv = [program, *words]
    for source, start, end in places(read_launch(argv, environment)):
        assert 0 <= start <= end <= len(argv[source])


@_SETTINGS
@given(st.text(alphabet="torchun -x=1;\n&'\"", max_size=60))
def test_a_word_without_quotes_stands_where_its_place_says(text: str) -> None:
    launch = read_launch(["bash", "-c", text], lambda _: None)
    for program in launch.programs:
        for word in program.invocation.words:
            written = text[word.start : word.end]
            if "'" not in written and '"' not in written:
                assert written == word.raw


@_SETTINGS
@given(st.text(alphabet="$()AB x", max_size=40))
def test_kubernetes_expansion_keeps_a_place_for_every_character(text: str) -> None:
    made = expand(text, lambda name: "one" if name == "A" else UNKNOWN if name == "B" else None)
    assert len(made.raw) == len(made.starts) == len(made.ends)
    assert all(0 <= a < b <= len(text) for a, b in zip(made.starts, made.ends, strict=True))


def test_work_does_not_grow_faster_than_the_text() -> None:
    from fabriclint.launch.shell import Shell
    from fabriclint.launch.state import State
    from fabriclint.launch.word import argument

    work = []
    for count in (50, 500):
        shell = Shell()
        script = "export A=$N; torchrun --nnodes=$A t.py\n" * count
        shell.start([argument(a, i) for i, a in enumerate(["bash", "-c", script])], State(environment, bash=True))
        assert len(shell.seen.invocations) == count
        work.append(shell.work)
    assert work[1] < 12 * work[0]


def test_endless_loops_and_recursion_end_the_reading() -> None:
    for text in (
        "while true; do sleep 1; done",
        "f() { f; }; f",
        "while [ 1 -lt 2 ]; do i=$((i+1)); done",
        ":(){ :|:& };:",
    ):
        read_launch(["bash", "-c", text], environment)
    assert read_launch(["bash", "-c", "f() { f; }; f"], environment).open


def test_deep_nesting_is_given_up() -> None:
    for text in (
        "(" * 5000,
        "$(" * 5000,
        '"${A:-' * 3000,
        "{ " * 3000,
        "if " * 3000,
        "a" * 100000,
        "[[ " + "! " * 5000,
    ):
        read_launch(["bash", "-c", text], environment)

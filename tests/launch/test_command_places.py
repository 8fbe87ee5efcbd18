"""Where a finding can point: the argument, the line of a script, the word behind an expansion."""

from __future__ import annotations

from fabriclint.launch import Certainty, Launch, read_launch
from fabriclint.launch.expansion import expand
from fabriclint.node import UNKNOWN

_SCRIPT = """set -ex
export NCCL_DEBUG=INFO
source /usr/local/nvidia/lib64/nccl-env-profile.sh
mpirun -np 16 \\
  -x NCCL_DEBUG -x LD_LIBRARY_PATH=/opt:$LD_LIBRARY_PATH \\
  python train.py
"""


def read(text: str, shell: str = "bash", **known: str) -> Launch:
    return read_launch([shell, "-c", text], lambda name: known.get(name, UNKNOWN))


def test_an_export_stands_at_its_word() -> None:
    export = read(_SCRIPT).exports[0]
    assert export.place is not None
    assert _SCRIPT[export.place.start : export.place.end] == "NCCL_DEBUG=INFO"


def test_a_sourced_file_stands_at_its_path_and_its_command() -> None:
    sourced = read(_SCRIPT).sourced[0]
    assert _SCRIPT[sourced.path.start : sourced.path.end].endswith("nccl-env-profile.sh")
    assert _SCRIPT[sourced.place.start : sourced.place.end] == "source"


def test_a_forwarded_variable_stands_at_its_word_and_keeps_what_is_known_of_its_value() -> None:
    bare, valued = read(_SCRIPT).forwarded
    assert _SCRIPT[bare.place.start : bare.place.end] == "NCCL_DEBUG"
    assert (bare.value, valued.value, valued.name) == (None, UNKNOWN, "LD_LIBRARY_PATH")


def test_a_word_of_a_nested_shell_stands_in_the_outer_text() -> None:
    text = """bash -c "source /x.sh; torchrun --nnodes=\\"4\\" t.py" """
    launch = read(text)
    word = launch.programs[0].invocation.words[1]
    assert word.raw == "--nnodes=4"
    assert text[word.start : word.end] == '--nnodes=\\"4\\"'


def test_arguments_behind_exec_keep_their_own_place() -> None:
    launch = read_launch(["sh", "-c", 'exec "$@"', "--", "torchrun", "--nnodes=2", "t.py"], lambda _: None)
    nodes = launch.nodes
    assert nodes.value == 2
    assert nodes.place is not None
    assert tuple(nodes.place) == (5, 9, 10)


def test_a_script_written_by_a_heredoc_is_read_where_it_stands() -> None:
    text = "cat <<'EOF' > /tmp/r.sh\ntorchrun --nnodes=2 t.py\nEOF\nbash /tmp/r.sh\n"
    place = read(text).nodes.place
    assert place is not None
    assert text[place.start : place.end] == "2"


def test_kubernetes_expansion_leads_back_to_the_text() -> None:
    text = "torchrun --nnodes=$(N) t.py"
    made = expand(text, {"N": "16"}.get)
    launch = read_launch(
        [],
        lambda _: None,
        words=[expand(["bash", "-c"][k], lambda _: None).word(k) for k in (0, 1)] + [made.word(2)],
    )
    word = launch.programs[0].invocation.words[1]
    assert text[word.start : word.end] == "--nnodes=$(N)"
    assert launch.nodes.value == 16


def test_source_under_dash_does_nothing_and_says_so() -> None:
    launch = read_launch(["sh", "-c", "source /x.sh; torchrun t.py"], lambda _: UNKNOWN, image_shell="dash")
    assert (launch.sourced[0].works, launch.sourced[0].under_sh) == (False, True)


def test_bodies_of_open_conditions_are_only_possible() -> None:
    launch = read('if [ "$JOB_COMPLETION_INDEX" = 0 ]; then ray start --head; else ray start --address=h:1; fi')
    assert [p.invocation.certainty for p in launch.programs] == [Certainty.MAYBE, Certainty.MAYBE]


def test_unknown_words_among_options_make_the_facts_unknown() -> None:
    assert read("torchrun --nnodes=2 $EXTRA t.py").nodes.value is UNKNOWN
    assert read("torchrun --nnodes=2 t.py $EXTRA").nodes.value == 2


def test_an_image_s_own_command_is_out_of_view() -> None:
    launch = read_launch([], lambda _: None)
    assert launch.image
    assert launch.program is UNKNOWN


def test_waiting_and_testing_containers_are_told_apart_from_working_ones() -> None:
    assert read("sleep infinity").idle
    assert read("apt-get update; /usr/sbin/sshd -De").idle
    assert read("mpirun -np 2 /opt/nccl-tests/build/all_reduce_perf -b 8").probe
    working = read("sleep 5; torchrun t.py")
    assert not working.idle
    assert not working.probe


def test_options_that_some_versions_refuse_name_them() -> None:
    launcher = read("mpirun -bind-to none -np 2 prog").launcher
    assert launcher is not None
    assert launcher.refusals[0].by == "Open MPI 5.0.10 and later"
    assert not launcher.refused

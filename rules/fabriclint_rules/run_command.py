"""RUN: what Kubernetes and the launcher make of the words of a command."""

from __future__ import annotations

import re
from collections.abc import Iterator

from fabriclint.group import GroupView, RoleGroup
from fabriclint.group.started import Started
from fabriclint.launch import Certainty, Launcher, Program, Refusal
from fabriclint.launch.commands import SHELLS
from fabriclint.launch.release import openmpi_release, refuses
from fabriclint.node import Mapping, Node, Scalar, Sequence
from fabriclint.pod import ContainerView
from fabriclint.rule import Finding, Place, Severity, rule
from fabriclint_rules.alike import together

_DOLLAR = re.compile(r"(?<!\$)\$(?:\{([A-Za-z_]\w*)\}|([A-Za-z_]\w*))")
_REFERENCE = re.compile(r"(?<!\$)\$\(([A-Za-z_]\w*)\)")
#: Variables that links to Services may define.
_OF_SERVICE = re.compile(r"\w+_(SERVICE_HOST|SERVICE_PORT\w*|PORT|PORT_\w+)")
#: Programs that read words again, or hand them to a shell on another host.
_READ_AGAIN = re.compile(
    r"(ba|da|z|k|a|fi|c|tc)?sh|busybox|env|envsubst|eval|ssh|pdsh|su|sudo|gosu|xargs|parallel|make|horovodrun|deepspeed|"
    r"kubectl|tini|dumb-init|.*\.(sh|bash)|.*entrypoint.*"
)
#: Options of which the next word is the script; and what in a script reads the words behind it.
_SCRIPT_NEXT = re.compile(r"-[a-z]*c[a-z]*")
_POSITIONAL = re.compile(r"\$[{(]?[#!]?[0-9@*#]|\bshift\b|\bset\s+--|BASH_ARGV|getopts")
#: Variables that images and shells set: no entry of env can see them.
_OF_IMAGE = re.compile(r"PATH|\w+_PATH|PYTHONPATH|\w*HOME|USER|SHELL|PWD|LANG|TMPDIR|HOSTNAME")
#: Variables that launchers set for each rank, or controllers for each pod: whoever applies the file cannot fill them in.
_OF_RANK = re.compile(
    r"(OMPI|PMIX?|PMI|SLURM|PET|LWS|HYDRA|MV2)_\w+|\w*RANK|WORLD_SIZE|MASTER_(ADDR|PORT)|JOB_COMPLETION_INDEX"
)
#: Launchers whose options are recorded for more than one release.
_OPTIONS_KNOWN = ("openmpi", "mpi", "hydra", "sglang", "vllm", "accelerate", "ray start")
#: By this controllers tell Open MPI its hosts; releases from 5 on have another.
_HOSTFILE_4 = "OMPI_MCA_orte_default_hostfile"


@rule("RUN005", "command-in-one-word", Severity.ERROR, on=GroupView)
def command_in_one_word(group: GroupView) -> Iterator[Finding]:
    """The program and its arguments are words of their own.

    No shell reads `command`: its first entry is the name of a file. With arguments in the same entry the container's
    runtime looks for a file of that long name, and the container never starts. Behind `bash -c` it is the other way round:
    only the next word is the script, and the words after it are $0, $1 and so on, no part of the command.

    Fix: write each word as an entry of its own, or `[bash, -c, "..."]` with the whole command in one.

    Silent: what a shell reads; a path with a space in it; text that a template fills in; `args` of an image's own program;
    words behind a script that reads them, or that may be its name.

    Bad: torchrun with its options (run-pytorchjob)
        @@ Master:
        ~ [torchrun, train.py] => ["torchrun train.py"]  # <-
    Bad: a path with options behind it (run-jobset)
        ~ [python, forecast.py] => ["/usr/bin/python -u forecast.py"]  # <-
    Bad: the first entry only (run-leaderworkerset)
        ~ [serve-engine] => ["serve-engine big", --port=80]  # <-
    Bad: the shell's script is the first word only (run-jobset)
        ~ [python, forecast.py] => [bash, -c, torchrun, --nnodes=2, forecast.py]  # <-
    Bad: a script in two parts (run-leaderworkerset)
        ~ [serve-engine] => [sh, -c, "cd /models", "&& serve-engine big"]  # <-
    Good: a shell reads it (run-pytorchjob)
        @@ Master:
        ~ [torchrun, train.py] => [bash, -c, "torchrun train.py"]
    Good: a script that reads its words, as pipelines write it (run-jobset)
        ~ [python, forecast.py] => [sh, -ec, 'exec "$0" "$@"', python, forecast.py]
    Good: a program whose path has a space (run-jobset)
        ~ [python, forecast.py] => ["/opt/big model/forecast", --fast]
    Good: a command that a template fills in (run-leaderworkerset)
        ~ [serve-engine] => ["{{ engine command }}"]
    Source: kubernetes v1.35.2 pkg/kubelet/container; opencontainers/runtime-spec config.md (process.args)
    """
    yield from together(_in_one_word(group))
    yield from together(_behind_the_script(group))


def _in_one_word(group: GroupView) -> Iterator[Finding]:
    for role in group.roles:
        for container in role.pod.containers:
            listed = container.node.at("command")
            if not isinstance(listed, Sequence) or not listed.items:
                continue
            first = listed.items[0]
            if not isinstance(first, Scalar) or not isinstance(first.value, str) or first.open:
                continue
            head, *rest = first.value.split()[:40] or [""]
            if not rest or "$(" in head or ("/" in head and not any(w.startswith("-") for w in rest)):
                continue
            shown = " ".join([head, *rest])
            shown = shown if len(shown) <= 60 else shown[:57] + "..."
            yield Finding(
                Place(first),
                f"The first entry of 'command' is '{shown}', and no shell takes it apart; no program has that name and the "
                "container does not start.",
                "Write each word as an entry of its own, or put `bash`, `-c` in front.",
            )


def _behind_the_script(group: GroupView) -> Iterator[Finding]:
    """Words that stand behind a shell's script, are meant as part of it, and are not."""
    for role in group.roles:
        for container in role.pod.containers:
            words = container.words if isinstance(container.node.at("command"), Sequence) else []
            texts = [w.value if isinstance(w.value, str) and not w.open else None for w in words]
            if len(texts) < 4 or texts[0] is None or texts[0].rpartition("/")[2] not in SHELLS:
                continue
            at = next((i for i, t in enumerate(texts[1:], 1) if t is None or not t.startswith("-")), len(texts))
            options = [t or "" for t in texts[1:at]]
            if at == len(texts) or not any(_SCRIPT_NEXT.fullmatch(o) for o in options):
                continue
            script, *behind = texts[at:]
            if script is None or None in behind or behind in ([], ["--"]) or _POSITIONAL.search(script):
                continue
            # One bare word is a program without its arguments; a longer script may be given a name behind it.
            alone = re.fullmatch(r"[\w./-]+", script) is not None and behind[0] not in (script, *SHELLS)
            if not alone and not re.match(r"&&|\|\|?|;|--\w", behind[0] or ""):
                continue
            shown = script if len(script) <= 40 else script[:37].replace("\n", " ") + "..."
            yield Finding(
                Place(words[at]),
                f"The shell runs '{shown}' alone: the words behind it, '{behind[0]}' first, are its $0, $1 and so on, and reach "
                "no program.",
                "Write the whole command in the one word behind `-c`, or leave the shell out.",
            )


@rule(
    "RUN004",
    "unexpanded-variable",
    Severity.WARNING,
    on=GroupView,
    yields_on_line=("EFA006", "RUN005", "TRN014", "DOC003"),
    also=(Severity.NOTE,),
)
def unexpanded_variable(group: GroupView) -> Iterator[Finding]:
    """A variable stands where something expands it, in the form that is expanded there.

    Kubernetes knows one form, `$(NAME)`, in command, args and the values of env; `$NAME` and `${NAME}` are for shells.
    In a value of env it sees only what stands before it in the list: what a controller appends, and what the image
    brings, is not there yet. What is not expanded reaches the program as it is written.

    Fix: `$(NAME)` in place of `$NAME`, or a shell in front; in env move the variable below the one that it uses.

    Silent: `$(NAME)` in command and args; `$$` (an escape); words that a shell or a script reads; names that a ConfigMap
    out of view, or a Service, may bring; files in which `NAME: ${NAME}` waits for whoever applies them.

    Bad: no shell reads the words (run-pytorchjob)
        @@ Master:
        ~ [torchrun, train.py] => [torchrun, train.py, --store=$MASTER_ADDR]  # <-
    Bad: the controller puts the index behind the list (run-jobset)
        - command: [python, forecast.py]
        + command: [python, forecast.py]
        + env:
        +   - name: SHARD
        +     value: shard-$(JOB_COMPLETION_INDEX)  # <-
    Bad: the variable stands further down (run-leaderworkerset)
        - command: [serve-engine]
        + command: [serve-engine]
        + env:
        +   - name: CACHE
        +     value: $(ROOT)/cache  # <-
        +   - name: ROOT
        +     value: /data
    Good: the form of Kubernetes (run-pytorchjob)
        @@ Master:
        ~ [torchrun, train.py] => [torchrun, train.py, --store=$(MASTER_ADDR)]
    Good: a shell reads it (run-jobset)
        ~ [python, forecast.py] => [bash, -c, "python forecast.py --shard=$JOB_COMPLETION_INDEX"]
    Good: what the controller puts first is there, as public manifests have it (run-leaderworkerset)
        - command: [serve-engine]
        + command: [serve-engine]
        + env:
        +   - name: HEAD
        +     value: $(LWS_LEADER_ADDRESS):5000
    Source: kubernetes v1.35.2 third_party/forked/golang/expansion, pkg/kubelet/kubelet_pods.go
    """
    yield from together(_unexpanded(group))


def _unexpanded(group: GroupView) -> Iterator[Finding]:
    for role in group.roles:
        for container in role.pod.containers:
            yield from _words(role, container)
            if "eval" not in container.start_text:
                yield from _values(role, container)


def _defined(role: RoleGroup, container: ContainerView) -> set[str]:
    """Names that the container's env holds in the end."""
    names = set(container.env.variables) | {"HOSTNAME"}
    if role.sets(container):
        names |= set(role.injected)
    return names


def _words(role: RoleGroup, container: ContainerView) -> Iterator[Finding]:
    """`$NAME` in a word that no shell reads, of a name that the container has."""
    if not isinstance(container.node.at("command"), Sequence):
        return
    names = _defined(role, container)
    # A value that is its own name's `${NAME}` is filled in by another program, which goes over the words too.
    if any(_filled_in(name, v.place.node) for name, v in container.env.variables.items()):
        return
    lines: list[list[tuple[Scalar, re.Match[str]]]] = []
    for word in container.words:
        if not isinstance(word.value, str) or (word.open and "{{" in word.value):
            break
        if _READ_AGAIN.fullmatch(word.value.rsplit("/", 1)[-1]) or any(c in word.value for c in "\n;|&"):
            break
        found = [(word, m) for m in _DOLLAR.finditer(word.value) if (m[1] or m[2]) in names]
        if found and lines and lines[-1][0][0].beside(word):
            lines[-1] += found
        elif found:
            lines.append(found)
    for line in lines:
        matches = [m for _, m in line]
        yield Finding(
            Place(line[0][0], within=matches[0].span()),
            f"No shell reads {_listed(matches)} here, and Kubernetes expands only the form $(NAME); the program gets the "
            "text as it is written.",
            f"Write {', '.join(dict.fromkeys(f'$({m[1] or m[2]})' for m in matches))}.",
        )


def _filled_in(name: str, node: Node) -> bool:
    """Whether a variable's value is a place for that variable's value in the shell of whoever applies the file."""
    return isinstance(node, Scalar) and node.text in (f"${{{name}}}", f"${name}")


def _values(role: RoleGroup, container: ContainerView) -> Iterator[Finding]:
    """`$(NAME)` and `$NAME` in values of env."""
    listed = container.node.at("env")
    if not isinstance(listed, Sequence):
        return
    entries = [e for e in listed.items if isinstance(e, Mapping)]
    if len(entries) != len(listed.items):
        return
    own = {e.string("name") or "" for e in entries}
    before = {n for n, v in container.env.variables.items() if v.origin == "envFrom"}
    injected = set(role.injected) if role.sets(container) else set()
    if role.wins == "first":
        before |= injected
    # Whoever applies the file fills in `NAME: ${NAME}`, and then the others too.
    filled = any(_filled_in(name, v.place.node) for name, v in container.env.variables.items())
    foreign = role.pod.workload.landing is not None or role.pod.workload.runtime_alone
    for entry in entries:
        node = entry.at("value")
        text = node.value if isinstance(node, Scalar) and isinstance(node.value, str) else ""
        if isinstance(node, Scalar) and text and "\n" not in text and "{{" not in text:
            found = []
            for match in _REFERENCE.finditer(text):
                name = match[1]
                if name in before or container.env.open or _OF_SERVICE.fullmatch(name):
                    continue
                if name not in own and (foreign or (name in injected and not _appended(role, name))):
                    continue
                found.append(match)
            literal = list(_DOLLAR.finditer(text))
            if found:
                name = found[0][1]
                if name in injected and name not in own:
                    why = "the controller puts it behind the container's own list"
                elif name in own:
                    why = "it is defined further down" if name != entry.string("name") else "it is not defined before"
                else:
                    why = "nothing in the list defines it, and what the image sets is not seen"
                both = [*found, *literal]
                yield Finding(
                    Place(node, within=found[0].span()),
                    f"{_listed(both)} {_stays(both)} written in this value: {why}; the program gets the text with the "
                    "dollar sign.",
                    _way([m[1] or m[2] if m in literal else m[1] for m in both], set()),
                )
            elif literal and not filled and (entry.string("name") or "").isupper():
                yield Finding(
                    Place(node, within=literal[0].span()),
                    f"{_listed(literal)} {_stays(literal)} written in this value: Kubernetes expands only the form $(NAME).",
                    _way([m[1] or m[2] for m in literal], before, apply=True),
                    Severity.NOTE,
                )
        before.add(entry.string("name") or "")


def _way(names: list[str], before: set[str], apply: bool = False) -> str:
    """The way out for a value that is to hold other variables' values.

    `before`: what is defined above; `apply`: the value may wait for whoever applies the file.
    """
    names = list(dict.fromkeys(names))
    if apply and before.issuperset(names):
        return f"Write {' and '.join(f'$({name})' for name in names[:3])}."
    if any(_OF_IMAGE.fullmatch(name) and name not in before for name in names):
        return "Write the whole value, or put it together in the command, where a shell reads it."
    if any(_OF_RANK.fullmatch(name) for name in names):
        return "Put the value together in the command, where a shell reads it."
    above = "Define it in an entry above" if len(names) == 1 else "Define them in entries above"
    if not apply:
        return f"{above}, or put the value together in the command."
    wanted = " and ".join(f"$({name})" for name in names[:3])
    return f"Fill it in before the file is applied (envsubst), or {above[0].lower()}{above[1:]} and write {wanted}."


def _appended(role: RoleGroup, name: str) -> bool:
    """Whether the controller is known to put the variable behind the file's."""
    return role.wins == "controller" or name == "JOB_COMPLETION_INDEX"


def _stays(found: list[re.Match[str]]) -> str:
    return "stay as they are" if len({m.group() for m in found}) > 1 else "stays as it is"


def _listed(found: list[re.Match[str]]) -> str:
    return ", ".join(dict.fromkeys(f"'{m.group()}'" for m in found))


@rule("RUN022", "launcher-option-refused", Severity.WARNING, on=GroupView, also=(Severity.NOTE,))
def launcher_option_refused(group: GroupView) -> Iterator[Finding]:
    """The launcher takes the options that it is given.

    An option that a launcher does not know, or a value that it cannot read, ends it before any rank starts. Some go from
    one release to the next: Open MPI 5.0.10 takes `-bind-to` and `-map-by` with two dashes only, and Open MPI 5 does not
    look at OMPI_MCA_orte_default_hostfile, by which controllers tell the hosts.

    Fix: the form that every release takes (`--bind-to`, `--map-by`; dashes for sglang; `--hostfile`).

    Silent: options behind the program's name; launchers whose make cannot be told; values that a variable gives. Where only
    some releases refuse it, and the release is not known, it is a note.

    Bad: underscores in sglang's options (run-leaderworkerset)
        ~ [serve-engine] => [python3, -m, sglang.launch_server, --model-path, /model, --tp_size, "4"]  # <-
    Bad: the same by its new name (run-raycluster)
        - - name: worker
        + - name: worker
        +   command: [python3, -m, sglang.launch_server, --model-path, /model, --dp_size, "2"]  # <-
    Bad: an option of hydra beside one of Open MPI (run-mpijob)
        ~ [mpirun, -np, "2", ./reduce] => [mpirun, --allow-run-as-root, -np, "2", -ppn, "1", ./reduce]  # <-
    Bad: mpirun's option for torchrun (run-jobset)
        ~ [python, forecast.py] => [torchrun, -np, "1", forecast.py]  # <-
    Bad: hosts that Open MPI 5 does not look for there (run-mpijob)
        ~ [mpirun, -np, "2", ./reduce] => [/opt/openmpi5/bin/mpirun, -np, "2", ./reduce]  # <-
    Good: the hosts in mpirun's own words, as public manifests have it (run-mpijob)
        ~ [mpirun, -np, "2", ./reduce] => [/opt/openmpi5/bin/mpirun, --hostfile, /etc/mpi/hostfile, -np, "2", ./reduce]
    Good: dashes (run-leaderworkerset)
        ~ [serve-engine] => [python3, -m, sglang.launch_server, --model-path, /model, --tp-size, "4"]
    Good: two dashes (run-mpijob)
        ~ [mpirun, -np, "2", ./reduce] => [mpirun, --allow-run-as-root, -np, "2", --bind-to, none, ./reduce]
    Good: an option of the program's own (run-mpijob)
        ~ [mpirun, -np, "2", ./reduce] => [mpirun, --allow-run-as-root, -np, "2", ./reduce, -ppn, "1"]
    Source: Open MPI 4.1, 5.0.8 to 5.0.11; MPICH; sgl-project/sglang 0.5.23 server_args.py; torch 2.15.0 distributed/run.py
    """
    yield from together(_of_launchers(group))


def _of_launchers(group: GroupView) -> Iterator[Finding]:
    for role in group.roles:
        for started in role.started:
            for program in started.launch.programs:
                if program.invocation.certainty <= Certainty.MAYBE:
                    continue
                for launcher in program.launchers:
                    yield from _refused(started, launcher)
                    yield from _unread(group, role, started, program, launcher)


def _release(started: Started) -> tuple[int, ...] | None:
    """The release of Open MPI that the container's image, paths and start text speak of."""
    container = started.container
    paths = [container.env.get(name) for name in ("PATH", "LD_LIBRARY_PATH", "MPI_HOME", "OPAL_PREFIX")]
    texts = [str(container.image), container.start_text, *(str(v.value) for v in paths if v is not None)]
    return openmpi_release(texts)


def _refused(started: Started, launcher: Launcher) -> Iterator[Finding]:
    """What the launcher refuses of its own options: for certain, or in some releases."""
    if not launcher.refusals:
        return
    from fabriclint.launch.strangers import owners  # the tables of all launchers, of which most runs need none

    by_severity: dict[tuple[Severity, str], list[Refusal]] = {}
    release = None
    if any(r.by.startswith("Open MPI") for r in launcher.refusals):
        release = _release(started)
    for refusal in launcher.refusals:
        severity = _severity(launcher, refusal, release) if _written(started, refusal) else None
        if severity is not None:
            by_severity.setdefault((severity, refusal.what), []).append(refusal)
    for (severity, refused), some in by_severity.items():
        reasons = "; ".join(dict.fromkeys(r.reason for r in some))
        by = f" ({some[0].by})" if some[0].by and severity is Severity.NOTE else ""
        stranger = next((o for r in some for o in owners(r.text, launcher.family)), None)
        then = "it ends before any rank starts"
        if severity is Severity.NOTE:
            then = "releases that refuse it end before any rank starts"
        yield Finding(
            started.place(some[0].place),
            f"{launcher.family} refuses {refused}: {reasons}{by}; {then}.",
            _instead(launcher, some, severity) + (f" {stranger} has an option of this name." if stranger else ""),
            severity,
        )


def _instead(launcher: Launcher, refused: list[Refusal], severity: Severity) -> str:
    """What to write in place of the options that are refused; without them where nothing is known to take their place."""
    from fabriclint.launch.strangers import meant

    words = [r.instead or (meant(r.text, launcher.family) if "exist" in r.reason else "") for r in refused]
    if all(words):
        listed = " and ".join(f"'{w}'" for w in dict.fromkeys(words))
        return f"Write {listed}{', which all releases take' if all(r.instead for r in refused) else ''}."
    if all("exist" in r.reason for r in refused):
        return "Remove the option." if severity is Severity.WARNING else "Remove it, or use a release that has it."
    if any(r.text.startswith("-") and "value" in r.reason for r in refused):
        return "Give the option its value as the next word."
    return "Write what the launcher takes there."


def _written(started: Started, refusal: Refusal) -> bool:
    """Whether what is refused stands in the file as it is, and is not made of a variable that the image may set."""
    if refusal.place is None or refusal.place.source < 0:
        return False
    place = started.place(refusal.place)
    if place.within is None or not isinstance(place.node, Scalar) or not isinstance(place.node.value, str):
        return False
    text = place.node.value[place.within[0] : place.within[1]]
    return bool(refusal.text.strip()) and not any(c in text for c in "$`{<")


def _severity(launcher: Launcher, refusal: Refusal, release: tuple[int, ...] | None) -> Severity | None:
    """A warning for what no release takes, or not the one in view; a note where that is not known; None for no fault."""
    option = refusal.text.startswith("-")
    if refusal.what != "an option" and not refusal.by:
        return Severity.WARNING
    if launcher.family in ("torchrun", "deepspeed", "horovodrun"):
        if "does not exist" in refusal.reason:
            from fabriclint.launch.strangers import never_known

            return Severity.WARNING if never_known(refusal.text, launcher.family) else Severity.NOTE
        if "ambiguous" in refusal.reason:  # older releases, and newer Pythons, take it
            return Severity.NOTE
        return Severity.WARNING if option or launcher.family == "torchrun" else None
    if launcher.family not in _OPTIONS_KNOWN or not option or "no number" in refusal.reason:
        return None
    if not refusal.by:
        return Severity.WARNING if launcher.family != "mpi" else None
    refuses_it = refuses(release, refusal.by)
    if refuses_it is None:
        return Severity.NOTE
    return Severity.WARNING if refuses_it else None


def _unread(
    group: GroupView, role: RoleGroup, started: Started, program: Program, launcher: Launcher
) -> Iterator[Finding]:
    """The list of hosts that Open MPI 5 does not look at."""
    if launcher.family not in ("openmpi", "mpi") or launcher.unclear or group.multi_node is not True:
        return
    if launcher.hosts is not None or launcher.hosts_place is not None or launcher.hostfile.value is not None:
        return
    names = role.environment(started.container)
    text = started.container.start_text
    if _HOSTFILE_4 not in names or any(n.startswith("PRTE_") and n.endswith("hostfile") for n in names):
        return
    release = _release(started)
    if release is None or release[0] < 5 or "prte_default_hostfile" in text or "openmpi-mca-params" in text:
        return
    own = started.container.env.get(_HOSTFILE_4) if _HOSTFILE_4 not in role.injected else None
    yield Finding(
        own.place if own is not None else started.place(program.invocation.words[0].place),
        f"Open MPI {release[0]} does not read '{_HOSTFILE_4}', and nothing else names hosts for mpirun; it starts all ranks in "
        "its own pod.",
        f"Add `--hostfile {value}`." if isinstance(value := names[_HOSTFILE_4], str) else "Add `--hostfile`.",
    )

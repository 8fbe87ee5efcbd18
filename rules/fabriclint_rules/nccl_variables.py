"""NCCL's variables: their names, and values that NCCL reads as something else than what they say."""

from __future__ import annotations

from collections.abc import Iterator

from fabriclint.pod import Variable, WorkerPod
from fabriclint.rule import Finding, Severity, rule
from fabriclint.schema.suggest import misspelt
from fabriclint.views import JobView
from fabriclint_rules.alike import once
from fabriclint_rules.attachment import family
from fabriclint_rules.efa_pods import on_neuron, text_of, written
from fabriclint_rules.efa_variables import name_of
from fabriclint_rules.nccl_grammar import chosen, debug_level, exact_integer, integer, level, unknown_words
from fabriclint_rules.nccl_ranges import Reading, beyond, no_network, no_plugin, unknown_policy
from fabriclint_schemas.variables import nccl, nccl_names, nccl_release

#: Fabrics whose plugin takes the place of NCCL's InfiniBand transport.
_OWN_TRANSPORT = ("EFA", "TCPXO", "TCPX")
#: Short names are near to too many others: below this length one change is the most.
_SHORT = 14


def judged(pod: WorkerPod) -> bool:
    """Whether NCCL runs in the pod: its chips are GPUs."""
    return pod.worker is not None and not on_neuron(pod.worker)


def uses_rccl(pod: WorkerPod) -> bool:
    """Whether the chips are AMD's: their RCCL has releases, and limits of its own, under NCCL's names."""
    return pod.worker is not None and pod.worker.resource_node("amd.com/gpu") is not None


def near_name(name: str) -> str | None:
    """The variable of NCCL that a misspelt name stands for."""
    data = nccl()
    if not name.startswith("NCCL_") or name in nccl_names() or name.startswith(tuple(data["build prefixes"])):
        return None
    if name in data["meant"]:
        return str(data["meant"][name])
    known = [n for n in (*data["integers"], *data["others"]) if n.startswith("NCCL_")]
    return misspelt(name, known, 1 if len(name) < _SHORT else 2)


@rule("NCCL001", "misspelt-variable", Severity.WARNING, on=JobView)
def misspelt_variable(job: JobView) -> Iterator[Finding]:
    """Variables of NCCL are spelt as NCCL reads them.

    A name that nobody reads is ignored without a word: what it was to change stays as it is.

    Fix: write the name that the message gives.
    Silent: names that are near to no known one, names of builds and scripts (NCCL_VERSION, NCCL_TESTS_...), Neuron.
    Bad: letters swapped (nccl-jobset)
        ~ name: NCCL_SOCKET_IFNAME => name: NCCL_SOCKET_INFAME # <-
    Bad: an old page's spelling that mpirun hands on (nccl-mpijob)
        ~ -x NCCL_SOCKET_IFNAME=eth0 => -x NCCL_MIN_CHANNELS=8 # <-
    Bad: a name that TCPX's plugin does not read (tcpx-jobset)
        @@ containers:
        @@ env:
        +   - name: NCCL_GPUDIRECTTCPX_USE_DMABUF # <-
        +     value: "1"
    Bad: a letter too many (efa-pytorchjob)
        ~ name: NCCL_DEBUG => name: NCCL_DEBUGG # <-
    Good: a name that scripts use (nccl-jobset)
        ~ name: NCCL_DEBUG => name: NCCL_VERSION
        ~ value: WARN => value: 2.27.7
    Good: a name that is near to none (nccl-mpijob)
        ~ -x NCCL_SOCKET_IFNAME=eth0 => -x NCCL_OUR_OWN_SWITCH=1
    Source: NVIDIA/nccl@5067397, every variable that its sources read, over the release tags.
    """
    yield from once(job, _misspelt)


def _misspelt(pod: WorkerPod) -> Iterator[Finding]:
    if not judged(pod):
        return
    for variable in written(pod).variables.values():
        right = near_name(variable.name)
        if right is None:
            continue
        place, fix = name_of(variable, right)
        yield pod.finding(
            place,
            f"NCCL reads no variable '{variable.name}'; it is ignored, and what it was to change stays as it is.",
            help=f"Write '{right}'.",
            fix=fix,
        )


@rule("NCCL002", "removed-variable", Severity.WARNING, on=JobView, also=(Severity.NOTE,))
def removed_variable(job: JobView) -> Iterator[Finding]:
    """Variables are ones that today's NCCL reads.

    NCCL does not warn of a variable that an older release read: the setting is lost in silence.

    Fix: use the variable that took its place, or remove it.
    Silent: images whose NCCL is known and reads the variable. Variables that are renamed and still read are a note, and
    so are those removed since NCCL 2.18.
    Bad: the ring and tree threshold of 2.4 (nccl-jobset)
        ~ name: NCCL_DEBUG => name: NCCL_TREE_THRESHOLD # <-
        ~ value: WARN => value: "0"
    Bad: the old switch of GPUDirect (nccl-mpijob)
        ~ -x NCCL_SOCKET_IFNAME=eth0 => -x NCCL_IB_CUDA_SUPPORT=1 # <-
    Good: its successor (nccl-mpijob)
        ~ -x NCCL_SOCKET_IFNAME=eth0 => -x NCCL_NET_GDR_LEVEL=SYS
    Good: a current one (nccl-jobset)
        ~ name: NCCL_DEBUG => name: NCCL_ALGO
        ~ value: WARN => value: Ring
    Source: NVIDIA/nccl@5067397 and its release tags from 1.2 on; pytorch/pytorch
        torch/csrc/distributed/c10d/ProcessGroupNCCL.hpp.
    """
    yield from once(job, _removed)


def _removed(pod: WorkerPod) -> Iterator[Finding]:
    if not judged(pod) or uses_rccl(pod):
        return
    data = nccl()
    image = pod.worker.image if pod.worker is not None else None
    release = nccl_release(image) if isinstance(image, str) else None
    for variable in pod.ranks_env.variables.values():
        gone = data["removed"].get(variable.name)
        if gone is not None:
            last, successor = gone
            if release is not None and release < _pair(last):
                continue
            yield pod.finding(
                name_of(variable)[0],
                f"No NCCL after {last} reads '{variable.name}'; there the setting has no effect.",
                help=f"Use '{successor}', or remove it." if successor else "Remove it.",
                severity=None if _pair(last) < (2, 18) else Severity.NOTE,
            )
            continue
        renamed = data["deprecated"].get(variable.name)
        if renamed is not None:
            yield pod.finding(
                name_of(variable)[0],
                f"'{variable.name}' is still read, under a newer name as well.",
                help=f"Use '{renamed}'." if renamed else "Leave it out: NCCL chooses by itself.",
                severity=Severity.NOTE,
            )


def _pair(release: str) -> tuple[int, int]:
    major, minor = release.split(".")[:2]
    return int(major), int(minor)


@rule(
    "NCCL003",
    "invalid-value",
    Severity.WARNING,
    on=JobView,
    also=(Severity.ERROR, Severity.NOTE),
    yields_on_line=("DOC003", "DOC008", "IB003", "EFA007", "TCPXO028", "TCPX028", "GIB028"),
)
def invalid_value(job: JobView) -> Iterator[Finding]:
    """Values are ones that NCCL reads as what they say.

    NCCL checks little: a word where it expects a number is 0, a unit behind a number is dropped, an unknown level or
    word is ignored in silence. An unknown algorithm or protocol ends the start from NCCL 2.24 on, and so does an NCCL_NET
    that is not one network's own name. A number that is too large for its field becomes another one on the way to the
    card.

    Fix: numbers without units and within their range, 1 and 0 for on and off, words as NCCL has them.
    Silent: empty values of numbers (the default stays), octal and hexadecimal numbers, blanks around a number, values
    out of view, NCCL_IB_DISABLE (IB003), variables of NCCL's InfiniBand where a plugin takes its place.
    Bad: a word for a switch (nccl-jobset)
        ~ name: NCCL_DEBUG => name: NCCL_NVLS_ENABLE
        ~ value: WARN => value: "true" # <-
    Bad: a unit (nccl-mpijob)
        ~ -x NCCL_SOCKET_IFNAME=eth0 => -x NCCL_BUFFSIZE=8M # <-
    Bad: an algorithm that does not exist (efa-pytorchjob)
        ~ name: NCCL_DEBUG => name: NCCL_ALGO
        ~ value: WARN => value: auto # <-
    Bad: a level in lower case (efa-lws)
        ~ export FI_EFA_USE_DEVICE_RDMA=1 => export NCCL_NET_GDR_LEVEL=phb # <-
    Bad: a timeout beyond InfiniBand's five bits (nccl-mpijob)
        ~ -x NCCL_SOCKET_IFNAME=eth0 => -x NCCL_IB_TIMEOUT=40 # <-
    Bad: a policy that does not exist (nccl-jobset)
        ~ name: NCCL_DEBUG => name: NCCL_NETDEVS_POLICY
        ~ value: WARN => value: MAX # <-
    Bad: two names where one is taken (nccl-mpijob)
        ~ -x NCCL_SOCKET_IFNAME=eth0 => -x NCCL_NET=IB,Socket # <-
    Good: the largest timeout (nccl-mpijob)
        ~ -x NCCL_SOCKET_IFNAME=eth0 => -x NCCL_IB_TIMEOUT=31
    Good: lists as both the old and the new releases read them (efa-pytorchjob)
        ~ name: NCCL_DEBUG => name: NCCL_ALGO
        ~ value: WARN => value: ring,tree
    Good: a number in hexadecimal (nccl-mpijob)
        ~ -x NCCL_SOCKET_IFNAME=eth0 => -x NCCL_BUFFSIZE=0x800000
    Source: NVIDIA/nccl@73cf112, 593de54, 178b6b7, 0b083e5 (2.30.7, 2.27.7, 2.22.3, 2.18.6) src/misc/param.cc,
        graph/paths.cc, graph/tuning.cc, graph/topo.cc, transport/net_ib, debug.cc; docs/userguide/source/env.rst.
    """
    yield from once(job, _invalid)


def _invalid(pod: WorkerPod) -> Iterator[Finding]:
    worker = pod.worker
    if worker is None or not judged(pod):
        return
    image = worker.image
    release = nccl_release(image) if isinstance(image, str) else None
    for variable in pod.ranks_env.variables.values():
        value = text_of(variable.value)
        if value is None:
            continue
        # The level is asked for where it decides, so that its absence is not taken for a doubt elsewhere.
        debug = pod.ranks_env.value("NCCL_DEBUG") if variable.name == "NCCL_DEBUG_SUBSYS" else None
        reading = _read(variable.name, value, release, debug if isinstance(debug, str) else None)
        if reading is None:
            number = integer(value) if exact_integer(value) else None
            # A plugin in place of NCCL's own InfiniBand reads none of its variables; RCCL has limits of its own.
            unread = variable.name.startswith("NCCL_IB_") and family(pod) in _OWN_TRANSPORT
            unread = unread or uses_rccl(pod)
            reading = beyond(variable.name, number) if number is not None and not unread else None
        if reading is not None:
            yield pod.finding(variable.place, reading.message, help=reading.help, severity=reading.severity)


def _read(name: str, value: str, release: tuple[int, int] | None, debug: str | None) -> Reading | None:
    data = nccl()
    if name == "NCCL_P2P_DISABLE":
        return _one(name, value)
    if name in data["levels"]["of"]:
        return _level(name, value, release)
    if name in data["exact words"]:
        words = data["exact words"][name]
        if value in words or value == "":
            return None
        return Reading(
            f"'{name}={value}' is ignored: NCCL knows {_or(words)} there, in capitals.",
            f"Write {_or(words)}.",
            Severity.WARNING,
        )
    if name == "NCCL_DEBUG":
        return _debug(name, value, release)
    if name == "NCCL_DEBUG_SUBSYS":
        return _subsystems(name, value, debug)
    if name in data["lists"]:
        return _list(name, value, release)
    if name in data["policies"]:
        return unknown_policy(name, value)
    if name == "NCCL_NET":
        return no_network(value)
    if name == "NCCL_NET_PLUGIN":
        return no_plugin(value, release)
    if name == "NCCL_IB_ADDR_RANGE" and value and "/" not in value:
        return Reading(
            f"NCCL ignores '{name}={value}': it is no range without a '/' and the length of its prefix.",
            "Write a range as 10.0.0.0/8, or remove the variable.",
            Severity.WARNING,
        )
    if name in _integers() and name != "NCCL_IB_DISABLE" and not (exact_integer(value) and integer(value) is not None):
        return _number(name, value)
    return None


def _integers() -> frozenset[str]:
    return frozenset(nccl()["integers"])


def _number(name: str, value: str) -> Reading | None:
    number = integer(value)
    if value == "" or number is None:
        if value == "":
            return None
        return Reading(
            f"'{name}={value}' is beyond NCCL's numbers; the default stays.",
            "Write a smaller number, or remove the variable.",
            Severity.WARNING,
        )
    if value.strip()[:1].isdigit() or value.strip()[:1] in "+-":
        return Reading(
            f"NCCL reads '{name}={value}' as {number}: what follows the number is dropped.",
            "Write the whole number, without a unit.",
            Severity.WARNING,
        )
    wanted = "1" if value.lower() in ("true", "yes", "on", "y", "enable", "enabled") else "0"
    return Reading(
        f"NCCL reads '{name}={value}' as {number}: a word is no number there.",
        f'Write "{wanted}".' if value.isalpha() else "Write a number.",
        Severity.WARNING,
    )


def _one(name: str, value: str) -> Reading | None:
    number = integer(value)
    if value == "" or number in (0, 1):
        said = value.strip().lower()
        if said in ("", "0", "1") or exact_integer(value) or said in ("false", "no", "off", "n"):
            return None
    if number == 1:
        return None
    return Reading(
        f"'{name}={value}' does not switch P2P off: NCCL does so for 1 alone.",
        'Write "1", or remove the variable.',
        Severity.WARNING,
    )


def _level(name: str, value: str, release: tuple[int, int] | None) -> Reading | None:
    levels = nccl()["levels"]
    if value == "" or level(value, release) is not None or (name.endswith("MERGE_LEVEL") and value in levels["ports"]):
        return None
    upper = value.strip().upper()
    known = upper in levels["words"]
    return Reading(
        f"NCCL ignores '{name}={value}': it is none of its distances, which are in capitals; the default stays.",
        f"Write '{upper}'." if known else f"Write one of {', '.join(levels['words'])}.",
        Severity.WARNING,
    )


def _debug(name: str, value: str, release: tuple[int, int] | None) -> Reading | None:
    data = nccl()
    if debug_level(value) is None:
        if value.strip().upper() in data["no debug"]:
            return None
        return Reading(
            f"'{name}={value}' is no level of NCCL; nothing is logged, warnings neither.",
            f"Write {_or(['WARN', 'INFO', 'TRACE'])}.",
            Severity.WARNING,
        )
    if value != value.strip() and (release is None or release < (2, 30)):
        return Reading(
            f"'{name}' has a blank or a line end in its value; NCCL before 2.30.7 then logs nothing.",
            "Remove it.",
            Severity.NOTE,
        )
    return None


def _subsystems(name: str, value: str, debug: str | None) -> Reading | None:
    if value == "" or (debug is not None and debug_level(debug) not in ("INFO", "TRACE", "ABORT")):
        return None
    known = nccl()["subsystems"]
    words = [w for w in value.removeprefix("^").split(",") if w]
    bad = next((w for w in words if w.strip().upper() not in known or w != w.strip()), None)
    if bad is None:
        return None
    return Reading(
        f"'{bad.strip() or bad}' in '{name}' is no subsystem of NCCL as it stands; NCCL 2.30.7 drops the whole value for it, older ones the word.",
        "Write a comma list without blanks, with one ^ in front at most.",
        Severity.NOTE,
    )


def _list(name: str, value: str, release: tuple[int, int] | None) -> Reading | None:
    words = nccl()["lists"][name]
    since = _pair(nccl()["strict lists since"])
    bad = unknown_words(name, value)
    what = "algorithm" if name == "NCCL_ALGO" else "protocol"
    advice = f"Write a list of {', '.join(words)}, without blanks."
    newer, older = chosen(name, value, strict=True), chosen(name, value, strict=False)
    nothing = older is not None and not older["all"]
    if release is not None and release < since:
        if ":" in value or ";" in value:
            return Reading(
                f"'{name}={value}' is a form of NCCL 2.24; the image's {release[0]}.{release[1]} reads no {what} in it.",
                advice,
                Severity.ERROR if nothing else Severity.WARNING,
            )
        if not bad:
            return None
        end = f"no {what} is left and NCCL does not start." if nothing else "the word is skipped without a message."
        return Reading(
            f"'{bad[0]}' in '{name}' is no {what} of NCCL; {end}",
            advice,
            Severity.ERROR if nothing else Severity.WARNING,
        )
    if newer is not None:
        return None
    certain = release is not None or nothing
    word = bad[0] if bad else value
    return Reading(
        f"'{word}' in '{name}' is no {what} of NCCL; from NCCL 2.24 on the ranks do not start.",
        advice,
        Severity.ERROR if certain else Severity.WARNING,
    )


def _or(words: list[str]) -> str:
    return " or ".join(words)


@rule("NCCL004", "debug-left-on", Severity.NOTE, on=JobView)
def debug_left_on(job: JobView) -> Iterator[Finding]:
    """NCCL's log is turned up for a short run, not for a whole training.

    INFO prints thousands of lines for each rank at the start and TRACE for each call. For the check whether the fabric
    is in use INFO is right, in a run of its own.

    Fix: write WARN once the fabric is seen to be in use.
    Silent: benchmarks and other probes, levels below INFO.
    Bad: left on (nccl-jobset)
        ~ value: WARN => value: INFO # <-
    Bad: in the launcher's own env, from where mpirun hands it on (nccl-mpijob)
        @@ -x NCCL_DEBUG
        ~ value: WARN => value: TRACE # <-
    Good: a benchmark (nccl-mpijob)
        ~ python forecast.py => /opt/nccl-tests/build/all_reduce_perf -b 8 -e 8G
        ~ value: WARN => value: INFO
    Good: warnings (nccl-jobset)
        ~ value: WARN => value: VERSION
    Source: NVIDIA/nccl@5067397 docs/userguide/source/env.rst; NVIDIA AICR, "Attaching a Training Workload to the
        Cluster Fabric".
    """
    yield from once(job, _left_on)


def _left_on(pod: WorkerPod) -> Iterator[Finding]:
    worker = pod.worker
    if worker is None or not judged(pod) or pod.site.pods is None:
        return
    starts = [worker.start] if not pod.by_ssh else [c.start for p in pod.launchers for c in p.main_containers]
    if not starts or any(s.probe for s in starts) or not any(s.starts_ranks for s in starts):
        return
    variable = pod.ranks_env.get("NCCL_DEBUG")
    value = text_of(variable.value) if variable is not None else None
    if variable is None or value is None or debug_level(value) not in ("INFO", "TRACE"):
        return
    yield pod.finding(
        variable.place,
        f"'NCCL_DEBUG={value}' in a training job prints thousands of lines for each rank.",
        help="Write WARN once the fabric is seen to be in use.",
    )


def variable_of(pod: WorkerPod, name: str) -> tuple[Variable, str] | None:
    """A variable of the ranks whose value can be judged."""
    variable = pod.ranks_env.get(name)
    value = text_of(variable.value) if variable is not None else None
    return (variable, value) if variable is not None and value is not None else None

"""RUN: the address at which the ranks meet."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from fabriclint.group import GroupView, RoleGroup
from fabriclint.group.service import ServiceView, serves_others, service_of
from fabriclint.group.started import ADDRESS_VARIABLES, LOCAL_HOSTS, NO_HOST, Started
from fabriclint.launch import Certainty, Launcher
from fabriclint.node import Unknown, open_value
from fabriclint.rule import Finding, Place, Related, Severity, rule

#: Stores that one of the ranks keeps itself.
_SERVED = ("c10d", "static")
#: Launchers whose nodes meet at one host that they are told of.
_MEETING = ("torchrun", "accelerate", "vllm", "sglang")
#: What pods that lead or follow are called in other kinds.
_ROLES = r"master|worker|chief|ps|launcher|leader|head|node|rank|trainer"
_PLAIN = re.compile(r"[a-z0-9]([-a-z0-9.]*[a-z0-9])?\.?")
#: Options by which programs of the user's own take the address.
_OPTION = re.compile(
    r"--?(master[-_](addr|address|ip|host)|dist[-_](url|init[-_]addr)|init[-_]method|coordinator[-_]addr(ess)?)"
)


class _Address(NamedTuple):
    """An address as it is written: its host and port, where it stands, and what it is for.

    `served`: one of the ranks serves it, so that it has to lead to a rank. `started`: ranks are started there by name.
    """

    host: str
    place: Place
    port: str | None = None
    served: bool = True
    started: bool = False


@rule(
    "RUN001",
    "rendezvous-unresolvable",
    Severity.ERROR,
    on=GroupView,
    also=(Severity.WARNING, Severity.NOTE),
    yields_to=("RUN008", "RUN015"),
    yields_on_line=("DOC003", "DOC004", "RUN004", "RUN006", "RUN017", "TRN014"),
)
def rendezvous_unresolvable(group: GroupView) -> Iterator[Finding]:
    """The address at which the ranks meet is the name of a pod or Service of the job.

    Pods have names in DNS only where a headless Service carries them: HOST.SUBDOMAIN for most kinds, a Service for each
    pod with the training-operator. A bare host name, another subdomain, or an index that is never made does not
    resolve, and every rank but the first waits until it times out. The same holds for the hosts that mpirun, a hostfile
    or `ray start --address` name. A Service must select the job's pods, and, when it is not headless, carry the port.
    torchrun with `--rdzv-backend=c10d` and no endpoint, or with `--standalone`, meets at localhost: each node waits for
    the others by itself. So do deepspeed's ranks where the hostfile that it is told of is one that nothing makes: that of
    an MPIJob is in no other kind's pods.

    Fix: write the name that the controller makes; the help has it.

    Silent: Services that are not in view, or that may lead to other pods (a store of their own); names that do not
    look like this job's; addresses that the controller writes, or that come from a field of the pod or a ConfigMap; open
    values; jobs of one pod; hostfiles that a mount, the start text or the image may bring; a Service of the user's own, not in view, that is to carry the pods' names; the hosts of an
    MPIJob below its Service (a bare worker name is a note); roles that are told of different addresses; torchrun whose
    range of nodes begins with one.

    Bad: a JobSet's pod by its bare host name (run-jobset)
        ~ [python, forecast.py] => [torchrun, --nnodes=2, --nproc-per-node=1, --rdzv-backend=c10d, "--rdzv-endpoint=weather-ranks-0-0:29400", forecast.py]  # <-
    Bad: the replicated job has another name (run-jobset)
        - command: [python, forecast.py]
        + command: [python, forecast.py]
        + env:
        +   - name: MASTER_ADDR
        +     value: weather-workers-0-0.weather  # <-
    Bad: a third worker of two (run-pytorchjob)
        @@ Worker:
        ~ [torchrun, train.py] => [torchrun, --master-addr=captions-worker-3, --master-port=23456, train.py]  # <-
    Bad: the host of an elastic PyTorchJob is no pod of it (near-workers)
        ~ rdzvHost: stars-worker-0 => rdzvHost: stars-master-0  # <-
    Bad: an Indexed Job whose pods stand below another name (pod-job)
        ~ "--rdzv-endpoint=train-0.train:29500" => "--rdzv-endpoint=train-0.trainer:29500"  # <-
    Bad: the Service below which a StatefulSet's pods stand selects others (near-set)
        @@ kind: Service
          selector:  # <-
        -   app: engine
        +   app: engines
    Bad: the Service of a LeaderWorkerSet carries another port (near-lws)
        ~ $(LWS_LEADER_ADDRESS):29400 => answers-meeting:29500
        @@ kind: Service
          ports:  # <-
    Bad: a hostfile names a third worker of an MPIJob's two (run-mpijob)
        - command: [mpirun, -np, "2", ./reduce]
        + command: [bash, -c]
        + args:
        +   - |
        +     cat > /tmp/hosts <<EOF
        +     reduce-worker-1.reduce slots=1
        +     reduce-worker-2.reduce slots=1  # <-
        +     EOF
        +     mpirun -np 2 --hostfile /tmp/hosts ./reduce
    Bad: an MPIJob's hostfile in a PyTorchJob (run-pytorchjob)
        @@ Master:
        ~ [torchrun, train.py] => [deepspeed, --hostfile=/etc/mpi/hostfile, train.py]  # <-
    Bad: deepspeed in each pod, and no hostfile (run-pytorchjob)
        @@ Worker:
        ~ [torchrun, train.py] => [deepspeed, train.py]  # <-
    Bad: c10d without endpoint (run-jobset)
        ~ [python, forecast.py] => [torchrun, --nnodes=2, --nproc-per-node=1, --rdzv-backend=c10d, forecast.py]  # <-
    Good: the first pod below the JobSet's subdomain, as public JobSets name it (run-jobset)
        ~ [python, forecast.py] => [torchrun, --nnodes=2, --nproc-per-node=1, --rdzv-backend=c10d, "--rdzv-endpoint=weather-ranks-0-0.weather:29400", forecast.py]
    Good: a Service that another file may hold (run-jobset)
        ~ [python, forecast.py] => [torchrun, --nnodes=2, --nproc-per-node=1, --rdzv-backend=c10d, "--rdzv-endpoint=weather-rendezvous:29400", forecast.py]
    Good: a Service carries each pod's own name (run-pytorchjob)
        @@ Worker:
        ~ [torchrun, train.py] => [torchrun, --master-addr=captions-master-0, --master-port=23456, train.py]
    Good: etcd for an elastic PyTorchJob, as in public jobs on EFA (near-workers)
        ~ rdzvBackend: c10d => rdzvBackend: etcd-v2
        ~ rdzvHost: stars-worker-0 => rdzvHost: etcd
    Good: a hostfile that a volume brings (run-pytorchjob)
        @@ Master:
        ~ [torchrun, train.py] => [deepspeed, --hostfile=/etc/mpi/hostfile, train.py]
              resources:
                limits:
                  nvidia.com/gpu: 1
        +     volumeMounts:
        +       - name: hosts
        +         mountPath: /etc/mpi
        + volumes:
        +   - name: hosts
        +     configMap:
        +       name: hosts-of-captions
    Good: c10d with an endpoint (pod-job)
        ~ "--rdzv-endpoint=train-0.train:29500" => "--rdzv-endpoint=train-0.train"
    Good: the hosts of an MPIJob by their whole names (run-mpijob)
        ~ [mpirun, -np, "2", ./reduce] => [mpirun, -np, "2", --host, "reduce-worker-0.reduce.bench.svc,reduce-worker-1.reduce.bench.svc", ./reduce]
    Source: torch 2.15.0 distributed/run.py, elastic/rendezvous; deepspeed 0.19 launcher/runner.py; kubernetes-sigs/jobset@f22e565 pkg/controllers;
    kubeflow/trainer@c77ee3f pkg/controller.v1; kubeflow/mpi-operator@101db14 pkg/controller;
    kubernetes/kubernetes@0370912 pkg/controller/endpointslice
    """
    if group.multi_node is not True or (group.suspended and not group.roles):
        return
    findings: dict[tuple[str, str], Finding] = {}
    addresses = list(_addresses(group))
    for found in (
        *_named(group, addresses),
        *_through(group, addresses),
        *_local(group),
        *_unlisted(group),
        *_joined(group),
    ):
        key = (found.message, str(found.severity))
        same = findings.get(key)
        if same is None:
            findings[key] = found
        elif same.place.node is not found.place.node:
            findings[key] = same.with_(related=(*same.related, Related(found.place, "The same here.")))
    yield from findings.values()


def _named(group: GroupView, addresses: list[_Address]) -> Iterator[Finding]:
    """Addresses that name a pod which is not there, or not under that name."""
    for address in addresses:
        fault = _fault(group, address.host)
        if fault is None:
            continue
        what, edit, certain = fault
        if group.own_rendezvous and not certain:
            severity = Severity.NOTE
        elif certain and group.sure_names:
            severity = Severity.ERROR
        else:
            severity = Severity.WARNING
        if address.started:
            says = (
                f"Ranks are to start on '{address.host}' and {what}; the name does not resolve and the launcher stops."
            )
        else:
            says = (
                f"The ranks are to meet at '{address.host}' and {what}; the name does not resolve and they wait until they "
                "time out."
            )
        yield Finding(address.place, says, edit, severity)


def _through(group: GroupView, addresses: list[_Address]) -> Iterator[Finding]:
    """Services in view that the ranks are to meet through, and that do not lead to them."""
    if group.own_rendezvous or not group.ranks_on:
        return
    for address in addresses:
        if not address.served or address.started:
            continue
        service = service_of(group, address.host)
        if service is None or service.elsewhere or service.selector is None:
            continue
        roles = group.ranks_on
        if service.pod is not None:
            if service.name != group.subdomain or not group.user_service or service.headless is not True:
                continue
            roles = [r for r, h in group.hosts() if h.has(service.pod) is not False]
        used = Related(address.place, f"The ranks meet at '{address.host}'.")
        if roles and all(r.selected(service.selector) is False for r in roles):
            if _overlaid(group) or not (service.pod is not None or _meant(group, service)):
                continue
            if service.pod is None and serves_others(group, service.selector):
                continue
            wanted = ", ".join(f"{k}: {getattr(n, 'text', '')}" for k, n in service.selector.fields.items())
            yield Finding(
                Place(service.selector, on_key=True),
                f"The ranks are to meet at '{address.host}' and the Service '{service.name}' selects none of them (they have "
                f"no label '{wanted}'); the address leads nowhere and they wait until they time out.",
                "Select labels of the job's pod template.",
                Severity.WARNING,
                related=(used,),
            )
        elif service.pod is None and service.headless is False and address.port is not None:
            ports = service.ports
            if ports and address.port not in ports and address.port.isdecimal() and all(p.isdecimal() for p in ports):
                yield Finding(
                    Place(service.spec.nearest("ports"), on_key=True),
                    f"The ranks are to meet at port '{address.port}' of the Service '{service.name}', which carries "
                    f"{' and '.join(ports)} only; nothing answers there and they wait until they time out.",
                    f"Add the port {address.port}, or make the Service headless and name the first pod.",
                    Severity.WARNING,
                    related=(used,),
                )


def _meant(group: GroupView, service: ServiceView) -> bool:
    """Whether a Service that selects none of the ranks is plainly meant for them: another may lead to a store of its own.

    It carries the pods' names, or the object itself has the labels that its pods lack, or a value is misspelt.
    """
    selector = service.selector
    if selector is None or service.name == group.subdomain:
        return True
    own = group.workload.manifest.root.mapping("metadata", "labels")
    given = {k: getattr(n, "text", None) for k, n in (own.fields if own is not None else {}).items()}
    if all(given.get(k) == getattr(n, "text", "") for k, n in selector.fields.items()):
        return True
    return any(
        isinstance(label := role.label(k), str) and _misspelt(getattr(n, "text", ""), label)
        for role in group.ranks_on
        for k, n in selector.fields.items()
    )


def _misspelt(text: str, label: str) -> bool:
    from fabriclint.schema.suggest import misspelt

    # Another number is another job, not a slip; short words are often near one another.
    if re.sub(r"\d+", "0", text) == re.sub(r"\d+", "0", label):
        return False
    return misspelt(text, [label], 1 if len(label) < 8 else 2) is not None


def _overlaid(group: GroupView) -> bool:
    """Whether a kustomization may put labels on the pods and into selectors."""
    manifest, lookup = group.workload.manifest, group.pods[0].lookup
    return manifest.overlay is not None or any(
        k.root.at(name) is not None
        for kind in ("Kustomization", "Component")
        for k in lookup.of_kind(group.workload, kind)
        for name in ("commonLabels", "labels", "patches", "patchesStrategicMerge", "transformers")
    )


def _addresses(group: GroupView) -> Iterator[_Address]:
    """The addresses in the start texts and in the environment of the ranks, as the file writes them."""
    unlike = _unlike(group)
    if group.meeting is not None:
        served = group.meeting.backend in _SERVED
        yield from _address(group.meeting.host, group.meeting.place, group.meeting.port, served)
    for role in (*group.launchers, *group.ranks_on):
        for started in role.started:
            said, family = None, None
            main = started.launch.main
            if main is not None and main.launchers:
                launcher = main.launchers[-1]
                fact, family = started.launch.host, launcher.family
                said = fact.string
                port = started.launch.port.value
                served = launcher.backend.value in (*_SERVED, None)
                if said is not None and fact.place is not None and fact.place.source >= 0:
                    at = started.place(fact.place)
                    yield from _address(said, at, str(port) if isinstance(port, int) else None, served)
            yield from _started_on(started)
            yield from _told(started)
            for forwarded in started.launch.forwarded:
                if forwarded.name in ADDRESS_VARIABLES and isinstance(forwarded.value, str):
                    yield from _address(forwarded.value, started.place(forwarded.place))
            if not group.ssh:
                yield from _variables(role, started, said, family, unlike)


def _started_on(started: Started) -> Iterator[_Address]:
    """The hosts that a launcher's words, or a hostfile in view, name; the head that a Ray worker joins."""
    launch = started.launch
    surest = max((p.invocation.certainty for p in launch.programs), default=None)
    for program in launch.programs:
        if program.invocation.certainty != surest:
            continue
        for launcher in program.launchers:
            for host, where in launcher.named:
                for address in _address(host, started.place(where)):
                    yield address._replace(started=True)
            fact = launcher.host
            if launcher.family == "ray start" and program is not launch.main and fact.string and fact.place is not None:
                port = launcher.port.value
                yield from _address(fact.string, started.place(fact.place), str(port) if port is not None else None)


def _told(started: Started) -> Iterator[_Address]:
    """Addresses behind options of programs that are no launchers."""
    for program in started.launch.programs:
        words = program.inner if program.launchers else program.invocation.words
        for index, word in enumerate(words):
            name, equals, _ = word.raw.partition("=")
            if _OPTION.fullmatch(name) is None:
                continue
            said = word.tail(len(name) + 1) if equals else (words[index + 1] if index + 1 < len(words) else None)
            if said is not None and isinstance(said.text, str):
                yield from _address(said.text.removeprefix("tcp://"), started.place(said.place))


def _unlike(group: GroupView) -> set[str]:
    """Variables that roles set to different addresses: such roles do not all meet at one place."""
    values: dict[str, set[str | Unknown]] = {}
    for role in group.ranks_on:
        for started in role.started:
            said = {n: v.value for n, v in started.container.seen_env.variables.items() if n in ADDRESS_VARIABLES}
            for name, value in said.items():
                if value not in LOCAL_HOSTS:
                    values.setdefault(name, set()).add(value)
    return {name for name, some in values.items() if len(some) > 1}


def _variables(
    role: RoleGroup, started: Started, said: str | None, family: str | None, unlike: set[str]
) -> Iterator[_Address]:
    """Addresses in a container's env and exports; one that the controller or a later one replaces counts no more."""
    exported = {e.name: e for e in started.launch.exports if e.name in ADDRESS_VARIABLES and e.name not in unlike}
    if started.launch.programs:
        # What stands before the program's name counts for it alone.
        own = started.launch.programs[-1].invocation.environment
        exported |= {n: a for n, a in own.items() if n in ADDRESS_VARIABLES and n not in unlike}
    for name, assignment in exported.items():
        if (
            isinstance(assignment.value, str)
            and assignment.place is not None
            and _read(name, family, said, assignment.value)
        ):
            yield from _address(assignment.value, started.place(assignment.place), _port(name, started))
    for name, variable in started.container.env.variables.items():
        if name not in ADDRESS_VARIABLES or name in exported or name in unlike or not isinstance(variable.value, str):
            continue
        if name in role.injected and role.sets(started.container):
            continue
        if variable.origin == "env" and _read(name, family, said, variable.value):
            yield from _address(variable.value, variable.place, _port(name, started))


def _port(name: str, started: Started) -> str | None:
    """The port that stands in the variable beside an address."""
    beside = started.container.seen_env.get(name.replace("_ADDR", "_PORT")) if name.endswith("_ADDR") else None
    return beside.value if beside is not None and isinstance(beside.value, str) else None


def _read(name: str, family: str | None, said: str | None, value: str) -> bool:
    """Whether the launcher reads the variable: torchrun does not know MASTER_ADDR, and its own words go first."""
    if family != "torchrun":
        return True
    return (said is not None and said == value.rpartition(":")[0]) or said == value


def _address(text: str, place: Place, port: str | None = None, served: bool = True) -> Iterator[_Address]:
    host = text.strip()
    if open_value(host):
        return
    head, colon, tail = host.rpartition(":")
    if colon and tail.isdecimal():
        host, port = head, tail
    if _PLAIN.fullmatch(host) and not host.replace(".", "").isdecimal() and host not in LOCAL_HOSTS:
        yield _Address(host, place, port, served)


def _fault(group: GroupView, address: str) -> tuple[str, str, bool] | None:
    """Why an address is no name of the job's, the way out, and whether that is certain; None when it may be one."""
    parts = address.rstrip(".").split(".")
    host, rest = parts[0], parts[1:]
    workload = group.workload
    lookup = group.pods[0].lookup if group.pods else None
    if lookup is None or lookup.neighbour(workload, "Service", host) is not None:
        return None
    for role in group.roles:
        numbered = role.if_numbered
        if numbered is None or numbered.has(host) is False or (rest and rest[0] != group.subdomain):
            continue
        way = f"Write 'completionMode: Indexed' in the Job{'' if rest else ', and HOST.SUBDOMAIN here'}."
        return "the Job is not Indexed and its pods' names have no numbers", way, False
    if group.knows(address) is not False:
        return None
    known = [(role, hosts) for role, hosts in group.hosts()]
    made = bool(group.services) or any(h.bare for _, h in known)
    certain = made and not any(r.scalable for r in group.roles)
    right = _right(group)
    for role, hosts in known:
        if hosts.has(host) is False:
            continue
        if group.own_rendezvous and not rest:
            return "that is a pod's host name without its subdomain", f"Write {right}.", False
        if hosts.bare:
            return None if not rest else (f"the pod's Service is not in '{'.'.join(rest)}'", f"Write {right}.", False)
        if not isinstance(group.subdomain, str):
            if group.subdomain is None:
                way = "Set the pods' 'subdomain' to a headless Service, and write HOST.SUBDOMAIN."
                if group.unnamed_by is not None:
                    way = f"Remove '{group.unnamed_by}', or set the pods' 'subdomain' to a headless Service."
                pods = f"the pods of '{role.name}'" if len(group.roles) > 1 else "its pods"
                return f"{pods} have no subdomain", way, False
            return None
        if not rest:
            return (
                "that is a pod's host name without its subdomain",
                f"Write {right or f'{host}.{group.subdomain}'}.",
                certain,
            )
        if rest[0] != group.subdomain:
            return (
                f"the pods stand below '{group.subdomain}', not '{rest[0]}'",
                f"Write {right or f'{host}.{group.subdomain}'}.",
                certain and rest[0] != workload.manifest.namespace,
            )
        return f"the job's namespace is '{workload.manifest.namespace}'", f"Write {host}.{group.subdomain}.", False
    if _of_the_job(group, host, rest):
        return "the job makes no pod of that name", f"Write {right}." if right else "Name a pod of the job.", certain
    return None


def _of_the_job(group: GroupView, host: str, rest: list[str]) -> bool:
    """Whether a host name that no pod has can be meant for none but one of this job's pods."""
    name = group.workload.manifest.name
    if name is None or any(role.hosts is None for role in group.roles):
        return False
    under = bool(rest) and isinstance(group.subdomain, str) and rest[0] == group.subdomain
    for role, hosts in group.hosts():
        shape = re.escape(hosts.pattern).replace(r"\{\}", r"\d+")
        if hosts.counts and re.fullmatch(shape, host) and not role.scalable and (under or hosts.bare):
            return True
    shapes = [re.escape(hosts.pattern).replace(r"\{\}", r"\d+") for _, hosts in group.hosts()]
    if any(re.fullmatch(shape, host) for shape in shapes):
        return False  # one more of its pods: a scale command may make it
    if group.user_service and not _its_own_service(group, host, rest):
        return False
    if not rest:
        # Whatever else has a name of its own in DNS has no number behind it.
        named = bool(group.services) or any(h.bare for _, h in group.hosts())
        return named and re.fullmatch(rf"{re.escape(name)}(-({_ROLES}))?-\d+", host) is not None
    return under and host.startswith(f"{name}-") and re.search(r"-\d+$", host) is not None


def _its_own_service(group: GroupView, host: str, rest: list[str]) -> bool:
    """Whether the user's Service below which a host is to stand is in view and has the names of this job's pods alone."""
    service = service_of(group, ".".join((host, *rest)))
    if service is None or service.pod is None or service.selector is None or service.elsewhere:
        return False
    chosen = all(role.selected(service.selector) is True for role in group.ranks_on)
    return chosen and not serves_others(group, service.selector)


def _right(group: GroupView) -> str:
    """The first pod's address, by the name that resolves."""
    for role, hosts in group.hosts():
        if role not in group.ranks_on:
            continue
        if hosts.bare:
            return f"'{hosts.first}'"
        if isinstance(group.subdomain, str):
            return f"'{hosts.first}.{group.subdomain}'"
    return ""


def _local(group: GroupView) -> Iterator[Finding]:
    """Launchers on several nodes that meet at localhost on each, or nowhere."""
    found: list[tuple[RoleGroup, Started, Launcher]] = []
    for role in group.ranks_on:
        for started in role.started:
            main = started.launch.main
            if (
                main is None
                or not main.launchers
                or main.invocation.certainty != max(p.invocation.certainty for p in started.launch.programs)
            ):
                continue
            launcher = main.launchers[-1]
            nodes = launcher.nodes.value
            low = nodes[0] if isinstance(nodes, tuple) else nodes
            if launcher.family not in _MEETING or launcher.unclear or launcher.refused:
                continue
            nowhere = (*LOCAL_HOSTS, NO_HOST) if launcher.family == "accelerate" else LOCAL_HOSTS
            if isinstance(low, int) and low > 1 and launcher.host.string in nowhere:
                found.append((role, started, launcher))
    everywhere = len({id(role) for role, _, _ in found}) == len(group.ranks_on)
    for role, started, launcher in found:
        several = isinstance(role.pods, int) and role.pods > 1
        if not (several or everywhere):
            continue
        place = next(
            (
                started.place(f.place)
                for f in (launcher.standalone, launcher.host, launcher.backend, launcher.nodes)
                if f.place is not None and f.place.source >= 0
            ),
            started.container.name_place,
        )
        written = _beside_words(group, started, launcher)
        if launcher.standalone.value == 1:
            what = "torchrun is started with '--standalone' for several nodes and meets at 'localhost' on each"
            edit = "Remove '--standalone' and write --rdzv-backend=c10d and --rdzv-endpoint=HOST:PORT."
        elif written is not None:
            place = written
            what = f"{launcher.family}'s nodes are to meet at '{launcher.host.string}', which is another place on each"
            edit = "Write the first pod's name."
        elif launcher.family == "accelerate" and launcher.host.string == NO_HOST:
            what = (
                f"accelerate is told of {launcher.nodes.value} machines and of no address, and looks for a host 'None'"
            )
            edit = "Add --main_process_ip with the first pod's name."
        elif launcher.host.place is not None and launcher.host.place.source >= 0:
            what = f"{launcher.family}'s nodes are to meet at '{launcher.host.string}', which is another place on each"
            edit = "Write the first pod's name."
        elif launcher.family != "torchrun":
            continue
        elif launcher.backend.string == "c10d":
            what = "torchrun's c10d has no '--rdzv-endpoint' and meets at 'localhost:29400' on each node"
            edit = "Add --rdzv-endpoint=HOST:PORT with the first pod's name; c10d reads no master address."
        else:
            what = "torchrun is told of several nodes and of no address, and meets at '127.0.0.1' on each"
            edit = "Add --rdzv-backend=c10d and --rdzv-endpoint=HOST:PORT; torchrun does not read MASTER_ADDR."
        right = _right(group)
        if right:
            edit += f" The first pod is {right}."
        yield Finding(place, f"{what}; every node waits for the others by itself.", edit, Severity.ERROR)


def _joined(group: GroupView) -> Iterator[Finding]:
    """Ray workers that join a head at their own host, or at a port that the head does not have."""
    heads: list[tuple[RoleGroup, Launcher]] = []
    workers: list[tuple[RoleGroup, Started, Launcher]] = []
    for role in group.roles:
        for started in role.started:
            for program in started.launch.programs:
                for one in program.launchers:
                    if one.family != "ray start" or one.unclear:
                        continue
                    if one.head:
                        heads.append((role, one))
                    elif program.invocation.certainty > Certainty.MAYBE and one.host.place is not None:
                        workers.append((role, started, one))
    ports = {6379 if h.port.value is None else h.port.value for _, h in heads}
    for role, started, one in workers:
        host, port = one.host, one.port
        if any(r is role for r, _ in heads) or host.place is None:
            continue
        if host.string in LOCAL_HOSTS:
            yield Finding(
                started.place(host.place),
                f"Ray is to join a head at '{host.string}', which is this pod itself; it finds none and the pod stays outside "
                "the cluster.",
                f"Write the head's address{f', {right}' if (right := _right(group)) else ''}.",
            )
        elif len(ports) == 1 and isinstance(port.value, int) and isinstance(first := next(iter(ports)), int):
            known = host.string is None or group.knows(host.string) is True
            if port.value != first and known:
                yield Finding(
                    started.place(host.place),
                    f"Ray is to join a head at port {port.value} and the head listens at {first}; nothing answers there and "
                    "the pod stays outside the cluster.",
                    f"Write port {first}.",
                    Severity.WARNING,
                )


def _unlisted(group: GroupView) -> Iterator[Finding]:
    """Launchers that read their hosts from a file which nothing in the job makes."""
    from fabriclint.group.host_lists import unmade_lists

    for found in unmade_lists(group):
        then = "finds no file and ends" if found.ends else "finds no file and starts ranks in its own pod alone"
        family = "deepspeed" if found.launcher.family == "deepspeed" else "mpirun"
        if found.named:
            says = f"{family} is to read its hosts from '{found.path}', which only {found.made_by} is given; it {then}."
        else:
            says = f"deepspeed is told of no hosts and looks for '{found.path}', which nothing here makes; it {then}."
        folder = found.path.rpartition("/")[0]
        edit = f"Mount a file with a line 'HOST slots=N' for each pod at '{folder}'{found.other_way}"
        if group.gives_address and family == "deepspeed":
            edit = f"Start each pod's ranks with torchrun, which reads what {group.maker} sets"
        yield Finding(found.place, says, f"{edit}.", Severity.WARNING)


def _beside_words(group: GroupView, started: Started, launcher: Launcher) -> Place | None:
    """Where torchrun's address is written when it does not stand in its words: the kind's own field, or a variable."""
    if launcher.host.place is not None and launcher.host.place.source >= 0:
        return None
    host = launcher.host.string
    if group.meeting is not None and group.meeting.host == host:
        return group.meeting.place
    for name in ("PET_RDZV_ENDPOINT", "PET_MASTER_ADDR"):
        given = started.container.env.get(name)
        if given is not None and isinstance(given.value, str) and host in (given.value, given.value.rpartition(":")[0]):
            return given.place
    return None

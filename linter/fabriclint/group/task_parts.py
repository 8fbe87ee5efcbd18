"""What Volcano's webhook asks of the tasks of a job.

Source: volcano-sh/volcano@0a56ed3 (v1.15.1) pkg/webhooks/admission/jobs/validate.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from fabriclint.finding import Place
from fabriclint.group import Refusal
from fabriclint.group.volcano import arguments
from fabriclint.kinds import number
from fabriclint.node import Mapping, Node, Scalar, Sequence, Unknown, open_value

if TYPE_CHECKING:
    from fabriclint.group.refusals import Checked

_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")


def _spec(c: Checked) -> Mapping | None:
    return c.root.mapping(*c.row["spec"].strip("/").split("/"))


def _tasks(spec: Mapping) -> list[tuple[Mapping, Scalar | None]]:
    return [(t, t.scalar("name")) for t in spec.mappings("tasks")]


def _complete(spec: Mapping) -> bool:
    """Whether all tasks stand in the file as mappings."""
    listed = spec.at("tasks")
    return isinstance(listed, Sequence) and all(isinstance(i, Mapping) for i in listed.items)


def names(c: Checked) -> Iterator[Refusal]:
    """Task names are labels, and no two are the same."""
    spec = _spec(c)
    seen: set[str] = set()
    for _, node in _tasks(spec) if spec is not None else []:
        if node is None or not isinstance(node.value, str) or node.open:
            continue
        if node.value in seen:
            yield c.refusal(
                node,
                what=f"A second task is named '{node.value}'",
                words=f"duplicated task name {node.value}",
                edit="Give each task a name of its own.",
            )
        elif _LABEL.fullmatch(node.value) is None:
            yield c.refusal(
                node,
                what=f"The task name '{node.value}' is no DNS label",
                words="a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-'",
                edit="Use lower-case letters, digits and '-' only.",
            )
        seen.add(node.value)


def counts(c: Checked) -> Iterator[Refusal]:
    """minAvailable asks for no more pods than there are; partitions make up the replicas."""
    spec = _spec(c)
    if spec is None or not _complete(spec):
        return
    total: int | Unknown = 0
    for task, name in _tasks(spec):
        replicas = number(task.at("replicas"), 0)
        shown = name.text if name is not None else "default"
        if isinstance(replicas, Unknown) or isinstance(total, Unknown):
            total = replicas if isinstance(replicas, Unknown) else total
            continue
        total += replicas
        at, least = task.at("minAvailable"), number(task.at("minAvailable"), 0)
        if at is not None and not isinstance(least, Unknown) and least > replicas:
            yield c.refusal(
                at,
                what=f"minAvailable '{least}' of the task '{shown}' is above its {replicas} replicas",
                words=f"'minAvailable' is greater than 'replicas' in task: {shown}",
                edit="Lower 'minAvailable', or raise 'replicas'.",
            )
        parts = number(task.at("partitionPolicy", "totalPartitions"), 0)
        each = number(task.at("partitionPolicy", "partitionSize"), 0)
        if (
            task.mapping("partitionPolicy") is not None
            and isinstance(parts, int)
            and isinstance(each, int)
            and parts * each != replicas
        ):
            yield c.refusal(
                Place(task.fields["partitionPolicy"], on_key=True),
                what=f"{parts} partitions of {each} pods are not the {replicas} replicas of the task '{shown}'",
                words="'Replicas' are not equal to TotalPartitions*PartitionSize",
                edit="Make totalPartitions x partitionSize equal to 'replicas'.",
            )
    at, least = spec.at("minAvailable"), number(spec.at("minAvailable"), 0)
    if at is not None and not isinstance(total, Unknown) and not isinstance(least, Unknown) and least > total:
        yield c.refusal(
            at,
            what=f"minAvailable is '{least}', but the tasks have {total} pods in all",
            words="job 'minAvailable' should not be greater than total replicas in tasks",
            edit=f"Lower 'minAvailable' to at most {total}, or raise the tasks' replicas.",
        )


def plugins(c: Checked) -> Iterator[Refusal]:
    """Plugins are known, and the mpi plugin finds its two tasks."""
    spec = _spec(c)
    given = spec.mapping("plugins") if spec is not None else None
    if spec is None or given is None:
        return
    for name, node in given.fields.items():
        if name not in c.row["one of"] and not open_value(name):
            yield c.refusal(
                Place(node, on_key=True),
                what=f"There is no job plugin '{name}'",
                words=f"unable to find job plugin: {name}",
                edit=f"Use one of {', '.join(c.row['one of'])}.",
            )
    mpi = arguments(spec, "mpi")
    if isinstance(mpi, dict) and _complete(spec):
        there = [n.text for _, n in _tasks(spec) if n is not None]
        if any(open_value(t) for t in there):
            return
        for role in ("master", "worker"):
            wanted = mpi.get(role) or role
            if wanted not in there:
                yield c.refusal(
                    Place(given.fields["mpi"], on_key=True),
                    what=f"The mpi plugin looks for a task '{wanted}', and there is none",
                    words=f"The specified mpi {role} task was not found",
                    edit=f"Name a task '{wanted}', or give the plugin '--{role}=' with the task's name.",
                )
                return


def policies(c: Checked) -> Iterator[Refusal]:
    """Policies name events and actions that there are, each event once, and an exit code other than 0."""
    spec = _spec(c)
    if spec is None:
        return
    for holder in (spec, *spec.mappings("tasks")):
        seen: set[str] = set()
        for policy in holder.mappings("policies"):
            yield from _policy(c, policy, seen)


def _policy(c: Checked, policy: Mapping, seen: set[str]) -> Iterator[Refusal]:
    code, action = policy.at("exitCode"), policy.scalar("action")
    events = [n for n in (policy.at("event"), *_items(policy.at("events"))) if isinstance(n, Scalar) and n.value]
    if any(e.open for e in events) or (action is not None and action.open):
        return
    if code is not None and events:
        words = "must not specify event and exitCode simultaneously"
        yield c.refusal(
            code, what="A policy has both an event and an exitCode", words=words, edit="Keep one of the two."
        )
    elif number(code, 1) == 0:
        words = "0 is not a valid error code"
        yield c.refusal(code or policy, what="A policy waits for exit code '0'", words=words, edit="Use another code.")
    for event in events:
        if event.text not in c.row["events"]:
            edit = f"Use one of {', '.join(c.row['events'])}."
            yield c.refusal(event, what=f"There is no event '{event.text}'", words="invalid policy event", edit=edit)
        elif event.text in seen:
            words = f"duplicate event {event.text}  across different policy"
            edit = "Take one of the two policies out."
            yield c.refusal(event, what=f"A second policy is for the event '{event.text}'", words=words, edit=edit)
        seen.add(event.text)
    if action is not None and action.value and events and action.text not in c.row["actions"]:
        edit = f"Use one of {', '.join(c.row['actions'])}."
        yield c.refusal(action, what=f"There is no action '{action.text}'", words="invalid policy action", edit=edit)


def _items(node: Node | None) -> list[Node]:
    return node.items if isinstance(node, Sequence) else []


def depends_on(c: Checked) -> Iterator[Refusal]:
    """dependsOn names tasks that are there, and makes no circle."""
    spec = _spec(c)
    if spec is None or not _complete(spec):
        return
    waits: dict[str, list[tuple[str, Node]]] = {}
    for task, name in _tasks(spec):
        if name is None or name.open:
            return
        listed = task.sequence("dependsOn", "name")
        items = listed.items if listed is not None else []
        waits[name.text] = [(i.text, i) for i in items if isinstance(i, Scalar) and isinstance(i.value, str)]
    for name_, others in waits.items():
        for other, node in others:
            if open_value(other):
                return
            if other not in waits or _reaches(waits, other, name_, set()):
                missing = other not in waits
                yield c.refusal(
                    node,
                    what=f"The task '{name_}' depends on '{other}', which "
                    + ("is not there" if missing else "in turn depends on it"),
                    words="job has dependencies between tasks, but doesn't form a directed acyclic graph(DAG)",
                    edit="Name a task that is there." if missing else "Take one of the two dependencies out.",
                )
                return


def _reaches(waits: dict[str, list[tuple[str, Node]]], start: str, goal: str, seen: set[str]) -> bool:
    if start == goal:
        return True
    if start in seen:
        return False
    seen.add(start)
    return any(_reaches(waits, other, goal, seen) for other, _ in waits.get(start, []))


def pod_names(c: Checked) -> Iterator[Refusal]:
    """Each task's pod name, made of the job's and the task's, fits a label."""
    node = c.root.at("metadata", "name")
    if not isinstance(node, Scalar) or not isinstance(node.value, str) or node.open:
        return
    spec = _spec(c)
    for index, (_, task) in enumerate(_tasks(spec) if spec is not None else []):
        if task is None or not isinstance(task.value, str) or task.open:
            continue
        made = f"{node.value}-{task.value}-{index}"
        if len(made) > 63:
            over = len(made) - 63
            yield c.refusal(
                node,
                what=f"The name '{node.value}' makes the pod name '{made}' of {len(made)} characters",
                words="name part must be no more than 63 bytes",
                edit=f"Shorten the job's or the task's name by {over} character{'' if over == 1 else 's'}.",
            )
            return

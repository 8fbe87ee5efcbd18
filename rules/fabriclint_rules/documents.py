"""DOC: what is wrong with a document before anyone asks what it does."""

from __future__ import annotations

import re
from collections.abc import Iterator

from fabriclint.document import Manifest
from fabriclint.kinds import carries_pods
from fabriclint.node import Mapping, Node, Scalar, Sequence
from fabriclint.rule import Finding, Fix, Place, Related, SetValue, Severity, rule
from fabriclint_rules.suppressions import FoundByReader


@rule("DOC001", "syntax-error", Severity.ERROR, on=FoundByReader)
def syntax_error(_: FoundByReader) -> Iterator[Finding]:
    """A manifest can be read.

    kubectl refuses the file, with a message that often names another line than the one at fault. Other documents of
    the same file are still linted.

    Fix: mend the YAML at the marked place.
    Silent: text that is no manifest, and templates, which are skipped with a notification.
    Bad: a tab where spaces indent (job)
        @@ containers:
          - name: main
        + \timage: registry.example/evaluate:1.4 # <-
    Bad: a bracket that is never closed (job)
        ~ command: [bash, -c] => command: [bash, -c
          args: # <-
    Good: the list closed (job)
        @@ image:
          command: [bash, -c]
    Good: a line that only templates have; the file is skipped with a notification (whole)
        apiVersion: batch/v1
        kind: Job
        metadata:
          name: evaluate
          ${MORE_METADATA}
    Source: kubernetes/apimachinery pkg/util/yaml, go.yaml.in/yaml v2.
    """
    return iter(())


@rule("DOC002", "duplicate-key", Severity.ERROR, on=FoundByReader, also=(Severity.WARNING, Severity.NOTE))
def duplicate_key(_: FoundByReader) -> Iterator[Finding]:
    """A mapping has each key once.

    The last one wins without a word, also under kubectl's strict validation, since the JSON that kubectl sends has
    already lost the first. Half a pod can disappear this way.

    Fix: merge the two, or remove one.

    Silent: two keys with one value, of which nothing is lost (a note).

    Bad: a second list of variables in one container (job)
        + env: # <-
        +   - name: DEBUG
        +     value: "yes"
          volumeMounts:
    Bad: a label twice (job)
          team: vision
        + team: speech # <-
    Good: the same name at two levels (job)
        @@ app: evaluate
        + team: vision
    Good: a key that overrides a merge (whole)
        apiVersion: v1
        kind: ConfigMap
        metadata: {name: settings}
        data:
          <<: {mode: fast}
          mode: slow
    Source: kubernetes/kubernetes#125885, kubernetes/kubernetes#99286.
    """
    return iter(())


@rule("DOC009", "dropped-text", Severity.WARNING, on=FoundByReader)
def dropped_text(_: FoundByReader) -> Iterator[Finding]:
    """Nothing stands between `...` and the next `---`.

    kubectl drops what stands there without a word.

    Fix: put `---` after the `...`, or remove the `...`.
    Bad: an object behind the end mark (whole)
        apiVersion: v1
        kind: ConfigMap
        metadata: {name: settings}
        ...
        apiVersion: v1 # <-
        kind: Secret
        metadata: {name: key}
    Bad: a lost line (whole)
        apiVersion: v1
        kind: ConfigMap
        metadata: {name: settings}
        ...
        data: {mode: fast} # <-
    Good: a separator behind the end mark (whole)
        apiVersion: v1
        kind: ConfigMap
        metadata: {name: settings}
        ...
        ---
        apiVersion: v1
        kind: Secret
        metadata: {name: key}
    Good: only a comment behind it (whole)
        apiVersion: v1
        kind: ConfigMap
        metadata: {name: settings}
        ...
        # the end
    Source: kubernetes/apimachinery pkg/util/yaml/decoder.go.
    """
    return iter(())


@rule("DOC010", "refused-separator", Severity.ERROR, on=FoundByReader, also=(Severity.WARNING,))
def refused_separator(_: FoundByReader) -> Iterator[Finding]:
    """A line that begins with `---` holds nothing else but a comment.

    kubectl splits a stream at such lines before it parses any YAML: other text behind the dashes ends the apply, and
    a `---` line inside a block scalar cuts it in two.

    Fix: put the document on the lines below the `---`; indent a `---` that belongs to a string.
    Bad: an object on the separator's line (whole)
        apiVersion: v1
        kind: ConfigMap
        metadata: {name: settings}
        --- {apiVersion: v1, kind: Secret, metadata: {name: key}} # <-
    Bad: a separator inside a string (whole)
        apiVersion: v1
        kind: ConfigMap
        metadata: {name: settings}
        data:
          notes: |
            first
        --- # <-
          more: text
    Good: a comment on the separator's line (whole)
        --- # settings
        apiVersion: v1
        kind: ConfigMap
        metadata: {name: settings}
    Good: an indented line of dashes in a string (whole)
        apiVersion: v1
        kind: ConfigMap
        metadata: {name: settings}
        data:
          notes: |
            first
            ---
            second
    Source: kubernetes/apimachinery pkg/util/yaml/decoder.go.
    """
    return iter(())


@rule("DOC011", "merge-order", Severity.WARNING, on=FoundByReader)
def merge_order(_: FoundByReader) -> Iterator[Finding]:
    """A key that overrides a merge stands below the `<<`.

    kubectl's reader takes keys in their order, so a merge overwrites what stands above it; other YAML tools let the
    written key win.

    Fix: move the `<<` line to the top of the mapping.
    Bad: the override above the merge (whole)
        apiVersion: v1
        kind: ConfigMap
        metadata: {name: settings}
        data:
          mode: slow # <-
          <<: {mode: fast}
    Bad: one of several keys (whole)
        apiVersion: v1
        kind: ConfigMap
        metadata: {name: settings}
        data:
          size: "2"
          mode: slow # <-
          <<: {mode: fast}
    Good: the override below it (whole)
        apiVersion: v1
        kind: ConfigMap
        metadata: {name: settings}
        data:
          <<: {mode: fast}
          mode: slow
    Good: a key that the merge does not have (whole)
        apiVersion: v1
        kind: ConfigMap
        metadata: {name: settings}
        data:
          size: "2"
          <<: {mode: fast}
    Source: go.yaml.in/yaml v2 decode.go.
    """
    return iter(())


_PLACEHOLDER = re.compile(
    r"<[A-Za-z][^<>|&;()'\"\n]*>|\bREPLACE_ME\b|\bREPLACE_WITH_\w+|\bYOUR[_-][A-Z0-9_-]+\b|^TODO$|\bTODO_\w+|^xxx+$|"
    r"\bPLACEHOLDER(?:\b|_\w+)|__[A-Z][A-Z0-9_]*__"
)
_WHOLE = re.compile(r"<[^<>\n]*[A-Za-z][^<>\n]*>")
_HTML = re.compile(r"</\w+>|/>")
_MAIL = re.compile(r"<[\w.+-]+@[\w.-]+>")
_UPPER_REPOSITORY = re.compile(r"^[^:@]*[A-Z][^:@]*(?:[:@]|$)")
#: Nobody's registry, account or repository, in lower case: a part of an image's name.
_NOBODYS = re.compile(
    r"(?:^|(?<=/))(?:your[_-][a-z0-9_-]+|your(?:user(?:name)?|account|registry|repo(?:sitory)?|org|image|dockerhub\w*))(?=[/:@.]|$)"
    r"|^x{3,}(?=\.)"
)
_BRACES = re.compile(r"(?<![${])\{[A-Z][A-Z0-9_]*\}(?!\})")
_TEMPLATE = re.compile(r"\{\{|\{%|\$\{[A-Za-z_]\w*[^}]*\}")
_SCRIPT_KEYS = ("command", "args", "script", "data", "binaryData", "source", "manifest", "inline")


def _in_script(node: Node) -> bool:
    route = node.route
    return any(step in _SCRIPT_KEYS for step in route)


def _judged(manifest: Manifest) -> bool:
    return carries_pods(manifest.group, manifest.kind) or manifest.kind == "TrainJob"


@rule("DOC003", "unfilled-placeholder", Severity.ERROR, on=Manifest)
def unfilled_placeholder(manifest: Manifest) -> Iterator[Finding]:
    """A value that someone was to fill in is filled in.

    The placeholder goes to the cluster as it stands: an image that cannot be pulled, a network that does not exist,
    a selector that no node carries.

    Fix: put your own value in its place.
    Silent: shell redirections, e-mail addresses, HTML, and documents without a pod template; lower-case words other than
    an image's `your-...` and `xxx`.
    Bad: an image nobody filled in (job)
        - image: registry.example/evaluate:1.4
        + image: <your image> # <-
    Bad: a selector left open (job)
        ~ pool: batch => pool: REPLACE_ME # <-
    Good: a redirection in a script (job)
        @@ args:
          - |
            cat <<EOF > /tmp/settings
    Good: a mail address (job)
        @@ name: MAIL
          value: someone <someone@vision.example>
    Source: NVIDIA AICR, "Attaching a Training Workload to the Cluster Fabric" (its sketch marks values so).
    """
    if not _judged(manifest):
        return
    for node in manifest.root.walk():
        if not isinstance(node, Scalar) or not isinstance(node.value, str):
            continue
        text = node.value
        if (
            node.key == "image"
            and node.style != "literal"
            and (
                "{{" not in text
                and "$" not in text
                and (_BRACES.search(text) or (_UPPER_REPOSITORY.match(text) and "<" not in text))
            )
        ):
            yield Finding(
                Place(node),
                f"The image '{text}' still holds a placeholder: a repository's name has no upper-case letters.",
                help="Write the image you built.",
            )
            continue
        nobodys = _NOBODYS.search(text) if node.key == "image" else None
        if nobodys is not None:
            yield Finding(
                Place(node, within=nobodys.span()),
                f"'{nobodys.group()}' is a placeholder that nobody filled in; it goes to the cluster as it stands.",
                help="Write the image you built.",
            )
            continue
        if _WHOLE.fullmatch(text):
            yield Finding(
                Place(node),
                f"'{text}' is a placeholder that nobody filled in; it goes to the cluster as it stands.",
                help="Put your own value in its place.",
            )
            continue
        scripted = _in_script(node)
        seen_lines: set[int] = set()
        for match in _PLACEHOLDER.finditer(text):
            word = match.group()
            if word.startswith("<") and scripted and not re.fullmatch(r"<[A-Z][A-Z0-9_-]+>", word):
                continue
            if word.startswith("<") and (
                _HTML.search(text) or _MAIL.match(word) or text[max(0, match.start() - 1) : match.start()] in ("<", "[")
            ):
                continue
            if word.startswith("__") and "{{" in text:
                continue
            if scripted and not word.startswith("<") and "\n" in text:
                continue
            line = text.count("\n", 0, match.start())
            if line in seen_lines:
                continue
            seen_lines.add(line)
            shown = " ".join(word.split())
            yield Finding(
                Place(node, within=match.span()),
                f"'{shown}' is a placeholder that nobody filled in; it goes to the cluster as it stands.",
                help="Put your own value in its place.",
            )


@rule("DOC004", "unresolved-template", Severity.NOTE, on=Manifest)
def unresolved_template(manifest: Manifest) -> Iterator[Finding]:
    """What another program fills in was not checked.

    The document holds `${NAME}` or `{{ ... }}` where Kubernetes expands nothing. Everything that hangs on these
    values was left out.

    Fix: render the file and lint the result to have all of it checked.
    Silent: `$(NAME)` and shell variables in command, args and env values.
    Bad: an image from the environment (job)
        ~ evaluate:1.4 => evaluate:${TAG} # <-
    Bad: a value of a template (job)
        ~ pool: batch => pool: "{{ .Values.pool }}" # <-
    Good: a variable of the shell (job)
        ~ python evaluate.py => python ${HOME}/evaluate.py
    Good: a rendered value (job)
        @@ name: main
          image: registry.example/evaluate:1.4
    Source: fabriclint's own reading of templates.
    """
    if not _judged(manifest):
        return
    for node in manifest.root.walk():
        if isinstance(node, Scalar) and isinstance(node.value, str):
            match = _TEMPLATE.search(node.value)
            if match is None:
                continue
            route = node.route
            shell = any(s in ("command", "args", "env", "script") for s in route)
            if shell and not match.group().startswith("{"):
                continue
            yield Finding(
                Place(node, within=match.span()),
                f"'{match.group()}' is filled in by another program; what hangs on it was not checked.",
                help="Render the file and lint the result.",
            )
            return


_STRING_MAPS = ("annotations", "labels", "nodeSelector", "matchLabels")


@rule("DOC008", "env-value-not-string", Severity.ERROR, on=Manifest)
def env_value_not_string(manifest: Manifest) -> Iterator[Finding]:
    """The value of a variable, label, annotation or selector is a string.

    Kubernetes reads an unquoted number, `yes`, `on` or `true` as a number or a boolean, and the API server refuses
    the whole object.

    Fix: put the value in quotes.
    Silent: null, which counts as absent.
    Bad: an unquoted number in env (job)
        ~ value: "1" => value: 1 # <-
    Bad: a word that is a boolean, as a label (job)
        ~ team: vision => team: on # <-
    Good: in quotes (job)
        ~ value: "1" => value: "on"
    Good: a word (job)
        ~ value: "1" => value: one
    Source: kubernetes-sigs/yaml v1.6.0; kubernetes/api core/v1 types.go.
    """
    for node in manifest.root.walk():
        if not isinstance(node, Scalar) or isinstance(node.value, str) or node.value is None:
            continue
        parent = node.parent
        if not isinstance(parent, Mapping) or node.doc is None:
            continue
        is_env = node.key == "value" and isinstance(parent.parent, Sequence) and parent.parent.key == "env"
        is_map = parent.key in _STRING_MAPS and _pods_or_meta(parent)
        if not (is_env or is_map):
            continue
        raw = node.doc.text[node.start : node.end]
        what = f"The value of the variable '{parent.string('name') or ''}'" if is_env else f"'{parent.key}.{node.key}'"
        kind = "a boolean" if isinstance(node.value, bool) else "a number"
        yield Finding(
            Place(node),
            f"{what} is {kind} ('{raw}'), and Kubernetes takes only strings there: the API server refuses the object.",
            help=f'Write "{raw}" in quotes.',
            fix=Fix(f"quote {raw}", (SetValue(node, raw, quoted=True),)),
        )


def _pods_or_meta(parent: Mapping) -> bool:
    if parent.key == "nodeSelector":
        return "spec" in [str(s) for s in parent.route] and "containers" not in [str(s) for s in parent.route]
    if parent.key == "matchLabels":
        return True
    holder = parent.parent
    return holder is not None and holder.key == "metadata"


_NAMED = {
    "env": "name",
    "volumes": "name",
    "containers": "name",
    "initContainers": "name",
    "volumeMounts": "mountPath",
    "replicatedJobs": "name",
}
#: Kinds whose CRD declares these lists as maps, so that the API server refuses a name twice.
_REFUSING = {
    "JobSet", "PyTorchJob", "TFJob", "XGBoostJob", "PaddleJob", "JAXJob", "MPIJob", "LeaderWorkerSet", "RayCluster",
    "RayJob", "RayService", "TrainingRuntime", "ClusterTrainingRuntime", "TrainJob",
}  # fmt: skip


@rule("DOC012", "duplicate-name", Severity.ERROR, on=Manifest, also=(Severity.WARNING, Severity.NOTE))
def duplicate_name(manifest: Manifest) -> Iterator[Finding]:
    """A list that Kubernetes keys by name has each name once.

    Where a CRD says so the API server refuses the object; in core kinds the last one wins, and a later apply that
    removes one of the two removes both.

    Fix: remove one of the two.
    Silent: the same name in two different lists.
    Bad: a variable twice, with two values (job)
          - name: MODE
            value: "1"
        + - name: MODE # <-
        +   value: "2"
    Bad: two mounts at one place (job)
          - name: scratch
            mountPath: /scratch
        + - name: scratch
        +   mountPath: /scratch # <-
        +   subPath: second
    Good: the same name in a container and in an init container (job)
        + initContainers:
        +   - name: prepare
        +     image: registry.example/evaluate:1.4
        +     env:
        +       - name: MODE
        +         value: "2"
          containers:
    Good: another variable (job)
          - name: MODE
            value: "1"
        + - name: LEVEL
        +   value: "1"
    Source: kubernetes/kubectl#1750; published CRDs of the operators.
    """
    if not _judged(manifest) and not manifest.partial:
        return
    volcano = manifest.group == "batch.volcano.sh"
    for node in manifest.root.walk():
        if not isinstance(node, Sequence) or node.key not in _NAMED:
            continue
        # A patch in a TrainJob keys mounts by their volume, everything else by the path.
        key = "name" if (node.key, manifest.kind) == ("volumeMounts", "TrainJob") else _NAMED[str(node.key)]
        seen: dict[str, Mapping] = {}
        for item in node.items:
            if not isinstance(item, Mapping):
                continue
            name = item.string(key)
            if name is None or "{{" in name:
                continue
            first = seen.get(name)
            if first is None:
                seen[name] = item
                continue
            same = first.plain() == item.plain()
            refused = manifest.kind in _REFUSING or volcano or node.key in ("containers", "initContainers", "volumes")
            severity = Severity.ERROR if refused else Severity.NOTE if same else Severity.WARNING
            result = "the API server refuses the object" if refused else "the last one wins"
            where = item.at(key)
            earlier = first.at(key)
            yield Finding(
                Place(where if where is not None else item),
                f"'{name}' stands twice in '{node.key}'; {result}.",
                help="Remove one of the two.",
                severity=severity,
                related=(Related(Place(earlier if earlier is not None else first), f"'{name}' stands here first."),),
            )

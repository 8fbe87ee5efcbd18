"""TCPXO, TCPX and gIB: what the ranks' environment says, and the script that sets it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from fabriclint.launch import Launch
from fabriclint.launch import Place as WordPlace
from fabriclint.node import Scalar, Unknown
from fabriclint.pod import ContainerView, Variable, WorkerPod
from fabriclint.rule import AddField, Finding, Fix, Place, Related, ReplaceText, Rule, SetValue, Severity, rule
from fabriclint_rules.gke_wiring import (
    GIB,
    INTERFACES,
    TCPX,
    TCPXO,
    accelerator,
    entries,
    filled_in,
    launch_of,
    nodes_table,
    on_host,
    parsed,
    profile_of,
    quoted,
    sidecar,
    tag_of,
)
from fabriclint_rules.pod_mending import mount_host_folders
from fabriclint_schemas.pairs import Release, release_of

_RAY = ("RayCluster", "RayJob", "RayService", "RayCronJob")


def _place(container: ContainerView, where: WordPlace) -> Place:
    words = container.words
    if not 0 <= where.source < len(words) or not isinstance(words[where.source].value, str):
        return container.name_place
    return Place(words[where.source], within=(where.start, max(where.end, where.start + 1)))


class Sourcing:
    """Whether and where the profile's script is read: by `.` or `source`, or by something that is known to do it."""

    def __init__(self, pod: WorkerPod) -> None:
        data = profile_of(pod).get("profile", {})
        self.names: tuple[str, ...] = tuple(data.get("names", ()))
        #: (container, what was read, its place, its order) of each reading in view.
        self.read: list[tuple[ContainerView, str, Place, int]] = []
        self.otherwise = False
        containers = [c for c in (pod.worker, *(c for p in pod.launchers for c in p.main_containers)) if c is not None]
        for container in containers:
            for one in launch_of(container).sourced:
                text = one.path.raw
                if any(n in text for n in self.names):
                    self.read.append((container, text, _place(container, one.place), one.order))
            whole = container.start_text
            marks = (*self.names, *data.get("also", ()))
            if any(m in whole for m in marks):
                self.otherwise = True
            for name in data.get("variables", ()):
                if name in container.env:
                    self.otherwise = True

    @property
    def seen(self) -> bool:
        """Whether anything in view reads the script."""
        return bool(self.read) or self.otherwise


@lru_cache(maxsize=16)
def sourcing(pod: WorkerPod) -> Sourcing:
    """How the pod's ranks come to the profile's variables."""
    return Sourcing(pod)


def _starts_ranks(launch: Launch) -> bool:
    """Whether a start text in view plainly starts ranks: a launcher, or a Python program."""
    if launch.main is not None:
        return True
    names = [p.name for p in launch.programs]
    return any(isinstance(n, str) and (re.fullmatch(r"python[\d.]*", n) or n.endswith(".py")) for n in names)


@rule("TCPXO021", "llcm-directory", Severity.ERROR, on=WorkerPod, fabric=TCPXO, also=(Severity.WARNING,), yields_to=("POD010",))  # fmt: skip
def llcm_directory(pod: WorkerPod, rule: Rule) -> Iterator[Finding]:
    """The worker's NCCL_FASTRAK_LLCM_DEVICE_DIRECTORY is the aperture mount.

    The plugin writes to device files there. Its default lies below /sys, which an unprivileged container has read-
    only, and then it cannot set up its channels.

    Fix: set the variable to /dev/aperture_devices in the worker and mount the hostPath of that name there.
    Silent: a privileged worker, variables that come from elsewhere; on the daemon it is TCPXO029's.
    Bad: the variable is missing (tcpxo-job)
        @@ containers:
          env: # <-
        @@ lib64
        - - name: NCCL_FASTRAK_LLCM_DEVICE_DIRECTORY
        -   value: /dev/aperture_devices
    Bad: the mount is missing (tcpxo-mega-jobset)
        @@ containers:
          volumeMounts: # <-
        @@ name: libraries
        - - name: aperture
        -   mountPath: /dev/aperture_devices
    Bad: another folder than the one that is mounted (tcpxo-job)
        @@ NCCL_FASTRAK_LLCM
        ~ value: /dev/aperture_devices => value: /dev/aperture # <-
    Bad: a slash at the end (tcpxo-job)
        ~ value: /dev/aperture_devices => value: /dev/aperture_devices/ # <-
    Good: both (tcpxo-job)
        @@ aperture
    Good: a privileged worker (tcpxo-mega-jobset)
        @@ containers:
        - - name: NCCL_FASTRAK_LLCM_DEVICE_DIRECTORY
        -   value: /dev/aperture_devices
        @@ nvidia.com/gpu
        - securityContext:
        -   capabilities:
        -     add: [IPC_LOCK]
        + securityContext:
        +   privileged: true
    Source: GoogleCloudPlatform/container-engine-accelerators@992db81 gpudirect-tcpxo/nccl-test-latest.yaml;
    google/nccl-plugin-gpudirect-tcpxo@04815d1 (nic_client_router).
    """
    worker = pod.worker
    if worker is None or worker.privileged:
        return
    profile = profile_of(pod)
    name, directory = profile["llcm"]["variable"], profile["llcm"]["directory"]
    variable = pod.ranks_env.get(name) or worker.env.get(name)
    mounted = worker.mount_at(directory)
    if variable is None:
        if worker.env.open or filled_in(worker) or (sidecar(pod) is None and on_host(pod)):
            return
        aicr = pod.contract == "aicr"
        unseen = pod.ranks_env.open and not worker.start.idle
        place = worker.missing("env")
        entry = {"name": name, "value": directory}
        yield pod.finding(
            place,
            f"The worker '{worker.name}' has no '{name}'; an unprivileged container cannot write the default directory, and "
            "the plugin fails to set up its channels.",
            help=f"Set it to {directory} in the worker's env"
            + ("." if mounted is not None else f", and mount the hostPath {directory} there."),
            severity=Severity.WARNING if unseen and not aicr else None,
            by_contract=unseen and aicr,
            fix=Fix(f"set {name}", (AddField(worker.node, ("env",), [entry], append=True),)),
        )
        return
    value = variable.value
    node = variable.place.node
    if (
        not isinstance(value, str)
        or worker.mounts_open
        or (isinstance(node, Scalar) and not isinstance(node.value, str))
    ):
        return
    if value != "/" and value.endswith("/"):
        fix = (
            Fix("remove the slash", (SetValue(variable.place.node, value.rstrip("/")),))
            if variable.origin == "env"
            else None
        )
        yield pod.finding(
            variable.place,
            f"'{name}' ends in a slash: '{value}'; the plugin does not find its files below it.",
            help=f"Write {value.rstrip('/')}.",
            severity=Severity.WARNING,
            fix=fix,
        )
        return
    if worker.mount_at(value) is not None or worker.mount_at(value.rsplit("/", 1)[0]) is not None:
        return
    if value.startswith("/sys/"):
        fix = (
            Fix(f"write {directory}", (SetValue(variable.place.node, directory),)) if variable.origin == "env" else None
        )
        yield pod.finding(
            variable.place,
            f"'{name}' is '{value}', which an unprivileged container cannot write; the plugin fails to set up its channels.",
            help=f"Write {directory} and mount the hostPath {directory} there.",
            fix=fix,
        )
        return
    if mounted is not None:
        yield pod.finding(
            variable.place,
            f"'{name}' is '{value}', where '{worker.name}' mounts nothing; the plugin fails to set up its channels.",
            help=f"Write {directory}, which is mounted.",
            related=(Related(Place(mounted), "The aperture devices are mounted here."),),
            fix=Fix(f"write {directory}", (SetValue(variable.place.node, directory),))
            if variable.origin == "env"
            else None,
        )
        return
    yield pod.finding(
        worker.missing("volumeMounts"),
        f"The worker '{worker.name}' mounts nothing at '{value}', which '{name}' names; the plugin fails to set up its "
        "channels.",
        help=f"Mount the hostPath {directory} at {value}.",
        related=(Related(variable.place, "It is named here."),),
        fix=mount_host_folders(worker, [(value, directory)]) if value == directory else None,
    )


@rule("TCPXO022", "env-profile-not-sourced", Severity.WARNING, on=WorkerPod, fabric=TCPXO, also=(Severity.NOTE,), yields_to=("TRN026", "TCPXO025", "TCPXO024"))  # fmt: skip
@rule("GIB022", "env-profile-not-sourced", Severity.WARNING, on=WorkerPod, fabric=GIB, also=(Severity.NOTE,), yields_to=("TRN026", "GIB025", "GIB024"))  # fmt: skip
def env_profile_not_sourced(pod: WorkerPod, rule: Rule) -> Iterator[Finding]:
    """The start text reads the profile that the installer lays down beside the plugin.

    The profile sets the fabric's variables for the release that is installed. A job that skips it attaches to the
    fabric and runs well under its bandwidth.

    Fix: put `. "${NCCL_LIB_DIR}/nccl-env-profile.sh"` (gIB: `. /usr/local/gib/scripts/set_nccl_env.sh`) before the
    program that starts the ranks.
    Silent: the profile by BASH_ENV, NCCL_INIT_SCRIPT, NCCL_CONF_FILE or a wrapper of Google's test image, and its
    variables written out; gIB's plugin kept out by NCCL_NET_PLUGIN; a start that is not in view, an idle pod, or Ray, is
    a note.
    Bad: torchrun at once (tcpxo-job)
        @@ containers:
        - . "${NCCL_LIB_DIR}/nccl-env-profile.sh"
        @@ exec torchrun # <-
    Bad: the launcher of an MPIJob (tcpxo-mpijob)
        @@ mpirun # <-
        ~ . /usr/local/nvidia/lib64/nccl-env-profile.sh && exec => exec
    Good: read by a dot (tcpxo-job)
        @@ nccl-env-profile.sh
    Good: by BASH_ENV (tcpxo-mega-jobset)
        @@ containers:
        - . "${NCCL_LIB_DIR}/nccl-env-profile.sh"
        @@ env:
        +   - name: BASH_ENV
        +     value: /usr/local/nvidia/lib64/nccl-env-profile.sh
    Bad GIB: torchrun at once (gib-job)
        - . /usr/local/gib/scripts/set_nccl_env.sh
        @@ exec torchrun # <-
    Bad GIB: the same in a LeaderWorkerSet (gib-lws)
        - . /usr/local/gib/scripts/set_nccl_env.sh
        @@ exec torchrun # <-
    Good GIB: read by a dot (gib-job)
        @@ set_nccl_env.sh
    Good GIB: gIB's settings by NCCL_CONF_FILE (gib-jobset)
        - . /usr/local/gib/scripts/set_nccl_env.sh
        @@ env:
        +   - name: NCCL_CONF_FILE
        +     value: /usr/local/gib/scripts/nccl.conf
    Source: NVIDIA AICR, "Attaching a Training Workload to the Cluster Fabric"; GoogleCloudPlatform/container-
    engine-accelerators@992db81 gpudirect-tcpxo/README.md and gpudirect-rdma.
    """
    worker = pod.worker
    if worker is None or sourcing(pod).seen:
        return
    written = _transcribed(pod)
    if written:
        return
    if rule.family == "GIB" and (pod.multi_node is False or _no_plugin(pod)):
        return
    containers = [worker, *(c for p in pod.launchers for c in p.main_containers)]
    starting = next((c for c in reversed(containers) if _starts_ranks(launch_of(c))), None)
    data = profile_of(pod)["profile"]
    plain = starting is not None and starting.node.at("command") is not None
    if starting is not None:
        launch = launch_of(starting)
        plain = plain and not (launch.open or launch.unseen or launch.refused or starting.start.probe)
        plain = plain and not re.search(r"(?m)^-\w*l\w*$|^--login$", starting.start_text)
        plain = plain and not any(c.env.open for c in containers)
    alone = pod.multi_node is False and pod.workload.kind != "Pod"
    quiet = not plain or alone or pod.workload.kind in _RAY
    shown = starting or worker
    word = next((w for w in reversed(shown.words) if isinstance(w.value, str)), None)
    place = shown.name_place
    if starting is not None and word is not None:
        main = launch_of(starting).main
        place = _place(starting, main.invocation.words[0].place) if main is not None else Place(word)
    yield pod.finding(
        place,
        f"The start of '{shown.name}' does not read '{data['script'].rsplit('/', 1)[-1]}'"
        + (
            "; NCCL runs without the fabric's settings, well under its bandwidth or over TCP."
            if not quiet
            else " in view; whether something else sets its variables cannot be seen."
        ),
        help=f"Put `. {data['script']}` before the program that starts the ranks"
        + (f", with {data['needs']} set." if "needs" in data else "."),
        severity=Severity.NOTE if quiet else None,
    )


def _no_plugin(pod: WorkerPod) -> bool:
    """Whether the file keeps gIB's plugin out (NCCL's own transport takes the cards): its settings are not asked for then."""
    chosen = pod.ranks_env.value("NCCL_NET_PLUGIN")
    return isinstance(chosen, str) and chosen.strip().lower() in ("", "none")


@rule("TCPXO023", "lib-dir", Severity.ERROR, on=WorkerPod, fabric=TCPXO, also=(Severity.WARNING,))
@rule("TCPX023", "lib-dir", Severity.WARNING, on=WorkerPod, fabric=TCPX)
@rule("GIB023", "lib-dir", Severity.WARNING, on=WorkerPod, fabric=GIB)
def lib_dir(pod: WorkerPod, rule: Rule) -> Iterator[Finding]:
    """NCCL finds the plugin: by NCCL_LIB_DIR for the profile, else by LD_LIBRARY_PATH.

    The profile of TCPXO ends the shell when NCCL_LIB_DIR is unset, before any rank starts; set, it puts the folder
    first in LD_LIBRARY_PATH. Without the profile the folder has to stand there.

    Fix: set NCCL_LIB_DIR to /usr/local/nvidia/lib64 before the profile is read, or add that folder to
    LD_LIBRARY_PATH.
    Silent: LD_LIBRARY_PATH of the image; ldconfig in the start text; folders of one's own where the plugin was
    copied.
    Bad: the profile with nothing set (tcpxo-job)
        @@ containers:
        ~ . "${NCCL_LIB_DIR} => . "/usr/local/nvidia/lib64 # <-
        @@ env:
        - - name: NCCL_LIB_DIR
        -   value: /usr/local/nvidia/lib64
    Bad: the same in a JobSet (tcpxo-mega-jobset)
        @@ containers:
        ~ . "${NCCL_LIB_DIR} => . "/usr/local/nvidia/lib64 # <-
        @@ env:
        - - name: NCCL_LIB_DIR
        -   value: /usr/local/nvidia/lib64
    Bad: exported only behind the line that reads it (tcpxo-job)
        @@ containers:
        @@ set -e
        ~ . "${NCCL_LIB_DIR} => . "/usr/local/nvidia/lib64 # <-
        + export NCCL_LIB_DIR=/usr/local/nvidia/lib64
        @@ env:
        - - name: NCCL_LIB_DIR
        -   value: /usr/local/nvidia/lib64
    Good: in env (tcpxo-job)
        @@ NCCL_LIB_DIR
    Good: exported before (tcpxo-mega-jobset)
        @@ containers:
        @@ set -e
        + export NCCL_LIB_DIR=/usr/local/nvidia/lib64
        @@ env:
        - - name: NCCL_LIB_DIR
        -   value: /usr/local/nvidia/lib64
    Bad TCPX: the image's folders only (tcpx-job)
        @@ containers:
        @@ LD_LIBRARY_PATH
        ~ /usr/local/nvidia/lib64 => /usr/local/cuda/lib64 # <-
    Bad TCPX: the folder above (tcpx-jobset)
        @@ containers:
        @@ LD_LIBRARY_PATH
        ~ /usr/local/nvidia/lib64 => /usr/local/nvidia # <-
    Good TCPX: the folder (tcpx-job)
        @@ LD_LIBRARY_PATH
    Good TCPX: behind another (tcpx-jobset)
        @@ containers:
        @@ LD_LIBRARY_PATH
        ~ /usr/local/nvidia/lib64 => /opt/lib:/usr/local/nvidia/lib64
    Bad GIB: the image's folders only (gib-job)
        @@ LD_LIBRARY_PATH
        ~ /usr/local/nvidia/lib64 => /usr/local/cuda/lib64 # <-
    Bad GIB: the folder above (gib-jobset)
        @@ LD_LIBRARY_PATH
        ~ /usr/local/nvidia/lib64 => /usr/local/nvidia # <-
    Good GIB: gIB's own folder (gib-job)
        @@ LD_LIBRARY_PATH
        ~ /usr/local/nvidia/lib64 => /usr/local/gib/lib64
    Good GIB: ldconfig (gib-jobset)
        @@ args:
        @@ set -e
        + ldconfig
        @@ LD_LIBRARY_PATH
        ~ /usr/local/nvidia/lib64 => /usr/local/cuda/lib64
    Source: google/nccl-plugin-gpudirect-tcpxo@04815d1 nccl-env-profile.sh; NVIDIA AICR.
    """
    worker = pod.worker
    if worker is None:
        return
    profile = profile_of(pod)
    needs = profile.get("profile", {}).get("needs")
    read = sourcing(pod).read
    if needs and read:
        container, text, place, order = read[0]
        if _has(container, needs, order) or container.env.open or container.image_name in profile["plugin_images"]:
            return
        if _runs_before(container, order):
            return
        path = text.replace(chr(0x10FFFE), "")
        late = re.search(rf"\b{needs}=", container.start_text) is not None
        yield pod.finding(
            place,
            f"'{path}' is read with '{needs}' unset{', which is set only behind this line' if late else ''}; "
            + (
                "there is no such file, and NCCL gets none of the fabric's settings."
                if path.count("/") == 1 and path.startswith("/")
                else "the script says so and ends the shell, before any rank starts."
            ),
            help=f"Set {needs} to {profile['lib_dirs'][0]} in env, or before this line.",
            severity=Severity.WARNING if pod.workload.runtime_alone else None,
            fix=Fix(
                f"set {needs}",
                (AddField(container.node, ("env",), [{"name": needs, "value": profile["lib_dirs"][0]}], append=True),),
            ),
        )
        return
    if sourcing(pod).seen and needs:
        return
    variable = pod.ranks_env.get("LD_LIBRARY_PATH")
    if (
        variable is None
        or not isinstance(variable.value, str)
        or "$" in variable.value
        or "ldconfig" in worker.start_text
    ):
        return
    folders = [f.rstrip("/") for f in variable.value.split(":") if f]
    other = pod.ranks_env.value(needs) if needs else None
    good = [*profile["lib_dirs"], *([other.rstrip("/")] if isinstance(other, str) else [])]
    if isinstance(other, Unknown) and needs in pod.ranks_env:
        return
    if any(f in good or "nccl" in f.lower() or "gib" in f or "tcpx" in f for f in folders):
        return
    yield pod.finding(
        variable.place,
        f"'LD_LIBRARY_PATH' is '{variable.value}', without '{profile['lib_dirs'][0]}', where the plugin lies; NCCL does not "
        "find it and runs over TCP.",
        help=f"Add {profile['lib_dirs'][0]} to it.",
        severity=Severity.WARNING,
        fix=(
            Fix(
                "add the folder",
                (SetValue(variable.place.node, f"{variable.value.rstrip(':')}:{profile['lib_dirs'][0]}"),),
            )
            if variable.origin == "env"
            else None
        ),
    )


def _has(container: ContainerView, name: str, order: int) -> bool:
    """Whether a variable is set when the script is read, in env or in the start text in any way."""
    if name in container.env:
        return container.env.value(name) != ""
    if re.search(rf"\b{name}=", container.start_text) is None:
        return False
    return not _only_behind(container, name, order)


def _only_behind(container: ContainerView, name: str, order: int) -> bool:
    """Whether every line that sets a variable plainly runs after the script was read: a text that runs from top to bottom."""
    launch = launch_of(container)
    reading = next((s for s in launch.sourced if s.order == order), None)
    if reading is None or launch.open or any(e.name == name and e.order < order for e in launch.exports):
        return False
    text = container.words[reading.place.source].text if 0 <= reading.place.source < len(container.words) else ""
    if re.search(r"\(\)|^\s*(?:function|while|until|for|trap|eval)\b|<<|`", text, re.M) is not None:
        return False
    others = "".join(w.text for n, w in enumerate(container.words) if n != reading.place.source)
    first = re.search(rf"\b{name}=", text)
    return f"{name}=" not in others and first is not None and first.start() > reading.place.start


def _runs_before(container: ContainerView, order: int) -> bool:
    """Whether another file that is not in view is read before the script; it may set anything."""
    return any(s.order < order and not s.in_view for s in launch_of(container).sourced)


@rule("TCPXO024", "needs-bash", Severity.ERROR, on=WorkerPod, fabric=TCPXO, also=(Severity.WARNING,))
@rule("GIB024", "needs-bash", Severity.ERROR, on=WorkerPod, fabric=GIB, also=(Severity.WARNING,))
def needs_bash(pod: WorkerPod, rule: Rule) -> Iterator[Finding]:
    """A text that sh reads has a dot where bash has `source`.

    On Debian and Ubuntu sh is dash, which has no `source`: the profile is not read, and the ranks start without the
    fabric's settings or not at all.

    Fix: write `.` for `source`, or start the text with bash.
    Silent: images whose sh is known to be another (Alpine, RHEL and its kin).
    Bad: `source` under sh of a Debian image (tcpxo-job)
        @@ containers:
        ~ registry.example/train:1 => python:3.12-slim
        ~ [/bin/bash, -c] => [/bin/sh, -c]
        ~ . "${NCCL_LIB_DIR} => source "${NCCL_LIB_DIR} # <-
    Bad: the same in an image whose sh is not known (tcpxo-mega-jobset)
        @@ containers:
        ~ [/bin/bash, -c] => [sh, -c]
        ~ . "${NCCL_LIB_DIR} => source "${NCCL_LIB_DIR} # <-
    Good: bash (tcpxo-job)
        @@ containers:
        ~ . "${NCCL_LIB_DIR} => source "${NCCL_LIB_DIR}
    Good: a dot under sh (tcpxo-mega-jobset)
        @@ containers:
        ~ [/bin/bash, -c] => [sh, -c]
    Bad GIB: `source` under sh of a Debian image (gib-job)
        @@ containers:
        ~ registry.example/train:1 => python:3.12-slim
        ~ [/bin/bash, -c] => [/bin/sh, -c]
        ~ . /usr/local/gib => source /usr/local/gib # <-
    Bad GIB: the same in an image whose sh is not known (gib-jobset)
        @@ containers:
        ~ [/bin/bash, -c] => [sh, -c]
        ~ . /usr/local/gib => source /usr/local/gib # <-
    Good GIB: bash (gib-job)
        @@ containers:
        ~ . /usr/local/gib => source /usr/local/gib
    Good GIB: a dot under sh (gib-jobset)
        @@ containers:
        ~ [/bin/bash, -c] => [sh, -c]
    Source: POSIX shell command language (dot); Debian policy on /bin/sh.
    """
    names = tuple(profile_of(pod)["profile"]["names"])
    containers = [c for c in (pod.worker, *(c for p in pod.launchers for c in p.main_containers)) if c is not None]
    for container in containers:
        for one in launch_of(container).sourced:
            if not one.by_source or not one.under_sh or not any(n in one.path.raw for n in names):
                continue
            dash = _has_dash(container)
            if dash is False:
                continue
            place = _place(container, one.place)
            fix = None
            if place.within is not None and isinstance(place.node, Scalar):
                start, end = place.within
                if place.node.text[start:end] == "source":
                    fix = Fix("write a dot", (ReplaceText(place.node, (start, end), "."),))
            sure = dash is True
            yield pod.finding(
                place,
                "'source' stands in a text that 'sh' reads"
                + (f", which is dash in '{container.image_name}'" if sure else "")
                + "; dash has no 'source', so the fabric's settings are not read.",
                help="Write `.` for `source`, or start the text with bash.",
                severity=None if sure else Severity.WARNING,
                fix=fix,
            )
            return


def _has_dash(container: ContainerView) -> bool | None:
    """Whether `sh` is dash in the container's image: known, known not to be, or not known."""
    image = container.image
    if not isinstance(image, str):
        return None
    if re.search(r"alpine|ubi\d|rocky|centos|fedora|almalinux|amazonlinux|rhel", image):
        return False
    table = nodes_table()["dash_images"]
    return True if container.image_name in table or re.search(r"ubuntu|debian|bookworm|bullseye", image) else None


# -- the profile's variables, written out


def _names(data: dict[str, Any]) -> set[str]:
    """The variables of any release."""
    names = set(data["common"])
    for release in data.get("releases", ()):
        names.update(release["variables"])
    return names


def _own(name: str, data: dict[str, Any]) -> bool:
    return name.startswith(tuple(data["own"])) and name not in data["not_own"]


def _transcribed(pod: WorkerPod) -> list[Variable]:
    """Those of the profile's variables that the ranks are given by hand, when they are more than a single choice."""
    data = profile_of(pod)["environment"]
    names = _names(data) - set(data["optional"])
    found = [v for v in pod.ranks_env.variables.values() if v.name in names and _own(v.name, data)]
    marked = any(v.name.startswith(("NCCL_FASTRAK_", "NCCL_IB_FIFO_TC", "NCCL_IB_ADAPTIVE")) for v in found)
    return found if marked or len(found) >= 3 else []


def _candidates(
    pod: WorkerPod, data: dict[str, Any], script: str | None
) -> tuple[list[dict[str, str]], Release | None]:
    """The sets that fit the release paired with the daemon's tag (all when it cannot be told), and that release."""
    releases = data.get("releases")
    if releases is None:
        return [dict(data["common"])], None
    daemon = sidecar(pod)
    tag = release_of(tag_of(daemon) or "") if daemon is not None else None
    plugins = [parsed(p) for p, d in profile_of(pod)["pairs"] if parsed(d) == tag]
    plugin = max(plugins) if plugins else None
    out = []
    for release in releases:
        if plugin is not None and not parsed(release["from"]) <= plugin <= parsed(release["to"]):
            continue
        simple = "_simple" in str(release["variables"].get("NCCL_TUNER_CONFIG_PATH", ""))
        if script is not None and simple != ("-simple" in script):
            continue
        out.append({**data["common"], **release["variables"]})
    tuner = pod.ranks_env.value("NCCL_TUNER_CONFIG_PATH") if script is None else None
    if isinstance(tuner, str):
        # The file's name tells which variant of the set is meant.
        named = [s for s in out if s.get("NCCL_TUNER_CONFIG_PATH") == tuner.rsplit("/", 1)[-1]]
        out = named or out
    return out, plugin


def _fits(name: str, value: str, wanted: str, data: dict[str, Any]) -> bool:
    if name in data.get("files", ()):
        return value.rsplit("/", 1)[-1] == wanted
    return value.strip().lower() == wanted.lower()


def _live_after(pod: WorkerPod, variable: Variable) -> bool:
    """Whether a variable still counts when the profile is read too: only when it is set behind the reading."""
    if variable.origin in ("env", "envFrom"):
        return False
    for container, _, _, order in sourcing(pod).read:
        for export in launch_of(container).exports:
            if export.name == variable.name and export.order > order and export.value == variable.value:
                return True
    return False


@rule("TCPXO025", "transcribed-env", Severity.WARNING, on=WorkerPod, fabric=TCPXO, also=(Severity.ERROR, Severity.NOTE))
@rule("GIB025", "transcribed-env", Severity.WARNING, on=WorkerPod, fabric=GIB, also=(Severity.NOTE,))
def transcribed_env(pod: WorkerPod, rule: Rule) -> Iterator[Finding]:
    """The profile's variables are not written out in part, nor with other values.

    The set belongs to one release. The plugin's config checker ends the job at a value that it enforces, and other
    differences cost bandwidth; NCCL_FASTRAK_ENABLE=0 switches the fabric off. Values in env before the profile is
    read are dead.

    Fix: read the profile in the start text; what has to differ is exported behind it.
    Silent: the whole set of the release that is paired with the daemon's tag (reading the profile is still the
    advice, as it follows the installer); NCCL_SHIMNET_SHIM_LAYERS=UNUSED, which switches the checker off, leaves a
    note.
    Bad: another value behind the profile (tcpxo-job)
        @@ nccl-env-profile.sh
        + export NCCL_FASTRAK_NUM_FLOWS=4 # <-
    Bad: a part of the set and no profile (tcpxo-mega-jobset)
        @@ containers:
        - . "${NCCL_LIB_DIR}/nccl-env-profile.sh"
        @@ env:
        +   - name: NCCL_FASTRAK_CTRL_DEV
        +     value: eth0 # <-
        +   - name: NCCL_FASTRAK_NUM_FLOWS
        +     value: "2"
    Bad: the plugin switched off (tcpxo-job)
        @@ containers:
        @@ env:
        +   - name: NCCL_FASTRAK_ENABLE
        +     value: "0" # <-
    Good: the profile alone (tcpxo-job)
        @@ nccl-env-profile.sh
    Good: NCCL_DEBUG behind the profile (tcpxo-mega-jobset)
        @@ nccl-env-profile.sh
        + export NCCL_DEBUG=WARN
    Bad GIB: another value behind the script (gib-job)
        @@ set_nccl_env.sh
        + export NCCL_IB_TC=106 # <-
    Bad GIB: a set with another value and no script (gib-jobset)
        - . /usr/local/gib/scripts/set_nccl_env.sh
        @@ env:
        +   - name: NCCL_NET
        +     value: gIB
        +   - name: NCCL_CROSS_NIC
        +     value: "0"
        +   - name: NCCL_IB_FIFO_TC
        +     value: "80" # <-
        +   - name: NCCL_IB_TC
        +     value: "52"
    Good GIB: the script alone (gib-job)
        @@ set_nccl_env.sh
    Good GIB: NCCL_NET pinned (gib-jobset)
        @@ env:
        +   - name: NCCL_NET
        +     value: gIB
    Source: GoogleCloudPlatform/container-engine-accelerators@992db81 gpudirect-tcpxo/README.md (release notes);
    google/nccl-plugin-gpudirect-tcpxo@04815d1; NVIDIA/aicr#422.
    """
    profile = profile_of(pod)
    data = profile["environment"]
    env = pod.ranks_env
    off = env.get("NCCL_FASTRAK_ENABLE") if rule.family == "TCPXO" else None
    if off is not None and off.value == "0":
        yield pod.finding(
            off.place,
            "'NCCL_FASTRAK_ENABLE' is '0'; the plugin is switched off and the job runs over TCP.",
            help="Take it away.",
            severity=Severity.ERROR,
        )
        return
    how = sourcing(pod)
    read = how.read
    out = _out_of_reach(pod) if rule.family == "TCPXO" else None
    if out is not None:
        yield out
        return
    script = read[0][1] if read else None
    sets, plugin = _candidates(pod, data, script)
    if not sets:
        return
    names = _names(data)
    given = [v for v in env.variables.values() if v.name in names and v.origin != "controller"]
    unlike_ok = {n for n, since in data.get("unlike_ok", {}).items() if plugin is None or plugin >= parsed(since)}
    different: list[tuple[Variable, str]] = []
    for variable in given:
        if not isinstance(variable.value, str) or variable.name in data["optional"] or variable.name in unlike_ok:
            continue
        if on_host(pod) and variable.name.endswith(("IFNAME", "CTRL_DEV")):
            continue
        wanted = [s[variable.name] for s in sets if variable.name in s]
        if variable.name == "NCCL_SOCKET_IFNAME" or (
            variable.name in ("NCCL_ALGO", "NCCL_PROTO") and not _transcribed(pod) and not how.seen
        ):
            continue
        if wanted and not any(_fits(variable.name, variable.value, w, data) for w in wanted):
            different.append((variable, wanted[0]))
    unchecked = any(env.value(n) == v for n, v in data.get("off_switch", {}).items())
    if how.seen:
        yield from _beside_the_script(pod, rule, different, unchecked)
        return
    written = _transcribed(pod)
    if not written:
        return
    best = min(sets, key=lambda s: len(_lacking(s, data, env.variables)))
    missing = [] if env.open or rule.family == "GIB" else sorted(_lacking(best, data, env.variables))
    if not missing and not different:
        if rule.family == "GIB":
            yield pod.finding(
                written[0].place,
                f"gIB's settings are written out, {len(written)} of them; they are not those of the next release by "
                "themselves.",
                help=f"Read {profile['profile']['script']} in the start text instead.",
                severity=Severity.NOTE,
            )
        return
    yield _partly(pod, rule, written, missing, different, plugin, unchecked)


def _counts(pod: WorkerPod, variable: Variable) -> bool:
    """Whether a variable reaches the ranks as it stands, though the profile may be read."""
    return not sourcing(pod).seen or _live_after(pod, variable)


def _out_of_reach(pod: WorkerPod) -> Finding | None:
    """A variable that names an interface or a folder that the pod has not."""
    found = entries(pod)
    env, worker = pod.ranks_env, pod.worker
    if (
        found is not None
        and not on_host(pod)
        and not any(n.open for i in found[1] for n in i.walk() if isinstance(n, Scalar))
    ):
        names = {i.string("interfaceName") for i in found[1]}
        for name in ("NCCL_FASTRAK_CTRL_DEV", "NCCL_FASTRAK_IFNAME"):
            variable = env.get(name)
            if variable is None or not isinstance(variable.value, str) or not _counts(pod, variable):
                continue
            absent = [n for n in variable.value.split(",") if n and n not in names and n.isalnum()]
            if absent:
                return pod.finding(
                    variable.place,
                    f"'{name}' names {quoted(absent)}, which the pod has not; the plugin finds no interface and NCCL fails "
                    "at start.",
                    help=f"Name the interfaces of '{INTERFACES}', or leave the variable to the profile.",
                    severity=Severity.ERROR,
                )
    for name in profile_of(pod)["environment"].get("files", ()):
        variable = env.get(name)
        if variable is None or worker is None or worker.mounts_open or not isinstance(variable.value, str):
            continue
        folder = variable.value.rpartition("/")[0]
        if not folder.startswith("/") or not _counts(pod, variable) or "$" in folder:
            continue
        if folder.startswith("/usr/local/nvidia/") or worker.image_name in profile_of(pod)["plugin_images"]:
            continue
        if not any(folder == w or folder.startswith(w + "/") for w in _mounted(worker)):
            return pod.finding(
                variable.place,
                f"'{name}' names a file in '{folder}', where '{worker.name}' mounts nothing; without the file the job ends "
                "at start.",
                help=f"Name the file in {profile_of(pod)['lib_dirs'][0]}, where the installer puts it.",
                severity=Severity.WARNING,
            )
    return None


def _mounted(worker: ContainerView) -> list[str]:
    return [
        (m.string("mountPath") or "").rstrip("/") for m in worker.mounts if m.string("mountPath") not in (None, "/")
    ]


def _lacking(wanted: dict[str, str], data: dict[str, Any], given: dict[str, Variable]) -> list[str]:
    return [n for n in wanted if n not in given and n not in data["optional"]]


def _enforced(pod: WorkerPod, different: list[tuple[Variable, str]]) -> list[tuple[Variable, str]]:
    names = profile_of(pod)["environment"].get("enforced", ())
    return [(v, w) for v, w in different if v.name in names]


def _beside_the_script(
    pod: WorkerPod, rule: Rule, different: list[tuple[Variable, str]], unchecked: bool
) -> Iterator[Finding]:
    """Variables set by hand beside a script that sets them too."""
    live = [(v, w) for v, w in different if _live_after(pod, v)]
    enforced = _enforced(pod, live)
    if live:
        (variable, wanted), fatal = (enforced or live)[0], bool(enforced) and not unchecked
        yield pod.finding(
            variable.place,
            f"'{variable.name}' is set to '{variable.value}' behind the profile, which has '{wanted}'; "
            + ("the plugin's config checker ends the job." if fatal else "the fabric was not tuned with it."),
            help="Leave the profile's value.",
            severity=Severity.ERROR if fatal else (Severity.NOTE if unchecked else Severity.WARNING),
        )
        return
    read = sourcing(pod).read
    if not read:
        return
    dead = [v for v, _ in different if v.origin in ("env", "envFrom")]
    debug = pod.ranks_env.get("NCCL_DEBUG")
    if debug is not None and debug.origin == "env" and debug.value not in ("WARN",) and rule.family == "TCPXO":
        dead.append(debug)
    if dead:
        yield pod.finding(
            dead[0].place,
            f"{quoted([v.name for v in dead])} in env {'has' if len(dead) == 1 else 'have'} no effect; the profile is read "
            "later and sets its own value.",
            help="Export it behind the line that reads the profile, or take it away.",
            severity=Severity.NOTE,
        )


def _partly(
    pod: WorkerPod,
    rule: Rule,
    written: list[Variable],
    missing: list[str],
    different: list[tuple[Variable, str]],
    plugin: Release | None,
    unchecked: bool,
) -> Finding:
    profile = profile_of(pod)
    enforced = _enforced(pod, different)
    checker = "NCCL_SHIMNET_GUEST_CONFIG_CHECKER_CONFIG_FILE" in pod.ranks_env
    fatal = bool(enforced) and checker and not unchecked
    release = f" {'.'.join(str(n) for n in plugin)}" if plugin is not None else ""
    if different:
        variable, wanted = (enforced or different)[0]
        more = f" and {len(different) - 1} more differ" if len(different) > 1 else ""
        what = f"'{variable.name}' is '{variable.value}', the profile of the plugin{release} has '{wanted}'{more}"
        place = variable.place
    else:
        what = f"Of the profile of the plugin{release} {quoted(missing)} {'is' if len(missing) == 1 else 'are'} not written out"
        place = written[0].place
    end = "; the plugin's config checker ends the job." if fatal else "; the job runs below the fabric's bandwidth."
    related = tuple(Related(v.place, f"The profile has '{w}'.") for v, w in different[1:5])
    if unchecked:
        severity = Severity.NOTE
    else:
        severity = Severity.ERROR if fatal else Severity.WARNING
    return pod.finding(
        place,
        what + end,
        help=f"Read {profile['profile']['script']} in the start text instead of writing its variables out"
        + (f" (missing: {', '.join(missing[:8])}{' ...' if len(missing) > 8 else ''})." if missing else "."),
        severity=severity,
        related=related,
    )


@rule("TCPXO028", "wrong-fabric-env", Severity.ERROR, on=WorkerPod, fabric=TCPXO, also=(Severity.WARNING,))
@rule("TCPX028", "wrong-fabric-env", Severity.ERROR, on=WorkerPod, fabric=TCPX, also=(Severity.WARNING,))
@rule("GIB028", "wrong-fabric-env", Severity.ERROR, on=WorkerPod, fabric=GIB, also=(Severity.WARNING,))
def wrong_fabric_env(pod: WorkerPod, rule: Rule) -> Iterator[Finding]:
    """The ranks' environment holds no other fabric's variables.

    NCCL_NET or NCCL_NET_PLUGIN of another plugin keeps NCCL from loading this one: it fails or runs over TCP.
    Variables of another plugin are read by nobody.

    Fix: take the other fabric's variables away.
    Silent: NCCL_NET that names this fabric's plugin, or Socket (another rule's).
    Bad: TCPX's variables (tcpxo-job)
        @@ containers:
        @@ env:
        +   - name: NCCL_GPUDIRECTTCPX_CTRL_DEV
        +     value: eth0 # <-
    Bad: HPC-X's plugin (tcpxo-mega-jobset)
        @@ containers:
        @@ env:
        +   - name: NCCL_NET_PLUGIN
        +     value: /opt/hpcx/nccl_rdma_sharp_plugin/lib/libnccl-net.so # <-
    Good: the plugin pinned (tcpxo-job)
        @@ containers:
        @@ env:
        +   - name: NCCL_NET
        +     value: FasTrak
    Good: none of them (tcpxo-mega-jobset)
        @@ env:
    Bad TCPX: TCPXO's variables (tcpx-job)
        @@ containers:
        @@ env:
        +   - name: NCCL_FASTRAK_CTRL_DEV
        +     value: eth0 # <-
    Bad TCPX: the plugin of EFA (tcpx-jobset)
        @@ containers:
        @@ env:
        +   - name: NCCL_NET
        +     value: AWS Libfabric # <-
    Good TCPX: the plugin pinned (tcpx-job)
        @@ containers:
        @@ env:
        +   - name: NCCL_NET
        +     value: GPUDirectTCPX_v7
    Good TCPX: none of them (tcpx-jobset)
        @@ env:
    Bad GIB: TCPXO's variables (gib-job)
        @@ containers:
        @@ env:
        +   - name: NCCL_FASTRAK_CTRL_DEV
        +     value: eth0 # <-
    Bad GIB: the plugin of TCPXO (gib-jobset)
        @@ containers:
        @@ env:
        +   - name: NCCL_NET
        +     value: FasTrak # <-
    Good GIB: the plugin pinned (gib-job)
        @@ containers:
        @@ env:
        +   - name: NCCL_NET
        +     value: gIB
    Good GIB: none of them (gib-jobset)
        @@ env:
    Source: GoogleCloudPlatform/container-engine-accelerators@992db81; NVIDIA/JAX-Toolbox#1481.
    """
    worker = pod.worker
    if worker is None:
        return
    profile = profile_of(pod)
    foreign = profile["foreign"]
    env = pod.ranks_env
    for name, values in foreign["values"].items():
        variable = env.get(name)
        if variable is not None and isinstance(variable.value, str) and variable.value in values:
            yield pod.finding(
                variable.place,
                f"'{name}' is '{variable.value}', which is {values[variable.value]}; this pod is wired for {profile['title']}, "
                + ("and NCCL fails or runs over TCP." if name == "NCCL_NET" else "which does not use it."),
                help=f"Take it away, or pin NCCL_NET to {profile['network']}.",
                silences=("POD011", "EFA001", "IB001"),
                severity=None if name == "NCCL_NET" else Severity.WARNING,
            )
            return
    plugin = env.get("NCCL_NET_PLUGIN")
    if plugin is not None and isinstance(plugin.value, str):
        parts = set(re.split(r"[^a-z0-9]+", plugin.value.lower()))
        if parts & set(foreign["plugins"]):
            yield pod.finding(
                plugin.place,
                f"'NCCL_NET_PLUGIN' is '{plugin.value}'; NCCL does not load the plugin of {profile['title']} and runs over TCP.",
                help="Take it away.",
                silences=("POD011", "NCCL006", "EFA001", "IB001"),
            )
            return
    for prefix, title in foreign["variables"].items():
        found = [v for v in env.starting(prefix) if v.origin != "controller"]
        if found:
            yield pod.finding(
                found[0].place,
                f"{quoted([v.name for v in found])} {'belongs' if len(found) == 1 else 'belong'} to {title}; the plugin of "
                f"{profile['title']} does not read {'it' if len(found) == 1 else 'them'}.",
                help="Take the variables of the other fabric away.",
                silences=("POD011", "EFA001", "IB001"),
                severity=None if prefix.startswith("NCCL_") else Severity.WARNING,
            )
            return


@rule("GIB033", "tuner-of-other-machine", Severity.WARNING, on=WorkerPod, fabric=GIB)
def tuner_of_other_machine(pod: WorkerPod, rule: Rule) -> Iterator[Finding]:
    """The tuner's settings are those of the machine.

    The settings of A3 Ultra and A4 differ in sizes and thresholds; the config checker compares them with the
    machine and may end the job.

    Fix: read set_nccl_env.sh, which takes the machine's own.
    Silent: nodes that are not known; a script that is read afterwards and sets its own.
    Bad: A3 Ultra's on B200 (gib-job)
        ~ nvidia-h200-141gb => nvidia-b200
        @@ set_nccl_env.sh
        + export NCCL_TUNER_CONFIG_PATH=/usr/local/gib/configs/tuner_config_a3u.txtpb # <-
    Bad: A4's on H200 (gib-jobset)
        @@ set_nccl_env.sh
        + export NCCL_TUNER_CONFIG_PATH=/usr/local/gib/configs/tuner_config_a4.txtpb # <-
    Good: the machine's own (gib-job)
        @@ set_nccl_env.sh
        + export NCCL_TUNER_CONFIG_PATH=/usr/local/gib/configs/tuner_config_a3u.txtpb
    Good: a file of one's own (gib-jobset)
        @@ set_nccl_env.sh
        + export NCCL_TUNER_CONFIG_PATH=/etc/tuner/mine.txtpb
    Source: GoogleCloudPlatform/cluster-toolkit@1047080 examples/gke-a3-ultragpu and gke-a4.
    """
    variable = pod.ranks_env.get("NCCL_TUNER_CONFIG_PATH")
    known = accelerator(pod)
    if variable is None or not isinstance(variable.value, str) or known is None:
        return
    machines = profile_of(pod)["by_accelerator"]
    found = re.fullmatch(r"tuner_config_(\w+)\.txtpb", variable.value.rsplit("/", 1)[-1])
    if found is None or known not in machines:
        return
    own = machines[known]["tuner"]
    others = {m["tuner"] for m in machines.values()} - {own}
    if found[1] not in others:
        return
    if sourcing(pod).read and variable.origin in ("env", "envFrom"):
        return
    right = variable.value.replace(found[0], f"tuner_config_{own}.txtpb")
    yield pod.finding(
        variable.place,
        f"'NCCL_TUNER_CONFIG_PATH' names the settings of another machine, '{found[0]}'; the pod asks for '{known}', and the "
        "config checker may end the job.",
        help=f"Read {profile_of(pod)['profile']['script']}, which takes the machine's own, or write {right}.",
    )


@rule("TCPX033", "bindings-overlap", Severity.WARNING, on=WorkerPod, fabric=TCPX)
def bindings_overlap(pod: WorkerPod, rule: Rule) -> Iterator[Finding]:
    """Sending and receiving have CPUs of their own.

    The plugin binds its threads to the CPUs of two variables. Where they overlap, threads of both directions take
    turns on one CPU, and throughput falls.

    Fix: take the ranges of the current release notes.
    Silent: bindings that a script or a ConfigMap out of view sets.
    Bad: the ranges of older files (tcpx-job)
        @@ containers:
        @@ env:
        +   - name: NCCL_GPUDIRECTTCPX_TX_BINDINGS
        +     value: "eth1:8-21,112-125;eth2:8-21,112-125"
        +   - name: NCCL_GPUDIRECTTCPX_RX_BINDINGS
        +     value: "eth1:22-35,124-139;eth2:22-35,126-139" # <-
    Bad: the same ranges twice (tcpx-jobset)
        @@ containers:
        @@ env:
        +   - name: NCCL_GPUDIRECTTCPX_TX_BINDINGS
        +     value: "eth1:8-21,112-125;eth2:8-21,112-125"
        +   - name: NCCL_GPUDIRECTTCPX_RX_BINDINGS
        +     value: "eth2:8-21,112-125" # <-
    Good: ranges apart (tcpx-job)
        @@ containers:
        @@ env:
        +   - name: NCCL_GPUDIRECTTCPX_TX_BINDINGS
        +     value: "eth1:8-21,112-125;eth2:8-21,112-125"
        +   - name: NCCL_GPUDIRECTTCPX_RX_BINDINGS
        +     value: "eth1:22-35,126-139;eth2:22-35,126-139"
    Good: no bindings (tcpx-jobset)
        @@ env:
    Source: GoogleCloudPlatform/container-engine-accelerators@09a75de gpudirect-tcpx.
    """
    sent, received = (pod.ranks_env.get(f"NCCL_GPUDIRECTTCPX_{x}_BINDINGS") for x in ("TX", "RX"))
    if sent is None or received is None or not isinstance(sent.value, str) or not isinstance(received.value, str):
        return
    tx, rx = _bindings(sent.value), _bindings(received.value)
    for interface in sorted(tx.keys() & rx.keys()):
        both = sorted(tx[interface] & rx[interface])
        if both:
            yield pod.finding(
                received.place,
                f"The CPUs {both[0]} to {both[-1]} serve '{interface}' in both directions by 'NCCL_GPUDIRECTTCPX_TX_BINDINGS' "
                "and 'NCCL_GPUDIRECTTCPX_RX_BINDINGS'; sending and receiving take turns on them.",
                help="Give each direction CPUs of its own.",
                related=(Related(sent.place, "The sender's CPUs are named here."),),
            )
            return


def _bindings(text: str) -> dict[str, set[int]]:
    """`eth1:8-21,112-125;eth2:...` as the CPUs of each interface; what does not read so is left out."""
    made: dict[str, set[int]] = {}
    for part in text.split(";"):
        name, _, ranges = part.strip().partition(":")
        cpus: set[int] = set()
        for one in ranges.split(","):
            found = re.fullmatch(r"\s*(\d{1,4})(?:-(\d{1,4}))?\s*", one)
            if found is not None:
                cpus.update(range(int(found[1]), int(found[2] or found[1]) + 1))
        if name:
            made.setdefault(name, set()).update(cpus)
    return made


@rule("TCPXO033", "image-too-old", Severity.WARNING, on=WorkerPod, fabric=TCPXO)
def image_too_old(pod: WorkerPod, rule: Rule) -> Iterator[Finding]:
    """The training image can load the plugin.

    The plugin lies on the node and is loaded inside of the training image. From v1.0.9-1 on it needs glibc 2.35, that of
    Ubuntu 22.04; Debian 12 has a newer one. In an older image the loader refuses it, and NCCL goes on without.

    Fix: take an image that is built on Ubuntu 22.04 or Debian 12, or newer.
    Silent: images that do not say what they are built on; daemons older than v1.0.15, which go with an older plugin.
    Bad: Ubuntu 20.04 (tcpxo-job)
        @@ containers:
        ~ registry.example/train:1 => nvidia/cuda:12.2.2-devel-ubuntu20.04 # <-
    Bad: Debian 11 (tcpxo-mega-jobset)
        @@ containers:
        ~ registry.example/train:1 => python:3.11-slim-bullseye # <-
    Good: Ubuntu 22.04 (tcpxo-job)
        @@ containers:
        ~ registry.example/train:1 => nvidia/cuda:12.4.1-devel-ubuntu22.04
    Good: a plugin of before (tcpxo-mega-jobset)
        ~ tcpgpudmarxd-dev:v1.0.21 => tcpgpudmarxd-dev:v1.0.14
        @@ containers:
        ~ registry.example/train:1 => python:3.11-slim-bullseye
    Source: GoogleCloudPlatform/container-engine-accelerators@992db81 gpudirect-tcpxo/README.md (v1.0.9-1).
    """
    floor, daemon, worker = profile_of(pod).get("image_floor"), sidecar(pod), pod.worker
    node = worker.image_node if worker is not None else None
    release = release_of(tag_of(daemon) or "") if daemon is not None else None
    if floor is None or worker is None or node is None or not isinstance(worker.image, str):
        return
    if release is None or release < parsed(floor["daemon"]):
        return
    if not any(re.search(one, worker.image) for one in floor["older"]):
        return
    yield pod.finding(
        Place(node),
        f"The image '{worker.image}' has a glibc older than {floor['glibc']}, which the plugin needs from {floor['plugin']} on; "
        "NCCL cannot load the plugin and runs over TCP.",
        help="Take an image that is built on Ubuntu 22.04 or Debian 12, or newer.",
    )


@rule("TCPX034", "bindings-cut", Severity.WARNING, on=WorkerPod, fabric=TCPX)
def bindings_cut(pod: WorkerPod, rule: Rule) -> Iterator[Finding]:
    """The bindings of CPUs stand in quotes in a shell line.

    They hold semicolons, at which the shell ends a command: the plugin gets the first interface's CPUs alone, and the
    shell tries to run the rest as a program, which ends the text under `set -e`.

    Fix: put the value in quotes.
    Silent: values in env, where nothing cuts them.
    Bad: exported without quotes (tcpx-job)
        @@ containers:
        @@ set -e
        + export NCCL_GPUDIRECTTCPX_TX_BINDINGS=eth1:8-21,112-125;eth2:8-21,112-125;eth3:60-73,164-177;eth4:60-73,164-177 # <-
    Bad: the receiver's (tcpx-jobset)
        @@ containers:
        @@ set -e
        + export NCCL_GPUDIRECTTCPX_RX_BINDINGS=eth1:22-35,126-139; eth2:22-35,126-139 # <-
    Good: in quotes (tcpx-job)
        @@ containers:
        @@ set -e
        + export NCCL_GPUDIRECTTCPX_TX_BINDINGS="eth1:8-21,112-125;eth2:8-21,112-125;eth3:60-73,164-177;eth4:60-73,164-177"
    Good: one interface, and another command behind it (tcpx-jobset)
        @@ containers:
        @@ set -e
        + export NCCL_GPUDIRECTTCPX_TX_BINDINGS=eth1:8-21,112-125; echo bound
    Source: GoogleCloudPlatform/container-engine-accelerators@98c85a6 gpudirect-tcpx/README.md; POSIX shell command language.
    """
    for variable in pod.ranks_env.starting("NCCL_GPUDIRECTTCPX_"):
        if not variable.name.endswith("_BINDINGS") or variable.origin not in ("export", "mpirun"):
            continue
        node, within = variable.place.node, variable.place.within
        if not isinstance(node, Scalar) or not isinstance(node.value, str) or within is None:
            continue
        found = re.match(r"\s*;\s*\w+:\d+-\d+", node.value[within[1] :])
        if found is not None:
            yield pod.finding(
                variable.place,
                f"The shell cuts '{variable.name}' at its first ';'; the plugin gets '{variable.value}' alone, and the rest is run "
                "as a command that does not exist.",
                help="Put the value in quotes.",
            )
            return

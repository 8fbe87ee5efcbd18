"""TCPXO, TCPX and gIB: the folders of the host that the daemon and the worker need, and where they are mounted."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from fabriclint.node import Mapping, Scalar, Unknown
from fabriclint.pod import ContainerView, WorkerPod
from fabriclint.rule import AddField, Applicability, Finding, Fix, Place, Related, Rule, SetValue, Severity, rule
from fabriclint_rules.gke_wiring import (
    GIB,
    TCPX,
    TCPXO,
    filled_in,
    host_path,
    launch_of,
    mounts_below,
    on_host,
    profile_of,
    quoted,
    sidecar,
    volume_node,
)
from fabriclint_rules.pod_mending import mount_host_folders


def _libraries(pod: WorkerPod, container: ContainerView) -> tuple[str, Mapping | None]:
    """How a container has the driver's libraries: right, open, none, or the mount that mixes two folders."""
    pairs = [tuple(p) for p in profile_of(pod)["libraries"]]
    places = [where for _, where in pairs]
    hosts = [host for host, _ in pairs]
    mixed = None
    for mount in mounts_below(container, "/usr/local/nvidia"):
        where = (mount.string("mountPath") or "").rstrip("/")
        host = host_path(pod, mount)
        if isinstance(host, Unknown) or host is None:
            return "open", mount
        if (host, where) in pairs and mount.at("subPath") is None:
            return "right", mount
        if where in places and host in hosts:
            mixed = mount
        elif where in places or host not in hosts:
            return "open", mount
    if mixed is not None:
        return "mixed", mixed
    for mount in container.mounts:
        where, host = mount.string("mountPath") or "", host_path(pod, mount)
        if "lib64" in where or (isinstance(host, str) and "nvidia" in host):
            return "open", mount
    return "none", None


def _mixed_in_both(pod: WorkerPod) -> bool:
    """Whether daemon and worker mount one volume of the wrong folder at one path: the volume is at fault."""
    daemon, worker = sidecar(pod), pod.worker
    if daemon is None or worker is None or worker.mounts_open:
        return False
    found = [_libraries(pod, c) for c in (daemon, worker)]
    mounts = [m for state, m in found if state == "mixed" and m is not None]
    return len(mounts) == 2 and all(mounts[0].string(k) == mounts[1].string(k) for k in ("name", "mountPath"))


def _mixed(pod: WorkerPod, container: ContainerView, mount: Mapping) -> Finding:
    where = (mount.string("mountPath") or "").rstrip("/")
    host = host_path(pod, mount)
    right = next(h for h, w in profile_of(pod)["libraries"] if w == where)
    node = volume_node(pod, mount)
    place = mount.at("mountPath")
    if _mixed_in_both(pod) and isinstance(node, Scalar) and pod.worker is not None:
        return pod.finding(
            Place(node),
            f"The host's '{host}' is mounted at '{where}' in '{container.name}' and '{pod.worker.name}'; the libraries are not "
            "where the loader looks for them.",
            help=f"Write '{right}' here, or mount it at the path that goes with it.",
            related=(Related(Place(place if place is not None else mount), "It is mounted here."),),
        )
    return pod.finding(
        Place(place if place is not None else mount),
        f"The host's '{host}' is mounted at '{where}' in '{container.name}'; the libraries are not where the loader looks for "
        "them.",
        help=f"Mount '{right}' there.",
        related=(Related(Place(node), "This is the volume's folder."),) if node is not None else (),
    )


@rule("TCPXO018", "driver-libraries", Severity.ERROR, on=WorkerPod, fabric=TCPXO, also=(Severity.WARNING, Severity.NOTE), yields_to=("POD010",))  # fmt: skip
@rule("TCPX018", "driver-libraries", Severity.ERROR, on=WorkerPod, fabric=TCPX, also=(Severity.WARNING, Severity.NOTE), yields_to=("POD010",))  # fmt: skip
def driver_libraries(pod: WorkerPod, rule: Rule) -> Iterator[Finding]:
    """The daemon has the driver's libraries, and looks for them there.

    GKE's device plugin mounts the libraries into containers that ask for GPUs, and the daemon asks for none:
    without a mount of its own it does not start.

    Fix: mount the hostPath /home/kubernetes/bin/nvidia at /usr/local/nvidia in the sidecar (or its lib64 at lib64),
    and set LD_LIBRARY_PATH to /usr/local/nvidia/lib64.
    Silent: volumes that are no hostPath; LD_LIBRARY_PATH alone is a note under the generic contract.
    Bad: no mount (tcpxo-job)
        @@ add: [NET_ADMIN
          volumeMounts: # <-
        -   - name: libraries
        -     mountPath: /usr/local/nvidia
    Bad: the folder one level too deep (tcpxo-mega-jobset)
        @@ add: [NET_ADMIN
        ~ mountPath: /usr/local/nvidia => mountPath: /usr/local/nvidia/lib64 # <-
    Good: the driver's folder (tcpxo-job)
        @@ libraries
    Good: its libraries alone, and the same folder in the worker (tcpxo-mega-jobset)
        @@ add: [NET_ADMIN
        ~ mountPath: /usr/local/nvidia => mountPath: /usr/local/nvidia/lib64
        @@ containers:
        ~ mountPath: /usr/local/nvidia => mountPath: /usr/local/nvidia/lib64
        ~ path: /home/kubernetes/bin/nvidia => path: /home/kubernetes/bin/nvidia/lib64
    Bad TCPX: no mount (tcpx-job)
        @@ add: [NET_ADMIN
          volumeMounts: # <-
        -   - name: libraries
        -     mountPath: /usr/local/nvidia
    Bad TCPX: the folder one level too deep (tcpx-jobset)
        @@ add: [NET_ADMIN
        ~ mountPath: /usr/local/nvidia => mountPath: /usr/local/nvidia/lib64 # <-
    Good TCPX: the driver's folder (tcpx-job)
        @@ libraries
    Good TCPX: its libraries alone, and the same folder in the worker (tcpx-jobset)
        @@ add: [NET_ADMIN
        ~ mountPath: /usr/local/nvidia => mountPath: /usr/local/nvidia/lib64
        @@ containers:
        ~ mountPath: /usr/local/nvidia => mountPath: /usr/local/nvidia/lib64
        ~ path: /home/kubernetes/bin/nvidia => path: /home/kubernetes/bin/nvidia/lib64
    Source: GoogleCloudPlatform/container-engine-accelerators@992db81 gpudirect-tcpxo and
    cmd/nvidia_gpu/nvidia_gpu.go.
    """
    daemon = sidecar(pod)
    if daemon is None or daemon.mounts_open or filled_in(daemon):
        return
    state, mount = _libraries(pod, daemon)
    host, where = profile_of(pod)["libraries"][0]
    if state == "mixed" and mount is not None:
        yield _mixed(pod, daemon, mount)
        return
    if state == "none":
        yield pod.finding(
            daemon.missing("volumeMounts"),
            f"The daemon '{daemon.name}' has no driver libraries; it asks for no GPU, so nothing mounts them, and it does not "
            "start.",
            help=f"Mount the hostPath '{host}' at '{where}' in it.",
            fix=mount_host_folders(daemon, [(where, host)]),
        )
        return
    path = daemon.seen_env.value("LD_LIBRARY_PATH")
    if path is None and state == "right":
        folder = f"{where}/lib64"
        aicr = pod.contract == "aicr"
        yield pod.finding(
            daemon.missing("env"),
            f"The daemon '{daemon.name}' has no 'LD_LIBRARY_PATH'; whether its image looks for the driver's libraries in "
            f"'{folder}' cannot be seen.",
            help=f"Set LD_LIBRARY_PATH to {folder}.",
            severity=Severity.WARNING if aicr else Severity.NOTE,
            by_contract=aicr,
            fix=Fix(
                "set LD_LIBRARY_PATH",
                (AddField(daemon.node, ("env",), [{"name": "LD_LIBRARY_PATH", "value": folder}], append=True),),
            ),
        )
    elif isinstance(path, str) and "nvidia/lib64" not in path and state == "right" and "$" not in path:
        variable = daemon.seen_env.get("LD_LIBRARY_PATH")
        yield pod.finding(
            variable.place if variable is not None else daemon.name_place,
            f"The daemon's 'LD_LIBRARY_PATH' is '{path}', without the driver's libraries; it does not start.",
            help=f"Add {where}/lib64.",
        )


@rule("TCPXO019", "host-volumes", Severity.ERROR, on=WorkerPod, fabric=TCPXO, also=(Severity.NOTE,), yields_to=("TCPXO011", "POD010"))  # fmt: skip
@rule("TCPX019", "host-volumes", Severity.ERROR, on=WorkerPod, fabric=TCPX, also=(Severity.NOTE,), yields_to=("TCPX011", "POD010"))  # fmt: skip
def host_volumes(pod: WorkerPod, rule: Rule) -> Iterator[Finding]:
    """The host's folders are mounted where daemon and plugin read them.

    The daemon finds NICs and GPUs in the host's /sys (at /hostsysfs) and tunes the network by /proc/sys (at
    /hostprocsysfs); the worker's plugin needs the aperture devices (TCPXO). A missing one means no GPU found, and
    TCP.

    Fix: mount the hostPaths /sys, /proc/sys and, in the worker, /dev/aperture_devices, under the names given there.
    Silent: the host's network, where the daemon sees both folders; the worker's libraries under the generic
    contract are a note, as GKE's device plugin mounts them.
    Bad: the daemon without /proc/sys (tcpxo-job)
        @@ add: [NET_ADMIN
        @@ volumeMounts: # <-
        - - name: proc-sys
        -   mountPath: /hostprocsysfs
    Bad: another folder of the host (tcpxo-mega-jobset)
        @@ volumes:
        ~ path: /sys => path: /sys/devices # <-
    Bad: AICR's worker without the libraries (tcpxo-runtime)
        @@ nvidia.com/gpu: 8
          volumeMounts: # <-
        -   - name: libraries
        -     mountPath: /usr/local/nvidia
    Good: the four folders (tcpxo-job)
        @@ volumes:
    Good: other names of the volumes (tcpxo-mega-jobset)
        @@ add: [NET_ADMIN
        ~ name: sys => name: host-sys
        @@ volumes:
        ~ name: sys => name: host-sys
    Bad TCPX: the daemon without /proc/sys (tcpx-job)
        @@ add: [NET_ADMIN
        @@ volumeMounts: # <-
        - - name: proc-sys
        -   mountPath: /hostprocsysfs
    Bad TCPX: another folder of the host (tcpx-jobset)
        @@ volumes:
        ~ path: /sys => path: /sys/devices # <-
    Good TCPX: the four folders (tcpx-job)
        @@ volumes:
    Good TCPX: other names of the volumes (tcpx-jobset)
        @@ add: [NET_ADMIN
        ~ name: sys => name: host-sys
        @@ volumes:
        ~ name: sys => name: host-sys
    Source: GoogleCloudPlatform/container-engine-accelerators@992db81 gpudirect-tcpxo/nccl-test-latest.yaml; NVIDIA
    AICR.
    """
    daemon, worker = sidecar(pod), pod.worker
    profile = profile_of(pod)
    if daemon is not None and not daemon.mounts_open and not filled_in(daemon) and not on_host(pod):
        yield from _daemon_mounts(pod, daemon, profile["daemon_mounts"])
    if worker is None or worker.mounts_open or filled_in(worker):
        return
    if "worker_mount" in profile:
        where, wanted = profile["worker_mount"]
        mount = worker.mount_at(where)
        host = host_path(pod, mount) if mount is not None else wanted
        if mount is not None and not isinstance(host, Unknown) and host != wanted:
            yield _wrong_folder(pod, mount, where, wanted, f"the worker '{worker.name}'")
    state, mount = _libraries(pod, worker)
    if state == "mixed" and mount is not None:
        if not _mixed_in_both(pod):  # else said of the daemon
            yield _mixed(pod, worker, mount)
    elif state == "none" and not (rule.family == "TCPX" and pod.contract != "aicr"):
        aicr = pod.contract == "aicr" and "NCCL_LIB_DIR" not in _elsewhere(pod)
        host, where = profile["libraries"][0]
        yield pod.finding(
            worker.missing("volumeMounts"),
            f"The worker '{worker.name}' does not mount the driver's libraries; GKE's own device plugin mounts them, NVIDIA's "
            "does not, and then the plugin is not found.",
            help=f"Mount the hostPath '{host}' at '{where}' in it.",
            severity=None if aicr else Severity.NOTE,
            by_contract=aicr,
            fix=mount_host_folders(worker, [(where, host)]) if aicr else None,
        )


def _elsewhere(pod: WorkerPod) -> dict[str, Any]:
    """NCCL_LIB_DIR when it names another folder than the host's libraries."""
    value = pod.ranks_env.value("NCCL_LIB_DIR")
    return {"NCCL_LIB_DIR": value} if isinstance(value, str) and not value.startswith("/usr/local/nvidia/") else {}


def _daemon_mounts(pod: WorkerPod, daemon: ContainerView, wanted: list[list[str]]) -> Iterator[Finding]:
    missing = []
    for where, host in wanted:
        mount = daemon.mount_at(where)
        if mount is None:
            missing.append((where, host))
            continue
        found = host_path(pod, mount)
        if not isinstance(found, Unknown) and found != host:
            yield _wrong_folder(pod, mount, where, host, f"the daemon '{daemon.name}'")
            return
    if missing:
        yield pod.finding(
            daemon.missing("volumeMounts"),
            f"The daemon '{daemon.name}' has nothing mounted at {quoted([w for w, _ in missing])}; it finds no GPU or NIC there "
            "and ends, and the job runs over TCP.",
            help="Mount " + " and ".join(f"the hostPath '{h}' at '{w}'" for w, h in missing) + " in it.",
            fix=mount_host_folders(daemon, missing),
        )


def _wrong_folder(pod: WorkerPod, mount: Mapping, where: str, wanted: str, who: str) -> Finding:
    node = volume_node(pod, mount)
    found = host_path(pod, mount)
    what = f"the host's '{found}'" if isinstance(found, str) else "no folder of the host"
    name = mount.at("mountPath")
    path = pod.volumes[mount.string("name") or ""].scalar("hostPath", "path") if node is not None else None
    return pod.finding(
        Place(path) if path is not None else Place(node if node is not None else mount, on_key=False),
        f"The volume at '{where}' in {who} is {what}; the devices and files that are read there are missing.",
        help=f"Use the hostPath '{wanted}'.",
        related=(Related(Place(name), "It is mounted here."),) if name is not None else (),
        fix=Fix(f"write {wanted}", (SetValue(path, wanted),)) if path is not None else None,
    )


@rule("TCPX031", "socket-volume", Severity.ERROR, on=WorkerPod, fabric=TCPX, yields_to=("TCPX011", "POD010"))
def socket_volume(pod: WorkerPod, rule: Rule) -> Iterator[Finding]:
    """Daemon and worker share the folder of the daemon's sockets, and the plugin looks there.

    The plugin reaches the daemon through sockets in a folder (`--uds_path`), by default /tmp in the worker. Without
    a shared volume, or with another prefix, NCCL hangs or runs over TCP.

    Fix: mount one volume at /run/tcpx in both and set NCCL_GPUDIRECTTCPX_UNIX_CLIENT_PREFIX=/run/tcpx, or mount it
    at /tmp in the worker.
    Silent: environments that are set by a script or a ConfigMap out of view.
    Bad: not mounted in the worker (tcpx-job)
        @@ containers:
        @@ nvidia.com/gpu
        @@ volumeMounts: # <-
        - - name: socket
        -   mountPath: /run/tcpx
    Bad: another prefix (tcpx-jobset)
        ~ value: /run/tcpx => value: /run/sockets # <-
    Good: the same folder in both (tcpx-job)
        @@ /run/tcpx
    Good: at /tmp in the worker, the default (tcpx-jobset)
        @@ containers:
        - - name: NCCL_GPUDIRECTTCPX_UNIX_CLIENT_PREFIX
        -   value: /run/tcpx
        ~ mountPath: /run/tcpx => mountPath: /tmp
    Source: GoogleCloudPlatform/container-engine-accelerators@992db81 gpudirect-tcpx; google/nccl-plugin-
    gpudirecttcpx@4b8ea7f src/flags.cc.
    """
    daemon, worker = sidecar(pod), pod.worker
    if daemon is None or worker is None or daemon.mounts_open or worker.mounts_open:
        return
    if filled_in(daemon) or filled_in(worker):
        return
    data = profile_of(pod)["socket"]
    directory = _socket_directory(daemon, data)
    if directory is None:
        return
    mount = _mount_over(daemon, directory)
    if mount is None:
        yield pod.finding(
            daemon.missing("volumeMounts"),
            f"The daemon's sockets are in '{directory}', where '{daemon.name}' mounts no volume; the worker does not reach "
            "them, and NCCL hangs or runs over TCP.",
            help=f"Add an emptyDir, mount it at '{directory}' in the daemon and in the worker.",
        )
        return
    volume = mount.string("name")
    if volume is None:
        return
    shared = [m for m in worker.mounts if m.string("name") == volume]
    if not shared:
        yield pod.finding(
            worker.missing("volumeMounts"),
            f"The worker '{worker.name}' does not mount '{volume}', where the daemon's sockets are; NCCL hangs or runs over "
            "TCP.",
            help=f"Mount '{volume}' at '{directory}' and set {data['variable']} to it, or mount it at {data['default']}.",
            related=(Related(Place(mount), "The daemon mounts it here."),),
        )
        return
    prefix = pod.ranks_env.get(data["variable"])
    value = prefix.value if prefix is not None else None
    unseen = pod.ranks_env.open or worker.start.idle or worker.env.open or "configMap" in _volume_kinds(pod, worker)
    if isinstance(value, Unknown) or (prefix is None and unseen):
        return
    wanted = value if isinstance(value, str) else data["default"]
    places = [(m.string("mountPath") or "").rstrip("/") for m in shared]
    if wanted.rstrip("/") in places or open_places(places):
        return
    where = prefix.place if prefix is not None else Place(shared[0].at("mountPath") or shared[0])
    said = f"'{wanted}'" if prefix is not None else f"its default '{wanted}'"
    yield pod.finding(
        where,
        f"The plugin looks for the daemon's sockets in {said}, but '{volume}' is mounted at '{places[0]}'; NCCL hangs or "
        "runs over TCP.",
        help=f"Set {data['variable']} to '{places[0]}' in the worker.",
        fix=(
            Fix(f"write {places[0]}", (SetValue(prefix.place.node, places[0]),), Applicability.UNSAFE)
            if prefix is not None and prefix.origin == "env"
            else None
        ),
    )


def open_places(places: list[str]) -> bool:
    """Whether a mount's place is filled in elsewhere."""
    return any("$" in p or "{" in p for p in places)


def _volume_kinds(pod: WorkerPod, container: ContainerView) -> set[str]:
    kinds: set[str] = set()
    for mount in container.mounts:
        volume = pod.volumes.get(mount.string("name") or "")
        kinds.update(volume.fields if volume is not None else ())
    return kinds


def _socket_directory(daemon: ContainerView, data: dict[str, Any]) -> str | None:
    """Where the daemon puts its sockets: behind its flag; None when that cannot be seen."""
    flag = f"--{data['flag']}"
    launch = launch_of(daemon)
    for program in launch.programs:
        words = program.invocation.words
        for at, word in enumerate(words):
            if word.raw.lstrip("-") == data["flag"] and word.raw.startswith("-") and at + 1 < len(words):
                text = words[at + 1].text
                return text.rstrip("/") if isinstance(text, str) else None
            if word.raw.startswith(flag + "="):
                text = word.text
                return text.partition("=")[2].rstrip("/") if isinstance(text, str) else None
    return None


def _mount_over(container: ContainerView, directory: str) -> Mapping | None:
    for mount in container.mounts:
        where = (mount.string("mountPath") or "").rstrip("/")
        if where and (directory == where or directory.startswith(where + "/")):
            return mount
    return None


@rule("GIB019", "host-volumes", Severity.ERROR, on=WorkerPod, fabric=GIB, also=(Severity.WARNING, Severity.NOTE), yields_to=("GIB032", "POD010"))  # fmt: skip
def gib_folder(pod: WorkerPod, rule: Rule) -> Iterator[Finding]:
    """The folder of gIB is mounted where the start text reads it.

    gIB lies on the host; a text that reads its script below /usr/local/gib finds nothing without the mount, and
    NCCL falls back to TCP.

    Fix: mount the hostPath /home/kubernetes/bin/gib at /usr/local/gib.
    Silent: images whose name holds `gib`, which carry it; texts that do not name the folder.
    Bad: no mount, and an image that is known not to have it (gib-job)
        ~ registry.example/train:1 => nvcr.io/nvidia/pytorch:25.01-py3
        ~ . /usr/local/gib => . /usr/local/gib # <-
        @@ nvidia.com/gpu
        - - name: gib
        -   mountPath: /usr/local/gib
        @@ volumes:
        - - name: gib
        -   hostPath:
        -     path: /home/kubernetes/bin/gib
    Bad: another folder of the host (gib-jobset)
        @@ volumes:
        ~ path: /home/kubernetes/bin/gib => path: /home/kubernetes/bin/nvidia # <-
    Good: mounted (gib-job)
        @@ mountPath: /usr/local/gib
    Good: an image that carries it (gib-jobset)
        ~ registry.example/train:1 => mirror.example/nccl-plugin-gib-diagnostic:v1.1.0
        - - name: gib
        -   mountPath: /usr/local/gib
        @@ volumes:
        - - name: gib
        -   hostPath:
        -     path: /home/kubernetes/bin/gib
    Source: GoogleCloudPlatform/container-engine-accelerators@992db81 gpudirect-rdma.
    """
    worker = pod.worker
    if worker is None or worker.mounts_open:
        return
    host, where = profile_of(pod)["home"]
    for mount in worker.mounts:
        found = (mount.string("mountPath") or "").rstrip("/")
        if where == found or where.startswith(found + "/") or found.startswith(where + "/"):
            path = host_path(pod, mount)
            if found == where and isinstance(path, str) and path != host and path.startswith("/home/kubernetes/"):
                yield _wrong_folder(pod, mount, where, host, f"the worker '{worker.name}'")
            return
    if any(host_path(pod, m) == host for m in worker.mounts):
        return
    image = worker.image
    if "gib" in worker.image_name.lower():
        return
    word = next((w for w in worker.words if where in w.text), None)
    if word is None:
        return
    at = word.text.find(where)
    end = at
    while end < len(word.text) and (word.text[end].isalnum() or word.text[end] in "/_.-"):
        end += 1
    name = worker.image_name
    plain = isinstance(image, str) and name in (
        "pytorch",
        "cuda",
        "ubuntu",
        "debian",
        "python",
        "nemo",
        "jax",
        "vllm-openai",
    )
    yield pod.finding(
        Place(word, within=(at, end)),
        f"'{worker.name}' reads '{word.text[at:end]}' and mounts nothing at '{where}'; without gIB NCCL falls back to TCP.",
        help=f"Mount the hostPath '{host}' at '{where}' in it.",
        severity=None if plain else Severity.WARNING,
    )


@rule("GIB032", "gib-mount-point", Severity.WARNING, on=WorkerPod, fabric=GIB, also=(Severity.NOTE,))
def gib_mount_point(pod: WorkerPod, rule: Rule) -> Iterator[Finding]:
    """The folder of gIB is mounted at /usr/local/gib.

    gIB's libibverbs has that folder built in. Mounted elsewhere it cannot open its configuration, and NCCL falls
    back to TCP without an error.

    Fix: mount it at /usr/local/gib.
    Silent: a mount above it; a mount at the host's own path is a note.
    Bad: another folder (gib-job)
        ~ . /usr/local/gib => . /opt/gib
        ~ mountPath: /usr/local/gib => mountPath: /opt/gib # <-
    Bad: one level too deep (gib-jobset)
        ~ . /usr/local/gib => . /usr/local/nvidia/gib
        ~ mountPath: /usr/local/gib => mountPath: /usr/local/nvidia/gib # <-
    Good: where it belongs (gib-job)
        @@ mountPath: /usr/local/gib
    Good: read-only (gib-jobset)
        @@ mountPath: /usr/local/gib
        + readOnly: true
    Source: Google Cloud AI Hypercomputer, "Collect and understand NCCL/gIB logs".
    """
    worker = pod.worker
    if worker is None or worker.mounts_open:
        return
    host, where = profile_of(pod)["home"]
    found = [m for m in worker.mounts if host_path(pod, m) == host]
    if not found or any((m.string("mountPath") or "").rstrip("/") in (where, *_above(where)) for m in found):
        return
    mount = found[0]
    node = mount.at("mountPath")
    own = mount.string("mountPath") or ""
    if node is None or "$" in own or "{" in own:
        return
    yield pod.finding(
        Place(node),
        f"gIB's folder is mounted at '{own}'; its libibverbs looks for its drivers below '{where}' only, finds none, and "
        "NCCL falls back to TCP.",
        help=f"Mount it at '{where}'.",
        severity=Severity.NOTE if own.rstrip("/") == host else None,
        fix=Fix(f"mount at {where}", (SetValue(node, where),)),
    )


def _above(folder: str) -> list[str]:
    parts = folder.split("/")
    return ["/".join(parts[:n]) for n in range(2, len(parts))]

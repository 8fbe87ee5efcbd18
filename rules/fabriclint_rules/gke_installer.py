"""TCPXO and TCPX: what the cluster's own DaemonSets show of a plugin or an injector that will not work."""

from __future__ import annotations

from collections.abc import Iterator

from fabriclint.pod import PodView
from fabriclint.rule import Finding, Place, Severity, rule
from fabriclint.workload import PodRole
from fabriclint_rules.gke_wiring import tag_of

#: The name that the plugin's image would have if it were called after its fabric.
_NO_IMAGE = "nccl-plugin-gpudirecttcpxo"
_IMAGE_HELP = "Write nccl-plugin-gpudirecttcpx-dev, in the folder gpudirect-tcpxo."


def _copies_plugin(pod: PodView) -> Iterator[Finding]:
    """A job's own container that is to bring the plugin, by a name that no image has."""
    for container in pod.containers:
        node = container.image_node
        if node is not None and container.image_name == _NO_IMAGE:
            yield pod.finding(
                Place(node),
                f"No image is called '{_NO_IMAGE}'; it is not pulled and the pod does not start.",
                help=_IMAGE_HELP,
                severity=Severity.ERROR,
            )


@rule("TCPXO032", "installer-parts", Severity.NOTE, on=PodView, also=(Severity.ERROR,))
def installer_parts(pod: PodView) -> Iterator[Finding]:
    """The cluster's DaemonSets install what TCPXO's pods need.

    The installer's first init container loads the module behind /dev/dmabuf_import_helper; without it the DaemonSet
    becomes Ready and every daemon ends with exit code 0. An image that does not exist is not pulled, in a job's pod
    either, and an old injector crashes on nodes of today.

    Fix: take the installer and the injector of one release as they are published.
    Silent: init containers whose command is not in view.
    Bad: no module is loaded (whole)
        apiVersion: apps/v1
        kind: DaemonSet
        metadata:
          name: nccl-tcpxo-installer
        spec:
          selector:
            matchLabels: {app: installer}
          template:
            metadata:
              labels: {app: installer}
            spec:
              initContainers:
                - name: install # <-
                  image: mirror.example/gpudirect-tcpxo/nccl-plugin-gpudirecttcpx-dev:v1.0.15
                  command: [/scripts/container_entry.sh, install]
              containers:
                - name: pause
                  image: mirror.example/pause:3
    Bad: an image that does not exist (whole)
        apiVersion: apps/v1
        kind: DaemonSet
        metadata:
          name: nccl-tcpxo-installer
        spec:
          selector:
            matchLabels: {app: installer}
          template:
            metadata:
              labels: {app: installer}
            spec:
              initContainers:
                - name: install
                  image: mirror.example/gpudirect-tcpxo/nccl-plugin-gpudirecttcpxo:v1.0.15 # <-
                  command: [/scripts/container_entry.sh, install]
              containers:
                - name: pause
                  image: mirror.example/pause:3
    Bad: an injector of old (whole)
        apiVersion: apps/v1
        kind: DaemonSet
        metadata:
          name: device-injector
        spec:
          selector:
            matchLabels: {app: installer}
          template:
            metadata:
              labels: {app: installer}
            spec:
              initContainers:
                - name: enable-nri # <-
                  image: mirror.example/tool:1
                  command: [/bin/true]
              containers:
                - name: pause
                  image: mirror.example/pause:3
    Bad: a job copies the plugin from an image that does not exist (tcpxo-job)
        + initContainers:
        +   - name: plugin
        +     image: mirror.example/gpudirect-tcpxo/nccl-plugin-gpudirecttcpxo:v1.0.15 # <-
        +     command: [/scripts/container_entry.sh, install]
        - initContainers:
    Good: the module is loaded first (whole)
        apiVersion: apps/v1
        kind: DaemonSet
        metadata:
          name: nccl-tcpxo-installer
        spec:
          selector:
            matchLabels: {app: installer}
          template:
            metadata:
              labels: {app: installer}
            spec:
              initContainers:
                - name: prepare
                  image: mirror.example/tool:1
                  command: [modprobe, import-helper]
                - name: install
                  image: mirror.example/gpudirect-tcpxo/nccl-plugin-gpudirecttcpx-dev:v1.0.15
                  command: [/scripts/container_entry.sh, install]
              containers:
                - name: pause
                  image: mirror.example/pause:3
    Good: the installer of TCPX (whole)
        apiVersion: apps/v1
        kind: DaemonSet
        metadata:
          name: nccl-tcpx-installer
        spec:
          selector:
            matchLabels: {app: installer}
          template:
            metadata:
              labels: {app: installer}
            spec:
              initContainers:
                - name: install
                  image: mirror.example/gpudirect-tcpx/nccl-plugin-gpudirecttcpx-dev:v3.1.9
                  command: [/scripts/container_entry.sh, install]
              containers:
                - name: pause
                  image: mirror.example/pause:3
    Source: GoogleCloudPlatform/container-engine-accelerators@992db81 gpudirect-tcpxo/nccl-tcpxo-installer.yaml,
    #539, #562.
    """
    if pod.role is not PodRole.DAEMON and pod.workload.kind != "DaemonSet":
        yield from _copies_plugin(pod)
        return
    for container in pod.containers:
        image, node = container.image, container.image_node
        if not isinstance(image, str) or node is None:
            continue
        folder = image.rsplit("/", 2)[-2] if "/" in image else ""
        if container.image_name == _NO_IMAGE:
            yield pod.finding(
                Place(node),
                f"No image is called '{container.image_name}'; the installer's image is not pulled and no node gets the plugin.",
                help=_IMAGE_HELP,
            )
            return
        if container.image_name == "nccl-plugin-gpudirecttcpx-dev" and folder == "gpudirect-tcpxo":
            if tag_of(container) in ("", "latest"):
                yield pod.finding(
                    Place(node),
                    f"The installer's image '{image}' names no release; no image of that tag is published.",
                    help="Write the plugin's tag, and pair the daemon's with it.",
                )
                return
            texts = "".join(c.start_text for c in pod.containers)
            unseen = any(not c.command_seen and c.image_name != "pause" for c in pod.init_containers)
            if "import-helper" not in texts and "import_helper" not in texts and not unseen:
                yield pod.finding(
                    container.name_place,
                    "The installer loads no 'import-helper' module; the nodes have no /dev/dmabuf_import_helper, and every "
                    "daemon ends with exit code 0.",
                    help="Take the installer's first init container over, which loads the module and binds the aperture devices.",
                )
                return
        if container.name == "enable-nri" and container.kind == "init":
            yield pod.finding(
                container.name_place,
                "The injector still switches NRI on by 'enable-nri'; it crashes on nodes of today, and pods with device "
                "annotations do not start.",
                help="Take the injector of a release without that container.",
            )
            return

"""The shell loop that takes a snapshot: one file per resource type, so that an unknown type spoils nothing."""

from __future__ import annotations

import shlex

from fabriclint_schemas.cluster import tables


def snapshot_command(folder: str = "cluster", *, namespace_only: bool = False) -> str:
    """The loop as text. `namespace_only`: for a role that may read one namespace (set $NAMESPACE) and nothing else.

    Types that the server does not know or does not show leave no file and so count as not collected. Secrets,
    ConfigMaps, events and pods are never asked for. Of custom resource definitions only names and versions are.
    """
    where = shlex.quote(folder)
    scope = '-n "$NAMESPACE"' if namespace_only else "-A"
    lines = [f"mkdir -p {where}", "while read -r r; do"]
    if namespace_only:
        lines.insert(0, ': "${NAMESPACE:?is not set; end the command with: | NAMESPACE=name sh}"')
    lines.append(f'  kubectl get "$r" {scope} -o json > {where}/"$r".json 2> /dev/null || rm -f {where}/"$r".json')
    lines.append("done <<'EOF'")
    heavy = "customresourcedefinitions.apiextensions.k8s.io"
    lines += [r for r, _, namespaced in tables()["resources"] if (namespaced or not namespace_only) and r != heavy]
    lines.append("EOF")
    if not namespace_only:
        names = (
            '{"{\\"apiVersion\\":\\"v1\\",\\"kind\\":\\"CustomResourceDefinitionList\\",\\"items\\":[null"}{range .items[*]}'
            '{",{\\"kind\\":\\"CustomResourceDefinition\\",\\"metadata\\":{\\"name\\":\\""}{.metadata.name}'
            '{"\\"},\\"spec\\":{\\"group\\":\\""}{.spec.group}{"\\",\\"names\\":{\\"kind\\":\\""}{.spec.names.kind}'
            '{"\\"},\\"served\\":\\""}{.spec.versions[?(@.served==true)].name}{"\\"}}"}{end}{"]}"}'
        )
        target = f"{where}/{heavy}.json"
        lines.append(f"kubectl get crd -o jsonpath='{names}' > {target} 2> /dev/null || rm -f {target}")
    return "\n".join(lines) + "\n"

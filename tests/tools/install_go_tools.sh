#!/bin/sh
# Builds helm and kustomize outside the checkout, once, and prints the folder of their programs.
set -eu
home="${XDG_CACHE_HOME:-$HOME/.cache}/fabriclint-tools/go-helm3.19.0-kustomize5.7.1"
mkdir -p "$home"
(
    # Two test processes may come here at once: one builds, the other waits.
    if command -v flock >/dev/null 2>&1; then flock 9; fi
    if [ ! -x "$home/bin/helm" ]; then
        GOBIN="$home/bin" go install helm.sh/helm/v3/cmd/helm@v3.19.0 >&2
    fi
    if [ ! -x "$home/bin/kustomize" ]; then
        GOBIN="$home/bin" go install sigs.k8s.io/kustomize/kustomize/v5@v5.7.1 >&2
    fi
) 9>"$home/.lock"
printf '%s\n' "$home/bin"

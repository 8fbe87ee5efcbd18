#!/bin/sh
# Installs the SARIF validator outside the checkout, once, and prints the path of its program.
set -eu
home="${XDG_CACHE_HOME:-$HOME/.cache}/fabriclint-tools/sarif-5.7.0"
tool="$home/node_modules/@microsoft/sarif-multitool-linux/Sarif.Multitool"
if [ ! -x "$tool" ]; then
    mkdir -p "$home"
    npm install --silent --no-audit --no-fund --prefix "$home" @microsoft/sarif-multitool@5.7.0 >&2
    chmod +x "$tool"
fi
printf '%s\n' "$tool"

"""Programs and builtins of every day, and what is known of them: tables only."""

from __future__ import annotations

import re

#: Families of launchers that are an mpirun: of Open MPI, of MPICH and Intel, and one whose make is not told.
MPIRUN = ("openmpi", "mpi", "hydra")
SHELLS = frozenset(("bash", "sh", "dash", "ash", "zsh", "ksh"))
#: Helpers that are taken to succeed.
HELPERS = frozenset(
    [
        "mkdir",
        "chmod",
        "chown",
        "cp",
        "mv",
        "ln",
        "touch",
        "rm",
        "apt-get",
        "apt",
        "yum",
        "dnf",
        "pip",
        "pip3",
        "sleep",
        "sync",
        "date",
        "ls",
        "cat",
        "tee",
        "env",
        "printenv",
        "id",
        "whoami",
        "hostname",
        "nvidia-smi",
        "ldconfig",
        "git",
        "wget",
        "curl",
        "tar",
        "unzip",
        "sed",
        "awk",
        "sort",
        "uniq",
        "cut",
        "tr",
        "head",
        "tail",
        "wc",
        "seq",
        "sysctl",
        "mount",
        "find",
        "uname",
        "python-config",
        "nproc",
        "ibv_devinfo",
        "ibstat",
        "rdma",
        "ip",
        "dirname",
        "basename",
        "realpath",
        "readlink",
        "df",
        "du",
        "free",
        "ps",
        "apk",
        "conda",
        "service",
        "ssh-keygen",
        "update-ca-certificates",
        "huggingface-cli",
        "gsutil",
        "gcloud",
        "aws",
        "mktemp",
        "stat",
        "xargs",
        "envsubst",
    ]
)
#: Programs that are asked something: their exit status is the answer.
QUESTIONS = frozenset(
    [
        "test",
        "[",
        "[[",
        "grep",
        "egrep",
        "fgrep",
        "which",
        "nc",
        "getent",
        "ping",
        "pgrep",
        "nslookup",
        "dig",
        "host",
        "ssh",
        "curl",
        "wget",
        "diff",
        "cmp",
        "timeout",
        "type",
        "hash",
        "command",
        "mountpoint",
        "pidof",
    ]
)
#: Programs put before another program, with how many words of their own follow the options, and which options
#: take a value.
WRAPPERS: dict[str, tuple[int, frozenset[str]]] = {
    "nohup": (0, frozenset()),
    "time": (0, frozenset(("-o", "-f"))),
    "setsid": (0, frozenset()),
    "nice": (0, frozenset(("-n", "--adjustment"))),
    "ionice": (0, frozenset(("-c", "-n", "--class", "--classdata"))),
    "timeout": (1, frozenset(("-s", "-k", "--signal", "--kill-after"))),
    "stdbuf": (0, frozenset(("-i", "-o", "-e"))),
    "chrt": (1, frozenset()),
    "taskset": (1, frozenset()),
    "tini": (0, frozenset(("-p", "-e"))),
    "dumb-init": (0, frozenset()),
    "unbuffer": (0, frozenset()),
    "catchsegv": (0, frozenset()),
    "gosu": (1, frozenset()),
    "xvfb-run": (0, frozenset(("-n", "-s", "-e", "-f"))),
}
#: Files that are known to leave variables of the job alone: only names they own may change.
TAME = re.compile(
    r"/etc/profile|bashrc|/bin/activate$|hpcx-init|conda\.sh$|nccl-env-profile|set_nccl_env|nvm\.sh$|/vars\.sh$"
)
BASH_ONLY = frozenset(
    [
        "[[",
        "source",
        "declare",
        "typeset",
        "mapfile",
        "readarray",
        "let",
        "pushd",
        "popd",
        "dirs",
        "shopt",
        "builtin",
        "enable",
        "disown",
        "compgen",
        "complete",
        "help",
    ]
)
SPECIAL = frozenset((":", ".", "eval", "exec", "export", "readonly", "set", "shift", "trap", "unset", "times"))
#: What starts ranks by MPI.
MPI_STARTERS = frozenset(
    [
        "mpirun",
        "mpiexec",
        "orterun",
        "prterun",
        "mpirun.openmpi",
        "mpiexec.openmpi",
        "mpiexec.hydra",
        "mpirun.mpich",
        "mpiexec.mpich",
        "mpirun_rsh",
    ]
)

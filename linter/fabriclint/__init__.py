"""fabriclint: says before `kubectl apply` whether a multi-node GPU job will run over its fabric."""

__version__ = "0.1.0"

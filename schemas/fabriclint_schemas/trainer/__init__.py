"""Kubeflow Trainer: what its releases differ in, the names its plugins use, and the runtimes it ships."""

"""Kubeflow Trainer: what a TrainJob and its runtime become."""

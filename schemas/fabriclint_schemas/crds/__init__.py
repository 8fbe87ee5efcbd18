"""Compact schemas of custom resources, read by `load`."""

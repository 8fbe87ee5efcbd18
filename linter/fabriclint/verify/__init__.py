"""Reads the logs of a run and says which network its ranks really used."""

"""A cluster as a snapshot shows it, and where a pod may go in it."""

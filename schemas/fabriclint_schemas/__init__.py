"""Data only: schemas, version tables, fabric profiles and bundled runtimes, with a thin typed loader."""

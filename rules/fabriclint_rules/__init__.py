"""What fabriclint judges: one module per rule family. Knows no YAML, no file, no report format."""

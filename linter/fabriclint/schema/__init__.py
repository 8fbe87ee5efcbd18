"""What the API server says of an object's structure, by the kind's published schema."""

from fabriclint.schema.fault import SchemaFault
from fabriclint.schema.validation import known, validate

__all__ = ["SchemaFault", "known", "validate"]

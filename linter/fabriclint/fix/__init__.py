"""Fixes: from a rule's changes to edits of the original text, checked before they are shown or written."""

"""SUP: suppressions that do nothing, give no reason or have no use. The engine's reader finds them."""

from __future__ import annotations

from collections.abc import Iterator

from fabriclint.rule import Finding, Severity, rule


class FoundByReader:
    """A target no view ever is: these findings come from the reader, the rules only hold their pages."""


@rule("SUP001", "unknown-code", Severity.WARNING, on=FoundByReader, category="suppression")
def unknown_code(_: FoundByReader) -> Iterator[Finding]:
    """A suppression names a rule that exists.

    A misspelt code suppresses nothing, and the finding it was written for comes back.

    Fix: write the code as `fabriclint rules` prints it, or remove the comment.
    Bad: a code that does not exist (job)
        ~ image: registry.example/evaluate:1.4 => image: registry.example/evaluate:1.4  # fabriclint: ignore[IMG001] pinned # <-
    Bad: a letter too much (job)
        ~ pool: batch => pool: REPLACE_ME  # fabriclint: ignore[DOC003,DOCC003] filled in by the pipeline # <-
    Good: a code that exists (job)
        ~ pool: batch => pool: REPLACE_ME  # fabriclint: ignore[DOC003] filled in by the pipeline
    Good: a comment for people (job)
        ~ pool: batch => pool: batch  # fabriclint is silent here
    Source: fabriclint's own form of suppressions.
    """
    return iter(())


@rule("SUP002", "missing-reason", Severity.WARNING, on=FoundByReader, category="suppression")
def missing_reason(_: FoundByReader) -> Iterator[Finding]:
    """A suppression says why.

    Who reads it in a year needs the reason. In an annotation, quote a reason that holds ` #`.

    Fix: write the reason behind the bracket.
    Bad: no reason (job)
        ~ pool: batch => pool: REPLACE_ME  # fabriclint: ignore[DOC003] # <-
    Bad: no reason on a line of its own (job)
        @@ nodeSelector:
        + # fabriclint: ignore[DOC003] # <-
        - pool: batch
        + pool: REPLACE_ME
    Good: a reason (job)
        ~ pool: batch => pool: REPLACE_ME  # fabriclint: ignore[DOC003] filled in by the pipeline
    Good: a reason on a line of its own (job)
        @@ nodeSelector:
        + # fabriclint: ignore[DOC003] filled in by the pipeline
        - pool: batch
        + pool: REPLACE_ME
    Source: fabriclint's own form of suppressions.
    """
    return iter(())


@rule("SUP003", "unused-suppression", Severity.WARNING, on=FoundByReader, category="suppression")
def unused_suppression(_: FoundByReader) -> Iterator[Finding]:
    """A suppression suppresses something.

    Dead suppressions pile up and hide the next fault on their line.

    Fix: remove it.
    Bad: nothing to suppress any more (job)
        ~ pool: batch => pool: batch  # fabriclint: ignore[DOC003] filled in by the pipeline # <-
    Bad: the other of two codes (job)
        ~ pool: batch => pool: REPLACE_ME  # fabriclint: ignore[DOC003,DOC008] filled in by the pipeline # <-
    Good: a suppression at work (job)
        ~ pool: batch => pool: REPLACE_ME  # fabriclint: ignore[DOC003] filled in by the pipeline
    Good: none (job)
        @@ nodeSelector:
          pool: batch
    Source: fabriclint's own form of suppressions.
    """
    return iter(())

"""A clean run names the ConfigMaps, claims and Services that its jobs hang on and that are in none of the files."""

from __future__ import annotations

from pathlib import Path

import pytest

BASE = (Path(__file__).parent.parent / "bases" / "efa-jobset.yaml").read_text()
CLAIMS = (Path(__file__).parent.parent / "bases" / "fit-claims.yaml").read_text()
SERVICE = (Path(__file__).parent.parent / "bases" / "run-service.yaml").read_text()


def with_environment(text: str, *names: str) -> str:
    """The base whose containers take environments of ConfigMaps."""
    entries = ", ".join(f"{{configMapRef: {{name: {n}}}}}" for n in names)
    lines = text.split("\n")
    at = next(i for i, line in enumerate(lines) if line.lstrip().startswith("image:"))
    indent = " " * (len(lines[at]) - len(lines[at].lstrip()))
    return "\n".join([*lines[: at + 1], f"{indent}envFrom: [{entries}]", *lines[at + 1 :]])


def test_a_config_map_that_is_not_among_the_files_is_named(fabriclint, tmp_path):
    (tmp_path / "job.yaml").write_text(with_environment(BASE, "nccl-env"))
    ran = fabriclint("check")
    assert ran.code == 0
    assert "not seen: ConfigMap 'nccl-env' (explain says more)" in ran.out


def test_a_config_map_that_lies_in_the_repository_is_seen(fabriclint, tmp_path):
    (tmp_path / "job.yaml").write_text(with_environment(BASE, "nccl-env"))
    (tmp_path / "env").mkdir()
    (tmp_path / "env" / "env.yaml").write_text(
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: nccl-env}\ndata: {A: b}\n"
    )
    assert "not seen" not in fabriclint("check", "job.yaml").out


def test_of_many_the_first_are_named(fabriclint, tmp_path):
    (tmp_path / "job.yaml").write_text(with_environment(BASE, "a", "b", "c", "d", "e"))
    assert "not seen: ConfigMap 'a', ConfigMap 'b', ConfigMap 'c' and 2 more (explain" in fabriclint("check").out


@pytest.mark.parametrize("text", [BASE, with_environment(BASE, "nccl-${ENV}")])
def test_what_is_not_referenced_or_not_known_by_name_is_no_noise(fabriclint, tmp_path, text):
    (tmp_path / "job.yaml").write_text(text)
    assert "not seen" not in fabriclint("check").out


def test_pods_without_gpus_are_no_noise(fabriclint, tmp_path):
    (tmp_path / "web.yaml").write_text(
        "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec:\n  containers:\n"
        "    - {name: web, image: registry.example/web:1, envFrom: [{configMapRef: {name: web}}]}\n"
    )
    assert "not seen" not in fabriclint("check").out


def test_a_run_with_findings_says_nothing_of_it(fabriclint, tmp_path, faulty):
    (tmp_path / "job.yaml").write_text(with_environment(BASE, "nccl-env"))
    assert "not seen" not in fabriclint("check").out


def test_a_service_that_is_not_among_the_files_is_named(fabriclint, tmp_path):
    job, _, beside = SERVICE.partition("\n---\n")
    (tmp_path / "job.yaml").write_text(job)
    assert "not seen: Service 'train' (explain" in fabriclint("check", "job.yaml").out
    (tmp_path / "service.yaml").write_text(beside)
    assert "not seen" not in fabriclint("check", "job.yaml").out


def test_a_claim_template_that_is_not_among_the_files_is_named_here_and_by_explain(fabriclint, tmp_path):
    kept = [d for d in CLAIMS.split("\n---\n") if "\nkind: ResourceClaimTemplate\n" not in f"\n{d}"]
    (tmp_path / "job.yaml").write_text("\n---\n".join(kept))
    assert "not seen: ResourceClaimTemplate '" in fabriclint("check").out
    assert "the ResourceClaimTemplate '" in fabriclint("explain").out
    (tmp_path / "whole.yaml").write_text(CLAIMS)
    assert "not seen: ResourceClaimTemplate" not in fabriclint("check", "whole.yaml").out

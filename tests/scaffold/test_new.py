"""`new`: with everything given the manifest is silent and resolves; what is not given is reported by check."""

from __future__ import annotations

import io
import json
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import pytest

from fabriclint.assemble import assemble
from fabriclint.cli.new import Asked, run
from fabriclint.config import Settings
from fabriclint.engine import lint
from fabriclint.report.model import ReportOptions
from fabriclint.scaffold import fill, left
from fabriclint_schemas.scaffolds import scaffold_text, scaffolds

BASES = Path(__file__).parent.parent / "bases"
COMMON = {"name": "llama", "namespace": "ml", "nodes": "4", "image": "registry.example/llama:1"}
EIGHT = ",".join(f"a-gpu-nic-{n}" for n in range(8))
GIVEN: dict[str, tuple[dict[str, str], str | None]] = {
    "gke-tcpxo": ({"rxdm-tag": "v1.0.21"}, EIGHT),
    "gke-tcpx": ({"rxdm-tag": "v2.0.15"}, ",".join(EIGHT.split(",")[:4])),
    "gke-gib": ({"instance-type": "a3-ultragpu-8g"}, ",".join(f"rdma-{n}" for n in range(8))),
    "eks-efa": ({"instance-type": "p5.48xlarge"}, None),
    "aks-ib": ({"instance-type": "Standard_ND96isr_H100_v5"}, None),
}


def asked(texts: dict[str, str], **more: Any) -> Asked:
    return Asked({k: texts.get(k) for k in ("name", "namespace", "nodes", "image", "command", "rxdm-tag", "instance-type",
                                            "gpus", "efa-count", "library-path")}, **more)  # fmt: skip


def new(fabric: str, options: Asked) -> tuple[int, str, str]:
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        code = run(fabric, options, None)
    return code, out.getvalue(), err.getvalue()


def loud(text: str) -> list[tuple[str, int]]:
    result = lint([], Settings(isolated=True), stdin=("new.yaml", text.encode()))
    assert not [n for n in result.notes if n.level == "error"], result.notes
    report = assemble(result, Settings(), ReportOptions())
    return [(f.code, f.region.line) for f in report.findings if f.severity != "note"]


def test_every_fabric_of_the_table_has_a_manifest_whose_placeholders_options_fill() -> None:
    assert sorted(scaffolds()) == sorted(GIVEN)
    for fabric, table in scaffolds().items():
        names = {row.get("as", name) for name, row in table["options"].items()}
        names |= {f"network {n}" for n in range(1, table["options"].get("networks", {"count": 0})["count"] + 1)}
        assert set(left(scaffold_text(fabric))) <= names


@pytest.mark.parametrize("fabric", GIVEN)
def test_with_all_given_check_is_silent(fabric: str) -> None:
    texts, networks = GIVEN[fabric]
    code, text, told = new(fabric, asked(COMMON | texts, networks=networks))
    assert code == 0
    assert left(text) == []
    assert "left to fill in" not in told
    assert loud(text) == []


@pytest.mark.parametrize("fabric", GIVEN)
def test_with_all_given_it_resolves(fabric: str, tmp_path: Path) -> None:
    from fabriclint.cli.resolve import run as resolve

    texts, networks = GIVEN[fabric]
    _, text, _ = new(fabric, asked(COMMON | texts, networks=networks))
    (tmp_path / "new.yaml").write_text(text)
    out = io.StringIO()
    with redirect_stdout(out):
        resolve(
            [str(tmp_path / "new.yaml")],
            name=None,
            origins=False,
            diff=False,
            output_format="json",
            trainer_version=None,
        )
    (made,) = json.loads(out.getvalue())
    assert made["verdict"] == "accepted"
    (job,) = made["jobset"]["spec"]["replicatedJobs"]
    assert job["template"]["spec"]["parallelism"] == 4


@pytest.mark.parametrize("fabric", GIVEN)
def test_what_is_not_given_is_listed_and_reported_by_check(fabric: str) -> None:
    code, text, told = new(fabric, asked({}))
    assert code == 0
    missing = left(text)
    assert missing
    assert all(f"<{m}>" in told for m in missing)
    lines = [n for n, line in enumerate(text.split("\n"), 1) if any(f"<{m}>" in line for m in missing)]
    assert loud(text) == [("DOC003", n) for n in lines]


def test_a_snapshot_fills_in_networks_selector_tolerations_and_the_daemon() -> None:
    code, text, _ = new(
        "gke-tcpxo", asked({"image": "registry.example/t:1"}, snapshot=str(BASES / "snapshot-gke.yaml"))
    )
    assert code == 0
    assert left(text) == []
    assert '"network": "gpu-nic-7"' in text
    assert "tcpgpudmarxd-dev:v1.0.17" in text
    assert "value: present" in text
    assert loud(text) == []


def test_a_snapshot_fills_in_the_count_of_the_selected_pool(tmp_path: Path) -> None:
    snapshot = str(BASES / "snapshot-eks.yaml")
    chosen = ["node.kubernetes.io/instance-type=p5en.48xlarge"]
    code, text, _ = new("eks-efa", asked({"image": "registry.example/t:1"}, snapshot=snapshot, node_selector=chosen))
    assert code == 0
    assert "vpc.amazonaws.com/efa: 16" in text
    assert left(text) == []


def test_the_machine_type_chooses_the_pool_of_a_snapshot() -> None:
    snapshot = str(BASES / "snapshot-eks.yaml")
    code, text, told = new("eks-efa", asked({"instance-type": "p5en.48xlarge"}, snapshot=snapshot))
    assert code == 0
    assert "vpc.amazonaws.com/efa: 16\n" in text
    assert "nvidia.com/gpu: 8\n" in text
    assert "(options --image)" in told


def test_what_is_missing_names_the_option_that_tells_most_of_it() -> None:
    assert "--instance-type, --gpus" in new("eks-efa", asked({}))[2]


def test_pools_that_disagree_are_a_sentence_with_the_way_out() -> None:
    code, text, told = new("eks-efa", asked({}, snapshot=str(BASES / "snapshot-eks.yaml")))
    assert code == 2
    assert text == ""
    assert "p5.48xlarge, p5en.48xlarge" in told
    assert "--node-selector" in told


@pytest.mark.parametrize(
    ("fabric", "options", "says"),
    [
        ("gke-tcp", {}, "did you mean 'gke-tcpx'"),
        ("eks-efa", {"rxdm-tag": "v1"}, "--rxdm-tag says nothing for 'eks-efa'"),
        ("eks-efa", {"name": "Llama_2"}, "--name takes"),
        ("eks-efa", {"nodes": "0"}, "--nodes takes"),
        ("eks-efa", {"command": "a\nb"}, "--command takes"),
        ("eks-efa", {"command": "a\x1bb"}, "--command takes"),
        ("eks-efa", {"instance-type": "g4dn.xlarge"}, "'g4dn.xlarge' has no EFA"),
        ("gke-gib", {"instance-type": "a3-megagpu-8g"}, "--instance-type takes a3-ultragpu-8g or a4-highgpu-8g"),
    ],
)
def test_an_option_that_cannot_be_used_is_a_sentence_and_exit_2(
    fabric: str, options: dict[str, str], says: str
) -> None:
    code, text, told = new(fabric, asked(options))
    assert (code, text) == (2, "")
    assert says in told


@pytest.mark.parametrize("networks", ["a,b", ",".join(["a"] * 8), EIGHT.replace("a-gpu-nic-0", "A_0")])
def test_networks_are_as_many_different_bare_names_as_the_fabric_has_nics(networks: str) -> None:
    code, _, told = new("gke-tcpxo", asked({}, networks=networks))
    assert code == 2
    assert "--networks" in told


def test_a_value_that_yaml_would_read_as_a_number_is_quoted() -> None:
    text = fill("a: <node selector>\nb: <tolerations>\n", {"node selector": {"pool": "1"}, "tolerations": []})
    assert text == 'a:\n  pool: "1"\n'


def test_a_snapshot_of_other_nodes_says_which_there_are() -> None:
    code, text, told = new("gke-tcpxo", asked({}, snapshot=str(BASES / "snapshot-eks.yaml")))
    assert (code, text) == (2, "")
    assert "has the label cloud.google.com/gke-accelerator=nvidia-h100-mega-80gb; take" in told
    told = new("eks-efa", asked({}, snapshot=str(BASES / "snapshot-gke.yaml")))[2]
    assert "No node in" in told
    assert " offers 'vpc.amazonaws.com/efa'" in told


def test_a_snapshot_without_networks_says_so_and_is_not_asked_for_again(tmp_path: Path) -> None:
    node = {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": "a", "labels": {"cloud.google.com/gke-accelerator": "nvidia-h100-mega-80gb"}},
    }
    path = tmp_path / "nodes.json"
    path.write_text(json.dumps(node))
    code, _, told = new("gke-tcpxo", asked({}, snapshot=str(path)))
    assert code == 0
    assert "the names of the 8 networks; it has none of their kind\n" in told
    assert "--from-snapshot" not in told
    node["metadata"] = {"name": "a", "labels": {"cloud.google.com/gke-accelerator": "nvidia-h200-141gb"}}
    path.write_text(json.dumps(node))
    assert "(there: nvidia-h200-141gb); take" in new("gke-tcpxo", asked({}, snapshot=str(path)))[2]


@pytest.mark.parametrize(
    ("fabric", "accelerator", "way_out"),
    [
        ("gke-gib", "nvidia-h100-80gb", "'fabriclint new gke-tcpx' is for them"),
        ("gke-gib", "nvidia-h100-mega-80gb", "'fabriclint new gke-tcpxo' is for them"),
        ("gke-gib", "nvidia-gb200", "choose others with --node-selector"),
        ("gke-tcpxo", "nvidia-b200", "'fabriclint new gke-gib' is for them"),
    ],
)
def test_a_pool_of_another_fabric_gets_no_manifest(fabric: str, accelerator: str, way_out: str, tmp_path: Path) -> None:
    labels = {"cloud.google.com/gke-accelerator": accelerator, "cloud.google.com/gke-nodepool": "pool"}
    path = tmp_path / "nodes.json"
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "a", "labels": labels}}))
    chosen = ["cloud.google.com/gke-nodepool=pool"]
    code, text, told = new(fabric, asked({}, node_selector=chosen, snapshot=str(path)))
    assert (code, text) == (2, "")
    assert f"is {accelerator} and not " in told
    assert way_out in told


def test_of_several_pools_the_one_with_the_fabric_is_taken(tmp_path: Path) -> None:
    nodes = [
        {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": name, "labels": {"cloud.google.com/gke-accelerator": accelerator}},
        }
        for name, accelerator in (("a", "nvidia-h100-80gb"), ("b", "nvidia-b200"))
    ]
    path = tmp_path / "nodes.json"
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": nodes}))
    code, text, _ = new("gke-gib", asked({}, snapshot=str(path)))
    assert code == 0
    assert "cloud.google.com/gke-accelerator: nvidia-b200" in text
    assert "nvidia-h100-80gb" not in text


def test_an_instance_type_without_gpus_is_said() -> None:
    code, text, told = new("eks-efa", asked({"instance-type": "trn1.32xlarge"}))
    assert (code, text) == (2, "")
    assert "'trn1.32xlarge' has no NVIDIA GPUs" in told

"""A kernel that lists the same numbers in another order leads to the same campaign."""

import json
import shutil

from slowlab.methods._registry import build_method
from slowlab.tools.artifacts import ArtifactFolder
from tests.methods.contract_world import ARTIFACTS, Play


def test_the_order_of_length_scales_does_not_matter(tmp_path):
    """Numbers belong to names, not to places."""
    turned = ArtifactFolder(tmp_path / "turned", ARTIFACTS.contract)
    shutil.copytree(ARTIFACTS.folder, turned.folder)
    path = turned.path("kernel")
    artifact = json.loads(path.read_text(encoding="utf-8"))
    scales = artifact["content"]["policy_length_scales"]
    artifact["content"]["policy_length_scales"] = dict(reversed(scales.items()))
    path.write_text(json.dumps(artifact), encoding="utf-8")
    plain, other = (
        Play(build_method("prior_bo_two_wave", {}, folder)) for folder in (ARTIFACTS, turned)
    )
    plain.run()
    other.run()
    assert plain.items == other.items

"""Hashes of the parts of a study file, so that a change of one method concerns only that method.

They are taken from the study as it will run, so a key that is changed on the command line
(``--config repeats=1``) is found as well as an edited file.
"""

from __future__ import annotations

from slowlab.canonical import canonical_sha256
from slowlab.plan.study import Setting, StudyConfig

DESIGN, SETTING, ANALYSIS = "design", "setting", "analysis"
LISTS, PACKETS = "lists", "packets"
ORACLE, SIDE_WALL = "oracle", "side_wall"
METHOD, READER = "method:", "reader:"
_NO_RESULT = ("sites_per_shard", "spending")
"""Keys on which no result depends: how jobs are cut, and when spending stops."""
_PACKET_KEYS = ("reader_sources", "reader_sites")
_OWN_PARTS = ("methods", "readers", "analysis", ORACLE, SIDE_WALL, *_PACKET_KEYS)


def study_parts(config: StudyConfig) -> dict[str, str]:
    """Hash of each part of a study.

    ``design``: sites, repeats, conditions. ``setting``: what all campaigns share. ``lists``: which
    methods and readers there are. ``packets``: what readers read. ``oracle``: the search for best
    policies. ``side_wall``: scores with other side walls. ``analysis``: how it is analysed. Beside
    these there is a part for every method and reader.

    Args:
        config: the study as it will run.

    Returns:
        SHA-256 by name of the part; methods and readers as ``method:<name>``, ``reader:<name>``.
    """
    shared = {*Setting.model_fields} - {"study", "partition"}
    plain = config.model_dump(mode="json")
    design = {k: v for k, v in plain.items() if k not in (*_OWN_PARTS, *_NO_RESULT, *shared)}
    content = {
        DESIGN: design,
        SETTING: {key: plain[key] for key in sorted(shared)},
        LISTS: [[item["name"] for item in plain[kind]] for kind in ("methods", "readers")],
        PACKETS: {key: plain[key] for key in _PACKET_KEYS},
        ORACLE: plain[ORACLE],
        SIDE_WALL: plain[SIDE_WALL],
        ANALYSIS: plain["analysis"],
    }
    content |= {f"{METHOD}{item['name']}": item for item in plain["methods"]}
    content |= {f"{READER}{item['name']}": item for item in plain["readers"]}
    return {name: canonical_sha256(item) for name, item in content.items()}

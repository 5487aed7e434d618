"""The study, its paths and what ties a rule to the code it calls; no rules."""

import os
import sys
from pathlib import Path

from slowlab.campaign.isolation import SINGLE_THREAD
from slowlab.plan.agents import check_models
from slowlab.plan.fingerprint import code_sha256
from slowlab.plan.interrupted import resume_interrupted
from slowlab.plan.inputs import (
    agent_code,
    agent_questions,
    folders_of,
    method_code,
    reader_code,
    setting_files,
    setting_json,
)
from slowlab.plan.items import (
    StudyPaths,
    agents,
    campaign_items,
    example_campaign,
    load_method_folders,
    packet_shards,
    scored_conditions,
    scored_items,
    shards,
    source_items,
    sources,
)
from slowlab.plan.run_log import log_event
from slowlab.plan.study import INITIAL
from slowlab.plan.workflow_config import study_of_workflow
from slowlab.prereg.gate import lock_for
from slowlab.prereg.manifest import results_name

ROOT = Path(workflow.current_basedir.get_path_or_uri(secret_free=True)).parents[1]
LOCK = os.path.relpath(ROOT / "requirements.lock")

# The commands of this environment come first, also where it is not activated; a job has one core.
os.environ["PATH"] = os.pathsep.join(
    [str(Path(sys.executable).parent), os.environ["PATH"]]
)
os.environ.update(SINGLE_THREAD)

resume_interrupted(Path.cwd())
STUDY = study_of_workflow(workflow, ROOT)
load_method_folders(STUDY.method_folders)
check_models(STUDY)
PREREGISTERED = lock_for(ROOT, STUDY)  # stops here where a locked file has changed
PATHS = StudyPaths(
    results_name(STUDY.study, PREREGISTERED) if PREREGISTERED else STUDY.study
)
FOLDER = str(PATHS.folder)
SHARDS = {shard.name: shard for shard in shards(STUDY)}
SETTING = setting_json(STUDY)
SETTING_FILES = setting_files(STUDY)
METHODS = [entry.name for entry in STUDY.methods]
AGENTS = agents(STUDY)
READERS = [entry.name for entry in STUDY.readers]
TRANSCRIPTS = f"{FOLDER}/transcripts"
PURSE = f"{FOLDER}/purse.jsonl"

SIMULATOR_AUDIT = "results/simulator/audit.json"
SIMULATOR_EXAMPLE = [
    "results/simulator/example/crop.parquet",
    "results/simulator/example/crop.png",
]
COMPILED_STEP = f"results/simulator/compiled-{STUDY.contract}-{STUDY.sensors}.json"

NUMBERS = f"{FOLDER}/numbers.json"
EXAMPLE = example_campaign(STUDY)
EXAMPLE_JOURNAL = [] if EXAMPLE is None else f"{PATHS.campaigns(EXAMPLE)}/journals"
FIGURES = [
    "figure1",
    "figure3",
    "figure4",
    *(["figure5"] if READERS else []),
    *(["figure6"] if AGENTS else []),
    "figure7",
]
TABLES = ["table2", "table3", "table4", "table5", "gains", "by_year", "resources"]
TABLES += ["diagnostics", "campaigns", *(["readers"] if READERS else [])]
TABLES += ["anchored", "failures", "leaderboard", "conduct", "missing_data"]
TABLES += ["agents"] if AGENTS else []
AGENT_TABLES = ["agents", "agent_steps"]
STUDY_TABLES = ["scores", "site_scores", "campaigns", "crops", "reads"]
STUDY_TABLES += ["reading_scores"] if READERS else []
STUDY_TABLES += AGENT_TABLES if AGENTS else []


wildcard_constraints:
    method=r"[a-z][a-z0-9_]*",
    reader=r"[a-z][a-z0-9_]*",
    feedback=r"[a-z]+",
    repeat=r"\d+",
    shard=r"sites-\d+-\d+",


def study_results():
    """What a study ends with."""
    figures = [
        f"{FOLDER}/figures/{name}.{kind}" for name in FIGURES for kind in ("svg", "png")
    ]
    tables = [f"{FOLDER}/tables/{name}.csv" for name in TABLES]
    return [NUMBERS, *figures, *tables, f"{FOLDER}/report.html"]

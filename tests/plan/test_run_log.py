"""How long a study took, from what its workflow noted."""

import json

from slowlab.plan.run_log import FILE, log_event, seconds_by_rule, workflow_runs


def test_a_study_that_never_ran_has_no_runs(tmp_path):
    assert workflow_runs(tmp_path) == []
    assert seconds_by_rule(tmp_path) == {}


def test_finished_failed_and_killed_runs_are_told_apart(tmp_path):
    for event in ("start", "start", "error", "start", "success"):
        log_event(tmp_path, event, 2)
    runs = workflow_runs(tmp_path)
    assert [(run.wall_s is None, run.succeeded) for run in runs] == [
        (True, False),
        (False, False),
        (False, True),
    ]
    assert all(run.cores == 2 for run in runs)


def test_wall_time_is_from_beginning_to_end(tmp_path):
    path = tmp_path / FILE
    path.parent.mkdir()
    rows = [{"event": "start", "time_s": 10.0, "cores": 4}, {"event": "success", "time_s": 70.5}]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    assert workflow_runs(tmp_path)[0].wall_s == 60.5


def test_seconds_of_jobs_are_added_by_stage(tmp_path):
    for number, seconds in enumerate((1.5, 2.0)):
        path = tmp_path / "timings" / "scores" / f"job{number}.tsv"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"s\th:m:s\n{seconds}\t0:00:01\n", encoding="utf-8")
    assert seconds_by_rule(tmp_path) == {"scores": (2, 3.5)}

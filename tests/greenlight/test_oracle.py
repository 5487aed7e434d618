"""The oracle environment: how it fails, how it exchanges files, and that it reproduces itself."""

from __future__ import annotations

import json
import stat
import sys
from pathlib import Path

import numpy as np
import pytest

from slowlab.greenlight.golden import golden_path
from slowlab.greenlight.oracle import (
    OracleError,
    ensure_environment,
    environment,
    is_ready,
    run_oracle,
    two_days,
)
from slowlab.greenlight.oracle.random_states import (
    INPUT_NAMES,
    INPUT_RANGES,
    STATE_NAMES,
    STATE_RANGES,
    draw_rows,
)

GOLDEN = golden_path("greenlight_rhs").parent
ENTRY_SHA256 = "760baaeddb8d696e16895d901899536243a3ec40f5c71913e06fb2403719eb60"

needs_shell = pytest.mark.skipif(sys.platform == "win32", reason="fake tools are shell scripts")


def write_tool(path: Path, body: str) -> None:
    """Write an executable shell script."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{body}\n", encoding="utf-8")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)


def fake_environment(folder: Path) -> Path:
    """Make a folder that looks like a complete oracle environment and runs this Python."""
    write_tool(environment.environment_python(folder), f'exec "{sys.executable}" "$@"')
    (folder / "ready.json").write_text("{}", encoding="utf-8")
    return folder


@pytest.fixture
def tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that is the whole PATH, beside the standard shell tools."""
    folder = tmp_path / "tools"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}:/bin:/usr/bin")
    return folder


@pytest.fixture
def script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Return a function that runs given source as the script ``greenlight_rhs``."""
    folder = fake_environment(tmp_path / "oracle")

    def run(source: str, **keywords):
        scripts = tmp_path / "package" / "scripts"
        scripts.mkdir(parents=True)
        (scripts / "greenlight_rhs.py").write_text(source, encoding="utf-8")
        monkeypatch.setattr(environment, "_HERE", tmp_path / "package")
        return run_oracle("greenlight_rhs", folder=folder, **keywords)

    return run


def test_cache_folder_follows_the_variable_and_the_pins(tmp_path, monkeypatch):
    monkeypatch.setenv(environment.CACHE_VARIABLE, str(tmp_path))
    first = environment.default_folder()
    assert first.parent == tmp_path
    other = tmp_path / "requirements.txt"
    other.write_text("greenlight==2.0.5\n", encoding="utf-8")
    monkeypatch.setattr(environment, "requirements_file", lambda: other)
    assert environment.default_folder() != first
    assert not is_ready()


def test_pins_name_no_host_and_are_all_hashed():
    text = environment.requirements_file().read_text(encoding="utf-8")
    assert "://" not in text
    pins = [line for line in text.splitlines() if "==" in line]
    assert {"greenlight==2.0.5 \\", "numpy==1.26.4 \\"} <= set(pins)
    assert all(line.endswith("\\") for line in pins)


@needs_shell
def test_without_uv_and_the_right_python_the_error_says_what_to_do(tmp_path, tools, monkeypatch):
    monkeypatch.setenv("PATH", str(tools))
    monkeypatch.setattr(environment, "PYTHON_VERSION", (3, 99))
    write_tool(tools / "python3.99", "exit 127")
    with pytest.raises(OracleError, match=r"needs Python 3\.99 .*install uv"):
        ensure_environment(tmp_path / "cache" / "oracle")
    assert list((tmp_path / "cache").iterdir()) == []


@needs_shell
def test_failed_installation_shows_its_errors_and_leaves_nothing(tmp_path, tools):
    body = 'if [ "$1" = pip ]; then echo "no route to the index" >&2; exit 2; fi'
    write_tool(tools / "uv", body)
    with pytest.raises(OracleError, match=r"(?s)installing.*exit status 2.*no route to the index"):
        ensure_environment(tmp_path / "cache" / "oracle")
    assert list((tmp_path / "cache").iterdir()) == []


@needs_shell
def test_missing_pip_is_reported(tmp_path, tools, monkeypatch):
    monkeypatch.setenv("PATH", str(tools))
    monkeypatch.setattr(environment, "PYTHON_VERSION", sys.version_info[:2])
    python = tools / "python"
    body = f'if [ "$2" = pip ]; then echo "No module named pip" >&2; exit 1; fi\nexec {python} "$@"'
    create = f"/bin/mkdir -p $3/bin\n/bin/cat > $3/bin/python <<'X'\n#!/bin/sh\n{body}\nX\n"
    write_tool(python, f"{create}/bin/chmod +x $3/bin/python")
    monkeypatch.setattr(environment.sys, "executable", str(python))
    with pytest.raises(OracleError, match=r"(?s)installing GreenLight.*No module named pip"):
        ensure_environment(tmp_path / "cache" / "oracle")
    assert list((tmp_path / "cache").iterdir()) == []


@needs_shell
def test_installation_without_python_is_reported(tmp_path, tools):
    write_tool(tools / "uv", "exit 0")
    with pytest.raises(OracleError, match=r"importing GreenLight: cannot run"):
        ensure_environment(tmp_path / "oracle")
    assert not (tmp_path / "oracle").exists()


@needs_shell
def test_build_happens_once_and_under_its_final_name_only_when_complete(tmp_path, tools):
    log, folder = tmp_path / "log", tmp_path / "cache" / "oracle"
    make = 'for last; do :; done; mkdir -p "$last/bin"; printf "#!/bin/sh\\n" > "$last/bin/python"'
    venv = f'if [ "$1" = venv ]; then {make}; chmod +x "$last/bin/python"; fi'
    write_tool(tools / "uv", f'echo "$1" >> "{log}"; test ! -e "{folder}" || exit 9\n{venv}')
    assert ensure_environment(folder) == folder
    assert is_ready(folder)
    assert ensure_environment(folder) == folder
    assert log.read_text(encoding="utf-8").split() == ["venv", "pip"]
    assert list(folder.parent.iterdir()) == [folder]


@needs_shell
def test_the_slower_of_two_builders_uses_what_the_faster_made(tmp_path, tools, monkeypatch):
    folder = tmp_path / "cache" / "oracle"
    monkeypatch.setattr(environment, "_build", lambda _part: fake_environment(folder))
    assert ensure_environment(folder) == folder
    assert list(folder.parent.iterdir()) == [folder]


def test_incomplete_folder_is_refused_and_left_alone(tmp_path):
    kept = tmp_path / "oracle" / "notes.txt"
    kept.parent.mkdir()
    kept.write_text("mine", encoding="utf-8")
    with pytest.raises(OracleError, match="holds no complete oracle environment; remove it"):
        ensure_environment(kept.parent)
    assert kept.read_text(encoding="utf-8") == "mine"


def test_unwritable_cache_is_reported(tmp_path):
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(OracleError, match="cannot write to the cache folder"):
        ensure_environment(tmp_path / "file" / "oracle")


def test_unknown_script_is_refused():
    with pytest.raises(OracleError, match="unknown oracle script 'nothing'; there are greenlight_"):
        run_oracle("nothing")


@needs_shell
def test_request_and_result_make_the_round_trip(script, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", "somewhere")
    monkeypatch.setenv("PYTHONSAFEPATH", "1")
    source = """
import json, os, sys
import numpy as np
request = np.load(sys.argv[1], allow_pickle=False)
kept = [key for key in os.environ if key.startswith("PYTHON")]
info = {"options": json.loads(str(request["json"])), "kept": sorted(kept)}
np.savez(sys.argv[2], json=json.dumps(info), doubled=2 * request["values"], names=request["names"])
"""
    arrays = {"values": np.array([0.1, 0.2]), "names": np.array(["tAir", "tCan"])}
    result = script(source, options={"days": 1.5}, arrays=arrays)
    assert result.info["options"] == {"days": 1.5}
    assert result.info["kept"] == ["PYTHONDONTWRITEBYTECODE", "PYTHONNOUSERSITE"]
    assert result.arrays["doubled"].tolist() == [0.2, 0.4]
    assert result.arrays["names"].tolist() == ["tAir", "tCan"]


@needs_shell
def test_failing_script_shows_the_end_of_its_errors(script):
    with pytest.raises(OracleError, match=r"(?s)greenlight_rhs failed .*ValueError: tAir is cold"):
        script("import sys; sys.stderr.write('x' * 9000); raise ValueError('tAir is cold')")


@needs_shell
def test_script_without_a_result_is_an_error(script):
    with pytest.raises(OracleError, match="ended well but wrote no result"):
        script("pass")


@needs_shell
def test_script_past_its_time_limit_is_stopped(script):
    with pytest.raises(OracleError, match=r"not done after 0\.5 s"):
        script("import time; time.sleep(60)", timeout_s=0.5)


@needs_shell
def test_options_must_be_plain_json(script):
    with pytest.raises(OracleError, match="not plain JSON"):
        script("pass", options={"days": float("nan")})


def test_drawn_rows_stay_in_range_and_do_not_depend_on_their_number():
    states, inputs = draw_rows(1, 0, 40)
    later_states, later_inputs = draw_rows(1, 30, 10)
    np.testing.assert_array_equal(later_states, states[30:])
    np.testing.assert_array_equal(later_inputs, inputs[30:])
    corners = np.arange(40) % 3 == 2
    for values, ranges in ((states, STATE_RANGES), (inputs, INPUT_RANGES)):
        low, high = np.array(list(ranges.values())).T
        assert (values[corners] >= low).all()
        assert (values[corners] <= high).all()
    assert np.isfinite(states).all()
    assert np.isfinite(inputs).all()


def test_short_weather_table_is_refused(tmp_path):
    path = tmp_path / "table.csv"
    header = "Time," + ",".join(two_days.MEASURED)
    rows = [f"{300 * step},1,2,3,4,{step}" for step in range(6)]
    path.write_text("\n".join([header, "text", "unit", *rows]), encoding="cp1252")
    records = two_days.weather_records(path, 0, 3)
    assert records[:, 4].tolist() == [0.5, 2.5, 4.5]
    with pytest.raises(ValueError, match=r"table\.csv: no 4 records"):
        two_days.weather_records(path, 0, 4)


def golden(name: str) -> tuple[dict, dict[str, np.ndarray]]:
    """Read a golden archive."""
    with np.load(GOLDEN / name, allow_pickle=False) as archive:
        arrays = {key: archive[key] for key in archive.files}
    return json.loads(str(arrays.pop("json"))), arrays


def test_golden_right_hand_side_is_what_its_seed_gives():
    info, arrays = golden("greenlight_rhs.npz")
    assert info["definition_sha256"]["main_katzin_2021.json"] == ENTRY_SHA256
    assert info["versions"]["greenlight"] == "2.0.5"
    assert arrays["state_names"].tolist() == list(STATE_NAMES)
    assert arrays["input_names"].tolist() == list(INPUT_NAMES)
    assert arrays["derivatives"].shape == (2000, len(STATE_NAMES))
    assert np.isfinite(arrays["derivatives"]).all()
    states, inputs = draw_rows(info["seed"], 0, int(arrays["rows"][-1]) + 1)
    np.testing.assert_allclose(arrays["states"], states[arrays["rows"]], rtol=1e-13, atol=1e-12)
    np.testing.assert_allclose(arrays["inputs"], inputs[arrays["rows"]], rtol=1e-13, atol=1e-12)


def test_golden_two_days_is_consistent():
    info, arrays = golden("greenlight_two_days.npz")
    assert info["definition_sha256"]["main_katzin_2021.json"] == ENTRY_SHA256
    assert arrays["input_names"].tolist() == list(two_days.INPUT_NAMES)
    np.testing.assert_allclose(arrays["inputs"][:, :5], two_days.commands(), rtol=0, atol=1e-14)
    np.testing.assert_array_equal(arrays["states"][0], arrays["initial"])
    flows = dict(zip(arrays["integral_names"], arrays["integrals"].T, strict=True))
    np.testing.assert_allclose(flows["hBoilPipe"], arrays["inputs"][:, 0] * 120.0 * 300.0)
    np.testing.assert_allclose(flows["mcExtAir"], arrays["inputs"][:, 2] * 200.0 / 96.0 * 300.0)
    error = np.abs(arrays["states"] - arrays["tight_states"])[:, arrays["state_names"] == "tAir"]
    assert 0.0 < error.max() < 0.002


@pytest.mark.slow
def test_oracle_reproduces_the_golden_right_hand_side():
    """Equal bytes on the machine that made them; elsewhere NumPy's exponential may differ."""
    info, arrays = golden("greenlight_rhs.npz")
    request = {key: arrays[key] for key in ("state_names", "input_names")}
    request |= {key: arrays[key][::40] for key in ("states", "inputs")}
    result = run_oracle("greenlight_rhs", {"auxiliary_rows": 1}, request)
    assert result.info["definition_sha256"] == info["definition_sha256"]
    assert result.info["versions"] == info["versions"]
    assert result.arrays["auxiliaries"].shape == (1, len(result.arrays["auxiliary_names"]))
    expected = arrays["derivatives"][::40]
    np.testing.assert_allclose(result.arrays["derivatives"], expected, rtol=1e-12, atol=0)


@pytest.mark.slow
def test_oracle_reproduces_the_first_golden_hour_of_the_two_days():
    _, arrays = golden("greenlight_two_days.npz")
    request = {key: arrays[key] for key in ("state_names", "initial", "input_names")}
    request["inputs"] = arrays["inputs"][:12]
    result = run_oracle("greenlight_simulate", arrays=request)
    np.testing.assert_allclose(result.arrays["states"], arrays["states"][:13], rtol=1e-9, atol=0)
    with pytest.raises(OracleError, match=r"no equation of the model uses .*\['nothing'\]"):
        run_oracle("greenlight_simulate", {"constants": {"nothing": 1.0}}, request)

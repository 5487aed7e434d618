"""Configuration files: strict YAML, readable errors, inheritance, identities."""

import pickle
from enum import StrEnum

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import Field

from slowlab.config import (
    CONFIG_ROOT,
    ConfigError,
    ConfigModel,
    config_sha256,
    file_sha256,
    load_config,
    override,
    validate_config,
)
from slowlab.strict_yaml import YamlError, parse_yaml


class Colour(StrEnum):
    RED = "red"
    BLUE = "blue"


class Wheel(ConfigModel):
    radius_m: float = Field(gt=0, le=2, description="Radius, m.")


class Cart(ConfigModel):
    wheels: tuple[Wheel, ...] = Field(min_length=1, description="Wheels.")
    colour: Colour = Field(description="Colour.")
    loaded: bool = Field(default=False, description="Loaded.")
    names: dict[str, int] = Field(default={}, description="Numbers by name.")


CART = "wheels:\n  - {radius_m: 0.5}\ncolour: red\n"


def write(folder, content, name="cart.yaml"):
    path = folder / name
    path.write_bytes(content.encode())
    return path


def test_a_file_is_read(tmp_path):
    cart = load_config(write(tmp_path, CART), Cart)
    assert cart.wheels[0].radius_m == 0.5
    assert cart.colour is Colour.RED


@pytest.mark.parametrize(
    ("content", "line", "key", "words"),
    [
        (
            CART.replace("0.5", "5"),
            2,
            "wheels[0].radius_m",
            "a number above 0 and of at most 2; got 5",
        ),
        (CART.replace("0.5", "'0.5'"), 2, "wheels[0].radius_m", 'a number .* got "0.5"'),
        (CART.replace("0.5", "true"), 2, "wheels[0].radius_m", "got true"),
        (CART.replace("red", "green"), 3, "colour", "one of red, blue"),
        (CART + "loaded: 1\n", 4, "loaded", "true or false; got 1"),
        (CART + "loaded: yes\n", 4, "loaded", "true or false"),
        (CART + "color: red\n", 4, "color", "did you mean 'colour'.*wheels, colour, loaded, names"),
        ("colour: red\n", 1, "wheels", "is missing; expected a list of at least 1"),
        (CART + "names: {a: x}\n", 4, "names.a", "a whole number"),
        (CART + "colour: blue\n", 4, "colour", "appears twice"),
        (CART + "names: {a: .inf}\n", 4, "names.a", "not a finite number"),
        (CART + "names: {a: 1e999}\n", 4, "names.a", "not a finite number"),
        (CART + "names: &n {}\n", 4, "", "anchors"),
        (CART + "names: !!python/tuple []\n", 4, "", "tags"),
        (CART + "? [a]\n: 1\n", 4, "", "plain text"),
        (CART + "names: {a: [\n", 5, "", "not valid YAML"),
        (CART + "---\nb: 1\n", 4, "", "not valid YAML"),
        ("", None, "", "a group of keys; got null"),
        ("[]", 1, "", "a group of keys"),
    ],
)
def test_errors_name_file_line_key_and_what_is_allowed(tmp_path, content, line, key, words):
    path = write(tmp_path, content)
    with pytest.raises(ConfigError, match=words) as caught:
        load_config(path, Cart)
    problem = caught.value.problems[0]
    assert (problem.line, problem.key) == (line, key)
    assert str(caught.value).startswith(str(path))
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


def test_all_problems_are_listed_at_once(tmp_path):
    path = write(tmp_path, "wheels: []\ncolour: 3\nspeed: 1\n")
    with pytest.raises(ConfigError) as caught:
        load_config(path, Cart)
    assert {problem.key for problem in caught.value.problems} == {"wheels", "colour", "speed"}


def test_missing_and_undecodable_files(tmp_path):
    with pytest.raises(ConfigError, match="No such file"):
        load_config(tmp_path / "none.yaml", Cart)
    bad = tmp_path / "bad.yaml"
    bad.write_bytes(b"colour: \xff")
    with pytest.raises(ConfigError, match="UTF-8 at byte 8"):
        load_config(bad, Cart)


def test_deep_nesting_is_refused_without_recursion():
    with pytest.raises(YamlError, match="nested deeper"):
        parse_yaml("[" * 5_000)


def test_scalars_follow_the_core_schema():
    text = (
        "{a: 3e-5, b: 010, c: on, d: 12:30, e: 2020-01-01, f: ~, g: '1', h: -.5, i: 0x10, j: True}"
    )
    assert parse_yaml(text).data == {
        **{"a": 3e-5, "b": 10, "c": "on", "d": "12:30", "e": "2020-01-01"},
        **{"f": None, "g": "1", "h": -0.5, "i": "0x10", "j": "True"},
    }


def test_a_file_may_extend_another(tmp_path):
    write(tmp_path, CART + "names: {a: 1, b: 2}\n", "base.yaml")
    child = "extends: base.yaml\nremove: [names.a]\nnames: {c: 3}\nwheels: [{radius_m: 1}]\n"
    cart = load_config(write(tmp_path, child), Cart)
    assert cart.names == {"b": 2, "c": 3}
    assert [wheel.radius_m for wheel in cart.wheels] == [1.0]


@pytest.mark.parametrize(
    ("child", "words"),
    [
        ("extends: cart.yaml\n", "circle"),
        ("extends: none.yaml\n", "No such file"),
        ("extends: 5\n", "extends"),
        ("extends: base.yaml\nremove: [names.z]\n", "no key names.z to remove"),
        ("extends: base.yaml\nremove: names\n", "must be a list"),
        ("extends: base.yaml\ncolour: pink\n", "one of red, blue"),
    ],
)
def test_bad_extensions_are_refused(tmp_path, child, words):
    write(tmp_path, CART, "base.yaml")
    with pytest.raises(ConfigError, match=words):
        load_config(write(tmp_path, child), Cart)


def test_override_changes_checked_keys_only():
    cart = validate_config({"wheels": [{"radius_m": 1}], "colour": "red"}, Cart)
    assert override(cart, {"wheels.0.radius_m": 2.0}).wheels[0].radius_m == 2.0
    for path, value in (("wheels.1.radius_m", 1.0), ("speed", 1), ("colour.x", 1), ("colour", "z")):
        with pytest.raises(ConfigError):
            override(cart, {path: value})


def test_models_are_frozen():
    cart = validate_config({"wheels": [{"radius_m": 1}], "colour": "red"}, Cart)
    with pytest.raises(ValueError, match="frozen"):
        cart.colour = Colour.BLUE


@given(st.permutations(["wheels", "colour", "loaded"]))
def test_identity_does_not_depend_on_the_order_of_keys(names):
    data = {"wheels": [{"radius_m": 1.0}], "colour": "red", "loaded": True}
    shuffled = {name: data[name] for name in names}
    assert config_sha256(validate_config(shuffled, Cart)) == config_sha256(
        validate_config(data, Cart)
    )


CONFIG_FILES = sorted(CONFIG_ROOT.rglob("*.yaml"))


@pytest.mark.parametrize("path", CONFIG_FILES, ids=lambda path: path.name)
def test_crlf_checkouts_keep_their_hashes_and_changed_bytes_do_not(tmp_path, path):
    plain = path.read_bytes().replace(b"\r\n", b"\n")
    copy = tmp_path / path.name
    copy.write_bytes(plain.replace(b"\n", b"\r\n"))
    assert file_sha256(copy) == file_sha256(path)
    changed = bytearray(copy.read_bytes())
    changed[len(changed) // 2] ^= 1
    copy.write_bytes(bytes(changed))
    assert file_sha256(copy) != file_sha256(path)

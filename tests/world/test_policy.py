"""Policies are named things: key order never counts, and nothing but six finite numbers passes."""

import hashlib
import itertools
import json
import math
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from slowlab.canonical import canonical_bytes, loads_strict
from slowlab.config import ConfigError, override
from slowlab.world.policy import (
    POLICY_FIELDS,
    EncodedPolicies,
    FieldsError,
    Policy,
    PolicyError,
    decode,
    encode,
    from_unit,
    parse_policy,
    policy_sha256,
    to_unit,
)

GROWER = dict(zip(POLICY_FIELDS, (21.0, 17.0, 800.0, 12.0, 3.0, 85.0), strict=True))
orders = st.permutations(POLICY_FIELDS)


@st.composite
def policies(draw):
    night = draw(st.floats(15, 22))
    return Policy(
        day_temperature_c=draw(st.floats(max(18.0, night), 26)),
        night_temperature_c=night,
        co2_target_ppm=draw(st.floats(400, 1200)),
        supplemental_light_hours=draw(st.floats(0, 16)),
        vent_temperature_offset_c=draw(st.floats(2, 6)),
        vent_rh_threshold_pct=draw(st.floats(70, 90)),
    )


@given(policies(), orders)
def test_key_order_changes_neither_encoding_nor_identity(contract, policy, names):
    fields = policy.model_dump()
    shuffled = {name: fields[name] for name in names}
    through_wire = loads_strict(canonical_bytes(shuffled))
    for received in (shuffled, through_wire, dict(reversed(fields.items()))):
        again = parse_policy(received, contract.policy)
        assert again == policy
        assert encode([again]).values.tobytes() == encode([policy]).values.tobytes()
        assert policy_sha256(again, contract.id) == policy_sha256(policy, contract.id)


def test_every_permutation_of_the_reference_gives_the_same_bytes(contract):
    expected = encode([parse_policy(GROWER, contract.policy)]).values.tobytes()
    for names in itertools.permutations(POLICY_FIELDS):
        shuffled = parse_policy({name: GROWER[name] for name in names}, contract.policy)
        assert encode([shuffled]).values.tobytes() == expected


def test_taking_fields_by_position_would_be_noticed(contract):
    received = loads_strict(canonical_bytes(GROWER))  # sorted keys, as on the wire
    by_position = np.array(list(received.values()))
    assert (
        by_position.tolist() != encode([parse_policy(received, contract.policy)]).values[0].tolist()
    )


@given(st.lists(policies(), max_size=5), orders)
def test_encoding_and_decoding_are_inverse_in_every_field_order(found, names):
    encoded = encode(found, names)
    assert encoded.fields == tuple(names)
    assert encoded.values.shape == (len(found), 6)
    assert decode(encoded) == found
    assert decode(encoded.reorder(POLICY_FIELDS)) == found
    for name in POLICY_FIELDS:
        assert encoded.column(name).tolist() == [getattr(policy, name) for policy in found]


@given(st.lists(policies(), min_size=1, max_size=5), orders)
def test_unit_cube_and_back(contract, found, names):
    encoded = encode(found, names)
    unit = to_unit(encoded, contract.policy)
    assert unit.min() >= 0.0
    assert unit.max() <= 1.0
    back = from_unit(unit, names, contract.policy)
    np.testing.assert_allclose(back.values, encoded.values, rtol=1e-12, atol=1e-12)


def test_identity_is_the_hash_of_contract_and_fields(contract):
    policy = parse_policy(GROWER, contract.policy)
    text = json.dumps(
        {"contract": contract.id, "policy": GROWER}, sort_keys=True, separators=(",", ":")
    )
    assert policy_sha256(policy, contract.id) == hashlib.sha256(text.encode()).hexdigest()
    assert policy_sha256(policy, "other") != policy_sha256(policy, contract.id)


def test_whole_numbers_and_negative_zero_are_normalised(contract):
    whole = {name: int(value) for name, value in GROWER.items()}
    assert parse_policy(whole, contract.policy) == parse_policy(GROWER, contract.policy)
    dark = parse_policy({**GROWER, "supplemental_light_hours": -0.0}, contract.policy)
    assert math.copysign(1, dark.supplemental_light_hours) == 1
    from_numpy = parse_policy({n: np.float32(v) for n, v in GROWER.items()}, contract.policy)
    assert from_numpy == parse_policy(GROWER, contract.policy)


@pytest.mark.parametrize(
    "value",
    [True, False, "21", "", None, [21.0], {}, math.nan, math.inf, -math.inf, 10**400, 21j, b"21"],
)
@pytest.mark.parametrize("field", POLICY_FIELDS)
def test_only_finite_numbers_pass(contract, field, value):
    with pytest.raises(PolicyError, match=rf"{field} must be a (finite )?number \(allowed: "):
        parse_policy({**GROWER, field: value}, contract.policy)
    with pytest.raises(ValueError, match=field):
        Policy(**{**GROWER, field: value})


@pytest.mark.parametrize("field", POLICY_FIELDS)
def test_bounds_are_inclusive_and_come_from_the_contract(contract, draft_contract, field):
    bound = contract.policy.of(field)
    roomy = {**GROWER, "day_temperature_c": 26.0, "night_temperature_c": 15.0}
    for value in (bound.min, bound.max):
        if field != "day_temperature_c" or value >= 15:
            parse_policy({**roomy, field: value}, contract.policy)
    for value in (np.nextafter(bound.min, -1e9), np.nextafter(bound.max, 1e9)):
        with pytest.raises(
            PolicyError, match=f"{field} is .*allowed: {bound.min:g} to {bound.max:g}"
        ):
            parse_policy({**roomy, field: value}, contract.policy)
    wide = draft_contract.policy.of(field)
    assert (wide.min, wide.max) != (bound.min, bound.max)
    parse_policy({**roomy, field: wide.max}, draft_contract.policy)


@pytest.mark.parametrize("field", POLICY_FIELDS)
def test_missing_and_extra_fields_are_refused(contract, field):
    fewer = {name: value for name, value in GROWER.items() if name != field}
    with pytest.raises(PolicyError, match=f"{field} is missing"):
        parse_policy(fewer, contract.policy)
    with pytest.raises(PolicyError, match="1 unexpected field"):
        parse_policy({**GROWER, f"{field} ": 1.0}, contract.policy)
    with pytest.raises(ValueError, match="extra"):
        Policy(**GROWER, other=1.0)


@pytest.mark.parametrize("raw", [None, [], list(GROWER.values()), "policy", 5, GROWER.items()])
def test_only_mappings_pass(contract, raw):
    with pytest.raises(PolicyError, match="an object with these six numbers"):
        parse_policy(raw, contract.policy)


def test_the_night_is_never_warmer_than_the_day(contract):
    parse_policy({**GROWER, "day_temperature_c": 20, "night_temperature_c": 20}, contract.policy)
    with pytest.raises(PolicyError, match="night_temperature_c must not be above"):
        parse_policy(
            {**GROWER, "day_temperature_c": 18, "night_temperature_c": 19}, contract.policy
        )


def test_all_faults_are_told_and_received_text_is_not_repeated(contract):
    raw = {**GROWER, "day_temperature_c": "secret", "co2_target_ppm": 5000, "secret": "secret"}
    with pytest.raises(PolicyError) as caught:
        parse_policy(raw, contract.policy)
    assert len(caught.value.problems) == 3
    assert "secret" not in str(caught.value)
    assert pickle.loads(pickle.dumps(caught.value)).problems == caught.value.problems


def test_encoded_policies_refuse_other_fields():
    encoded = encode([Policy(**GROWER)])
    assert encoded.require(POLICY_FIELDS) is encoded.values
    with pytest.raises(FieldsError, match="expected fields"):
        encoded.require(tuple(reversed(POLICY_FIELDS)))
    for names in (POLICY_FIELDS[:5], (*POLICY_FIELDS, "x"), ("x",) * 6, "abcdef"):
        with pytest.raises(FieldsError):
            encode([], names)
        with pytest.raises(FieldsError):
            encoded.reorder(names)
        with pytest.raises(FieldsError):
            encoded.require(names)
    with pytest.raises(FieldsError):
        encoded.column("temperature")
    with pytest.raises(ValueError, match="read-only"):
        encoded.values[0, 0] = 1.0


def test_encoded_policies_are_checked():
    with pytest.raises(ValueError, match=r"\[n, 6\]"):
        EncodedPolicies(POLICY_FIELDS, np.zeros((2, 5)))
    with pytest.raises(ValueError, match="finite"):
        EncodedPolicies(POLICY_FIELDS, np.full((1, 6), np.nan))
    with pytest.raises(TypeError, match="parse_policy"):
        encode([GROWER])
    warm_night = EncodedPolicies(POLICY_FIELDS, [[18, 19, 800, 0, 3, 80], [20, 19, 800, 0, 3, 80]])
    assert warm_night.is_feasible().tolist() == [False, True]
    with pytest.raises(ValueError, match="night"):
        decode(warm_night)


def test_a_fixed_field_scales_to_zero(contract):
    bounds = override(contract.policy, {"co2_target_ppm.min": 800.0, "co2_target_ppm.max": 800.0})
    unit = to_unit(encode([Policy(**GROWER)]), bounds)
    assert unit[0, POLICY_FIELDS.index("co2_target_ppm")] == 0.0


def test_impossible_bounds_are_refused(contract):
    with pytest.raises(ConfigError, match="min 30 must not be above max 26"):
        override(contract.policy, {"day_temperature_c.min": 30.0})
    with pytest.raises(ConfigError, match="no policy is feasible"):
        override(contract.policy, {"day_temperature_c.min": 10.0, "day_temperature_c.max": 12.0})

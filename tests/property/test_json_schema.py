"""Our reading of JSON Schema, which runs inside the sandbox, against the ``jsonschema`` package."""

from __future__ import annotations

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spadework.envs.json_schema import UNREAD, SchemaError, check_schema, coerce, convert, validate

NAMES = st.sampled_from(["a", "b", "c"])
NUMBERS = st.one_of(st.integers(-4, 4), st.sampled_from([-1.5, 0.0, 0.1, 0.5, 1.0, 2.0, 1e300, 10**400]))
TEXTS = st.text("ab1", max_size=3)
SCALARS = st.one_of(st.none(), st.booleans(), NUMBERS, TEXTS)
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3), max_leaves=6
)
TYPES = st.sampled_from(["string", "integer", "number", "boolean", "array", "object", "null"])
SIZES = st.integers(0, 3)


def keywords(inner):
    several = st.lists(inner, min_size=1, max_size=3)
    return {
        "type": TYPES | st.lists(TYPES, min_size=1, max_size=3, unique=True),
        "enum": st.lists(VALUES, max_size=4),
        "const": VALUES,
        **dict.fromkeys(("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"), NUMBERS),
        "multipleOf": st.sampled_from([1, 2, 3, 0.1, 0.5, 1.0]),
        **dict.fromkeys(("minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"), SIZES),
        "pattern": st.sampled_from(["a", "^a", "b$", "^[ab]+$", "[0-9]"]),
        "uniqueItems": st.booleans(),
        "items": inner,
        "properties": st.dictionaries(NAMES, inner, max_size=3),
        "required": st.lists(NAMES, max_size=2, unique=True),
        "additionalProperties": inner,
        **dict.fromkeys(("anyOf", "oneOf", "allOf"), several),
        "not": inner,
        "description": TEXTS,
        "x-unknown": VALUES,
    }


def some(inner):
    return st.dictionaries(st.sampled_from(sorted(keywords(inner))), st.none(), max_size=4).flatmap(
        lambda chosen: st.fixed_dictionaries({name: keywords(inner)[name] for name in chosen})
    )


SCHEMAS = st.recursive(st.booleans() | some(st.booleans()), some, max_leaves=4)


@settings(max_examples=600, deadline=None)
@given(SCHEMAS, VALUES)
def test_a_value_fits_exactly_when_jsonschema_says_so(schema, value):
    check_schema(schema)
    ours = next(validate(value, schema), None)
    try:
        theirs = jsonschema.Draft202012Validator(schema).is_valid(value)
    except OverflowError:
        return  # a whole number beyond all floats, which is too much for the library
    assert (ours is None) == theirs, ours


def test_a_number_beyond_all_floats_is_judged():
    assert next(validate(10**400, {"multipleOf": 0.5}), None) is None
    assert next(validate(10**400, {"multipleOf": 0.1}), None) is not None


@settings(max_examples=300, deadline=None)
@given(SCHEMAS, VALUES)
def test_what_is_converted_fits_or_is_refused(schema, value):
    validator = jsonschema.Draft202012Validator(schema)
    try:
        result = coerce(value, schema)
    except ValueError:
        assert not validator.is_valid(convert(value, schema))
    else:
        assert validator.is_valid(result)


BAD_VALUES = st.one_of(st.none(), st.booleans(), st.integers(-2, 2), TEXTS, st.lists(TEXTS, max_size=2))
READ = sorted(set(keywords(st.booleans())) - {"x-unknown", "description"})


@settings(max_examples=400, deadline=None)
@given(st.sampled_from(READ), BAD_VALUES)
def test_a_schema_is_invalid_exactly_when_jsonschema_says_so(keyword, given_value):
    schema = {keyword: given_value}
    try:
        jsonschema.Draft202012Validator.check_schema(schema)
    except jsonschema.SchemaError:
        with pytest.raises(SchemaError, match=keyword):
            check_schema(schema)
    else:
        check_schema(schema)


def test_every_keyword_of_the_draft_that_constrains_a_value_is_read_or_refused():
    known = set(jsonschema.Draft202012Validator.VALIDATORS)
    assert known - set(READ) - UNREAD == {"format"}  # an annotation, unless a checker of formats is given


@pytest.mark.parametrize("keyword", sorted(UNREAD))
def test_a_keyword_that_is_not_read_is_refused_by_name(keyword):
    schema = {"properties": {"x": {keyword: {}}}}
    with pytest.raises(SchemaError, match=rf"properties\.x, uses \{keyword}" if keyword[0] == "$" else keyword):
        check_schema(schema)

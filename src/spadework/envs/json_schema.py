"""Validation of a tool's arguments by its JSON Schema, and conversion of arguments that arrive as text.

The meaning of every keyword is that of draft 2020-12, as the ``jsonschema`` package reads it. A keyword that the draft
does not know says nothing. A keyword of the draft that is not read here (``UNREAD``) makes the schema invalid: a
constraint that is silently dropped would let wrong calls pass.

The sandbox loads this file by its path: it imports the standard library only.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from typing import Any, NamedTuple

from spadework.scan import JSON

UNREAD = frozenset(
    """
    $ref $dynamicRef contains dependentRequired dependentSchemas if maxContains minContains patternProperties
    prefixItems propertyNames unevaluatedItems unevaluatedProperties
    """.split()
)
"""Keywords of the draft that constrain a value and are not read here."""


class SchemaError(Exception):
    """A schema that a program declares is no valid schema: a fault of the program, not of its player."""


class Problem(NamedTuple):
    """Why a value does not fit. ``place`` says where in it, such as ``.lines[0]``; it is empty for the value itself."""

    place: str
    text: str


Problems = Iterator[Problem]


def validate(value: Any, schema: Any) -> Problems:
    """Every reason why ``value`` does not fit a ``schema`` that ``check_schema`` has passed."""
    if isinstance(schema, bool):
        if not schema:
            yield Problem("", "is not allowed")
        return
    for keyword, given in schema.items():
        known = _KEYWORDS.get(keyword)
        if known is not None and known.applies(value):
            yield from known.problems(value, given, schema)


def check_schema(schema: Any, place: str = "the schema") -> None:
    """Raise ``SchemaError`` unless every keyword of ``schema`` and of what is nested in it has a valid form."""
    if isinstance(schema, bool):
        return
    if not isinstance(schema, Mapping):
        raise SchemaError(f"{place} is {type(schema).__name__}, not an object")
    for keyword, given in schema.items():
        if keyword in UNREAD:
            raise SchemaError(f"{place} uses {keyword}, which is not supported")
        known = _KEYWORDS.get(keyword)
        if known is None:
            continue
        if not known.valid(given):
            raise SchemaError(f"{place} has {keyword} = {given!r:.60}; {keyword} must be {known.form}")
        for name, nested in _nested(keyword, given):
            check_schema(nested, f"{place}, {keyword}{name},")


def coerce(value: Any, schema: Any) -> Any:
    """``value`` in the form that its schema asks for, and changed only where it would not fit as it is.

    Text becomes a number, a Boolean, a list or an object where the schema's type asks for one, and a number becomes
    text where it asks for text. Raises ``ValueError`` with a message for the player when no form of it fits.
    """
    value = convert(value, schema)
    problem = next(validate(value, schema), None)
    if problem is not None:
        raise ValueError(f"{problem.place} {problem.text}".strip())
    return value


def convert(value: Any, schema: Any) -> Any:
    """``value`` with every part turned into the type that the schema asks for, as far as it can be; never refused."""
    if not isinstance(schema, Mapping):
        return value
    value = _to_type(value, _types(schema.get("type", ())))
    if isinstance(value, list) and "items" in schema:
        value = [convert(item, schema["items"]) for item in value]
    if isinstance(value, dict):
        properties = schema.get("properties", {})
        others = schema.get("additionalProperties")
        value = {name: convert(item, properties.get(name, others)) for name, item in value.items()}
    for keyword in ("anyOf", "oneOf"):
        branches = schema.get(keyword, ())
        if not any(_fits(value, branch) for branch in branches):
            converted = (convert(value, branch) for branch in branches)
            value = next((one for one, branch in zip(converted, branches, strict=True) if _fits(one, branch)), value)
    return value


def _to_type(value: Any, types: tuple[str, ...]) -> Any:
    """The first reading of ``value`` that is of one of ``types``; ``value`` itself when none is."""
    if not types or any(_is(value, kind) for kind in types):
        # JSON Schema calls 5.0 an integer; a tool that counts with it needs an int.
        whole = isinstance(value, float) and value.is_integer() and "integer" in types and "number" not in types
        return int(value) if whole else value
    readings: list[Any] = []
    if isinstance(value, str):
        readings += [text == "true" for text in (value.strip().lower(),) if text in ("true", "false")]
        with contextlib.suppress(ValueError, RecursionError):
            readings.append(JSON.decode(value))
    elif _is(value, "number"):
        readings.append(str(value))
    for one in readings:
        if one is not None and any(_is(one, kind) for kind in types):
            return _to_type(one, types)
    return value


def _types(given: Any) -> tuple[str, ...]:
    return (given,) if isinstance(given, str) else tuple(given)


def _fits(value: Any, schema: Any) -> bool:
    return next(validate(value, schema), None) is None


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


_TYPES: dict[str, Callable[[Any], bool]] = {
    "string": lambda value: isinstance(value, str),
    "integer": lambda value: _is_number(value) and (isinstance(value, int) or value.is_integer()),
    "number": _is_number,
    "boolean": lambda value: isinstance(value, bool),
    "array": lambda value: isinstance(value, list),
    "object": lambda value: isinstance(value, dict),
    "null": lambda value: value is None,
}


def _is(value: Any, kind: str) -> bool:
    """Whether a value is of a type. A type that JSON does not have (``check_schema`` refuses it) excludes nothing."""
    known = _TYPES.get(kind)
    return known is None or known(value)


def _key(value: Any) -> Any:
    """A hashable stand-in, equal for equal JSON values alone: 1 equals 1.0, and ``true`` does not equal 1."""
    if isinstance(value, bool):
        return ("boolean", value)
    if isinstance(value, list | tuple):
        return ("array", tuple(map(_key, value)))
    if isinstance(value, Mapping):
        return ("object", frozenset((name, _key(item)) for name, item in value.items()))
    return value


def _nested(keyword: str, given: Any) -> list[tuple[str, Any]]:
    """The schemas in a keyword's value, each with its place there."""
    if keyword == "properties":
        return [(f".{name}", schema) for name, schema in given.items()]
    if keyword in ("anyOf", "oneOf", "allOf"):
        return [(f"[{index}]", schema) for index, schema in enumerate(given)]
    return [("", given)] if keyword in ("items", "additionalProperties", "not") else []


# One function a keyword: the value, what the schema gives for the keyword, and the whole schema.


def _type(value: Any, given: Any, _: Mapping[str, Any]) -> Problems:
    types = _types(given)
    if not any(_is(value, kind) for kind in types):
        yield Problem("", f"must be of type {' or '.join(types)}, not {type(value).__name__}")


def _enum(value: Any, given: Any, _: Mapping[str, Any]) -> Problems:
    if _key(value) not in map(_key, given):
        yield Problem("", f"must be one of {', '.join(map(str, given))}")


def _const(value: Any, given: Any, _: Mapping[str, Any]) -> Problems:
    if _key(value) != _key(given):
        yield Problem("", f"must be {given}")


def _minimum(value: Any, given: Any, _: Mapping[str, Any]) -> Problems:
    if value < given:
        yield Problem("", f"must be at least {given}")


def _maximum(value: Any, given: Any, _: Mapping[str, Any]) -> Problems:
    if value > given:
        yield Problem("", f"must be at most {given}")


def _exclusive_minimum(value: Any, given: Any, _: Mapping[str, Any]) -> Problems:
    if value <= given:
        yield Problem("", f"must be more than {given}")


def _exclusive_maximum(value: Any, given: Any, _: Mapping[str, Any]) -> Problems:
    if value >= given:
        yield Problem("", f"must be less than {given}")


def _multiple_of(value: Any, given: Any, _: Mapping[str, Any]) -> Problems:
    if isinstance(given, float):
        # The remainder of two floats is rarely 0 (0.3 % 0.1 is 0.09...): the quotient is looked at.
        try:
            quotient = value / given
            failed = quotient in (float("inf"), float("-inf")) or not float(quotient).is_integer()
        except OverflowError:  # a whole number beyond all floats
            failed = bool(Fraction(value) % Fraction(given))
    else:
        failed = bool(value % given)
    if failed:
        yield Problem("", f"must be a multiple of {given}")


def _min_size(value: Any, given: Any, _: Mapping[str, Any]) -> Problems:
    if len(value) < given:
        yield Problem("", f"must have at least {given} {_units(value)}")


def _max_size(value: Any, given: Any, _: Mapping[str, Any]) -> Problems:
    if len(value) > given:
        yield Problem("", f"must have at most {given} {_units(value)}")


def _units(value: Any) -> str:
    return "characters" if isinstance(value, str) else "items" if isinstance(value, list) else "properties"


def _pattern(value: Any, given: Any, _: Mapping[str, Any]) -> Problems:
    if not re.search(given, value):
        yield Problem("", f"must match the pattern {given}")


def _unique_items(value: Any, given: Any, _: Mapping[str, Any]) -> Problems:
    if given and len(set(map(_key, value))) < len(value):
        yield Problem("", "must not repeat an item")


def _items(value: Any, given: Any, _: Mapping[str, Any]) -> Problems:
    for index, item in enumerate(value):
        for place, text in validate(item, given):
            yield Problem(f"[{index}]{place}", text)


def _properties(value: Any, given: Any, _: Mapping[str, Any]) -> Problems:
    for name, schema in given.items():
        if name in value:
            for place, text in validate(value[name], schema):
                yield Problem(f".{name}{place}", text)


def _required(value: Any, given: Any, _: Mapping[str, Any]) -> Problems:
    missing = [name for name in given if name not in value]
    if missing:
        yield Problem("", f"needs {', '.join(missing)}")


def _additional(value: Any, given: Any, schema: Mapping[str, Any]) -> Problems:
    others = [name for name in value if name not in schema.get("properties", {})]
    if given is False and others:
        yield Problem("", f"does not take {', '.join(others)}")
    elif given is not False:
        for name in others:
            for place, text in validate(value[name], given):
                yield Problem(f".{name}{place}", text)


def _any_of(value: Any, given: Any, _: Mapping[str, Any]) -> Problems:
    found = [next(validate(value, schema), None) for schema in given]
    if None not in found:
        reasons = dict.fromkeys(f"{problem.place} {problem.text}".strip() for problem in found if problem)
        yield Problem("", "fits none of what is allowed: " + "; or ".join(reasons))


def _one_of(value: Any, given: Any, schema: Mapping[str, Any]) -> Problems:
    fitting = sum(_fits(value, one) for one in given)
    if fitting > 1:
        yield Problem("", "fits more than one of what is allowed")
    elif not fitting:
        yield from _any_of(value, given, schema)


def _all_of(value: Any, given: Any, _: Mapping[str, Any]) -> Problems:
    for schema in given:
        yield from validate(value, schema)


def _not(value: Any, given: Any, _: Mapping[str, Any]) -> Problems:
    if _fits(value, given):
        yield Problem("", "is not allowed")


def _is_schema(given: Any) -> bool:
    return isinstance(given, Mapping | bool)


def _is_size(given: Any) -> bool:
    return _is(given, "integer") and given >= 0


def _is_list(given: Any) -> bool:
    return isinstance(given, list | tuple)


def _is_schemas(given: Any) -> bool:
    return _is_list(given) and len(given) > 0


def _is_names(given: Any) -> bool:
    return _is_list(given) and all(isinstance(name, str) for name in given) and len(set(given)) == len(given)


def _is_types(given: Any) -> bool:
    kinds = _types(given) if isinstance(given, str) or _is_list(given) else ()
    return bool(kinds) and all(isinstance(kind, str) and kind in _TYPES for kind in kinds)


def _is_pattern(given: Any) -> bool:
    try:
        re.compile(given)
    except (re.error, TypeError, RecursionError, OverflowError):
        return False
    return isinstance(given, str)


class _Keyword(NamedTuple):
    problems: Callable[[Any, Any, Mapping[str, Any]], Problems]
    applies: Callable[[Any], bool]
    """Whether the keyword says anything about such a value: ``minimum`` says nothing about a text."""
    valid: Callable[[Any], bool]
    form: str
    """What the keyword's own value must be, in words."""


def _always(_: Any) -> bool:
    return True


_STRING, _ARRAY, _OBJECT = _TYPES["string"], _TYPES["array"], _TYPES["object"]
_A_NUMBER, _A_SIZE, _A_SCHEMA = "a number", "a whole number from 0", "a schema"
_SCHEMAS = "a list of schemas"

_KEYWORDS: dict[str, _Keyword] = {
    "type": _Keyword(_type, _always, _is_types, f"one or several of {', '.join(_TYPES)}"),
    "enum": _Keyword(_enum, _always, _is_list, "a list"),
    "const": _Keyword(_const, _always, _always, "a value"),
    "minimum": _Keyword(_minimum, _is_number, _is_number, _A_NUMBER),
    "maximum": _Keyword(_maximum, _is_number, _is_number, _A_NUMBER),
    "exclusiveMinimum": _Keyword(_exclusive_minimum, _is_number, _is_number, _A_NUMBER),
    "exclusiveMaximum": _Keyword(_exclusive_maximum, _is_number, _is_number, _A_NUMBER),
    "multipleOf": _Keyword(_multiple_of, _is_number, lambda given: _is_number(given) and given > 0, "a number above 0"),
    "minLength": _Keyword(_min_size, _STRING, _is_size, _A_SIZE),
    "maxLength": _Keyword(_max_size, _STRING, _is_size, _A_SIZE),
    "pattern": _Keyword(_pattern, _STRING, _is_pattern, "a regular expression"),
    "minItems": _Keyword(_min_size, _ARRAY, _is_size, _A_SIZE),
    "maxItems": _Keyword(_max_size, _ARRAY, _is_size, _A_SIZE),
    "uniqueItems": _Keyword(_unique_items, _ARRAY, _TYPES["boolean"], "true or false"),
    "items": _Keyword(_items, _ARRAY, _is_schema, _A_SCHEMA),
    "minProperties": _Keyword(_min_size, _OBJECT, _is_size, _A_SIZE),
    "maxProperties": _Keyword(_max_size, _OBJECT, _is_size, _A_SIZE),
    "properties": _Keyword(_properties, _OBJECT, lambda given: isinstance(given, Mapping), "an object of schemas"),
    "required": _Keyword(_required, _OBJECT, _is_names, "a list of names"),
    "additionalProperties": _Keyword(_additional, _OBJECT, _is_schema, _A_SCHEMA),
    "anyOf": _Keyword(_any_of, _always, _is_schemas, _SCHEMAS),
    "oneOf": _Keyword(_one_of, _always, _is_schemas, _SCHEMAS),
    "allOf": _Keyword(_all_of, _always, _is_schemas, _SCHEMAS),
    "not": _Keyword(_not, _always, _is_schema, _A_SCHEMA),
}

"""Values of files, requests and replies, read by their types with pydantic; what does not fit is refused.

A type is a frozen dataclass whose fields have the types below. An error names the field and says what was expected.
"""

from collections.abc import Callable, Sequence
from dataclasses import fields, is_dataclass
from functools import cache
from pathlib import Path
from typing import Annotated, Any, TypeAlias, TypeVar, cast, get_args, get_type_hints

from annotated_types import Ge, Lt, MaxLen
from pydantic import BeforeValidator, ConfigDict, Strict, StringConstraints, TypeAdapter, ValidationError

from fathom.storage.encodings import decode
from fathom.storage.foreign import content_of
from fathom.storage.toml import parse_toml
from fathom.types import FathomError

Value = TypeVar("Value")
Item = TypeVar("Item")
MOST_TEXT = 200_000
"""Maximum characters of one text."""
MOST_ITEMS = 5_000
"""Maximum items of one list."""
NO_NUL = StringConstraints(pattern=r"^[^\x00]*$")
Text: TypeAlias = Annotated[str, Strict(), MaxLen(MOST_TEXT), NO_NUL]
"""A text that every database and page can hold."""
Words: TypeAlias = Annotated[Text, StringConstraints(strip_whitespace=True, min_length=1)]
"""A text that says something, without white space around it."""
Count: TypeAlias = Annotated[int, Strict(), Ge(0), Lt(1 << 53)]
Amount: TypeAlias = Annotated[float, Strict(), Ge(0), Lt(1e15)]
Flag: TypeAlias = Annotated[bool, Strict()]
Items: TypeAlias = Annotated[tuple[Item, ...], MaxLen(MOST_ITEMS)]

_EXPECTED = {
    "bool_type": "expected true or false",
    "dataclass_type": "expected an object",
    "dict_type": "expected an object",
    "float_type": "expected a number",
    "finite_number": "expected a number",
    "greater_than": "expected {number} above {gt:g}",
    "greater_than_equal": "expected {number} of at least {ge:g}",
    "int_type": "expected a whole number",
    "int_parsing_size": "expected a whole number",
    "less_than": "expected {number} below {lt:g}",
    "less_than_equal": "expected {number} of at most {le:g}",
    "list_type": "expected a list",
    "string_pattern_mismatch": "it contains a character that is no text (NUL or a surrogate); remove it",
    "string_too_long": "{length:,} characters; at most {max_length:,} are allowed",
    "string_too_short": "it is empty",
    "string_type": "expected text",
    "string_unicode": "it contains a character that is no text (NUL or a surrogate); remove it",
    "too_long": "{actual_length:,} items; at most {max_length:,} are allowed",
    "too_short": "it is empty",
    "tuple_type": "expected a list",
    "value_error": "{error}",
}


class RecordError(FathomError):
    """A record does not have the expected form; the message names the field."""


def from_record(kind: type[Value], record: object, where: str | None = None) -> Value:
    """A value from a record.

    Args:
        record: Plain values as JSON and TOML have them, or anything else.
        where: Name for messages; by default that of the type, and "" for none.

    Raises:
        RecordError: A field is missing, unknown, too long, or of another type.
    """
    return _read(kind, lambda adapter: adapter.validate_python((record,)), where)


def from_json(kind: type[Value], text: str | bytes, where: str | None = None) -> Value:
    """A value from JSON; see ``from_record``.

    Raises:
        RecordError: The text is no JSON, or a field is missing, unknown, too long, or of another type.
    """
    whole = b"[%b]" % text if isinstance(text, bytes) else f"[{text}]"
    return _read(kind, lambda adapter: adapter.validate_json(whole), where)


def from_toml(kind: type[Value], content: bytes, where: str) -> Value:
    """A value from the content of a TOML file.

    Args:
        where: The file, for messages.

    Raises:
        RecordError: It is no TOML, or a field is missing, unknown, too long, or of another type.
    """
    try:
        table = parse_toml(content, where)
    except FathomError as error:
        raise RecordError(str(error)) from None
    try:
        return from_record(kind, table, "")
    except RecordError as error:
        raise RecordError(f"{where}: {error}") from None


def read_json(kind: type[Value], path: Path) -> Value:
    """A value from a JSON file.

    Raises:
        FathomError: The file cannot be read.
        RecordError: It is no JSON, or a field is missing, unknown, too long, or of another type.
    """
    try:
        return from_json(kind, decode(content_of(path)), "")
    except (RecordError, UnicodeDecodeError) as error:
        raise RecordError(f"{path}: {error}") from None


def read_toml(kind: type[Value], path: Path) -> Value:
    """A value from a TOML file.

    Raises:
        FathomError: The file cannot be read, or see ``from_toml``.
    """
    return from_toml(kind, content_of(path), str(path))


def parsed(parse: Callable[[str], object]) -> BeforeValidator:
    """Reads a field with a function that raises ``FathomError``; lists and tables stay what they are."""

    def read(value: object) -> object:
        try:
            return value if isinstance(value, list | dict) else parse(str(value))
        except FathomError as error:
            raise ValueError(error) from None

    return BeforeValidator(read)


def _read(kind: type[Value], read: Callable[[TypeAdapter[Any]], tuple[Any]], where: str | None) -> Value:
    try:
        return cast(Value, read(_adapter(cast(Any, kind)))[0])
    except ValidationError as error:
        message = _message(kind, error)
    except RecursionError:
        message = ": nested too deeply"
    raise RecordError(message.lstrip(".: ") if where == "" else f"{kind.__name__ if where is None else where}{message}")


@cache
def _adapter(kind: Any) -> TypeAdapter[Any]:
    # The configuration holds for the dataclasses within a tuple; a dataclass alone takes none.
    return TypeAdapter(tuple[kind], config=ConfigDict(extra="forbid", allow_inf_nan=False))


def _message(kind: Any, error: ValidationError) -> str:
    """The first problem, after the place of its field; an unknown name may be why another one is missing."""
    problems = error.errors(include_url=False)
    unknown = (problem for problem in problems if problem["type"] == "unexpected_keyword_argument")
    problem = next(unknown, problems[0])
    place, about = problem["loc"][1:], problem.get("ctx", {})
    match problem["type"]:
        case "missing" if place:
            return f"{_path(place[:-1])}: {place[-1]} is missing"
        case "unexpected_keyword_argument" | "invalid_key":
            names = ", ".join(field.name for field in fields(_type_at(kind, place[:-1])))
            return f"{_path(place[:-1])}: unknown field {str(place[-1])[:60]!r}; expected {names}"
        case "literal_error":
            return f"{_path(place)}: expected {about['expected'].replace(chr(39), '').replace(' or ', ', ')}"
        case "json_invalid":
            return f": expected JSON: {about['error']}"
    given = problem["input"]
    about = {
        "length": len(given) if isinstance(given, str) else 0,
        "number": "a whole number" if isinstance(given, int) else "a number",
        **about,
    }
    return f"{_path(place)}: {_EXPECTED.get(problem['type'], problem['msg']).format(**about)}"


def _path(place: Sequence[int | str]) -> str:
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in place)


def _type_at(kind: Any, place: Sequence[int | str]) -> Any:
    """The dataclass at a place within a type."""
    for part in place:
        kind = get_type_hints(kind)[part] if isinstance(part, str) else kind
        while not is_dataclass(kind):
            kind = next(inner for inner in get_args(kind) if is_dataclass(inner) or get_args(inner))
    return kind

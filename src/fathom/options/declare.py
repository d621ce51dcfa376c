"""Options that are declared once: a field of a frozen class gives type, default, help, unit and check.

    class ShowOptions(Options, kw_only=True):
        limit: Annotated[int | None, opt("Samples to show.", check=at_least(1))] = None

The docstring of a class is the title of its options in ``--help``, "Options" where it has none. Classes may inherit
from several others. Files with such classes must not have ``from __future__ import annotations``: annotations are read
as they stand.
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import inspect
from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass
from pathlib import Path
from types import NoneType, UnionType
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    Generic,
    Literal,
    ParamSpec,
    Self,
    TypeVar,
    Union,
    cast,
    dataclass_transform,
    get_args,
    get_origin,
    overload,
)

from fathom.plugins.extras import missing_library
from fathom.plugins.names import did_you_mean
from fathom.storage.foreign import read_regular
from fathom.storage.toml import parse_toml
from fathom.types import FathomError

P = ParamSpec("P")
Given = TypeVar("Given")
Taken = TypeVar("Taken", contravariant=True)
Checked = TypeVar("Checked", covariant=True)
Result = TypeVar("Result")
Value = TypeVar("Value")
Part = TypeVar("Part", bound="Options")


# ------------------------------------------------------------------------------------------------ declarations


@dataclass(frozen=True)
class Takes:
    """The type of what an option takes, where that is wider than the type of what it keeps."""

    kind: Any


if TYPE_CHECKING:

    class Read(Generic[Taken, Checked]):
        """The type of an option that takes more than it keeps, such as ``"8k,32k"`` for ``(8192, 32768)``.

        For type checkers it is a descriptor: functions take the first type, bodies see the second. The default of such
        an option is ``unset`` or ``given(VALUE)``, because a plain one would be of the wrong type for checkers.
        """

        @overload
        def __get__(self, owner: None, kind: Any) -> Any: ...
        @overload
        def __get__(self, owner: object, kind: Any) -> Checked: ...
        def __get__(self, owner: object | None, kind: Any) -> Any: ...
        def __set__(self, owner: object, value: Taken) -> None: ...

else:

    class Read:
        """When the program runs: the type that is kept, with a note of the type that is taken."""

        def __class_getitem__(cls, types):
            return Annotated[types[1], Takes(types[0])]


unset: Any = None
"""The default of an option of a ``Read`` type that is not given."""


def given(default: object) -> Any:
    """Another default of an option of a ``Read`` type."""
    return default


def line_only(default: Value, *, init: Literal[False] = False) -> Value:
    """The default of an option that the command line alone has: ``main`` sees it, functions do not take it."""
    return dataclasses.field(default=default, init=init)


@dataclass(frozen=True, kw_only=True)
class Option:
    """What an option declares beside its name, type and default.

    A type that several options have may say a part of it, such as ``read``; what an option says itself goes before.

    Attributes:
        help: One or two sentences; by default the values of a ``Literal``.
        short: A short name such as ``-m``.
        flag: The long name where it does not follow from the field's, such as ``--json`` for ``as_json``. One that
            begins with ``--no-`` turns off what is on by default, and has no counterpart that turns it on.
        former: Former long names such as ``--depth``, which keep working and are not shown.
        metavar: How the value is shown, such as ``PROVIDER/NAME`` or ``TOKENS``.
        read: Turns what a command line, a config file or Python gives into what is kept; it takes its own results too.
        check: Says what was expected where a value is wrong, else "".
        many: May be given several times on the command line.
        position: An argument, which is given by its place.
        env: An environment variable that gives the value too, on the command line.
        hidden: For Python alone, such as a callback.
    """

    help: str = ""
    short: str = ""
    flag: str = ""
    former: tuple[str, ...] = ()
    metavar: str = ""
    read: Callable[[Any], Any] | None = None
    check: Callable[[Any], str] | None = None
    many: bool = False
    position: bool = False
    env: str = ""
    hidden: bool = False


def opt(help: str = "", short: str = "", **rest: Any) -> Option:
    """An option, or without ``help`` what all options of a type share."""
    return Option(help=help, short=short, **rest)


def arg(help: str = "", **rest: Any) -> Option:
    """An argument, which is given by its place on the command line."""
    return Option(help=help, position=True, **rest)


def hidden(help: str) -> Option:
    """An argument of the Python function that the command line lacks, such as a callback."""
    return Option(help=help, hidden=True)


def at_least(least: float, *, above: bool = False) -> Callable[[Any], str]:
    """A check of numbers.

    Args:
        least: The least number that is allowed.
        above: Whether it is itself too small.
    """
    words = "a positive number" if (least, above) in ((0, True), (1, False)) else f"a number of at least {least:g}"

    def check(value: float) -> str:
        return "" if (value > least if above else value >= least) and value < float("inf") else f"expected {words}"

    return check


def in_utf8(text: str | None) -> str:
    """A check of names that are written into files; paths may have bytes that are no UTF-8."""
    try:
        (text or "").encode()
    except UnicodeEncodeError:
        return "expected a name in UTF-8"
    return ""


class OptionError(FathomError):
    """An option has a wrong value.

    ``str`` names the option as Python does; the command line names it in its own way.
    """

    def __init__(self, name: str, value: object, expected: str) -> None:
        """Say what was expected of an option."""
        super().__init__(f"{name}={value!r}: {expected}")
        self.name, self.value, self.expected = name, value, expected


# ------------------------------------------------------------------------------------- what follows from a declaration


@dataclass(frozen=True)
class Field:
    """One option of a command.

    Attributes:
        name: Its name in Python.
        kind: The type of what it keeps.
        default: ``dataclasses.MISSING`` where it is required.
        option: What it declares.
        group: The title under which help shows it.
        line_only: Whether the command line alone has it.
    """

    name: str
    kind: Any
    default: Any
    option: Option
    group: str
    line_only: bool

    @property
    def flag(self) -> str:
        """Its long name on the command line."""
        return self.option.flag or "--" + self.name.replace("_", "-")

    @property
    def required(self) -> bool:
        """Whether it has no default."""
        return self.default is MISSING

    @property
    def choices(self) -> tuple[str, ...]:
        """The values of a ``Literal``; none where other values are taken too."""
        parts = [part for part in _parts(self.kind) if part is not NoneType]
        if any(get_origin(part) is not Literal for part in parts):
            return ()
        return tuple(value for part in parts for value in get_args(part))

    @property
    def switch(self) -> bool:
        """Whether it is on or off, and takes no value on the command line."""
        return bool in _parts(self.kind)

    @property
    def metavar(self) -> str:
        """The placeholder of its value in help."""
        if self.option.metavar or self.choices:
            return self.option.metavar or "|".join(self.choices)
        names = {Path: "PATH", float: "NUMBER", int: "INTEGER"}
        return next((names[part] for part in _parts(self.kind) if part in names), "TEXT")

    @property
    def shown_default(self) -> str:
        """Its default as help shows it; "" where there is none to show."""
        if self.required or self.default is None or self.switch or self.default in ("", (), "default"):
            return ""
        return f"{self.default:g}" if isinstance(self.default, float) else str(self.default)

    def checked(self, given: Any) -> Any:
        """The value of the option, read and checked.

        Raises:
            OptionError: The option takes no such value.
        """
        if given is None:
            if self.default is None or NoneType in _parts(self.kind):
                return None
            raise OptionError(self.name, None, "expected a value")
        try:
            value = self._read(given)
        except OptionError:
            raise
        except (FathomError, ValueError, TypeError) as error:
            raise OptionError(self.name, given, str(error)) from None
        if self.choices and value not in self.choices:
            expected = f"expected {', '.join(self.choices)}{did_you_mean(str(value), self.choices)}"
            raise OptionError(self.name, given, expected)
        if self.option.check and value is not None and (wrong := self.option.check(value)):
            raise OptionError(self.name, given, wrong)
        return value

    def _read(self, given: Any) -> Any:
        if self.option.read is not None:
            return self.option.read(given)
        return given if self.choices or self.option.hidden else _converted(self.kind, given)


def _parts(kind: Any) -> tuple[Any, ...]:
    return get_args(kind) if get_origin(kind) in (Union, UnionType) else (kind,)


_PLAIN: Mapping[type, tuple[str, tuple[type, ...]]] = {
    Path: ("a path", (str, Path)),
    float: ("a number", (str, int, float)),
    int: ("a whole number", (str, int)),
    bool: ("true or false", (bool,)),
    str: ("text", (str, Path)),
}


def _converted(kind: Any, value: Any) -> Any:
    """A value of a plain type: text becomes a number or a path, one value or a list becomes a tuple."""
    for part in _parts(kind):
        if part in _PLAIN:
            words, accepted = _PLAIN[part]
            refused = part is Path and value == ""  # which would be the current folder
            refused = refused or (isinstance(value, str) and not _can_be_given(value))
            if isinstance(value, accepted) and (part is bool or not isinstance(value, bool)) and not refused:
                try:
                    return part(value)
                except ValueError:
                    pass
            raise ValueError(f"expected {words}")
        if get_origin(part) is tuple:
            inner, values = get_args(part)[0], [value] if isinstance(value, str | Path) else list(value)
            return tuple(_converted(inner, part) for part in values)
    return value


def _can_be_given(text: str) -> bool:
    """Whether a text is UTF-8, or has the bytes of a file name that is not; half a character of UTF-16 is neither."""
    try:
        text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return False
    return True


def fields_of(options: type) -> tuple[Field, ...]:
    """The options of a command: its own ones first, then those of the classes that it inherits from, in their order."""
    return _fields_of(cast(Any, options))


@functools.cache
def _fields_of(options: Any) -> tuple[Field, ...]:
    owners = {name: owner for owner in reversed(options.__mro__) for name in inspect.get_annotations(owner)}
    declared = []
    for field in dataclasses.fields(options):
        kind = cast(Any, field.type)
        marks = [extra for extra in kind.__metadata__ if isinstance(extra, Option)]
        values = (item for mark in marks for item in vars(mark).items())
        option = Option(**{name: value for name, value in values if value != _NOTHING[name]})
        default = field.default if field.default_factory is MISSING else field.default_factory()
        title = owners[field.name].__doc__.strip().rstrip(".")
        made = Field(field.name, kind.__origin__, default, option, title, not field.init)
        if not option.help:  # of a Literal, whose values say it all
            made = dataclasses.replace(made, option=dataclasses.replace(option, help=f"{', '.join(made.choices)}."))
        declared.append(made)
    return tuple(sorted(declared, key=lambda field: options.__mro__.index(owners[field.name])))


_NOTHING = vars(Option())


@dataclass_transform(field_specifiers=(line_only,))
class Options:
    """What every class of options inherits: a frozen dataclass, whose values are read and checked when it is made."""

    def __init_subclass__(cls, *, kw_only: bool = False) -> None:
        """Make a class of options a dataclass."""
        cls.__doc__ = cls.__doc__ or "Options."
        dataclass(frozen=True, kw_only=kw_only)(cls)

    def __post_init__(self) -> None:
        """Read and check every value."""
        for field in fields_of(type(self)):
            object.__setattr__(self, field.name, field.checked(getattr(self, field.name)))

    @classmethod
    def made(cls, values: Mapping[str, Any]) -> Self:
        """Options of values by name, also of those that the command line alone has."""
        ours = {field.name: field for field in fields_of(cls) if field.line_only and field.name in values}
        options = cls(**{name: value for name, value in values.items() if name not in ours})
        for name, field in ours.items():
            object.__setattr__(options, name, field.checked(values[name]))
        return options

    def but(self, **changes: Any) -> Self:
        """The same options with some other values."""
        return self.made({**vars(self), **changes})

    def part(self, kind: type[Part]) -> Part:
        """The values of a class of options that these inherit from, as a value of it."""
        return kind.made({field.name: getattr(self, field.name) for field in fields_of(kind)})

    @classmethod
    def joined(cls, *parts: Options) -> Self:
        """Options with the values of some of their parts; the others have their defaults."""
        return cls.made({name: value for part in parts for name, value in vars(part).items()})

    def of(self, *kinds: type) -> dict[str, Any]:
        """The values of the options that some classes declare themselves, by name: for functions that take them all."""
        own = {name for kind in kinds for name in inspect.get_annotations(kind)}
        return {field.name: getattr(self, field.name) for field in fields_of(type(self)) if field.name in own}

    def record(self) -> dict[str, Any]:
        """The options that differ from their defaults, and the file that some were read from, for a manifest.

        Returns:
            An object for JSON. Options that the command line alone has are left out; secrets are still there.
        """
        shown = [field for field in fields_of(type(self)) if not (field.option.hidden or field.line_only)]
        values = {field.name: getattr(self, field.name) for field in shown}
        given = {field.name: values[field.name] for field in shown if values[field.name] != _default(field)}
        config: Config | None = getattr(self, "config", None)
        record = {name: str(value) if isinstance(value, Path) else value for name, value in given.items()}
        return {"options": record} | ({"config": config.record()} if config is not None else {})


def _default(field: Field) -> Any:
    return field.default if field.required else field.checked(field.default)


# ---------------------------------------------------------------------------------------------- functions and files


class Command(Generic[P, Given, Result]):
    """The type of a function that takes options by name. When the program runs it is a plain function.

    Attributes:
        options: The class of its options.
        body: The same function of one value that holds all options.
    """

    options: Callable[P, Given]
    body: Callable[[Given], Result]

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> Result:
        """Make the options and hand them to the body."""
        raise NotImplementedError


def command(options: Callable[P, Given]) -> Callable[[Callable[[Given], Result]], Command[P, Given, Result]]:
    """Make a body that takes a value of a class of options a function that takes each option by name."""
    kind = cast(type, options)
    known_in_order = [
        field.name for field in dataclasses.fields(cast(Any, options)) if field.init and not field.kw_only
    ]
    taken = [field for field in fields_of(kind) if not field.line_only]
    known = [field.name for field in taken]

    def wrap(body: Callable[[Given], Result]) -> Command[P, Given, Result]:
        @functools.wraps(body)
        def explained(given: Given) -> Result:
            try:
                return body(given)
            except ModuleNotFoundError as error:
                if missing := missing_library(error):
                    raise missing from error
                raise

        @functools.wraps(body)
        def call(*args: Any, **kwargs: Any) -> Result:
            for wrong in (name for name in kwargs if name not in known):
                raise TypeError(f"{body.__name__}() has no argument {wrong!r}{did_you_mean(wrong, known)}")
            given = {*kwargs, *known_in_order[: len(args)]}
            if missing := [field.name for field in taken if field.required and field.name not in given]:
                raise TypeError(f"{body.__name__}() needs {' and '.join(missing)}")
            return explained(kind(*args, **kwargs))

        del call.__dict__["__wrapped__"]
        lines = [f"    {field.name}: {field.option.help}" for field in taken]
        call.__doc__ = "\n".join((inspect.getdoc(body) or "", "", "Args:", *lines))
        call.__dict__.update(options=options, body=explained, __signature__=_signature(kind))
        return cast(Command[P, Given, Result], call)

    return wrap


def _signature(options: type) -> inspect.Signature:
    """The signature with plain types, for ``help`` and notebooks."""
    signature = inspect.signature(options)
    shown = []
    for parameter in signature.parameters.values():
        takes = [extra.kind for extra in parameter.annotation.__metadata__ if isinstance(extra, Takes)]
        shown.append(parameter.replace(annotation=takes[0] if takes else parameter.annotation.__origin__))
    return signature.replace(parameters=shown, return_annotation=inspect.Signature.empty)


@dataclass(frozen=True)
class Config:
    """Options that were read from a file.

    Attributes:
        sha256: Checksum of its bytes.
    """

    path: Path
    sha256: str
    values: Mapping[str, Any]

    def record(self) -> dict[str, Any]:
        """What a manifest says of it."""
        return {"file": str(self.path), "sha256": self.sha256, "options": sorted(self.values)}


def read_config(path: Path, options: type) -> Config:
    """Read the options of a command from a TOML file, by their names, with ``-`` or ``_``.

    Raises:
        FathomError: The file cannot be read, or names something that is no option; the message names the nearest one.
    """
    try:
        data = read_regular(path)
    except OSError as error:
        raise FathomError(f"--config {path}: {error.strerror or error}") from None
    content = parse_toml(data, f"--config {path}")
    fields = {field.name: field for field in fields_of(options) if not field.option.hidden}
    values: dict[str, Any] = {}
    for name, value in content.items():
        plain = name.replace("-", "_")
        if plain not in fields:
            raise FathomError(f"--config {path}: no option {name!r}{did_you_mean(plain, fields)}")
        try:
            values[plain] = fields[plain].checked(value)
        except OptionError as error:
            raise FathomError(f"--config {path}: {name} = {value!r}: {error.expected}") from None
    return Config(path, hashlib.sha256(data).hexdigest(), values)


def table(options: type) -> str:
    """The options of a command as a table in Markdown, for ``docs/reference/commands``."""
    rows = ["| argument or option | what it is | default |", "| --- | --- | --- |"]
    for field in fields_of(options):
        if not field.option.hidden:
            default = "required" if field.required else field.shown_default and f"`{field.shown_default}`"
            rows.append(f"| {_names(field)} | {_cell(field.option.help)} | {default} |")
    return "\n".join(rows) + "\n"


def _names(field: Field) -> str:
    if field.option.position:
        return f"`{field.name.upper()}{'...' if field.option.many else ''}`"
    value = "" if field.switch else f" {field.metavar}"
    return ", ".join(f"`{name}{value}`" for name in (field.flag, field.option.short) if name).replace("|", r"\|")


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", r"\|")

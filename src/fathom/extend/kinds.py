"""What a method is: a ``Kind`` declares it, with its options and what it does; a ``Method`` has its options set."""

import math
from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from types import MappingProxyType
from typing import ClassVar, Literal, TypeAlias, TypeVar

from fathom.plugins.names import listed
from fathom.storage.foreign import read_text
from fathom.tokens.length import parse_length
from fathom.types import FathomError, Json

Family: TypeAlias = Literal["none", "frequencies", "positions", "cache", "system"]
Value: TypeAlias = float | int | bool | str | tuple[float, ...] | None
Unit: TypeAlias = Literal["tokens", "whole", "number", "switch", "numbers", "name"]
Server: TypeAlias = Literal["vllm", "sglang", "llamacpp"]

_EXPECTED: Mapping[Unit, str] = {
    "tokens": "a number of tokens, such as 4096 or 4k",
    "whole": "a whole number",
    "number": "a number",
    "switch": "true or false",
    "numbers": "numbers separated by commas, or the path of a file with them",
    "name": "a name",
}


@dataclass(frozen=True, slots=True)
class Parameter:
    """An option of a method.

    Attributes:
        name: As users write it.
        unit: What its values are.
        help: A sentence for people.
        default: None where it follows from the model or from other options.
        among: The names that a ``name`` may be.
        former: Other names for it.
    """

    name: str
    unit: Unit
    help: str
    default: Value = None
    least: float = -math.inf
    among: tuple[str, ...] = ()
    former: tuple[str, ...] = ()

    def read(self, method: str, given: object) -> Value:
        """The value of this option, of a text or of what it stands for.

        Args:
            method: Name of the method, for messages.
            given: As users write it.

        Raises:
            FathomError: It is no value of this option; the message says what was expected.
        """
        try:
            value = _value(self.unit, given)
        except (FathomError, OSError, LookupError, ValueError, TypeError, OverflowError):
            raise FathomError(f"{method}: {self.name}={given}: expected {_EXPECTED[self.unit]}") from None
        if self.among and value not in self.among:
            raise FathomError(f"{method}: {self.name}={given}: expected one of {listed(self.among)}")
        for number in value if isinstance(value, tuple) else (value,):
            too_low = isinstance(number, int | float) and not self.least <= number < math.inf
            if too_low and self.unit != "switch":
                raise FathomError(f"{method}: {self.name}={given}: expected {self.least:g} or more")
        return value


FACTOR = Parameter("factor", "number", "How many times the window becomes longer.", least=1)
ORIGINAL = Parameter(
    "original", "tokens", "The window that the model was trained with; by default its configuration says.", least=2
)
LENGTH = Parameter("length", "tokens", "Tokens to be read, prompt and reply together.", least=1)


@dataclass(frozen=True, slots=True)
class Method:
    """A method with its options.

    Attributes:
        name: One of ``METHODS``, ``CACHES`` or ``SYSTEMS`` of ``fathom.extend.methods``.
        options: A value for each parameter; None for what was left to the model.
    """

    name: str
    options: tuple[tuple[str, Value], ...] = ()

    @property
    def kind(self) -> "Kind":
        """The method without values."""
        return _DECLARED[self.name]

    def __getitem__(self, name: str) -> Value:
        return dict(self.options).get(name)

    def number(self, name: str) -> float:
        """The value of an option that is set and a number.

        Raises:
            FathomError: It is not set.
        """
        value = self[name]
        if not isinstance(value, int | float):
            raise FathomError(f"{self.name} needs {name}")
        return value

    def whole(self, name: str) -> int:
        """The value of an option that is set and a whole number.

        Raises:
            FathomError: It is not set.
        """
        return int(self.number(name))

    def numbers(self, name: str) -> tuple[float, ...]:
        """The values of an option that has several; none where it is not set."""
        value = self[name]
        return value if isinstance(value, tuple) else ()

    def but(self, **changes: Value) -> "Method":
        """The same method with some other values, which are not checked again."""
        return Method(self.name, tuple((name, changes.get(name, value)) for name, value in self.options))

    @property
    def words(self) -> str:
        """The name and the options that have a value, as users write them."""
        given = "&".join(f"{name}={value}" for name, value in self.options if value is not None)
        return f"{self.name}?{given}" if given else self.name

    def record(self) -> dict[str, Json]:
        """The name, the options that have a value, and the source, for a manifest."""
        options: dict[str, Json] = {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in self.options
            if value is not None
        }
        return {"method": self.name, **options, "source": self.kind.source}


@dataclass(frozen=True, slots=True)
class Kind:
    """A method without values: the model as it is, or one of a family (``FrequencyKind``, ``PositionKind`` ...).

    What a family needs to know of a method is a field of its class; functions get the method with its values.

    Attributes:
        name: As users write it.
        description: What it does, in a sentence.
        source: The paper or the code that it is from.
        parameters: Its options.
        check: Raises ``FathomError`` if values do not fit each other.
        bound: Options whose values follow from the trained window where the user does not give them.
        settle: The method with the values that follow from the trained window, given in tokens.
        reach: Tokens that the settled method lets a model read, if its length is not given; None for no limit.
        note: What a reader of results must know if a model in this process uses it; "" for nothing.
        unserved: Why a server has no flags for it; "" if it has.
        flags_note: What to know of the flags of vLLM and SGLang.
        server_note: What a reader of results must know if a server was started with it.
    """

    family: ClassVar[Family] = "none"

    name: str
    description: str
    source: str
    parameters: tuple[Parameter, ...] = ()
    _: KW_ONLY
    check: Callable[[Method], None] = lambda method: None
    bound: tuple[str, ...] = ()
    settle: Callable[[Method, int], Method] = lambda method, window: method
    reach: Callable[[Method], int | None] = lambda method: None
    note: str = ""
    unserved: Callable[[Method, Server], str] = lambda method, server: ""
    flags_note: str = ""
    server_note: str = ""

    @property
    def per_request(self) -> bool:
        """Whether the frequencies of a request depend on its length."""
        return False

    def takes(self, option: str) -> bool:
        """Whether it has an option of this name."""
        return any(option == parameter.name for parameter in self.parameters)


AnyKind = TypeVar("AnyKind", bound=Kind)
_DECLARED: dict[str, Kind] = {}


def declared(*kinds: AnyKind) -> Mapping[str, AnyKind]:
    """Kinds by name, which ``Method.kind`` knows from now on."""
    by_name = {kind.name: kind for kind in kinds}
    _DECLARED.update(by_name)
    return MappingProxyType(by_name)


def _value(unit: Unit, given: object) -> Value:
    if isinstance(given, bool) != (unit == "switch") and not isinstance(given, str):
        raise ValueError
    if unit == "tokens":
        return tokens_of(given)
    if unit == "whole":
        return _whole(given)
    if unit == "number":
        return float(str(given))
    if unit == "switch":
        return {"true": True, "false": False}[str(given).lower()]
    if unit == "name":
        return str(given)
    return _numbers(given)


def tokens_of(given: object) -> int:
    """A number of tokens, also a small one: ``8``, ``"8"`` or ``"8k"``.

    Raises:
        FathomError: It is none.
    """
    text = str(given)
    if text.isascii() and text.isdigit():
        return int(text)
    return parse_length(text)


def _whole(given: object) -> int:
    number = float(str(given))
    if number != int(number):
        raise ValueError
    return int(number)


def _numbers(given: object) -> tuple[float, ...]:
    """Numbers of a list, of a text with commas or brackets, or of a file with such a text."""
    if isinstance(given, list | tuple):
        return tuple(map(float, given))
    try:
        return _split(str(given))
    except ValueError:
        return _split(read_text(Path(str(given)).expanduser()))


def _split(text: str) -> tuple[float, ...]:
    return tuple(float(number) for number in text.strip("[] \n").split(","))

"""What ``fathom doctor`` finds: one value for each check, and all of them together."""

from dataclasses import dataclass
from typing import Literal, TypeAlias

from fathom.printing import readable

State: TypeAlias = Literal["ok", "warning", "failed", "absent", "unknown", "skipped"]


@dataclass(frozen=True, slots=True)
class Check:
    """One check.

    Attributes:
        name: What was checked.
        state: ``ok``; ``warning`` (a run works, but may measure something else); ``failed`` (a run with these options
            does not work); ``absent`` (the server lacks something that only some commands need); ``unknown`` (the
            replies do not show it); ``skipped`` (not checked).
        found: What was found.
        consequence: What fathom does about it, or what to do.
        options: Options of ``fathom run`` that follow from it, as ``--window 8192``.
    """

    name: str
    state: State
    found: str  # banned-name: a field of the result that Python and JSON show
    consequence: str = ""
    options: str = ""


@readable
@dataclass(frozen=True, slots=True, repr=False)
class Diagnosis:
    """All checks of a model, or of the installation.

    Attributes:
        model: ``PROVIDER/NAME``; "" for the installation.
        checks: In the order in which they were made.
        command: Beginning of the ``fathom run`` that follows from them; "" if a run does not work.
        requests: Requests sent.
        tokens_in: Prompt tokens sent (fathom's tokenizer).
        stopped: Why not everything was checked; "" if it was.
    """

    model: str
    checks: tuple[Check, ...]
    command: str = ""
    requests: int = 0
    tokens_in: int = 0
    stopped: str = ""

    @property
    def healthy(self) -> bool:
        """Whether nothing failed: a run, or the installation, works."""
        return not any(check.state == "failed" for check in self.checks)

    @property
    def followed(self) -> dict[str, str]:
        """The options that follow from the checks, and their values: of several windows the smallest."""
        options: dict[str, str] = {}
        for check in self.checks:
            name, _, value = check.options.partition(" ")
            if name == "--window" and name in options:
                value = str(min(int(value), int(options[name])))
            if name:
                options[name] = value
        return options

    def count(self, state: State) -> int:
        """Number of checks in a state."""
        return sum(check.state == state for check in self.checks)


@dataclass(frozen=True, slots=True)
class Plan:
    """What will be sent.

    Attributes:
        model: ``PROVIDER/NAME``.
        requests: The most requests.
        tokens_in: Prompt tokens of these (fathom's tokenizer).
        tokens_out: The most tokens of their replies.
        longest: Tokens of the longest prompt.
        cost_most: US dollars for all of these; None if the price is unknown.
    """

    model: str
    requests: int
    tokens_in: int
    tokens_out: int
    longest: int
    cost_most: float | None

    def __str__(self) -> str:
        """One line."""
        price = (
            "unknown price"
            if self.cost_most is None
            else f"at most ${self.cost_most:,.2f}"
            if self.cost_most
            else "free of charge"
        )
        return (
            f"{self.model}: at most {self.requests} requests, {self.tokens_in:,} tokens in (longest prompt "
            f"{self.longest:,}), {self.tokens_out:,} out, {price}"
        )

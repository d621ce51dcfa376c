"""Parameters that a server refuses: a request is answered once without them, or with their other name.

Servers of OpenAI's protocol differ in what they take: some know ``max_completion_tokens`` and not ``max_tokens``, some
refuse a seed, stop sequences, or every temperature but the default. A 400 or 422 that names such a parameter is no
failure of the sample: it is sent again without it, and so are all later requests of the run. What a user chose
explicitly is not given up: then the message names the option.
"""

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from fathom.models.failures import Failure
from fathom.models.protocol import Settings

CAPS = ("max_tokens", "max_completion_tokens")
"""Two names of the output cap."""
OPTIONAL = ("temperature", "seed", "stop")
"""Parameters without which a request can be sent."""
_REFUSED = re.compile(
    r"unsupported|n[o\u2019']t support|not supported|not permitted|not allowed|not accept|unknown|unrecogni[sz]ed"
    r"|unexpected|forbidden|extra (?:inputs|fields|parameters)|deprecated|\bonly\b|must be|cannot be|invalid|no longer",
    re.IGNORECASE,
)
_TOO_LARGE = re.compile(
    r"too (?:large|high|big|many|low|small)|at (?:most|least)|m(?:ax|in)imum|exceed|below|positive|less than",
    re.IGNORECASE,
)


@dataclass
class Negotiation:
    """What a server was found to refuse.

    Attributes:
        fixed: Parameters that the user chose explicitly, which are not given up.
        changes: By refused parameter: its other name, or "" if it is left out.
    """

    fixed: Collection[str] = ()
    changes: dict[str, str] = field(default_factory=dict)

    def sends(self, name: str) -> bool:
        """Whether a parameter is sent under this name."""
        return name not in self.changes

    def learn(self, failure: Failure, before: Mapping[str, str]) -> bool:
        """Whether a request that failed is worth sending again at once: changed, or changed by others meanwhile.

        Args:
            failure: The failure.
            before: ``changes`` when the request was sent.
        """
        if failure.kind != "bad":
            return False
        if before != self.changes:
            return True
        for name in [name for name, other in self.changes.items() if not other and _refuses(name, failure.message)]:
            del self.changes[name]  # leaving it out was no help: the message is about something else
            return False
        name = self._refused(failure.message)
        if not name or name in self.fixed:
            return False
        if name in CAPS:
            self.changes[name] = CAPS[1 - CAPS.index(name)]
        else:
            self.changes[name] = ""
        return True

    def advice(self, failure: Failure) -> str:
        """What helps if a parameter is refused that cannot be left out; "" if none is named."""
        message = failure.message
        if failure.kind != "bad":
            return ""
        if any(cap in message for cap in CAPS) and re.search("too (?:large|high|big)|at most", message, re.IGNORECASE):
            return "lower `max_output_tokens`"
        name = self._refused(message)
        if name == "temperature" and name in self.fixed:
            return "give another `temperature`, or leave the option out"
        if name == "stop" and name in self.fixed:
            return "leave stop_seqs out of `generation`"
        return ""

    def _refused(self, message: str) -> str:
        """The parameter that an error refuses, of those that are sent; "" if none."""
        if not _REFUSED.search(message):
            return ""
        caps = [cap for cap in CAPS if _refuses(cap, message)]
        if caps and not _TOO_LARGE.search(message) and not any(cap in self.changes for cap in CAPS):
            return _first(caps, message)
        return next((name for name in OPTIONAL if self.sends(name) and _refuses(name, message)), "")

    def describe(self) -> list[str]:
        """A sentence without a full stop for each change."""
        return [
            f"the server refuses {name}: all requests have {other} instead"
            if other
            else f"the server refuses {name}: all requests were sent without it"
            for name, other in self.changes.items()
        ]


def fixed_parameters(settings: Settings) -> tuple[str, ...]:
    """Parameters that the user chose explicitly."""
    temperature = ("temperature",) if settings.chosen_temperature else ()
    return (*temperature, *(("stop",) if "stop_seqs" in settings.generation else ()))


def _refuses(name: str, message: str) -> bool:
    """Whether a message is about a parameter: it quotes the name, calls it one, or says what is wrong with it.

    Other words are not enough: models are called Seed, and prompts stop. Where the message has the place of the error
    in the request, as pydantic writes it, only that counts.
    """
    place = re.search(r"loc['\"]?\s*:\s*[\[(]\s*['\"]body['\"]\s*,\s*['\"](\w+)", message)
    if place is not None:
        return place[1] == name
    return any(re.search(pattern.format(name=name), message, re.IGNORECASE) for pattern in _PARAMETER)


_PARAMETER = (
    r"(?<![\w-])['\"]{name}['\"](?!\s*:)",
    r"\b(?:parameter|argument|field|option|body|invalid|unsupported|unknown)[\s:.]+{name}(?![\w-])",
    r"(?<![\w/.-]){name}(?:\s*[=:]\s*[\d.]+)?:?\s+(?:is|was|are|not|does|do|must|cannot|can|extra|unsupported|only|no)\b",
)


def _first(names: Collection[str], message: str) -> str:
    """The name that a message refuses: not the one that it says to use, else the one that it has first."""
    advised = [name for name in names if re.search(rf"\buse\W+{name}\b", message, re.IGNORECASE)]
    others = [name for name in names if name not in advised]
    if advised and not others:
        return CAPS[1 - CAPS.index(advised[0])]
    return min(others or names, key=message.lower().find)

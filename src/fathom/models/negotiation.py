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
    r"too (?:large|high|big|many)|at most|maximum|exceed|(?:less|greater) than|range", re.IGNORECASE
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
        if any(_mentions(cap, message) for cap in CAPS) and _TOO_LARGE.search(message):
            return "lower `max_output_tokens`"
        name = self._refused(message)
        if name == "temperature" and name in self.fixed:
            return "give another `temperature`, or leave the option out"
        return ""

    def _refused(self, message: str) -> str:
        """The parameter that an error refuses, of those that are sent; "" if none."""
        if not _REFUSED.search(message):
            return ""
        caps = [cap for cap in CAPS if _mentions(cap, message)]
        if caps and not _TOO_LARGE.search(message) and not any(cap in self.changes for cap in CAPS):
            return _first(caps, message)
        return next((name for name in OPTIONAL if self.sends(name) and _mentions(name, message)), "")

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


def _mentions(name: str, message: str) -> bool:
    return re.search(rf"(?<![\w]){name}(?![\w])", message, re.IGNORECASE) is not None


def _first(names: Collection[str], message: str) -> str:
    """The name that a message has first: it refuses one, and may advise the other."""
    return min(names, key=message.lower().find)

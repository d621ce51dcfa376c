"""Parameters that a server refuses: a request is answered once without them, or with their other name.

Servers of OpenAI's protocol differ in what they take: some know ``max_completion_tokens`` and not ``max_tokens``, some
refuse a seed, stop sequences, or every temperature but the default. A 400 or 422 that names such a parameter is no
failure of the sample: it is sent again without it, and so are all later requests of the run. What a user chose
explicitly is not given up: then the message names the option.
"""

import re
from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from fathom.models.failures import Failure, classify
from fathom.models.protocol import RequestError, Settings
from fathom.types import FathomError

Sent = TypeVar("Sent")

CAPS = ("max_tokens", "max_completion_tokens")
"""Two names of the output cap."""
OPTIONAL = ("temperature", "seed", "stop", "response_format")
"""Parameters without which a request can be sent."""
_REFUSED = re.compile(
    r"unsupported|n[o\u2019']t support|not supported|not permitted|not allowed|not accept|unknown|unrecogni[sz]ed"
    r"|has to be|unexpected|forbidden|extra (?:inputs|fields|parameters)|deprecated|\bonly\b|must be|cannot be|invalid"
    r"|no longer",
    re.IGNORECASE,
)
_TOO_LARGE = re.compile(
    r"too (?:large|high|big|many|low|small)|at (?:most|least)|m(?:ax|in)imum|exceed|below|positive|less than",
    re.IGNORECASE,
)


MOST_TRIES = 8
"""How often one request is sent at most, with what others learn meanwhile."""


@dataclass
class Negotiation:
    """What a server was found to refuse.

    Attributes:
        fixed: Parameters that the user chose explicitly, which are not given up, each with what helps if it is refused.
        changes: By refused parameter: its other name, or "" if it is left out.
        sent_with: What ``changes`` were when requests were sent whose results are read now. Such a request, of a batch,
            is not sent again at once: its failure is one that is worth a retry. None if requests are sent.
        answered: Whether a request was answered.
    """

    fixed: Mapping[str, str] = field(default_factory=dict)
    changes: dict[str, str] = field(default_factory=dict)
    sent_with: Mapping[str, str] | None = None
    answered: bool = False

    async def send(
        self, request: Callable[[], Awaitable[Sent]], failure_of: Callable[[Exception], Failure] = classify
    ) -> Sent:
        """Send a request; if the server refuses a parameter, send it again without it or with its other name.

        Args:
            request: Makes and sends the request, with the parameters that are sent by now.
            failure_of: Classifies what it raises.

        Raises:
            RequestError: It failed for another reason, or what the server refuses cannot be left out.
        """
        for _ in range(MOST_TRIES):
            before = dict(self.changes if self.sent_with is None else self.sent_with)
            try:
                sent = await request()
                self.answered = True
                return sent
            except Exception as error:
                failure = failure_of(error)
            if not self.learn(failure, before):
                break
            if self.sent_with is not None:
                raise RequestError(replace(failure, kind="busy"))
        advice = self.advice(failure)
        raise RequestError(replace(failure, message=f"{failure.message} ({advice})") if advice else failure)

    def resume(self, recorded: Mapping[str, str]) -> None:
        """Take over what was recorded of earlier requests of the same work.

        Raises:
            FathomError: They were sent without a parameter that the user chooses now.
        """
        for name in recorded:
            if name in self.fixed:
                raise FathomError(
                    f"`{name}`: the server refused it, and earlier requests were sent without it; leave the option "
                    "out, or use another folder for requests with it"
                )
        self.changes |= recorded

    def sends(self, name: str) -> bool:
        """Whether a parameter is sent under this name."""
        return name not in self.changes

    def sent(self, options: Mapping[str, Any]) -> dict[str, Any]:
        """The options of a request for OpenAI's library as they are sent: without what the server refuses."""
        sent = {name: value for name, value in options.items() if self.sends(name)}
        renamed = {self.changes[name]: value for name, value in options.items() if self.changes.get(name)}
        return sent | ({"extra_body": {**sent.get("extra_body", {}), **renamed}} if renamed else {})

    def learn(self, failure: Failure, before: Mapping[str, str]) -> bool:
        """Whether a request that failed is worth sending again at once: changed, or changed by others meanwhile.

        Args:
            before: ``changes`` when the request was sent.
        """
        # Some servers have a 500 for what they do not take; once they have answered, it is a failure like others.
        if failure.kind not in ("bad", "busy") or (failure.kind == "busy" and self.answered):
            return False
        name = self._refused(failure.message)
        if name and name not in self.fixed:
            self.changes[name] = CAPS[1 - CAPS.index(name)] if name in CAPS else ""
            return True
        if failure.kind == "busy":
            return False
        if before != self.changes:
            return True
        for name in [name for name, other in self.changes.items() if not other and _refuses(name, failure.message)]:
            del self.changes[name]  # leaving it out was no help: the message is about something else
        return False

    def advice(self, failure: Failure) -> str:
        """What helps if a parameter is refused that cannot be left out; "" if none is named."""
        message = failure.message
        if failure.kind != "bad":
            return ""
        if any(cap in message for cap in CAPS) and re.search("too (?:large|high|big)|at most", message, re.IGNORECASE):
            return "lower `max_output_tokens`"
        if not _REFUSED.search(message):
            return ""
        if any(cap in self.changes and _refuses(self.changes[cap], message) for cap in CAPS):
            return "the server takes neither name of the cap that `max_output_tokens` and tasks set"
        return next((advice for name, advice in self.fixed.items() if _refuses(name, message)), "")

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


def fixed_parameters(settings: Settings) -> Mapping[str, str]:
    """Parameters that the user chose explicitly, by their names in requests, each with what helps if it is refused."""
    given = settings.generation
    if settings.thinking is not None:  # most of it follows from the model's entry
        given = {name: value for name, value in given.items() if name in _SENT_AS}
    more = given.get("extra_body")
    names = {**given, **(more if isinstance(more, Mapping) else {})}
    temperature = {"temperature": "give another `temperature`, or leave the option out"}
    reasoning = {"reasoning_effort": "leave `reasoning_effort` out"}
    return {
        **{_SENT_AS.get(name, name): f"leave {name} out of `generation`" for name in names},
        **(reasoning if "reasoning_effort" in given else {}),
        **(temperature if settings.chosen_temperature else {}),
    }


_SENT_AS = {"stop_seqs": "stop", "num_choices": "n"}
"""Options of Inspect that have other names in requests."""


def _refuses(name: str, message: str) -> bool:
    """Whether a message is about a parameter: it quotes the name, calls it one, or says what is wrong with it.

    Other words are not enough: models are called Seed, and prompts stop. Where the message has the place of the error
    in the request, as pydantic writes it, only that counts.
    """
    place = re.search(r"loc['\"]?\s*:\s*[\[(]\s*['\"]body['\"]\s*,\s*['\"](\w+)", message)
    if place is not None:
        return place[1] == name
    return any(re.search(pattern.format(name=re.escape(name)), message, re.IGNORECASE) for pattern in _PARAMETER)


_PARAMETER = (
    r"(?<![\w-])['\"`]{name}['\"`](?!\s*:)",
    r"\b(?:parameter|argument|field|option|body|invalid|unsupported|unknown)(?: (?:supplied|given|provided|passed))?"
    r"[\s:.]+{name}(?![\w-])",
    r"(?:^|\n|\\n)\s*{name}\s*(?:\n|\\n)\s*extra inputs",
    r"(?<![\w/.-]){name}(?:\s*[=:]\s*[\d.]+)?:?\s+(?:is|was|are|not|does|do|must|cannot|can|has|extra|unsupported|only|no)\b",
)


def _first(names: Collection[str], message: str) -> str:
    """The name that a message refuses: not the one that it says to use, else the one that it has first."""
    advised = [name for name in names if re.search(rf"\buse\W+{name}\b", message, re.IGNORECASE)]
    others = [name for name in names if name not in advised]
    if advised and not others:
        return CAPS[1 - CAPS.index(advised[0])]
    return min(others or names, key=message.lower().find)

"""A second prompt for judges: the request stands before the texts, and only its end is repeated after them.

A score that depends on such a change is one of the prompt. The change is the same for every rubric, and the parts of a
judgement are read as before.
"""

import re
from collections.abc import Generator
from dataclasses import replace

from fathom.score.judge import Ask, Case, Conversation, Parts

END = re.compile(r"^<<end of [^\n]*>>$", re.MULTILINE)
AGAIN = "Now do what was asked for before these texts. The last line of your reply is the JSON object in that form."


def request_first(prompt: str) -> str:
    """A request to a judge (``judge_texts.prompt``) with its instructions before the quoted texts.

    One without quoted texts is unchanged.
    """
    ends = [match.end() for match in END.finditer(prompt)]
    if not ends:
        return prompt
    intro, _, texts = prompt[: ends[-1]].partition("\n\n<<")
    request = prompt[ends[-1] :].strip()
    return f"{intro}\n\n{request}\n\n<<{texts}\n\n{AGAIN}"


def with_second_prompt(conversation: Conversation) -> Conversation:
    """The same conversation, with every request in the other form."""

    def steps(case: Case) -> Generator[Ask, str, Parts]:
        inner = conversation.steps(case)
        try:
            ask = next(inner)
            while True:
                ask = inner.send((yield replace(ask, prompt=request_first(ask.prompt))))
        except StopIteration as end:
            parts: Parts = end.value
            return parts

    return replace(conversation, steps=steps)

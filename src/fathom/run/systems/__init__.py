"""Systems around a model: what it is sent instead of the whole prompt.

A system gets a prompt in three parts: what comes before the text, the text, and what is asked. It sends requests of its
own making and returns one reply, with the tokens and the time of all of them.
"""

from fathom.run.systems.open import hints_of, open_system
from fathom.run.systems.prompts import Passage, SplitPrompt, Unit, passages_of, split_prompt
from fathom.run.systems.system import (
    TURN,
    Converse,
    Forecasted,
    Request,
    Send,
    System,
    Task,
    answered_by,
    compactions_of,
    too_long,
)

__all__ = [
    "TURN",
    "Converse",
    "Forecasted",
    "Passage",
    "Request",
    "Send",
    "SplitPrompt",
    "System",
    "Task",
    "Unit",
    "answered_by",
    "compactions_of",
    "hints_of",
    "open_system",
    "passages_of",
    "split_prompt",
    "too_long",
]

"""The text before and after the context in prompts of LongBench, in our own words.

``{input}`` is the question, the case to decide or the code to continue, as in the data. Answers are requested in the
format that the metrics expect: a few words, one summary, one label, one number, one line of code.
"""

from collections.abc import Mapping

from fathom.storage.toml import packaged_toml

PROMPTS: Mapping[str, tuple[str, str]] = {
    name: (texts["before"], texts["after"]) for name, texts in packaged_toml(__package__, "prompts.toml").items()
}
"""By data set."""

"""Opens the client of a model by its name."""

from collections.abc import Callable

from fathom.run.model import Client, Settings, is_baseline
from fathom.tokens import Tokenizer


def open_client(settings: Settings, tokenizer: Callable[[], Tokenizer]) -> Client:
    """The client of a model.

    Args:
        settings: How the model is asked.
        tokenizer: Loads the tokenizer of the suite; only baselines with a window need it.

    Raises:
        FathomError: The model is unknown, its library is absent, or a key is missing.
    """
    if is_baseline(settings.model):
        from fathom.run.baselines import baseline_client

        return baseline_client(settings.model, tokenizer)
    if settings.chat_template != "always":
        from fathom.run.completions import open_continuing_client

        return open_continuing_client(settings)
    from fathom.run.inspect_client import open_inspect_client

    return open_inspect_client(settings)

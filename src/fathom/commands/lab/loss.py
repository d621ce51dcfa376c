"""Show how well models predict long texts, by the tokens before."""

from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from fathom.commands.lab.shared import several, tokens
from fathom.commands.shared import Json
from fathom.models.settings import BaseUrl, ModelArgs
from fathom.options.declare import Read, arg, at_least, command, given, hidden, opt, unset

if TYPE_CHECKING:
    from fathom.analysis.losses import Loss
    from fathom.lab.losses import Losses, Text

PICTURE = "loss.svg"


class LossOptions(Json):
    texts: Annotated[str, arg("Long texts: a folder or a file, as --corpus of fathom build.")]
    model: Annotated[
        Read[Sequence[str] | str, tuple[str, ...]],
        opt(
            "hf/PATH, 'hf/PATH?extend=yarn&factor=4', or openai/NAME with --model-base-url. May be given more than "
            "once: each is compared with the first.",
            "-m",
            metavar="PROVIDER/NAME",
            many=True,
            read=several,
        ),
    ]
    _: KW_ONLY
    length: Annotated[
        Read[int | str, int], opt("Tokens of each text.", metavar="TOKENS", read=tokens, check=at_least(2))
    ] = given(8192)
    count: Annotated[int, opt("Texts: the first that are long enough.", check=at_least(1))] = 8
    tokenizer: Annotated[
        str | None,
        opt(
            "Tokenizer by which texts are cut, such as the model's own tokenizer.json; default: tekken.", metavar="NAME"
        ),
    ] = None
    model_base_url: BaseUrl = None
    model_args: ModelArgs = unset
    out: Annotated[Path | str, opt("Folder that keeps what was measured, and the picture.", "-o", metavar="FOLDER")] = (
        "losses"
    )
    progress: Annotated[
        Callable[[str, int, int], None] | None, hidden("Called with a model, its finished texts, and all.")
    ] = None


@command(LossOptions)
def lab_loss(options: LossOptions) -> "Losses":
    """Show how well models predict long texts, by the tokens before.

    The loss of a token is its negative log-likelihood, in nats. A model that uses its context loses less the more
    it has read; beyond the reach of its positions the loss rises. All models read the same texts. The same command
    resumes.
    """
    from fathom.analysis.losses import compared, parts_of, rises_in
    from fathom.lab.losses import Losses, Reader, measure_losses
    from fathom.models.hugging_face import weights_of
    from fathom.models.retry import Retry
    from fathom.report.figure import save
    from fathom.report.loss_chart import loss_chart
    from fathom.run.likelihood.asking import open_backend

    ends = parts_of(options.length)
    texts = _texts(options, ends)
    arguments, url = options.model_args or {}, options.model_base_url
    readers = [
        Reader(name, partial(open_backend, name, arguments, url, "auto", Retry()), [arguments, url, weights_of(name)])
        for name in dict.fromkeys(options.model)
    ]
    tell = options.progress or (lambda model, finished, total: None)
    measured = measure_losses(
        readers, texts, Path(options.out), lambda model, finished: tell(model, finished, len(texts))
    )
    losses = compared(measured, ends)
    picture = save(loss_chart(losses), Path(options.out) / PICTURE)
    return Losses(tuple(losses), tuple(rises_in(measured, losses)), picture)


def _texts(options: LossOptions, ends: Sequence[int]) -> "list[Text]":
    """The first texts that are long enough, cut to the length."""
    from fathom.documents.corpus.files import read_corpus
    from fathom.lab.losses import Text
    from fathom.tokens.tokenizers import DEFAULT, get_tokenizer
    from fathom.types import FathomError

    tokenizer = get_tokenizer(options.tokenizer or DEFAULT)
    texts, longest = list["Text"](), 0
    for document in read_corpus(options.texts).documents:
        if len(texts) == options.count:
            break
        cut = tokenizer.head(document.text, options.length)
        if len(cut) == len(document.text) and (size := tokenizer.count(cut)) < options.length:
            longest = max(longest, size)
            continue
        parts = [len(tokenizer.head(cut, end)) for end in ends]
        sizes = [end - start for start, end in zip((0, *ends), ends, strict=False)]
        texts.append(Text(document.id, cut, tuple(parts), tuple(sizes)))
    if not texts:
        raise FathomError(
            f"{options.texts}: no text has {options.length:,} tokens (the longest has {longest:,}); give longer texts, "
            "or a smaller `length`"
        )
    return texts


def main(line: LossOptions) -> None:
    """Measure, and print a table, or JSON."""
    from fathom.options.terminal import print_json, print_records, progress_bars
    from fathom.printing import printable

    with progress_bars(line.as_json) as bars:
        shown = {name: bars(name) for name in line.model}

        def progress(model: str, finished: int, total: int) -> None:
            if (bar := shown[model]) is not None:
                bar(finished, total)

        losses = lab_loss.body(line.but(progress=progress))
    if line.as_json:
        return print_json(losses)
    print_records(
        [
            {
                "model": loss.model,
                "tokens": _part(loss),
                "loss": _with_interval(loss.loss, loss.low, loss.high),
                "to the first model": _with_interval(loss.difference, loss.difference_low, loss.difference_high, "+"),
                "texts": loss.texts,
            }
            for loss in losses.points
        ],
        denominator="none",
    )
    for rise in losses.rises:
        print(
            printable(
                f"{rise.model}: the loss rises from {rise.before.loss:.2f} ({_part(rise.before)}) to "
                f"{rise.after.loss:.2f} ({_part(rise.after)})"
            )
        )
    print(losses.picture)


def _part(loss: "Loss") -> str:
    """The tokens of a part: "0 to 1k"."""
    from fathom.report import words

    return f"{words.tokens(loss.start)} to {words.tokens(loss.end)}"


def _with_interval(value: float | None, low: float | None, high: float | None, sign: str = "") -> str:
    """A loss or a difference in nats, with its interval."""
    if value is None:
        return "–"
    around = "" if low is None or high is None else f" [{low:{sign}.3f}, {high:{sign}.3f}]"
    return f"{value:{sign}.3f}{around}".replace("-", "−")

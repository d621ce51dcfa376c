"""Models answer the questions of samples: for the answer review and the closed-book check.

People judge better whether a component of an answer is right, models find more components. So people check what models
find (LongBench Pro, section 3.4).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from fathom.benchmarks.pro.official import fold
from fathom.benchmarks.pro.records import NAME
from fathom.benchmarks.pro.scoring import answered, lines
from fathom.benchmarks.pro.secondary_tasks import SUMMARY_PASSES_ABOVE
from fathom.benchmarks.pro.tasks import GAP, OUTPUT_TOKENS
from fathom.models.protocol import is_baseline
from fathom.score.registry import ScoringRow, get_scorer
from fathom.studio.asking import Answer, Asking, Prompt, ask_model, failure_of
from fathom.studio.exports import Collection, answer_of, context_of, joined, prompts_of
from fathom.studio.offline import as_reply, offline_prompt
from fathom.studio.records import MOST_TEXT
from fathom.studio.tasks import StudioTask, find_task
from fathom.studio.types import Prediction, Sample
from fathom.types.choices import THRESHOLD

MOST_COMPONENTS = 500


@dataclass(frozen=True, slots=True)
class ModelAnswers:
    """Answers of one model.

    Attributes:
        predictions: By id of the sample.
        failed: Why there is none, by id of the sample.
        costs: Price of each request in US dollars, failed ones too; None where it is unknown.
    """

    predictions: Mapping[str, Prediction] = field(default_factory=dict)
    failed: Mapping[str, str] = field(default_factory=dict)
    costs: tuple[float | None, ...] = ()


def predict(
    samples: Sequence[Sample],
    collection: Collection,
    asking: Asking,
    *,
    closed_book: bool = False,
    each: Callable[[Sample, Prediction], None] | None = None,
) -> ModelAnswers:
    """Have a model answer the questions of samples.

    Args:
        collection: Where their documents and tasks are.
        closed_book: Whether to ask without the documents: what it answers correctly then, it knew.
        each: Called with each answer as soon as it comes, so that it can be stored.

    Raises:
        FathomError: The model is unknown or unreachable, or a document is missing. Answers so far were passed to
            ``each``.
    """
    offline = is_baseline(asking.model)
    prompts = [_prompt(sample, collection, offline=offline, closed_book=closed_book) for sample in samples]
    by_key = {prompt.key: sample for prompt, sample in zip(prompts, samples, strict=True)}
    predictions: dict[str, Prediction] = {}
    failed: dict[str, str] = {}

    def came(answer: Answer) -> None:
        sample = by_key[answer.prompt.key]
        if not answer.reply.answered:
            failed[sample.id] = failure_of(answer) or "the reply is empty"
            return
        task = find_task(collection.tasks, sample.task)
        text = as_reply(answer.text, task) if offline else answer.text
        predictions[sample.id] = Prediction(
            model=asking.model,
            components=components_of(text, sample, task),
            closed_book=closed_book,
            score=score_of(text, sample, task),
            cost=answer.cost,
        )
        if each is not None:
            each(sample, predictions[sample.id])

    answers = ask_model(asking, prompts, cap=OUTPUT_TOKENS, answered=came)
    for answer in answers:
        if not answer.was_sent:
            came(answer)
    return ModelAnswers(predictions, failed, tuple(answer.cost for answer in answers))


def components_of(reply: str, sample: Sample, task: StudioTask) -> tuple[str, ...]:
    """The elements of the answer in a reply, in their spelling; of a summary the whole answer."""
    area = answered(reply).areas[0].strip()
    if task.is_summary or not area:
        return (area[:MOST_TEXT],) if area else ()
    gold = {fold(line) for line in answer_of(sample, task)}
    components: dict[str, str] = {}
    for line in area.splitlines():
        for meant in lines(line, gold):
            # The line without its list marker, in its own spelling.
            spelled = " ".join(line.split())
            components.setdefault(meant, spelled[len(spelled) - len(meant) :] if len(spelled) >= len(meant) else meant)
    return tuple(text[:MOST_TEXT] for text in list(components.values())[:MOST_COMPONENTS])


def score_of(reply: str, sample: Sample, task: StudioTask) -> float | None:
    """The score of a reply against the reference, by the metric of the task; None without a reference."""
    answer = answer_of(sample, task)
    if not answer:
        return None
    scorer = get_scorer(f"{NAME}/{task.metric}", "strict")
    row = ScoringRow(prediction=reply, answers=list(answer), language=sample.language, dataset=task.name)
    return scorer(row).value


def is_right(score: float, task: StudioTask | None) -> bool:
    """Whether a score counts as right: full marks, or for summaries more than 0.65."""
    return score > SUMMARY_PASSES_ABOVE if task and task.is_summary else score >= 1


@dataclass(frozen=True, slots=True)
class MinedComponent:
    """A component that models give and the reference lacks.

    Attributes:
        text: As the first of the models writes it.
        models: Who gives it.
    """

    text: str
    models: tuple[str, ...]


def mined(sample: Sample, task: StudioTask | None, already_found: Sequence[str] = ()) -> tuple[MinedComponent, ...]:
    """Components of models' answers that the reference lacks, those of most models first.

    People then only judge whether each is right, which they do better than finding it. Answers without the documents
    are left out, and so are summaries, whose components cannot be compared.

    Args:
        sample: The sample with its predictions.
        task: Its task; None if its file is not there any more.
        already_found: Components that a reviewer has found already.
    """
    if task and task.is_summary:
        return ()
    gold = {fold(text) for text in (*(component.text for component in sample.content.components), *already_found)}
    texts: dict[str, str] = {}
    models: dict[str, dict[str, None]] = {}
    for prediction in sample.predictions:
        for text in () if prediction.closed_book else prediction.components:
            key = fold(text)
            if key and key not in gold:
                texts.setdefault(key, text)
                models.setdefault(key, {})[prediction.model] = None
    ranked = sorted(texts, key=lambda key: -len(models[key]))
    return tuple(MinedComponent(texts[key], tuple(models[key])) for key in ranked)


@dataclass(frozen=True, slots=True)
class ClosedBook:
    """Answers of models without the documents.

    Attributes:
        right: Number of models that answered correctly.
        asked: Number of models with a score.
    """

    right: int
    asked: int


def closed_book_results(sample: Sample, task: StudioTask | None) -> ClosedBook:
    """How many models answer a sample without its documents.

    Args:
        sample: The sample with its predictions.
        task: Its task; None if its file is not there any more.
    """
    scores = {
        prediction.model: prediction.score
        for prediction in sample.predictions
        if prediction.closed_book and prediction.score is not None
    }
    return ClosedBook(sum(is_right(score, task) for score in scores.values()), len(scores))


def known_without_text(sample: Sample, task: StudioTask | None) -> bool | None:
    """Whether models know the answer without the documents.

    Args:
        sample: The sample with its predictions.
        task: Its task; None if its file is not there any more.

    Returns:
        None if none was asked so.
    """
    results = closed_book_results(sample, task)
    return results.right >= THRESHOLD * results.asked if results.asked else None


def _prompt(sample: Sample, collection: Collection, *, offline: bool, closed_book: bool) -> Prompt:
    task = find_task(collection.tasks, sample.task)
    context = "" if closed_book else joined(context_of(sample, collection), collection.texts)
    key = f"{sample.id}@none" if closed_book else sample.id
    if offline:
        return offline_prompt(key, context, sample.content.question, task)
    _, answering = prompts_of(sample, collection.tasks)
    return Prompt(key, f"{context}{GAP}{answering}".strip())

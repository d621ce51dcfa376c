"""Made-up samples of the studio over documents of ``world``: with evidence, in any state."""

from collections.abc import Mapping
from itertools import islice

from fathom.documents.corpus.text import document_id
from fathom.studio.exports import Collection
from fathom.studio.tasks import StudioTask, find_task, read_task, standard_prompts, studio_tasks
from fathom.studio.types import Component, Content, Evidence, Sample, State, StudioDocument
from fathom.world.corpus import generate

OWN = read_task(
    b"""
name = "Clause finder"
metric = "F1_Score"
requirement = "partial"
guideline = "Ask for clauses."
[en]
task = "Find the clauses."
output = "One clause on each line."
example = ["Clause 3"]
""",
    "clauses.toml",
)
TASKS: Mapping[str, StudioTask] = {**studio_tasks(), OWN.name: OWN}


def made_text(seed: int, language: str = "en", articles: int = 8) -> str:
    """A long text: articles with headings."""
    found = islice(generate(seed, language), articles)
    return "\n\n".join(f"[{number}] {one.title}\n\n{one.text}" for number, one in enumerate(found, start=1))


def made_document(
    text: str, language: str = "en", *, title: str = "A made text", licence: str = "CC0-1.0"
) -> StudioDocument:
    """The document of a text."""
    return StudioDocument(document_id(text), title, language, "made.txt", licence, 8000, 8192, "available")


def quoted(text: str, start: int, size: int = 40) -> Evidence:
    """Evidence at a place of a text, of so many characters or, where a space would end it, one less."""
    quote = text[start : start + size].rstrip()
    return Evidence(document_id(text), start, start + len(quote), quote)


def made_sample(
    id: str,
    texts: tuple[str, ...],
    *,
    task: str = "T3.2",
    language: str = "en",
    answer: tuple[str, ...] = ("B",),
    places: tuple[float, ...] = (0.5,),
    state: State = "accepted",
    bucket: int = 8192,
    prompts: bool = True,
    difficulty: str = "",
    question: str = "Which of these does the text say?\nA. one\nB. two\nC. three\nD. four",
) -> Sample:
    """A sample whose components all have evidence at the given places of the first text."""
    found = find_task(TASKS, task)
    evidence = tuple(quoted(texts[0], int(place * (len(texts[0]) - 60))) for place in places)
    thinking, answering = standard_prompts(found, language, question) if prompts else ("", "")
    content = Content(
        question=question,
        components=tuple(Component(text, evidence) for text in answer),
        rationale="It fits.",
        solution="Look there.",
        requirement=found.requirement,
        prompt_thinking=thinking,
        prompt_answering=answering,
    )
    return Sample(
        id,
        found.name,
        language,
        bucket,
        tuple(map(document_id, texts)),
        state=state,
        content=content,
        author="ann",
        writers=("ann", "ben"),
        difficulty=difficulty,
    )


def made_collection(*samples: Sample, texts: tuple[str, ...], languages: tuple[str, ...] = ()) -> Collection:
    """Samples with their texts."""
    spoken = languages or ("en",) * len(texts)
    return Collection(
        samples,
        {document_id(text): made_document(text, language) for text, language in zip(texts, spoken, strict=True)},
        {document_id(text): text for text in texts},
        TASKS,
    )

"""The section on how to read the page."""

from markupsafe import Markup

from fathom.report import parts
from fathom.report.section import Section
from fathom.types.denominators import DENOMINATORS

TERMS = {
    "Intervals": "The range in brackets is a 95% interval over items. All questions of an item, at all lengths, are "
    "resampled together, and so are the items of a document where the suite names it. To compare models, use their "
    "differences: these are paired by item and can be significant although two intervals overlap.",
    "Ranks": "Models whose difference is not significant share a range of ranks. Every two models are compared on "
    "what both were asked, and all differences are tested together (max-T): with 95% confidence all ranges contain "
    "the true ranks. A model that shares nothing with any other has no rank.",
    "Drops": "The score of a model on a task at its worst length minus that at the shortest length, paired by item, "
    "if it is significant over all models, tasks and lengths (Holm’s method).",
    "Chance": "The expected score of a valid answer drawn at random. A score near chance gives no evidence that the "
    "model uses its context.",
    "Unanswered": "A refusal, an empty reply or a reply without visible text before the output cap. It counts 0 "
    "unless the text under “At a glance” says otherwise.",
    "Missing": "A failed request, or a reply without a judgement. It counts 0 if at most 2% of the replies of a task "
    "at a length are missing; with more the task has no score at that length.",
    "Invalid": "A reply that was scored but does not have the requested form. Many invalid replies point to a problem "
    "with the instructions, not with the context.",
    "Truncated": "A truncated reply reached the output cap and is scored as received. A truncated prompt was "
    "shortened to fit the model's window, so that the model did not see the whole text.",
    "Denominator": "What the shares and means of a table are over."
    + "".join(f" {name.capitalize()}: {meaning}." for name, meaning in DENOMINATORS.items()),
    "Length": "Tokens of the whole prompt, in the tokenizer named under Settings; 8k is 8,192. The same questions are "
    "asked at every length, unless a note says otherwise.",
}

# Markup, because these texts are ours; quotation marks stay as they are.
DEFINITIONS = parts.Definitions([(name, Markup(text)) for name, text in TERMS.items()])
SECTION = Section(
    name="reading",
    title="How to read this page",
    finding=lambda results: "Intervals, ranks, drops, chance, and how replies count.",
    page=lambda results, tables: [DEFINITIONS, parts.Space()],
)

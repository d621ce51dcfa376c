"""Metrics of LongLeader: exact match, token F1 and ROUGE-L-Sum, the same for all tasks of a category.

The paper (section 3.1, "Evaluation Protocols", and Table 3) gives the metric of each data set: exact match for Passkey,
Retrieve.KV, BestChoice, En.MC, Code.Debug and Math.Find, "the F1 score of the generated tokens in comparison to the
golden answers" for free-form question answering and in-context learning, ROUGE-L-Sum for summaries, and a judge's
rating for Needle (``rubric``). It does not say how answers are extracted, and its code is not public. Our
interpretation, by the row's ``dataset``:

* ``exact_match``. ``official``: the extraction of the original benchmark, which is InfiniteBench for ``passkey``,
  ``kv``, ``choice`` (En.MC), ``code_debug`` and ``math_find``, and Ada-LEval for ``choice`` if the gold answer is a
  label such as ``A7`` (BestChoice; the row must give the number of answers); a letter alone answers ``code_debug`` too,
  where InfiniteBench requires a full stop after it. ``strict``: the strict rule of the same metric. Anything else,
  including ``needle``, is compared as in SQuAD, in lower case without punctuation and articles: the whole reply under
  ``official``; under ``strict`` a gold answer must occur in it.
* ``token_f1``. ``official``: the words of the whole reply and of the nearest gold answer, as compared by SQuAD and
  LongBench. ``strict``: thoughts and punctuation of any script ignored. ``triviaqa`` has solved examples in its prompt,
  and only the first line of a reply counts, as in LongBench. ``dialogre`` and ``fewnerd`` are lists of labels, which
  LongICLBench scores by the F1 of labels, and so do we, for each reply (``lists``).
* ``rouge_l_sum``: as ``infinitebench/longbook_sum_eng`` under both rules.

Gold answers are texts, as in samples (``Sample.targets``): a choice its letter and its text in either order, a list its
JSON text.

Lists of labels are scored as in LongICLBench: relations of pairs (Dialog-RE), and entities with their types (FewNERD).
Both are F1 of labels counted over a reply: precision is the share of its labels that are correct, recall the share of
the gold labels. LongICLBench (Li et al. 2024; ``dialogueRE_evaluate.py``, ``fewnerd_evaluate.py`` and the parsing in
``dialoguere_infer.py`` and ``fewnerd_infer.py``) counts over all replies before it divides; here each reply has a
score, and a benchmark is the mean of them. Its prompts ask for relations on one line, separated by commas, ours for one
per line; both are accepted.

``official``: relations are the pieces between commas and line ends in order, correct if the gold label is part of the
piece at its position; pieces without a label are not counted. Entities are the lines ``ENTITY: TYPE`` up to the first
other line, split at the first colon.

``strict`` ignores thoughts, and compares names, labels and types as a whole, ignoring case and spaces. Relations are
all labels in the reply, in order; if all their lines begin with a number, it gives the position, so that a missing pair
does not shift the others. Entities may have bullets, quotes and Markdown around them, and ``:``, ``->``, ``|``, a tab
or brackets before the type; other lines are ignored. JSON is read too.
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from types import MappingProxyType
from typing import TypeAlias

from fathom.benchmarks.ada import scoring as ada
from fathom.benchmarks.leader import infinitebench_official as released
from fathom.benchmarks.leader import infinitebench_scoring as strict_rules
from fathom.score.answers import free_answer, offered_names, words_score
from fathom.score.dialects import without_reasoning
from fathom.score.reading import contains_answer, gives_name
from fathom.score.registry import Metric, Scorer, ScoringRow, unscored
from fathom.score.text import bag_f1, fold, has_chinese, official_words
from fathom.score.unwrapping import read_json, unwrapped
from fathom.types import Score

Named: TypeAlias = list[tuple[str, str]]
"""A named label: the index of a pair, or an entity, and its label."""

_LABEL = re.compile(r"\b(?:[a-z]{2,}:[a-z_]+(?:/[a-z_]+)*|unanswerable)\b")
_NUMBERED = re.compile(r"\W*(\d{1,4})[.):、]")
_BULLET = re.compile(r"^(?:[-*•‣–]|\(?\d{1,3}[.)、])\s+")
_TYPE = re.compile(r"\b[a-z]+-[A-Za-z/]+(?![\w-])")
# Between a name and its type: "Ada: person-other", "Entity: Ada, Type: person-other", "Ada is a person-other".
_TYPE_FIELD, _NAME_FIELD = r"(?i:type|label|category)", r"(?i:entity|name|text|mention)"
_JOIN = r"(?:->|→|=>|[:=|,;(\[\t]|\s-\s?|\sis\san?)\s{0,3}"
_JOIN_BEFORE = re.compile(rf"(?:[,;|]?\s{{0,3}}\b{_TYPE_FIELD}\s{{0,3}}[:=]\s{{0,3}}|{_JOIN})\Z")
_JOIN_AFTER = re.compile(rf"[\"'”’`*_)\]]{{0,4}}\s{{0,3}}{_JOIN}")
_FIELD_OF_NAME = re.compile(rf"\W{{0,4}}{_NAME_FIELD}\s{{0,3}}:\s{{0,3}}")
_QUOTES = " \"'“‘`*_"
_LONGEST_JOIN = 24  # characters
_TYPED = re.compile(r"(.+)(?:->|→|=>|[:=|\t]|\s-\s)\s{0,9}([^\s:|].*)")
_NAME_FIELDS, _TYPE_FIELDS = ("entity", "name", "text", "mention"), ("type", "label", "category", "entity_type")
# The type on the line below its entity.
_TYPE_BELOW = re.compile(
    rf"(?<![ \t]):?[ \t]*\n[ \t]*(?:{_TYPE_FIELD}[ \t]*:[ \t]*)?(?={_TYPE.pattern}[ \t]*$)", re.MULTILINE
)
# The type of the entities on the lines below: "person-actor:".
_TYPE_ABOVE = re.compile(rf"({_TYPE.pattern})[ \t*]*:[ \t*]*")
_FENCE = re.compile(r"^[ \t]*`{3,}[ \t]*\w*[ \t]*$", re.MULTILINE)
_BEFORE_TYPE = ("", "type", "label", "category")
_HEADINGS = {*_NAME_FIELDS, *_TYPE_FIELDS}  # of a table
_AROUND = " \t\"'“”‘’`*_,;.()[]"
_DESIGNATION = re.compile("A[1-9][0-9]*")
_LETTERS = frozenset("ABCD")
_FIRST_LINE = "triviaqa"
_BEST_ANSWER = next(metric.rules for metric in ada.METRICS if metric.name == "bestanswer")
LISTS = ("dialogre", "fewnerd")


def list_scorer(dataset: str, rule: str) -> Scorer:
    """The scorer of a data set under a rule.

    Args:
        dataset: ``dialogre``: gold is a JSON list of labels in the order of the pairs.
            ``fewnerd``: gold is a JSON list of ``[entity, type]``.
        rule: ``official`` or ``strict``.
    """
    read = READERS[dataset, rule]

    def score(row: ScoringRow) -> Score:
        if not isinstance(row.prediction, str):
            return unscored(rule)
        gold = _lists_gold(row.answers, dataset)
        if gold is None:
            expected = "labels" if dataset == "dialogre" else "[entity, type]"
            return unscored(rule, f"expected a gold answer that is a JSON list of {expected}")
        if rule == "official":
            named = read(row.prediction)
            right, wanted = _right_official(named, gold, dataset), len(dict(gold))
        else:
            named = read(without_reasoning(row.prediction))
            golds = {(_even(name), _even(label)) for name, label in gold}
            right, wanted = len(golds.intersection(named)), len(golds)
        return Score(f1(right, len(named), wanted), bool(named) or not gold, _as_text(named), rule)

    return score


def f1(right: int, named: int, gold: int) -> float:
    """F1 of counts; 1.0 if there is nothing to name and nothing is named."""
    return 2 * right / (named + gold) if named + gold else 1.0


def _right_official(named: Named, gold: Named, dataset: str) -> int:
    relations = dict(named)
    if dataset == "dialogre":
        return sum(label in relations.get(place, "") for place, label in gold)
    return sum(relations.get(entity) == label for entity, label in dict(gold).items())


def _lists_gold(answers: object, dataset: str) -> Named | None:
    text = answers[0] if isinstance(answers, list) and len(answers) == 1 else answers
    try:
        listed = json.loads(text) if isinstance(text, str) else None
    except (ValueError, RecursionError):
        return None
    if not isinstance(listed, list):
        return None
    if dataset == "dialogre":
        return _placed(listed) if all(isinstance(entry, str) for entry in listed) else None
    pairs = [(pair[0], pair[1]) for pair in listed if isinstance(pair, list) and [*map(type, pair)] == [str, str]]
    return pairs if len(pairs) == len(listed) else None


def _placed(labels: Sequence[str]) -> Named:
    return [(str(place), label) for place, label in enumerate(labels)]


# ------------------------------------------------------------------------------------------------ relations


def relations_official(reply: str) -> Named:
    """Pieces of a reply that contain a label, with their indices among all pieces."""
    pieces = [piece for piece in map(str.strip, re.split("[,\n]", reply)) if piece]
    return [(place, piece) for place, piece in _placed(pieces) if _LABEL.search(piece)]


def relations_strict(reply: str) -> Named:
    """Labels of a reply with their indices; a second label for a pair has no index, and is one too many."""
    lines = [(line, labels) for line in fold(reply).lower().splitlines() if (labels := _LABEL.findall(line))]
    numbered = [(line, labels) for line, labels in lines if _NUMBERED.match(line)]
    # A remark may follow numbered lines.
    if len(numbered) > 1 and lines[: len(numbered)] == numbered:
        lines = numbered
    numbers = [int(match[1]) for line, _ in lines if (match := _NUMBERED.match(line))]
    if len(numbers) < max(2, len(lines)):
        return _placed([label for _, labels in lines for label in labels])
    named: Named = []
    for number, (_, labels) in zip(numbers, lines, strict=True):
        named.append((str(number - 1), labels[0]))
        named.extend(("", label) for label in labels[1:])
    return named


# ------------------------------------------------------------------------------------------------- entities


def entities_official(reply: str) -> Named:
    """Lines ``ENTITY: TYPE`` from the start of a reply; the last type of each entity."""
    named: dict[str, str] = {}
    for line in reply.strip().split("\n"):
        entity, colon, rest = line.partition(": ")
        if not colon or line.startswith(("Sentence", "sentence")):
            break
        named[entity] = rest.partition(": ")[0]
    return list(named.items())


def entities_strict(reply: str) -> Named:
    """Entities with their types, normalised, each pair once; also from JSON: pairs, an object, objects with fields."""
    text = unwrapped(reply, "\n")
    listed = _lists_gold(reply, "fewnerd") or _from_json(reply) or _from_json(text)
    named: Named = [(_even(entity), _even(label)) for entity, label in listed]
    above = ""
    for line in [] if named else _entries(_TYPE_BELOW.sub(": ", fold(text))):
        bare = _BULLET.sub("", line.strip().lstrip("> \t").strip("*`|([{")).strip("*`")
        if heading := _TYPE_ABOVE.fullmatch(bare):
            above = heading[1]
        elif pair := _typed(bare):
            named.append((_even(pair[0]), _even(pair[1])))
        elif above and bare.strip():
            named.append((_even(bare), _even(above)))
    named = [pair for pair in named if {pair[0], pair[1]} - _HEADINGS]
    return [pair for pair in dict.fromkeys(named) if all(pair)]


def _typed(line: str) -> tuple[str, str] | None:
    """The name and the type of a line, in either order; None if it has no type.

    Names contain colons and dashes too, and types a dash: "Paris - Orly (building-airport)".
    """
    types = list(_TYPE.finditer(line))
    if types and not line[types[-1].end() :].strip(_AROUND):
        before = line[: types[-1].start()].rstrip(_QUOTES)
        if join := _JOIN_BEFORE.search(before[-_LONGEST_JOIN:]):
            return _FIELD_OF_NAME.sub("", before[: len(before) - len(join[0])], 1), types[-1][0]
    first = types and line[: types[0].start()].strip(_AROUND + ":").casefold() in _BEFORE_TYPE
    if first and (join := _JOIN_AFTER.match(line, types[0].end())):
        return _FIELD_OF_NAME.sub("", line[join.end() :], 1), types[0][0]
    match = _TYPED.fullmatch(line)
    return (match[1], match[2]) if match else None


def _from_json(text: str) -> Named:
    """The pairs of a JSON text, which may have a fence: lists of two, an object of names, objects with two fields."""
    text = _FENCE.sub("", text).strip()
    try:
        value = read_json(text) if text[:1] in ("{", "[") else None
    except (ValueError, RecursionError):
        return []
    if isinstance(value, dict) and all(_TYPE.fullmatch(label) and isinstance(value[label], list) for label in value):
        return [(name, label) for label, names in value.items() for name in names if isinstance(name, str)]
    if isinstance(value, dict) and len(value) == 1 and isinstance(inner := next(iter(value.values())), list | dict):
        value = inner
    if isinstance(value, dict):
        return [(name, label) for name, label in value.items() if isinstance(label, str)]
    return [pair for member in (value if isinstance(value, list) else []) if (pair := _pair(member))]


def _pair(member: object) -> tuple[str, str] | None:
    if isinstance(member, dict):
        fields = [
            next((member[name] for name in names if name in member), None) for names in (_NAME_FIELDS, _TYPE_FIELDS)
        ]
        member = fields if None not in fields else next(iter(member.items())) if len(member) == 1 else None
    pair = member if isinstance(member, list | tuple) and [*map(type, member)] == [str, str] else None
    return (pair[0], pair[1]) if pair else None


def _entries(text: str) -> list[str]:
    """The lines of a text; a line with several entries, separated by commas or semicolons, is one line for each."""
    lines = []
    for line in filter(str.strip, text.splitlines()):
        types = len(_TYPE.findall(line))
        pieces = re.split(r"(?<=[\w)\]])[,;](?=\s)", line) if types > 1 else [line]
        # A comma may be part of a name: "Paris, France: location-GPE".
        entry = ""
        for piece in pieces:
            entry = f"{entry},{piece}" if entry else piece
            if _TYPE.search(entry):
                lines.append(entry.strip())
                entry = ""
        lines.append(entry) if entry else None
    return lines


def _even(text: str) -> str:
    """A normalised text: no surrounding marks, no case, single spaces."""
    return " ".join(fold(text).casefold().strip(_AROUND).split())


def _as_text(named: Named) -> str | None:
    return "; ".join(f"{name}: {label}" for name, label in named) or None


READERS: dict[tuple[str, str], Callable[[str], Named]] = {
    ("dialogre", "official"): relations_official,
    ("dialogre", "strict"): relations_strict,
    ("fewnerd", "official"): entities_official,
    ("fewnerd", "strict"): entities_strict,
}
"""Extraction functions by data set and rule."""


# --------------------------------------------------------------------------------------------- exact match


def exact_match(rule: str) -> Scorer:
    """The scorer of exact match under a rule, which depends on the row's ``dataset``."""

    def score(row: ScoringRow) -> Score:
        gold = _gold(row)
        if not isinstance(row.prediction, str) or not gold:
            return _unscored(row, rule)
        if row.dataset == "choice" and _DESIGNATION.fullmatch(gold[0]):
            return _BEST_ANSWER[rule](row)
        return EXACT[rule].get(row.dataset, _PLAIN[rule])(replace(row, answers=gold))

    return score


def _released_number(row: ScoringRow) -> Score:
    """InfiniteBench's rule for numbers needs numbers, but samples have texts."""
    gold = _gold(row)[0]
    try:
        number = float(gold) if "." in gold else int(gold)
    except ValueError:
        return unscored("official", "the gold answer is not a number")
    return released.official(released.first_number)(replace(row, answers=number))


def _released_function(row: ScoringRow) -> Score:
    """InfiniteBench's rule for the name of a function and its letter.

    It requires ``A.`` or ``A:``. A reply of a single letter is treated as ``A.``: prompts here ask for no more.
    """
    gold, text = _gold(row), str(row.prediction).strip()
    letter = next((answer for answer in gold if answer in _LETTERS), gold[-1])
    function = next((answer for answer in gold if answer not in _LETTERS), letter)
    reply = f"{text}." if text in _LETTERS else row.prediction
    return released.official(released.faulty_function)(replace(row, prediction=reply, answers=[function, letter]))


def _released_value(row: ScoringRow) -> Score:
    return released.official(released.value_of_key)(replace(row, answers=_gold(row)[0]))


def _plain_official(row: ScoringRow) -> Score:
    words = official_words(str(row.prediction))
    return Score(float(words in map(official_words, _gold(row))), bool(words), " ".join(words) or None, "official")


def _plain_strict(row: ScoringRow) -> Score:
    answer = without_reasoning(str(row.prediction)).strip()
    offers = offered_names(answer)
    gold = _gold(row)
    right = contains_answer(free_answer(answer) or answer, gold)
    right = right and (len(offers) < 2 or all(gives_name(offer, gold) for offer in offers))
    return Score(float(right), bool(answer), answer or None, "strict")


_PLAIN: Mapping[str, Scorer] = MappingProxyType({"official": _plain_official, "strict": _plain_strict})
EXACT: Mapping[str, Mapping[str, Scorer]] = MappingProxyType(
    {
        "official": {
            "passkey": released.official(released.first_digits),
            "kv": _released_value,
            "choice": released.official(released.choice),
            "code_debug": _released_function,
            "math_find": _released_number,
        },
        "strict": {
            "passkey": strict_rules.strict(strict_rules.number_kept),
            "kv": strict_rules.strict(strict_rules.key_value),
            "choice": strict_rules.strict(strict_rules.option),
            "code_debug": strict_rules.strict(strict_rules.option),
            "math_find": strict_rules.strict(strict_rules.number_found),
        },
    }
)
"""Scorers of exact match by rule and data set, for replies that are texts and have a gold answer."""


# ----------------------------------------------------------------------------------- token F1, ROUGE-L-Sum


def token_overlap(rule: str) -> Scorer:
    """The scorer of token F1 under a rule, which depends on the row's ``dataset``."""

    def score(row: ScoringRow) -> Score:
        if row.dataset in LISTS:
            return list_scorer(row.dataset, rule)(row)
        gold = _gold(row)
        if not isinstance(row.prediction, str) or not gold:
            return _unscored(row, rule)
        first_line = row.dataset == _FIRST_LINE
        if rule == "strict":
            language = "zh" if any(map(has_chinese, gold)) else "en"
            return words_score(row.prediction, gold, language, first_line=first_line)
        answer = row.prediction.strip()
        answer = answer.partition("\n")[0].strip() if first_line else answer
        value = max(bag_f1(official_words(answer), official_words(text)) for text in gold)
        return Score(value, bool(answer), answer or None, rule)

    return score


def _gold(row: ScoringRow) -> list[str]:
    given = row.answers if isinstance(row.answers, list) else [row.answers]
    return [text.strip() for text in given if isinstance(text, str) and text.strip()]


def _unscored(row: ScoringRow, rule: str) -> Score:
    why = (
        "no gold answer to compare with" if isinstance(row.prediction, str) else "no reply: prediction is not a string"
    )
    return unscored(rule, why)


_metric = partial(Metric.of, "leader")


METRICS = (
    _metric("exact_match", exact_match("official"), exact_match("strict"), "is the answer the gold one"),
    _metric("token_f1", token_overlap("official"), token_overlap("strict"), "overlap with the nearest gold answer"),
    _metric(
        "rouge_l_sum",
        released.official(released.summary),
        strict_rules.strict(strict_rules.summary),
        "ROUGE-L-Sum to the nearest reference",
    ),
)

"""Metrics of LongLeader: exact match, token F1 and ROUGE-L-Sum, the same for all tasks of a category.

The paper (section 3.1, "Evaluation Protocols", and Table 3) says which of them each data set has: exact match for
Passkey, Retrieve.KV, BestChoice, En.MC, Code.Debug and Math.Find, "the F1 score of the generated tokens in comparison
to the golden answers" for free-form question answering and in-context learning, ROUGE-L-Sum for summaries, and a
judge's rating for Needle (``rubric``). It does not say how a reply is parsed before that, and its code is not
public. Our reading, by the row's ``dataset``:

* ``exact_match``. ``official``: the parsing of the benchmark that the data set comes from, which is InfiniteBench for
  ``passkey``, ``kv``, ``choice`` (En.MC), ``code_debug`` and ``math_find``, and Ada-LEval for ``choice`` where the gold
  answer is a designation such as ``A7`` (BestChoice; the row has to say how many answers there are); a letter alone
  answers ``code_debug`` too, where InfiniteBench wants a full stop after it. ``strict``: the strict rule of the same
  metric. Anything else, ``needle`` among it, is compared as SQuAD does, in lower case without
  punctuation and articles: the whole reply under ``official``; under ``strict`` a gold answer has to stand in it.
* ``token_f1``. ``official``: the words of the whole reply and of the nearest gold answer, as SQuAD and LongBench
  compare them. ``strict``: thoughts left aside, punctuation of any script too. ``triviaqa`` has solved examples in its
  prompt, and only the first line of a reply counts, as in LongBench. ``dialogre`` and ``fewnerd`` are lists of labels,
  which LongICLBench scores by the F1 of labels: so do we, for each reply (``lists``).
* ``rouge_l_sum``: as ``infinitebench/longbook_sum_eng`` under both rules.

Gold answers are texts, as samples have them (``Sample.targets``): a choice its letter and its text in either order, a
list its JSON text.

Lists of labels as LongICLBench scores them: relations of pairs (Dialog-RE), and entities with their types (FewNERD).
Both are F1 of labels that are counted over a reply: precision is the share of what it names that is right, recall the
share of the gold labels. LongICLBench (Li et al. 2024; ``dialogueRE_evaluate.py``, ``fewnerd_evaluate.py`` and the
parsing in ``dialoguere_infer.py`` and ``fewnerd_infer.py``) counts over all replies before it divides, here each reply
has a score, and a benchmark is the mean of them. Its prompts ask for relations on one line, separated by commas, ours
for one on each line; both are read.

``official``: relations are the pieces between commas and line ends in their order, right where the gold label is a part
of the piece in its place; those that hold no label are not counted as named. Entities are the lines ``ENTITY: TYPE`` up
to the first that is none, cut at the first colon.

``strict`` leaves thoughts aside, and names, labels and types are compared whole, whatever their case and spaces.
Relations are all labels that stand in the reply, in their order; where each of their lines begins with a number, the
number is the place, so that a pair that was left out does not move those after it. Entities may have bullets, quotes
and Markdown around them, and ``:``, ``->``, ``|``, a tab or brackets before the type; other lines are passed over.
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import TypeAlias

from fathom.benchmarks.ada import scoring as ada
from fathom.benchmarks.leader import infinitebench_official as released
from fathom.benchmarks.leader import infinitebench_scoring as strict_rules
from fathom.score.registry import Metric, Scorer, ScoringRow
from fathom.score.text import bag_f1, english_words, fold, has_chinese, official_words, token_f1, without_reasoning
from fathom.types import Verdict

Named: TypeAlias = list[tuple[str, str]]
"""What is named: the place of a pair from 0, or an entity, and its label."""

_LABEL = re.compile(r"\b(?:[a-z]{2,}:[a-z_]+(?:/[a-z_]+)*|unanswerable)\b")
_NUMBERED = re.compile(r"\W*(\d{1,4})[.):、]")
_BULLET = re.compile(r"^(?:[-*•‣–]|\(?\d{1,3}[.)、])\s+")
_TYPED = re.compile(r"(.+)(?:->|→|=>|[:|\t]|\s-\s)\s*([^\s:|].*)")
_BRACKETED = re.compile(r"(.+?)[(\[]([^()\[\]]+)[)\]]")
_AROUND = " \t\"'“”‘’`*_,;.()[]"
_DESIGNATION = re.compile("A[1-9][0-9]*")
_LETTERS = frozenset("ABCD")
_FIRST_LINE = "triviaqa"
_BEST_ANSWER = next(metric.rules for metric in ada.METRICS if metric.name == "bestanswer")
LISTS = ("dialogre", "fewnerd")


def list_scorer(dataset: str, rule: str) -> Scorer:
    """The scorer of a data set under a rule.

    Args:
        dataset: ``dialogre``: gold is a JSON list of labels in the order of the pairs that were asked about.
            ``fewnerd``: gold is a JSON list of ``[entity, type]``.
        rule: ``official`` or ``strict``.
    """
    read = READERS[dataset, rule]

    def score(row: ScoringRow) -> Verdict:
        if not isinstance(row.prediction, str):
            return Verdict(None, False, grader=rule, detail="no reply: the prediction is no text")
        gold = _lists_gold(row.answers, dataset)
        if gold is None:
            expected = "labels" if dataset == "dialogre" else "[entity, type]"
            return Verdict(None, False, grader=rule, detail=f"expected a gold answer that is a JSON list of {expected}")
        if rule == "official":
            named = read(row.prediction)
            right, wanted = _right_official(named, gold, dataset), len(dict(gold))
        else:
            named = read(without_reasoning(row.prediction))
            golds = {(_even(name), _even(label)) for name, label in gold}
            right, wanted = len(golds.intersection(named)), len(golds)
        return Verdict(f1(right, len(named), wanted), bool(named) or not gold, _shown(named), rule)

    return score


def f1(right: int, named: int, gold: int) -> float:
    """F1 of counts; 1.0 where there is nothing to name and nothing is named."""
    return 2 * right / (named + gold) if named + gold else 1.0


def _right_official(named: Named, gold: Named, dataset: str) -> int:
    said = dict(named)
    if dataset == "dialogre":
        return sum(label in said.get(place, "") for place, label in gold)
    return sum(said.get(entity) == label for entity, label in dict(gold).items())


def _lists_gold(answers: object, dataset: str) -> Named | None:
    text = answers[0] if isinstance(answers, list) and len(answers) == 1 else answers
    try:
        listed = json.loads(text) if isinstance(text, str) else None
    except (ValueError, RecursionError):
        return None
    if not isinstance(listed, list):
        return None
    if dataset == "dialogre":
        return _placed(listed) if all(isinstance(one, str) for one in listed) else None
    pairs = [(one[0], one[1]) for one in listed if isinstance(one, list) and [*map(type, one)] == [str, str]]
    return pairs if len(pairs) == len(listed) else None


def _placed(labels: Sequence[str]) -> Named:
    return [(str(place), label) for place, label in enumerate(labels)]


# ------------------------------------------------------------------------------------------------ relations


def relations_official(reply: str) -> Named:
    """Pieces of a reply that hold a label, with their places among all pieces."""
    pieces = [piece for piece in map(str.strip, re.split("[,\n]", reply)) if piece]
    return [(place, piece) for place, piece in _placed(pieces) if _LABEL.search(piece)]


def relations_strict(reply: str) -> Named:
    """Labels of a reply with their places; a second label for one pair has no place, and is one too many."""
    lines = [(line, labels) for line in fold(reply).lower().splitlines() if (labels := _LABEL.findall(line))]
    numbers = [int(found[1]) for line, _ in lines if (found := _NUMBERED.match(line))]
    if len(numbers) < max(2, len(lines)):
        return _placed([label for _, labels in lines for label in labels])
    named: Named = []
    for number, (_, labels) in zip(numbers, lines, strict=True):
        named.append((str(number - 1), labels[0]))
        named.extend(("", label) for label in labels[1:])
    return named


# ------------------------------------------------------------------------------------------------- entities


def entities_official(reply: str) -> Named:
    """Lines ``ENTITY: TYPE`` from the start of a reply; of one entity the last type."""
    named: dict[str, str] = {}
    for line in reply.strip().split("\n"):
        entity, colon, rest = line.partition(": ")
        if not colon or line.startswith(("Sentence", "sentence")):
            break
        named[entity] = rest.partition(": ")[0]
    return list(named.items())


def entities_strict(reply: str) -> Named:
    """Entities with their types, in one form, each pair once; also from a list in JSON, as gold answers are."""
    listed = _lists_gold(reply, "fewnerd") or ()
    named: Named = [(_even(entity), _even(label)) for entity, label in listed]
    for line in [] if named else fold(reply).splitlines():
        bare = _BULLET.sub("", line.strip().strip("*`|"))
        found = _BRACKETED.fullmatch(bare)
        # Names have colons and dashes too, and types a dash: "Paris - Orly (building-airport)".
        if not (found and "-" in found[2]):
            found = _TYPED.fullmatch(bare) or found
        if found:
            named.append((_even(found[1]), _even(found[2])))
    return [pair for pair in dict.fromkeys(named) if all(pair)]


def _even(text: str) -> str:
    """A text in one form: no marks around it, no case, single spaces."""
    return " ".join(fold(text).casefold().strip(_AROUND).split())


def _shown(named: Named) -> str | None:
    return "; ".join(f"{name}: {label}" for name, label in named) or None


READERS: dict[tuple[str, str], Callable[[str], Named]] = {
    ("dialogre", "official"): relations_official,
    ("dialogre", "strict"): relations_strict,
    ("fewnerd", "official"): entities_official,
    ("fewnerd", "strict"): entities_strict,
}
"""Readers of replies by data set and rule."""


# --------------------------------------------------------------------------------------------- exact match


def exact_match(rule: str) -> Scorer:
    """The scorer of exact match under a rule, which goes by the row's ``dataset``."""

    def score(row: ScoringRow) -> Verdict:
        gold = _gold(row)
        if not isinstance(row.prediction, str) or not gold:
            return _unscored(row, rule)
        if row.dataset == "choice" and _DESIGNATION.fullmatch(gold[0]):
            return _BEST_ANSWER[rule](row)
        return EXACT[rule].get(row.dataset, _PLAIN[rule])(replace(row, answers=gold))

    return score


def _released_number(row: ScoringRow) -> Verdict:
    """InfiniteBench's rule for numbers needs numbers, and samples have texts."""
    gold = _gold(row)[0]
    try:
        number = float(gold) if "." in gold else int(gold)
    except ValueError:
        return Verdict(None, False, grader="official", detail="the gold answer is no number")
    return released.official(released.first_number)(replace(row, answers=number))


def _released_function(row: ScoringRow) -> Verdict:
    """InfiniteBench's rule for the name of a function and its letter.

    It wants ``A.`` or ``A:``. A letter that is all of a reply is read as ``A.``: prompts here ask for no more.
    """
    gold, said = _gold(row), str(row.prediction).strip()
    letter = next((one for one in gold if one in _LETTERS), gold[-1])
    function = next((one for one in gold if one not in _LETTERS), letter)
    reply = f"{said}." if said in _LETTERS else row.prediction
    return released.official(released.faulty_function)(replace(row, prediction=reply, answers=[function, letter]))


def _released_value(row: ScoringRow) -> Verdict:
    return released.official(released.value_of_key)(replace(row, answers=_gold(row)[0]))


def _plain_official(row: ScoringRow) -> Verdict:
    said = official_words(str(row.prediction))
    return Verdict(float(said in map(official_words, _gold(row))), bool(said), " ".join(said) or None, "official")


def _plain_strict(row: ScoringRow) -> Verdict:
    said = without_reasoning(str(row.prediction)).strip()
    words = f" {' '.join(english_words(said))} "
    found = any(f" {' '.join(english_words(one))} " in words for one in _gold(row))
    return Verdict(float(found), bool(said), said or None, "strict")


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
"""Scorers of exact match by rule and data set; replies are texts, and there is a gold answer."""


# ----------------------------------------------------------------------------------- token F1, ROUGE-L-Sum


def token_overlap(rule: str) -> Scorer:
    """The scorer of token F1 under a rule, which goes by the row's ``dataset``."""

    def score(row: ScoringRow) -> Verdict:
        if row.dataset in LISTS:
            return list_scorer(row.dataset, rule)(row)
        gold = _gold(row)
        if not isinstance(row.prediction, str) or not gold:
            return _unscored(row, rule)
        said = (row.prediction if rule == "official" else without_reasoning(row.prediction)).strip()
        if row.dataset == _FIRST_LINE:
            said = said.partition("\n")[0].strip()
        return Verdict(max(F1[rule](said, one) for one in gold), bool(said), said or None, rule)

    return score


def _f1_official(said: str, gold: str) -> float:
    return bag_f1(official_words(said), official_words(gold))


def _f1_strict(said: str, gold: str) -> float:
    return token_f1(said, gold, "zh" if has_chinese(gold) else "en")


F1: Mapping[str, Callable[[str, str], float]] = MappingProxyType({"official": _f1_official, "strict": _f1_strict})


def _gold(row: ScoringRow) -> list[str]:
    given = row.answers if isinstance(row.answers, list) else [row.answers]
    return [text.strip() for text in given if isinstance(text, str) and text.strip()]


def _unscored(row: ScoringRow, rule: str) -> Verdict:
    why = "no gold answer to compare with" if isinstance(row.prediction, str) else "no reply: the prediction is no text"
    return Verdict(None, False, grader=rule, detail=why)


def _metric(name: str, official: Scorer, strict: Scorer, description: str) -> Metric:
    return Metric("leader", name, MappingProxyType({"official": official, "strict": strict}), description)


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

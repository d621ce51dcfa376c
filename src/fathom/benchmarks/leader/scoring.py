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
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from types import MappingProxyType

from fathom.benchmarks.ada import scoring as ada
from fathom.benchmarks.leader import infinitebench_official as released
from fathom.benchmarks.leader import infinitebench_scoring as strict_rules
from fathom.benchmarks.leader.lists import list_scorer
from fathom.score.registry import Metric, Scorer, ScoringRow
from fathom.score.text import bag_f1, english_words, has_chinese, official_words, token_f1, without_reasoning
from fathom.types import Verdict

_DESIGNATION = re.compile("A[1-9][0-9]*")
_LETTERS = frozenset("ABCD")
_FIRST_LINE = "triviaqa"

_BEST_ANSWER = next(metric.rules for metric in ada.METRICS if metric.name == "bestanswer")


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


LISTS = ("dialogre", "fewnerd")
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

"""Metrics of HELMET: its released scorers of what needs no model.

Texts are compared after SQuAD's normalisation. Every metric is the larger of two: of the whole reply, and of what
follows the first "Answer:" up to the end of the line, else of the first line. A letter is right too if the reply
contains the option with its text. ``ndcg@10`` takes the longest run of numbers between ``>``, after "id" is deleted
everywhere; of two equally long runs the first.

``strict`` ignores thoughts and looks once: at the text after the last "Answer:", else at the whole reply. Gold texts
count as whole words, a letter must be chosen as in all other tasks, and a ranking is the last line with ``>``.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from math import log2
from typing import Any

from fathom.score.answers import choice_letter
from fathom.score.registry import Metric, ScoringRow
from fathom.score.released import Answer, Corrected, Released, metric, texts
from fathom.score.rouge import rouge_l_sum
from fathom.score.stems import stem
from fathom.score.text import ascii_words, bag_f1, caseless, common_length, official_words, stands_in

Grade = Callable[[str, str], float]
_CITATION = re.compile(r"\[\d+")
_RUN = re.compile(r"(\d+)(?:\s*>\s*(\d+))*")
_VERDICTS = ("yes", "no", "noanswer")
_TOP = 10
WITH_CITATIONS = "with_citations"
"""The input of a sample whose replies have citations: the released code removes them before it scores answers."""


def normal(text: str) -> str:
    """A text as SQuAD's scorer normalises it."""
    return " ".join(official_words(text))


def parsed(reply: str, label: str = "Answer:") -> str | None:
    """What follows the first label up to the end of its line, else the first line."""
    for pattern in (re.compile(f"(?:{label})(.*)(?:\n|$)", re.IGNORECASE), re.compile(r"(?:^)(.*)(?:\n|$)")):
        if match := pattern.search(reply):
            return re.sub(f"^{re.escape(label)}", "", match[1].strip(), flags=re.IGNORECASE).strip()
    return None


def _flat(gold: Any) -> list[str]:
    if isinstance(gold, str):
        return [gold]
    return [text for group in gold for text in group] if isinstance(gold[0], list) else list(gold)


# ------------------------------------------------------------------------------------------------------------- grades


def _equal(reply: str, gold: str) -> float:
    return float(normal(reply) == normal(gold))


def _contains(reply: str, gold: str) -> float:
    return float(normal(gold) in normal(reply))


def _word_f1(reply: str, gold: str) -> float:
    reply, gold = normal(reply), normal(gold)
    if reply != gold and (reply in _VERDICTS or gold in _VERDICTS):
        return 0.0
    return bag_f1(reply.split(), gold.split())


def stemmed(text: str) -> list[str]:
    """Words of letters and digits, those of more than three as their stems, as ``rouge_score`` has them."""
    return [stem(word) if len(word) > 3 else word for word in ascii_words(text)]


def _rouge_recall(reply: str, gold: str) -> float:
    words = stemmed(gold)
    return common_length(stemmed(reply), words) / len(words) if words else 0.0


def _rouge(reply: str, gold: str) -> float:
    words, golds = stemmed(reply), stemmed(gold)
    shared = common_length(words, golds)
    if not shared:
        return 0.0
    precision, recall = shared / len(words), shared / len(golds)
    return 2 * precision * recall / (precision + recall)


def _rouge_sum(reply: str, gold: str) -> float:
    return rouge_l_sum(*([stemmed(line) for line in text.split("\n")] for text in (reply, gold)))


def _whole_words(reply: str, gold: str) -> float:
    return float(stands_in(reply, gold))


def _same_words(reply: str, gold: str) -> float:
    return float(normal(caseless(reply)) == normal(caseless(gold)))


# ------------------------------------------------------------------------------------------------------- texts in words


def _official(grade: Grade, label: str = "Answer:", *, whole: bool = True) -> Released:
    """The best grade of any gold text, for the whole reply or what is after the label.

    Args:
        grade: Compares a reply with a gold text.
        label: Stands before the answer.
        whole: Whether the whole reply counts too.
    """

    def compute(reply: Any, gold: Any, row: ScoringRow) -> Answer:
        answer = parsed(reply, label)
        readings = [text for text in ([reply, answer] if whole else [answer]) if text is not None]
        return max(grade(text, right) for text in readings for right in _flat(gold)), bool(reply.strip()), answer

    return compute


def _after_label(reply: str, label: str) -> str:
    """The text after the last label, without the lines that follow it; else the whole reply."""
    before, mark, after = reply.rpartition(label) if label in reply else (reply, "", "")
    return after.strip().split("\n")[0].strip() if mark else before.strip()


def _strict(grade: Grade, label: str = "Answer:") -> Corrected:
    def compute(reply: str, gold: Any, row: ScoringRow) -> Answer | None:
        golds = texts(_flat(gold)) if gold else []
        answer = _after_label(reply, label)
        return (max(grade(answer, right) for right in golds), bool(answer), answer) if golds else None

    return compute


# -------------------------------------------------------------------------------------------------------------- choices


def _choice(reply: Any, gold: Any, row: ScoringRow) -> Answer:
    value, valid, answer = _official(_equal)(reply, gold, row)
    return (1.0 if gold[1].lower() in reply.lower() else value), valid, answer


def _strict_choice(reply: str, gold: Any, row: ScoringRow) -> Answer | None:
    golds = texts(gold)
    letter = choice_letter(reply)
    return (letter == golds[0].upper(), letter is not None, letter) if golds else None


# -------------------------------------------------------------------------------------------------- lists of gold texts


def _recall(reply: Any, gold: Any, row: ScoringRow) -> Answer:
    return sum(text.lower() in reply.lower() for text in gold) / len(gold), bool(reply.strip()), None


def _strict_recall(reply: str, gold: Any, row: ScoringRow) -> Answer | None:
    golds = texts(gold)
    contained = [text for text in golds if stands_in(reply, text)]
    return (len(contained) / len(golds), bool(reply.strip()), ", ".join(contained)) if golds else None


def _without_citations(reply: str) -> str:
    return _CITATION.sub("", re.sub(r" \[\d+", "", reply)).replace(" |", "").replace("]", "")


def _in_main(compute: Released) -> Released:
    """A computation of ``eval_alce.py``; of samples with citations after what its ``main`` does to replies."""

    def prepared(reply: Any, gold: Any, row: ScoringRow) -> Answer:
        if row.extra.get(WITH_CITATIONS):
            reply = _without_citations(re.sub(r"\n+", " ", reply).replace("<|im_end|>", ""))
        return compute(reply, gold, row)

    return prepared


def _groups_found(reply: Any, gold: Any, row: ScoringRow) -> Answer:
    text = normal(reply)
    return sum(any(normal(answer) in text for answer in group) for group in gold) / len(gold), bool(text), None


def _strict_groups_found(reply: str, gold: Any, row: ScoringRow) -> Answer | None:
    if not gold:
        return None
    reply = _without_citations(reply)
    return (
        sum(any(stands_in(reply, answer) for answer in group) for group in gold) / len(gold),
        bool(reply.strip()),
        None,
    )


def _listed(reply: Any, gold: Any, row: ScoringRow) -> Answer:
    items = {normal(item) for item in reply.rstrip().rstrip(".").rstrip(",").split(",")} - {""}
    met = sum(any(normal(answer) in items for answer in group) for group in gold)
    return min(5, met) / min(5, len(gold)), bool(items), ", ".join(sorted(items))


def _strict_listed(reply: str, gold: Any, row: ScoringRow) -> Answer | None:
    return _listed(_without_citations(reply), gold, row) if gold else None


# ------------------------------------------------------------------------------------------------------------- rankings


def _ranking(reply: str) -> dict[str, int]:
    """The rank of every number in the longest run with ``>``, higher for better; the whole text if it has no number."""
    reply = re.sub(r"[\[\]:]", "", reply).lower().replace("id", "")
    runs = [match[0] for match in _RUN.finditer(reply)]
    numbers = [number.strip() for number in max(runs, key=len).split(">")] if runs else [reply]
    ranks: dict[str, int] = {}
    for at, number in enumerate(numbers):
        ranks.setdefault(number, len(numbers) - at)
    return ranks


def ndcg(ranks: Mapping[str, float], relevance: Mapping[str, int]) -> float:
    """Discounted gain of the first ten, as a share of the best; of equal ranks the larger identifier comes first."""
    order = sorted(ranks, key=lambda name: (ranks[name], name), reverse=True)
    best = _gain(sorted((max(0, value) for value in relevance.values()), reverse=True))
    return _gain([max(0, relevance.get(name, 0)) for name in order]) / best if best else 0.0


def _gain(relevances: Sequence[int]) -> float:
    return sum(value / log2(at + 2) for at, value in enumerate(relevances[:_TOP]))


def _ranked(reply: Any, gold: Any, row: ScoringRow) -> Answer:
    ranks = _ranking(reply)
    return round(ndcg(ranks, {name: int(value) for name, value in gold.items()}), 5), bool(ranks), " > ".join(ranks)


def _strict_ranked(reply: str, gold: Any, row: ScoringRow) -> Answer | None:
    if not isinstance(gold, dict) or not gold:
        return None
    lines = [line for line in reply.splitlines() if ">" in line]
    names = list(dict.fromkeys(re.findall(r"\d+", lines[-1]))) if lines else []
    ranks = {name: len(names) - at for at, name in enumerate(names)}
    return ndcg(ranks, {name: int(value) for name, value in gold.items()}), bool(names), " > ".join(names)


_JSON, _LABEL = "corresponding value:", "label:"
METRICS: tuple[Metric, ...] = tuple(
    metric("helmet", name, official, strict, description)
    for name, official, strict, description in (
        ("exact_match", _official(_equal), _strict(_same_words), "whether the answer is a gold one"),
        ("substring_exact_match", _official(_contains), _strict(_whole_words), "whether it contains a gold one"),
        ("f1", _official(_word_f1), _strict(_word_f1), "F1 of its words"),
        ("rougeL_recall", _official(_rouge_recall), _strict(_rouge_recall), "recall of ROUGE-L with stems"),
        ("rougeL_f1", _official(_rouge), _strict(_rouge), "F1 of ROUGE-L with stems"),
        ("rougeLsum_f1", _official(_rouge_sum), _strict(_rouge_sum), "F1 of ROUGE-Lsum with stems"),
        (
            "json_kv_substring_exact_match",
            _official(_contains, _JSON),
            _strict(_whole_words, _JSON),
            "whether the answer contains the value of a key",
        ),
        (
            "icl_exact_match",
            _official(_equal, _LABEL, whole=False),
            _strict(_same_words, _LABEL),
            "whether the label is the gold one",
        ),
        ("ruler_recall", _recall, _strict_recall, "share of the gold texts that occur in the reply"),
        ("choice_exact_match", _choice, _strict_choice, "whether the letter or the option is the gold one"),
        ("ndcg@10", _ranked, _strict_ranked, "discounted gain of the first ten documents of a ranking"),
        (
            "alce_str_em",
            _in_main(_groups_found),
            _strict_groups_found,
            "share of the questions with an answer in the reply",
        ),
        (
            "alce_qampari_rec_top5",
            _in_main(_listed),
            _strict_listed,
            "share of the gold answers in a list, of five at most",
        ),
    )
)

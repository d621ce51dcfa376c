"""``check-gold``: have a model check whether the gold texts of a suite are supported by their passages.

A build compares words (``fathom.suites.build.gold``); here a model decides about each statement of a summary and each
answer. What is not supported, or not the only answer, becomes errata, which the next build leaves out
(``fathom.documents.sources.errata``).

Requests, retries, limits and stored replies are those of judging, so an interrupted check resumes, and no request is
paid for twice. A reply that cannot be parsed leaves its gold text undecided: neither supported nor in the errata.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias, get_args

from fathom.documents.corpus.questions import checksum
from fathom.documents.sources.errata import Fault, fingerprint
from fathom.models.embedding_judge import judge_kind
from fathom.models.entailment import is_entailment
from fathom.models.prices import shown_cost
from fathom.models.protocol import Settings, is_baseline
from fathom.plugins import loading
from fathom.printing import printable, readable, several
from fathom.run.cases.model import CaseModel, case_settings
from fathom.run.cases.pending import JudgePlan, JudgeProgress
from fathom.run.gold_prompts import Finding, conversation, replay
from fathom.run.gold_rules import Kind, suspicion
from fathom.runfile.judgements import FILE, Judgement, Spent, case_key, hashed
from fathom.runfile.settings import CaseSettings
from fathom.score.judge import Case, UnreadableError
from fathom.storage.atomic import whole_file
from fathom.suites.registry import get_task
from fathom.suites.suitefile import BuiltSuite, open_suite
from fathom.suites.tasks.support import KEPT
from fathom.types import FathomError, Json, Sample, Span

SHOWN = 10  # gold texts that are printed
QUOTED = 80  # characters of a question that are printed
NOTHING = "{}: no task of this suite has its gold answers in passages, so there is nothing to check"
SUPPORT, ERRATA, WRITTEN = "support.jsonl", "errata.toml", "errata.written"

Verdict: TypeAlias = Literal[
    "supported", "unsupported", "ambiguous", "undecided", "missing", "dependent", "unsuitable", "markup", "unsuspected"
]
"""Of a gold text: its passages support it; not enough of it; another answer as well; no reply could be parsed; no
reply yet. By rules: no question by itself; an article about a web page; many tags; none of these."""
_FAULTS: Mapping[Verdict, Fault] = {
    "unsupported": "absent",
    **{"ambiguous": "ambiguous", "dependent": "dependent", "unsuitable": "unsuitable"},
}
RULES = "rules"
_OF_RULES: Mapping[Kind, Verdict] = {
    **{"turn": "dependent", "garbled": "dependent", "boilerplate": "unsuitable"},
    **{"second answer": "ambiguous", "markup": "markup"},
}


@dataclass(frozen=True, slots=True)
class GoldText:
    """A gold answer or summary with what it is asked of.

    Attributes:
        sample: The first sample with it.
        summary: Whether it is a summary.
        passage: Its passages, as in the prompt, without the others.
        source: Where their document comes from.
    """

    sample: Sample
    summary: bool
    passage: str
    source: str

    @property
    def case(self) -> Case:
        """What the model sees: the passages are in the place of the reply."""
        return Case(self.sample.asked, self.passage, self.sample.targets, self.sample.language)

    @property
    def fingerprint(self) -> str:
        """Its name in errata."""
        return fingerprint(self.sample.asked, self.sample.targets)


@dataclass(frozen=True, slots=True)
class Checked:
    """A gold text with what the model found.

    Attributes:
        verdict: See ``Verdict``.
        reason: Why, without quoting the text; "" if it is supported.
        finding: The model's finding; None if there is none.
    """

    gold: GoldText
    verdict: Verdict
    reason: str = ""
    finding: Finding | None = None


@readable
@dataclass(frozen=True, slots=True)
class GoldSummary:
    """Result of ``check_gold``.

    Attributes:
        out: The folder with the results.
        verdicts: Number of gold texts by verdict, for each task.
        support: Mean share of the statements of a summary, or of the answers, that are supported, for each task.
        spent: What the model has cost so far.
        stopped: Why it stopped early; "" if it did not.
        hints: Notes for the user.
    """

    out: Path
    verdicts: Mapping[str, Mapping[Verdict, int]]
    support: Mapping[str, float]
    spent: Spent
    stopped: str = ""
    hints: tuple[str, ...] = ()

    def __str__(self) -> str:
        if self.stopped:
            return f"{self.out}: stopped: {self.stopped}"
        counts = sum(map(Counter, self.verdicts.values()), Counter[Verdict]())
        cost = "" if self.spent.cost == 0 else f"; {shown_cost(self.spent.cost)}"
        return f"{self.out}: {_verdict_counts(counts)}{cost}"


def check_gold(
    suite: Path,
    model: str,
    settings: CaseSettings,
    *,
    out: Path,
    confirm: Callable[[JudgePlan], bool] | None = None,
    progress: Callable[[JudgeProgress], None] | None = None,
    tell: Callable[[str], None] | None = None,
) -> GoldSummary:
    """Check the gold texts of a suite; repeating the call asks only for what is missing.

    Args:
        suite: A built suite.
        model: A chat model, or an entailment model ``nli/NAME``.
        settings: How the model is asked, and up to which limits.
        out: The folder to write: ``support.jsonl`` with every gold text, ``errata.toml`` with those that are not
            supported or ambiguous, and the model's replies.
        confirm: Called with the plan before any request; False stops.
        progress: Called after every gold text.
        tell: Called with a line about each batch.

    Raises:
        FathomError: The suite has no gold texts, the folder holds something else, the model cannot be asked, or a limit
            is reached. All replies are kept.
    """
    asked = case_settings(model, settings, settings.model_base_url)
    built = open_suite(suite)
    loading.use_again(built.manifest.get("plugins"), suite)
    _check_model(asked)
    _check_folder(out)
    golds = list(gold_texts(built))
    if not golds:
        raise FathomError(NOTHING.format(suite))
    checker = CaseModel(out, asked, settings, purpose="check of gold texts by", results="replies")
    waiting = checker.pending((conversation(model, summary=gold.summary), gold.case) for gold in golds)
    if waiting.cases:
        client, plan = checker.open(), checker.plan(waiting, "gold texts")
        if confirm is not None and not confirm(plan):
            return GoldSummary(out, {}, {}, checker.spent, "not confirmed")
        out.mkdir(parents=True, exist_ok=True)
        checker.ask(waiting, client, progress=progress, tell=tell)
    texts, outcomes = checker.replies(), checker.outcomes()
    checked = [_checked(model, gold, outcomes, texts) for gold in golds]
    return _summary(built, out, checker.name, checked, checker.spent)


def check_by_rules(suite: Path, out: Path) -> GoldSummary:
    """Look for gold texts that should be read, by rules and without a model (``fathom.run.gold_rules``).

    Args:
        suite: A built suite.
        out: The folder to write: ``support.jsonl`` with every gold text, and ``errata.toml`` with those to be read.

    Raises:
        FathomError: The suite has no gold texts, or the folder holds something else.
    """
    built = open_suite(suite)
    loading.use_again(built.manifest.get("plugins"), suite)
    if not (out / SUPPORT).is_file():
        _check_folder(out)
    texts, checked = built.texts(), []
    for gold in gold_texts(built):
        passages = [texts[span.doc][span.start : span.end] for span in gold_spans(gold.sample)]
        doubt = suspicion(gold.sample.asked, gold.sample.targets, passages, summary=gold.summary)
        verdict: Verdict = "unsuspected" if doubt is None else _OF_RULES[doubt.kind]
        checked.append(Checked(gold, verdict, doubt.reason if doubt else ""))
    if not checked:
        raise FathomError(NOTHING.format(suite))
    out.mkdir(parents=True, exist_ok=True)
    return _summary(built, out, RULES, checked, Spent())


def gold_texts(suite: BuiltSuite) -> Iterator[GoldText]:
    """The gold texts of a suite, each once for all lengths: an item has the same passages at all of them."""
    texts, sources = suite.texts(), suite.sources()
    seen = set[tuple[object, ...]]()
    for sample in suite.samples():
        task = get_task(sample.task)
        if not task.gold_in_text or not sample.whole or not sample.targets:
            continue
        spans = gold_spans(sample)
        key = sample.task, sample.asked, sample.targets, tuple(spans)
        if spans and key not in seen:
            seen.add(key)
            passage = "\n\n".join(texts[span.doc][span.start : span.end] for span in spans)
            yield GoldText(sample, task.rubric == "summary", passage, sources[spans[0].doc][1])


def gold_spans(sample: Sample) -> list[Span]:
    """The gold passages of a sample: those that its facet ``gold`` numbers, else all."""
    spans = [part for part in sample.parts if isinstance(part, Span)]
    numbers = [int(number) for number in str(sample.facets.get("gold", "")).split(", ") if number.isdecimal()]
    named = [spans[number - 1] for number in numbers if 0 < number <= len(spans)]
    return named if named and len(named) == len(numbers) else spans


# ------------------------------------------------------------------------------------------------- requests


def _check_model(model: Settings) -> None:
    if is_baseline(model.model) or judge_kind(model.model) == "embedding":
        kind = "an offline baseline" if is_baseline(model.model) else "an embedding model"
        raise FathomError(f"{model.model}: {kind} cannot check gold texts; name a model")
    if is_entailment(model.model) and (
        model.base_url or model.max_output_tokens or model.model_args or model.generation or model.temperature
    ):
        raise FathomError(
            f"{model.model}: an entailment model runs on this machine and generates no text; leave out the options of "
            "servers and of generation"
        )


def _check_folder(out: Path) -> None:
    try:
        names = sorted(path.name for path in out.iterdir()) if out.is_dir() else [out.name] * out.exists()
    except OSError as error:
        raise FathomError(f"`out` {out}: cannot be read: {error.strerror or error}") from error
    if names and FILE not in names:
        raise FathomError(
            f"`out` {out}: is not empty and holds no check of gold texts ({printable(names[0])}); choose another `out`"
        )


# -------------------------------------------------------------------------------------------------- results


def _checked(
    model: str, gold: GoldText, outcomes: Mapping[str, Judgement], texts: Mapping[tuple[str, int], str]
) -> Checked:
    """A gold text with its verdict; only a reply that could be parsed supports it."""
    wanted = conversation(model, summary=gold.summary)
    judgement = outcomes.get(case_key(wanted, gold.case))
    if judgement is None or judgement.status == "error":
        return Checked(gold, "missing", judgement.detail if judgement else "not asked yet")
    if judgement.status == "unreadable":
        return Checked(gold, "undecided", judgement.detail)
    try:
        finding = replay(wanted, gold.case, texts, hashed)
    except UnreadableError as error:
        return Checked(gold, "undecided", str(error), None)
    statements, lost = len(finding.statements), sum(not supported for _, supported in finding.statements)
    if gold.summary and finding.share < KEPT:
        return Checked(gold, "unsupported", f"{lost} of {statements} statements are not in the passages", finding)
    if not gold.summary and not finding.share:
        return Checked(gold, "unsupported", "the passages do not give the answer", finding)
    if finding.others:
        count = len(finding.others)
        other = "another answer" if count == 1 else f"{count} other answers"
        return Checked(gold, "ambiguous", f"the passages give {other} as well", finding)
    return Checked(gold, "supported", "", finding)


def _summary(suite: BuiltSuite, out: Path, name: str, checked: Sequence[Checked], spent: Spent) -> GoldSummary:
    """Write the results; what the user changed in the errata stays."""
    with whole_file(out / SUPPORT) as stream:
        stream.writelines(json.dumps(_record(result, name), ensure_ascii=False) + "\n" for result in checked)
    hints = []
    errata, mark = out / ERRATA, out / WRITTEN
    changed = errata.exists() and not (mark.is_file() and mark.read_text("utf-8") == checksum(errata))
    faulty = _errata(suite, name, checked)
    if changed:
        hints.append(f"{errata} was edited and is not overwritten; delete it to write it again")
    else:
        with whole_file(errata) as stream:
            stream.write("\n".join(faulty.values()))
        mark.write_text(checksum(errata), "utf-8")
    verdicts: dict[str, Counter[Verdict]] = {}
    shares: dict[str, list[float]] = {}
    for result in checked:
        task = result.gold.sample.task
        verdicts.setdefault(task, Counter())[result.verdict] += 1
        shares.setdefault(task, []).extend([result.finding.share] if result.finding else [])
    support = {task: sum(each) / len(each) for task, each in shares.items() if each}
    for task, counts in verdicts.items():
        whole = f"; {support[task]:.0%} of what was decided is supported" if task in support else ""
        hints.append(f"{task}: {_verdict_counts(counts)}{whole}")
    listed = [result for result in checked if result.verdict in _FAULTS]
    hints += [f"{_item_and_question(result)}: {result.reason}" for result in listed[:SHOWN]]
    if len(listed) > SHOWN:
        hints.append(f"{len(listed) - SHOWN:,} more: {out / SUPPORT}")
    if faulty:
        hints.append(f"read {errata}, then build again with `errata` {errata} to leave these out")
    hints += _left(checked)
    return GoldSummary(out, verdicts, support, spent, hints=tuple(hints))


def _left(checked: Sequence[Checked]) -> Iterator[str]:
    counts = Counter(result.verdict for result in checked)
    if counts["undecided"]:
        yield f"{several(counts['undecided'], 'reply')} could not be parsed: undecided; `again` repeats them"
    if counts["missing"]:
        yield f"{several(counts['missing'], 'request')} failed; repeat the command for what is missing"
    records = {result.gold.sample.task for result in checked if not result.gold.sample.facets.get("gold")}
    if records:
        yield f"published records are used unchanged, whatever errata say: {', '.join(sorted(records))}"


def _record(result: Checked, model: str) -> dict[str, Json]:
    """A line of ``support.jsonl``."""
    sample, finding = result.gold.sample, result.finding
    return {
        "task": sample.task,
        "language": sample.language,
        "item": sample.item,
        "sample": sample.id,
        "question": sample.asked,
        "answers": list(sample.targets),
        "document": result.gold.source,
        "fingerprint": result.gold.fingerprint,
        "model": model,
        "verdict": result.verdict,
        "reason": result.reason,
        "support": round(finding.share, 4) if finding else None,
        "coverage": sample.facets.get("coverage"),
        "statements": [{"text": text, "supported": supported} for text, supported in finding.statements]
        if finding
        else [],
        "others": list(finding.others) if finding else [],
        "said": finding.words if finding else "",
    }


def _errata(suite: BuiltSuite, model: str, checked: Sequence[Checked]) -> dict[str, str]:
    """Entries by fingerprint; none of a gold text that another passage supports."""
    good = {result.gold.fingerprint for result in checked if result.verdict == "supported"}
    where = f"{suite.manifest['suite']} from {min(suite.manifest['lengths'])} tokens"
    entries: dict[str, str] = {}
    for result in checked:
        if result.verdict in _FAULTS and result.gold.fingerprint not in good:
            about = (("source", result.gold.source), ("fault", _FAULTS[result.verdict]))
            fields = (*about, ("reason", f"{result.reason} ({model}; {where})"))
            lines = [f"# {_item_and_question(result)}", f'["{result.gold.fingerprint}"]']
            lines += [f"{name} = {json.dumps(printable(value), ensure_ascii=False)}" for name, value in fields]
            entries.setdefault(result.gold.fingerprint, "\n".join(lines) + "\n")
    return entries


def _item_and_question(result: Checked) -> str:
    """The item and its question, on one line."""
    asked = " ".join(result.gold.sample.asked.split())
    words = f"{asked[: QUOTED - 3]}..." if len(asked) > QUOTED else asked
    return printable(result.gold.sample.item + (f' "{words}"' if words else ""))


def _verdict_counts(counts: Mapping[Verdict, int]) -> str:
    order: tuple[Verdict, ...] = get_args(Verdict)
    total = sum(counts.values())
    return f"{total:,} gold texts: " + ", ".join(
        f"{counts[verdict]:,} {verdict}" for verdict in order if counts.get(verdict)
    )

"""Documents, drafts, answers, exports and imports with a real store, by functions and by commands."""

import contextlib
import json
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from test_studio_drafting import candidate

from fathom import api
from fathom.models.failures import Failure
from fathom.models.protocol import RequestError
from fathom.models.settings import AskSettings
from fathom.rows import load
from fathom.studio import asking as asking_module
from fathom.studio.asking import Asking
from fathom.studio.critique import CRITIQUE
from fathom.studio.difficulties import TIERS, Tier
from fathom.studio.exports import ExportOptions
from fathom.studio.intake import IntakeRules
from fathom.studio.store import AT_SERVER, Store
from fathom.studio.tasks import proposed_prompts
from fathom.studio.transfer import export_samples, formats_of, import_samples
from fathom.studio.types import (
    AddPredictions,
    Component,
    ComponentVerdict,
    Create,
    Edit,
    ExpertPass,
    Person,
    Role,
    Sample,
    Select,
    Standardise,
    SubmitForReview,
    SubmitReview,
)
from fathom.studio.work import (
    DraftPlan,
    add_documents,
    critique_samples,
    draft_samples,
    predict_samples,
    set_difficulties,
    states_of,
    tasks_of,
)
from fathom.types import FathomError, Reply
from made_studio import OWN, TASKS, made_text

RULES = IntakeRules(buckets=(4096, 8192), tolerance=0.5, state="available")
PEOPLE: dict[str, Role] = {"ann": "annotator", "bo": "annotator", "cy": "annotator", "eve": "expert"}
LEXICAL, GUESS = Asking("fathom/lexical"), Asking("fathom/guess")


@pytest.fixture
def store(place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Store]:
    monkeypatch.setenv("FATHOM_CACHE", str(tmp_path / "cache"))
    for number in range(3):
        (tmp_path / "documents").mkdir(exist_ok=True)
        (tmp_path / "documents" / f"{number}.txt").write_text(made_text(number, articles=10), encoding="utf-8")
    with closing(Store(place)) as opened:
        for name, role in PEOPLE.items():
            opened.set_person(Person(name, role), AT_SERVER)
        add_documents(opened, [str(tmp_path / "documents")], tokenizer="words", rules=RULES)
        yield opened


def drafted(store: Store, samples: int = 2, **options: object) -> tuple[str, ...]:
    bucket = store.documents()[0].bucket
    plan = DraftPlan(**{"task": "T5.2", "bucket": bucket, "samples": samples, "candidates": 2} | options)  # type: ignore[arg-type]
    return draft_samples(store, TASKS, plan, [LEXICAL, GUESS]).samples


def accept(store: Store, id: str) -> Sample:
    """A drafted sample on its way to acceptance: selected, edited, passed, reviewed twice."""
    ann, eve = Person("ann", "annotator"), Person("eve", "expert")
    now = store.sample(id)
    now = store.act(Select(id, now.version, now.candidates[0].id), ann)
    evidence = now.content.components[0].evidence
    edited = now.content.__class__(
        now.content.question, (Component("[1]", evidence), Component("[4]")), "Fits.", "Look.", "partial"
    )
    now = store.act(Edit(id, now.version, edited), ann)
    now = store.act(SubmitForReview(id, now.version), ann)
    now = store.act(ExpertPass(id, now.version), eve)
    now = store.act(Standardise(id, now.version, *proposed_prompts(TASKS, now)), ann)
    right = tuple(ComponentVerdict("right") for _ in now.content.components)
    for name in ("bo", "cy"):
        now = store.act(SubmitReview(id, now.version, right, (), "pass"), Person(name, "annotator"))
    assert now.state == "accepted"
    return now


def test_documents_arrive_with_bucket_and_state_and_once(store: Store, tmp_path: Path) -> None:
    found = store.documents()
    assert len(found) == 3
    assert {one.state for one in found} == {"available"}
    assert all(one.bucket for one in found)
    again = add_documents(store, [str(tmp_path / "documents")], tokenizer="words", rules=RULES)
    assert (len(again.taken), len(again.known)) == (0, 3)
    (tmp_path / "copy.txt").write_text(made_text(1, articles=9), encoding="utf-8")
    copy = add_documents(store, [str(tmp_path / "copy.txt")], tokenizer="words", rules=RULES)
    assert copy.taken[0].document.duplicate_of in {one.id for one in found}


@pytest.mark.slow
def test_samples_are_drafted_over_the_documents_that_are_used_least(store: Store) -> None:
    bucket = store.documents()[0].bucket
    there = [one.id for one in store.documents(bucket=bucket)]
    ids = drafted(store, samples=2 * len(there))
    samples = [store.sample(id) for id in ids]
    assert sorted(one.documents[0] for one in samples) == sorted(2 * there)
    assert all({two.drafter for two in one.candidates} == {"fathom/lexical", "fathom/guess"} for one in samples)
    assert {one.state for one in samples} == {"drafted"}


def test_what_cannot_be_drafted_is_told(store: Store) -> None:
    with pytest.raises(FathomError, match=r"no available document in language 'zh'.*add some"):
        drafted(store, language="zh")
    with pytest.raises(FathomError, match="unknown task of the studio"):
        drafted(store, task="T9.9")
    with pytest.raises(FathomError, match="at least 1"):
        drafted(store, samples=0)


def test_a_limit_of_cost_stops_between_samples(store: Store, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    prices = tmp_path / "prices.toml"
    prices.write_text('["openai/a"]\ninput = 1000000\noutput = 1000000\nchecked = "2026-01"\nsource = "x"\n')
    monkeypatch.setenv("FATHOM_PRICES", str(prices))

    class Client:
        window, policy = None, "refuse"

        async def complete(self, prompt: str, call: object) -> Reply:
            return Reply("ok", json.dumps({"candidates": [candidate()]}), tokens_in=1, tokens_out=1)

        async def close(self) -> None:
            pass

    monkeypatch.setattr(asking_module, "open_client", lambda settings, tokenizer: Client())
    bucket = store.documents()[0].bucket
    plan = DraftPlan("T5.2", bucket=bucket, samples=5)
    found = draft_samples(store, TASKS, plan, [Asking("openai/a", AskSettings(max_connections=1))], max_cost=3)
    assert len(found.samples) == 2
    assert [one.reason for one in found.drafted.rejected] == ["not sent: $4.00 spent, `max_cost` is $3.00"] * 3
    assert len(list(store.samples())) == 2


@pytest.fixture
def priced(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[str]:
    """All models answer for 2 dollars a request, and nothing of it can be read; the list receives the prompts."""
    prices = tmp_path / "prices.toml"
    entry = 'input = 1000000\noutput = 1000000\nchecked = "2026-01"\nsource = "x"\n'
    prices.write_text(f'["openai/a"]\n{entry}["openai/b"]\n{entry}')
    monkeypatch.setenv("FATHOM_PRICES", str(prices))
    monkeypatch.setattr("fathom.studio.work.TOGETHER", 2)
    monkeypatch.setattr("fathom.studio.drafting.TOGETHER", 2)
    asked: list[str] = []

    class Client:
        window, policy = None, "refuse"

        async def complete(self, prompt: str, call: object) -> Reply:
            asked.append(prompt)
            return Reply("ok", "[Answer]\nIda", tokens_in=1, tokens_out=1)

        async def close(self) -> None:
            pass

    monkeypatch.setattr(asking_module, "open_client", lambda settings, tokenizer: Client())
    return asked


@pytest.mark.parametrize("command", ["predict", "critique", "draft"])
def test_a_limit_of_cost_holds_for_all_requests_of_a_command(store: Store, priced: list[str], command: str) -> None:
    ann = Person("ann", "annotator")
    for id in drafted(store, samples=5):
        store.act(Select(id, store.sample(id).version, store.sample(id).candidates[0].id), ann)
    priced.clear()
    first, second = (Asking(f"openai/{name}", AskSettings(max_connections=1, max_cost=5)) for name in "ab")
    if command == "predict":
        found = predict_samples(store, TASKS, [first, second], states=states_of(["selected"]))
        assert (found.done, len(found.failed)) == (3, 7)
    elif command == "critique":
        critique_samples(store, TASKS, first, second, states=["selected"])
    else:
        plan = DraftPlan("T5.2", bucket=store.documents()[0].bucket, samples=5)
        draft_samples(store, TASKS, plan, [first, second], max_cost=5)
    assert len(priced) == 3  # 2 dollars each: the third one passes the limit


def test_an_answer_is_stored_as_soon_as_it_comes(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    ids = drafted(store, samples=3)
    for id in ids:
        store.act(Select(id, store.sample(id).version, store.sample(id).candidates[0].id), Person("ann", "annotator"))
    asked: list[str] = []

    class Client:
        window, policy = None, "refuse"

        async def complete(self, prompt: str, call: object) -> Reply:
            asked.append(prompt)
            if len(asked) == 3:
                raise RequestError(Failure("denied", "no credit is left"))
            return Reply("ok", "[Answer]\nIda", tokens_in=1, tokens_out=1)

        async def close(self) -> None:
            pass

    monkeypatch.setattr(asking_module, "open_client", lambda settings, tokenizer: Client())
    model = Asking("openai/a", AskSettings(max_connections=1))
    with contextlib.suppress(FathomError):  # as if the command were killed
        predict_samples(store, TASKS, [model], states=states_of(["selected"]))
    assert sum(len(store.sample(id).predictions) for id in ids) == 2
    assert predict_samples(store, TASKS, [model], states=states_of(["selected"])).done == 1
    assert len(asked) == 4, "what was paid is not paid again"


def test_answers_of_models_are_stored_once(store: Store) -> None:
    ids = drafted(store)
    for id in ids:
        sample = store.sample(id)
        store.act(Select(id, sample.version, sample.candidates[0].id), Person("ann", "annotator"))
    states = states_of(["selected"])
    first = predict_samples(store, TASKS, [LEXICAL, GUESS], states=states)
    closed = predict_samples(store, TASKS, [GUESS], states=states, closed_book=True)
    assert (first.done, closed.done) == (2 * len(ids), len(ids))
    assert predict_samples(store, TASKS, [LEXICAL, GUESS], states=states).done == 0
    assert [(one.model, one.closed_book) for one in store.sample(ids[0]).predictions] == [
        ("fathom/lexical", False), ("fathom/guess", False), ("fathom/guess", True)
    ]  # fmt: skip
    with pytest.raises(FathomError, match="`states` nowhere: expected some of"):
        states_of(["nowhere"])


@pytest.mark.parametrize("changes", [{}, {"question": "Which other entry?"}, {"components": (Component("x"),)}])
def test_an_answer_is_stored_if_people_only_moved_the_sample_meanwhile(
    store: Store, monkeypatch: pytest.MonkeyPatch, changes: dict[str, Any]
) -> None:
    (id,) = drafted(store, samples=1)
    ann = Person("ann", "annotator")
    now = store.act(Select(id, store.sample(id).version, store.sample(id).candidates[0].id), ann)
    act, others = store.act, [Edit(id, now.version, replace(now.content, rationale="Because.", **changes))]
    others.append(replace(others[0], version=now.version + 1, content=replace(others[0].content, solution="So.")))

    def racing(action: Any, by: Person) -> Sample:
        if isinstance(action, AddPredictions) and others:  # somebody is quicker, twice
            act(others.pop(0), ann)
        return act(action, by)

    monkeypatch.setattr(store, "act", racing)
    asked = predict_samples(store, TASKS, [GUESS], states=states_of(["selected"]))
    if not changes:
        assert (asked.done, asked.failed) == (1, ())
        assert [one.model for one in store.sample(id).predictions] == ["fathom/guess"]
        assert store.sample(id).version == now.version + 2
    else:
        assert (asked.done, store.sample(id).predictions) == (0, ())
        assert "people have changed its question or answer" in asked.failed[0]


def test_drafts_that_come_after_a_choice_are_told_and_end_nothing(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    act = store.act

    def racing(action: Any, by: Person) -> Sample:
        now = act(action, by)
        if isinstance(action, Create):
            act(Select(now.id, now.version, now.candidates[0].id), Person("ann", "annotator"))
        return now

    monkeypatch.setattr(store, "act", racing)
    # Ids are seeds of the baselines, which may repeat each other.
    monkeypatch.setattr("fathom.studio.work.new_id", iter(("s-1", "s-2")).__next__)
    plan = DraftPlan("T5.2", bucket=store.documents()[0].bucket, samples=2, candidates=1)
    found = draft_samples(store, TASKS, plan, [LEXICAL, GUESS])
    assert len(found.samples) == 2
    assert all(store.sample(id).state == "selected" for id in found.samples)
    late = [one for one in found.drafted.notes if "not stored" in one]
    assert len(late) == 2
    assert "people have changed its question or answer" in late[0]


def test_critiques_are_notes_and_not_repeated(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    (id,) = drafted(store, samples=1)
    sample = store.sample(id)
    now = store.act(Select(id, sample.version, sample.candidates[0].id), Person("ann", "annotator"))
    quote = store.text(now.documents[0])[50:90].strip()
    claim = {"kind": "wrong", "element": 1, "text": "", "reason": "No.", "quotes": [quote]}

    class Client:
        window, policy = None, "refuse"

        async def complete(self, prompt: str, call: object) -> Reply:
            if "Another reviewer" in prompt:
                return Reply("ok", '{"objections": [{"claim": 1, "stand": "fails", "reason": "Yes."}]}')
            return Reply("ok", json.dumps({"claims": [claim]}))

        async def close(self) -> None:
            pass

    monkeypatch.setattr(asking_module, "open_client", lambda settings, tokenizer: Client())
    critic, objector = Asking("openai/a"), Asking("openai/b")
    (found,) = critique_samples(store, TASKS, critic, objector, states=["selected"])
    assert found.standing == ()
    (note,) = store.notes(topic=CRITIQUE)
    assert note.note.subject == id
    assert json.loads(note.note.body)["claims"][0]["evidence"][0]["quote"] == quote
    assert critique_samples(store, TASKS, critic, objector, states=["selected"]) == ()


def test_an_export_goes_into_another_studio_and_out_again_unchanged(store: Store, tmp_path: Path) -> None:
    ids = drafted(store)
    for id in ids:
        accept(store, id)
    out = tmp_path / "out"
    options = ExportOptions(tokenizer="words", lengths=(1024,))
    found = export_samples(store, TASKS, out, options)
    assert found.files == ("longbench_pro.jsonl", "samples.jsonl", "documents.jsonl", "suite", "README.md")
    assert found.samples == 2
    with closing(Store(str(tmp_path / "second"))) as second:
        came = import_samples(second, out, tokenizer="words", available=True)
        assert sorted(came.samples) == sorted(ids)
        assert not came.problems
        assert import_samples(second, out, tokenizer="words").known == tuple(came.samples)
        for id in ids:
            sample = second.sample(id)
            assert sample.state == "drafted"
            assert sample.candidates[0].content == store.sample(id).content
            assert sample.candidates[0].drafter == "import:out"
        assert {one.id for one in second.documents(state="available")} == {
            id for sample in ids for id in store.sample(sample).documents
        }
    again = export_samples(store, TASKS, out, options)
    assert again == found


@pytest.mark.slow
def test_an_exported_suite_runs_and_gives_a_report(store: Store, tmp_path: Path) -> None:
    for id in drafted(store):
        accept(store, id)
    found = export_samples(store, TASKS, tmp_path / "out", ExportOptions(tokenizer="words", closed_book=True))
    bucket = store.documents()[0].bucket
    if bucket == 4096:
        assert "no length of 4,096 tokens" in found.left_out[0]
    api.run(tmp_path / "out" / "suite", "fathom/lexical", out=tmp_path / "run")
    api.report([str(tmp_path / "run")], out=tmp_path / "report.html")
    assert "pro_t5_2" in (tmp_path / "report.html").read_text("utf-8")


def test_nothing_accepted_other_files_and_unknown_formats_are_refused(store: Store, tmp_path: Path) -> None:
    with pytest.raises(FathomError, match="no sample is accepted yet"):
        export_samples(store, TASKS, tmp_path / "out", ExportOptions())
    accept(store, drafted(store, samples=1)[0])
    with pytest.raises(FathomError, match="contains other files than an export"):
        export_samples(store, TASKS, tmp_path, ExportOptions())
    with pytest.raises(FathomError, match="`formats` parquet: expected some of pro, suite, jsonl, card"):
        formats_of(["parquet"])


def test_strange_ids_of_an_import_are_replaced(store: Store, tmp_path: Path) -> None:
    accept(store, drafted(store, samples=1)[0])
    export_samples(store, TASKS, tmp_path / "out", ExportOptions(formats=("jsonl",)))
    line = json.loads((tmp_path / "out" / "samples.jsonl").read_text("utf-8"))
    hostile = ["../../etc/passwd", "<script>", "x" * 128, "名"]
    lines = [json.dumps(line | {"id": id}) for id in hostile]
    (tmp_path / "out" / "samples.jsonl").write_text("\n".join(lines), encoding="utf-8")
    found = import_samples(store, tmp_path / "out", tokenizer="words")
    assert len(found.samples) == 4
    assert all(id.startswith("s-") and id.isascii() for id in found.samples)


def test_own_tasks_lie_in_the_folder_of_the_store(tmp_path: Path) -> None:
    folder = tmp_path / "store" / "tasks"
    folder.mkdir(parents=True)
    text = (
        f'name = "{OWN.name}"\nmetric = "F1_Score"\nrequirement = "full"\nguideline = "Mine."\n'
        '[en]\ntask = "Find."\noutput = "One a line."\nexample = ["x"]\n'
    )
    (folder / "own.toml").write_text(text, encoding="utf-8")
    assert tasks_of(str(tmp_path / "store"))[OWN.name].guideline == "Mine."
    assert OWN.name not in tasks_of("postgresql://nowhere/x")
    with pytest.raises(FathomError, match="no such folder"):
        tasks_of(str(tmp_path / "store"), tmp_path / "gone")


def test_what_came_before_a_failure_is_kept(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = 0

    class Client:
        window, policy = None, "refuse"

        async def complete(self, prompt: str, call: object) -> Reply:
            nonlocal asked
            asked += 1
            if asked == 3:
                raise KeyboardInterrupt
            return Reply("ok", json.dumps({"candidates": [candidate(question=f"Question {asked}?")]}))

        async def close(self) -> None:
            pass

    monkeypatch.setattr(asking_module, "open_client", lambda settings, tokenizer: Client())
    plan = DraftPlan("T5.2", bucket=store.documents()[0].bucket, samples=4)
    with pytest.raises(FathomError, match="interrupted"):
        draft_samples(store, TASKS, plan, [Asking("openai/a", AskSettings(max_connections=1))])
    assert [one.candidates[0].content.question[:9] for one in store.samples()] == ["Question "] * 2


@pytest.mark.slow
def test_the_commands_from_documents_to_an_import(place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("argon2", reason="pip install 'fathom-eval[studio]'")
    monkeypatch.setenv("FATHOM_CACHE", str(tmp_path / "cache"))
    (tmp_path / "a.txt").write_text(made_text(1, articles=20), encoding="utf-8")
    api.studio_init(place)
    added = api.studio_add_documents(tmp_path / "a.txt", place, tokenizer="words", tolerance=0.5, available=True)
    bucket = added.taken[0].document.bucket
    made = api.studio_draft(place, task="T5.2", models="fathom/lexical", bucket=bucket, samples=1)
    assert len(made.samples) == 1
    asked = api.studio_predict(place, models=["fathom/guess"], states="drafted")
    assert asked.done == len(made.drafted.candidates), "those of another drafter"
    with closing(Store(place)) as opened:
        for name, role in PEOPLE.items():
            opened.set_person(Person(name, role), AT_SERVER)
        accept(opened, made.samples[0])
    assert api.studio_predict(place, models=["fathom/guess"], states="accepted").done == 1
    out = api.studio_export(place, tmp_path / "out", tokenizer="words", lengths="1k")
    assert out.samples == 1
    api.studio_init(str(tmp_path / "second"))
    came = api.studio_import(tmp_path / "out", str(tmp_path / "second"), tokenizer="words")
    assert came.samples == made.samples
    assert not api.studio_audit(str(tmp_path / "second")).problems


def test_a_refused_plan_sends_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("argon2", reason="pip install 'fathom-eval[studio]'")
    monkeypatch.setenv("FATHOM_CACHE", str(tmp_path / "cache"))
    (tmp_path / "a.txt").write_text(made_text(1, articles=20), encoding="utf-8")
    place = str(tmp_path / "store")
    api.studio_init(place)
    added = api.studio_add_documents(tmp_path / "a.txt", place, tokenizer="words", tolerance=0.5, available=True)
    plans = []

    def refuse(plan: object) -> bool:
        plans.append(plan)
        return False

    bucket = added.taken[0].document.bucket
    found = api.studio_draft(place, task="T5.2", models="openai/gpt-4o", bucket=bucket, samples=2, confirm=refuse)
    assert (found.samples, len(plans)) == ((), 1)
    assert "2 requests to openai/gpt-4o" in str(plans[0])


@pytest.mark.slow
def test_difficulty_comes_from_runs_of_the_export(store: Store, tmp_path: Path) -> None:
    ids = drafted(store)
    for id in ids:
        accept(store, id)
    export_samples(store, TASKS, tmp_path / "out", ExportOptions(tokenizer="words", formats=("suite",)))
    models = ["fathom/guess", "fathom/lexical", "fathom/first"]
    for model in models:
        api.run(tmp_path / "out" / "suite", model, out=tmp_path / model.replace("/", "-"))
    rows = load([tmp_path / model.replace("/", "-") for model in models])
    tiers: dict[str, Tier] = {"fathom/guess": "high", "fathom/lexical": "high", "fathom/first": "middle"}
    found, failed = set_difficulties(store, rows, tiers)
    assert not found
    assert "1 models of the middle tier have results" in failed[ids[0]]
    two = load([tmp_path / model.replace("/", "-") for model in models])
    copies = [two.with_columns(pl.col("model") + f"/{number}") for number in range(2)]
    all_tiers: dict[str, Tier] = {
        f"{model}/{number}": tier for number in range(2) for model, tier in zip(models, TIERS, strict=True)
    }
    found, failed = set_difficulties(store, pl.concat(copies), all_tiers)
    assert not failed
    assert {one.label for one in found.values()} == {"Extreme"}
    assert all(store.sample(id).difficulty == "Extreme" for id in ids)

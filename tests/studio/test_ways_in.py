"""Every fault by every way in, over HTTP and by commands: nothing with it is handed on, accepted or exported."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from command_line import Call
from fathom.studio.auditing import audit
from fathom.studio.exports import Collection, document_lines, sample_lines
from fathom.studio.people import People
from fathom.studio.schema import sample_row, samples
from fathom.studio.states import DONE
from fathom.studio.store import AT_SERVER, Store
from fathom.studio.tasks import find_task, standard_prompts
from fathom.studio.types import Candidate, Component, Content, Create, Sample
from fathom.studio.web.app import make_app
from fathom.studio.web.visit import Settings
from made_studio import TASKS, made_document
from studio_browser import Browser
from studio_stores import DOCUMENT, IN_BOTH, PASSWORD, TEXT, quick_hasher, usual_place

place = pytest.fixture(usual_place)
OPTIONS = "A. Ida\nB. Bo"


def bad(code: str, question: str, *answer: str, **prompts: str) -> tuple[str, Content]:
    """A task, and a content with standard prompts but for those given."""
    task = find_task(TASKS, code)
    standard = zip(("prompt_thinking", "prompt_answering"), standard_prompts(task, "en", question), strict=True)
    content = Content(question, tuple(map(Component, answer)), "Why.", "How.", "partial", **dict(standard) | prompts)
    return task.name, content


BAD: dict[str, tuple[str, Content]] = {
    "others than the question": bad(
        "T5.2", "Which?", "[1]", prompt_thinking="Hello, what is 1+1?", prompt_answering="Hello, what is 1+1?"
    ),
    "one of them another": bad("T5.2", "Which?", "[1]", prompt_answering="Hello, what is 1+1? [Answer]"),
    "one more sentence": bad("T5.2", "Which?", "[1]", prompt_thinking="Which? It is [1]. Think, then write [Answer]."),
    "the answer without reasoning": bad(
        "T5.2",
        "Which?",
        "[1]",
        prompt_answering=standard_prompts(find_task(TASKS, "T5.2"), "en", "Which?")[1]
        + "\nThe right answer is [1], no need to explain.",
    ),
    "no options": bad("T3.2", "Who lit it?", "A"),
    "one option": bad("T3.2", "Who lit it?\nA. Ida", "A"),
    "none of the options": bad("T3.2", f"Who lit it?\n{OPTIONS}", "C"),
    "two letters for one": bad("T3.2", f"Who lit it?\n{OPTIONS}", "AB"),
    "two references": bad("T4.1", "Sum up.", "One.", "Two."),
    "four references": bad("T4.1", "Sum up.", *"1234"),
    "an empty reference": bad("T4.1", "Sum up.", "One.", "Two.", " "),
    "an invisible question": bad("T5.2", "\u200b\u2060", "[1]"),
    "an invisible answer": bad("T5.2", "Which?", "\u200b"),
}
GOOD = dict(
    [
        bad("T5.2", "Which one?", "[1]"),
        bad("T3.2", f"Who?\n{OPTIONS}", "A"),
        bad("T4.1", "Sum up all.", "One.", "Two.", "Three."),
    ]
)
Log = Callable[[str], Browser]


@pytest.fixture
def at(studio: Store) -> Log:
    studio.tasks = TASKS
    people = People(studio, hasher=quick_hasher())
    app = make_app(studio, people, Settings(tasks=TASKS))

    def log_in(name: str) -> Browser:
        people.set_password(name, PASSWORD)
        return Browser(app).log_in(name)

    return log_in


def form(content: Content) -> dict[str, str]:
    """A content as a form."""
    names = ("question", "rationale", "solution", "requirement", "prompt_thinking", "prompt_answering")
    return {name: getattr(content, name) for name in names} | {
        f"component-{number}": part.text for number, part in enumerate(content.components)
    }


def put(store: Store, sample: Sample) -> None:
    """A sample as an earlier version may have it."""
    with store.engine.begin() as connection:
        connection.execute(samples.delete().where(samples.c.id == sample.id))
        connection.execute(samples.insert(), sample_row(sample))


def refused(answer: Any) -> None:
    assert answer.status_code in (400, 409), answer.status_code
    assert 'class="wrong"' in answer.text


@pytest.mark.slow
@IN_BOTH
def test_no_writing_selecting_merging_or_editing_hands_a_fault_over(studio: Store, at: Log) -> None:
    ann = at("ann")
    for name, (task, content) in BAD.items():
        good = GOOD[task]
        for way in ("write", "select", "edit", "merge"):
            drafts = {"write": (), "select": (content,), "edit": (good,), "merge": (content, good)}[way]
            candidates = tuple(Candidate(f"c{number}", "m", draft) for number, draft in enumerate(drafts))
            id = f"{way}-{name.replace(' ', '-')}"
            studio.act(Create(id, task, "en", 8192, (DOCUMENT,), candidates), AT_SERVER)
            page = f"/samples/{id}"
            if way == "write":
                refused(ann.post(f"{page}/write", **form(content), version="1", then="submit"))
            else:
                assert ann.post(f"{page}/select", candidate="c0", version="1").status_code == 303
            if way == "edit":
                refused(ann.post(f"{page}/edit", **form(content), version="2", then="submit"))
            if way == "merge":
                ann.post(f"{page}/merge", candidate="c1", version="2")
            now = studio.sample(id)
            if not (way == "merge" and name in ("two references", "an invisible answer", "an empty reference")):
                refused(ann.post(f"{page}/submit", version=str(now.version)))
            assert studio.sample(id).state in ("selected", "expert_review" if way == "merge" else "selected"), (
                way,
                name,
            )
    assert audit(studio).problems == ()


@IN_BOTH
@pytest.mark.parametrize(
    ("state", "name", "action", "fields"),
    [
        ("revision", "ann", "submit", {}),
        ("expert_review", "eve", "pass", {}),
        ("standardised", "ann", "standardise", {}),
        ("answer_review", "bo", "review", {"mark": "right"}),
        ("adjudication", "eve", "adjudicate", {"decision": "accept", "reason": "It is."}),
        ("accepted", "eve", "audit", {"verdict": "pass"}),
    ],
)
def test_no_step_leads_a_fault_on(
    studio: Store, at: Log, state: Any, name: str, action: str, fields: dict[str, str]
) -> None:
    somebody = at(name)
    for task, content in BAD.values():
        sample = Sample("s-1", task, "en", 8192, (DOCUMENT,), state, 3, content, "zoe")
        put(studio, sample)
        marks = {f"mark-{number}": "right" for number in range(len(content.components))} if "mark" in fields else fields
        prompts = {"prompt_thinking": content.prompt_thinking, "prompt_answering": content.prompt_answering}
        refused(somebody.post(f"/samples/s-1/{action}", version="3", **marks, **prompts))
        assert studio.sample("s-1") == sample


@pytest.mark.parametrize("place", ["sqlite"], indirect=True)
def test_commands_import_a_fault_by_name_and_export_none(
    studio: Store, at: Log, place: str, call: Call, tmp_path: Path
) -> None:
    ann = at("ann")
    document = made_document(TEXT)
    made = [
        Sample(f"s-{number}", task, "en", 8192, (document.id,), "accepted", 3, content)
        for number, (task, content) in enumerate(BAD.values())
    ]
    collection = Collection(made, {document.id: document}, {document.id: TEXT}, TASKS)
    (tmp_path / "in").mkdir()
    for file, lines in (("samples.jsonl", sample_lines(collection)), ("documents.jsonl", document_lines(collection))):
        (tmp_path / "in" / file).write_text("".join(f"{json.dumps(line)}\n" for line in lines), "utf-8")
    code, out, err = call("studio", "import", str(tmp_path / "in"), "--store", place)
    assert code == 0, err
    for sample in made:
        assert f"sample {sample.id} has a fault, to be mended" in out + err
        assert studio.sample(sample.id).state == "drafted"
        assert ann.post(f"/samples/{sample.id}/select", candidate="imported", version="1").status_code == 303
        refused(ann.post(f"/samples/{sample.id}/submit", version="2"))
        put(studio, sample)
    code, out, err = call("studio", "export", "--store", place, "--out", str(tmp_path / "out"))
    assert code == 2
    assert "no accepted sample is without fault" in err
    assert not (tmp_path / "out").exists()
    good = next(iter(GOOD.items()))
    put(studio, Sample("s-good", good[0], "en", 8192, (document.id,), "accepted", 3, good[1]))
    code, out, err = call("studio", "export", "--store", place, "--out", str(tmp_path / "out"))
    assert code == 0, err
    exported = (tmp_path / "out" / "samples.jsonl").read_text("utf-8").splitlines()
    assert [json.loads(line)["id"] for line in exported] == ["s-good"]
    code, out, err = call("studio", "import", str(tmp_path / "in"), "--store", place)
    assert all(studio.sample(sample.id) == sample for sample in made), "what is there is left as it is"
    assert {sample.state for sample in studio.samples()} <= DONE

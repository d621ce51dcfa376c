"""Transcripts of agents as texts, and the user's questions about them."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from engine_calls import configure, run
from fathom.analysis import Survival, survival, survivors
from fathom.api import data_transcripts
from fathom.report.sections.survival import systems_tables
from fathom.rows import rows_from_run
from fathom.suites.build import build
from fathom.suites.registry import get_task
from fathom.suites.suitefile import open_suite
from fathom.types import FathomError

CLAUDE_CODE: list[dict[str, object]] = [
    {"type": "summary", "summary": "A title", "leafUuid": "x"},
    {"type": "user", "message": {"role": "user", "content": "The port is 8123. My key is sk-abcdefghij0123456789."}},
    {
        "type": "assistant",
        "message": {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "never shown"},
                {"type": "text", "text": "I look."},
                {"type": "tool_use", "name": "Bash", "input": {"command": "rm -rf $HOME; <script>alert(1)</script>"}},
            ],
        },
    },
    {"type": "user", "message": {"role": "user", "content": [{"type": "tool_result", "content": "/etc/me/.ssh"}]}},
    {"type": "user", "isSidechain": True, "message": {"role": "user", "content": "another agent"}},
    {"type": "user", "isMeta": True, "message": {"role": "user", "content": "a note of the program"}},
    {"type": "system", "subtype": "compact_boundary", "content": "Conversation compacted"},
    {"type": "user", "isCompactSummary": True, "message": {"role": "user", "content": "Summary: the port is 8123."}},
    {"type": "assistant", "message": {"role": "assistant", "content": [{"type": "text", "text": "Going on."}]}},
]
OPENAI = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": [{"type": "text", "text": "The site is led by Petra Brand."}, {"type": "image_url"}]},
    {"role": "assistant", "tool_calls": [{"function": {"name": "find", "arguments": '{"q": 1}'}}], "content": None},
    {"role": "tool", "content": "nothing found"},
]


def lines(path: Path, entries: list[dict[str, object]]) -> Path:
    path.write_text("".join(f"{json.dumps(entry)}\n" for entry in entries), encoding="utf-8")
    return path


def test_a_session_of_claude_code_is_a_text_of_its_messages(tmp_path: Path) -> None:
    session = lines(tmp_path / "session.jsonl", CLAUDE_CODE)
    (record,) = data_transcripts([session], out=tmp_path / "whole")
    assert (record["text"], record["messages"], record["compactions"]) == ("session.txt", 5, 1)
    text = (tmp_path / "whole" / "session.txt").read_text("utf-8")
    assert text.startswith("[Message 1]\nUser: The port is 8123.")
    assert "rm -rf $HOME; <script>alert(1)</script>" in text
    for hidden in ("never shown", "another agent", "a note of the program", "A title", "sk-abcdefghij"):
        assert hidden not in text


def test_only_what_the_model_saw_at_the_end_can_be_asked_about(tmp_path: Path) -> None:
    session = lines(tmp_path / "session.jsonl", CLAUDE_CODE)
    data_transcripts([session], out=tmp_path / "last", last=True)
    text = (tmp_path / "last" / "session.txt").read_text("utf-8")
    assert text == "[Message 1]\nUser: Summary: the port is 8123.\n\n[Message 2]\nAssistant: Going on."


@pytest.mark.parametrize("form", ["list", "object", "lines", "conversations"])
def test_openai_messages_are_read_in_every_form(tmp_path: Path, form: str) -> None:
    path = tmp_path / ("chat.jsonl" if form in ("lines", "conversations") else "chat.json")
    if form == "lines":
        lines(path, OPENAI)  # type: ignore[arg-type]
    elif form == "conversations":
        lines(path, [{"messages": OPENAI}, {"messages": OPENAI}])
    else:
        path.write_text(json.dumps(OPENAI if form == "list" else {"messages": OPENAI}), encoding="utf-8")
    records = data_transcripts([path], out=tmp_path / "texts")
    names = ["chat-1.txt", "chat-2.txt"] if form == "conversations" else ["chat.txt"]
    assert [record["text"] for record in records] == names
    text = (tmp_path / "texts" / names[0]).read_text("utf-8")
    assert "User: The site is led by Petra Brand.\n[image]" in text
    assert 'Assistant: [calls find] {"q": 1}' in text
    assert text.endswith("Tool: nothing found")


@pytest.mark.parametrize(
    ("content", "message"),
    [("{", "cannot be read"), ("{}\n", "no messages"), ('{"role": "user"}\n[', "line 2"), ("[" * 100_000, "cannot be")],
)
def test_what_is_no_transcript_is_refused_with_what_is_expected(tmp_path: Path, content: str, message: str) -> None:
    path = tmp_path / "broken.jsonl"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(FathomError, match=message):
        data_transcripts([path], out=tmp_path / "texts")
    assert not (tmp_path / "texts").exists()


def test_texts_are_not_written_into_a_folder_with_files_nor_over_each_other(tmp_path: Path) -> None:
    session = lines(tmp_path / "session.jsonl", CLAUDE_CODE)
    with pytest.raises(FathomError, match="exists already"):
        data_transcripts([session], out=tmp_path)
    (tmp_path / "other").mkdir()
    with pytest.raises(FathomError, match="rename one"):
        data_transcripts([session, lines(tmp_path / "other" / "session.jsonl", CLAUDE_CODE)], out=tmp_path / "texts")


def test_tool_calls_and_results_are_read_in_every_form_and_broken_parts_do_no_harm(tmp_path: Path) -> None:
    entries: list[dict[str, object]] = [
        {"role": "user", "content": [{"type": 5}, {"type": "text", "text": "half \ud83d"}]},
        {"type": "function_call", "name": "find", "arguments": '{"q": "' + "x" * 3000 + '"}'},
        {"type": "function_call_output", "output": "found it"},
        {"role": "user", "content": [{"type": "tool_result", "content": "the port is 8123"}]},
    ]
    data_transcripts([lines(tmp_path / "chat.jsonl", entries)], out=tmp_path / "texts")
    text = (tmp_path / "texts" / "chat.txt").read_text("utf-8")
    assert "User: half ?" in text
    assert "Assistant: [calls find]" in text
    assert "[cut after 2000 characters]" in text
    assert "Tool: [result] found it" in text
    assert text.endswith("Tool: [result] the port is 8123")


@pytest.mark.slow
@pytest.mark.parametrize("suffix", [".eval", ".json"])
def test_messages_of_inspect_logs_are_read(tmp_path: Path, suffix: str) -> None:
    pytest.importorskip("inspect_ai")
    from inspect_ai.log import EvalConfig, EvalDataset, EvalLog, EvalSample, EvalSpec, write_eval_log
    from inspect_ai.model import ChatMessage, ChatMessageAssistant, ChatMessageUser, ModelUsage

    messages: list[ChatMessage] = [
        ChatMessageUser(content="The port is 8123. " * 100),
        ChatMessageAssistant(content="Noted."),
    ]
    sample = EvalSample(id="a/b", epoch=1, input="x", target="y", messages=messages)
    usage = ModelUsage(input_tokens=100, output_tokens=50, input_tokens_cache_read=1000)
    sample.model_usage = {"no/such": usage}
    spec = EvalSpec(
        created="2025-07-01T00:00:00+00:00", task="t", model="m", dataset=EvalDataset(), config=EvalConfig()
    )
    log = tmp_path / f"log{suffix}"
    write_eval_log(EvalLog(status="success", eval=spec, samples=[sample]), str(log))
    (record,) = data_transcripts([log], out=tmp_path / "texts")
    assert (record["text"], record["messages"], record["compactions"]) == ("log-a-b-1.txt", 2, 0)
    assert (record["session_tokens"], record["session_dollars"]) == (1150, None)
    text = (tmp_path / "texts" / "log-a-b-1.txt").read_text("utf-8")
    assert text.count("The port is 8123.") == 100
    assert text.endswith("Assistant: Noted.")


def test_frozen_contexts_are_asked_and_their_facts_survive_or_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FATHOM_CACHE", str(tmp_path / "cache"))
    filler = [{"role": "user", "content": f"Line {n} says nothing about it. " * 12} for n in range(30)]
    path = tmp_path / "chat.json"
    path.write_text(json.dumps([OPENAI[1], *filler]), encoding="utf-8")
    data_transcripts([path], out=tmp_path / "texts")
    table = tmp_path / "questions.csv"
    with table.open("w", encoding="utf-8", newline="") as stream:
        csv.writer(stream).writerows(
            [
                ("document", "question", "answer", "evidence", "kind"),
                ("chat.txt", "Who leads the site?", "Petra Brand", "The site is led by Petra Brand.", "name"),
                ("chat.txt", "What was never said?", "Nothing", "", ""),
            ]
        )
    wanted = configure(
        "memory_transcript",
        corpus=[str(tmp_path / "texts")],
        questions=[str(table)],
        lengths=(8192,),
        tokenizer="words",
    )
    suite = build(wanted, tmp_path / "suite").folder
    first, second = sorted(open_suite(suite).samples(), key=lambda sample: sample.item)
    assert (first.facets["kind"], first.facets["quoted"], second.facets["quoted"]) == ("name", True, False)
    assert 1500 < int(first.facets["age"]) < first.tokens < 8192
    values = {}
    for keep in ("recent", "recall"):
        out = tmp_path / keep
        run(suite, "fathom/lexical", out=out, system=f"memory?keep={keep}&context=1024&notes=256")
        rows = rows_from_run(out)
        values[keep] = dict(rows.select("sample", "value").iter_rows())[first.id]
        (system,) = survivors(rows)
        assert system.questions == 2
        assert {point.by for point in survival(rows)} == {"all", "age", "kind", "compactions"}
    assert values == {"recent": 0.0, "recall": 1.0}


def test_a_suites_own_questions_can_be_asked_about_transcripts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FATHOM_CACHE", str(tmp_path / "cache"))
    wanted = configure("memory", lengths=(4096,), items=1, languages=("en",), tokenizer="words")
    suite = build(wanted, tmp_path / "suite").folder
    samples = list(open_suite(suite).samples())
    path = tmp_path / "memory_facts-en-0000.json"
    kept = str(samples[0].inputs["fact"])
    path.write_text(json.dumps([{"role": "user", "content": f"Summary: {kept}"}]), encoding="utf-8")
    data_transcripts([path], out=tmp_path / "texts", suite=suite)
    with (tmp_path / "texts" / "questions.csv").open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert len(rows) == 6
    assert sorted(row["evidence"] for row in rows) == [""] * 5 + [kept]
    asked = configure(
        "memory_transcript",
        corpus=[str(tmp_path / "texts" / "memory_facts-en-0000.txt")],
        questions=[str(tmp_path / "texts" / "questions.csv")],
        lengths=(4096,),
        tokenizer="words",
    )
    made = list(open_suite(build(asked, tmp_path / "asked").folder).samples())
    assert len(made) == 6
    for sample in made:  # the near misses of the suite count here too
        wrong = json.loads(str(sample.inputs["others"]))
        assert sample.chance == pytest.approx(0.25, abs=0.1)
        reply = f"{sample.targets[0]}, or {', '.join(wrong)}"
        assert get_task("memory_transcript").score(reply, sample).value == 0
        assert get_task("memory_transcript").score(sample.targets[0], sample).value == 1


def test_the_usage_of_a_session_counts_each_request_once_and_is_absent_where_it_is_not_recorded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    prices = tmp_path / "prices.toml"
    prices.write_text('["anthropic/own"]\ninput = 10.0\noutput = 20.0\ncached = 1.0\nwrite = 12.5\n', encoding="utf-8")
    monkeypatch.setenv("FATHOM_PRICES", str(prices))
    usage = {"input_tokens": 100, "cache_read_input_tokens": 1000, "cache_creation_input_tokens": 200}

    def line(number: int, out: object) -> dict[str, object]:
        own = {**usage, "output_tokens": out}
        return {
            "type": "assistant",
            "message": {"role": "assistant", "id": f"m{number}", "model": "own", "content": "Hi", "usage": own},
        }

    lines = [
        {"type": "user", "message": {"role": "user", "content": "Hello"}},
        line(1, 1),
        line(1, 50),
        line(2, "many"),
    ]
    session, silent = tmp_path / "session.jsonl", tmp_path / "silent.json"
    session.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    silent.write_text(json.dumps(OPENAI), encoding="utf-8")
    first, second = data_transcripts([session, silent], out=tmp_path / "texts")
    assert first["session_tokens"] == 2 * 1300 + 50
    assert first["session_dollars"] == pytest.approx((2 * (100 * 10 + 1000 * 1 + 200 * 12.5) + 50 * 20) / 1e6)
    assert (second["session_tokens"], second["session_dollars"]) == (None, None)
    counted = {"messages": OPENAI, "model": "no-such", "usage": {"prompt_tokens": 70, "completion_tokens": 5}}
    silent.write_text(json.dumps(counted), encoding="utf-8")
    (record,) = data_transcripts([silent], out=tmp_path / "more")
    assert (record["session_tokens"], record["session_dollars"]) == (75, None)


def test_each_model_of_a_session_has_its_own_price_and_errors_and_totals_count_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    prices = tmp_path / "prices.toml"
    prices.write_text("[dear]\ninput = 10.0\noutput = 10.0\n[cheap]\ninput = 1.0\noutput = 1.0\n", encoding="utf-8")
    monkeypatch.setenv("FATHOM_PRICES", str(prices))

    def reply(model: str, tokens_in: int, tokens_out: int) -> dict[str, object]:
        usage = {"input_tokens": tokens_in, "output_tokens": tokens_out}
        return {"role": "assistant", "content": "Hi", "model": model, "usage": usage}

    messages = [reply("dear", 900, 100), reply("cheap", 4000, 0), reply("<synthetic>", 0, 0)]
    chat = tmp_path / "chat.json"
    for conversation in (messages, {"messages": messages, "model": "cheap", "usage": {"input_tokens": 5000}}):
        chat.write_text(json.dumps(conversation), encoding="utf-8")
        (record,) = data_transcripts([chat], out=tmp_path / f"texts-{type(conversation).__name__}")
        assert record["session_tokens"] == 5000
        assert record["session_dollars"] == pytest.approx((1000 * 10 + 4000 * 1) / 1e6)
    chat.write_text(json.dumps([*messages, reply("unknown", 1, 1)]), encoding="utf-8")
    (record,) = data_transcripts([chat], out=tmp_path / "unknown")
    assert (record["session_tokens"], record["session_dollars"]) == (5002, None)


def test_what_sessions_took_stands_beside_what_survives_of_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FATHOM_CACHE", str(tmp_path / "cache"))
    for name in ("a", "b"):
        (tmp_path / "texts").mkdir(exist_ok=True)
        (tmp_path / "texts" / f"{name}.txt").write_text(
            f"The site of {name} is led by Petra Brand. " * 9, encoding="utf-8"
        )
    table = tmp_path / "questions.csv"

    def asked(*spent: tuple[str, str]) -> Survival:
        rows = [
            (f"{name}.txt", f"Who leads {name}?", "Petra Brand", *own) for name, own in zip("ab", spent, strict=True)
        ]
        with table.open("w", encoding="utf-8", newline="") as stream:
            csv.writer(stream).writerows(
                [("document", "question", "answer", "session_tokens", "session_dollars"), *rows]
            )
        wanted = configure(
            "memory_transcript",
            corpus=[str(tmp_path / "texts")],
            questions=[str(table)],
            lengths=(1024,),
            tokenizer="words",
        )
        folder = tmp_path / f"suite-{len(list(tmp_path.iterdir()))}"
        out = tmp_path / f"run-{folder.name}"
        run(build(wanted, folder).folder, "fathom/lexical", out=out)
        (system,) = survivors(rows_from_run(out))
        return system

    system = asked(("3000", "0.5"), ("1000", ""))
    assert (system.session_tokens, system.session_cost) == (2000, None)
    assert "Session tokens" in str(systems_tables([system])[0].columns)
    assert "Session tokens" not in str(systems_tables([asked(("", ""), ("", ""))])[0].columns)
    for amount in ("much", "-1", "inf"):
        with pytest.raises(FathomError, match="expected a number from 0"):
            asked((amount, ""), ("", ""))

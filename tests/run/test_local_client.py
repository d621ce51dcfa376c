"""Runs and judges with Hugging Face models in this process. Run by ``make test-models``."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from pathlib import Path
from random import Random
from threading import Event
from typing import Any

import pytest
from run_suites import make_suite
from tiny_models import ANSWER, SENTENCE, WINDOW, make_answering, make_hugging_face

from command_line import Call as CommandLine
from engine_calls import judge, run
from fathom.models.clients import connections_of
from fathom.models.local_client import PATIENCE, LocalClient, _Job, open_local_client
from fathom.models.protocol import Call, RequestError, Settings
from fathom.rows import load
from fathom.run import check_judge, read_manifest, replies
from fathom.types import FathomError, Json, Reply
from test_docs import DOCS, blocks_of, command_lines

pytest.importorskip("torch", reason="torch is not installed; make test-models runs this")
pytest.importorskip("transformers", reason="transformers is not installed; make test-models runs this")

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")

PROMPTS = (f"{SENTENCE}. Before day", f"{SENTENCE}. Before day the river left", "Something else", "a stone 中文")
GUIDE = DOCS / "how-to" / "hugging-face.md"
CALL = Call("sample", 1, 0, 24)


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_hugging_face(tmp_path_factory.mktemp("model") / "base")


@pytest.fixture(scope="module")
def chat(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_answering(tmp_path_factory.mktemp("model") / "chat", "It leaves at nine.")


def client(folder: Path, *, generation: dict[str, Json] | None = None, **options: Any) -> LocalClient:
    arguments: dict[str, Json] = {
        name: options.pop(name) for name in ("batch_size", "enable_thinking", "reuse", "dtype") if name in options
    }
    settings = Settings(f"hf/{folder}", model_args=arguments, generation=generation or {}, **options)
    return open_local_client(settings)


def ask(client: LocalClient, *prompts: str, call: Call = CALL) -> list[Reply]:
    async def all_of_them() -> list[Reply]:
        return await asyncio.gather(*(client.complete(prompt, call) for prompt in prompts))

    return asyncio.run(all_of_them())


def greedily(client: LocalClient, prompt: str, tokens: int) -> str:
    """The most likely continuation, computed without any cache."""
    import torch

    tokenizer, model = client._loaded.tokenizer, client._loaded.model
    ids = tokenizer(prompt, return_tensors="pt")["input_ids"]
    start = ids.shape[1]
    with torch.inference_mode():
        for _ in range(tokens):
            ids = torch.cat([ids, model(ids, use_cache=False).logits[:, -1:].argmax(-1)], dim=1)
    return str(tokenizer.decode(ids[0, start:], skip_special_tokens=True)).strip()


def test_temperature_0_is_greedy(base: Path) -> None:
    model = client(base, chat_template="never")
    for prompt in PROMPTS:
        (reply,) = ask(model, prompt)
        assert reply.text == greedily(model, prompt, CALL.max_output_tokens)
        assert (reply.tokens_in, reply.tokens_out) == (len(model._loaded.tokenizer(prompt)["input_ids"]), 24)
        assert (reply.status, reply.stop) == ("incomplete", "max_tokens")


def test_a_prompt_that_begins_as_the_last_one_computes_only_the_rest(base: Path) -> None:
    model = client(base, chat_template="never", reuse="prefix")
    first, second, third = (ask(model, prompt)[0] for prompt in PROMPTS[:3])
    assert (first.tokens_cached, third.tokens_cached) == (0, 0)
    assert second.tokens_cached
    assert second.tokens_in
    assert second.tokens_in / 2 < second.tokens_cached < second.tokens_in
    assert second.text == greedily(model, PROMPTS[1], 24)
    assert ask(model, PROMPTS[2])[0].text == third.text


QUESTIONS = ("river", "stone left", "winter and a keeper", "day")


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_equal_requests_get_equal_replies_whatever_came_before(base: Path, dtype: str) -> None:
    """Questions on two contexts and prompts without one, 100 requests in a drawn order."""
    model = client(base, chat_template="never", dtype=dtype)
    requests = [
        *((f"{context} {question}", replace(CALL, ending=len(question) + 1))
        for context in (f"{SENTENCE}. Before day the keeper", f"Before day {SENTENCE}")
        for question in QUESTIONS),
        *((prompt, CALL) for prompt in PROMPTS[:2]),
    ]  # fmt: skip
    order = [place for place in range(len(requests)) for _ in range(10)]
    Random(1).shuffle(order)
    replies_by_place: dict[int, set[str]] = {}
    cached = 0
    for place in order:
        prompt, call = requests[place]
        (reply,) = ask(model, prompt, call=call)
        replies_by_place.setdefault(place, set()).add(reply.text)
        cached += bool(reply.tokens_cached)
    assert [len(texts) for texts in replies_by_place.values()] == [1] * len(requests)
    assert cached > 10
    alone = client(base, chat_template="never", dtype=dtype)
    assert replies_by_place[0] == {ask(alone, requests[0][0], call=requests[0][1])[0].text}


def test_questions_on_one_context_compute_the_context_once(base: Path) -> None:
    model = client(base, chat_template="never")
    found = [
        ask(model, f"{SENTENCE}. {question}", call=replace(CALL, ending=len(question) + 1))[0] for question in QUESTIONS
    ]
    assert found[0].tokens_cached == 0
    assert len({reply.tokens_cached for reply in found[1:]}) == 1
    assert all(
        reply.tokens_cached and reply.tokens_in and reply.tokens_cached > reply.tokens_in / 2 for reply in found[1:]
    )
    for question, reply in zip(QUESTIONS, found, strict=True):
        assert reply.text == ask(client(base, chat_template="never"), f"{SENTENCE}. {question}")[0].text


def test_a_window_that_slides_shares_nothing(tmp_path: Path) -> None:
    model = client(make_hugging_face(tmp_path / "sliding", window=16), chat_template="never")
    for prompt in PROMPTS[:2]:
        (reply,) = ask(model, prompt)
        assert (reply.tokens_cached, reply.text) == (0, greedily(model, prompt, 24))


def test_batches_change_nothing(base: Path) -> None:
    alone, together = client(base, chat_template="never"), client(base, chat_template="never", batch_size=3)
    sizes: list[int] = []
    generate = together._generate
    together._generate = lambda jobs, ended: (sizes.append(len(jobs)), generate(jobs, ended))[1]  # type: ignore[method-assign,func-returns-value]
    found = ask(together, *PROMPTS)
    assert sizes == [3, 1]
    for prompt, reply in zip(PROMPTS, found, strict=True):
        (expected,) = ask(alone, prompt)
        assert (reply.text, reply.tokens_in, reply.tokens_out) == (
            expected.text,
            expected.tokens_in,
            expected.tokens_out,
        )


def test_replies_of_batches_are_those_of_single_requests_in_any_order(base: Path) -> None:
    """100 requests in batches whose neighbours are drawn, in float32: padding and neighbours change no reply."""
    alone, together = client(base, chat_template="never"), client(base, chat_template="never", batch_size=4)
    prompts = [f"{prompt} {question}" for prompt in PROMPTS for question in QUESTIONS]
    expected = {prompt: ask(alone, prompt)[0].text for prompt in prompts}
    drawn = [prompt for prompt in prompts for _ in range(100 // len(prompts) + 1)][:100]
    Random(2).shuffle(drawn)
    replies = ask(together, *drawn)
    assert len(replies) == 100
    assert [reply.text for reply in replies] == [expected[prompt] for prompt in drawn]


def test_a_batch_has_prompts_of_like_lengths_and_none_is_passed_over_for_long(base: Path) -> None:
    model = client(base, chat_template="never", batch_size=4)
    prompts = [(" ".join(PROMPTS) * 4)[: 30 * 2**size] for _ in range(20) for size in range(5)]  # as a suite asks them
    batches: list[list[int]] = []
    generate = model._generate
    waited: list[int] = []

    def see(jobs: list[_Job], ended: Event) -> None:
        batches.append([len(job.ids) for job in jobs])
        waited.extend(job.passed for job in jobs)
        generate(jobs, ended)

    model._generate = see  # type: ignore[method-assign]

    async def all_of_them() -> None:
        flight = asyncio.Semaphore(connections_of(model, 16))

        async def one(prompt: str) -> None:
            async with flight:
                await model.complete(prompt, replace(CALL, max_output_tokens=1))

        await asyncio.gather(*map(one, prompts))

    asyncio.run(all_of_them())
    real = sum(map(sum, batches))
    computed = sum(max(sizes) * len(sizes) for sizes in batches)
    in_order = [size for prompt in prompts for size in [model._loaded.tokenizer(prompt)["input_ids"]]]
    before = sum(max(map(len, in_order[at : at + 4])) * 4 for at in range(0, 100, 4))
    assert sum(map(len, batches)) == 100
    assert computed < 1.2 * real < 0.7 * before
    assert max(waited) <= PATIENCE


def test_each_prompt_of_a_batch_has_its_own_cap_and_stop_text(base: Path) -> None:
    model = client(base, chat_template="never", batch_size=3)
    whole = greedily(model, PROMPTS[1], 24)
    stop = whole[len(whole) // 2 :][:3]
    calls = (replace(CALL, max_output_tokens=5), replace(CALL, stop=(stop,)), CALL)

    async def all_of_them() -> list[Reply]:
        return await asyncio.gather(*(model.complete(*one) for one in zip(PROMPTS, calls, strict=False)))

    short, stopped, long = asyncio.run(all_of_them())
    assert (short.tokens_out, short.stop) == (5, "max_tokens")
    assert stopped.stop == "stop"
    assert stop in stopped.text
    assert len(stopped.text) < len(whole)
    assert (long.tokens_out, long.stop) == (24, "max_tokens")


def test_seeds_decide_what_is_drawn(base: Path) -> None:
    model = client(base, chat_template="never", temperature=1.5)
    first, again = (ask(model, PROMPTS[0])[0].text for _ in range(2))
    other = ask(model, PROMPTS[0], call=replace(CALL, epoch=2))[0].text
    assert first == again != other


def test_the_chat_template_is_used_once(chat: Path) -> None:
    model = client(chat)
    (reply,) = ask(model, "When does it leave?")
    assert (reply.status, reply.stop, reply.text, reply.tokens_out) == ("ok", "stop", "It leaves at nine.", 2)
    # The template begins with BOS; the tokenizer must not add another.
    expected = f"<s>user: When does it leave?\n{ANSWER}"
    assert reply.tokens_in == len(model._loaded.tokenizer(expected, add_special_tokens=False)["input_ids"])
    (continued,) = ask(model, f"At nine{ANSWER}", call=replace(CALL, continued=True))
    assert continued.text == "It leaves at nine."


def test_reasoning_is_switched_in_the_template(chat: Path) -> None:
    plain = ask(client(chat), "Why?")[0].tokens_in
    ways: tuple[dict[str, Any], ...] = (
        {"enable_thinking": False},
        {"generation": {"extra_body": {"chat_template_kwargs": {"enable_thinking": False}}}},
    )
    for way in ways:
        switched = ask(client(chat, **way), "Why?")[0].tokens_in
        assert plain
        assert switched
        assert switched > plain


def test_reasoning_that_the_template_begins_is_reasoning(tmp_path: Path) -> None:
    folder = make_answering(tmp_path / "r", "The ferry leaves at nine.\n</think>\n\nnine")
    template = "{{ messages[0]['content'] }}<think>\n" + ANSWER

    def reply(text: str, cap: int) -> Reply:
        settings = Settings(f"hf/{folder}", model_args={"chat_template": text})
        return ask(open_local_client(settings), "When?", call=replace(CALL, max_output_tokens=cap))[0]

    found = reply(template, 24)
    assert (found.reasoning, found.text) == ("The ferry leaves at nine.", "nine")
    # Where the cap ends it, nothing says that it was reasoning but the template.
    cut = reply("{{ messages[0]['content'] }}" + ANSWER + "<think>", 24)
    assert (cut.text, cut.reasoning) == ("", "")
    assert cut.status != "error"


def test_a_base_model_says_what_to_do(base: Path, tmp_path: Path) -> None:
    with pytest.raises(FathomError, match=r"no chat template.*`chat_template` never.*chat_template=FILE"):
        client(base)
    file = tmp_path / "template.jinja"
    file.write_text("{{ messages[0]['content'] }}")
    settings = Settings(f"hf/{base}", model_args={"chat_template": str(file)})
    assert ask(open_local_client(settings), PROMPTS[0])[0].text


def test_a_prompt_beyond_the_window_is_an_overflow(base: Path) -> None:
    model = client(base, chat_template="never")
    with pytest.raises(RequestError, match=rf"exceed the {WINDOW:,} of its window") as caught:
        ask(model, "the " * WINDOW)
    assert caught.value.failure.kind == "overflow"
    # The user may know better.
    longer = client(base, chat_template="never", window=4 * WINDOW)
    assert ask(longer, "the " * WINDOW, call=replace(CALL, max_output_tokens=1))[0].text is not None


def test_out_of_memory_says_what_to_do(base: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import torch

    model = client(base, chat_template="never")

    def full(*given: object, **more: object) -> None:
        raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 64 GiB")

    monkeypatch.setattr(model._loaded.model, "generate", full)
    with pytest.raises(RequestError, match=r"out of memory for a prompt of \d+ tokens.*batch_size=1.*dtype=bfloat16"):
        ask(model, PROMPTS[0])


def test_a_request_that_is_given_up_ends_at_the_next_token(base: Path) -> None:
    model = client(base, chat_template="never")
    tokens: list[int] = []
    decode = model._loaded.model.forward

    def slow(*given: Any, **more: Any) -> Any:
        import time

        tokens.append(1)
        time.sleep(0.05)
        return decode(*given, **more)

    model._loaded.model.forward = slow

    async def give_up() -> str:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.3):
                await model.complete(PROMPTS[0], replace(CALL, max_output_tokens=2000))
        asked = len(tokens)
        assert asked < 200
        reply = await model.complete(PROMPTS[0], replace(CALL, max_output_tokens=3))
        assert len(tokens) <= asked + 5
        return reply.text

    text = asyncio.run(give_up())
    model._loaded.model.forward = decode
    assert text == greedily(model, PROMPTS[0], 3)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"model_args": {"batch_size": 0}}, "batch_size=0: expected a positive whole number"),
        ({"model_args": {"prefill_chunk_size": "4k"}}, "prefill_chunk_size=4k: expected a positive whole number"),
        ({"model_args": {"dtype": "half"}}, "dtype=half: expected one of auto, bfloat16"),
        ({"model_args": {"auto_model_class": "os"}}, "auto_model_class=os: expected a class such as"),
        ({"model_args": {"chat_template": "no.jinja"}}, "chat_template=no.jinja: cannot be read"),
        ({"generation": {"num_choices": 2}}, "'num_choices' is not supported for models in this process; they support"),
        ({"base_url": "http://127.0.0.1:9/v1"}, "leave out `model_base_url`"),
    ],
)
def test_bad_options_are_named(chat: Path, options: dict[str, Any], message: str) -> None:
    with pytest.raises(FathomError, match=message):
        open_local_client(Settings(f"hf/{chat}", **options))


def test_what_is_no_model_says_what_is_missing(chat: Path, tmp_path: Path) -> None:
    import shutil

    def message(path: object, **arguments: Json) -> str:
        with pytest.raises(FathomError) as caught:
            open_local_client(Settings(f"hf/{path}", model_args=arguments))
        return str(caught.value)

    assert "no folder" in message(tmp_path / "nowhere")
    assert "config.json is missing" in message(tmp_path)
    (tmp_path / "x.gguf").write_text("GGUF")
    assert "a GGUF file is served by llama.cpp" in message(tmp_path / "x.gguf")
    bare = Path(shutil.copytree(chat, tmp_path / "bare"))
    for file in bare.glob("*token*"):
        file.unlink()
    assert "has no tokenizer; give the folder or the name of one with -M tokenizer=PATH" in message(bare)
    settings = Settings(f"hf/{bare}", model_args={"tokenizer": str(chat)})
    assert ask(open_local_client(settings), "When?")[0].text == "It leaves at nine."
    (bare / "model.safetensors").write_text("not weights")
    assert "loading failed" in message(bare, tokenizer=str(chat))
    (bare / "model.safetensors").unlink()
    assert "loading failed" in message(bare, tokenizer=str(chat))
    (bare / "config.json").write_text("{")
    assert "loading failed" in message(bare, tokenizer=str(chat))


def test_a_folder_that_is_mistyped_is_said_beside_what_the_hub_says(monkeypatch: pytest.MonkeyPatch) -> None:
    from transformers import AutoTokenizer

    def fail(*place: object, **options: object) -> None:
        raise OSError("no connection to the hub")

    monkeypatch.setattr(AutoTokenizer, "from_pretrained", fail)
    with pytest.raises(FathomError, match=r"no folder checkpoints/nwe, and .* from the hub: no connection to the hub"):
        open_local_client(Settings("hf/checkpoints/nwe"))


def test_a_whole_run(chat: Path, tmp_path: Path) -> None:
    suite = make_suite(tmp_path, 6)
    run(suite, f"hf/{chat}", out=tmp_path / "run", max_connections=4, model_args={"batch_size": 4})
    stored = list(replies(tmp_path / "run"))
    assert {(row.reply.status, row.reply.text, row.cost) for row in stored} == {("ok", "It leaves at nine.", 0.0)}
    assert {"torch", "transformers"} <= set(read_manifest(tmp_path / "run")["versions"])
    assert load([tmp_path / "run"])["value"].to_list() == [0.0] * 6


def test_a_run_is_resumed_with_smaller_batches_but_not_with_other_numbers(
    chat: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from fathom.models.local_client import LocalClient

    suite, generate = make_suite(tmp_path, 3), LocalClient._generate

    def full(self: LocalClient, jobs: Any, ended: Any) -> None:
        if len(jobs) > 1:
            raise RuntimeError("CUDA out of memory")
        generate(self, jobs, ended)

    monkeypatch.setattr(LocalClient, "_generate", full)
    with pytest.raises(FathomError, match=r"all 3 samples failed.*batch_size=1"):
        run(suite, f"hf/{chat}", out=tmp_path / "run", model_args={"batch_size": 3, "prefill_chunk_size": 64})
    run(suite, f"hf/{chat}", out=tmp_path / "run", model_args={"batch_size": 1, "device": "cpu"})
    assert {row.reply.status for row in replies(tmp_path / "run")} == {"ok"}
    with pytest.raises(FathomError, match=r"model_args.dtype = None, but model_args.dtype = 'bfloat16'"):
        run(suite, f"hf/{chat}", out=tmp_path / "run", model_args={"dtype": "bfloat16"})


def test_prompts_computed_in_chunks_get_the_same_reply(base: Path) -> None:
    settings = Settings(f"hf/{base}", chat_template="never", model_args={"prefill_chunk_size": 5})
    for prompt in PROMPTS[:2]:
        (reply,) = ask(open_local_client(settings), prompt)
        assert reply.text == greedily(client(base, chat_template="never"), prompt, 24)


def test_the_window_is_that_of_the_configuration(chat: Path, tmp_path: Path) -> None:
    suite = make_suite(tmp_path, 1)
    config = json.loads((chat / "config.json").read_text("utf-8"))
    try:
        (chat / "config.json").write_text(json.dumps({**config, "max_position_embeddings": 240}))
        run(suite, f"hf/{chat}", out=tmp_path / "run")
    finally:
        (chat / "config.json").write_text(json.dumps(config))
    (row,) = replies(tmp_path / "run")
    assert (row.reply.status, row.reply.stop) == ("overflow", "not_sent")
    assert "exceed the window of 240" in row.reply.error


def test_a_judge_is_checked_without_its_weights(base: Path, chat: Path, tmp_path: Path) -> None:
    import shutil

    bare = Path(shutil.copytree(chat, tmp_path / "bare"))
    (bare / "model.safetensors").unlink()
    check_judge(f"hf/{bare}")
    with pytest.raises(FathomError, match="no chat template"):
        check_judge(f"hf/{base}")
    with pytest.raises(FathomError, match="no folder"):
        check_judge(f"hf/{tmp_path / 'nowhere'}")


def test_code_of_a_model_is_not_run(chat: Path, tmp_path: Path) -> None:
    import shutil

    own = Path(shutil.copytree(chat, tmp_path / "own"))
    config = json.loads((own / "config.json").read_text("utf-8"))
    names = {"AutoConfig": "code.Config", "AutoModelForCausalLM": "code.Model"}
    (own / "config.json").write_text(json.dumps({**config, "model_type": "own", "auto_map": names}))
    (own / "code.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')")
    with pytest.raises(FathomError, match="of its own, which is run only with -M trust_remote_code=true"):
        open_local_client(Settings(f"hf/{own}"))
    assert not (tmp_path / "ran").exists()


def test_the_commands_of_the_guide_work(tmp_path: Path, call: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    make_answering(tmp_path / "checkpoints" / "my-model", "At nine.")
    first = next(block for block in blocks_of(GUIDE) if block.info[0] == "sh")
    ran = []
    for words in command_lines(first):
        if words[0] == "fathom":
            ran.append(words[1])
            smaller = ["1k" if word == "2k,4k,8k" else "1" if word == "10" else word for word in words[1:]]
            code, printed, told = call(*smaller)
            assert code == 0, f"{words}\n{printed}\n{told}"
    assert ran == ["build", "run", "report"]
    assert {row.reply.text for row in replies(tmp_path / "runs" / "my-model")} == {"At nine."}


def test_doctor_knows_models_in_this_process(chat: Path, base: Path, call: CommandLine) -> None:
    code, printed, _ = call("doctor", f"hf/{chat}", "--json")
    found = {check["name"]: check["state"] for check in json.loads(printed)["checks"]}
    assert code == 0
    assert (found["chat"], found["completions"], found["window"], found["truncation"]) == ("ok", "ok", "ok", "ok")
    code, printed, _ = call("doctor", f"hf/{base}")
    assert code == 1
    assert "--chat-template never" in " ".join(printed.split())


def test_a_judge_in_this_process(tmp_path: Path, call: CommandLine) -> None:
    answering = make_answering(tmp_path / "m", "At the harbour, I think.")
    judging = make_answering(tmp_path / "j", '{"rating": 7}')
    assert call("build", "leader_needle_short", "--lengths", "1k", "--items", "2", "--out", str(tmp_path / "s"))[0] == 0
    assert call("run", str(tmp_path / "s"), "--model", f"hf/{answering}", "--out", str(tmp_path / "r"), "--yes")[0] == 0
    summary = judge(tmp_path / "r", f"hf/{judging}", model_args={"dtype": "float32"})
    assert (summary.judged, summary.unreadable, summary.missing) == (2, 0, 0)
    assert load([tmp_path / "r"])["value"].to_list() == pytest.approx([2 / 3, 2 / 3])

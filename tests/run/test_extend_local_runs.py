"""Extended models in runs, judges and likelihoods: named in the manifest, refused early, right with a shared prefix."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from pathlib import Path

import pytest
from run_suites import make_suite
from tiny_models import SENTENCE, WINDOW, make_hugging_face

from fathom.models.hugging_face import load_model, load_tokenizer, method_of, window_of
from fathom.models.local_client import LocalClient, check_local_model, open_local_client, tokens_before
from fathom.models.model_settings import find_settings
from fathom.models.protocol import Call, RequestError, Settings
from fathom.run.likelihood.local import LocalModel
from fathom.runfile.manifest import describe_run, read_manifest
from fathom.types import FathomError, Reply

pytest.importorskip("torch", reason="torch is not installed; make test-models runs this")
pytest.importorskip("transformers", reason="transformers is not installed; make test-models runs this")

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")

CALL = Call("sample", 1, 0, 12)
TEXT = f"{SENTENCE} {SENTENCE} {SENTENCE}"
SMALL = "original=32&window=8"
QUERIES = (
    "none",
    "yarn&factor=4&original=32",
    "dynamic&original=32",
    "longrope&factor=2&original=60&long_factor=1,2,3,4",
    f"rerope&{SMALL}",
    f"leaky&{SMALL}&group=4",
    f"selfextend&{SMALL}&group=4",
    "dca&original=32",
    "streaming&original=32&sinks=2&window=8",
)


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_hugging_face(tmp_path_factory.mktemp("model") / "base")


def client(folder: Path, query: str, **arguments: int | str) -> LocalClient:
    settings = Settings(f"hf/{folder}?extend={query}", model_args=dict(arguments), chat_template="never")
    return open_local_client(settings)


def ask(client: LocalClient, *prompts: str) -> list[Reply]:
    async def all_of_them() -> list[Reply]:
        return await asyncio.gather(*(client.complete(prompt, CALL) for prompt in prompts))

    return asyncio.run(all_of_them())


@pytest.mark.parametrize("query", QUERIES)
def test_a_shared_prefix_changes_no_reply(base: Path, query: str) -> None:
    prompts = (TEXT, f"{TEXT} when it left", "a stone", TEXT)
    model = client(base, query, reuse="prefix")
    replies = [ask(model, prompt)[0] for prompt in prompts]
    for prompt, reply in zip(prompts, replies, strict=True):
        assert reply.text == ask(client(base, query), prompt)[0].text
    # Frequencies of dynamic NTK are those of one length; LongRoPE's are the same beyond the window.
    assert bool(replies[1].tokens_cached) == (not query.startswith("dynamic"))


@pytest.mark.parametrize("query", QUERIES)
def test_questions_on_one_context_are_answered_as_if_each_were_the_first(base: Path, query: str) -> None:
    questions = ("when it left", "a stone", "the river stone")
    model = client(base, query)
    for place, question in enumerate(questions):
        prompt, call = f"{TEXT} {question}", replace(CALL, ending=len(question) + 1)
        reply, alone = (asyncio.run(one.complete(prompt, call)) for one in (model, client(base, query)))
        assert reply.text == alone.text
        assert bool(reply.tokens_cached) == (place > 0 and not query.startswith("dynamic"))


@pytest.mark.parametrize("query", [query for query in QUERIES if not query.startswith(("dynamic", "longrope"))])
def test_batches_change_no_reply(base: Path, query: str) -> None:
    prompts = (TEXT, "a stone", f"{SENTENCE} when")
    together = ask(client(base, query, batch_size=3), *prompts)
    assert [one.text for one in together] == [ask(client(base, query), prompt)[0].text for prompt in prompts]


@pytest.mark.parametrize("query", QUERIES)
def test_likelihoods_do_not_depend_on_the_text_before(base: Path, query: str) -> None:
    def score(model: LocalModel, text: str) -> tuple[float | None, ...]:
        return asyncio.run(model.score(text)).logprobs

    name = f"hf/{base}?extend={query}"
    shared, alone = LocalModel(name), LocalModel(name, share=False)
    for text in (TEXT, f"{TEXT} when", "a stone", TEXT):
        assert score(shared, text) == pytest.approx(score(alone, text), abs=2e-3)


REFUSED = [
    ("yarn&factor=0.5", {}, "factor=0.5: expected 1 or more"),
    ("yarn&factor=1e9", {}, "say with length=TOKENS how long requests will be"),
    ("rerope&window=8k", {}, "more than the 4,096 tokens of the model's window"),
    ("rerope", {"attn_implementation": "eager"}, "leave out -M attn_implementation"),
    ("dynamic", {"batch_size": 2}, "leave out -M batch_size"),
]


@pytest.mark.parametrize(("query", "arguments", "message"), REFUSED)
def test_what_cannot_work_is_refused_before_weights_are_read(
    base: Path, query: str, arguments: dict[str, int | str], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from transformers import AutoModelForCausalLM

    monkeypatch.setattr(AutoModelForCausalLM, "from_pretrained", lambda *_, **__: pytest.fail("weights were read"))
    settings = Settings(f"hf/{base}?extend={query}", model_args=arguments, chat_template="never")
    for attempt in (open_local_client, check_local_model):
        with pytest.raises(FathomError, match=message) as error:
            attempt(settings)
        assert str(base) in str(error.value)


def test_a_model_that_is_extended_already_is_refused(base: Path, tmp_path: Path) -> None:
    for file in base.iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    config = json.loads((tmp_path / "config.json").read_text("utf-8"))
    config["rope_parameters"] = {
        "rope_type": "yarn",
        "rope_theta": 10000.0,
        "factor": 2.0,
        "original_max_position_embeddings": 2048,
    }
    (tmp_path / "config.json").write_text(json.dumps(config), "utf-8")
    with pytest.raises(FathomError, match="already uses yarn: its configuration has rope_type yarn"):
        load_model(f"hf/{tmp_path}?extend=yarn&factor=4")


def test_a_sliding_window_is_switched_off_by_an_argument(tmp_path: Path) -> None:
    name = f"hf/{make_hugging_face(tmp_path / 'sliding', window=16)}?extend=rerope&window=32&original=64"
    with pytest.raises(FathomError, match="-M sliding_window=null"):
        load_model(name)
    loaded = load_model(name, {"sliding_window": None, "dtype": "bfloat16", "revision": "main"})
    assert loaded.model.config.sliding_window is None
    assert str(loaded.model.dtype) == "torch.bfloat16"


def test_the_window_is_that_of_the_method(base: Path) -> None:
    windows = {query: load_model(f"hf/{base}?extend={query}").window for query in ("none", "yarn&factor=4", "rerope")}
    assert windows == {"none": WINDOW, "yarn&factor=4": 4 * WINDOW, "rerope": None}
    assert load_model(f"hf/{base}?extend=rerope&length=32k").window == 32768
    assert window_of(load_model(f"hf/{base}?extend=yarn&factor=4").model.config) == 4 * WINDOW


def test_a_run_names_the_method_and_what_to_know_of_it(base: Path, tmp_path: Path) -> None:
    from engine_calls import run

    suite = make_suite(tmp_path / "suite", 2)
    model = f"hf/{base}?extend=dynamic&factor=2"
    summary = run(suite, model, out=tmp_path / "run", chat_template="never", limit=1)
    manifest = read_manifest(tmp_path / "run")
    assert manifest["model"] == model
    assert manifest["extension"]["method"] == "dynamic"
    assert (manifest["extension"]["original"], manifest["extension"]["window"]) == (WINDOW, 2 * WINDOW)
    assert manifest["notes"] == [summary.hints[-1]]
    assert "frequencies of its own length" in summary.hints[-1]
    # It can be resumed, and not with other values.
    run(suite, model, out=tmp_path / "run", chat_template="never", limit=1)
    with pytest.raises(FathomError, match="was requested"):
        run(suite, f"hf/{base}?extend=dynamic", out=tmp_path / "run", chat_template="never", limit=1)


def changed(base: Path, folder: Path, kind: str, **more: object) -> Path:
    """The same model with another configuration of its rotary positions, whose original window is 600 tokens."""
    folder.mkdir()
    for file in base.iterdir():
        (folder / file.name).write_bytes(file.read_bytes())
    config = json.loads((folder / "config.json").read_text("utf-8"))
    config["rope_parameters"] = {"rope_type": kind, "rope_theta": 10000.0, **more}
    if kind == "dynamic":
        config["max_position_embeddings"] = 600
    (folder / "config.json").write_text(json.dumps(config), "utf-8")
    return folder


OWN: dict[str, dict[str, object]] = {
    "dynamic": {"factor": 4.0},
    "longrope": {
        "factor": 4.0,
        "short_factor": [1.0] * 4,
        "long_factor": [4.0, 8.0, 16.0, 32.0],
        "original_max_position_embeddings": 600,
    },
}


@pytest.mark.parametrize("kind", OWN)
def test_no_keys_are_shared_where_transformers_changes_frequencies(base: Path, tmp_path: Path, kind: str) -> None:
    settings = Settings(
        f"hf/{changed(base, tmp_path / 'own', kind, **OWN[kind])}", chat_template="never", window=WINDOW
    )
    model = open_local_client(settings)
    long = " ".join([SENTENCE] * 36)
    ask(model, long)
    within = long[: len(long) * 9 // 16]
    reply, alone = ask(model, within)[0], ask(open_local_client(settings), within)[0]
    assert reply.tokens_cached == 0
    assert (alone.tokens_in or 0) < 600
    assert reply.text == alone.text


@pytest.mark.parametrize("kind", OWN)
def test_prompts_are_computed_alone_where_transformers_changes_frequencies(
    base: Path, tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from transformers import AutoModelForCausalLM

    monkeypatch.setattr(AutoModelForCausalLM, "from_pretrained", lambda *_, **__: pytest.fail("weights were read"))
    settings = Settings(f"hf/{changed(base, tmp_path / 'own', kind, **OWN[kind])}", chat_template="never")
    for name in ("batch_size", "prefill_chunk_size"):
        for attempt in (open_local_client, check_local_model):
            with pytest.raises(FathomError, match=f"leave out -M {name}"):
                attempt(replace(settings, model_args={name: 64}))


@pytest.mark.parametrize("kind", OWN)
def test_likelihoods_are_those_of_one_pass_where_transformers_changes_frequencies(
    base: Path, tmp_path: Path, kind: str
) -> None:
    import torch

    name = f"hf/{changed(base, tmp_path / 'own', kind, **OWN[kind])}"
    model, text = LocalModel(name), " ".join([SENTENCE] * 36)
    model._window = WINDOW  # dynamic NTK reads beyond its own
    asyncio.run(model.score(text))  # whose frequencies dynamic NTK would keep
    for one in (text[: len(text) // 2], text):
        fresh = load_model(name)
        ids = torch.tensor([fresh.tokenizer(one)["input_ids"]])
        with torch.inference_mode():
            told = fresh.model(ids, use_cache=False).logits[0, :-1].float().log_softmax(-1)
        expected = told.gather(1, ids[0, 1:, None])[:, 0].tolist()
        assert asyncio.run(model.score(one)).logprobs[1:] == pytest.approx(expected, abs=2e-3)


@pytest.mark.parametrize("query", ["", "?extend=rerope&window=64", "?cache=fp8"])
@pytest.mark.parametrize("name", ["rope_scaling", "rope_parameters"])
def test_rotary_parameters_without_their_base_are_refused(base: Path, query: str, name: str) -> None:
    with pytest.raises(FathomError, match="transformers loses its rope_theta"):
        load_model(f"hf/{base}{query}", {name: {"rope_type": "linear", "factor": 8.0}})


@pytest.mark.parametrize(("kind", "told"), [("dynamic", "order of requests"), ("longrope", "within a reply")])
def test_a_run_of_a_model_with_a_fault_of_transformers_says_so(
    base: Path, tmp_path: Path, kind: str, told: str
) -> None:
    from engine_calls import run

    folder = changed(base, tmp_path / "model", kind, **OWN[kind])
    suite = make_suite(tmp_path / "suite", 2)
    summary = run(suite, f"hf/{folder}", out=tmp_path / "run", chat_template="never", limit=1)
    assert told in summary.hints[-1]
    assert read_manifest(tmp_path / "run")["notes"] == [summary.hints[-1]]


def test_a_manifest_has_the_method_also_where_nothing_is_loaded(tmp_path: Path) -> None:
    settings = Settings("hf/Qwen/Qwen3-8B?extend=yarn&factor=4")
    manifest = {"suite": "s", "samples": {}}
    assert describe_run(tmp_path, manifest, settings)["extension"]["factor"] == 4  # type: ignore[call-overload,index]
    assert "extension" not in describe_run(tmp_path, manifest, Settings("hf/Qwen/Qwen3-8B"))
    assert method_of("openai/gpt-5?extend=yarn").name == "none"
    assert find_settings("hf/Qwen/Qwen3-8B?extend=yarn&factor=4") == find_settings("hf/Qwen/Qwen3-8B")


CACHES = (
    "snapkv&budget=24&window=8",
    "pyramid&budget=24&window=8&beta=4",
    "h2o&budget=24",
    "random&budget=24",
    "recent&budget=24",
    "fp8",
)


@pytest.mark.parametrize("query", CACHES)
def test_a_cache_that_keeps_less_is_measured_and_not_used_again(base: Path, query: str) -> None:
    full, model = client(base, "none"), client(base, f"none&cache={query}")
    first = ask(full, TEXT)[0]
    assert full.cached is not None
    size = full.cached[1] // ((first.tokens_in or 0) + (first.tokens_out or 0) - 1)  # the last token is not read
    assert full.cached[0] == size * (first.tokens_in or 0)
    for prompt in (TEXT, f"{TEXT} when it left", TEXT):
        reply = ask(model, prompt)[0]
        assert reply.text == ask(client(base, f"none&cache={query}"), prompt)[0].text
        assert reply.tokens_cached == 0
    assert model.cached is not None
    after, end = model.cached
    if query == "fp8":
        assert after < full.cached[0] / 3
    else:
        assert after == 24 * size
        assert end == after + (0 if query.startswith("h2o") else size * ((reply.tokens_out or 0) - 1))


@pytest.mark.parametrize("query", CACHES)
def test_prompts_in_parts_or_batches_are_refused(base: Path, query: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from transformers import AutoModelForCausalLM

    monkeypatch.setattr(AutoModelForCausalLM, "from_pretrained", lambda *_, **__: pytest.fail("weights were read"))
    for name in ("batch_size", "prefill_chunk_size"):
        with pytest.raises(FathomError, match=f"leave out -M {name}"):
            client(base, f"none&cache={query}", **{name: 2})
    with pytest.raises(FathomError, match="leave out cache"):
        LocalModel(f"hf/{base}?cache={query}")
    with pytest.raises(FathomError, match="h2o needs a budget"):
        client(base, "none&cache=h2o")


@pytest.mark.parametrize("tokens", [1, 4])
def test_a_run_tells_of_replies_that_say_nothing(base: Path, tmp_path: Path, tokens: int) -> None:
    from engine_calls import run

    suite, model = make_suite(tmp_path / "suite", 2), f"hf/{base}?cache=h2o&budget=8"
    summary = run(suite, model, out=tmp_path / "run", chat_template="never", limit=1, max_output_tokens=tokens)
    manifest = read_manifest(tmp_path / "run")
    assert manifest["extension"]["cache"]["method"] == "h2o"
    assert manifest["extension"]["cache"]["budget"] == 8
    assert "first token of a reply is that of the full cache" in manifest["notes"][0]
    assert any("have one token, which comes from the full cache" in hint for hint in summary.hints) == (tokens == 1)


def test_a_ratio_counts_the_tokens_of_each_prompt(base: Path) -> None:
    full, model = client(base, "none"), client(base, "none&cache=snapkv&ratio=0.6&window=8")
    for prompt in (TEXT, f"{TEXT} when it left"):
        first = ask(full, prompt)[0].tokens_in or 0
        ask(model, prompt)
        assert full.cached is not None
        assert model.cached is not None
        assert model.cached[0] == full.cached[0] // first * int(first * (1 - 0.6))
    assert model.extension is not None
    assert (model.extension.record()["cache"]["ratio"], "budget" in model.extension.record()["cache"]) == (0.6, False)  # type: ignore[index,call-overload,operator]


def test_a_prompt_of_which_nothing_can_be_chosen_is_not_asked(base: Path) -> None:
    for query in ("snapkv&ratio=0.9", "pyramid&ratio=0.3&window=8"):
        with pytest.raises(RequestError, match="nothing to choose"):
            ask(client(base, f"none&cache={query}"), "a stone")
    assert ask(client(base, "none&cache=snapkv&budget=33"), "a stone")[0].text  # a budget has room for all of it


QUESTION = " when it left the river"


@pytest.mark.parametrize(
    "query", ["snapkv&budget=12&window=4", "h2o&ratio=0.7", "random&budget=12", "recent&budget=12"]
)
def test_a_question_apart_is_read_after_the_choice(base: Path, query: str) -> None:
    model = client(base, f"none&cache={query}&question=apart")
    call, prompt = replace(CALL, ending=len(QUESTION)), TEXT + QUESTION
    ids = model._loaded.tokenizer(prompt)["input_ids"]
    context = model._loaded.tokenizer(TEXT)["input_ids"]
    assert ids[: len(context)] == context
    first = asyncio.run(model.complete(prompt, call))
    stays = 12 if "budget" in query else int(len(context) * (1 - 0.7))
    full = client(base, "none")
    ask(full, prompt)
    assert full.cached is not None
    assert model.cached is not None
    assert model.cached[0] == full.cached[0] // len(ids) * (stays + len(ids) - len(context))
    # What was chosen does not depend on the question, and nothing is known after a request.
    asyncio.run(model.complete(f"{TEXT} a stone", replace(CALL, ending=len(" a stone"))))
    assert asyncio.run(model.complete(prompt, call)).text == first.text
    with pytest.raises(RequestError, match="where in the prompt the question begins"):
        asyncio.run(model.complete(prompt, CALL))
    with pytest.raises(RequestError, match="nothing comes before the question"):
        asyncio.run(model.complete(TEXT, replace(CALL, ending=len(TEXT) - 1)))  # within the first token
    assert not any("have one token" in note for note in model.notes)
    assert "question-agnostic" in model.notes[0]
    assert "question-aware" in client(base, f"none&cache={query}").notes[0]


def test_a_question_apart_begins_at_the_same_place_in_a_chat(base: Path) -> None:
    """What the template writes before the prompt is context, what it writes after it belongs to the question."""
    before, after = "the keeper wrote: ", " and then"
    template = f"{before}{{{{ messages[0]['content'] | trim }}}}{after}"
    settings = Settings(
        f"hf/{base}?cache=snapkv&budget=12&window=4&question=apart", model_args={"chat_template": template}
    )
    model = open_local_client(settings)
    tokenizer = model._loaded.tokenizer
    whole = tokenizer(f"{before}{TEXT}{QUESTION}{after}", add_special_tokens=False)["input_ids"]
    context = tokenizer(f"{before}{TEXT}", add_special_tokens=False)["input_ids"]
    assert whole[: len(context)] == context
    asyncio.run(model.complete(f"\n {TEXT}{QUESTION}", replace(CALL, ending=len(QUESTION))))
    size = 2 * 4 * sum(layer.keys[0, :, 0].numel() for layer in model._cache.layers)  # bytes of a token
    assert model.cached is not None
    assert model.cached[0] == size * (12 + len(whole) - len(context))


def test_a_prompt_is_cut_between_its_tokens(base: Path) -> None:
    tokenizer = load_tokenizer(f"hf/{base}", {})

    class Slow:  # one without offsets
        is_fast = False

        def __call__(self, text: str, **more: bool) -> dict[str, list[int]]:
            return {"input_ids": tokenizer(text, **more)["input_ids"]}

    text = f"{SENTENCE} 中文 when it left"
    ids = tokenizer(text)["input_ids"]
    for place in range(len(text) + 1):
        before = tokens_before(tokenizer, text, place)
        assert text[:place].startswith(tokenizer.decode(ids[:before]).rstrip("\ufffd"))
        if before < len(ids):  # the next token ends after the place
            assert not text[:place].startswith(tokenizer.decode(ids[: before + 1])) or place == len(text)
        assert tokens_before(Slow(), text, place) <= before


def test_a_run_knows_where_the_question_of_each_sample_begins(base: Path, tmp_path: Path) -> None:
    from engine_calls import run
    from fathom.run import replies

    suite, model = make_suite(tmp_path / "suite", 2), f"hf/{base}?cache=snapkv&ratio=0.5&question=apart"
    summary = run(suite, model, out=tmp_path / "run", chat_template="never", max_output_tokens=2)
    manifest = read_manifest(tmp_path / "run")
    assert manifest["extension"]["cache"]["question"] == "apart"
    assert "question-agnostic" in manifest["notes"][0]
    assert summary.progress is not None
    assert summary.progress.counts["error"] == 0
    assert {one.reply.status for one in replies(tmp_path / "run")} <= {"ok", "incomplete"}

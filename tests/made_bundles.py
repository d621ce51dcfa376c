"""Small bundles of results for tests: a suite, a run that was judged, and what can be taken apart and packed again."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

from fathom.board.bundles.bundle import HEAD, REPLIES, ROWS, Bundle, archive, canonical, facts_of_part, zipped
from fathom.board.bundles.bundling import bundle_of
from fathom.board.bundles.rescoring import needed_judgements, rescored
from fathom.runfile.judgements import Judgement, JudgementStore, case_key, case_of
from fathom.runfile.ledger import Ledger
from fathom.runfile.store import replies
from fathom.runfile.worker import this_worker
from fathom.score.judge import get_rubric
from fathom.suites.suitefile import SampleWriter, fresh_folder, open_suite, write_documents, write_manifest
from fathom.tokens.length import render
from fathom.tokens.length import thinking as told_to_think
from fathom.types import Document, Json, Reply, Sample, Span

MODEL, JUDGE = "lab/model-7b", "lab/judge-1"
TEXT = "The ferry leaves at nine, the bridge opens at ten. " * 8
TASKS = {"passkey": 6, "kv_retrieval": 4, "single_doc_qa": 4, "longbench_multifieldqa_zh": 2}


def sample(task: str, number: int) -> Sample:
    """Sample ``number`` of a task; the tokens are made up."""
    length = 256 * (1 + number % 2)
    key = f"{10_000 + 7 * number}"
    uuid = f"{number:08d}-1111-4222-8333-444444444444"
    targets = {"passkey": (key,), "kv_retrieval": (uuid,), "single_doc_qa": (f"Keeper {key}", key)}
    facets: dict[str, Any] = {"depth": 0.5} if task == "passkey" else {"depth": 0.5, "kind": "plain"}
    inputs: dict[str, Any] = {"digits": 5} if task == "passkey" else {}
    return Sample(
        id=f"{task}/{number}@{length}", item=f"{task}/{number}", task=task,
        parts=(f"[{task} {number}] ", Span("doc", 0, len(TEXT)), "\nWhat is it?"),
        targets=targets.get(task, ("渡口在河的北岸。",)), length=length, tokens=length - 3, chance=0.0, facets=facets,
        language="zh" if task.endswith("zh") else "en", asked="What is it?",
        thinking="\nThink first. What is it?", thinking_tokens=length - 1, inputs=inputs,
    )  # fmt: skip


def make_suite(folder: Path, fingerprint: str = "f00df00df00df00d") -> Path:
    """A built suite of samples of four tasks."""
    count = sum(TASKS.values())
    manifest: dict[str, Json] = {
        "fathom": "suite", "suite": "tiny", "tokenizer": "words", "fingerprint": fingerprint, "inputs": {}, "notes": [],
        "left_out": [], "left_out_in_all": 0, "duplicates": 0, "tasks": list(TASKS), "lengths": [256, 512],
        "samples": {"all": count},
    }  # fmt: skip
    with fresh_folder(folder) as fresh:
        write_documents(fresh, [Document("doc", TEXT, "test")])
        with SampleWriter(fresh) as writer:
            for task, items in TASKS.items():
                for number in range(items):
                    writer.add(sample(task, number))
        write_manifest(fresh, manifest)
    return folder


def reply_to(one: Sample, number: int) -> Reply:
    """Every second reply is right; the last one of the passkeys did not fit."""
    if one.id.startswith("passkey/5"):
        return Reply("overflow", stop="not_sent", attempts=0, error="too long for http://10.0.0.1:8000")
    said = one.targets[0] if number % 2 else "nobody knows <b>that</b>"
    return Reply("ok", f"It is {said}.", stop="stop", tokens_in=one.tokens, tokens_out=12, seconds=0.25)


def make_run(
    folder: Path, suite: Path, /, samples: Sequence[Sample] | None = None, judge: bool = True, **manifest: Any
) -> Path:
    """A run of that suite, of all its samples or of some, judged where its task has a rubric."""
    folder.mkdir()
    built = open_suite(suite)
    texts = built.texts()
    facts = {
        "format": 1,
        "suite": {"name": "tiny", "path": "/srv/me/suite", "tokenizer": "words"}
        | {"fingerprint": built.manifest["fingerprint"]},
        "model": MODEL, "base_url": "http://10.0.0.1:8000/v1", "generation": {"temperature": 0.0, "seed": 0},
        "model_args": {"api_key": "***", "model_path": "/srv/me/model"}, "window": 512, "on_overflow": "refuse",
        "chat_template": "always", "subset": None, "versions": {"fathom-eval": "0.1.0"},
    }  # fmt: skip
    (folder / "run.json").write_text(json.dumps(facts | manifest))
    ledger = Ledger(folder, this_worker())
    thinks = (manifest.get("thinking") or {}).get("prompt") == "thinking"
    for number, one in enumerate(list(built.samples()) if samples is None else samples):
        one = told_to_think(one) if thinks else one
        reply = reply_to(one, number)
        sent = sha256(render(one, texts).encode()).hexdigest()[:16] if reply.status == "ok" else ""
        ledger.finish(one, 1, reply, prompt_hash=sent, cost=0.5 if sent else 0.0)
    ledger.close()
    if judge:
        judge_run(folder)
    return folder


def judge_run(folder: Path) -> None:
    """A judge finds half of every right answer."""
    rubric, store = get_rubric("qa"), JudgementStore(folder, JUDGE)
    for one in replies(folder):
        if one.task == "single_doc_qa":
            right = float(one.targets[0] in one.reply.text)
            found = Judgement("ok", {"fluency": 1.0, "correctness": 2.0 * right})
            store.finish(case_key(rubric, case_of(one)), rubric, found)
    store.close()


def make_bundle(folder: Path, logs: bool = True, **manifest: Any) -> tuple[bytes, Path]:
    """The bytes of a right bundle, and the suite that it is checked against."""
    suite = make_suite(folder / "suite")
    return archive(bundle_of([make_run(folder / "run", suite, **manifest)], logs=logs)), suite


@dataclass
class Content:
    """A bundle taken apart: ``bundle.json``, and the lines of the other files by name."""

    head: dict[str, Any]
    lines: dict[str, list[dict[str, Any]]]

    def packed(self, rehash: bool = True, raw: str = "") -> bytes:
        """The bytes; with their right hashes unless not. The text ``RAW`` becomes ``raw``, which may be no JSON."""
        data = {name: "".join(canonical(one) + "\n" for one in lines) for name, lines in self.lines.items()}
        files = {name: text.replace('"RAW"', raw).encode("utf-8", "surrogatepass") for name, text in data.items()}
        head = self.head
        if rehash:
            stated = {name: {"bytes": len(text), "sha256": sha256(text).hexdigest()} for name, text in files.items()}
            head = head | {"files": stated}
        text = (canonical(head) + "\n").replace('"RAW"', raw).encode("utf-8", "surrogatepass")
        return zipped({HEAD: text} | files)


def taken_apart(data: bytes) -> Content:
    """What a right bundle holds."""
    parts = files_of(data)
    lines = {name: [json.loads(line) for line in text.splitlines()] for name, text in parts.items() if name != HEAD}
    return Content(json.loads(parts[HEAD]), lines)


def in_format_3(content: Content) -> Content:
    """The same as earlier versions wrote it: no word on how often a sample was asked."""
    content.head["format"] = 3
    for row in content.lines[ROWS]:
        del row["asked_again"]
    return content


def in_format_2(content: Content) -> Content:
    """The same as earlier versions wrote it: what scorers need is among the facets of the rows."""
    in_format_3(content).head["format"] = 2
    inputs = {one["sample"]: one.pop("inputs") for one in content.lines.get(REPLIES, ())}
    for row in content.lines[ROWS]:
        row["facets"] |= inputs.get(row["sample"], {})
    return content


def files_of(data: bytes) -> dict[str, bytes]:
    """The files of an archive."""
    import io
    import zipfile

    with zipfile.ZipFile(io.BytesIO(data)) as opened:
        return {name: opened.read(name) for name in opened.namelist()}


def consistent(bundle: Bundle) -> Bundle:
    """The same bundle with all rows, facts and hashes as its replies have them: what a careful forger would send."""
    bundle = replace(bundle, judgements=needed_judgements(bundle))
    rows: dict[int, list[Any]] = {}
    for at, _, row in rescored(bundle):
        rows.setdefault(at, []).append(row)
    results = [replace(result, rows=tuple(rows[at])) for at, result in enumerate(bundle.results)]
    parts = [
        facts_of_part(
            [one.rows[0] for one in results if one.part == number], fingerprint=part.fingerprint, subset=part.subset
        )
        for number, part in enumerate(bundle.parts)
    ]
    return replace(bundle, results=tuple(results), parts=tuple(parts))

"""Show one sample: its facts, where its text comes from, or its prompt; of a run with the replies and their scores."""

from dataclasses import KW_ONLY
from pathlib import Path
from typing import Annotated, Any

from fathom.commands.shared import Json, JudgeOfRows, Suites
from fathom.options.declare import arg, command, given, opt


class ShowOptions(Json):
    folder: Annotated[Path | str, arg("A built suite, or a run folder.")]
    sample: Annotated[str, arg("Sample or item id; the first sample if left out.")] = ""
    _: KW_ONLY
    text: Annotated[bool, opt("Show the whole prompt; of a run with the reply after it.")] = False
    thinking: Annotated[bool, opt("Show the prompt that asks for thoughts before the answer.")] = False
    suites: Suites = given(())
    judge: JudgeOfRows = None


@command(ShowOptions)
def show(options: ShowOptions) -> dict[str, Any]:
    """Show one sample: its facts and where its text comes from, or its prompt.

    Of a run, also the replies: status, extracted answer, scores by every rule, and why.
    """
    from fathom.browse.facts import facts_of_replies, is_run
    from fathom.suites.suitefile import open_suite
    from fathom.suites.suitefile.records import facts_of

    folder, how = Path(options.folder), {"text": options.text, "thoughts": options.thinking}
    if is_run(folder):
        return facts_of_replies(folder, options.sample, options.suites, **how, judge=options.judge)
    return facts_of(open_suite(folder), options.sample, **how)


def main(line: ShowOptions) -> None:
    """Print the prompt, JSON, or a table of the facts, and below it the replies."""
    from fathom.options.terminal import print_json, print_records, print_text

    shown = show.body(line)
    replies = shown.get("replies", [])
    if line.as_json:
        return print_json(shown)
    if line.text:
        print_text(shown["prompt"])
        for reply in replies:
            print_text(f"\n=== reply{_repeat(reply)}: score {_score(reply)} ===\n{reply['reply']}")
        return None
    named = {field: [f"{name} {value}" for name, value in shown[field].items()] for field in ("facets", "inputs")}
    facts = {**shown, **named}
    facts.pop("replies", None)
    print_records([{"": key, " ": value} for key, value in facts.items()], denominator="none")
    for reply in replies:
        _print_reply(reply)
    return None


def _print_reply(reply: dict[str, Any]) -> None:
    from fathom.options.terminal import print_records, print_text

    print_text(f"\nReply{_repeat(reply)}: {reply['status']}, score {_score(reply)}")
    print_text("\n".join(f"  {sentence}" for sentence in reply["why"]) + "\n")
    columns = ("metric", "rule", "value", "answer", "grader", "detail")
    print_records([{name: score[name] for name in columns} for score in reply["scores"]], denominator="none")
    judgements = [(f"judge {message['judge']}, {message['step']}", message["text"]) for message in reply["judge"]]
    for title, text in [("reasoning", reply["reasoning"]), ("reply", reply["reply"]), *judgements]:
        if text:
            print_text(f"\n--- {title} ---\n{text}")


def _repeat(reply: dict[str, Any]) -> str:
    return f" (repeat {reply['epoch']})" if reply["epoch"] > 1 else ""


def _score(reply: dict[str, Any]) -> str:
    return "none" if reply["score"] is None else f"{reply['score']:.3g}"

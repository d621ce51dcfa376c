"""Reading a dump of Stack Exchange: speed and peak memory, against an XML parser of the standard library.

A ``Posts.xml`` of a given size is written from a template: questions with tags and scores, answers all over the file,
code, links, images and Chinese letters. ``thread_documents`` reads it in a process of its own: posts are parsed, their
HTML becomes text, answers find their questions, and the 25,000 most popular threads become documents. What it is
compared with is ``xml.etree.ElementTree.iterparse`` over the same file, which only clears each row.

    python performance/dump.py                # 2 GB: some minutes
    python performance/dump.py --size 0.05    # a small version: seconds
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import tempfile
from html import escape
from pathlib import Path

SAID = (
    "the list of values index error when function returns string object while loop over file and each line "
    "class method default argument thread lock query table join column number format date parse install package"
)
WORDS = tuple(SAID.split(" "))
TAGS = ("python", "java", "c++", "sql", "javascript", "html", "linux", "git", "bash", "regex", "json", "pandas")
ANSWERS = 2  # a question, on average; a fifth of the questions has none

OURS = """
import json, resource, sys, time
from fathom.documents.corpus.stackexchange import thread_documents
calls, last, rising = 0, 0, True
def progress(read, size):
    global calls, last, rising
    calls, last, rising = calls + 1, read, rising and read >= last
start = time.process_time()
corpus = thread_documents(sys.argv[1], progress)
print(json.dumps({
    "seconds": time.process_time() - start,
    "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
    "documents": len(corpus.documents),
    "problems": [str(problem) for problem in corpus.problems[:3]],
    "told": [calls, last, rising],
}))
"""
THEIRS = """
import json, resource, sys, time
from xml.etree.ElementTree import iterparse
start, rows = time.process_time(), 0
parsed = iterparse(sys.argv[1], events=("start", "end"))
_, root = next(parsed)
for event, element in parsed:
    if event == "end" and element.tag == "row":
        rows += 1
        root.clear()
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
print(json.dumps({"seconds": time.process_time() - start, "peak": peak, "rows": rows}))
"""


def write_dump(path: Path, size: int) -> int:
    """Write a dump of about ``size`` bytes, and return how many posts it has."""
    rng = random.Random(0)
    bodies = [escape(_body(rng), quote=True) for _ in range(500)]
    number = written = 0
    waiting: list[tuple[int, int]] = []  # answers to come: their numbers and questions
    with path.open("w", encoding="utf-8") as stream:
        stream.write('\ufeff<?xml version="1.0" encoding="utf-8"?>\n<posts>\n')
        while written < size:
            number += 1
            if rng.random() < ANSWERS / (ANSWERS + 1) and len(waiting) > 100:
                at = rng.randrange(len(waiting))
                waiting[at], waiting[-1] = waiting[-1], waiting[at]
                own, question = waiting.pop()
                row = _post(rng, own, 2, f'ParentId="{question}"', rng.choice(bodies))
            else:
                answers = rng.choice((0, 1, 2, 3, 4))
                numbers = [number * 10 + place for place in range(1, answers + 1)]
                waiting += [(own, number * 10) for own in numbers]
                accepted = f'AcceptedAnswerId="{rng.choice(numbers)}" ' if numbers and rng.random() < 0.5 else ""
                tags = "".join(f"&lt;{tag}&gt;" for tag in rng.sample(TAGS, rng.randint(1, 4)))
                facts = f'{accepted}Title="Question {number} about {rng.choice(WORDS)}" Tags="{tags}"'
                row = _post(rng, number * 10, 1, facts, rng.choice(bodies))
            written += stream.write(row)
        for own, question in waiting:  # so that no accepted answer is missing
            stream.write(_post(rng, own, 2, f'ParentId="{question}"', rng.choice(bodies)))
        stream.write("</posts>\n")
    return number + len(waiting)


def _post(rng: random.Random, number: int, kind: int, facts: str, body: str) -> str:
    day = f"20{rng.randint(10, 23)}-{rng.randint(1, 12):02}-{rng.randint(1, 28):02}T10:00:00.000"
    score = int(rng.paretovariate(1)) - 1
    return f'  <row Id="{number}" PostTypeId="{kind}" {facts} CreationDate="{day}" Score="{score}" Body="{body}" />\n'


def _body(rng: random.Random) -> str:
    """The HTML of one post."""
    pieces = []
    for _ in range(rng.randint(1, 6)):
        text = " ".join(rng.choice(WORDS) for _ in range(rng.randint(10, 60)))
        code = "\n".join(f"{rng.choice(WORDS)} = {rng.choice(WORDS)}[{n}] &lt; 3" for n in range(rng.randint(1, 8)))
        pieces.append(
            rng.choice((
                f"<p>{text}.</p>",
                f"<p>{text} <code>a[0]</code>, {text}.</p>",
                f"<pre><code>{code}\n</code></pre>",
                f'<p>See <a href="https://example.org/{text[:9]}">here</a> “{text}” — 例如数据。</p>',
                f"<ul><li>{text}</li><li>{text}</li></ul>",
            ))
        )  # fmt: skip
    return "\n\n".join(pieces) + ('<img src="https://example.org/a.png">' if rng.random() < 0.05 else "")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", type=float, default=2, help="size of the dump in GB")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "Posts.xml"
        posts = write_dump(path, int(parser.parse_args().size * 1e9))
        size = path.stat().st_size
        ours, theirs = (
            json.loads(subprocess.run([sys.executable, "-c", code, path], check=True, capture_output=True).stdout)
            for code in (OURS, THEIRS)
        )
    calls, last, rising = ours["told"]
    print(f"dump of {size / 1e9:.2f} GB, {posts:,} posts ({theirs['rows']:,} rows parsed)")
    print(f"{'':<34} {'seconds':>8} {'MB/s':>7} {'peak MB':>8}")
    for name, found in (("thread_documents", ours), ("ElementTree.iterparse, clearing", theirs)):
        speed, peak = size / 1e6 / found["seconds"], found["peak"] / 1e6
        print(f"{name:<34} {found['seconds']:8.1f} {speed:7.1f} {peak:8.0f}")
    print(f"ratio of the times {ours['seconds'] / theirs['seconds']:.1f}; documents made: {ours['documents']:,}")
    print(f"progress was told {calls:,} times, {'rising' if rising else 'NOT rising'}, up to {last / size:.2%}")
    print(*ours["problems"], sep="\n")


if __name__ == "__main__":
    main()

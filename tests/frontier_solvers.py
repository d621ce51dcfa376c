"""Readers that answer the generated frontier tasks exactly from what they see of a prompt, in English."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping

from fathom.benchmarks.babilong.tasks import NUMBERS
from fathom.benchmarks.longproc.puzzles import solution
from fathom.benchmarks.nolima.tasks import LINKS
from fathom.benchmarks.oolong.messages import SUBJECTS
from fathom.benchmarks.oolong.tasks import MOST, RELATIONS
from fathom.benchmarks.ruler.v2_questions import TEXTS

LAST = {
    name: number
    for number, name in enumerate(("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth"))
}


def graphwalks(prompt: str) -> str:
    edges = re.findall(r"^(\w{10}) -> (\w{10})$", prompt, re.MULTILINE)
    if asked := re.search(r"at node (\w+) .* exactly (\d) step", prompt):
        reached, layer = {asked[1]}, {asked[1]}
        for _ in range(int(asked[2])):
            layer = {end for start, end in edges if start in layer} - reached
            reached |= layer
    else:
        (node,) = re.findall(r"lead to node (\w+)\?", prompt)
        layer = {start for start, end in edges if end == node} - {node}
    return f"Final Answer: [{', '.join(sorted(layer))}]"


def mrcr(prompt: str) -> str:
    asked = re.search(r"Write (\w+) and, directly after it, the (\w+) entry of the (.+?) kept at (.+?) that", prompt)
    assert asked
    turns = prompt.rpartition("\n\nWrite ")[0].split("Reader: Show me an entry of the ")[1:]
    head = f"{asked[3]} kept at {asked[4]}.\nArchivist: "
    entries = [turn.removeprefix(head).strip() for turn in turns if turn.startswith(head)]
    number = LAST[asked[2]]
    return asked[1] + (entries[number] if number < len(entries) else "")


def retrieval(prompt: str) -> str:
    needles = re.findall(r"The code (?:number|UUID) of ([\w-]+) is ([\w-]+)\.", prompt)
    (keys,) = re.findall(r"code (?:number|UUID)s? of ([\w, -]+?)(?:\?| stated)", prompt[-500:])
    return ", ".join(value for key, value in needles if key in keys.split(", "))


def variables(prompt: str) -> str:
    (value,) = re.findall(r"have the value (\d+)", prompt)
    set_to = dict(re.findall(r"VAR (\w+) = (?:VAR )?(\w+)\.", prompt))
    return ", ".join(name for name in set_to if _followed(set_to, name) == value)


def _followed(set_to: dict[str, str], name: str) -> str:
    while name in set_to:
        name = set_to[name]
    return name


def common(prompt: str) -> str:
    return _most(re.findall(r"\d+\. (\w+)", prompt), 10)


def frequent(prompt: str) -> str:
    return _most(re.findall(r"(?<!\w)[a-z]{6}(?!\w)", prompt.split("\n\n")[1]), 3)


def _most(words: list[str], count: int) -> str:
    return ", ".join(word for word, _ in Counter(words).most_common(count))


def babilong(prompt: str) -> str:
    places: dict[str, str] = {}
    carried: dict[str, list[str]] = {}
    paths: dict[str, list[str]] = {}
    for person, verb, name in re.findall(r"(\w+) (went to|took|put down) the (\w+)", prompt):
        things = carried.setdefault(person, [])
        if verb == "went to":
            places[person] = name
        elif verb == "took":
            things.append(name)
        elif name in things:
            things.remove(name)
        for thing in things if verb != "put down" else ():
            path = paths.setdefault(thing, [])
            if path[-1:] != [places.get(person)]:
                path.append(places.get(person, ""))
    asked = prompt.rpartition("Question: ")[2]
    if many := re.match(r"How many things is (\w+)", asked):
        return NUMBERS[len(carried.get(many[1], []))]
    if whether := re.match(r"Is (\w+) in the (\w+)", asked):
        return "yes" if places.get(whether[1]) == whether[2] else "no"
    if before := re.match(r"Where was the (\w+) before the (\w+)", asked):
        path = ["", *paths.get(before[1], [])]
        return path[path.index(before[2]) - 1] if before[2] in path else "unknown"
    name = re.match(r"Where is (?:the )?(\w+)", asked)
    assert name
    return paths.get(name[1], [""])[-1] or places.get(name[1], "unknown")


def nolima(prompt: str) -> str:
    for sight, country, continent in LINKS["en"]:
        names = re.findall(rf"(?:every morning |balcony of )(\w+).*?{re.escape(sight)}", prompt)
        if names and any(word in prompt[-200:] for word in (sight, country, continent)):
            return str(names[0])
    return "unknown"


def path(prompt: str) -> str:
    links = re.findall(r"^From (\w+) one can only go to (\w+), by (\w+)\.$", prompt, re.MULTILINE)
    following = {start: (end, transit) for start, end, transit in links}
    ((city, end),) = re.findall(r"the route from (\w+) to (\w+), one line", prompt)
    route: list[str] = []
    while city != end and city in following and len(route) < 50:
        city, (start, transit) = following[city][0], (city, following[city][1])
        route.append(f"From {start}, take a {transit} to {city}.")
    return "\n".join(("<Route>", *route, "</Route>"))


def tom(prompt: str) -> str:
    ((person, thing),) = re.findall(r"^Follow (\w+) and the ([\w-]+)\. Write", prompt, re.MULTILINE)
    room, place, believed, lines = "", "", "unknown", []
    for line in prompt.rpartition("\n\nFollow ")[0].splitlines():
        if first := re.match(rf"At first {person} is in the (\w+), and the {thing} is on the (\w+) of the (\w+)", line):
            room, place = first[1], f"{first[3]}, {first[2]}"
        elif walk := re.match(rf"{person} goes to the (\w+)", line):
            room = walk[1]
        elif put := re.match(rf"\w+ puts the {thing} on the (\w+) of the (\w+)", line):
            place = f"{put[2]}, {put[1]}"
        else:
            continue
        believed = place if place.startswith(f"{room},") else believed
        lines.append(f"- {person}: {room}; {thing}: {place}; belief: {believed}")
    return "\n".join(lines)


def countdown(prompt: str) -> str:
    (key,) = re.findall(r"Solve puzzle (\w+):", prompt)
    puzzle = re.search(rf"^Puzzle {key}: the numbers ([\d, ]+), the target (\d+)\.$", prompt, re.MULTILINE)
    equations = solution([int(number) for number in puzzle[1].split(", ")], int(puzzle[2])) if puzzle else None
    return "\n".join(("<Solution>", *(equations or ()), "</Solution>"))


def oolong(prompt: str) -> str:
    context, _, question = prompt.rpartition("\n\nConsider only ")
    subject_of = {text: subject for subject, texts in SUBJECTS["en"].items() for text in texts}
    messages = re.findall(r"^Date: (\S+) \|\| User: (\d+) \|\| Message: [^,]+, (.*)\.$", context, re.MULTILINE)
    (asked,) = re.findall(r"^the messages of the (?:users|dates) ([\d, -]+)\.", question)
    kept = [
        (day, user, subject_of.get(text, "")) for day, user, text in messages if {day, user} & set(asked.split(", "))
    ]
    if "most frequent" in question:
        column = ("date", "user", "subject").index(re.findall(r"Which (\w+) is", question)[0])
        about = re.findall(r"among messages about (\w+)", question)
        counts = Counter(message[column] for message in kept if not about or message[2] in about)
        return f"Answer: {counts.most_common(1)[0][0] if counts else 'none'}"

    options = re.findall(r"are about (\w+)(?: and of (?:user )?([\d-]+))?", question)
    first, *rest = (
        sum(about == subject and (not of or of in (day, user)) for day, user, about in kept) for subject, of in options
    )
    return f"Answer: {RELATIONS[(first < rest[0]) + 2 * (first == rest[0])] if rest else first}"


def blind_to_subjects(prompt: str) -> str:
    """What a reader of dates and users alone says of Oolong: numbers of messages, whatever they are about."""
    context, _, question = prompt.rpartition("\n\nConsider only ")
    (asked,) = re.findall(r"^the messages of the (?:users|dates) ([\d, -]+)\.", question)
    named = asked.split(", ")
    counts = Counter(
        field for fields in re.findall(r"^Date: (\S+) \|\| User: (\d+)", context, re.MULTILINE) for field in fields
    )
    options = [of for of in re.findall(r"are about \w+(?: and of (?:user )?([\d-]+))?", question) if of]
    in_all = sum(counts[name] for name in named)
    if "most frequent" in question:
        return max(named, key=lambda name: counts[name]) if "among" in question else "food"
    if "more common" in question:
        first, second = (counts[name] for name in options) if options else (in_all, 2 * MOST)
        return RELATIONS[(first < second) + 2 * (first == second)]
    return str(counts[options[0]] if options else in_all)


SOLVED: Mapping[str, Callable[[int, int, int], int]] = {
    "sum": lambda x, y, z: x + y,
    "difference": lambda x, y, z: x - y,
    "product": lambda x, y, z: x * y,
    "quotient": lambda x, y, z: x // y,
    "double": lambda x, y, z: 3 * x,
    "change": lambda x, y, z: z - x * y,
    "row": lambda x, y, z: 2 * z - y,
    "fence": lambda x, y, z: 2 * (x + y),
    "mean": lambda x, y, z: (x + y + z) // 3,
    "age": lambda x, y, z: y - x - z,
    "walk": lambda x, y, z: x * y + z,
    "half": lambda x, y, z: x // 2 - y,
}


def letter(question: str) -> str:
    """The letter of the right answer to a question of RULERv2, from its text alone."""
    for kind, solve in SOLVED.items():
        text = f"{TEXTS['en'][kind]} {TEXTS['en'][f'{kind}_asked']}"
        seen: set[str] = set()
        pattern = ""
        for at, part in enumerate(re.split(r"\{(\w+)\}", text)):
            group = f"(?P<{part}>\\d+)" if part in "xyz" else f"(?P<{part}>\\w+)"
            pattern += re.escape(part) if at % 2 == 0 else f"(?P={part})" if part in seen else group
            seen |= {part} if at % 2 else set()
        if match := re.match(pattern, question):
            x, y, z = (int(match.groupdict().get(name) or 0) for name in "xyz")
            options = re.findall(r"([A-D])\. (\d+)", question)
            return next((name for name, value in options if int(value) == solve(x, y, z)), "none")
    return "none"


def numbered_questions(prompt: str) -> str:
    body = re.split(r"\n\n(?:This is how|Copy question|There are several)", prompt)[0]
    questions = re.findall(r"^Question (\d+): (.*)$", body, re.MULTILINE)
    task = prompt.rpartition("\n\n")[2]
    (number,) = re.findall(r"(?:question|number) (\d{7})", task)
    texts = [text for other, text in questions if other == number]
    if "right answer" in task:
        return f"\\boxed{{{letter(texts[0]) if texts else 'none'}}}"
    if ordinal := re.search(r"opy the (\w+) one", task):
        return texts[LAST[ordinal[1]]] if LAST[ordinal[1]] < len(texts) else "none"
    return "\n\n".join(texts)


def numbered_documents(prompt: str) -> str:
    body, _, task = prompt.rpartition("\n\n")
    documents = re.findall(r"^Document (\d{7}):\n(.*)\n(.*)$", body, re.MULTILINE)
    by_title = {title: (number, text) for number, title, text in documents}
    if text := re.search(r"has this text\?\n(.*)\n(.*)\n", task):
        return next((number for number, *rest in documents if rest == [text[1], text[2]]), "none")
    asked = re.search(r"(river|bridge|name)[^?]* the town where ([\w ]+?) (was born|opened a workshop)", task)
    assert asked
    number, text = by_title.get(asked[2], ("", ""))
    if "number of the document" in task:
        return number or "none"
    home = re.search(r"Born in (\w+)" if asked[3] == "was born" else r"opened a workshop in (\w+)", text)
    patterns = {"river": r"on the river (\w+)", "bridge": r"built by (\w+ \w+) in", "name": r"named after (\w+ \w+),"}
    answer = re.search(patterns[asked[1]], by_title.get(home[1], ("", ""))[1]) if home else None
    return answer[1] if answer else "none"


def solver_of(task: str) -> Callable[[str], str]:
    """The reader of a task."""
    special = {
        "ruler_vt": variables,
        "ruler_cwe": common,
        "ruler_fwe": frequent,
        "longproc_path": path,
        "longproc_tom": tom,
        "longproc_countdown": countdown,
    }
    for family, solve in (("_niah_basic", retrieval), ("niah_", numbered_questions), ("2_qa_", numbered_documents)):
        if task.startswith("ruler2_") and family in task:
            return solve
    families = {
        "graphwalks": graphwalks,
        "mrcr": mrcr,
        "ruler": retrieval,
        "babilong": babilong,
        "nolima": nolima,
        "oolong": oolong,
    }
    return special.get(task) or families[task.partition("_")[0]]

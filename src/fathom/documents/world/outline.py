"""The plan of an article: sections to tell, questions to ask, and how to refer to the subject."""

from collections.abc import Mapping
from dataclasses import dataclass

from fathom.documents.world.draws import KeyedRandom
from fathom.documents.world.facts import Cluster, Name, Place
from fathom.documents.world.grammar import Grammar
from fathom.documents.world.prose import Beat, Section, Subject


@dataclass(frozen=True, slots=True)
class Need:
    """A value that the text under ``tag`` must state before a question about it is asked."""

    tag: str
    value: object
    how: str


@dataclass(frozen=True, slots=True)
class Ask:
    """A question: ``rule`` words it, ``answer`` is written as ``how`` specifies, ``needs`` is its evidence."""

    kind: str
    rule: str
    slots: Mapping[str, object]
    answer: object
    how: str
    needs: tuple[Need, ...]


@dataclass(frozen=True, slots=True)
class Outline:
    """The plan of one article; ``slots`` are the facts of its title and summary."""

    kind: str
    subject: Subject
    slots: Mapping[str, object]
    sections: tuple[Section, ...]
    asks: tuple[Ask, ...]


@dataclass(frozen=True, slots=True)
class Context:
    """The input of an outline: cluster, random generator and words of the language."""

    cluster: Cluster
    rng: KeyedRandom
    grammar: Grammar

    def person(self, name: Name, others: str, **slots: str) -> Subject:
        """Refer to a person."""
        pronouns = tuple(self.grammar.words(f"pronouns.{name.sex}"))
        return Subject(name.full, name.short, self._others(others, slots), _four(pronouns))

    def thing(self, full: str, short: str, others: str, **slots: str) -> Subject:
        """Refer to a place, a firm, an event or a piece of work."""
        return Subject(full, short, self._others(others, slots), _four(self.grammar.words("pronouns.it")))

    def _others(self, rule: str, slots: Mapping[str, str]) -> tuple[str, ...]:
        return tuple(word.format(**slots) for word in self.grammar.words(rule))


def _four(words: tuple[str, ...]) -> tuple[str, str, str, str]:
    first, second, third, fourth = words
    return first, second, third, fourth


def beat(tag: str, rule: str = "", /, **slots: object) -> Beat:
    """Tell ``slots`` by ``rule``, or by the rule named like the tag."""
    return Beat(tag, rule or tag.partition(":")[0], slots)


def stated(kind: str, rule: str, tag: str, value: object, how: str = "text", /, **slots: object) -> Ask:
    """Ask for a value stated in the text."""
    return Ask(kind, rule, slots, value, how, (Need(tag, value, how),))


def derived(kind: str, rule: str, answer: object, how: str, /, *needs: Need, **slots: object) -> Ask:
    """Ask for something that follows from several values stated in the text."""
    return Ask(kind, rule, slots, answer, how, needs)


def scenes(context: Context, about: str, place: Place, count: int) -> list[Section]:
    """Descriptive paragraphs on what was seen, said and thought, for articles that have room.

    Args:
        context: The article's context.
        about: The subject: ``person``, ``place``, ``firm`` or ``event``.
    """
    rng = context.rng
    orders = (
        ("scene.weather", "scene.street", f"voice.{about}"),
        (f"voice.{about}", "voice.reply", "voice.judge"),
        ("scene.house", "scene.room", f"voice.{about}"),
        ("scene.market", "scene.people", "scene.weather"),
        ("letter.open", "letter.body", "letter.close"),
        ("scene.walk", "scene.river", "scene.street"),
        ("scene.people", f"voice.{about}", "voice.reply"),
        ("scene.paper", f"voice.{about}", "voice.judge"),
    )
    drawn = [order for _ in range(count // len(orders) + 1) for order in rng.shuffled(orders)][:count]
    return [Section(tuple(beat("scene", rule, place=place) for rule in order)) for order in drawn]


def asides(context: Context, *mentioned: object) -> list[Section]:
    """A paragraph on other people, firms, events and works of the cluster, with facts from their articles.

    Args:
        context: The article's context.
        mentioned: Names already mentioned in the article.
    """
    cluster, rng = context.cluster, context.rng
    beats = [beat("aside", "aside.person", p=person) for person in cluster.people if person.name not in mentioned]
    beats += [beat("aside", "aside.firm", f=firm) for firm in cluster.firms if firm.name not in mentioned]
    beats += [beat("aside", "aside.event", e=event) for event in cluster.events if event.name not in mentioned]
    beats += [beat("aside", "aside.built", h=work) for work in cluster.chronicles if work.name not in mentioned]
    drawn = rng.shuffled(beats)
    return [Section(tuple(drawn[:2]))]

"""A partial scene graph of a picture, put together from its answered questions: evidence where no graph was
published (GQA's testdev).

The graph keeps with every fact the questions that state it, so that any of them can be left out again. Facts
that contradict each other are listed, and neither is believed.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from types import MappingProxyType

from pipeline.core.records import Question, Record, Split
from pipeline.judge.facts import POSITIONS, Facts, Thing, Triple, deny, relate
from pipeline.judge.statements import Statement, stated
from pipeline.words.lexicon import OVERLAPPING, Lexicon, singular

Stated = Mapping[Statement, Collection[str]]  # with the ids of the questions that state it


class Fact(Record):
    """Something said: a name, an attribute of a `type`, a relation to `object_id`. `holds` is false when it was
    said not to be so. `questions` are the ids of those that state it."""

    value: str
    type: str = ""
    object_id: str = ""
    holds: bool = True
    questions: tuple[str, ...] = ()


class KnownObject(Record):
    """An object as far as known. `none` are things that do not exist, in GQA's spelling: "cup,on,s" of a table
    says that no cup is on it."""

    object_id: str
    names: tuple[Fact, ...] = ()
    attributes: tuple[Fact, ...] = ()
    relations: tuple[Fact, ...] = ()
    none: tuple[Fact, ...] = ()


class Contradiction(Record):
    """Facts that do not go together: of an object, or ("") of the whole picture. `believed`: they are kept all
    the same, as a thing may have two colours."""

    object_id: str
    what: str
    questions: tuple[str, ...]
    believed: bool = False


class Reconstructed(Record):
    """A partial graph. It is no published graph: what is missing in it was just not asked.

    Attributes:
        reconstructed: always true. questions: how many questions it rests on.
        scene: place, weather, location. absent: names of which the picture has none. alone: names said without
            more ("the cup"): there is one of them, or all are alike.
    """

    picture_id: str
    split: Split
    questions: int
    objects: tuple[KnownObject, ...]
    reconstructed: bool = True
    scene: tuple[Fact, ...] = ()
    absent: tuple[Fact, ...] = ()
    alone: tuple[Fact, ...] = ()
    contradictions: tuple[Contradiction, ...] = ()


def reconstruct(questions: Iterable[Question], lexicon: Lexicon) -> Reconstructed | None:
    """The partial graph of the one picture that all these questions are about; None when none of them has a
    program and an answer."""
    answered = [question for question in questions if question.program and question.answer.strip()]
    if not answered:
        return None
    found: dict[Statement, list[str]] = {}
    for question in sorted(answered, key=lambda question: question.question_id):
        for statement in stated(question):
            found.setdefault(statement, []).append(question.question_id)
    _, contradictions = believe(found, lexicon)
    return _graph(answered, found, contradictions)


def facts_known(
    graph: Reconstructed, lexicon: Lexicon, without: Collection[str] = frozenset(), complete: bool = False
) -> Facts:
    """The facts of a partial graph, for the judge.

    Args:
        without: ids of questions; what no other question states is left out.
        complete: as if the graph told everything there is: only for rehearsing without people.
    """
    return believe(left(dict(statements_of(graph)), without), lexicon, complete)[0]


class Known:
    """A partial graph made ready to be asked for its facts again and again, each time without other questions."""

    def __init__(self, graph: Reconstructed, lexicon: Lexicon) -> None:
        self.said, self.lexicon = dict(statements_of(graph)), lexicon
        self.things = {thing.object_id: thing for thing in believe(self.said, lexicon)[0].things}
        self.about: dict[str, set[str]] = {}  # question -> the objects of which it states something
        for statement, questions in self.said.items():
            for key in questions:
                self.about.setdefault(key, set()).update((statement.subject, statement.other))

    def facts(self, without: Collection[str]) -> Facts:
        """What other questions than these state. Objects of which they state nothing are taken as they are."""
        touched = {object_id for key in without for object_id in self.about.get(key, ())}
        same = {key: thing for key, thing in self.things.items() if key not in touched}
        return believe(left(self.said, without), self.lexicon, same=same)[0]


def left(said: Stated, without: Collection[str]) -> Stated:
    """What other questions than these state."""
    if not without:
        return said
    return {one: by for one, keys in said.items() if (by := [key for key in keys if key not in without])}


def statements_of(graph: Reconstructed) -> Iterator[tuple[Statement, tuple[str, ...]]]:
    """The facts of a graph one by one, with the questions that state them."""
    for thing in graph.objects:
        for kind, facts in (
            ("name", thing.names),
            ("attribute", thing.attributes),
            ("relation", thing.relations),
            ("none", thing.none),
        ):
            for fact in facts:
                said = Statement(kind, thing.object_id, fact.type, fact.value, fact.object_id, fact.holds)
                yield said, fact.questions
    for kind, facts in (("scene", graph.scene), ("absent", graph.absent), ("alone", graph.alone)):
        for fact in facts:
            yield Statement(kind, "", fact.type, fact.value, holds=fact.holds), fact.questions


def _graph(
    answered: list[Question], found: Mapping[Statement, list[str]], contradictions: list[Contradiction]
) -> Reconstructed:
    rows: dict[tuple[str, str], list[Fact]] = {}
    for said, questions in sorted(found.items()):
        fact = Fact(
            value=said.value,
            type=said.type,
            object_id=said.other,
            holds=said.holds,
            questions=tuple(questions),
        )
        rows.setdefault((said.kind, said.subject), []).append(fact)

    def of(kind: str, subject: str = "") -> tuple[Fact, ...]:
        return tuple(rows.get((kind, subject), ()))

    return Reconstructed(
        picture_id=answered[0].picture_id,
        split=answered[0].split,
        questions=len(answered),
        objects=tuple(
            KnownObject(
                object_id=key,
                names=of("name", key),
                attributes=of("attribute", key),
                relations=of("relation", key),
                none=of("none", key),
            )
            for key in sorted({said.subject for said in found} | {said.other for said in found} - {""})
            if key
        ),
        scene=of("scene"),
        absent=of("absent"),
        alone=of("alone"),
        contradictions=tuple(contradictions),
    )


def believe(
    stated: Stated, lexicon: Lexicon, complete: bool = False, same: Mapping[str, Thing] = MappingProxyType({})
) -> tuple[Facts, list[Contradiction]]:
    """What is believed of all that was stated, and what contradicts itself.

    Args:
        same: objects, by id, that are known to come out like this; their contradictions are not looked for.
    """
    found = _Believing(stated, lexicon)
    things = found.things(same)
    related, denied = found.relations(things)
    alone = (
        frozenset(  # "the person" may be the only one so called, and women beside; "What person is this?" not
            said.value
            for said in stated
            if said.kind == "alone" and (said.type == "kind" or said.value not in lexicon.categories)
        )
    )
    facts = Facts(
        source="other questions",
        complete=complete,
        lexicon=lexicon,
        things=[things[key] for key in sorted(things)],
        related=related,
        denied=denied,
        scene=found.scene(),
        absent=found.absent(things),
        closed=alone,
    )
    return facts, found.contradictions


class _Believing:
    """Goes through the statements kind by kind and notes what contradicts itself."""

    def __init__(self, stated: Stated, lexicon: Lexicon) -> None:
        self.stated, self.lexicon = stated, lexicon
        self.of: dict[str, list[Statement]] = {}
        for said in stated:
            self.of.setdefault(said.kind, []).append(said)
        self.contradictions: list[Contradiction] = []

    def _against(self, said: Iterable[Statement], what: str, believed: bool = False) -> None:
        said = list(said)
        questions = tuple(sorted({key for one in said for key in self.stated[one]}))
        about = said[0].subject if len({one.subject for one in said}) == 1 else ""
        self.contradictions.append(
            Contradiction(object_id=about, what=what, questions=questions, believed=believed)
        )

    def things(self, same: Mapping[str, Thing]) -> dict[str, Thing]:
        called: dict[
            str, dict[str, list[str]]
        ] = {}  # object -> singular name -> as written, for each question
        for said in self.of.get("name", ()):
            if said.subject in same:
                continue
            words = called.setdefault(said.subject, {})
            if said.value:
                words.setdefault(singular(said.value), []).extend([said.value] * len(self.stated[said]))
        for said in self.of.get("relation", ()):
            for key in (said.subject, said.other):
                if key not in same:
                    called.setdefault(key, {})
        things = {key: self._thing(key, words) for key, words in called.items()}
        self._attributes(things)
        return {**same, **things}

    def _thing(self, key: str, words: Mapping[str, list[str]]) -> Thing:
        """The particular names first, of these the one said most often."""
        groups = (
            frozenset().union(*(self.lexicon.groups(word) for word in words)) | self.lexicon.categories.keys()
        )
        often = sorted(words, key=lambda word: (-len(words[word]), word))
        particular = [word for word in often if word not in groups]
        label = max(sorted(set(words[particular[0]])), key=words[particular[0]].count) if particular else ""
        return Thing(key, (*particular, *(word for word in often if word in groups)), label)

    def _attributes(self, things: Mapping[str, Thing]) -> None:
        by_value: dict[tuple[str, str], list[Statement]] = {}
        for said in self.of.get("attribute", ()):
            if said.subject not in things:
                continue
            by_value.setdefault((said.subject, said.value), []).append(said)
        placed: dict[tuple[str, str], list[Statement]] = {}
        typed: dict[tuple[str, str], list[Statement]] = {}
        for (key, value), rows in by_value.items():
            if rows[0].type in POSITIONS:
                placed.setdefault((key, rows[0].type), []).extend(rows)
                continue
            if len({said.holds for said in rows}) == 2:
                self._against(rows, f"{value}, and not {value}")
                continue
            type_ = next((said.type for said in rows if said.type), "") or self.lexicon.type_of(value)
            if rows[0].holds:
                things[key].attributes[value] = type_
                typed.setdefault((key, type_), []).extend(rows)
            else:
                things[key].denied.add(value)
        for (key, type_), rows in placed.items():
            possible = frozenset(POSITIONS[type_])
            for said in rows:
                possible &= {said.value} if said.holds else possible - {said.value}
            if possible:
                things[key].positions[type_] = possible
            else:
                self._against(rows, f"{type_}: " + ", ".join(_in_words(rows)))
        for (_, type_), rows in typed.items():
            if type_ not in OVERLAPPING and len({said.value for said in rows}) > 1:
                self._against(rows, f"{type_}: " + " and ".join(_in_words(rows)), believed=True)

    def relations(self, things: Mapping[str, Thing]) -> tuple[set[Triple], set[Triple]]:
        """Triples that hold and triples that do not, with what follows from them."""
        held: dict[Triple, list[Statement]] = {}
        against: dict[Triple, list[Statement]] = {}
        for said in self.of.get("relation", ()):
            related: set[Triple] = set()
            denied: set[Triple] = set()
            if said.holds:
                relate(related, denied, said.subject, said.value, said.other)
            else:
                deny(denied, said.subject, said.value, said.other)
            for triple in related:
                held.setdefault(triple, []).append(said)
            for triple in denied:
                against.setdefault(triple, []).append(said)
        for said in self.of.get("none", ()):
            name, relation, role = said.value.rsplit(",", 2)
            for thing in things.values():
                if thing.object_id != said.subject and self._answers_to(thing, name):
                    denied = set()
                    pair = (thing.object_id, said.subject) if role == "s" else (said.subject, thing.object_id)
                    deny(denied, pair[0], relation, pair[1])
                    for triple in denied:
                        against.setdefault(triple, []).append(said)
        both = held.keys() & against.keys()
        told: set[frozenset[Statement]] = set()
        for triple in sorted(both):
            rows = frozenset(held[triple]) | frozenset(against[triple])
            if rows not in told:
                told.add(rows)
                self._against(sorted(rows), f"{triple[0]} {triple[1]} {triple[2]}, and not")
        return set(held) - both, set(against) - both

    def scene(self) -> dict[str, str]:
        by_type: dict[str, list[Statement]] = {}
        for said in self.of.get("scene", ()):
            by_type.setdefault(said.type, []).append(said)
        known = {}
        for type_, rows in by_type.items():
            values = {said.value for said in rows if said.holds}
            if len(values) > 1 or values & {said.value for said in rows if not said.holds}:
                self._against(rows, f"{type_}: " + ", ".join(_in_words(rows)))
            elif values:
                (known[type_],) = values
        return known

    def absent(self, things: Mapping[str, Thing]) -> set[str]:
        found = set()
        for said in self.of.get("absent", ()):
            there = [thing for thing in things.values() if self._answers_to(thing, said.value)]
            if there:
                names = [
                    one for one in self.of["name"] if one.subject in {thing.object_id for thing in there}
                ]
                self._against([said, *names], f"no {said.value}, and {there[0].label or there[0].names[0]}")
            else:
                found.add(said.value)
        return found

    def _answers_to(self, thing: Thing, name: str) -> bool:
        return self.lexicon.is_one(thing.names, name)


def _in_words(rows: Iterable[Statement]) -> list[str]:
    return sorted({said.value if said.holds else f"not {said.value}" for said in rows})

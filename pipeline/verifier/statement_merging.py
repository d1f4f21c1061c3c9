"""What is believed of all that was stated of a picture, and what contradicts itself."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping

from pipeline.core.jsonl_index import grouped
from pipeline.core.records import Record
from pipeline.language.functional_programs import OVERLAPPING, POSITIONS, ZONES
from pipeline.language.lexicon import Lexicon
from pipeline.language.nouns import lemma
from pipeline.verifier.evidence import Facts, Triple, excluded_by, holding, with_inverse
from pipeline.verifier.known_objects import Thing
from pipeline.verifier.statements import Kind, Statement

Stated = Mapping[Statement, Collection[str]]  # with the ids of the questions that state it


class Contradiction(Record):
    """Facts that do not go together: of an object, or ("") of the whole picture. `believed`: they are kept all
    the same, as a thing may have two colours."""

    object_id: str
    what: str
    questions: tuple[str, ...]
    believed: bool = False


def believe(stated: Stated, lexicon: Lexicon, complete: bool = False) -> tuple[Facts, list[Contradiction]]:
    """What is believed of all that was stated, and what contradicts itself."""
    belief = _Belief(stated, lexicon)
    things = belief.things()
    related, denied = belief.relations(things)
    facts = Facts(
        source="other questions",
        complete=complete,
        lexicon=lexicon,
        things=tuple(things[key] for key in sorted(things)),
        related=related,
        denied=denied,
        scene=belief.scene(),
        absent=belief.absent(things),
        closed=frozenset(s.value for s in belief.of["alone"]),
    )
    return facts, belief.contradictions


class _Belief:
    """Goes through the statements kind by kind and notes what contradicts itself."""

    def __init__(self, stated: Stated, lexicon: Lexicon) -> None:
        self.stated, self.lexicon = stated, lexicon
        self.of: Mapping[Kind, list[Statement]] = grouped(stated, lambda s: s.kind)
        self.contradictions: list[Contradiction] = []

    def _against(self, statements: Collection[Statement], what: str, believed: bool = False) -> None:
        questions = tuple(sorted({key for statement in statements for key in self.stated[statement]}))
        subjects = {statement.subject for statement in statements}
        about = subjects.pop() if len(subjects) == 1 else ""
        fault = Contradiction(object_id=about, what=what, questions=questions, believed=believed)
        self.contradictions.append(fault)

    def things(self) -> dict[str, Thing]:
        called: defaultdict[str, list[str]] = defaultdict(list)  # object -> its names, once for each question
        for name in self.of["name"]:
            called[name.subject] += [name.value] * len(self.stated[name]) if name.value else []
        for relation in self.of["relation"]:
            for key in (relation.subject, relation.other):
                called[key] += []
        things = {key: self._thing(key, names) for key, names in called.items()}
        self._attributes(things)
        return things

    def _thing(self, key: str, names: list[str]) -> Thing:
        """The particular names first, of these the one said most often."""
        said = Counter(map(lemma, names))
        groups = frozenset(self.lexicon.categories).union(*map(self.lexicon.groups, said))
        often = sorted(said, key=lambda word: (word in groups, -said[word], word))
        label = ""
        if often and often[0] not in groups:
            written = (name for name in names if lemma(name) == often[0])
            label = min(written, key=lambda name: (-names.count(name), name))
        return Thing(key, tuple(often), label)

    def _attributes(self, things: Mapping[str, Thing]) -> None:
        told = (a for a in self.of["attribute"] if a.subject in things)
        placed: defaultdict[tuple[str, str], list[Statement]] = defaultdict(list)
        typed: defaultdict[tuple[str, str], list[Statement]] = defaultdict(list)
        for (key, value), statements in grouped(told, lambda a: (a.subject, a.value)).items():
            type_ = next((a.type for a in statements if a.type), "") or self.lexicon.type_of(value)
            if statements[0].type in POSITIONS:
                placed[key, statements[0].type] += statements
            elif len({a.holds for a in statements}) == 2:
                self._against(statements, f"{value}, and not {value}")
            elif statements[0].holds:
                things[key].attributes[value] = type_
                typed[key, type_] += statements
            else:
                things[key].denied.add(value)
        for (key, type_), statements in placed.items():
            possible = frozenset(ZONES[type_])
            for a in statements:
                possible &= {a.value} if a.holds else possible - {a.value}
            if possible:
                things[key].positions[type_] = possible
            else:
                self._against(statements, f"{type_}: " + ", ".join(_in_words(statements)))
        for (_, type_), statements in typed.items():
            if type_ not in OVERLAPPING and len({a.value for a in statements}) > 1:
                self._against(statements, f"{type_}: " + " and ".join(_in_words(statements)), believed=True)

    def relations(self, things: Mapping[str, Thing]) -> tuple[set[Triple], set[Triple]]:
        """Triples that hold and triples that do not, with what follows from them."""
        held: defaultdict[Triple, set[Statement]] = defaultdict(set)
        against: defaultdict[Triple, set[Statement]] = defaultdict(set)
        for relation in self.of["relation"]:
            related = relation.subject, relation.value, relation.other
            for triple in holding(*related) if relation.holds else ():
                held[triple].add(relation)
            for triple in excluded_by(*related) if relation.holds else with_inverse(*related):
                against[triple].add(relation)
        for none in self.of["none"]:
            name, word, role = none.value.rsplit(",", 2)
            for key, thing in things.items():
                if key != none.subject and self.lexicon.is_one(thing.names, name):
                    subject, other = (key, none.subject) if role == "s" else (none.subject, key)
                    for triple in with_inverse(subject, word, other):
                        against[triple].add(none)
        both = held.keys() & against.keys()
        listed: dict[frozenset[Statement], Triple] = {}
        for triple in sorted(both):
            listed.setdefault(frozenset(held[triple] | against[triple]), triple)
        for statements, triple in listed.items():
            self._against(statements, f"{triple[0]} {triple[1]} {triple[2]}, and not")
        return set(held) - both, set(against) - both

    def scene(self) -> dict[str, str]:
        known: dict[str, str] = {}
        for type_, statements in grouped(self.of["scene"], lambda s: s.type).items():
            values = {s.value for s in statements if s.holds}
            if len(values) > 1 or values & {s.value for s in statements if not s.holds}:
                self._against(statements, f"{type_}: " + ", ".join(_in_words(statements)))
            elif values:
                (known[type_],) = values
        return known

    def absent(self, things: Mapping[str, Thing]) -> frozenset[str]:
        names = set[str]()
        for absent in self.of["absent"]:
            there = {key: t for key, t in things.items() if self.lexicon.is_one(t.names, absent.value)}
            if there:
                called = [name for name in self.of["name"] if name.subject in there]
                first = next(iter(there.values()))
                self._against([absent, *called], f"no {absent.value}, and {first.label or first.names[0]}")
            else:
                names.add(absent.value)
        return frozenset(names)


def _in_words(statements: Iterable[Statement]) -> list[str]:
    return sorted({s.value if s.holds else f"not {s.value}" for s in statements})

"""What is believed of all that was stated of an image, and what contradicts itself."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping

from pipeline.core.jsonl_index import group_by
from pipeline.core.records import Record
from pipeline.language.functional_programs import MULTI_VALUED_TYPES, POSITION_TYPES, POSITION_VALUES
from pipeline.language.lexicon import Lexicon
from pipeline.language.nouns import lemmatize
from pipeline.verifier.evidence import (
    Evidence,
    Triple,
    get_contradicted_triples,
    get_entailed_triples,
    get_triple_and_inverse,
)
from pipeline.verifier.known_objects import ObjectEvidence
from pipeline.verifier.statements import Statement, StatementKind

StatementSources = Mapping[Statement, Collection[str]]  # with the ids of the questions that state it


class Contradiction(Record):
    """Facts that do not go together: of an object, or ("") of the whole image. `believed`: they are kept all
    the same, as a thing may have two colours."""

    object_id: str
    description: str
    question_ids: tuple[str, ...]
    is_kept: bool = False


def merge_statements(
    sources: StatementSources, lexicon: Lexicon, is_complete: bool = False
) -> tuple[Evidence, list[Contradiction]]:
    """What is believed of all that was stated, and what contradicts itself."""
    belief = _StatementMerger(sources, lexicon)
    things = belief.merge_objects()
    related, denied = belief.merge_relations(things)
    facts = Evidence(
        source="other questions",
        is_complete=is_complete,
        lexicon=lexicon,
        objects=tuple(things[key] for key in sorted(things)),
        relations=related,
        negated_relations=denied,
        scene=belief.merge_scene(),
        absent_names=belief.merge_absent_names(things),
        fully_listed_names=frozenset(s.value for s in belief.by_kind["alone"]),
    )
    return facts, belief.contradictions


class _StatementMerger:
    """Goes through the statements kind by kind and notes what contradicts itself."""

    def __init__(self, stated: StatementSources, lexicon: Lexicon) -> None:
        self.sources, self.lexicon = stated, lexicon
        self.by_kind: Mapping[StatementKind, list[Statement]] = group_by(stated, lambda s: s.kind)
        self.contradictions: list[Contradiction] = []

    def _add_contradiction(
        self, statements: Collection[Statement], what: str, believed: bool = False
    ) -> None:
        questions = tuple(sorted({key for statement in statements for key in self.sources[statement]}))
        subjects = {statement.subject for statement in statements}
        about = subjects.pop() if len(subjects) == 1 else ""
        fault = Contradiction(object_id=about, description=what, question_ids=questions, is_kept=believed)
        self.contradictions.append(fault)

    def merge_objects(self) -> dict[str, ObjectEvidence]:
        called: defaultdict[str, list[str]] = defaultdict(list)  # object -> its names, once for each question
        for name in self.by_kind["name"]:
            called[name.subject] += [name.value] * len(self.sources[name]) if name.value else []
        for relation in self.by_kind["relation"]:
            for key in (relation.subject, relation.other):
                called[key] += []
        things = {key: self._merge_names(key, names) for key, names in called.items()}
        self._merge_attributes(things)
        return things

    def _merge_names(self, key: str, names: list[str]) -> ObjectEvidence:
        """The particular names first, of these the one said most often."""
        said = Counter(map(lemmatize, names))
        groups = frozenset(self.lexicon.categories).union(*map(self.lexicon.get_hypernyms, said))
        often = sorted(said, key=lambda word: (word in groups, -said[word], word))
        label = ""
        if often and often[0] not in groups:
            written = (name for name in names if lemmatize(name) == often[0])
            label = min(written, key=lambda name: (-names.count(name), name))
        return ObjectEvidence(key, tuple(often), label)

    def _merge_attributes(self, things: Mapping[str, ObjectEvidence]) -> None:
        told = (a for a in self.by_kind["attribute"] if a.subject in things)
        placed: defaultdict[tuple[str, str], list[Statement]] = defaultdict(list)
        typed: defaultdict[tuple[str, str], list[Statement]] = defaultdict(list)
        for (key, value), statements in group_by(told, lambda a: (a.subject, a.value)).items():
            type_ = next((a.type for a in statements if a.type), "") or self.lexicon.get_attribute_type(value)
            if statements[0].type in POSITION_TYPES:
                placed[key, statements[0].type] += statements
            elif len({a.holds for a in statements}) == 2:
                self._add_contradiction(statements, f"{value}, and not {value}")
            elif statements[0].holds:
                things[key].attributes[value] = type_
                typed[key, type_] += statements
            else:
                things[key].negated_attributes.add(value)
        for (key, type_), statements in placed.items():
            possible = frozenset(POSITION_VALUES[type_])
            for a in statements:
                possible &= {a.value} if a.holds else possible - {a.value}
            if possible:
                things[key].possible_positions[type_] = possible
            else:
                self._add_contradiction(statements, f"{type_}: " + ", ".join(_format_values(statements)))
        for (_, type_), statements in typed.items():
            if type_ not in MULTI_VALUED_TYPES and len({a.value for a in statements}) > 1:
                self._add_contradiction(
                    statements, f"{type_}: " + " and ".join(_format_values(statements)), believed=True
                )

    def merge_relations(self, things: Mapping[str, ObjectEvidence]) -> tuple[set[Triple], set[Triple]]:
        """Triples that hold and triples that do not, with what follows from them."""
        held: defaultdict[Triple, set[Statement]] = defaultdict(set)
        against: defaultdict[Triple, set[Statement]] = defaultdict(set)
        for relation in self.by_kind["relation"]:
            related = relation.subject, relation.value, relation.other
            for triple in get_entailed_triples(*related) if relation.holds else ():
                held[triple].add(relation)
            for triple in (
                get_contradicted_triples(*related) if relation.holds else get_triple_and_inverse(*related)
            ):
                against[triple].add(relation)
        for none in self.by_kind["none"]:
            name, word, role = none.value.rsplit(",", 2)
            for key, thing in things.items():
                if key != none.subject and self.lexicon.is_a(thing.names, name):
                    subject, other = (key, none.subject) if role == "s" else (none.subject, key)
                    for triple in get_triple_and_inverse(subject, word, other):
                        against[triple].add(none)
        both = held.keys() & against.keys()
        listed: dict[frozenset[Statement], Triple] = {}
        for triple in sorted(both):
            listed.setdefault(frozenset(held[triple] | against[triple]), triple)
        for statements, triple in listed.items():
            self._add_contradiction(statements, f"{triple[0]} {triple[1]} {triple[2]}, and not")
        return set(held) - both, set(against) - both

    def merge_scene(self) -> dict[str, str]:
        known: dict[str, str] = {}
        for type_, statements in group_by(self.by_kind["scene"], lambda s: s.type).items():
            values = {s.value for s in statements if s.holds}
            if len(values) > 1 or values & {s.value for s in statements if not s.holds}:
                self._add_contradiction(statements, f"{type_}: " + ", ".join(_format_values(statements)))
            elif values:
                (known[type_],) = values
        return known

    def merge_absent_names(self, things: Mapping[str, ObjectEvidence]) -> frozenset[str]:
        names = set[str]()
        for absent in self.by_kind["absent"]:
            there = {key: t for key, t in things.items() if self.lexicon.is_a(t.names, absent.value)}
            if there:
                called = [name for name in self.by_kind["name"] if name.subject in there]
                first = next(iter(there.values()))
                self._add_contradiction(
                    [absent, *called], f"no {absent.value}, and {first.label or first.names[0]}"
                )
            else:
                names.add(absent.value)
        return frozenset(names)


def _format_values(statements: Iterable[Statement]) -> list[str]:
    return sorted({s.value if s.holds else f"not {s.value}" for s in statements})

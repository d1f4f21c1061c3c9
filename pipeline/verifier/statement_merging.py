"""Merge the statements about one image into evidence, and list the statements that contradict each other."""

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
    ObjectEvidence,
    Triple,
    get_contradicted_triples,
    get_entailed_triples,
    get_triple_and_inverse,
)
from pipeline.verifier.statements import Statement, StatementKind

# Statement -> the ids of the questions that make the statement.
StatementSources = Mapping[Statement, Collection[str]]


class Contradiction(Record):
    """Statements that contradict each other.

    Attributes:
        object_id: The object that all the statements are about, or "" if they are about the whole image or
            about several objects.
        description: The contradiction in words.
        question_ids: The ids of the questions that make the statements.
        is_kept: Whether all the statements are kept as facts. This is so for two values of one attribute
            type, because an object may have two colors.
    """

    object_id: str
    description: str
    question_ids: tuple[str, ...]
    is_kept: bool = False


def merge_statements(
    sources: StatementSources, lexicon: Lexicon, is_complete: bool = False
) -> tuple[Evidence, list[Contradiction]]:
    """Merge the statements about one image into evidence, and list their contradictions.

    Statements that contradict each other are not used, except where `Contradiction.is_kept` is true.

    Args:
        sources: The statements, each with the ids of the questions that make it.
        lexicon: The categories and attribute types of the data set.
        is_complete: Whether everything that is not stated is false.

    Returns:
        The evidence, and the contradictions.
    """
    merger = _StatementMerger(sources, lexicon)
    objects = merger.merge_objects()
    relations, negated_relations = merger.merge_relations(objects)
    evidence = Evidence(
        source="other questions",
        is_complete=is_complete,
        lexicon=lexicon,
        objects=tuple(objects[key] for key in sorted(objects)),
        relations=relations,
        negated_relations=negated_relations,
        scene=merger.merge_scene(),
        absent_names=merger.merge_absent_names(objects),
        fully_listed_names=frozenset(s.value for s in merger.by_kind["unique"]),
    )
    return evidence, merger.contradictions


class _StatementMerger:
    """Merge statements kind by kind and collect the contradictions."""

    def __init__(self, sources: StatementSources, lexicon: Lexicon) -> None:
        self.sources, self.lexicon = sources, lexicon
        self.by_kind: Mapping[StatementKind, list[Statement]] = group_by(sources, lambda s: s.kind)
        self.contradictions: list[Contradiction] = []

    def _add_contradiction(
        self, statements: Collection[Statement], description: str, is_kept: bool = False
    ) -> None:
        question_ids = tuple(sorted({key for statement in statements for key in self.sources[statement]}))
        subjects = {statement.subject for statement in statements}
        self.contradictions.append(
            Contradiction(
                object_id=subjects.pop() if len(subjects) == 1 else "",
                description=description,
                question_ids=question_ids,
                is_kept=is_kept,
            )
        )

    def merge_objects(self) -> dict[str, ObjectEvidence]:
        # Object id -> its names. A name is listed once for each question that uses it.
        names_by_object: defaultdict[str, list[str]] = defaultdict(list)
        for name in self.by_kind["name"]:
            names_by_object[name.subject] += [name.value] * len(self.sources[name]) if name.value else []
        for relation in self.by_kind["relation"]:
            for key in (relation.subject, relation.other):
                names_by_object[key] += []
        objects = {key: self._merge_names(key, names) for key, names in names_by_object.items()}
        self._merge_attributes(objects)
        return objects

    def _merge_names(self, key: str, names: list[str]) -> ObjectEvidence:
        """Return the object with its names in order: specific names before categories, then by frequency."""
        counts = Counter(map(lemmatize, names))
        categories = frozenset(self.lexicon.categories).union(*map(self.lexicon.get_hypernyms, counts))
        ordered = sorted(counts, key=lambda lemma: (lemma in categories, -counts[lemma], lemma))
        label = ""
        if ordered and ordered[0] not in categories:
            spellings = (name for name in names if lemmatize(name) == ordered[0])
            label = min(spellings, key=lambda name: (-names.count(name), name))
        return ObjectEvidence(key, tuple(ordered), label)

    def _merge_attributes(self, objects: Mapping[str, ObjectEvidence]) -> None:
        of_objects = (a for a in self.by_kind["attribute"] if a.subject in objects)
        by_position_type: defaultdict[tuple[str, str], list[Statement]] = defaultdict(list)
        by_attribute_type: defaultdict[tuple[str, str], list[Statement]] = defaultdict(list)
        for (key, value), statements in group_by(of_objects, lambda a: (a.subject, a.value)).items():
            type_ = next((a.type for a in statements if a.type), "") or self.lexicon.get_attribute_type(value)
            if statements[0].type in POSITION_TYPES:
                by_position_type[key, statements[0].type] += statements
            elif len({a.holds for a in statements}) == 2:
                self._add_contradiction(statements, f"{value}, and not {value}")
            elif statements[0].holds:
                objects[key].attributes[value] = type_
                by_attribute_type[key, type_] += statements
            else:
                objects[key].negated_attributes.add(value)
        for (key, type_), statements in by_position_type.items():
            possible = frozenset(POSITION_VALUES[type_])
            for a in statements:
                possible &= {a.value} if a.holds else possible - {a.value}
            if possible:
                objects[key].possible_positions[type_] = possible
            else:
                self._add_contradiction(statements, f"{type_}: " + ", ".join(_format_values(statements)))
        for (_, type_), statements in by_attribute_type.items():
            if type_ not in MULTI_VALUED_TYPES and len({a.value for a in statements}) > 1:
                self._add_contradiction(
                    statements, f"{type_}: " + " and ".join(_format_values(statements)), is_kept=True
                )

    def merge_relations(self, objects: Mapping[str, ObjectEvidence]) -> tuple[set[Triple], set[Triple]]:
        """Return the relations that hold and the relations that do not hold.

        Both include the relations that follow from the statements. Contradicted relations are in neither set.
        """
        supporting: defaultdict[Triple, set[Statement]] = defaultdict(set)
        opposing: defaultdict[Triple, set[Statement]] = defaultdict(set)
        for relation in self.by_kind["relation"]:
            triple_parts = relation.subject, relation.value, relation.other
            for triple in get_entailed_triples(*triple_parts) if relation.holds else ():
                supporting[triple].add(relation)
            for triple in (
                get_contradicted_triples(*triple_parts)
                if relation.holds
                else get_triple_and_inverse(*triple_parts)
            ):
                opposing[triple].add(relation)
        for absent in self.by_kind["absent_relation"]:
            name, relation_name, role = absent.value.rsplit(",", 2)
            for key, obj in objects.items():
                if key != absent.subject and self.lexicon.is_a(obj.names, name):
                    subject, other = (key, absent.subject) if role == "s" else (absent.subject, key)
                    for triple in get_triple_and_inverse(subject, relation_name, other):
                        opposing[triple].add(absent)
        contradicted = supporting.keys() & opposing.keys()
        # A relation and its inverse follow from the same statements. So each set of statements is listed as
        # one contradiction.
        examples: dict[frozenset[Statement], Triple] = {}
        for triple in sorted(contradicted):
            examples.setdefault(frozenset(supporting[triple] | opposing[triple]), triple)
        for statements, triple in examples.items():
            self._add_contradiction(statements, f"{triple[0]} {triple[1]} {triple[2]}, and not")
        return set(supporting) - contradicted, set(opposing) - contradicted

    def merge_scene(self) -> dict[str, str]:
        known: dict[str, str] = {}
        for type_, statements in group_by(self.by_kind["scene"], lambda s: s.type).items():
            values = {s.value for s in statements if s.holds}
            if len(values) > 1 or values & {s.value for s in statements if not s.holds}:
                self._add_contradiction(statements, f"{type_}: " + ", ".join(_format_values(statements)))
            elif values:
                (known[type_],) = values
        return known

    def merge_absent_names(self, objects: Mapping[str, ObjectEvidence]) -> frozenset[str]:
        names = set[str]()
        for absent in self.by_kind["absent"]:
            present = {key: obj for key, obj in objects.items() if self.lexicon.is_a(obj.names, absent.value)}
            if present:
                name_statements = [name for name in self.by_kind["name"] if name.subject in present]
                first = next(iter(present.values()))
                self._add_contradiction(
                    [absent, *name_statements], f"no {absent.value}, and {first.label or first.names[0]}"
                )
            else:
                names.add(absent.value)
        return frozenset(names)


def _format_values(statements: Iterable[Statement]) -> list[str]:
    return sorted({s.value if s.holds else f"not {s.value}" for s in statements})

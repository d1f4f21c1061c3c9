"""Derive the default vocabulary from counts of Visual Genome and from questions of GQA.

    rgqa study derive-vocabulary visual-genome-counts gqa

The first folder holds tables of counts (`objects.tsv`, `attributes.tsv`, `object_color.tsv`, `object_material.tsv` and
`object_shape.tsv`). The second one holds GQA's questions of val and testdev in a folder
`questions1.2`. The two folders are needed only to derive the vocabulary again, because
`pipeline/verifier/default_vocabulary.json` is part of the project.

Objects and their colors, materials and shapes are counted in Visual Genome. The questions add types of attributes, categories,
relations, how often an object or attribute is presupposed, and which objects occur together. s that are not
everyday words according to WordNet are left out, because many of them are typing errors.
"""

from __future__ import annotations

import csv
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator
from pathlib import Path

import msgspec

from pipeline.core.atomic_files import write_text
from pipeline.core.errors import Problems, format_count
from pipeline.core.records import ObjectEntry, Question, Vocabulary
from pipeline.language.commonsense import get_type_by_value
from pipeline.language.lexicon import Lexicon
from pipeline.language.nouns import PLURAL_ONLY_NOUNS, get_grammatical_number, pluralize
from pipeline.language.object_taxonomy import get_main_kind
from pipeline.language.text_phrases import is_known_name
from pipeline.language.word_lists import FRAME_WORDS, UNINFORMATIVE_NAMES
from pipeline.sources.gqa_files import read_questions
from pipeline.verifier.partial_graphs import PartialGraph, build_partial_graph
from pipeline.verifier.vocabulary import (
    DEFAULT_VOCABULARY_PATH,
    VocabularyParams,
    add_object_counts,
    build_vocabulary,
)

_PROPERTY_FILES = {
    "color": "object_color.tsv",
    "material": "object_material.tsv",
    "shape": "object_shape.tsv",
}
# Minimum number of objects with a known color for a name to be used. Rarer names contain typing errors.
MIN_COLORED_OBJECTS = 40
# Values that the tables spell differently from GQA.
_VALUE_NAMES = {
    "rectangle": "rectangular",
    "triangle": "triangular",
    "circle": "round",
    "octagon": "octagonal",
}
# Attributes whose type the questions state by mistake ("taking bath" is no size).
_WRONG_TYPES = frozenset(
    (
        "brushing teeth",
        "dry",
        "performing trick",
        "taking a picture",
        "taking bath",
        "taking pictures",
        "tinted",
    )
)
_NO_NAMES = frozenset(
    ("leave", "design", "dash", "pull", "snap", "flush", "lot", "home", "female", "male", "notice")
)


def derive_vocabulary(counts_folder: Path, questions_folder: Path) -> str:
    """Write the default vocabulary.

    Args:
        counts_folder: the folder of the tables of counts.
        questions_folder: a source folder with GQA's questions of val and testdev.

    Returns:
        A message that says what was written.

    Raises:
        UserError: a file is missing or malformed.
    """
    questions = _read_questions(questions_folder)
    vocabulary = _count_questions(questions)
    objects, properties = _read_objects(counts_folder)
    vocabulary = _leave_out_slips(vocabulary)
    types = {value: type_ for value, type_ in get_type_by_value().items() if type_ in _GQA_TYPES}
    types |= vocabulary.attribute_types | {
        value: type_ for type_, values in properties.items() for value in values
    }
    for name, entry in vocabulary.objects.items():
        objects[name] = add_object_counts(objects.get(name), entry)
    attributes = Counter(vocabulary.attributes)
    attributes.update(_read_counts(counts_folder / "attributes.tsv", frozenset(types)))
    vocabulary = msgspec.structs.replace(
        vocabulary,
        objects=dict(sorted(objects.items())),
        attributes=dict(sorted(attributes.items())),
        attribute_types=dict(sorted(types.items())),
    )
    write_text(
        DEFAULT_VOCABULARY_PATH,
        msgspec.json.format(msgspec.json.encode(vocabulary), indent=0).decode() + "\n",
    )
    what = f"{format_count(len(objects), 'object name')}, {format_count(len(attributes), 'attribute')}"
    return f"derive-vocabulary: {what} -> {DEFAULT_VOCABULARY_PATH}"


_GQA_TYPES = frozenset(
    [
        "color",
        "material",
        "shape",
        "size",
        "age",
        "height",
        "length",
        "width",
        "thickness",
        "weight",
        "pattern",
        "pose",
        "activity",
        "cleanliness",
        "fatness",
        "weather",
    ]
) | {"face expression"}


def _leave_out_slips(vocabulary: Vocabulary) -> Vocabulary:
    """Return a vocabulary without names that start with an article and without types that the questions state by mistake."""
    return msgspec.structs.replace(
        vocabulary,
        objects={
            name: entry for name, entry in vocabulary.objects.items() if not name.startswith(("a ", "an "))
        },
        attribute_types={
            word: type_ for word, type_ in vocabulary.attribute_types.items() if word not in _WRONG_TYPES
        },
    )


def _read_questions(folder: Path) -> list[Question]:
    problems = Problems(str(folder))
    questions = list(read_questions(folder, ("val", "testdev"), problems))
    problems.raise_if_any()
    return questions


def _count_questions(questions: Collection[Question]) -> Vocabulary:
    def make_graphs(lexicon: Lexicon, _: Collection[str]) -> Iterator[PartialGraph]:
        by_image: defaultdict[str, list[Question]] = defaultdict(list)
        for question in questions:
            by_image[question.image_id].append(question)
        graphs = (build_partial_graph(by_image[image_id], lexicon) for image_id in sorted(by_image))
        return (graph for graph in graphs if graph)

    return build_vocabulary((), questions, VocabularyParams(use_default="never"), make_graphs)


def _read_objects(folder: Path) -> tuple[dict[str, ObjectEntry], dict[str, set[str]]]:
    """Return the objects by name with their attributes, and the values of each type."""
    attributes: defaultdict[str, Counter[str]] = defaultdict(Counter)
    values: defaultdict[str, set[str]] = defaultdict(set)
    colored: Counter[str] = Counter()
    for type_, file_name in _PROPERTY_FILES.items():
        for row in _read_rows(folder / file_name):
            name = _get_name(row.pop("object"))
            for value, count in row.items():
                value = _VALUE_NAMES.get(value, value)
                values[type_].add(value)
                if name and int(count):
                    attributes[name][value] += int(count)
                    colored[name] += int(count) * (type_ == "color")
    counted = {_get_name(row["name"]): int(row["count"]) for row in _read_rows(folder / "objects.tsv")}
    # Average number of objects per object with a stated color.
    ratio = sum(counted[name] for name in counted if colored[name]) / sum(colored[name] for name in counted)
    kept = {
        name
        for name in (*attributes, *counted)
        if name and (counted.get(name) or colored[name] >= MIN_COLORED_OBJECTS)
    }
    return {
        name: ObjectEntry(
            name=name,
            count=counted.get(name) or round(colored[name] * ratio),
            number=get_grammatical_number(name),
            attributes=dict(sorted(attributes[name].items())),
        )
        for name in sorted(kept)
    }, values


def _get_name(name: str) -> str:
    """Return the name of an object as GQA writes it, or "" if it is not an everyday name."""
    name = name.strip().lower()
    if pluralize(name) in PLURAL_ONLY_NOUNS or f"{name}s" in PLURAL_ONLY_NOUNS:
        name = f"{name}s"
    # Nearly every image with a person or a car shows their parts, so they are no good replacements.
    is_everyday = is_known_name(name) and get_main_kind(name) not in ("bodypart", "carpart")
    return name if is_everyday and name not in FRAME_WORDS | UNINFORMATIVE_NAMES | _NO_NAMES else ""


def _read_counts(path: Path, names: Collection[str]) -> dict[str, int]:
    return {row["name"]: int(row["count"]) for row in _read_rows(path) if row["name"] in names}


def _read_rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, delimiter="\t"))

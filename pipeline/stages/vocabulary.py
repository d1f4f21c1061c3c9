"""Collect what the pictures show: objects with their attributes and relations, categories, attribute types.

Reads   ingest/scenes.jsonl, ingest/questions.jsonl, ingest/unbalanced.jsonl
Writes  vocabulary.json       a Vocabulary
        reconstructed.jsonl   a partial graph of each picture that has questions but no published graph

Objects, attributes and relations are counted in the scene graphs. Where there is none, they are counted in
the partial graphs: what the answered questions say. Categories ("furniture") and types of attributes ("color")
come from the questions' programs.
"""

from __future__ import annotations

import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Annotated

import msgspec

from pipeline.core.errors import UserError, run
from pipeline.core.files import lines, replacing, write_json
from pipeline.core.parallel import Workers, processes
from pipeline.core.params import Params, load
from pipeline.core.paths import Folders
from pipeline.core.progress import done, track
from pipeline.core.records import ObjectEntry, Question, Scene, Vocabulary
from pipeline.core.rows import Groups, Joined, Records
from pipeline.counting.meanings import asked, attribute_types, categories, described
from pipeline.counting.seen import from_graphs, from_questions
from pipeline.judge.reconstruct import Reconstructed, reconstruct
from pipeline.programs.operations import Operation, parse
from pipeline.words.lexicon import Lexicon
from pipeline.words.nouns import number_of


class VocabularyParams(Params):
    """Parameters of vocabulary.

    Attributes:
        min_count: object names seen less often are left out (typing errors, one-off names).
        min_members: a name is a category from this many different members on.
    """

    min_count: Annotated[int, msgspec.Meta(ge=1)] = 1
    min_members: Annotated[int, msgspec.Meta(ge=1)] = 2


def collect(
    scenes: Iterable[Scene],
    questions: Iterable[Question],
    params: VocabularyParams,
    graphs: Callable[[Lexicon, Collection[str]], Iterable[Reconstructed]] | None = None,
) -> Vocabulary:
    """The vocabulary of graphs and questions.

    Args:
        scenes, questions: are gone through several times.
        graphs: makes the partial graphs, given the ids of the pictures that have a published one; by default of
            `questions`.

    Where there are neither graphs nor programs it is empty.

    Raises:
        UserError: graphs or programs are there, but name no object often enough.
    """
    programs = Programs(questions)
    names: dict[tuple[str, str], str] = {}
    published: set[str] = set()
    entries, places, weathers = from_graphs(_noted(scenes, names, published))
    types, alternatives = attribute_types(track(programs, "vocabulary: types", unit="question"))
    groups = categories(track(programs, "vocabulary: categories", unit="question"), names, params.min_members)
    lexicon = Lexicon(groups, types)
    told = graphs(lexicon, published) if graphs else _graphs_of(questions, lexicon)
    if not published:
        entries, places, weathers = from_questions(told, lexicon)
    kept = {name: entry for name, entry in sorted(entries.items()) if entry.count >= params.min_count}
    if not kept and (published or any(True for _ in programs)):
        raise UserError(
            f"the vocabulary is empty: {len(published):,} scene graphs and {sum(1 for _ in programs):,} programs of questions name "
            f"no object at least {params.min_count} times (vocabulary.min_count in params.yaml); lower it, or give more of either"
        )
    attributes: Counter[str] = Counter()
    relations: Counter[str] = Counter()
    for entry in kept.values():
        attributes.update(entry.attributes)
        relations.update(entry.subject_of)
    return Vocabulary(
        objects={
            name: ObjectEntry(
                name=name,
                count=entry.count,
                number=number_of(name),
                attributes=_sorted(entry.attributes),
                subject_of=_sorted(entry.subject_of),
                object_of=_sorted(entry.object_of),
            )
            for name, entry in kept.items()
        },
        attributes=_sorted(attributes),
        attribute_types=types,
        relations=_sorted(relations),
        categories=groups,
        places=_sorted(places),
        weathers=_sorted(weathers),
        alternatives=alternatives,
        asked=_sorted(asked(programs)),
        described=_sorted(described(programs)),
    )


class Programs:
    """The questions that have a program, with it; read anew whenever they are gone through."""

    def __init__(self, questions: Iterable[Question]) -> None:
        self._questions = questions

    def __iter__(self) -> Iterator[tuple[Question, tuple[Operation, ...]]]:
        return ((q, parse(q.program, q.question_id)) for q in self._questions if q.program)


def _noted(
    scenes: Iterable[Scene], names: dict[tuple[str, str], str], published: set[str]
) -> Iterator[Scene]:
    """The scenes; on the way their objects' names and their pictures are noted."""
    for scene in track(scenes, "vocabulary: scenes", unit="scene"):
        published.add(scene.picture_id)
        names.update(((scene.picture_id, thing.object_id), sys.intern(thing.name)) for thing in scene.objects)
        yield scene


def _graphs_of(questions: Iterable[Question], lexicon: Lexicon) -> Iterator[Reconstructed]:
    """The partial graphs of questions that are all in memory."""
    asked: dict[str, list[Question]] = defaultdict(list)
    for question in questions:
        asked[question.picture_id].append(question)
    return filter(None, (reconstruct(asked[picture_id], lexicon) for picture_id in sorted(asked)))


@dataclass(frozen=True, slots=True)
class Tables:
    """What a partial graph is made of: a picture's questions, unbalanced ones too, and the lexicon."""

    questions: Mapping[str, Sequence[Question]]
    lexicon: Lexicon

    @classmethod
    def read(cls, folders: Folders, lexicon: Lexicon) -> Tables:
        files = (folders.stage("ingest") / f"{name}.jsonl" for name in ("questions", "unbalanced"))
        return cls(Joined(*(Groups(file, Question, "picture_id") for file in files)), lexicon)


def graph_of(tables: Tables, picture_id: str) -> bytes:
    """The partial graph of one picture as a line; no line if its questions tell nothing."""
    graph = reconstruct(tables.questions[picture_id], tables.lexicon)
    return lines([graph] if graph else [])


def write_graphs(folders: Folders, lexicon: Lexicon, published: Collection[str]) -> Records[Reconstructed]:
    """Write the partial graphs of all pictures that have questions but no published graph, sorted by picture id."""
    path = folders.stage("vocabulary") / "reconstructed.jsonl"
    asked = Tables.read(folders, lexicon).questions
    pictures = sorted(picture_id for picture_id in asked if picture_id not in published)
    with (
        Workers(partial(Tables.read, folders, lexicon), processes(len(pictures))) as workers,
        replacing(path) as file,
    ):
        made = workers.map(graph_of, pictures)
        for line in track(made, "vocabulary: partial graphs", len(pictures), "picture"):
            file.write(line)
    return Records(path, Reconstructed)


def _sorted(counts: Mapping[str, int]) -> dict[str, int]:
    return dict(sorted(counts.items()))


def main() -> None:
    folders, params = Folders(), load("vocabulary", VocabularyParams)
    ingest, out = folders.stage("ingest"), folders.stage("vocabulary")
    scenes = Records(ingest / "scenes.jsonl", Scene)
    questions = Records(ingest / "questions.jsonl", Question)
    vocabulary = collect(scenes, questions, params, partial(write_graphs, folders))
    write_json(out / "vocabulary.json", vocabulary)
    if not vocabulary.objects:
        print(
            "warning: neither scene graphs nor programs of questions: no names of objects and attributes are known, so pt-easy "
            "stays empty and pt-hard has relations alone; graphs of other pictures will do (data/README.md)",
            file=sys.stderr,
        )
    done(
        "vocabulary",
        f"{len(vocabulary.objects):,} objects, {len(vocabulary.attributes):,} attributes, "
        f"{len(vocabulary.relations):,} relations, "
        f"{len(vocabulary.categories):,} categories",
        out,
    )


if __name__ == "__main__":
    run(main)

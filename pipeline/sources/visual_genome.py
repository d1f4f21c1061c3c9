"""Visual Genome's own scene graphs, with the noise that GQA cleaned, in GQA's form. GQA's train and val images
are Visual Genome's and have its ids. https://homes.cs.washington.edu/~ranjay/visualgenome/api.html

    scene_graphs.json   objects with names, boxes and (in some versions) attributes; relationships
    image_data.json     width and height of the images
    attributes.json     optional: attributes by object, for versions whose scene graphs have none

Names are in lower case and without spaces around, an object's first name is its name. Positions ("to the left of"),
of which GQA's graphs are full, are not in these.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated, TypeVar

import msgspec

from pipeline.core.atomic_files import atomic_write
from pipeline.core.duplicate_keys import find_duplicate_keys
from pipeline.core.errors import Problems, UserError
from pipeline.core.json_files import read_json
from pipeline.core.progress import track
from pipeline.core.records import Split
from pipeline.sources.gqa_files import GqaObject, GqaRelation, GqaSceneGraph, clip_boxes, find_size_errors
from pipeline.sources.large_json import DECODE_ERRORS, map_file, write_members
from pipeline.sources.source_folder import resolve_new_source_file

T = TypeVar("T")
R = TypeVar("R", "_ImageMetadata", "_ImageAttributes")


NonNegativeInt = Annotated[int, msgspec.Meta(ge=0)]
PositiveInt = Annotated[int, msgspec.Meta(ge=1)]


class _ImageMetadata(msgspec.Struct):
    image_id: NonNegativeInt
    width: PositiveInt
    height: PositiveInt


class _Object(msgspec.Struct):
    object_id: NonNegativeInt
    x: int
    y: int
    w: int
    h: int
    names: list[str] = []
    attributes: list[str] | None = None
    merged_object_ids: list[int] = []


class _Relationship(msgspec.Struct):
    predicate: str
    subject_id: int
    object_id: int


class _Graph(msgspec.Struct):
    image_id: NonNegativeInt
    objects: list[_Object]
    relationships: list[_Relationship] = []


class _ObjectAttributes(msgspec.Struct):
    object_id: int
    attributes: list[str] | None = None


class _ImageAttributes(msgspec.Struct):
    image_id: int
    attributes: msgspec.Raw


def read_scene_graphs(
    graph_file: Path,
    image_file: Path,
    problems: Problems,
    omitted_counts: Counter[str],
    attribute_file: Path | None = None,
) -> Iterator[tuple[str, GqaSceneGraph]]:
    """Image id and scene graph, in the file's order; what is wrong with one goes to `problems`, what GQA's form
    cannot hold is counted in `left_out`.

    Raises:
        UserError: a file is missing or of another form.
    """
    sizes = _index_by_image(read_json(image_file, list[_ImageMetadata]), image_file.name, problems)
    attribute_rows = _read_json_list(attribute_file, _ImageAttributes, "attributes") if attribute_file else []
    described = _index_by_image(attribute_rows, attribute_file.name if attribute_file else "", problems)
    graphs, attributes = msgspec.json.Decoder(_Graph), msgspec.json.Decoder(list[_ObjectAttributes])
    seen: set[int] = set()
    for number, raw in enumerate(_read_json_list(graph_file, msgspec.Raw, "scene graphs")):
        where = f"{graph_file.name}, graph {number}"
        try:
            graph = graphs.decode(raw)
            own = described[graph.image_id].attributes if graph.image_id in described else b"[]"
            extra = attributes.decode(own)
            twice = sorted({*find_duplicate_keys(bytes(raw)), *find_duplicate_keys(bytes(own))})
        except DECODE_ERRORS as error:
            problems.add(where, str(error))
            continue
        for key in twice:
            problems.add(where, f"the key {key} occurs more than once")
        if graph.image_id in seen:
            problems.add(where, f"image {graph.image_id} is in the file twice")
        seen.add(graph.image_id)
        if graph.image_id not in sizes:
            problems.add(where, f"image {graph.image_id} is not in {image_file.name}")
            continue
        size = sizes[graph.image_id]
        row = GqaSceneGraph(
            width=size.width, height=size.height, objects=_merge_objects(graph, extra, omitted_counts)
        )
        if faults := [*find_size_errors(row)]:
            for what in faults:
                problems.add(where, what)
            continue
        row, boxes = clip_boxes(row)
        omitted_counts["boxes clipped to their image"] += boxes
        yield str(graph.image_id), row


def _index_by_image(rows: Iterable[R], name: str, problems: Problems) -> dict[int, R]:
    """The rows by image; two different rows of one image are a problem."""
    found: dict[int, R] = {}
    for row in rows:
        if found.setdefault(row.image_id, row) != row:
            problems.add(
                f"{name}, image {row.image_id}", "it is there twice, with different content; keep one"
            )
    return found


def convert_scene_graphs(
    graph_file: Path, image_file: Path, dataset: str, split: Split, attribute_file: Path | None = None
) -> str:
    """Write the scene graphs as GQA's file of a split into a data set's source folder; say what was left out.

    Raises:
        UserError: lists all that is wrong; nothing is written then. A file that is there stays.
    """
    converted = resolve_new_source_file(dataset, f"sceneGraphs/{split}_sceneGraphs.json")
    problems, left_out = Problems(graph_file.name), Counter[str]()
    graphs = read_scene_graphs(graph_file, image_file, problems, left_out, attribute_file)
    with atomic_write(converted) as file:
        count = write_members(file, track(graphs, "convert: scene graphs", unit="graph"))
        problems.raise_if_any()
        if not count:
            raise UserError(f"{graph_file}: there is no scene graph in it")
    lost = "".join(f"; {what}: {number:,}" for what, number in sorted((+left_out).items()))
    return f"{count:,} scene graphs -> {converted}{lost}"


def _merge_objects(
    graph: _Graph, extra: list[_ObjectAttributes], left_out: Counter[str]
) -> dict[str, GqaObject]:
    """A graph's objects that have a name, by id; those that were merged into one count as that one. Of several that share an
    id nobody knows which one relations mean."""
    things = {thing.object_id: thing for thing in graph.objects}
    unclear = {thing.object_id for thing in graph.objects if thing != things[thing.object_id]}
    left_out["different objects of one id left out"] += sum(row.object_id in unclear for row in graph.objects)
    things = {object_id: thing for object_id, thing in things.items() if object_id not in unclear}
    named = {object_id: thing for object_id, thing in things.items() if _normalize_names(thing.names)}
    left_out["objects without a name left out"] += len(things) - len(named)
    now = {merged: thing.object_id for thing in named.values() for merged in thing.merged_object_ids}
    now |= {object_id: object_id for object_id in named}
    attributes = {object_id: list(thing.attributes or []) for object_id, thing in named.items()}
    for described in extra:
        if described.object_id in now:
            attributes[now[described.object_id]] += described.attributes or []
    relations: dict[int, dict[GqaRelation, None]] = {object_id: {} for object_id in named}
    for relation in graph.relationships:
        predicate = _normalize_names([relation.predicate])
        if predicate and relation.subject_id in now and relation.object_id in now:
            to = GqaRelation(name=predicate[0], object=str(now[relation.object_id]))
            relations[now[relation.subject_id]][to] = None
        else:
            left_out["relations without a name or an object left out"] += 1
    return {
        str(object_id): GqaObject(
            name=_normalize_names(thing.names)[0],
            x=thing.x,
            y=thing.y,
            w=thing.w,
            h=thing.h,
            attributes=tuple(dict.fromkeys(_normalize_names(attributes[object_id]))),
            relations=tuple(relations[object_id]),
        )
        for object_id, thing in named.items()
    }


def _normalize_names(names: Iterable[str]) -> list[str]:
    """Lower case, single spaces; empty ones go."""
    return [plain for name in names if (plain := " ".join(name.lower().split()))]


def _read_json_list(path: Path, kind: type[T], what: str) -> list[T]:
    """The rows of a JSON list, whose large parts stay undecoded: the files have up to 750 MB."""
    try:
        return msgspec.json.decode(map_file(path), type=list[kind])
    except FileNotFoundError:
        raise UserError(f"{path}: no such file") from None
    except (
        ValueError,
        OSError,
        RecursionError,
    ) as error:  # what mmap says of an empty file, and msgspec of a damaged one
        raise UserError(f"{path}: empty, cut off, or not a list of {what} ({error})") from error

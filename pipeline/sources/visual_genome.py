"""Convert scene graphs of Visual Genome to the format of GQA.

The train and val images of GQA are from Visual Genome and have the same ids, but GQA cleaned the scene
graphs. Format: https://homes.cs.washington.edu/~ranjay/visualgenome/api.html

    scene_graphs.json   objects with names, boxes and (in some versions) attributes; relationships
    image_data.json     width and height of the images
    attributes.json     optional: attributes by object, for versions whose scene graphs have none

Names are converted to lower case and stripped of blanks. If an object has several names, the first name is
used. Unlike the graphs of GQA, the graphs of Visual Genome have no positions ("to the left of").
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated, TypeVar

import msgspec

from pipeline.core.atomic_files import atomic_write
from pipeline.core.duplicate_keys import find_duplicate_keys
from pipeline.core.errors import Problems, UserError, format_count
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
    """Yield the id of each image and its scene graph, in the order of the file.

    Args:
        graph_file: scene_graphs.json.
        image_file: image_data.json.
        problems: Collects problems of graphs.
        omitted_counts: Counts what was omitted, because the format of GQA cannot represent it.
        attribute_file: attributes.json, for versions whose graphs have no attributes; None otherwise.

    Raises:
        UserError: A file is missing or has another format.
    """
    sizes = _index_by_image(read_json(image_file, list[_ImageMetadata]), image_file.name, problems)
    attribute_rows = _read_json_list(attribute_file, _ImageAttributes, "attributes") if attribute_file else []
    attributes_by_image = _index_by_image(
        attribute_rows, attribute_file.name if attribute_file else "", problems
    )
    graphs, attributes = msgspec.json.Decoder(_Graph), msgspec.json.Decoder(list[_ObjectAttributes])
    seen: set[int] = set()
    for index, raw in enumerate(_read_json_list(graph_file, msgspec.Raw, "scene graphs")):
        where = f"{graph_file.name}, graph {index}"
        try:
            graph = graphs.decode(raw)
            raw_attributes = (
                attributes_by_image[graph.image_id].attributes
                if graph.image_id in attributes_by_image
                else b"[]"
            )
            extra = attributes.decode(raw_attributes)
            duplicates = sorted(
                {*find_duplicate_keys(bytes(raw)), *find_duplicate_keys(bytes(raw_attributes))}
            )
        except DECODE_ERRORS as reason:
            problems.add(where, str(reason))
            continue
        for key in duplicates:
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
        if errors := [*find_size_errors(row)]:
            for error in errors:
                problems.add(where, error)
            continue
        row, boxes = clip_boxes(row)
        omitted_counts["boxes clipped to their image"] += boxes
        yield str(graph.image_id), row


def _index_by_image(rows: Iterable[R], name: str, problems: Problems) -> dict[int, R]:
    """Return rows by image id. Different rows for the same image are added to `problems`."""
    found: dict[int, R] = {}
    for row in rows:
        if found.setdefault(row.image_id, row) != row:
            problems.add(f"{name}, image {row.image_id}", "occurs twice with different content; keep one")
    return found


def convert_scene_graphs(
    graph_file: Path, image_file: Path, dataset: str, split: Split, attribute_file: Path | None = None
) -> str:
    """Write scene graphs in the format of GQA into the source folder of a data set.

    Args:
        graph_file: scene_graphs.json.
        image_file: image_data.json.
        dataset: Name of the data set.
        split: Split under which the graphs are stored.
        attribute_file: attributes.json, for versions whose graphs have no attributes; None otherwise.

    Returns:
        A message about what was written and what was omitted.

    Raises:
        UserError: Lists all problems, or says that the file already exists. In both cases nothing is written.
    """
    converted = resolve_new_source_file(dataset, f"sceneGraphs/{split}_sceneGraphs.json")
    problems, omitted = Problems(graph_file.name), Counter[str]()
    graphs = read_scene_graphs(graph_file, image_file, problems, omitted, attribute_file)
    with atomic_write(converted) as file:
        count = write_members(file, track(graphs, "convert: scene graphs", unit="graph"))
        problems.raise_if_any()
        if not count:
            raise UserError(f"{graph_file}: it has no scene graph")
    notes = "".join(f"; {what}: {number:,}" for what, number in sorted((+omitted).items()))
    return f"{format_count(count, 'scene graph')} -> {converted}{notes}"


def _merge_objects(
    graph: _Graph, extra: list[_ObjectAttributes], omitted_counts: Counter[str]
) -> dict[str, GqaObject]:
    """Return the named objects of a graph by id.

    Objects that Visual Genome merged are returned as one object.

    Different objects with the same id are omitted, because relations to such objects are ambiguous.

    Args:
        graph: The graph.
        extra: Further attributes of objects.
        omitted_counts: Counts what was omitted.
    """
    objects = {obj.object_id: obj for obj in graph.objects}
    ambiguous = {obj.object_id for obj in graph.objects if obj != objects[obj.object_id]}
    omitted_counts["different objects with the same id omitted"] += sum(
        row.object_id in ambiguous for row in graph.objects
    )
    objects = {object_id: obj for object_id, obj in objects.items() if object_id not in ambiguous}
    named = {object_id: obj for object_id, obj in objects.items() if _normalize_names(obj.names)}
    omitted_counts["objects without a name omitted"] += len(objects) - len(named)
    # Id of an object -> id of the object into which the object was merged, or the same id.
    target = {merged: obj.object_id for obj in named.values() for merged in obj.merged_object_ids}
    target |= {object_id: object_id for object_id in named}
    attributes = {object_id: list(obj.attributes or []) for object_id, obj in named.items()}
    for row in extra:
        if row.object_id in target:
            attributes[target[row.object_id]] += row.attributes or []
    relations: dict[int, dict[GqaRelation, None]] = {object_id: {} for object_id in named}
    for relation in graph.relationships:
        predicate = _normalize_names([relation.predicate])
        if predicate and relation.subject_id in target and relation.object_id in target:
            to = GqaRelation(name=predicate[0], object=str(target[relation.object_id]))
            relations[target[relation.subject_id]][to] = None
        else:
            omitted_counts["relations without a name or an object omitted"] += 1
    return {
        str(object_id): GqaObject(
            name=_normalize_names(obj.names)[0],
            x=obj.x,
            y=obj.y,
            w=obj.w,
            h=obj.h,
            attributes=tuple(dict.fromkeys(_normalize_names(attributes[object_id]))),
            relations=tuple(relations[object_id]),
        )
        for object_id, obj in named.items()
    }


def _normalize_names(names: Iterable[str]) -> list[str]:
    """Return names in lower case with single spaces. Empty names are left out."""
    return [plain for name in names if (plain := " ".join(name.lower().split()))]


def _read_json_list(path: Path, kind: type[T], label: str) -> list[T]:
    """Read a JSON list.

    Large parts of the rows stay undecoded (`msgspec.Raw`), because files have up to 750 MB.
    """
    try:
        return msgspec.json.decode(map_file(path), type=list[kind])
    except FileNotFoundError:
        raise UserError(f"{path}: no such file") from None
    # mmap raises a ValueError for an empty file, and msgspec raises one for a damaged file.
    except (ValueError, OSError, RecursionError) as error:
        raise UserError(f"{path}: empty, truncated, or not a list of {label} ({error})") from error

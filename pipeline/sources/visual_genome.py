"""Visual Genome's own scene graphs, with the noise that GQA cleaned: the same records. GQA's train and val pictures
are Visual Genome's and have its ids. https://homes.cs.washington.edu/~ranjay/visualgenome/api.html

    scene_graphs.json   objects with names, boxes and (in some versions) attributes; relationships
    image_data.json     width and height of the pictures
    attributes.json     optional: attributes by object, for versions whose scene graphs have none

Names are in lower case and without spaces around, an object's first name is its name. Positions ("to the left of"),
of which GQA's graphs are full, are not in these.
"""

from __future__ import annotations

import mmap
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TypeVar

import msgspec

from pipeline.core.errors import Problems, UserError
from pipeline.core.files import read_json, replacing
from pipeline.core.progress import track
from pipeline.core.records import Relation, Scene, SceneObject, Split
from pipeline.sources.vqa_files import place

T = TypeVar("T")


class _Id(msgspec.Struct):
    image_id: int


class _Picture(msgspec.Struct):
    image_id: int
    width: int
    height: int


class _Object(msgspec.Struct):
    object_id: int
    x: int
    y: int
    w: int
    h: int
    names: list[str] = msgspec.field(default_factory=list)
    attributes: list[str] | None = None
    merged_object_ids: list[int] = msgspec.field(default_factory=list)


class _Relationship(msgspec.Struct):
    predicate: str
    subject_id: int
    object_id: int


class _Graph(msgspec.Struct):
    image_id: int
    objects: list[_Object]
    relationships: list[_Relationship] = msgspec.field(default_factory=list)


class _Described(msgspec.Struct):
    object_id: int
    attributes: list[str] | None = None


class _Attributes(msgspec.Struct):
    image_id: int
    attributes: list[_Described]


def scenes(
    graph_file: Path,
    picture_file: Path,
    split: Split,
    problems: Problems,
    attribute_file: Path | None = None,
    left_out: Counter[str] | None = None,
) -> Iterator[Scene]:
    """The scene graphs in the file's order; what is wrong with one goes to `problems`, what the records cannot hold
    is counted in `left_out`.

    Raises:
        UserError: a file is missing or of another form.
    """
    sizes = {row.image_id: (row.width, row.height) for row in read_json(picture_file, list[_Picture])}
    described: dict[int, msgspec.Raw] = {}
    if attribute_file:
        head = msgspec.json.Decoder(_Id)
        described = {head.decode(raw).image_id: raw for raw in _rows(attribute_file)}
    counts = Counter() if left_out is None else left_out
    decoder = msgspec.json.Decoder(_Graph)
    more = msgspec.json.Decoder(_Attributes)
    seen: set[int] = set()
    for number, raw in enumerate(_rows(graph_file)):
        where = f"{graph_file.name}, graph {number}"
        try:
            graph = decoder.decode(raw)
            extra = more.decode(described[graph.image_id]).attributes if graph.image_id in described else []
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            problems.add(where, str(error))
            continue
        if graph.image_id in seen:
            problems.add(where, f"picture {graph.image_id} is in the file twice")
        seen.add(graph.image_id)
        if graph.image_id not in sizes:
            problems.add(where, f"picture {graph.image_id} is not in {picture_file.name}")
            continue
        yield _scene(graph, extra, split, sizes[graph.image_id], counts)


def convert(
    graph_file: Path, picture_file: Path, data_set: str, split: Split, attribute_file: Path | None = None
) -> str:
    """Write the scene graphs as GQA's file of a split into a data set's source folder; say what was left out.

    Raises:
        UserError: lists all that is wrong; nothing is written then. A file that is there stays.
    """
    target = place(data_set, split) / f"sceneGraphs/{split}_sceneGraphs.json"
    if target.exists():
        raise UserError(f"{target}: is there already; move it away and run the same command again")
    problems, left_out, count = Problems(graph_file.name), Counter[str](), 0
    encode = msgspec.json.Encoder().encode
    found = scenes(graph_file, picture_file, split, problems, attribute_file, left_out)
    with replacing(target) as file:
        for scene in track(found, "convert: scene graphs", unit="graph"):
            file.write(b",\n" if count else b"{")
            file.write(encode(scene.picture_id) + b":" + encode(as_gqa(scene)))
            count += 1
        file.write(b"}\n" if count else b"{}\n")
        problems.raise_if_any()
        if not count:
            raise UserError(f"{graph_file}: there is no scene graph in it")
    lost = "".join(f"; {what}: {number:,}" for what, number in sorted(left_out.items()))
    return f"{count:,} scene graphs -> {target}{lost}"


def as_gqa(scene: Scene) -> dict[str, object]:
    """A scene as GQA writes it."""
    things = {
        thing.object_id: {
            "name": thing.name,
            "x": thing.x,
            "y": thing.y,
            "w": thing.w,
            "h": thing.h,
            "attributes": thing.attributes,
            "relations": [{"name": to.name, "object": to.object_id} for to in thing.relations],
        }
        for thing in scene.objects
    }
    return {"width": scene.width, "height": scene.height, "objects": things}


def _scene(
    graph: _Graph, extra: list[_Described], split: Split, size: tuple[int, int], left_out: Counter[str]
) -> Scene:
    named = [thing for thing in graph.objects if _plain(thing.names)]
    if len(named) < len(graph.objects):
        left_out["objects without a name left out"] += len(graph.objects) - len(named)
    now = {merged: thing.object_id for thing in named for merged in thing.merged_object_ids}
    now |= {thing.object_id: thing.object_id for thing in named}
    attributes = {thing.object_id: list(thing.attributes or []) for thing in named}
    for row in extra:
        if row.object_id in now:
            attributes[now[row.object_id]] += row.attributes or []
    relations: dict[int, list[Relation]] = {thing.object_id: [] for thing in named}
    for row in graph.relationships:
        predicate = _plain([row.predicate])
        if not predicate or row.subject_id not in now or row.object_id not in now:
            left_out["relations without a name or an object left out"] += 1
            continue
        relation = Relation(name=predicate[0], object_id=str(now[row.object_id]))
        if relation not in relations[now[row.subject_id]]:
            relations[now[row.subject_id]].append(relation)
    objects = tuple(
        SceneObject(
            object_id=str(thing.object_id),
            name=_plain(thing.names)[0],
            x=thing.x,
            y=thing.y,
            w=thing.w,
            h=thing.h,
            attributes=tuple(dict.fromkeys(_plain(attributes[thing.object_id]))),
            relations=tuple(relations[thing.object_id]),
        )
        for thing in named
    )
    width, height = size
    return Scene(picture_id=str(graph.image_id), split=split, width=width, height=height, objects=objects)


def _plain(names: list[str]) -> list[str]:
    """Lower case, single spaces; empty ones go."""
    return [plain for name in names if (plain := " ".join(name.lower().split()))]


def _rows(path: Path) -> list[msgspec.Raw]:
    """The rows of a JSON list, undecoded: the files have up to 750 MB."""
    try:
        with path.open("rb") as file:
            content = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        return msgspec.json.decode(content, type=list[msgspec.Raw])
    except FileNotFoundError:
        raise UserError(f"{path}: no such file") from None
    except ValueError as error:  # what mmap says of an empty file, and msgspec of a damaged one
        raise UserError(f"{path}: empty, cut off, or not a list of scene graphs ({error})") from error

"""Valid inputs, spoilt: bytes flipped, cut, doubled and put in, and values of JSON exchanged for others. A reader must give
what the file says, or one message; all else is a traceback that a stranger would see.

    python -m tests.mutations            20,000 tries, 500 at a time; what is done is not done again (make endurance)
    python -m tests.mutations --tries 500 --state /tmp/x.json
"""

from __future__ import annotations

import copy
import io
import json
import math
import signal
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import hypothesis
import msgspec
import numpy as np
import pandas as pd
import typer
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PIL import Image
from ruamel.yaml import YAML

from pipeline.candidates.encoders.embedding_cache import read_precomputed, write_precomputed
from pipeline.candidates.ranking.rank_inputs import load_embeddings
from pipeline.core import params
from pipeline.core.errors import Problems, UserError
from pipeline.core.json_files import read_json, read_jsonl, write_json
from pipeline.core.jsonl_index import GroupedIndex
from pipeline.core.records import Question, SceneGraph, Vocabulary
from pipeline.scoring.benchmark_reader import read_benchmark
from pipeline.scoring.prediction_reader import read_predictions
from pipeline.sources import gqa_files, question_table, visual_genome, vqa_files
from pipeline.sources.image_files import inspect_image
from pipeline.sources.source_folder import IngestParams, find_question_errors
from tests.closure import ROOT

TRIES, AT_ONCE = 20_000, 500
STATE = ROOT / "build" / "mutations.json"
LONGEST = 30  # seconds that a reader may take for a file of some kilobytes before it counts as hanging
TINY = ROOT / "tests/tiny/source"
PUT_IN = [
    *(bytes([value]) for value in b"\"'{}[]()<>,;:\t\n\r\\/#&*!|%-+.0 \x00\x1b\x7f\x80\xff"),
    *("\ufeff", "\u2028", "\u00a0", "é", "𝄞", "NaN", "1e999", "null", "true", "010", "yes", '"a":1,', "\\ud800", "0,9", "..", "../"),
    *(b"\xed\xa0\x80", b"[" * 3000, b'{"a":' * 3000, b"9" * 5000, b"x" * 300, b"\x00" * 64, b"\r\n\r\n", b",,,,", b"PAR1", b"PK"),
]  # fmt: skip
ODD: list[Any] = [None, True, False, 0, -1, 1.5, 10**30, "", " ", "\u2028", "x" * 300, "\x00", "../x", [], {}, [[]], {"": None}]  # fmt: skip


class Case(NamedTuple):
    """A valid input: the name that its file must have, its bytes, and what reads it, given the path."""

    name: str
    data: bytes
    read: Callable[[Path], object]


def _listed(read: Callable[[Problems], Iterator[Any]]) -> list[Any]:
    """All that a source's reader gives, if it found nothing wrong."""
    problems = Problems("source")
    rows = list(read(problems))
    problems.raise_if_any()
    return rows


def _own(path: Path) -> None:
    for question in _listed(
        lambda problems: question_table.read_questions(path.parent, ("test",), problems, "test")
    ):
        find_question_errors(question)


def _gqa(path: Path) -> None:
    source = path.parent.parent
    for question in _listed(lambda problems: gqa_files.read_questions(source, ("testdev",), problems)):
        find_question_errors(question)


def _scenes(path: Path) -> None:
    _listed(lambda problems: gqa_files.read_scene_graphs(path.parent, ("train",), problems))


def _vqa(path: Path) -> None:
    annotations = path.with_name("annotations.json")
    answers = [{"answer": "red"}] * 3
    write_json(annotations, {"annotations": [{"question_id": 1, "image_id": 2, "answers": answers}]})
    _listed(lambda problems: iter(vqa_files.read_questions(path, annotations, "val", problems)))


def _genome(path: Path) -> None:
    sizes = path.with_name("image_data.json")
    write_json(sizes, [{"image_id": 1, "width": 9, "height": 9}])
    _listed(lambda problems: visual_genome.read_scene_graphs(path, sizes, problems, Counter[str]()))


def _predicted(path: Path) -> None:
    """What is read of JSON is what Python's own reader reads of it."""
    read = read_predictions(path)
    if read.faults or path.suffix != ".json" or read.file_info is not None:
        return
    rows = json.loads(path.read_bytes())
    if isinstance(rows, list):
        assert read.said == [row.get("prediction", row.get("answer")) for row in rows]


def _params(path: Path) -> None:
    """What is read of YAML is what ruamel reads of it, which DVC uses."""
    read = params.read_params_file(path)
    with_dvc = YAML(typ="safe", pure=True).load(path.read_bytes())
    assert _plain(read) == _plain(with_dvc)
    params.load_params("ingest", IngestParams, path)


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_plain(inner) for inner in value]
    return "nan" if isinstance(value, float) and math.isnan(value) else (type(value).__name__, value)


def _image(path: Path) -> None:
    try:
        inspect_image(path)
    except ValueError as error:  # the caller, ingest, lists them
        raise UserError(str(error)) from error


def _vectors(path: Path) -> None:
    for name in ("image_ids", "texts"):
        write_json(path.with_name(f"{name}.json"), ["a", "b"])
    np.save(path.with_name("texts.npy"), np.eye(2, 4, dtype=np.float32))
    load_embeddings(path.parent)


@cache
def cases() -> list[Case]:
    """All of them; a mutated one is drawn by its place."""
    rows = [{"questionId": f"q{i}", "prediction": "a red cup", "confidence": i / 8} for i in range(5)]
    own = [
        {"question_id": f"0{i}", "image": f"n{i}.jpg", "question": "What is it?", "answer": "a cup"}
        for i in range(4)
    ]
    subset = [{"img_id": "n1", "question_id": "1", "sent": "What?", "label": {"UQ": 1.0}}, {"img_id": "n1", "question_id": "2", "sent": "Who?", "label": {"man": 1.0}}]  # fmt: skip
    found: list[Case] = []
    for name, table, read in (("predictions", rows, _predicted), ("questions", own, _own)):
        frame = pd.DataFrame(table)
        files: dict[str, Callable[[io.BytesIO], object]] = {
            "csv": lambda file, frame=frame: frame.to_csv(file, index=False),
            "xlsx": lambda file, frame=frame: frame.to_excel(file, index=False),
            "parquet": lambda file, frame=frame: frame.to_parquet(file),
            "jsonl": lambda file, frame=frame: frame.to_json(file, orient="records", lines=True),
        }
        for ending, write in files.items():
            write(file := io.BytesIO())
            found.append(Case(f"{name}.{ending}", file.getvalue(), read))
    found.append(Case("predictions.json", json.dumps(rows).encode(), _predicted))
    found.append(Case("subset.json", json.dumps(subset).encode(), read_benchmark))
    found.append(
        Case("params.yaml", (ROOT / "params.yaml").read_bytes()[:1500].rsplit(b"\n", 1)[0] + b"\n", _params)
    )
    for name, read in {
        "questions1.2/testdev_balanced_questions.json": _gqa,
        "sceneGraphs/train_sceneGraphs.json": _scenes,
    }.items():
        whole = json.loads((TINY / name).read_text())
        found.append(Case(name, json.dumps(dict(list(whole.items())[:2])).encode(), read))
    asked = {"questions": [{"question_id": 1, "image_id": 2, "question": "What?"}], "data_subtype": "val2014"}
    found.append(Case("asked.json", json.dumps(asked).encode(), _vqa))
    graph = {
        "image_id": 1,
        "objects": [{"object_id": 1, "x": 0, "y": 0, "w": 1, "h": 1, "names": ["cup"]}],
        "relationships": [],
    }
    found.append(Case("scene_graphs.json", json.dumps([graph]).encode(), _genome))
    question = Question(question_id="1", image_id="n1", split="test", text="What?", answer="x")
    lines = msgspec.json.Encoder().encode_lines([question, question])
    found.append(Case("rows.jsonl", lines, lambda path: list(read_jsonl(path, Question))))
    found.append(
        Case("groups.jsonl", lines, lambda path: [*GroupedIndex(path, Question, "image_id").values()])
    )
    scene = msgspec.json.encode(SceneGraph(image_id="1", split="val", width=1, height=1, objects=()))
    found.append(Case("scene.json", scene, lambda path: read_json(path, SceneGraph)))
    words = Vocabulary(
        objects={},
        attributes={"red": 1},
        attribute_types={},
        relations={},
        categories={},
        locations={},
        weathers={},
    )
    found.append(
        Case("vocabulary.json", msgspec.json.encode(words), lambda path: read_json(path, Vocabulary))
    )
    for form in ("JPEG", "PNG", "GIF", "WEBP", "BMP"):
        Image.effect_noise((24, 16), 60).convert("RGB").save(file := io.BytesIO(), form)
        found.append(Case(f"image.{form.lower()}", file.getvalue(), _image))
    with tempfile.TemporaryDirectory() as folder:
        write_precomputed(
            seed := Path(folder) / "clip.safetensors", [bytes(32), bytes(range(32))], np.eye(2, 4)
        )
        found.append(Case(seed.name, seed.read_bytes(), read_precomputed))
    np.save(file := io.BytesIO(), np.eye(2, 4, dtype=np.float32))
    found.append(Case("images.npy", file.getvalue(), _vectors))
    return found


def spoilt(data: bytes, edits: list[tuple[str, float, int, Any]]) -> bytes:
    """The bytes after some edits: what, where (as a share), how far, and what is put in."""
    for what, share, length, piece in edits:
        place = int(share * (len(data) + 1))
        if what == "value":
            data = _exchanged(data, share, piece)
        elif what == "flip" and place < len(data):
            data = data[:place] + bytes([data[place] ^ (1 << length % 8)]) + data[place + 1 :]
        elif what == "cut":
            data = data[:place] + data[place + length :]
        elif what == "double":
            data = data[: place + length] + data[place:]
        elif what == "end":
            data = data[:place]
        elif what == "put in":
            data = data[:place] + (piece.encode() if isinstance(piece, str) else piece) + data[place:]
    return data


def _exchanged(data: bytes, share: float, value: Any) -> bytes:
    """JSON with one of its values, or a key, exchanged; other bytes as they are."""
    try:
        root = json.loads(data)
    except (ValueError, RecursionError):
        return data
    places: list[tuple[Any, Any]] = []
    waiting = [root]
    while waiting:
        node = waiting.pop()
        inner = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
        for key, child in inner:
            places.append((node, key))
            waiting.append(child)
    if not places:
        return data
    node, key = places[int(share * len(places))]
    if isinstance(node, dict) and isinstance(value, str):
        node[value] = node.pop(key)  # another name for the key
    else:
        node[key] = copy.deepcopy(value)
    return json.dumps(root).encode()


share = st.floats(0, 1, exclude_max=True)
far = st.integers(1, 64)
edit = st.one_of(
    st.tuples(st.sampled_from(["flip", "cut", "double", "end"]), share, far, st.none()),
    st.tuples(st.just("put in"), share, far, st.sampled_from(PUT_IN) | st.binary(min_size=1, max_size=8)),
    st.tuples(st.just("value"), share, far, st.sampled_from(ODD)),
)
mutations = st.tuples(st.integers(0, 1 << 20), st.lists(edit, min_size=1, max_size=4))


@contextmanager
def at_most(seconds: int) -> Iterator[None]:
    """Ends what hangs."""

    def end(*_: object) -> None:
        raise TimeoutError(f"still reading after {seconds} s")

    before = signal.signal(signal.SIGALRM, end)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def attempt(number: int, edits: list[tuple[str, float, int, Any]]) -> None:
    """One try; whatever is raised but a message is a fault of ours."""
    case = cases()[number % len(cases())]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / case.name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(spoilt(case.data, edits))
        with at_most(LONGEST):
            try:
                case.read(path)
            except UserError as told:
                assert told.problems and all(isinstance(line, str) and line for line in told.problems)


def tries(number: int, seed: int) -> None:
    """So many tries of one seed, the same each time.

    Raises:
        whatever a reader raised, with the smallest edits that make it (hypothesis).
    """
    quiet = settings(
        max_examples=number,
        database=None,
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    )
    hypothesis.seed(seed)(quiet(given(mutations)(lambda drawn: attempt(*drawn))))()


app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


@app.command()
def main(
    number: Annotated[int, typer.Option("--tries", help="How many inputs are tried.")] = TRIES,
    state: Annotated[Path, typer.Option(help="The file that holds which tries are done.")] = STATE,
) -> None:
    """Put spoilt inputs through every reader and go on where an earlier run stopped."""
    done = set(read_json(state, list[int])) if state.exists() else set[int]()
    begun, seeds = time.monotonic(), range(math.ceil(number / AT_ONCE))
    for seed in seeds:
        if seed not in done:
            tries(AT_ONCE, seed)
            done.add(seed)
            write_json(state, sorted(done))
            print(f"mutations: {len(done) * AT_ONCE:,} of {len(seeds) * AT_ONCE:,} tries", flush=True)
    print(
        f"mutations: no traceback in {len(seeds) * AT_ONCE:,} tries -> {state} ({time.monotonic() - begun:.0f} s)"
    )


if __name__ == "__main__":
    app()

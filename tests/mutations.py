"""Fuzz the readers of input files with mutated valid files.

Mutations flip, delete, duplicate and insert bytes, and replace values in JSON. A reader must return the content of the file or raise one
message. Any other exception is a bug.

    python -m tests.mutations            20,000 tries, 500 at a time; finished tries are recorded (make endurance)
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
# Seconds after which a reader counts as hanging.
LONGEST = 30
TINY = ROOT / "tests/tiny/source"
PUT_IN = [
    *(bytes([value]) for value in b"\"'{}[]()<>,;:\t\n\r\\/#&*!|%-+.0 \x00\x1b\x7f\x80\xff"),
    *("\ufeff", "\u2028", "\u00a0", "é", "𝄞", "NaN", "1e999", "null", "true", "010", "yes", '"a":1,', "\\ud800", "0,9", "..", "../"),
    *(b"\xed\xa0\x80", b"[" * 3000, b'{"a":' * 3000, b"9" * 5000, b"x" * 300, b"\x00" * 64, b"\r\n\r\n", b",,,,", b"PAR1", b"PK"),
]  # fmt: skip
ODD: list[Any] = [None, True, False, 0, -1, 1.5, 10**30, "", " ", "\u2028", "x" * 300, "\x00", "../x", [], {}, [[]], {"": None}]  # fmt: skip


class Case(NamedTuple):
    """A valid input: name and content of its file, and a function that reads it."""

    name: str
    data: bytes
    read: Callable[[Path], object]


def _listed(read: Callable[[Problems], Iterator[Any]]) -> list[Any]:
    """Return everything that a source reader yields, if it found no problems."""
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
    """Check that JSON is read like by Python's own reader."""
    read = read_predictions(path)
    if read.faults or path.suffix != ".json" or not read.file_info.file_format.startswith("plain"):
        return
    rows = json.loads(path.read_bytes())
    if isinstance(rows, list):
        assert read.answer == [row.get("prediction", row.get("answer")) for row in rows]


def _params(path: Path) -> None:
    """Check that YAML is read like by ruamel, which DVC uses."""
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
    # Stage `ingest` collects these errors.
    except ValueError as error:
        raise UserError(str(error)) from error


def _vectors(path: Path) -> None:
    for name in ("image_ids", "texts"):
        write_json(path.with_name(f"{name}.json"), ["a", "b"])
    np.save(path.with_name("texts.npy"), np.eye(2, 4, dtype=np.float32))
    load_embeddings(path.parent)


@cache
def cases() -> list[Case]:
    """Return all cases. A case is chosen by its index."""
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


def mutated(data: bytes, edits: list[tuple[str, float, int, Any]]) -> bytes:
    """Apply edits to a file.

    Args:
        data: Content of the file.
        edits: Kind of edit, place as a proportion of the file, length, and what is inserted.
    """
    for what, share, length, piece in edits:
        place = int(share * (len(data) + 1))
        if what == "value":
            data = _replace_value(data, share, piece)
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


def _replace_value(data: bytes, share: float, value: Any) -> bytes:
    """Replace a value or a key of JSON. Other content stays as it is."""
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
        # Rename the key.
        node[value] = node.pop(key)
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
    """Raise TimeoutError if the block takes too long."""

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
    """Read one mutated file. Any exception but a UserError is a bug."""
    case = cases()[number % len(cases())]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / case.name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(mutated(case.data, edits))
        with at_most(LONGEST):
            try:
                case.read(path)
            except UserError as error:
                assert error.problems and all(isinstance(line, str) and line for line in error.problems)


def tries(number: int, seed: int) -> None:
    """Run a reproducible number of tries with a seed.

    Raises:
        Exception: What a reader raised, with the smallest edits that cause it (Hypothesis).
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
    number: Annotated[int, typer.Option("--tries", help="Try this number of inputs.")] = TRIES,
    state: Annotated[Path, typer.Option(help="Record finished tries in this file.")] = STATE,
) -> None:
    """Read mutated inputs with all readers. A stopped run resumes."""
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

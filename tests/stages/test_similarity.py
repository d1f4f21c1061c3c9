"""similarity: every edited question gets the cosine with its image, each text encoded once whatever happened before."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from pipeline.candidates.encoders import clip, embedding_cache
from pipeline.core.atomic_files import sha256_file
from pipeline.core.errors import run_command
from pipeline.core.json_files import read_jsonl, write_jsonl
from pipeline.core.records import (
    Candidate,
    Edit,
    EditedQuestionScore,
    ImageRecord,
    Question,
    ScreenedCandidate,
    Subset,
    VerifierResult,
    make_candidate_id,
)
from pipeline.stages import embed, similarity

HOME = Path("data/world")
OUT = HOME / "interim/similarity"
# Subset, image, question and edited text; "Is the cat red?" is asked of two images. The last one was not edited.
EDITED: list[tuple[Subset, str, str, str]] = [
    ("pt-hard", "b", "02", "Is the cat red?"),
    ("pt-easy", "a", "01", "What color is the horse next to the table?"),
    ("pt-easy", "c", "03", "Is the cat red?"),
    ("pt-easy", "c", "04", "Where is the boat?"),
]
TEXTS = ["Is the cat red?", "What color is the horse next to the table?", "Where is the boat?"]


def screened(
    subset: Subset, image: str, question: str, text: str, score: float | None = None
) -> ScreenedCandidate:
    edit = Edit(start=0, end=1, kind="object", old="x", new="y")
    candidate = Candidate(
        candidate_id=make_candidate_id(subset, image, question),
        subset=subset,
        image_id=image,
        question_id=question,
        text=text,
        edits=() if score else (edit,),
        score=score,
    )
    return ScreenedCandidate(candidate=candidate, verifier_result=VerifierResult(answerability="unknown"))


def screen(edited: Sequence[tuple[Subset, str, str, str]]) -> None:
    rows = [*(screened(*row) for row in edited), screened("clip-easy", "a", "09", "Is it open?", 0.25)]
    write_jsonl(HOME / "interim/screen/screened.jsonl", rows)


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tiny_clip: Path) -> Path:
    """Three images, embedded by a tiny CLIP, and what screen left."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(1)
    images = []
    for name in "abc":
        path = HOME / f"source/images/{name}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(rng.integers(0, 255, (30, 40, 3), np.uint8)).save(path)
        fields = {"image_id": name, "split": "testdev", "path": str(path), "sha256": sha256_file(path)}
        images.append(ImageRecord(**fields, width=40, height=30))
    asked = {"01": "a", "02": "b", "03": "c"}
    questions = [
        Question(question_id=q, image_id=p, split="testdev", text=f"Is it {q}?", answer="")
        for q, p in asked.items()
    ]
    write_jsonl(HOME / "interim/ingest/images.jsonl", images)
    write_jsonl(HOME / "interim/ingest/questions.jsonl", questions)
    shutil.copytree(tiny_clip, HOME / "clip")
    section = {
        "model": f"local-dir:{HOME / 'clip'}",
        "device": "cpu",
        "image_batch_size": 2,
        "text_batch_size": 1,
    }
    Path("params.yaml").write_text(json.dumps({"dataset": "world", "world": {"embed": section}}))
    embed.main()
    screen(EDITED)
    return tmp_path


@pytest.fixture
def encoded(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Every text that the model was asked to encode, in order, once for each time."""
    seen: list[str] = []
    texts = clip.Encoder.encode_texts

    def counting(self: clip.Encoder, items: Sequence[str], batch: int, **options: bool) -> Iterator:
        for indices, rows in texts(self, items, batch, **options):
            seen.extend(items[i] for i in indices)
            yield indices, rows

    monkeypatch.setattr(clip.Encoder, "encode_texts", counting)
    return seen


def without_model(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object, **__: object) -> None:
        raise AssertionError("the model was loaded")

    monkeypatch.setattr(clip, "Encoder", refused)


def written() -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in OUT.iterdir()}


def error(capsys: pytest.CaptureFixture[str]) -> str:
    """What a user sees of a run that ends with exit code 1."""
    with pytest.raises(SystemExit) as caught:
        run_command(similarity.main)
    assert caught.value.code == 1
    return capsys.readouterr().err


def test_scores_are_the_cosines_of_what_the_model_says_of_text_and_image(
    world: Path, tiny_clip: Path
) -> None:
    similarity.main()
    encoder = clip.Encoder(f"local-dir:{tiny_clip}", device="cpu")
    expected = {}
    for subset, image, question, text in EDITED:
        ((_, (of_image,)),) = encoder.encode_images([HOME / f"source/images/{image}.png"], 1)
        ((_, (of_text,)),) = encoder.encode_texts([text], 1)
        cosine = of_image @ of_text / np.linalg.norm(of_image) / np.linalg.norm(of_text)
        expected[make_candidate_id(subset, image, question)] = float(cosine)
    rows = list(read_jsonl(OUT / "edit_scores.jsonl", EditedQuestionScore))
    assert [row.candidate_id for row in rows] == sorted(
        expected
    )  # the one that rank scored is not among them
    assert {row.candidate_id: row.score for row in rows} == pytest.approx(expected, abs=2e-6)
    assert len({row.score for row in rows}) == 4 and all(
        row.score == round(row.score or 0, 6) for row in rows
    )


def test_vectors_are_kept_and_the_report_counts(world: Path) -> None:
    similarity.main()
    assert json.loads((OUT / "texts.json").read_text()) == TEXTS
    vectors = np.load(OUT / "texts.npy")
    assert (vectors.shape, vectors.dtype) == ((3, 16), np.float32)
    report = json.loads((OUT / "similarity.json").read_text())
    assert (report["candidates"], report["distinct_texts"]) == (4, 3)
    assert report["model"] == json.loads((HOME / "interim/embed/embed.json").read_text())["model"]
    scores = {
        row.candidate_id: row.score for row in read_jsonl(OUT / "edit_scores.jsonl", EditedQuestionScore)
    }
    easy = sorted(score or 0 for key, score in scores.items() if key.startswith("pteasy"))
    assert [report["score_quantiles"]["pt-easy"][q] for q in ("0.00", "0.50", "1.00")] == easy
    assert set(report["score_quantiles"]) == {"pt-easy", "pt-hard"}


def test_only_new_texts_are_encoded_when_others_come(world: Path, encoded: list[str]) -> None:
    similarity.main()
    assert sorted(encoded) == TEXTS  # each once, though one is asked twice
    first = written()
    screen([*EDITED[1:], ("pt-hard", "a", "05", "Is the dog blue?")])
    similarity.main()
    assert encoded[3:] == ["Is the dog blue?"]
    screen(EDITED)
    similarity.main()
    assert encoded[4:] == [] and written() == first


def test_after_a_kill_it_goes_on_with_what_is_missing(
    world: Path, encoded: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    put = embedding_cache.EmbeddingCache.put

    def dying(self: embedding_cache.EmbeddingCache, keys: Sequence[bytes], vectors: np.ndarray) -> None:
        put(self, keys, vectors)
        if len(encoded) == 2:
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(embedding_cache.EmbeddingCache, "put", dying)
        with pytest.raises(KeyboardInterrupt):
            similarity.main()
    assert len(encoded) == 2 and not OUT.exists()
    similarity.main()
    assert (
        sorted(encoded) == TEXTS
        and len(list(read_jsonl(OUT / "edit_scores.jsonl", EditedQuestionScore))) == 4
    )


def test_exported_vectors_replace_the_model(world: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    similarity.main()
    first = written()
    embedding_cache.export_embeddings()
    embedding_cache.CACHE_PATH.unlink()
    without_model(monkeypatch)
    similarity.main()
    assert written() == first


def test_where_nothing_was_edited_no_model_is_loaded_and_the_files_are_empty(
    world: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    screen([])
    without_model(monkeypatch)
    similarity.main()
    assert np.load(OUT / "texts.npy").shape == (0, 16) and (OUT / "edit_scores.jsonl").read_bytes() == b""
    assert json.loads((OUT / "similarity.json").read_text())["score_quantiles"] == {}


def test_a_text_that_the_edit_made_too_long_has_no_score_and_is_reported(
    world: Path, encoded: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    long = "Is the horse " + "very " * 20 + "red?"  # the tiny model reads 20 tokens
    screen([*EDITED, ("pt-hard", "a", "06", long)])
    similarity.main()
    output = capsys.readouterr()
    assert "warning: 1 edited text longer than the model's context of 20 tokens" in output.err
    assert "5 edited questions, 3 texts (3 newly encoded)" in output.out and sorted(encoded) == TEXTS
    scores = {
        row.candidate_id: row.score for row in read_jsonl(OUT / "edit_scores.jsonl", EditedQuestionScore)
    }
    assert [key for key, score in scores.items() if score is None] == ["pthard_a+06"]
    assert json.loads((OUT / "texts.json").read_text()) == TEXTS and len(scores) == 5
    report = json.loads((OUT / "similarity.json").read_text())
    assert (report["distinct_texts"], report["texts_too_long"]) == (4, 1)
    screen(EDITED)
    similarity.main()
    assert list(read_jsonl(OUT / "edit_scores.jsonl", EditedQuestionScore)) == [
        EditedQuestionScore(candidate_id=key, score=score)
        for key, score in scores.items()
        if score is not None
    ]


def test_a_model_other_than_that_of_embed_is_refused(
    world: Path, encoded: list[str], make_clip: Callable[..., Path], capsys: pytest.CaptureFixture[str]
) -> None:
    other = make_clip(world / "other", text_cfg={"layers": 1})
    section = {"model": f"local-dir:{other}", "device": "cpu"}
    Path("params.yaml").write_text(json.dumps({"dataset": "world", "world": {"embed": section}}))
    message = error(capsys)
    assert (
        f"error: embed: model: local-dir:{other} is not the model that made the vectors of the images"
        in message
    )
    assert "Run dvc repro" in message and encoded == [] and not OUT.exists()


def bad_seed(change: Callable[[np.ndarray], np.ndarray]) -> None:
    """Exported vectors, changed, in place of what was computed."""
    similarity.main()
    seed = embedding_cache.export_embeddings()
    found, vectors = embedding_cache.read_precomputed(seed)
    embedding_cache.write_precomputed(seed, found, change(vectors))


def test_vectors_of_another_width_or_length_are_refused(
    world: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bad_seed(lambda vectors: vectors[:, :8])
    message = error(capsys)
    assert "found vectors of length 8, expected 16" in message
    assert message.count("error:") == 1 and "Traceback" not in message
    (HOME / "embeddings/clip.safetensors").unlink()
    embedding_cache.CACHE_PATH.unlink()
    bad_seed(lambda vectors: 2 * vectors)
    message = error(capsys)
    assert "similarity/texts.npy, row 0: 'Is the cat red?' has length 2, expected 1" in message
    assert "(run the stage embed again): 3 problems" in message and message.count("error:") == 1


def test_images_of_another_width_or_none_at_all_are_refused(
    world: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    images = np.load(HOME / "interim/embed/images.npy")
    np.save(HOME / "interim/embed/images.npy", np.eye(3, 8, dtype=np.float32))
    assert "similarity/texts.npy: 8 and 16 dimensions" in error(capsys)
    np.save(HOME / "interim/embed/images.npy", images)
    screen([*EDITED, ("pt-easy", "z", "07", "Is the cat red?")])
    assert "pteasy_z+07: image z was not embedded" in error(capsys)
    assert not (OUT / "edit_scores.jsonl").exists()

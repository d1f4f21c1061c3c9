"""Measure the sample's CLIP model on the testdev images, and write its model card: `rgqa sample clip-card`.

The model was not trained on these images. For every question (except existence questions, as in stage `rank`)
and every other image, the metric is whether the question has a higher score with its own image than with the
other image. The best possible value follows from the complete ground truth: 1 if the question has no answer in the
other image, and 0.5 if it has an answer there, too.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pipeline.candidates.encoders import clip
from pipeline.core.atomic_files import sha256_file, write_text
from pipeline.core.errors import Problems
from pipeline.core.json_files import read_json
from pipeline.core.paths import DatasetFolders
from pipeline.core.progress import report_written, track
from pipeline.core.records import Question, Vocabulary
from pipeline.language.functional_programs import is_existence_question
from pipeline.language.lexicon import Lexicon
from pipeline.sources import gqa_files
from pipeline.verifier.evidence import build_scene_evidence
from pipeline.verifier.verification import verify_question

RECALL_RANKS = (1, 5, 10)


def score_own_image(scores: np.ndarray, own: np.ndarray) -> np.ndarray:
    """Return 1 where a question has a higher score with its own image than with the other image, 0.5 for a
    tie, else 0.

    Args:
        scores: [questions, images].
        own: Index of the image of each question, [questions].

    >>> score_own_image(np.array([[0.9, 0.2, 0.9]]), np.array([0])).tolist()
    [[0.5, 1.0, 0.5]]
    """
    own_scores = scores[np.arange(len(own)), own][:, None]
    return (own_scores > scores) + 0.5 * (own_scores == scores)


def compute_metrics(scores: np.ndarray, own: np.ndarray, answerable: np.ndarray) -> dict[str, float]:
    """Return the metrics of the model card.

    Args:
        scores: [questions, images].
        own: Index of the image of each question, [questions].
        answerable: Whether each question has an answer in each image, [questions, images].
    """
    others = np.ones(scores.shape, bool)
    others[np.arange(len(own)), own] = False
    wins, ceiling = score_own_image(scores, own), np.where(answerable, 0.5, 1.0)
    reached, possible = float(wins[others].mean()), float(ceiling[others].mean())
    # Rank of the own image, from 1. Ties count against the model.
    place = (scores >= scores[np.arange(len(own)), own][:, None]).sum(1)
    return {
        "probability": reached,
        "ceiling": possible,
        "share": (reached - 0.5) / (possible - 0.5),
        "probability_unanswerable": float(wins[others & ~answerable].mean()),
        **{f"recall_{k}": float((place <= k).mean()) for k in RECALL_RANKS},
    }


def measure_model(folders: DatasetFolders) -> tuple[dict[str, float], int, int]:
    """Return the metrics of the model card, and the numbers of questions and images."""
    problems = Problems(str(folders.source))
    asked: Sequence[Question] = [
        q
        for q in gqa_files.read_questions(folders.source, ("testdev",), problems, "balanced")
        if not is_existence_question(q)
    ]
    problems.raise_if_any()
    scenes = list(gqa_files.read_true_scene_graphs(folders.truth, ("testdev",)).values())
    vocabulary = read_json(folders.stage_dir("vocabulary") / "vocabulary.json", Vocabulary)
    lexicon = Lexicon(vocabulary.categories, vocabulary.attribute_types)
    facts = [build_scene_evidence(scene, lexicon) for scene in scenes]
    answerable = np.array(
        [
            [verify_question(q.program, known, q.text).answerability == "answerable" for known in facts]
            for q in track(asked, "clip_card: truth", len(asked))
        ]
    )
    encoder = clip.Encoder(f"local-dir:{folders.clip}", device="cpu")
    paths = [folders.source / "images" / f"{scene.image_id}.jpg" for scene in scenes]
    images = encoder.stack_batches(encoder.encode_images(paths, 32), len(paths))
    texts = encoder.stack_batches(encoder.encode_texts([q.text for q in asked], 128), len(asked))
    place_of = {scene.image_id: i for i, scene in enumerate(scenes)}
    own = np.array([place_of[q.image_id] for q in asked])
    return compute_metrics(texts @ images.T, own, answerable), len(asked), len(scenes)


CARD_TEMPLATE = """# The sample's CLIP

**This model knows only the synthetic world of the sample.** It exists so that the pipeline runs completely on any machine,
without a download. Do not use it on photographs.

| | |
|---|---|
| architecture | open_clip, custom configuration (`open_clip_config.json`): a small convolutional image tower, a narrow text tower |
| weights | `open_clip_model.safetensors`, {size:.1f} MB, float16, sha256 `{sha}` |
| trained on | synthetic *train* images and their texts only (noun phrases and questions), with open_clip's contrastive loss |
| command | `rgqa sample train-clip` ({run}) |
| licence | CC BY 4.0, as the sample |

## Results on unseen images

On the {images} testdev images and {questions:,} testdev questions that are not existence questions. None of them was used in
training. Made by `rgqa sample clip-card`.

| metric | value | compare |
|---|---|---|
| probability that a question scores higher with its own image than with another | {probability:.3f} | ceiling from the true scene graphs {ceiling:.3f}, chance 0.5 |
| proportion of the way from 0.5 to the ceiling | {share:.1%} | |
| the same probability where the question has no answer in the other image | {probability_unanswerable:.3f} | ceiling 1, chance 0.5 |
| recall at 1 of the own image among {images} | {recall_1:.3f} | chance {chance_1:.3f} |
| recall at 5 | {recall_5:.3f} | chance {chance_5:.3f} |
| recall at 10 | {recall_10:.3f} | chance {chance_10:.3f} |
"""


def write_card() -> None:
    """Measure the model and write data/sample/clip/MODEL_CARD.md."""
    folders = DatasetFolders("sample")
    measured, questions, images = measure_model(folders)
    weights = folders.clip / "open_clip_model.safetensors"
    training = read_json(folders.clip / "training.json", list[dict[str, int]])
    text = CARD_TEMPLATE.format(
        size=weights.stat().st_size / 1e6,
        sha=sha256_file(weights),
        images=images,
        questions=questions,
        **measured,
        run="; then ".join(
            ", ".join(f"{value:,} {name.replace('_', ' ')}" for name, value in training_run.items() if value)
            for training_run in training
        ),
        **{f"chance_{k}": k / images for k in RECALL_RANKS},
    )
    write_text(folders.clip / "MODEL_CARD.md", text)
    report_written(
        "clip_card",
        f"{measured['probability']:.3f} of at most {measured['ceiling']:.3f}: {measured['share']:.1%} of the way",
        folders.clip / "MODEL_CARD.md",
    )

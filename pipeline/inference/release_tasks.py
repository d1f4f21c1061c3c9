"""The questions of a release as tasks of inspect_ai.

    inspect eval rgqa/clip_hard -T release=RELEASE -T prompt=short-answer -T confidence=token-probability
    --model MODEL

`rgqa-score RELEASE LOG.eval` reads the log. docs/guides/run_a_model.md describes the parameters.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from math import nan
from pathlib import Path
from typing import Any

from inspect_ai import Task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import GenerateConfig
from inspect_ai.scorer import Metric, SampleScore, Score, Scorer, Target, Value, metric, scorer
from inspect_ai.solver import TaskState

from ..scoring.benchmark_reader import read_benchmark
from ..scoring.matching import match_answers
from ..scoring.realistic_vqa import realistic_scores
from .prompt_solver import ask_by_inspect
from .prompts import UNANSWERABLE
from .release_questions import DistinctQuestion, choose_questions


def release_task(
    release: str | Path = ".",
    subsets: str | Collection[str] = (),
    split: str = "test",
    prompt: str = "abstain",
    confidence: str = "abstention",
    max_image_size: int = 1024,
    images: str | Path = "",
    shots: int = 0,
    seed: int = 0,
    num_replies: int = 10,
    use_num_choices: bool = True,
    no_image: bool = False,
    limit: int = 0,
) -> Task:
    """Return the task that asks each distinct question of a release once, in the order of `choose_questions`.

    Args:
        release: Folder of the release.
        subsets: Names of the subsets; empty for all subsets.
        split, prompt, confidence, max_image_size, images, shots, seed, num_replies, no_image, limit: As in `choose_questions`.
        use_num_choices: Whether several replies to a question are requested at once. Use false for a server that rejects such
            requests.

    Raises:
        UserError: The release cannot be read or has no such subset, or as `choose_questions`.
    """
    release = Path(release).resolve()
    questions = choose_questions(
        read_benchmark(release, [subsets] if isinstance(subsets, str) else subsets),
        release,
        split,
        prompt,
        confidence,
        max_image_size,
        images,
        shots,
        seed,
        num_replies,
        no_image=no_image,
        limit=limit,
    )
    prompted_run = questions.prompted_run._replace(use_num_choices=use_num_choices)
    return Task(
        MemoryDataset(
            [to_sample(row) for row in questions.rows],
            name=questions.benchmark.name,
            location=str(release),
        ),
        solver=ask_by_inspect(prompted_run),
        scorer=rgqa(),
        config=GenerateConfig(
            temperature=prompted_run.settings.temperature, max_tokens=prompted_run.max_tokens, seed=seed
        ),
        fail_on_error=False,
        version=questions.benchmark.version or 0,
        metadata=prompted_run.log_metadata | {"split": split, "pairs": questions.num_pairs},
    )


def to_sample(question: DistinctQuestion) -> Sample:
    """Return a question as a sample of inspect_ai."""
    return Sample(
        input=question.item.question_text,
        target=[*question.item.answers] or UNANSWERABLE,
        id=question.id,
        metadata={
            "image_id": question.item.image,
            "answers": {**question.item.answers},
            "item_ids": question.item_ids,
            "subsets": question.subsets,
        },
    )


@metric
def release_scores() -> Metric:
    """Compute AUAF, FF95, FACC and AUROC over all samples with an answer."""

    def compute_scores(scores: list[SampleScore]) -> Value:
        values: list[Any] = [score.score.value for score in scores]
        columns = ([value[name] for value in values] for name in ("confidence", "correct", "answerable"))
        found = realistic_scores(*columns) if values else {}
        return {name: found.get(name, nan) for name in ("auaf", "ff95", "facc", "auroc")}

    return compute_scores


@scorer(metrics=[release_scores()])
def rgqa() -> Scorer:
    """Score the reply of `ask_question`: whether it abstains, and whether its answer is correct."""

    async def score(state: TaskState, target: Target) -> Score:
        metadata = state.metadata
        return make_score(
            state.output.completion,
            metadata["confidence"],
            metadata["detected_abstention"],
            metadata["answers"],
            metadata["raw_replies"],
        )

    return score


def make_score(
    prediction: str,
    confidence: float,
    has_abstained: bool,
    answers: Mapping[str, float],
    raw_replies: Sequence[str],
) -> Score:
    """Return the score of a reply, as the scorer `rgqa` gives it.

    Args:
        prediction: The answer.
        confidence: The confidence that the question is answerable.
        has_abstained: Whether the model abstains.
        answers: The accepted answers and their scores; empty for a UQ.
        raw_replies: The texts of all replies.
    """
    return Score(
        value={
            "confidence": confidence,
            "detected_abstention": int(has_abstained),
            "correct": float(match_answers([prediction], [dict(answers)], "vqa")[0]),
            "answerable": int(bool(answers)),
        },
        answer=prediction,
        metadata={"prediction": prediction, "raw_replies": [*raw_replies]},
    )

"""How long the largest balanced set takes, and what equal margins within dev and within test cost.

    python -m benchmarks.balance_speed           12,000 verified UQs, 400 pictures, 12,600 questions (about GQA testdev)

UQs are drawn at random among pairs of pictures of one part, or (`across`) of any two pictures; `as one part` asks
for equal margins overall only.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

from pipeline.balancing.dev_test import parts
from pipeline.balancing.pairing import by_image_and_text
from pipeline.core.errors import run
from pipeline.core.records import Candidate, Judgement, Question, Verified

SIZES = {"uqs": 12_000, "pictures": 400, "questions": 12_600, "texts": 9_000, "seed": 0}
UNJUDGED = Judgement(answerability="unknown")


def verified(number: int, question: Question, picture_id: str) -> Verified:
    """A question found unanswerable at a picture."""
    candidate = Candidate(
        candidate_id=f"c{number:05d}",
        subset="clip-hard",
        picture_id=picture_id,
        question_id=question.question_id,
        text=question.text,
    )
    return Verified(
        candidate=candidate,
        judgement=UNJUDGED,
        status="unanswerable",
        votes_invalid=3,
        votes_valid=0,
        votes_set_aside=0,
        verdict_ids=(),
        simulated=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    for name, size in SIZES.items():
        parser.add_argument(f"--{name}", type=int, default=size)
    parser.add_argument("--dev", type=float, default=0.2)
    a = parser.parse_args()
    rng = np.random.default_rng(a.seed)
    ids = [f"n{i:04d}" for i in range(a.pictures)]
    questions = [
        Question(
            question_id=f"{i:06d}",
            picture_id=ids[rng.integers(a.pictures)],
            split="testdev",
            text=str(rng.integers(a.texts)),
            answer="yes",
        )
        for i in range(a.questions)
    ]
    split, whole = dict(parts(ids, a.dev, 0)), dict.fromkeys(ids, "test")
    ways = {"within parts": (split, split), "across": (whole, split), "across, as one part": (whole, whole)}
    for name, (allowed, judged) in ways.items():
        uqs: list[Verified] = []
        while len(uqs) < a.uqs:
            question, picture = questions[rng.integers(a.questions)], ids[rng.integers(a.pictures)]
            if picture != question.picture_id and allowed[picture] == allowed[question.picture_id]:
                uqs.append(verified(len(uqs), question, picture))
        start = time.perf_counter()
        kept, _ = by_image_and_text(uqs, questions, (), judged)
        seconds, share = time.perf_counter() - start, len(kept) / len(uqs)
        print(f"UQs {name}: {len(kept):,} of {len(uqs):,} kept ({share:.1%}) in {seconds:.1f} s")


if __name__ == "__main__":
    run(main)

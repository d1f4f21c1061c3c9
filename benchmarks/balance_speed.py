"""How long the largest balanced set takes, and what equal margins within dev and within test cost.

    python benchmarks/balance.py                 12,000 verified UQs, 400 pictures, 12,600 questions (about GQA testdev)

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


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    for name, value in (
        ("uqs", 12_000),
        ("pictures", 400),
        ("questions", 12_600),
        ("texts", 9_000),
        ("seed", 0),
    ):
        parser.add_argument(f"--{name}", type=int, default=value)
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
    split, whole = parts(ids, a.dev, 0), dict.fromkeys(ids, "test")
    for name, allowed, judged in (
        ("within parts", split, split),
        ("across", whole, split),
        ("across, as one part", whole, whole),
    ):
        uqs = []
        while len(uqs) < a.uqs:
            question, picture = questions[rng.integers(a.questions)], ids[rng.integers(a.pictures)]
            if picture != question.picture_id and allowed[picture] == allowed[question.picture_id]:
                c = Candidate(
                    candidate_id=f"c{len(uqs):05d}",
                    subset="clip-hard",
                    picture_id=picture,
                    question_id=question.question_id,
                    text=question.text,
                )
                uqs.append(
                    Verified(
                        candidate=c,
                        judgement=Judgement(answerability="unknown"),
                        status="unanswerable",
                        votes_invalid=3,
                        votes_valid=0,
                        votes_set_aside=0,
                        verdict_ids=(),
                        simulated=True,
                    )
                )
        start = time.perf_counter()
        kept, _ = by_image_and_text(uqs, questions, (), judged)
        print(
            f"UQs {name}: {len(kept):,} of {len(uqs):,} kept ({len(kept) / len(uqs):.1%}) in {time.perf_counter() - start:.1f} s"
        )


if __name__ == "__main__":
    run(main)

"""Propose the CLIP candidates: rank all pairs of a picture and a question, draw those of both subsets."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Annotated, Literal

import msgspec
import numpy as np

from pipeline.candidates.ranking.pair_scores import quantiles
from pipeline.candidates.ranking.pair_selection import Drawn, draw_by_the_paper, draw_evenly
from pipeline.candidates.ranking.rank_inputs import QuestionTable, Vectors, question_table
from pipeline.candidates.ranking.topk import End, ends
from pipeline.core.errors import UserError
from pipeline.core.json_files import content_key
from pipeline.core.params import Count, CountOrNone, Params, Seed
from pipeline.core.records import Candidate, Question, Subset, candidate_id

Part = Literal["dev", "test"]


class RankParams(Params):
    """Parameters of rank.

    Attributes:
        preset: "even" caps and spreads the draw; "paper" draws as RGQA did (no cap, pure draw, the very last).
        hard_draw, hard_pool: so many questions per picture out of so many best ones (RGQA: 85 of 2,500).
        easy_last: so many of the least similar ones (RGQA: 50). easy_pool: how far up from the end the even draw may
            go for them, as the very last are the same few questions for most pictures.
        cap: how often one question may be used in a subset; 0 is no cap, which leaves the paper's rule.
        dev_share: share of the pictures in the dev part.
        seed: of the draw and of the parts.
    """

    preset: Literal["even", "paper"] = "even"
    hard_draw: Count = 85
    hard_pool: Count = 2500
    easy_last: Count = 50
    easy_pool: Count = 2500
    cap: CountOrNone = 3
    dev_share: Annotated[float, msgspec.Meta(ge=0, le=1)] = 0.2
    seed: Seed = 0


def parts(picture_ids: Iterable[str], dev_share: float, seed: int) -> dict[str, Part]:
    """The part of each picture, by id: thresholds are chosen on dev and applied to test.

    The picture's id alone decides, so that pictures added or removed change no other picture's part."""
    keys = {picture: int(content_key(str(seed), "part", picture), 16) for picture in picture_ids}
    return {picture: "dev" if key < dev_share * 2**64 else "test" for picture, key in keys.items()}


def propose(
    questions: Iterable[Question], vectors: Vectors, part: Mapping[str, str], p: RankParams
) -> tuple[list[Candidate], dict[str, object]]:
    """Rank all pairs and draw the candidates of both subsets; also what the report says of them: `pictures`, `pairs`
    (`pair_counts`), `subsets` (`spread` of each). `part` maps pictures to dev and test. The candidates are without programs
    (`with_programs`).

    Raises:
        UserError: there is no question to propose.
    """
    table = question_table(questions, vectors.picture_ids, vectors.text_list)
    if not table.questions:
        raise UserError(
            "rank: no question can be proposed: all ask for existence, or none is asked of an embedded picture"
        )
    paper = p.preset == "paper" or p.cap == 0
    easy_pool = p.easy_last if paper else p.easy_pool
    best, last, _ = ends(vectors.pictures, vectors.texts, table, p.hard_pool, easy_pool, files=vectors.files)
    dev = np.array([part.get(picture) == "dev" for picture in table.picture_ids])
    wanted: dict[Subset, tuple[End, int]] = {
        "clip-easy": (last, p.easy_last),
        "clip-hard": (best, p.hard_draw),
    }
    proposed: list[Candidate] = []
    subsets = {}
    for subset, (end, draw) in wanted.items():
        if paper:
            drawn = draw_by_the_paper(subset, end.places, table.picture_ids, draw, p.seed)
        else:
            drawn = draw_evenly(subset, end.places, table, dev, draw, p.cap, p.seed)
        proposed += _candidates(subset, drawn, end, table, vectors.text_list)
        subsets[subset] = spread(drawn, end, table, draw)
    figures = {"pictures": len(table.picture_ids), "pairs": pair_counts(table), "subsets": subsets}
    return sorted(proposed, key=lambda candidate: candidate.candidate_id), figures


def _candidates(
    subset: Subset, drawn: Drawn, end: End, table: QuestionTable, texts: Sequence[str]
) -> Iterator[Candidate]:
    admissible = table.admissible()
    pairs: list[tuple[int, int]] = list(zip(drawn.picture.tolist(), drawn.place.tolist(), strict=True))
    for picture, place in pairs:
        number = int(end.places[picture, place])
        picture_id, question_id = table.picture_ids[picture], table.questions[number]
        yield Candidate(
            candidate_id=candidate_id(subset, picture_id, question_id),
            subset=subset,
            picture_id=picture_id,
            question_id=question_id,
            text=texts[int(table.text_rows[number])],
            score=int(end.scores[picture, place]) / 1e6,
            rank=int(admissible[picture]) - place if subset == "clip-easy" else place + 1,
        )


def with_programs(proposed: Iterable[Candidate], questions: Mapping[str, Question]) -> Iterator[Candidate]:
    """Proposed candidates with the programs of their questions, which are given by their ids."""
    return (msgspec.structs.replace(row, program=questions[row.question_id].program) for row in proposed)


def pair_counts(table: QuestionTable) -> dict[str, int]:
    """All pairs of a picture and a question asked of any picture = those left out, by reason + the admissible."""
    pictures, own = len(table.picture_ids), len(table.questions)
    admissible = int(table.admissible().sum())
    return {
        "all": pictures * (own + table.existence),
        "existence question": pictures * table.existence,
        "own question": own,
        "text of an own question": pictures * own - own - admissible,
        "admissible": admissible,
    }


def spread(drawn: Drawn, end: End, table: QuestionTable, wanted: int) -> dict[str, object]:
    """How one subset's candidates are spread, of which `wanted` were to be drawn for each picture.

    Returns:
        bound: no method can draw more. short_of_bound: share of it that is missing (an exact draw is optimal all
        the same). asked, given: pairs per picture: least, mean, most; asked_minus_given: largest difference, sum of
        all. questions_by_uses: how many questions are used so often.
    """
    questions, pictures = end.places[drawn.picture, drawn.place], len(table.picture_ids)
    asked = np.bincount(drawn.picture, minlength=pictures)
    given = np.bincount(table.picture_rows[questions], minlength=pictures)
    apart, used = np.abs(asked - given), np.bincount(np.bincount(questions))
    return {
        "candidates": len(questions),
        "method": drawn.method,
        "bound": drawn.bound,
        "short_of_bound": round(1 - len(questions) / drawn.bound, 6) if drawn.bound else 0.0,
        "pictures_with_fewer_than_wanted": int((asked < wanted).sum()),
        **{
            name: {"least": int(n.min()), "mean": round(float(n.mean()), 3), "most": int(n.max())}
            for name, n in (("asked", asked), ("given", given))
        },
        "asked_minus_given": {"largest": int(apart.max()), "sum": int(apart.sum())},
        "questions_by_uses": {str(uses): int(used[uses]) for uses in np.flatnonzero(used) if uses},
        "distinct_texts": len(np.unique(table.text_rows[questions])),
        "score_quantiles": quantiles(end.scores[drawn.picture, drawn.place] / 1e6),
    }

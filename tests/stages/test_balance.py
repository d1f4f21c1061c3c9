from collections import Counter

import pytest

from pipeline.core.errors import UserError
from pipeline.core.json_files import read_json, read_jsonl, write_json, write_jsonl
from pipeline.core.records import (
    Candidate,
    CandidateEstimate,
    CollectedCandidate,
    DroppedCandidate,
    Edit,
    EditedQuestionScore,
    GoldQuestionCheck,
    Item,
    Question,
    SourceQuestionScore,
    VerifierResult,
    make_candidate_id,
)
from pipeline.stages import balance

# Images A, B, C (test) and D, E (validation), two questions each: A1 A2 B1 ... with the texts a1 a2 b1 ...
QUESTIONS = [
    Question(
        question_id=f"{p}{i}",
        image_id=p,
        split="testdev",
        text=f"{p.lower()}{i}",
        answer=f"answer {p}{i}",
        structural="query",
        semantic="rel",
        detailed="relS",
    )
    for p in "ABCDE"
    for i in (1, 2)
]
PARTS = {p: "validation" if p in "DE" else "test" for p in "ABCDE"}


def verified(subset, image, question_id, text=None, status="unanswerable", edits=()):
    c = Candidate(
        candidate_id=make_candidate_id(subset, image, question_id),
        subset=subset,
        image_id=image,
        question_id=question_id,
        text=text or question_id.lower(),
        edits=edits,
        score=None if edits else 0.25,
        rank=None if edits else 7,
    )
    return CollectedCandidate(
        candidate=c,
        verifier_result=VerifierResult(answerability="unanswerable", category="missing object"),
        status=status,
        votes_invalid=3,
        votes_valid=0,
        votes_excluded=0,
        verdict_ids=("v1", "v2"),
        simulated=True,
    )


EDIT = (Edit(start=0, end=1, kind="object", old="a", new="x"),)
BACK = (Edit(start=0, end=1, kind="object", old="x", new="a"),)
VERIFIED = [
    # clip-easy: A1 at B, B1 at A; D1 at E, E1 at D; besides C2 at A, which C gets nothing back for.
    verified("clip-easy", "B", "A1"),
    verified("clip-easy", "A", "B1"),
    verified("clip-easy", "E", "D1"),
    verified("clip-easy", "D", "E1"),
    verified("clip-easy", "A", "C2"),
    # clip-hard: across parts, D2 at A and A2 at D: equal margins over all, not within validation and test.
    verified("clip-hard", "A", "D2"),
    verified("clip-hard", "D", "A2"),
    # clip-hard: answerable after all; and one whose question annotators refuted
    verified("clip-hard", "B", "C1", status="answerable"),
    verified("clip-hard", "C", "B2"),
    # pt-hard: two edits of A1, one of E2
    verified("pt-hard", "A", "A1", "x1", edits=EDIT),
    verified("pt-hard", "E", "E2", "x2", edits=BACK),
]


@pytest.fixture
def project(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    interim = tmp_path / "data/d/interim"
    write_jsonl(interim / "ingest/questions.jsonl", QUESTIONS[::-1])
    write_jsonl(
        interim / "rank/source_scores.jsonl",
        [SourceQuestionScore(question_id=q.question_id, score=0.5) for q in QUESTIONS],
    )
    edited = [
        EditedQuestionScore(candidate_id="pthard_A+A1", score=-0.125)
    ]  # of the other one nothing is known
    write_jsonl(interim / "similarity/edit_scores.jsonl", edited)
    write_json(interim / "rank/splits.json", PARTS)
    write_jsonl(interim / "collect/verified.jsonl", VERIFIED)
    ids = [row.candidate.candidate_id for row in VERIFIED]
    estimates = [CandidateEstimate(candidate_id=key, p_answerable=0.1, difficulty="popular") for key in ids]
    write_jsonl(interim / "estimate/estimates.jsonl", estimates)
    write_jsonl(
        interim / "collect/aq_checks.jsonl",
        [
            GoldQuestionCheck(
                question_id="B2", image_id="B", text="b2", votes_valid=0, votes_invalid=3, status="refuted"
            ),
            GoldQuestionCheck(
                question_id="A1", image_id="A", text="a1", votes_valid=3, votes_invalid=0, status="verified"
            ),
        ],
    )

    def run(rule):
        (tmp_path / "params.yaml").write_text(f"dataset: d\nd:\n  balance: {{rule: {rule}}}\n")
        balance.main()
        folder = interim / "balance"
        return (
            list(read_jsonl(folder / "items.jsonl", Item)),
            list(read_jsonl(folder / "unpaired.jsonl", DroppedCandidate)),
            read_json(folder / "balance.json"),
        )

    run.interim = interim
    return run


def ids(items, subset):
    return {i.item_id for i in items if i.subset == subset}


def test_imbalances_are_zero_and_excluded_candidates_have_a_reason(project):
    items, unpaired, report = project("image_and_text")
    assert ids(items, "clip-easy") == {
        "clipeasy_B+A1",
        "A1",
        "clipeasy_A+B1",
        "B1",
        "clipeasy_E+D1",
        "D1",
        "clipeasy_D+E1",
        "E1",
    }
    assert ids(items, "clip-hard") == set()
    assert ids(items, "pt-hard") == {"pthard_A+A1", "A1", "pthard_E+E2", "E2"}
    assert {(d.candidate_id, d.reason) for d in unpaired} == {
        ("clipeasy_A+C2", "outside the largest balanced set"),
        ("cliphard_A+D2", "no image of its split has this text as an answerable question"),
        ("cliphard_D+A2", "no image of its split has this text as an answerable question"),
        ("cliphard_C+B2", "annotators refuted the answerable question"),
    }
    assert all(d.stage == "balance" for d in unpaired)
    easy = report["subsets"]["clip-easy"]
    assert (easy["verified"], easy["kept"], easy["kept_fraction"], easy["excluded"]) == (
        5,
        4,
        0.8,
        {"outside the largest balanced set": 1},
    )
    for scope, uqs in (("all", 4), ("validation", 2), ("test", 2)):
        assert easy[scope] == {
            "uqs": uqs,
            "aqs": uqs,
            "distinct_texts_per_uq": 1.0,
            "text_imbalance": 0,
            "image_imbalance": 0,
        }
    assert report["refuted_questions"] == 1
    assert report["subsets"]["pt-easy"]["kept_fraction"] is None  # nothing verified: undefined, not zero


def test_items_record_their_provenance(project):
    items, _, _ = project("image_and_text")
    by_id = {(i.subset, i.item_id): i for i in items}
    uq, aq = by_id["clip-easy", "clipeasy_B+A1"], by_id["clip-easy", "A1"]
    assert (uq.unanswerable, uq.answer, uq.image_id, uq.question_id, uq.text, uq.score, uq.rank) == (
        True,
        "",
        "B",
        "A1",
        "a1",
        0.25,
        7,
    )
    assert (uq.category, uq.verdict_ids, uq.simulated, uq.structural, uq.semantic, uq.detailed) == (
        "missing object",
        ("v1", "v2"),
        True,
        "query",
        "rel",
        "relS",
    )
    assert (
        aq.unanswerable,
        aq.answer,
        aq.image_id,
        aq.text,
        aq.score,
        aq.rank,
        aq.category,
        aq.simulated,
    ) == (False, "answer A1", "A", "a1", 0.5, None, None, True)
    assert uq.pair_id == aq.pair_id != by_id["clip-easy", "B1"].pair_id
    assert (uq.split, by_id["clip-easy", "D1"].split) == ("test", "validation")
    assert "answerable for A" in uq.pairing_reason
    assert (
        by_id["pt-hard", "pthard_A+A1"].edits == EDIT
        and by_id["pt-hard", "pthard_A+A1"].pair_id == by_id["pt-hard", "A1"].pair_id
    )
    assert [(i.subset, i.item_id) for i in items] == sorted((i.subset, i.item_id) for i in items)


def test_an_edited_question_has_the_score_of_similarity_and_none_where_there_is_none(project):
    items, _, _ = project("image_and_text")
    edited = {i.item_id: (i.score, i.rank) for i in items if i.edits}
    assert edited == {"pthard_A+A1": (-0.125, None), "pthard_E+E2": (None, None)}
    assert {i.score for i in items if i.subset == "clip-easy" and i.unanswerable} == {0.25}  # as rank has it


def test_the_papers_rule_keeps_every_uq_and_drops_duplicate_aqs(project):
    items, unpaired, report = project("image")
    assert unpaired == []
    assert sum(i.unanswerable for i in items) == sum(v.status == "unanswerable" for v in VERIFIED) == 10
    for subset in ("clip-easy", "clip-hard", "pt-hard"):
        rows = [i for i in items if i.subset == subset]
        assert max(Counter(i.item_id for i in rows).values()) == 1
        aqs = {i.item_id: i for i in rows if not i.unanswerable}
        assert "B2" not in aqs  # refuted
        for item in rows:
            if item.unanswerable:
                assert aqs[item.pair_id.split("+")[1]].image_id == item.image_id
    # Two UQs of clip-easy are at A: as A has two questions, their AQs may be one.
    assert report["subsets"]["clip-easy"]["all"]["aqs"] in (4, 5)
    assert report["subsets"]["clip-easy"]["all"]["text_imbalance"] == 1


def test_the_same_bytes_each_time(project):
    folder = project.interim / "balance"
    project("image_and_text")
    first = {path.name: path.read_bytes() for path in folder.iterdir()}
    project("image_and_text")
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == first


def test_verdicts_of_another_data_set_are_refused(project):
    write_jsonl(
        project.interim / "collect/verified.jsonl",
        [*VERIFIED, verified("clip-easy", "Z", "A1"), verified("pt-easy", "A", "Z9")],
    )
    with pytest.raises(UserError) as caught:
        project("image_and_text")
    assert len(caught.value.problems) == 3 and "Z9" in str(caught.value) and "image Z" in str(caught.value)

import json
from collections import Counter
from pathlib import Path

import pytest

from annotation.study.assignment import AdaptiveAssigner, AssignmentRules
from annotation.study.assignment_params import to_task_mapping
from annotation.study.forecast import simulate_assignments
from annotation.study.gold_leakage import GoldLeakage, build_shown_questions, measure_gold_leakage
from pipeline.core.errors import Problems, UserError
from pipeline.core.json_files import read_json, read_jsonl, write_jsonl
from pipeline.core.records import (
    CandidateEstimate,
    CollectedCandidate,
    Question,
    ScreenedCandidate,
    SpareGoldQuestion,
    Task,
    TaskQuestion,
)
from pipeline.sources import gqa_files
from pipeline.stages import batch, tag
from pipeline.stages.batch import make_report, warn_about_leakage
from pipeline.tasks.gold_questions import GoldQuestion, select_reworded
from pipeline.tasks.second_questions import Offer
from pipeline.tasks.spare_gold_questions import (
    count_usable_images,
    find_spare_gold_questions,
    hold_back_gold_questions,
)
from research.simulated_annotators.answerability import find_obstacle
from research.simulated_annotators.word_senses import WordSenses

OUT = Path("data/tiny/interim/batch")


def tasks():
    batch.main()
    return list(read_jsonl(OUT / "tasks.jsonl", Task))


def questions_of(task):
    """The candidate and its companion."""
    return sorted((task.first, task.second), key=lambda question: question.role)


def filters_of(made):
    return [row for task in made for row in questions_of(task)[1:] if row.role == "gold"]


def test_every_candidate_is_judged_in_one_task(screened):
    rows = list(read_jsonl(screened / "screen/screened.jsonl", ScreenedCandidate))
    assert len(rows) > 200
    assert sorted(questions_of(t)[0].candidate_id for t in tasks()) == sorted(
        r.candidate.candidate_id for r in rows
    )


def test_gold_questions_are_valid_and_as_far_as_the_evidence_suffices_invalid(screened):
    made = tasks()
    counts = Counter(row.expected_choice for row in filters_of(made))
    assert 0 < counts["invalid"] <= counts["valid"] + 2  # two subsets, each with one more at most
    assert Counter(questions_of(t)[1].role for t in made)["gold"] == counts.total() < len(made)


@pytest.mark.parametrize("hide_source", [False, True])
def test_every_gold_question_agrees_with_the_complete_truth(screened, vocabulary, set_params, hide_source):
    if hide_source:
        tag.main()
    set_params("batch", hide_source=hide_source)
    words = WordSenses(categories=vocabulary.categories, attribute_types=vocabulary.attribute_types)
    truth = {
        s.image_id: s
        for s in gqa_files.read_scene_graphs(
            Path("data/tiny/truth"), ("testdev",), Problems("x"), is_complete=True
        )
    }
    wrong, made = [], tasks()
    if hide_source:
        assert sum(row.gold_source == "edited question" for row in filters_of(made)) > 5
    for image_id, filter_question in [(task.image_id, questions_of(task)[1]) for task in made]:
        if filter_question.role == "gold" and filter_question.text != "Is this a color image?":
            reason = find_obstacle(filter_question.program, truth[image_id], words)
            wrong += [(filter_question, reason)] * (
                (reason is None) != (filter_question.expected_choice == "valid")
            )
    assert wrong == []


def test_spare_gold_questions_are_in_no_task():
    def gold(text, kind, source="own question"):
        return GoldQuestion(text=text, expected_choice=kind, source=source, explanation="why")

    made = [asked(n, kind, "own question", True) for n, kind in enumerate(("valid", "invalid"))]
    image_id, text = made[0].image_id, questions_of(made[0])[1].text
    offers = {
        image_id: Offer.from_questions(
            [
                gold(text, "valid"),
                *(gold(f"valid {n}", "valid") for n in range(5)),
                gold("new", "invalid"),
                gold("template", "invalid", "template"),
            ]
        ),
        "n9": Offer(),
    }
    spare = find_spare_gold_questions(made, offers, seed=0)
    assert {row.image_id for row in spare} == {image_id}
    texts = [row.question.text for row in spare]
    assert texts == sorted(texts) and "new" in texts and not {text, "template"} & {*texts}
    # At most three of a kind.
    assert Counter(row.question.expected_choice for row in spare) == {"valid": 3, "invalid": 1}
    assert {(row.question.role, row.question.gold_explanation) for row in spare} == {("gold", "why")}
    assert find_spare_gold_questions(made, offers, seed=0) == spare
    tries = {
        tuple(row.question.text for row in find_spare_gold_questions(made, offers, seed)) for seed in range(9)
    }
    assert len(tries) > 1


def test_gold_questions_are_held_back_if_too_few_are_spare():
    def offer(num_valid, num_invalid):
        rows = [("valid", n) for n in range(num_valid)] + [("invalid", n) for n in range(num_invalid)]
        return Offer.from_questions(
            GoldQuestion(text=f"{kind} {n}", expected_choice=kind, source="own question") for kind, n in rows
        )

    def held(before):
        after = hold_back_gold_questions(before, "n1", seed=0)
        rest = {row.text for row in before.gold_questions} - {row.text for row in after.gold_questions}
        return sorted(text.split()[0] for text in rest)

    assert held(offer(5, 3)) == ["invalid", "valid"]
    assert held(offer(5, 2)) == ["valid", "valid"]  # two of each kind are kept
    assert held(offer(3, 2)) == held(offer(2, 2)) == []


def test_small_set_holds_gold_questions_back(screened):
    """Eight images, all of whose gold questions would be used otherwise."""
    made = tasks()
    shown = {(task.image_id, row.text) for task in made for row in (task.first, task.second)}
    spare = list(read_jsonl(OUT / "spare_gold_questions.jsonl", SpareGoldQuestion))
    assert count_usable_images(spare) >= 5  # the others have too few
    assert not shown & {(row.image_id, row.question.text) for row in spare}


def test_source_is_hidden_if_it_is_public(screened, set_params):
    """By default, because its questions were reworded. Then some gold questions are edited, as candidates are."""
    tag.main()
    batch.main()
    before, shown = read_json(OUT / "batch.json"), (OUT / "tasks.jsonl").read_bytes()
    assert not before["hides_source"] and not [name for name in before["gold_questions"] if "edited" in name]
    set_params("batch", hide_source=False)
    batch.main()
    assert (OUT / "tasks.jsonl").read_bytes() == shown
    path = screened / "ingest/ingest.json"
    report = read_json(path)
    path.write_text(json.dumps(report | {"paraphrase": {"used": True, "auto": True, "public_source": "GQA"}}))
    set_params("batch", hide_source="auto")
    batch.main()
    after = read_json(OUT / "batch.json")
    assert after["hides_source"]
    # Half of the gold questions are invalid, about half of them edited.
    assert after["gold_questions"]["edited question, invalid"] > 0.1 * after["gold_invalid"]
    by_meaning = [read["source_leakage"][1] for read in (before, after)]
    assert {row["cue"] for row in by_meaning} == {"public source, by meaning"}
    assert by_meaning[1]["auroc"] < by_meaning[0]["auroc"]


def test_reworded_own_questions_are_preferred():
    rows = [
        Question(
            question_id=str(n), image_id="n1", split="testdev", text=f"new {n}", answer="a", source_text=old
        )
        for n, old in enumerate(("old", "", "older"))
    ]
    assert [row.text for row in select_reworded(rows)] == ["new 0", "new 2"]
    assert select_reworded(rows[1:2]) == rows[1:2]


def test_gold_questions_come_from_all_sources(screened):
    assert {row.gold_source for row in filters_of(tasks())} == {
        "own question",
        "candidate refuted by evidence",
        "foreign question",
        "template",
    }


def test_the_browser_sees_nothing_that_identifies_the_gold_question(screened):
    made = tasks()
    shown = read_json(OUT / "label_studio_tasks.json")
    assert [row["data"]["task"] for row in shown] == [t.task_id for t in made]
    assert {tuple(sorted(row["data"])) for row in shown} == {("first", "image", "second", "task")}
    assert {tuple(row) for row in shown} == {("data",)}
    text = (OUT / "label_studio_tasks.json").read_text()
    secrets = {"role", "expected", "gold", "clipeasy", "cliphard", "invalid", "judged"}
    secrets |= {q.key for t in made for q in (t.first, t.second)} | {
        q.candidate_id for t in made for q in (t.first, t.second) if q.candidate_id
    }
    assert not [secret for secret in secrets if secret in text]


def test_the_same_input_gives_the_same_bytes_and_another_seed_other_tasks(screened, set_params):
    batch.main()
    before = {path.name: path.read_bytes() for path in OUT.iterdir()}
    rows = list(read_jsonl(screened / "screen/screened.jsonl", ScreenedCandidate))
    write_jsonl(screened / "screen/screened.jsonl", rows[::-1])
    batch.main()
    assert {path.name: path.read_bytes() for path in OUT.iterdir()} == before
    set_params("batch", seed=2)
    batch.main()
    assert (OUT / "tasks.jsonl").read_bytes() != before["tasks.jsonl"]


def test_gold_questions_from_templates_alone_leak(screened, set_params, capsys):
    set_params("batch", template_proportion=1.0)
    batch.main()
    auroc_by_cue = {row["cue"]: row["auroc"] for row in read_json(OUT / "batch.json")["gold_leakage"]}
    assert auroc_by_cue["bag of words, grouped by text"] > 0.8
    assert (
        "warning: gold questions can be distinguished from candidates by: bag of words"
        in capsys.readouterr().err
    )


def test_the_report_counts_tasks_and_gold_questions(screened):
    made = tasks()
    report = read_json(OUT / "batch.json")
    assert (
        sum(report["tasks"].values())
        == sum(report["gold_questions"].values()) + report["repeats"]
        == len(made)
    )
    assert report["gold_valid"] + report["gold_invalid"] + report["repeats"] == len(made)
    valid = sum(row.expected_choice == "valid" for row in filters_of(made))
    assert report["gold_valid"] == valid


def test_candidates_verified_in_an_earlier_round_serve_as_gold_questions(screened):
    rows = list(read_jsonl(screened / "screen/screened.jsonl", ScreenedCandidate))
    known = [
        CollectedCandidate(
            candidate=row.candidate,
            verifier_result=row.verifier_result,
            status="answerable" if i % 2 else "unanswerable",
            votes_invalid=3,
            votes_valid=0,
            votes_excluded=0,
            verdict_ids=(),
            simulated=True,
        )
        for i, row in enumerate(rows[:80])
    ]
    Path("data/tiny/rounds").mkdir()
    write_jsonl("data/tiny/rounds/1.jsonl", known)
    expected = {
        row.candidate.candidate_id: "valid" if row.status == "answerable" else "invalid" for row in known
    }
    used = [row for row in filters_of(tasks()) if row.gold_source == "verified candidate"]
    assert {q.expected_choice for q in used} == {"valid", "invalid"}
    assert all(q.expected_choice == expected[q.candidate_id] for q in used)


def test_without_screened_candidates_the_stage_says_so(tiny):
    with pytest.raises(UserError, match="screened.jsonl: no such file"):
        batch.main()


def test_tasks_are_json_that_label_studio_can_read(screened):
    batch.main()
    rows = json.loads((OUT / "label_studio_tasks.json").read_text())
    assert all(
        row["data"]["image"].startswith("/data/local-files/?d=tiny/source/images/n10000") for row in rows
    )


def asked(number, expected, source, candidate_first):
    candidate = TaskQuestion(key="c", text=f"candidate {number}", role="candidate")
    known = TaskQuestion(
        key="f", text=f"filter {number}", role="gold", expected_choice=expected, gold_source=source
    )
    first, second = (candidate, known) if candidate_first else (known, candidate)
    return Task(task_id=str(number), image_id="n1", subset="clip-hard", first=first, second=second)


def test_gold_questions_are_counted_by_source_and_verdict(capsys):
    rows = [
        asked(1, "valid", "own question", True),
        asked(2, "valid", "own question", False),
        asked(3, "invalid", "template", False),
    ]
    figures = make_report(rows, [])
    assert figures["tasks"] == {"clip-hard": 3}
    assert figures["gold_questions"] == {"own question, valid": 2, "template, invalid": 1}
    assert (figures["gold_valid"], figures["gold_invalid"], figures["candidate_first"]) == (2, 1, 1)
    assert figures["repeats"] == 0
    hidden = GoldLeakage(
        cue="position in the task", auroc=0.58, low=0.56, high=0.6
    )  # no more than is tolerated
    warn_about_leakage(figures | {"gold_leakage": [hidden]})
    assert capsys.readouterr().err == ""


def test_gold_questions_that_are_all_valid_cause_a_warning(capsys):
    warn_about_leakage(make_report([asked(1, "valid", "own question", True)], []))
    assert "no gold question is known to be unanswerable" in capsys.readouterr().err


def test_without_candidates_the_stage_stops(screened):
    (screened / "screen/screened.jsonl").write_text("")
    with pytest.raises(UserError, match="no candidate is left for annotation"):
        batch.main()


def test_gold_leakage_is_measured_on_the_blocks_that_the_judgements_reach(monkeypatch):
    def row(number):
        block = number // 50
        asked = TaskQuestion(key="c", text=f"candidate {number}", role="candidate", candidate_id=f"c{number}")
        known = TaskQuestion(key="f", text=f"filter {number}", role="gold", expected_choice="valid")
        return Task(
            task_id=f"{number:04}",
            image_id=f"n{number % 9}",
            subset="clip-hard",
            first=asked,
            second=known,
            priority_block=block,
        )

    made = [row(number) for number in range(1000)]
    estimates = {f"c{number}": 0.2 for number in range(1000)}
    rows = [CandidateEstimate(candidate_id=key, p_answerable=0.2, difficulty="random") for key in estimates]
    monkeypatch.setattr(batch, "MAX_SIMULATED_JUDGEMENTS", 120)
    left = iter(made)
    found, _ = batch.simulate_gold_leakage(left, rows, seed=0)
    # 120 judgements and a wave of 100 reach into the fifth block of 50; the first task of the sixth ends it.
    assert next(left).task_id == "0251"
    everything = AdaptiveAssigner(
        [to_task_mapping(task) for task in made], estimates, AssignmentRules(max_judgements=120, seed=0)
    )
    stream = simulate_assignments(
        everything, [f"person {number}" for number in range(batch.NUM_SIMULATED_ANNOTATORS)], 0
    )
    assert len(stream) == 120
    assert found == measure_gold_leakage(
        build_shown_questions(stream, {task.task_id: task for task in made}), 0
    )

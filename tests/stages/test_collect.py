import json
import shutil
from pathlib import Path

import pytest

from annotation.study.assignment import AssignmentRules, is_overlap_task
from annotation.study.panel_verdicts import PanelVerdict, write_panel
from annotation.study.posteriors import Posterior
from annotation.study.quality_report import QualityReport
from pipeline.core.errors import UserError
from pipeline.core.json_files import read_json, read_jsonl
from pipeline.core.records import CollectedCandidate, GoldQuestionCheck, ScreenedCandidate, Task, Verdict
from pipeline.stages import batch, collect
from tests.stages.conftest import export

OUT = Path("data/tiny/interim/collect")
PULLED = Path("data/tiny/annotations/pulled.json")


@pytest.fixture
def batched(screened):
    batch.main()
    return screened


def verified():
    return list(read_jsonl(OUT / "verified.jsonl", CollectedCandidate))


def test_every_candidate_gets_exactly_one_status(batched):
    collect.main()
    rows = list(read_jsonl(batched / "screen/screened.jsonl", ScreenedCandidate))
    assert sorted(v.candidate.candidate_id for v in verified()) == sorted(
        r.candidate.candidate_id for r in rows
    )
    report = read_json(OUT / "collect.json")
    assert sum(count for subset in report["candidates"].values() for count in subset.values()) == len(rows)


def test_every_vote_is_counted_once_or_excluded_with_a_reason(batched, set_params):
    set_params("collect", simulated_votes=8)
    set_params("annotate", audit_rate=0.0)
    collect.main()
    verdicts = list(read_jsonl(OUT / "verdicts.jsonl", Verdict))
    tasks = {task.task_id: task for task in read_jsonl(batched / "batch/tasks.jsonl", Task)}
    assert len(verdicts) == 8 * len(tasks)
    answers = sum(
        asked.role != "gold"
        for row in verdicts
        for asked in (tasks[row.task_id].first, tasks[row.task_id].second)
    )
    aside = [json.loads(line) for line in (OUT / "excluded_answers.jsonl").read_text().splitlines()]
    assert sum(v.votes_invalid + v.votes_valid + v.votes_excluded for v in verified()) == answers
    assert sum(v.votes_excluded for v in verified()) == len(aside)
    assert len({(row["verdict_id"], row["candidate_id"]) for row in aside}) == len(aside)
    assert {row["reason"] for row in aside} >= {"annotator excluded", "gold question failed"}


def test_the_careless_annotator_is_excluded_and_no_other(batched, set_params):
    set_params("collect", simulated_votes=8)
    collect.main()
    annotators = read_json(OUT / "collect.json")["annotators"]
    assert [name for name, row in annotators.items() if row["excluded"]] == ["simulated-8"]
    assert (
        annotators["simulated-8"]["specificity"]["high"]
        < 0.8
        < annotators["simulated-1"]["specificity"]["low"]
    )


def test_simulated_verdicts_say_so_everywhere(batched):
    collect.main()
    assert all(v.simulated for v in read_jsonl(OUT / "verdicts.jsonl", Verdict))
    assert all(v.simulated for v in verified())
    assert read_json(OUT / "collect.json")["simulated"] is True


def test_own_questions_are_verified_on_the_way(batched, set_params):
    set_params("collect", simulated_votes=8)
    collect.main()
    checks = list(read_jsonl(OUT / "aq_checks.jsonl", GoldQuestionCheck))
    assert len(checks) > 10
    assert "refuted" not in {check.status for check in checks}


def test_what_all_eight_come_to_is_the_truth(batched, set_params):
    """By hand: at n100003 (a park) there is neither table nor shelf; n100005 is a beach; n100007 an office."""
    set_params("collect", simulated_votes=8)
    set_params("annotate", audit_rate=0.0)
    collect.main()
    status = {(v.candidate.image_id, v.candidate.text): v.status for v in verified()}
    assert status["n100003", "What color is the table?"] == "unanswerable"
    assert status["n100003", "What is the shelf made of?"] == "unanswerable"
    assert status["n100005", "How is the weather?"] == "answerable"
    assert status["n100007", "Which place is it?"] == "answerable"


def test_the_same_input_gives_the_same_bytes(batched):
    collect.main()
    before = {path.name: path.read_bytes() for path in OUT.iterdir()}
    collect.main()
    assert {path.name: path.read_bytes() for path in OUT.iterdir()} == before


def test_without_verdicts_the_message_says_how_many_tasks_wait_and_what_to_run(batched, set_params):
    set_params("collect", simulate=False)
    count = len(list(read_jsonl(batched / "batch/tasks.jsonl", Task)))
    with pytest.raises(UserError) as caught:
        collect.main()
    assert caught.value.problems[0] == f"{count} tasks without verdicts: no annotator has answered a task yet"
    assert (
        "rgqa annotate serve" in caught.value.problems[2]
        and "rgqa annotate pull, then dvc repro" in caught.value.problems[2]
    )
    assert caught.value.problems[1] == f"{PULLED} does not exist"
    assert "label_studio_tasks.json" in caught.value.problems[3]
    assert "rgqa annotate import EXPORT" in caught.value.problems[3]
    assert not OUT.exists()


def pulled(rows):
    PULLED.parent.mkdir(exist_ok=True)
    PULLED.write_text(json.dumps(rows))


def collected_from(batched, set_params, choose, rule="majority"):
    set_params("collect", simulate=False, aggregation=rule)
    set_params("annotate", overlap_rate=1.0)
    pulled(export(list(read_jsonl(batched / "batch/tasks.jsonl", Task)), choose))
    (PULLED.parent / "README.md").write_text("not an export")
    collect.main()
    return verified(), read_json(OUT / "collect.json")


def test_verdicts_of_people_are_collected_and_not_marked_simulated(batched, set_params):
    rows, report = collected_from(
        batched, set_params, lambda who, question: question.expected_choice or "invalid"
    )
    assert {row.status for row in rows} == {"unanswerable"}
    assert {row.votes_invalid for row in rows} == {3}
    assert not any(row.simulated for row in rows)
    assert report["exports"] == {"complete": 3 * len(rows)}
    assert report["agreement"]["observed"]["value"] == 1.0


def test_suspiciously_good_results_are_reported(batched, set_params, capsys):
    collected_from(batched, set_params, lambda who, question: question.expected_choice or "invalid")
    assert "suspiciously good" in capsys.readouterr().err
    assert "suspiciously good" in (OUT / "quality.html").read_text()


def test_exports_beside_the_pulled_file_are_refused_until_they_are_imported(batched, set_params):
    PULLED.parent.mkdir()
    (PULLED.parent / "b.json").write_text("[]")
    with pytest.raises(UserError, match=r"rgqa annotate import data/tiny/annotations/b.json, then move"):
        collected_from(batched, set_params, lambda who, question: "valid")


def test_a_crowd_that_calls_everything_invalid_verifies_nothing(batched, set_params):
    """The attack: 100 % accuracy, as all filters that it contradicts were thrown away, and everything unanswerable."""
    with pytest.raises(UserError) as caught:
        collected_from(batched, set_params, lambda who, question: "invalid", rule="dawid-skene")
    assert "no candidate has 1 vote that count" in caught.value.problems[0]
    assert sum("is excluded: " in line and "specificity" in line for line in caught.value.problems) == 3


def test_a_source_contradicted_by_three_reliable_annotators_is_named(batched, set_params):
    tasks = list(read_jsonl(batched / "batch/tasks.jsonl", Task))
    known = [asked for task in tasks for asked in (task.first, task.second) if asked.role == "gold"]
    wrong = {asked.text for asked in known if asked.gold_source == "own question"}
    wrong = set(sorted(wrong)[:4])
    flip = {"valid": "invalid", "invalid": "valid"}

    def choose(who, asked):
        return (
            flip[asked.expected_choice]
            if asked.role == "gold" and asked.text in wrong
            else asked.expected_choice or "valid"
        )

    _, report = collected_from(batched, set_params, choose)
    assert any(
        "source `own question`" in text and "max_discarded_rate" in text for text in report["warnings"]
    )


def test_unsure_in_doubt_discards_a_candidate(batched, set_params):
    rows, _ = collected_from(
        batched, set_params, lambda who, q: q.expected_choice or ("invalid" if who == 1 else "unsure")
    )
    assert {row.status for row in rows} == {"doubtful"}


def test_an_annotator_who_always_says_invalid_is_excluded(batched, set_params):
    rows, report = collected_from(
        batched, set_params, lambda who, q: "invalid" if who == 3 else (q.expected_choice or "valid")
    )
    assert {row.status for row in rows} == {"answerable"}
    assert [row["excluded"] for row in report["annotators"].values()].count(True) == 1
    assert {row.votes_invalid for row in rows} == {0}


def test_simulation_without_the_truth_is_refused(batched):
    Path("data/tiny/truth/testdev_sceneGraphs.json").unlink()
    with pytest.raises(UserError, match="truth/testdev_sceneGraphs.json: no such file"):
        collect.main()


def test_more_votes_needed_than_given_is_refused(batched, set_params):
    set_params("collect", aggregation="majority", min_votes=4)
    with pytest.raises(UserError, match="min_votes is 4, more than collect.simulated_votes, 3"):
        collect.main()


def test_the_quality_report_agrees_with_the_files(batched, set_params):
    set_params("collect", simulated_votes=8)
    set_params("annotate", audit_rate=0.0)
    collect.main()
    quality = read_json(OUT / "quality.json", QualityReport)
    aside = [json.loads(line) for line in (OUT / "excluded_answers.jsonl").read_text().splitlines()]
    assert (quality.num_verdicts, quality.num_answers - quality.num_counted) == (
        8 * len(verified()),
        len(aside),
    )
    assert quality.num_unanswerable == sum(row.status == "unanswerable" for row in verified())
    assert [row.name for row in quality.annotators if row.exclusion_reasons] == ["simulated-8"]
    assert {row["detail"] for row in aside if row["reason"] == "annotator excluded"} == {
        "; ".join(quality.annotators[7].exclusion_reasons)
    }
    assert "Simulated verdicts." in (OUT / "quality.html").read_text()


def test_by_dawid_and_skene_each_decision_has_its_probability(batched, set_params):
    set_params("collect", min_posterior=0.9)
    collect.main()
    invalid = {row.candidate_id: row.invalid for row in read_jsonl(OUT / "posteriors.jsonl", Posterior)}
    rows = verified()
    for row in rows:
        probability = invalid.get(row.candidate.candidate_id)
        if row.status == "unanswerable":
            assert probability >= 0.9
            assert row.votes_invalid > 0
        elif row.status == "answerable" and row.decided_by == "votes":
            assert probability <= 0.1
            assert row.votes_invalid < row.votes_valid
        elif row.status == "doubtful" and row.votes_invalid > row.votes_valid:
            assert probability < 0.9
    assert sum(row.status == "unanswerable" for row in rows) > len(rows) / 3
    assert "Error rates on candidates" in (OUT / "quality.html").read_text()


def test_an_annotator_who_answers_too_fast_is_excluded_unless_speed_is_only_reported(batched, set_params):
    def answer(who, question):  # person 3 is always right about filters, in a second each
        return question.expected_choice or "invalid"

    tasks = list(read_jsonl(batched / "batch/tasks.jsonl", Task))
    rows = export(tasks, answer)
    for row in rows:
        for annotation in row["annotations"]:
            annotation["lead_time"] = 1.0 if annotation["completed_by"] == "annotator-03" else 12.0
    pulled(rows)
    set_params("collect", simulate=False)
    collect.main()
    (fast,) = [
        row for row in read_json(OUT / "quality.json", QualityReport).annotators if row.exclusion_reasons
    ]
    assert fast.exclusion_reasons == (
        f"speed: {len(tasks)} of {len(tasks)} tasks in under 3 s, median 1.0 s",
    )
    set_params("collect", exclusion_checks=["sensitivity", "specificity"])
    collect.main()
    told = read_json(OUT / "quality.json", QualityReport).annotators
    assert not any(row.exclusion_reasons for row in told)
    assert [row.name for row in told if row.flags] == [fast.name]


def test_parameters_of_the_quality_that_make_no_sense_are_all_refused_at_once(batched, set_params):
    set_params(
        "collect", aggregation="plurality", exclusion_checks=["mood"], min_posterior=0.5, max_fast_rate=2
    )
    with pytest.raises(UserError) as caught:
        collect.main()
    assert len(caught.value.problems) == 5


def test_too_few_verdicts_for_any_candidate_stop_the_stage(batched, set_params):
    set_params("collect", min_votes=4)  # the file has three of each
    with pytest.raises(UserError, match=r"no candidate has 4 votes that count \(the maximum is 3\)"):
        collected_from(batched, set_params, lambda who, question: question.expected_choice or "invalid")
    assert not (OUT / "verified.jsonl").exists()


def test_a_rehearsal_needs_no_truth_and_says_so_everywhere(batched, set_params, capsys):
    shutil.rmtree("data/tiny/truth")
    set_params("collect", simulate="rehearsal")
    collect.main()
    assert "REHEARSAL" in capsys.readouterr().err
    verdicts = list(read_jsonl(OUT / "verdicts.jsonl", Verdict))
    assert verdicts and all(
        v.rehearsal and v.simulated and v.annotator.startswith(("rehearsal-", "adjudicator-rehearsal"))
        for v in verdicts
    )
    assert all(row.rehearsal and row.simulated for row in verified())
    assert read_json(OUT / "collect.json")["rehearsal"] is True
    assert '<p class="simulated">REHEARSAL.' in (OUT / "quality.html").read_text()


def test_a_rehearsal_takes_unstated_objects_as_absent(batched, set_params):
    set_params("collect", simulate="rehearsal")
    collect.main()
    rows = {row.candidate.candidate_id: row for row in verified()}
    # In the closed world of the partial graphs nearly every foreign question fails; the judge alone dares it of few.
    assert sum(row.status == "unanswerable" for row in rows.values()) > len(rows) / 2
    assert sum(row.verifier_result.answerability == "unanswerable" for row in rows.values()) < len(rows) / 2


def test_other_verdicts_are_no_rehearsal(batched):
    collect.main()
    assert not any(v.rehearsal for v in read_jsonl(OUT / "verdicts.jsonl", Verdict))
    assert (
        read_json(OUT / "collect.json")["rehearsal"] is False
        and "REHEARSAL" not in (OUT / "quality.html").read_text()
    )


def test_agreement_is_measured_on_the_overlap_of_the_annotate_section(batched, set_params):
    tasks = list(read_jsonl(batched / "batch/tasks.jsonl", Task))
    set_params("annotate", overlap_rate=0.3, seed=5)
    collect.main()
    rules = AssignmentRules(overlap_rate=0.3, seed=5)
    wanted = sum(is_overlap_task(task.task_id, rules) for task in tasks)
    assert 0 < wanted < len(tasks)
    assert read_json(OUT / "collect.json")["agreement"]["candidates"] <= wanted
    set_params("annotate", overlap_rate=0.0)
    collect.main()
    assert read_json(OUT / "collect.json")["agreement"]["candidates"] == 0


def test_an_adjudicators_verdict_reaches_the_report(batched, set_params):
    set_params("collect", simulate=False, aggregation="majority")
    tasks = list(read_jsonl(batched / "batch/tasks.jsonl", Task))
    rows = export(tasks, lambda who, asked: asked.expected_choice or ("invalid" if who < 3 else "valid"))
    for row in rows:
        row["annotations"][2]["completed_by"] = "adjudicator-01"
    pulled(rows)
    collect.main()
    assert {(row.status, row.decided_by) for row in verified()} == {("answerable", "adjudicator")}
    assert {row.votes_invalid for row in verified()} == {2}
    assert read_json(OUT / "collect.json")["by_adjudicator"] == {"answerable": len(tasks)}
    assert "adjudicator-01" in (OUT / "quality.html").read_text()


def test_a_simulated_adjudicator_judges_the_audit_sample(batched, set_params):
    set_params("annotate", audit_rate=1.0)
    collect.main()
    quality = read_json(OUT / "quality.json", QualityReport)
    assert quality.label_error.num_audited >= 30 and quality.label_error.value is not None
    # Where the adjudicator failed the gold question of the task, votes decide.
    decided_by = [row.decided_by for row in verified()]
    assert decided_by.count("adjudicator") > 0.9 * len(decided_by)


def test_models_decide_without_people_only_with_min_people_0(batched, set_params):
    tasks = list(read_jsonl(batched / "batch/tasks.jsonl", Task))
    verdicts = [
        PanelVerdict(
            task_id=task.task_id,
            model=f"net{number}",
            prompt="prompt-1",
            first=task.first.expected_choice or "invalid",
            second=task.second.expected_choice or "invalid",
        )
        for task in tasks
        for number in range(3)
    ]
    for number in range(3):
        write_panel(
            PULLED.with_name("panel.jsonl"),
            f"net{number}",
            [row for row in verdicts if row.model == f"net{number}"],
        )
    set_params("collect", simulate=False)
    with pytest.raises(UserError, match="without verdicts"):
        collect.main()
    set_params("collect", simulate=False, min_people=0)
    collect.main()
    by_panel = [row for row in verified() if row.decided_by == "panel"]
    assert {row.status for row in by_panel} == {"unanswerable"}
    assert read_json(OUT / "collect.json")["by_panel"] == {"unanswerable": len(by_panel)}
    assert {row.decided_by for row in verified() if row.status == "no_votes"} == {"votes"}
    report = read_json(OUT / "quality.json", QualityReport)
    assert report.panel and report.panel.error is None
    assert report.num_people == 0 and report.doubts

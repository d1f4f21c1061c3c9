"""The roster of annotators, and the forecast of their work."""

from collections import Counter
from math import isclose, log

import msgspec
import pytest

from annotation.client.collected_answers import print_forecast
from annotation.study.assignment import AdaptiveAssigner, AssignmentRules
from annotation.study.assignment_params import AnnotateParams, to_task_mapping
from annotation.study.exports import make_pseudonym, read_pulled
from annotation.study.forecast import (
    DEFAULT_SECONDS,
    Forecast,
    estimate_seconds,
    format_forecast,
    make_forecast,
    replay_answers,
    simulate_assignments,
)
from annotation.study.roster import Annotator, enroll, read_roster, write_roster
from pipeline.core.errors import UserError
from pipeline.core.json_files import write_json, write_jsonl
from pipeline.core.paths import DatasetFolders
from pipeline.core.records import CandidateEstimate, Verdict
from tests.annotation.conftest import made_task, people
from tests.annotation.study.conftest import quality

# Forecast


RULES = AssignmentRules(max_votes=3, overlap_rate=0, wave_size=10)


def study(count=200, prior=0.01, rules=RULES):
    tasks = [to_task_mapping(made_task(number)) for number in range(count)]
    return AdaptiveAssigner(tasks, {f"c{number}": prior for number in range(count)}, rules)


def test_votes_needed_by_every_task_are_counted():
    everything = make_forecast(
        study(rules=RULES._replace(overlap_rate=1.0)), "abcde", seconds=18, hourly_pay=12
    )
    # 600 votes that count: of the filters, half of them invalid, one in ten and one in twenty is failed, and what stands beside
    # counts not, so 600 / 0.925 = 649; its standard deviation is about 7.
    assert (everything.tasks, everything.num_annotators) == (200, 5) and 628 <= everything.judgements <= 670
    assert isclose(everything.hours, everything.judgements * 18 / 3600)
    assert f"cost: {everything.hours * 12:,.0f} (at 12 per hour)" in format_forecast(everything, 0)


def test_missing_annotators_limit_the_votes():
    assert make_forecast(study(rules=RULES._replace(overlap_rate=1.0)), "ab").judgements == 400


def test_adaptive_voting_mostly_needs_one_vote():
    # Of 190 after the first wave: 1 % are valid and get two or three; of the others one in ten is missed at first (18 of 20
    # is the usual sensitivity) and gets two more, as it then stands 1 to 1: about 30 + 190 + 2 * 0.1 * 190 + 3 = 260, of
    # which 7.5 % are given again for a failed filter: 281.
    assert 255 <= make_forecast(study(), "abcde").judgements <= 310


def test_max_judgements_includes_given_judgements():
    state = study(rules=RULES._replace(max_judgements=50))
    state.record_answer("a", "t0000", "invalid", "valid")
    assert make_forecast(state, "abc").judgements == 49


def test_forecast_does_not_change_the_study_and_depends_on_seed():
    state = study()
    once, again = (simulate_assignments(state, "abc", 1) for _ in range(2))
    assert once == again != simulate_assignments(state, "abc", 2)
    assert state.num_judgements == 0 and not state.num_open.any()
    assert max(Counter(once).values()) == 1


def verdict(number, seconds):
    return Verdict(
        verdict_id=str(number),
        task_id="t",
        annotator="a",
        first="valid",
        second="valid",
        duration_seconds=seconds,
    )


def test_seconds_are_estimated_from_enough_judgements_without_pauses():
    rows = [verdict(number, 10) for number in range(50)]
    assert estimate_seconds(rows) == 10 and estimate_seconds(rows[:49]) == DEFAULT_SECONDS
    assert estimate_seconds([*rows, verdict(50, 4000), verdict(51, None), verdict(52, 0)]) == 10


def test_forecast_text():
    row = Forecast(
        tasks=9,
        doubtful=7,
        judgements=1200,
        low=1100,
        high=1300,
        num_annotators=4,
        seconds_per_judgement=30,
        hourly_pay=15,
    )  # 36,000 s
    text = format_forecast(row, 1000)
    for part in (
        "9 tasks",
        "1,000 judgements",
        "4 annotators",
        "1,200 more judgements (1,100 to 1,300)",
        "7 tasks wait",
    ):
        assert part in text
    assert "10.0 hours at 30 s each, cost: 150 (at 15 per hour)" in text and "--adjudicator" in text


def test_command_reads_tasks_and_roster(tiny, capsys):
    folders = DatasetFolders()
    with pytest.raises(UserError, match="tasks.jsonl"):
        print_forecast(None, None)
    rows = [
        CandidateEstimate(candidate_id=f"c{n}", p_answerable=0.01, difficulty="random") for n in range(40)
    ]
    write_jsonl(folders.stage_dir("batch") / "tasks.jsonl", [made_task(n) for n in range(40)])
    write_jsonl(folders.stage_dir("estimate") / "estimates.jsonl", rows)
    print_forecast(15, None)
    assert "40 tasks need votes. 3 annotators" in capsys.readouterr().out
    write_roster(folders, people("ann", "ben"))
    print_forecast(None, None)
    said = capsys.readouterr().out
    assert "2 annotators" in said and "per hour" not in said
    print_forecast(None, 7)
    assert "7 annotators" in capsys.readouterr().out


def test_adjudications_decide_and_adjudicators_do_not_vote(tiny, capsys):
    folders = DatasetFolders()
    write_jsonl(
        folders.stage_dir("batch") / "tasks.jsonl", [made_task(n) for n in range(40)]
    )  # nothing is estimated
    enroll(folders, {"ann@example.org": "ann"})
    enroll(folders, {"eve@example.org": "eve"}, adjudicator=True)
    assigner, _ = replay_answers(folders, AnnotateParams(wave_size=100), {})
    assert assigner.get_wanted_votes().all() and assigner.get_posterior_invalid("c0") == pytest.approx(0.5)
    said = (
        {"from_name": "first", "value": {"choices": ["invalid"]}},
        {"from_name": "second", "value": {"choices": ["valid"]}},
    )
    row = {"id": 1, "completed_by": "adjudicator-01", "created_at": "2026-01-01T00:00:00Z", "result": said}
    write_json(folders.annotations / "pulled.json", [{"data": {"task": "t0000"}, "annotations": [row]}])
    pulled = read_pulled(folders.annotations / "pulled.json")
    assigner, verdicts = replay_answers(folders, AnnotateParams(wave_size=100), pulled)
    assert (
        assigner.is_decided("t0000")
        and assigner.get_wanted_votes().sum() == 39 * 3
        and assigner.num_judgements == 0
    )
    assert [verdict.annotator for verdict in verdicts] == ["adjudicator-01"]
    print_forecast(None, None)
    assert " 1 annotator " in capsys.readouterr().out


def test_forecast_uses_the_results_of_collect(tiny):
    folders = DatasetFolders()
    tasks = [made_task(n) for n in range(40)]
    write_jsonl(folders.stage_dir("batch") / "tasks.jsonl", tasks)
    gold = next(row for row in (tasks[0].first, tasks[0].second) if row.role == "gold")
    discarded = {"image_id": tasks[0].image_id, "text": gold.text}
    report = msgspec.to_builtins(quality())  # as stage collect writes it
    ann = report["annotators"][0] | {
        "name": "annotator-02",
        "exclusion_reasons": ["speed"],
        "excluded_since": 0,
    }
    discarded |= {"expected_choice": "valid", "choices": {"invalid": 3}, "tasks": ["t0000"]}
    said = report | {"discarded_gold_questions": [discarded], "annotators": [ann], "doubtful": {"c3": 0.6}}
    write_json(folders.stage_dir("collect") / "quality.json", said)
    assigner, _ = replay_answers(folders, AnnotateParams(wave_size=100), {})
    asked = assigner.tasks[assigner.task_index["t0000"]]
    assert {asked["first"]["expected"], asked["second"]["expected"]} == {None}
    assert assigner.assign_next_task("annotator-02") is None and assigner.assign_next_task("annotator-01")
    assert assigner._collect_certainty[assigner.candidate_index["c3"]] == pytest.approx(log(0.6 / 0.4))


# Roster


def test_roster_is_empty_before_the_first_invitation(tiny):
    assert read_roster(DatasetFolders()) == []


def test_roster_keeps_the_order_of_joining(tiny):
    roster = people("zoe", "ann")
    write_roster(DatasetFolders(), roster)
    assert read_roster(DatasetFolders()) == roster


@pytest.mark.parametrize("field", ["name", "pseudonym", "email"])
def test_duplicates_are_refused(tiny, field):
    ann, ben = people("ann", "ben")
    twin = msgspec.structs.replace(ben, **{field: getattr(ann, field)})
    with pytest.raises(UserError, match=f"{field} occurs more than once .*: {getattr(ann, field)}"):
        write_roster(DatasetFolders(), [ann, twin])
    assert read_roster(DatasetFolders()) == []
    write_json(DatasetFolders().study / "roster.json", [ann, twin])  # by hand
    with pytest.raises(UserError, match=f"{field} occurs more than once .*: {getattr(ann, field)}"):
        read_roster(DatasetFolders())


@pytest.mark.parametrize("row", [{"name": "../ann"}, {"name": "ann b"}])
def test_invalid_name_is_refused(row):
    good = {"name": "ann", "pseudonym": "annotator-01", "email": "ann@example.org"}
    assert msgspec.convert(good, Annotator).is_active
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert(good | row, Annotator)


def test_used_pseudonyms_are_not_reused(tiny):
    folders = DatasetFolders()
    assert enroll(folders, {"ann@x": "ann"})[-1].pseudonym == "annotator-01"
    write_json(folders.study / "erased.json", {"annotator-02": "2026-01-01T00:00:00+00:00"})
    assert enroll(folders, {"ben@x": "ben"})[-1].pseudonym == "annotator-03"


def test_pseudonyms_in_pulled_answers_are_not_reused(tiny):
    folders = DatasetFolders()
    rows = [
        {"id": number, "completed_by": name}
        for number, name in enumerate(["annotator-04", "annotator-12345678"], 1)
    ]
    write_json(folders.annotations / "pulled.json", [{"data": {"task": "t1"}, "annotations": rows}])
    assert [row.pseudonym for row in enroll(folders, {"ann@x": "ann", "ben@x": "ben"})] == [
        "annotator-05",
        "annotator-06",
    ]
    assert enroll(folders, {"eve@x": "eve"}, adjudicator=True)[-1].pseudonym == "adjudicator-01"


def test_volunteers_get_unique_names(tiny):
    folders = DatasetFolders()
    enroll(folders, {"ann@rgqa.local": "ann"})
    roster = enroll(folders, {"ann@volunteer.rgqa.local": "ann", "zoe@volunteer.rgqa.local": "zoe"})
    assert [(row.name, row.pseudonym, row.is_volunteer) for row in roster] == [
        ("ann", "annotator-01", False),
        ("ann-2", "annotator-02", True),
        ("zoe", "annotator-03", True),
    ]
    assert enroll(folders, {"zoe@volunteer.rgqa.local": "zoe"}) == read_roster(folders) == roster


def test_adjudicators_have_a_prefix_and_cannot_be_annotators(tiny):
    folders = DatasetFolders()
    enroll(folders, {"ann@rgqa.local": "ann"})
    roster = enroll(folders, {"eve@rgqa.local": "eve"}, adjudicator=True)
    assert [(row.pseudonym, row.is_adjudicator) for row in roster] == [
        ("annotator-01", False),
        ("adjudicator-01", True),
    ]
    assert enroll(folders, {"eve@rgqa.local": "eve"}, adjudicator=True) == roster
    with pytest.raises(UserError, match="already in the roster as annotators: ann"):
        enroll(folders, {"ann@rgqa.local": "ann"}, adjudicator=True)
    with pytest.raises(UserError, match="already in the roster as adjudicators: eve"):
        enroll(folders, {"eve@rgqa.local": "eve"})
    assert make_pseudonym("adjudicator-01", "salt") == "adjudicator-01"

import pytest

from pipeline.benchmark.report.funnel import FunnelStep, check_steps, make_funnels, summarize_funnels
from pipeline.core.errors import Problems, UserError
from pipeline.core.records import SUBSETS


def reports() -> dict:
    """Return reports as the stages write them: 4 images x 10 questions, 2 of which ask for existence; 3 questions are not edited."""
    clip = {"candidates": 6}
    perturbed = {"questions": 10, "candidates": 7, "unedited": {"names no object": 3}}
    screened = {
        "clip": {"candidates": 6, "kept": 5, "dropped": {"already asked": 1}},
        "pt": {"candidates": 7, "kept": 7, "dropped": {}},
    }
    judged = {
        "clip": {"unanswerable": 3, "doubtful": 2},
        "pt": {"unanswerable": 4, "answerable": 2, "no_votes": 1},
    }
    balanced = {
        "clip": {"verified": 3, "kept": 2, "excluded": {"repeated": 1}},
        "pt": {"verified": 4, "kept": 4, "excluded": {}},
    }

    def each(rows: dict) -> dict:
        return {subset: dict(rows[subset.split("-")[0]]) for subset in SUBSETS}

    return {
        # 40 pairs = 8 on existence + 8 own + 1 with the text of an own question + 23
        "rank": {
            "pairs": {
                "all": 40,
                "existence question": 8,
                "own question": 8,
                "text of an own question": 1,
                "eligible": 23,
            },
            "subsets": {"clip-easy": dict(clip), "clip-hard": dict(clip)},
        },
        "perturb": {"pt-easy": dict(perturbed), "pt-hard": dict(perturbed)},
        "screen": each(screened),
        "batch": {"tasks": {"clip-easy": 5, "clip-hard": 5, "pt-easy": 7, "pt-hard": 7}},
        "collect": {"candidates": each(judged)},
        "balance": {"subsets": each(balanced)},
    }


RELEASED = {"clip-easy": 2, "clip-hard": 2, "pt-easy": 4, "pt-hard": 4}


def test_a_funnel_goes_from_all_pairs_to_the_release():
    found = make_funnels(reports(), RELEASED)["clip-hard"]
    assert [(s.stage, s.num_in, s.kept, s.dropped) for s in found] == [
        ("rank", 40, 23, {"existence question": 8, "own question": 8, "text of an own question": 1}),
        ("rank", 23, 6, {"not sampled": 17}),
        ("screen", 6, 5, {"already asked": 1}),
        ("batch", 5, 5, {}),
        ("collect", 5, 3, {"doubtful": 2}),
        ("balance", 3, 2, {"repeated": 1}),
        ("release", 2, 2, {}),
    ]


def test_edited_questions_start_as_questions():
    found = make_funnels(reports(), RELEASED)["pt-easy"]
    assert [(s.stage, s.num_in, s.kept) for s in found] == [
        ("perturb", 10, 7),
        ("screen", 7, 7),
        ("batch", 7, 7),
        ("collect", 7, 4),
        ("balance", 4, 4),
        ("release", 4, 4),
    ]


def test_the_summary_has_what_is_left_after_each_step():
    rows = dict(summarize_funnels(make_funnels(reports(), RELEASED)))
    assert next(iter(rows)) == "start: pairs or questions"
    assert rows["start: pairs or questions"] == [40, 40, 10, 10]
    assert rows["rank: pairs sampled by CLIP score"] == [6, 6, None, None]
    assert rows["perturb: questions edited"] == [None, None, 7, 7]
    assert rows["screen: candidates screened"] == [5, 5, 7, 7]
    assert list(rows.values())[-1] == [2, 2, 4, 4]


@pytest.mark.parametrize(
    ("steps", "messages"),
    [
        ([FunnelStep("screen", "", 6, 5, {"a": 1})], []),
        (
            [FunnelStep("screen", "", 6, 5)],
            ["clip-easy, screen: 6 in, but 5 kept and 0 dropped"],
        ),
        (
            [FunnelStep("screen", "", 6, 5, {"a": 1, "b": 1})],
            ["clip-easy, screen: 6 in, but 5 kept and 2 dropped"],
        ),
        (
            [
                FunnelStep("screen", "", 6, 6),
                FunnelStep("batch", "", 5, 5),
            ],
            ["clip-easy, batch: 5 in, but screen kept 6"],
        ),
    ],
)
def test_steps_must_add_up_and_continue_the_previous_step(steps, messages):
    problems = Problems("x")
    check_steps("clip-easy", steps, problems)
    assert problems.lines == messages


def test_all_contradictions_are_reported():
    wrong = reports()
    wrong["screen"]["clip-easy"]["dropped"] = {}
    wrong["batch"]["tasks"]["pt-hard"] = 6
    with pytest.raises(UserError) as caught:
        make_funnels(wrong, {**RELEASED, "pt-easy": 3})
    assert caught.value.problems == [
        "the reports of the stages contradict each other; run dvc repro, so that all are of one run: 4 problems",
        "clip-easy, screen: 6 in, but 5 kept and 0 dropped",
        "pt-easy, release: 4 in, but 3 kept and 0 dropped",
        "pt-hard, batch: 7 in, but 6 kept and 0 dropped",
        "pt-hard, collect: 7 in, but batch kept 6",
    ]


def test_the_funnel_of_a_run_ends_with_its_items(run):
    # Reports and records are written separately. The last number of each funnel is the number of UQs in items.jsonl.
    for subset, steps in make_funnels(run.reports, run.released_uqs).items():
        assert steps[-1].kept == sum(item.unanswerable for item in run.items.get(subset, []))


def test_every_reason_of_a_run_has_an_example(run):
    reasons = {
        (subset, step.stage, reason)
        for subset, steps in make_funnels(run.reports, run.released_uqs).items()
        for step in steps
        if step.stage != "rank"
        for reason, count in step.dropped.items()
        if count
    }
    assert reasons and reasons == set(run.dropped_examples)

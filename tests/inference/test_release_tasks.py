import json

import pytest

from pipeline.core.errors import UserError
from pipeline.inference.confidence_methods import get_confidence_method
from pipeline.inference.prompts import get_prompt
from pipeline.inference.release_tasks import release_task
from pipeline.scoring.cli import main

from .conftest import said


def ids(task):
    return [sample.id for sample in task.dataset]


def folder(release):
    return {"release": release, "images": release / "images"}


def test_each_question_about_an_image_is_asked_once_for_all_subsets(pictured):
    task = release_task(**folder(pictured))
    assert sorted(ids(task)) == ["a2", "a3", "u2", "u3"]  # split test; both subsets have all
    sample = task.dataset[ids(task).index("a2")]
    assert sample.input == "What color is the a2?" and sample.metadata["subsets"] == ["clip-easy", "pt-hard"]
    assert sample.metadata["item_ids"] == ["a2"] and sample.metadata["answers"] == {"yes": 1.0}


def test_items_with_the_same_question_share_a_sample(pictured):
    file = pictured / "rgqa/pt-hard.json"
    rows = json.loads(file.read_text())
    rows[3]["sent"] = rows[2]["sent"]  # u2 asks what a2 asks, on the same image
    file.write_text(json.dumps(rows))
    task = release_task(**folder(pictured), subsets="pt-hard")
    (items,) = [
        sample.metadata["item_ids"] for sample in task.dataset if len(sample.metadata["item_ids"]) > 1
    ]
    assert items == ["a2", "u2"] and len(task.dataset) == 3


def test_pairs_follow_each_other_in_the_order_of_their_hashes(pictured):
    # sha256 of p1, p2, p3 begin with 24.., 2a.., dc..; of a2, u2, a3, u3 with 20.., 6f.., a3.., b7..; printf a2 | sha256sum
    from hashlib import sha256

    def place(name):
        return sha256(name.encode()).hexdigest()

    pairs = {"p2": ["a2", "u2"], "p3": ["a3", "u3"]}
    expected = [name for pair in sorted(pairs, key=place) for name in sorted(pairs[pair], key=place)]
    assert ids(release_task(**folder(pictured))) == expected


@pytest.mark.parametrize(
    ("limit", "questions", "pairs"), [(0, 4, 2), (2, 2, 1), (3, 2, 1), (4, 4, 2), (99, 4, 2)]
)
def test_a_limit_takes_complete_pairs(pictured, limit, questions, pairs):
    task = release_task(**folder(pictured), limit=limit)
    assert len(task.dataset) == questions and task.metadata["pairs"] == pairs
    assert {name[1] for name in ids(task) if name[0] == "a"} == {
        name[1] for name in ids(task) if name[0] == "u"
    }


def test_a_limit_below_a_pair_is_rejected(pictured):
    with pytest.raises(UserError, match="--limit 1: .* 2 or more"):
        release_task(**folder(pictured), limit=1)


def test_without_pairs_a_limit_counts_questions(pictured):
    (pictured / "provenance.jsonl").unlink()
    task = release_task(**folder(pictured), limit=3)
    assert len(task.dataset) == 3 and task.metadata["pairs"] == 0


def test_a_pair_with_an_example_is_not_asked(pictured):
    # Of validation one pair is shown, of test two are left; a drawing of everything takes no half of a pair.
    task = release_task(**folder(pictured), split="all", shots=2, limit=99)
    assert sorted(ids(task)) == ["a2", "a3", "u2", "u3"]


def test_split_and_subset_select_questions(pictured):
    assert sorted(ids(release_task(**folder(pictured), split="validation"))) == ["a1", "u1"]
    assert len(ids(release_task(**folder(pictured), split="all", subsets=["pt-hard"]))) == 6


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"split": "train"}, "split is 'train', wanted test, validation, all"),
        ({"subsets": ["easy"]}, "no subset easy; there are clip-easy, pt-hard"),
        ({"prompt": "polite"}, "--prompt polite"),
        ({"confidence": "guess"}, "--confidence guess"),
        ({"shots": 4}, "--shots 4: wanted an even number from 0 to 2"),
        ({"images": ""}, "the tables of .*: 3 images not found"),
    ],
)
def test_unknown_values_are_rejected(pictured, options, message):
    with pytest.raises(UserError, match=message):
        release_task(**(folder(pictured) | {"split": "all"} | options))


def test_a_log_has_the_settings(pictured):
    task = release_task(
        **folder(pictured),
        split="all",
        prompt="short-answer",
        confidence="self-consistency",
        num_replies=3,
        shots=2,
    )
    assert {**task.metadata, "shots": sorted(task.metadata["shots"])} == {
        "prompt": {"name": "short-answer", "hash": get_prompt("short-answer").hash},
        "confidence": {"name": "self-consistency", "hash": get_confidence_method("self-consistency").hash},
        "max_image_size": 1024, "no_image": False, "shots": ["a1", "u1"], "num_replies": 3, "split": "all", "pairs": 2,
    }  # fmt: skip
    without = release_task(release=pictured, no_image=True, num_replies=3).metadata
    # Without images there is no image size, and `abstention` asks once.
    assert (without["max_image_size"], without["no_image"], without["num_replies"]) == (None, True, 1)


def test_examples_are_not_asked(pictured):
    task = release_task(**folder(pictured), split="all", shots=2)
    assert sorted(ids(task)) == ["a2", "a3", "u2", "u3"]  # validation has no more than the two examples
    assert sorted(task.metadata["shots"]) == ["a1", "u1"]


def test_the_scores_in_the_log_equal_those_of_rgqa_score(answer, pictured, tmp_path, capsys):
    # AQs a2 "yes" and a3 "dog", UQs u2 and u3. The model answers a2 right, a3 wrong, u3 "cat", and abstains on u2.
    replies = {"a2": "Yes.", "a3": "cat", "u2": "unanswerable", "u3": "cat"}
    log = answer(lambda messages, config: said(replies[messages[-1].text[18:20]]))
    # Thresholds 1 and 0: FPR 1/2 (u3), ACC 1/2 (a2); then FPR 1, ACC 1/2. The area: 1/2 x 1/2 / 2 + 1/2 x 1/2 = 3/8.
    found = {name: metric.value for name, metric in log.results.scores[0].metrics.items()}
    assert found["auaf"] == pytest.approx(3 / 8) and found["facc"] == 1 / 2
    assert found["auroc"] == pytest.approx(3 / 4)  # u2 lies below both AQs, u3 ties with both
    main([str(pictured), log.location, "--json", str(tmp_path / "scores.json")])
    scores = json.loads((tmp_path / "scores.json").read_text())
    subset = scores["models"][0]["subsets"]["clip-easy"]["realistic"]
    assert {name: subset[name] for name in found} == pytest.approx(found)
    main([str(pictured), log.location, "--detect-abstention", "--json", str(tmp_path / "free.json")])
    free = json.loads((tmp_path / "free.json").read_text())
    assert (
        free["models"][0]["subsets"]["clip-easy"]["realistic"]
        == scores["models"][0]["subsets"]["clip-easy"]["realistic"]
    )

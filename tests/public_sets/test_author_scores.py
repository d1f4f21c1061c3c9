"""Scores of public sets, against a second writing of the authors' scripts and against arithmetic."""

import math
import random

import pytest

from pipeline.core.errors import UserError
from pipeline.public_sets.author_prompts import NO_OPTION, SET_NAMES, find_option_letter, mm_upd_letters
from pipeline.public_sets.author_scores import (
    MAIN_SCORES,
    PERFECT_SCORES,
    REQUIRED_DETAILS,
    normalize_vizwiz_answer,
    score_set,
)
from pipeline.public_sets.items import SetItem
from pipeline.scoring import published_scores
from pipeline.scoring.gqa_diagnostics import compute_gqa_diagnostics
from tests.public_sets import author_scripts
from tests.scoring import published

SEEDS = range(20)


def item(name="1", answer=None, **fields):
    return SetItem(str(name), "", "", answers=() if answer is None else (answer,), **fields)


def equal(found, expected):
    assert set(found) == set(expected)
    assert found == pytest.approx(expected, abs=1e-9, rel=1e-9)


def test_every_set_has_a_scale_and_a_main_score_but_unk_vqa_which_has_no_script():
    assert set(PERFECT_SCORES) == set(SET_NAMES)
    assert set(SET_NAMES) - set(MAIN_SCORES) == {"UNK-VQA"}
    assert score_set("UNK-VQA", [item()], ["red"]) == {}


def test_an_unknown_set_and_different_numbers_are_refused():
    with pytest.raises(ValueError, match="unknown set 'POPE2'"):
        score_set("POPE2", [], [])
    with pytest.raises(ValueError, match="differ"):
        score_set("POPE", [item()], [])


@pytest.mark.parametrize("name", sorted(REQUIRED_DETAILS))
def test_missing_details_are_listed_together(name):
    with pytest.raises(UserError) as caught:
        score_set(name, [item(number) for number in range(7)], ["yes"] * 7)
    assert len(caught.value.problems) == 1 + len(REQUIRED_DETAILS[name])
    assert "7 items: 0, 1, 2, 3, 4 and 2 more" in caught.value.problems[1]


def test_unknown_values_of_details_are_refused():
    with pytest.raises(UserError, match="Expected one of cpq, tpq"):
        score_set("CP-Bench", [item(details={"tag": "cp"})], ["reject"])


# POPE and RePOPE


@pytest.mark.parametrize("name", ["POPE", "RePOPE"])
@pytest.mark.parametrize("seed", SEEDS)
def test_pope_is_the_authors(name, seed):
    pick = random.Random(seed)
    groups = ["random", "popular", "adversarial"]
    rows = [
        {
            "group": pick.choice(groups),
            "label": pick.choice(["yes", "no"]),
            "said": pick.choice(["yes", "no"]),
        }
        for _ in range(300)
    ]
    found = score_set(
        name,
        [item(i, row["label"], group=row["group"]) for i, row in enumerate(rows)],
        [row["said"] for row in rows],
    )
    expected = author_scripts.pope(rows)
    for group in groups:
        of_group = author_scripts.pope([row for row in rows if row["group"] == group])
        expected |= {f"{group}/{score}": value for score, value in of_group.items()}
    equal(found, expected)


def test_pope_by_hand():
    # 3 "yes" of which 2 are right, 4 questions with "yes": precision 2/3, recall 2/4, F1 2 x (1/3) / (7/6) = 4/7; accuracy 4/7.
    labels = ["yes", "yes", "yes", "yes", "no", "no", "no"]
    said = ["yes", "yes", "no", "no", "yes", "no", "no"]
    found = score_set("POPE", [item(i, label) for i, label in enumerate(labels)], said)
    equal(found, {"accuracy": 4 / 7, "precision": 2 / 3, "recall": 1 / 2, "f1": 4 / 7, "yes_rate": 3 / 7})


def test_pope_without_a_yes_has_no_precision():
    found = score_set("POPE", [item(1, "yes"), item(2, "no")], ["no", "no"])
    assert math.isnan(found["precision"]) and math.isnan(found["f1"])
    assert (found["accuracy"], found["recall"], found["yes_rate"]) == (0.5, 0, 0)


def test_one_group_has_no_prefix():
    assert "random/f1" not in score_set("POPE", [item(1, "yes", group="random")], ["yes"])


# MM-UPD


def upd_rows(pick, upd_type, question_type):
    """Questions with circular versions; some lack the standard version, the unsolvable one, or the version with the lowest index."""
    rows = []
    for index in range(40):
        # The authors' script fails for five options, instructions and IASD.
        count = pick.randint(2, 4)
        for kind in ("standard", "upd"):
            if pick.random() < 0.1:
                continue
            shown = count - (kind == "upd" and upd_type == "aad" and count > 2) + (question_type == "option")
            options = {letter: f"text {letter} {index}" for letter in "ABCDE"[:shown]}
            # The letter of the data is rarely another one, so that a letter is not right only because the script adds it.
            none = [*options][-1] if question_type == "option" else pick.choice([*"FFFFFFFFF", "E"])
            skips_main = pick.random() < 0.05
            skill = pick.choice([0.3, 0.95, 1])
            for turn in range(count):
                if turn == 0 and skips_main:
                    continue
                right = pick.choice("ABCD"[: count - 1]) if kind == "standard" else none
                letters = [*options, "E", "F", "G", NO_OPTION]
                wanted = right if pick.random() < skill else pick.choice(letters)
                reply = pick.choice(
                    [wanted, f"{wanted}. because", f"({wanted})", f"{wanted}, or B.", "words", " "]
                )
                row = {"index": index + turn * 1_000_000, "type": kind, "options": options, "answer": right}
                row |= {"upd_type": upd_type, "question_type": question_type, "reply": reply}
                # What the language model finds in replies without a letter.
                row["matched"] = wanted if wanted in author_scripts.upd_letters(row)[0] else NO_OPTION
                if none == "E":
                    # A found "F" and a read one differ only here, and a parsed reply does not say which it was.
                    row["matched"] = NO_OPTION
                rows.append(row)
    return rows


def upd_item(number, row, group=""):
    names = ("index", "type", "upd_type", "question_type", "answer")
    return item(number, options=row["options"], group=group, details={name: str(row[name]) for name in names})


def upd_parsed(row):
    """The letter by the authors' rule, or what the language model finds."""
    thing = upd_item(0, row)
    added = mm_upd_letters(thing)
    letters = [*row["options"], added.removed_answer or "A", *added.refusals]
    return find_option_letter(row["reply"], letters) or row["matched"]


@pytest.mark.parametrize("question_type", ["base", "option", "inst"])
@pytest.mark.parametrize("upd_type", ["aad", "iasd", "ivqd"])
def test_mm_upd_is_the_authors(upd_type, question_type):
    seen = set()
    for seed in SEEDS:
        rows = upd_rows(random.Random(seed), upd_type, question_type)
        found = score_set(
            "MM-UPD", [upd_item(i, row) for i, row in enumerate(rows)], [upd_parsed(row) for row in rows]
        )
        equal(found, author_scripts.upd(rows))
        seen.update(found.values())
    assert len(seen) > 10


def test_mm_upd_by_hand():
    # Question 1: both versions right in both rounds. Question 2: standard right in one round of two. Question 3: no unsolvable version.
    def row(index, kind, answer):
        return upd_item(
            f"{kind} {index}",
            {
                "index": index,
                "type": kind,
                "upd_type": "aad",
                "question_type": "base",
                "options": {"A": "cat", "B": "dog"},
                "answer": answer,
            },
        )

    items = [
        row(1, "standard", "A"),
        row(1_000_001, "standard", "B"),
        row(1, "upd", "F"),
        row(1_000_001, "upd", "F"),
    ]
    items += [
        row(2, "standard", "A"),
        row(1_000_002, "standard", "B"),
        row(2, "upd", "F"),
        row(3, "standard", "A"),
    ]
    # Of an unsolvable question with the options A and B, C is the removed answer and D "no answer"; the "F" of the data is no option.
    parsed = ["A", "B", "C", "D", "A", "A", "D", "A"]
    found = score_set("MM-UPD", items, parsed)
    equal(found, {"standard_accuracy": 2 / 3, "upd_accuracy": 1, "dual_accuracy": 1 / 2})
    assert score_set("MM-UPD", items, [*parsed[:2], "F", *parsed[3:]])["upd_accuracy"] == 1 / 2


def test_mm_upd_groups_are_not_mixed():
    rows = upd_rows(random.Random(1), "aad", "base")
    items = [upd_item(f"{group} {i}", row, group) for group in ("aad", "ivqd") for i, row in enumerate(rows)]
    parsed = [upd_parsed(row) for row in rows] + [NO_OPTION] * len(rows)
    found = score_set("MM-UPD", items, parsed)
    expected = {f"aad/{name}": value for name, value in author_scripts.upd(rows).items()}
    equal(found, expected | {f"ivqd/{name}_accuracy": 0 for name in ("standard", "upd", "dual")})


# HallusionBench


def hallusion_rows(pick):
    rows = []
    for category, subcategory in [("VD", "math"), ("VD", "chart"), ("VS", "chart"), ("VS", "map")]:
        for number in range(pick.randint(3, 6)):
            skill = pick.choice([0.5, 0.9, 1])
            for figure in range(pick.randint(1, 3)):
                for question in range(pick.randint(1, 3)):
                    truth = pick.choice(["yes", "no"])
                    right = pick.random() < skill
                    said = (
                        "unknown"
                        if pick.random() < 0.15
                        else truth
                        if right
                        else {"yes": "no", "no": "yes"}[truth]
                    )
                    check = "2" if said == "unknown" else "1" if said == truth else "0"
                    rows.append(
                        {
                            "category": category,
                            "subcategory": subcategory,
                            "set_id": str(number),
                            "figure_id": str(figure),
                            "question_id": str(question),
                            "truth": truth,
                            "said": said,
                            "check": check,
                        }
                    )
    return rows


def hallusion_item(number, row):
    names = ("category", "subcategory", "set_id", "figure_id", "question_id")
    return item(number, row["truth"], details={name: row[name] for name in names})


@pytest.mark.parametrize("judged", [False, True])
@pytest.mark.parametrize("seed", SEEDS)
def test_hallusion_bench_is_the_authors(seed, judged):
    rows = hallusion_rows(random.Random(seed))
    words = {"0": "incorrect", "1": "correct", "2": "unclear"}
    parsed = [words[row["check"]] if judged else row["said"] for row in rows]
    found = score_set("HallusionBench", [hallusion_item(i, row) for i, row in enumerate(rows)], parsed)
    expected = author_scripts.hallusion_bench(rows)
    for category in ("VD", "VS"):
        of_category = author_scripts.hallusion_bench([row for row in rows if row["category"] == category])
        expected |= {f"{category}/{name}": value for name, value in of_category.items()}
    equal(found, expected)


def test_hallusion_bench_by_hand():
    # Two figures, two questions each. Figure 0: both right. Figure 1: question 0 right, question 1 wrong.
    rows = [
        {
            "category": "VD",
            "subcategory": "map",
            "set_id": "0",
            "figure_id": figure,
            "question_id": question,
            "truth": "yes",
        }
        for figure in "01"
        for question in "01"
    ]
    found = score_set(
        "HallusionBench",
        [hallusion_item(i, row) for i, row in enumerate(rows)],
        ["yes", "yes", "yes", "unknown"],
    )
    assert (found["aAcc"], found["fAcc"], found["qAcc"], found["inconsistent"], found["wrong"]) == (
        75,
        50,
        50,
        50,
        0,
    )
    assert (found["easy_aAcc"], found["hard_aAcc"], found["figure_score"]) == (100, 50, 75)


def test_without_a_figure_unknown_is_right():
    row = {"category": "VS", "subcategory": "map", "set_id": "0", "question_id": "0", "truth": "yes"}
    items = [hallusion_item(figure, row | {"figure_id": figure}) for figure in "01"]
    found = score_set("HallusionBench", items, ["unknown", "unknown"])
    assert (found["aAcc"], found["easy_aAcc"], found["hard_aAcc"], found["fAcc"]) == (50, 100, 0, 0)


def test_a_question_that_occurs_twice_is_refused():
    rows = hallusion_rows(random.Random(1))
    with pytest.raises(UserError, match="1 question twice: VD_math_0_0_0"):
        score_set(
            "HallusionBench",
            [hallusion_item(i, row) for i, row in enumerate([*rows, rows[0]])],
            ["yes"] * (len(rows) + 1),
        )


# NaturalBench

COMBINATIONS = ("q0_i0", "q0_i1", "q1_i0", "q1_i1")


def natural_items(groups, kinds):
    return [
        item(f"{number} {name}", pair_id=str(number), details={"Question_Type": kind, "combination": name})
        for (number, _), kind in zip(enumerate(groups), kinds, strict=True)
        for name in COMBINATIONS
    ]


@pytest.mark.parametrize("seed", SEEDS)
def test_natural_bench_is_the_authors(seed):
    pick = random.Random(seed)
    right = {"q0_i0": 1, "q0_i1": 0, "q1_i0": 0, "q1_i1": 1}
    groups = [
        {name: right[name] if pick.random() < 0.8 else pick.choice([1, 0, -1]) for name in COMBINATIONS}
        for _ in range(100)
    ]
    kinds = [pick.choice(["yes_no", "multiple_choice"]) for _ in groups]
    words = {"yes_no": {1: "yes", 0: "no", -1: "unknown"}, "multiple_choice": {1: "A", 0: "B", -1: "unknown"}}
    parsed = [
        words[kind][group[name]] for group, kind in zip(groups, kinds, strict=True) for name in COMBINATIONS
    ]
    rows = [*zip(natural_items(groups, kinds), parsed, strict=True)]
    pick.shuffle(rows)
    equal(score_set("NaturalBench", *zip(*rows, strict=True)), author_scripts.natural_bench(groups))


def test_natural_bench_by_hand():
    # Group 0: all right. Group 1: "yes" to everything, which is right for two of four and for no question and no image.
    found = score_set(
        "NaturalBench", natural_items([0, 1], ["yes_no"] * 2), ["yes", "no", "no", "yes", *["yes"] * 4]
    )
    equal(found, {"Acc": 6 / 8, "Q_Acc": 1 / 2, "I_Acc": 1 / 2, "G_Acc": 1 / 2})


def test_incomplete_groups_are_refused():
    with pytest.raises(UserError, match="1 group without exactly the items"):
        score_set("NaturalBench", natural_items([0, 1], ["yes_no"] * 2)[:-1], ["yes"] * 7)


# AMBER


@pytest.mark.parametrize("seed", SEEDS)
def test_amber_is_the_authors(seed):
    pick = random.Random(seed)
    kinds = ["attribute-state", "attribute-number", "attribute-action", "hallucination", "relation"]
    rows = [
        {
            "type": f"discriminative-{pick.choice(kinds)}",
            "truth": pick.choice(["yes", "no"]),
            "response": pick.choice(["Yes", "No", "Perhaps"]),
        }
        for _ in range(400)
    ]
    said = {"Yes": "yes", "No": "no", "Perhaps": "unknown"}
    found = score_set(
        "AMBER",
        [item(i, row["truth"], details={"type": row["type"]}) for i, row in enumerate(rows)],
        [said[row["response"]] for row in rows],
    )
    equal(found, author_scripts.amber(rows))


def test_amber_by_hand():
    # "No" is the positive class. 3 answers "no", 2 of them right; 4 questions with "no". 2 / 3.001 = 66.6 %, 2 / 4.001 = 50.0 %;
    # F1 = 2 x 0.666 x 0.5 / (1.166 + 0.001) = 57.1 %; 3 of 6 right: 3 / 6.001 = 50.0 %.
    labels, said = ["no"] * 4 + ["yes"] * 2, ["no", "no", "yes", "unknown", "no", "yes"]
    kind = {"type": "discriminative-hallucination"}
    found = score_set("AMBER", [item(i, label, details=kind) for i, label in enumerate(labels)], said)
    expected = {"accuracy": 50.0, "precision": 66.6, "recall": 50.0, "f1": 57.1}
    equal(found, expected | {f"existence/{name}": value for name, value in expected.items()})


def test_amber_without_an_answer_no_is_0_as_in_the_script():
    found = score_set("AMBER", [item(1, "no", details={"type": "relation"})], ["yes"])
    assert found["precision"] == found["f1"] == 0


# VizWiz


@pytest.mark.parametrize("with_confidence", [False, True])
@pytest.mark.parametrize("seed", SEEDS)
def test_vizwiz_is_the_authors(seed, with_confidence):
    pick = random.Random(seed)
    texts = [
        "red",
        "the red",
        "2",
        "two.",
        "dont",
        "don't",
        "can't",
        "cant",
        "unanswerable",
        "Unanswerable.",
        "a/b",
        "1,000",
        "",
    ]
    rows = []
    for _ in range(300):
        said = pick.choice(texts)
        confidence = pick.choice([0.0, 0.5, 0.7, 1.0, pick.random()])
        if not with_confidence:
            confidence = float(author_scripts.vizwiz_answer(said) != "unanswerable")
        rows.append(
            {
                "answer": said,
                "answerable": confidence,
                "answers": [
                    pick.choice(["red", "2", "don't", "can't", "unanswerable", "1000", "a b"])
                    for _ in range(10)
                ],
                "answer_type": pick.choice(["yes/no", "number", "other", "unanswerable"]),
                "is_answerable": pick.choice([0, 1]),
            }
        )
    items = [
        SetItem(
            str(i),
            "",
            "",
            answers=tuple(row["answers"]),
            is_answerable=bool(row["is_answerable"]),
            details={"answer_type": row["answer_type"]},
        )
        for i, row in enumerate(rows)
    ]
    confidence = [row["answerable"] for row in rows] if with_confidence else None
    found = score_set("VizWiz", items, [row["answer"] for row in rows], confidence=confidence)
    equal(found, author_scripts.vizwiz(rows))


@pytest.mark.parametrize("seed", SEEDS)
def test_vizwiz_answers_are_normalized_as_the_authors(seed):
    pick = random.Random(seed)
    parts = [
        *author_scripts.APOSTROPHES,
        *author_scripts.VIZWIZ_APOSTROPHES,
        "the",
        "Two",
        "none",
        "1,000",
        "2.5",
        ".",
    ]
    parts += [*"./-,'’?! \n\t", "red"]
    for _ in range(500):
        text = pick.choice(["", " "]).join(pick.choice(parts) for _ in range(pick.randint(0, 4)))
        assert normalize_vizwiz_answer(text) == author_scripts.vizwiz_answer(text)


def test_vizwiz_by_hand():
    # 2 of 10 say "red": a person who says it leaves 1 (1/3), the others leave 2 (2/3): (2 x 1/3 + 8 x 2/3) / 10 = 0.6.
    items = [
        SetItem("1", "", "", answers=("red",) * 2 + ("blue",) * 8, is_answerable=True),
        SetItem("2", "", "", is_answerable=False),
    ]
    found = score_set("VizWiz", items, ["red", "Unanswerable"])
    equal(found, {"accuracy": 60, "average_precision": 100, "f1": 100})


# TDIUC


@pytest.mark.parametrize("seed", SEEDS)
def test_tdiuc_is_the_authors(seed):
    pick = random.Random(seed)
    rows = []
    for _ in range(300):
        kind = pick.choice(["absurd", "color", "counting", "sport_recognition"])
        answers = ["doesnotapply"] if kind == "absurd" else ["red", "blue", "2"]
        rows.append({"type": kind, "answer": pick.choice(answers), "said": pick.choice([*answers, "dog"])})
    if seed == 0:
        rows = [row | {"said": "dog"} if row["type"] == "color" else row for row in rows]
    found = score_set(
        "TDIUC",
        [item(i, row["answer"], details={"question_type": row["type"]}) for i, row in enumerate(rows)],
        [row["said"] for row in rows],
    )
    equal(found, author_scripts.tdiuc(rows))


def test_tdiuc_by_hand():
    # Absurd: 1 of 2 right. Color: 3 of 4 right, "red" 3 of 3 and "blue" 0 of 1, normalized 50 %. Means of 50 and 75: arithmetic 62.5,
    # harmonic 2 / (1/50 + 1/75) = 60.
    rows = [
        ("absurd", "doesnotapply", "doesnotapply"),
        ("absurd", "doesnotapply", "red"),
        *[("color", "red", "red")] * 3,
    ]
    rows.append(("color", "blue", "red"))
    found = score_set(
        "TDIUC",
        [item(i, answer, details={"question_type": kind}) for i, (kind, answer, _) in enumerate(rows)],
        [said for _, _, said in rows],
    )
    assert found["arithmetic_mpt"] == pytest.approx(62.5) and found["harmonic_mpt"] == pytest.approx(60)
    assert found["arithmetic_nmpt"] == pytest.approx(50) and found["harmonic_nmpt"] == pytest.approx(50)
    assert found["accuracy"] == pytest.approx(400 / 6)
    # A type at 0 counts as 1e-10 in the means: 2 / (1/1e-10 + 1/100) = 2e-10.
    assert score_set(
        "TDIUC", [item(i, "red", details={"question_type": str(i)}) for i in range(2)], ["red", "blue"]
    )["harmonic_mpt"] == pytest.approx(2e-10, abs=1e-15)


# TUBench


@pytest.mark.parametrize("part", ["UCR", "UVQA", "UGeoQA"])
@pytest.mark.parametrize("seed", SEEDS)
def test_tubench_is_the_authors(seed, part):
    pick = random.Random(seed)
    if part == "UGeoQA":
        ours = {"(a)": "A", "(b)": "B", "(c)": "C", "(d)": "D", "Unanswerable": "unanswerable", -1: "unknown"}
        labels = ["(a)", "(b)", "(c)", "(d)"]
    else:
        ours = {"Yes": "yes", "No": "no", "Unanswerable": "unanswerable", -1: "unknown"}
        labels = ["Yes", "No"]
    rows = [
        {"gold": pick.choice([*labels, "Unanswerable"]), "said": pick.choice([*ours])} for _ in range(200)
    ]
    strategies = [str(pick.randint(0, 2)) for _ in rows]
    items = [
        item(
            i,
            None if row["gold"] == "Unanswerable" else ours[row["gold"]],
            details={"dataset": part, "strategy": strategy},
        )
        for i, (row, strategy) in enumerate(zip(rows, strategies, strict=True))
    ]
    expected = author_scripts.tubench(rows, labels)
    for strategy in "12":
        of_strategy = author_scripts.tubench(
            [row for row, of in zip(rows, strategies, strict=True) if of == strategy], labels
        )
        names = ("two_label_accuracy", "total_accuracy", "unanswerable_accuracy", "answerable_accuracy", "f1")
        names = (*names, "answerable_two_label_accuracy")
        expected |= {f"strategy {strategy}/{name}": of_strategy[name] for name in names}
    equal(score_set("TUBench", items, [ours[row["said"]] for row in rows]), expected)


def test_tubench_by_hand():
    # UCR: "yes" said "no" (an answer, but wrong), nothing found counts as "yes" (right here), unanswerable called so and not.
    items = [
        item(i, answer, details={"dataset": "UCR"}) for i, answer in enumerate(["yes", "yes", None, None])
    ]
    items.append(item(9, "A", details={"dataset": "UTabMWP"}))
    found = score_set("TUBench", items, ["no", "unknown", "unanswerable", "yes", "A"])
    assert found["UCR/two_label_accuracy"] == 3 / 4 and found["UCR/total_accuracy"] == 2 / 4
    assert found["UCR/answerable_accuracy"] == 1 / 2 and found["UCR/unanswerable_accuracy"] == 1 / 2
    assert (found["UCR/precision"], found["UCR/recall"], found["UCR/failed"]) == (1, 1 / 2, 1 / 4)
    assert math.isnan(found["UTabMWP/unanswerable_accuracy"]) and "UTabMWP/macro_f1" not in found


# CP-Bench


@pytest.mark.parametrize("seed", SEEDS)
def test_cp_bench_is_the_authors(seed):
    pick = random.Random(seed)
    rows = [
        {"tag": pick.choice(["cpq", "tpq"]), "judge": pick.choice(["reject", "accept", "NA"])}
        for _ in range(200)
    ]
    found = score_set(
        "CP-Bench",
        [item(i, details={"tag": row["tag"]}) for i, row in enumerate(rows)],
        [row["judge"] for row in rows],
    )
    equal(found, author_scripts.cp_bench(rows))


def test_cp_bench_by_hand():
    # 1 of 2 rejected, 2 of 2 accepted, 3 of 4 right: 0.6 x 0.5 + 0.2 x 1 + 0.2 x 0.75 = 0.65.
    items = [item(i, details={"tag": tag}) for i, tag in enumerate(["cpq", "cpq", "tpq", "tpq"])]
    found = score_set("CP-Bench", items, ["reject", "accept", "accept", "accept"])
    assert found["final_score"] == pytest.approx(0.65) and found["accuracy"] == 0.75
    assert math.isnan(score_set("CP-Bench", items[:2], ["reject", "accept"])["final_score"])


# VQA v2, GQA and RGQA: the scores of pipeline.scoring, which are held against the authors' scripts in tests/scoring.


@pytest.mark.parametrize("seed", SEEDS)
def test_vqa_v2_is_the_authors(seed):
    pick = random.Random(seed)
    texts = ["red", "the red", "yes", "2", "two", "cant", "can't"]
    rows = [
        (pick.choice(texts), [pick.choice(texts) for _ in range(10)], pick.choice(["yes/no", "other"]))
        for _ in range(200)
    ]
    items = [
        SetItem(str(i), "", "", answers=tuple(answers), details={"answer_type": kind})
        for i, (_, answers, kind) in enumerate(rows)
    ]
    found = score_set("VQA v2", items, [said for said, _, _ in rows])
    values = [(kind, published.vqa_accuracy_master(said, answers)) for said, answers, kind in rows]
    expected = {"accuracy": 100 * sum(value for _, value in values) / len(values)}
    for kind in ("yes/no", "other"):
        of_kind = [value for other, value in values if other == kind]
        expected[f"{kind}/accuracy"] = 100 * sum(of_kind) / len(of_kind)
    equal(found, expected)


def test_gqa_is_the_diagnostics():
    pick = random.Random(1)
    rows = [
        (
            pick.choice(["yes", "red"]),
            pick.choice(["yes", "red"]),
            pick.choice(["query", "verify"]),
            pick.choice(["attr", "rel"]),
        )
        for _ in range(100)
    ]
    items = [
        item(i, answer, details={"structural": structural, "semantic": semantic, "global": structural})
        for i, (answer, _, structural, semantic) in enumerate(rows)
    ]
    found = score_set("GQA", items, [said for _, said, _, _ in rows])
    questions = {
        str(i): {"answer": answer, "types": {"structural": one, "semantic": two}, "groups": {"global": one}}
        for i, (answer, _, one, two) in enumerate(rows)
    }
    expected = compute_gqa_diagnostics(questions, {str(i): said for i, (_, said, _, _) in enumerate(rows)})
    assert found["accuracy"] == pytest.approx(100 * sum(row[0] == row[1] for row in rows) / 100)
    assert found["binary"] == found["verify/accuracy"] and found["open"] == found["query/accuracy"]
    assert found["rel/accuracy"] == pytest.approx(100 * expected["by_semantic"]["rel"]["value"])
    assert found["distribution"] == expected["distribution"]["value"]
    assert set(score_set("GQA", [item(1, "red")], ["red"])) == {"accuracy"}


def test_rgqa_has_the_authors_thirteen_scores():
    items = [
        SetItem(str(i), "", "", is_answerable=i < 3, answers=("red",) if i < 3 else ()) for i in range(5)
    ]
    said, confidence = ["red", "blue", "red", "uq", "red"], [0.9, 0.8, 0.7, 0.6, 0.1]
    expected = published_scores(confidence, [True, False, True, True, False], [True] * 3 + [False] * 2)
    assert score_set("RGQA", items, said, confidence=confidence) == pytest.approx(expected, nan_ok=True)
    assert score_set("RGQA", items, said) == {"facc": 2 / 3}
    assert score_set("RGQA", items[:3], said[:3], confidence=confidence[:3]) == {"facc": 2 / 3}

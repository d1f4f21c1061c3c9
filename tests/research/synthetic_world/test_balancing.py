"""Balanced questions: the answer cannot be guessed from the group."""

from collections import Counter

from research.synthetic_world.balancing import balance_answers
from research.synthetic_world.questions import SampleQuestion


def asked(group, answers):
    return [
        SampleQuestion(
            question_id=f"{group}{i}",
            image_id="p",
            split="val",
            text=f"{group}?",
            answer=answer,
            answer_annotations={},
            group_local=group,
        )
        for i, answer in enumerate(answers)
    ]


def kept(questions, seed=0):
    return Counter((questions[i].group_local, questions[i].answer) for i in balance_answers(questions, seed))


def test_the_most_common_answer_is_reduced_to_the_second_in_each_group():
    questions = asked("colour", ["red"] * 5 + ["blue"] * 2 + ["green"]) + asked("is it", ["yes", "no", "yes"])
    assert kept(questions) == {
        ("colour", "red"): 2,
        ("colour", "blue"): 2,
        ("colour", "green"): 1,
        ("is it", "yes"): 1,
        ("is it", "no"): 1,
    }


def test_a_group_of_one_answer_is_left_out_and_one_of_even_answers_stays():
    assert kept(asked("sky", ["blue"] * 3)) == {}
    assert kept(asked("is it", ["yes", "no"] * 2)) == {("is it", "yes"): 2, ("is it", "no"): 2}


def test_the_choice_of_questions_depends_on_the_seed():
    questions = asked("colour", ["red"] * 50 + ["blue"] * 2)
    assert (
        balance_answers(questions, 1)
        == balance_answers(questions, 1)
        == sorted(balance_answers(questions, 1))
    )
    assert len({tuple(balance_answers(questions, seed)) for seed in range(5)}) == 5


def test_the_group_alone_predicts_at_most_half_of_the_answers(drawn):
    found = Counter((drawn[i].group_local, drawn[i].answer) for i in balance_answers(drawn, 0))
    groups = Counter(group for group, _ in found.elements())
    assert all(2 * count <= groups[group] for (group, _), count in found.items()) and len(groups) > 20

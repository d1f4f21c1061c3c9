"""The sample's answer nets: how each is built and tried."""

import numpy as np
import pytest
import torch

from pipeline.core.records import Scene, SceneObject
from pipeline.models.looking import Asked
from pipeline.models.match_net import NetShape
from pipeline.models.question_texts import WordTable
from pipeline.models.region_store import ArrayStore
from sample_world import vqa_nets
from sample_world.questions import SampleQuestion
from sample_world.vqa_nets import (
    NETS,
    PartData,
    confidence_of,
    criterion,
    new_net,
    question_set,
    recipe_of,
    seats_of,
)

THINGS = tuple(
    SceneObject(object_id=str(i), name="cup", x=x, y=0, w=10, h=10) for i, x in enumerate((0, 20, 40))
)
SCENE = Scene(picture_id="p", split="val", width=100, height=100, objects=THINGS)


def question(text="Is it?", answer="yes", marks=(), answer_marks=()):
    return SampleQuestion(
        question_id=text,
        picture_id="p",
        split="val",
        text=text,
        answer=answer,
        annotations=dict(marks),
        answer_annotations=dict(answer_marks),
        structural="verify",
    )


def lefts(**marks):
    """The left edges of the boxes where glances are to rest."""
    return [round(seat[0], 2) for seat in seats_of(question(**marks), SCENE)]


def test_glances_rest_on_the_thing_named_last_then_first_then_on_the_answer():
    assert lefts(marks={"10": "1", "2:4": "0"}, answer_marks={"0": "2"}) == [0.2, 0.0, 0.4]
    assert lefts(marks={"2": "1"}) == [0.2, 0.2, 0.2]
    np.testing.assert_equal(lefts(answer_marks={"0": "2"}), [np.nan, np.nan, 0.4])  # "What is red?"
    np.testing.assert_equal(lefts(), [np.nan] * 3)  # "Is there a dog?" no


def test_questions_become_numbers_and_an_unknown_answer_is_marked():
    data = PartData([question("Red cup?", "no"), question("Blue cup?", "maybe")], {"p": SCENE}, {"p": 4})
    numbers = question_set(data, WordTable.learned(["red cup"]), ["no", "yes"])
    assert numbers.tokens.tolist() == [[3, 2], [1, 2]] and numbers.answers.tolist() == [0, -1]
    assert numbers.pictures.tolist() == [4, 4] and np.shape(numbers.seats) == (2, 3, 4)


def test_all_trained_rows_see_as_many_answerable_questions():
    seen = {}
    for name, plan in NETS.items():
        recipe = recipe_of(plan, 100, 40, name == "base", pointing=0.3)
        seen[name] = (recipe.steps + (0 if plan.anew else 100)) * recipe.batch
    assert {name for name, count in seen.items() if count != 140 * 256} == {"base"}


def test_checkpoints_of_plain_nets_are_chosen_by_accuracy_and_of_the_others_by_what_they_are_for():
    assert {name: criterion(plan) for name, plan in NETS.items() if criterion(plan) != "auaf"} == {
        "base": "accuracy",
        "blind": "accuracy",
        "true_regions": "accuracy",
        "vanilla": "accuracy",
        "caption_match": "auroc",
        "separated": "auroc",
    }


def store(pictures=4, seed=0):
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(pictures, 3, 6)).astype(np.float16)
    return ArrayStore([f"p{i}" for i in range(pictures)], features, np.zeros((pictures, 3, 4), np.float32))


def shape(head="", answers=2):
    return NetShape(words=4, answers=answers, region=6, head=head, word_width=4, width=4, joint=8)


def asked(net, answers=("no", "yes")):
    return Asked(net.eval(), WordTable(("cup", "red")), answers)


@pytest.mark.parametrize("head", ["branch", "k_plus_1"])
def test_a_net_starts_from_the_base_as_far_as_they_are_built_alike(head):
    base = asked(new_net("base", shape(), store(), seed=3))
    net = new_net("rp", shape(head), store(), seed=4, base=base)
    own, given = net.state_dict(), base.net.state_dict()
    for name, value in given.items():
        assert torch.equal(own[name][: len(value)] if name.startswith("answer") else own[name], value), name
    alone = new_net("separated", shape(answers=1), store(), seed=4, base=base).state_dict()
    assert torch.equal(alone["join.weight"], given["join.weight"]) and alone["answer.weight"].shape == (1, 8)


def test_seeds_give_other_nets():
    one, two, again = (new_net("base", shape(), store(), seed).join.weight for seed in (1, 2, 1))
    assert torch.equal(one, again) and not torch.equal(one, two)


def test_higher_confidence_is_answerable_whatever_the_shape():
    logits = np.array([[-3.0, 2.0], [-5.0, -4.0]])
    assert confidence_of(asked(new_net("", shape(), store(), 0)), logits, {}).tolist() == [2, -4]
    extra = {"k_plus_1": np.array([-7.0, 7.0]), "branch": np.array([1.0, -1.0])}
    assert confidence_of(asked(new_net("", shape("k_plus_1"), store(), 0)), logits, extra).tolist() == [7, -7]
    assert confidence_of(asked(new_net("", shape("branch"), store(), 0)), logits, extra).tolist() == [1, -1]


def test_figures_of_a_net_that_always_says_yes():
    net = new_net("base", shape(), store(), 0)
    with torch.no_grad():
        net.answer.weight.zero_()
        net.answer.bias.copy_(torch.tensor([-1.0, 1.0]))
    questions = [
        SampleQuestion(
            question_id=str(i),
            picture_id=f"p{i}",
            split="val",
            text="Red cup?",
            answer="yes" if i else "no",
            answer_annotations={},
            structural="verify" if i < 2 else "query",
        )
        for i in range(4)
    ]
    found = vqa_nets.figures(asked(net), PartData(questions, {}, {f"p{i}": i for i in range(4)}), store())
    # one of two "verify" and both "query" right; all confidences alike: the curve is one straight line
    assert found == {"verify": 0.5, "query": 1.0, "accuracy": 0.75, "auroc": 0.5, "auaf": 0.375}


def test_a_net_of_one_output_has_no_answers_to_be_right():
    net = asked(new_net("separated", shape(answers=1), store(), 0), ("answerable",))
    data = PartData([question("a"), question("b")], {}, {"p": 0, "q": 1})
    data.questions[1] = SampleQuestion(
        question_id="b", picture_id="q", split="val", text="Cup?", answer="no", answer_annotations={}
    )
    places = ArrayStore(["p", "q"], store().features[:2], store().boxes[:2])
    assert set(vqa_nets.figures(net, data, places)) == {"auroc"}

"""Training data of the sample's VQA models, and their evaluation."""

import numpy as np
import torch

from pipeline.core.records import SceneGraph, SceneObject
from research.reference_models.net_configs import initialize_net
from research.reference_models.region_stores import ArrayStore, compute_feature_moments
from research.reference_models.tokenization import WordVocabulary
from research.synthetic_world import vqa_training_data
from research.synthetic_world.questions import SampleQuestion
from research.synthetic_world.vqa_training_data import SubsetData, encode_questions, get_attention_targets
from tests.research.reference_models.toy_nets import loaded_model
from tests.research.reference_models.toy_nets import tiny_shape as shape
from tests.research.reference_models.toy_nets import tiny_store as store

THINGS = tuple(
    SceneObject(object_id=str(i), name="cup", x=x, y=0, w=10, h=10) for i, x in enumerate((0, 20, 40))
)
SCENE = SceneGraph(image_id="p", split="val", width=100, height=100, objects=THINGS)


def question(text="Is it?", answer="yes", marks=(), answer_marks=()):
    return SampleQuestion(
        question_id=text,
        image_id="p",
        split="val",
        text=text,
        answer=answer,
        annotations=dict(marks),
        answer_annotations=dict(answer_marks),
        structural="verify",
    )


def lefts(**marks):
    """Return the left edges of the boxes that glances should attend to."""
    return [round(seat[0], 2) for seat in get_attention_targets(question(**marks), SCENE)]


def test_glances_attend_to_the_object_named_last_then_first_then_the_answer():
    assert lefts(marks={"10": "1", "2:4": "0"}, answer_marks={"0": "2"}) == [0.2, 0.0, 0.4]
    assert lefts(marks={"2": "1"}) == [0.2, 0.2, 0.2]
    np.testing.assert_equal(lefts(answer_marks={"0": "2"}), [np.nan, np.nan, 0.4])  # "What is red?"
    np.testing.assert_equal(lefts(), [np.nan] * 3)  # "Is there a dog?" no


def test_questions_become_numbers_and_an_unknown_answer_is_marked():
    data = SubsetData([question("Red cup?", "no"), question("Blue cup?", "maybe")], {"p": SCENE}, {"p": 4})
    numbers = encode_questions(data, WordVocabulary.from_texts(["red cup"]), ["no", "yes"])
    assert numbers.tokens.tolist() == [[3, 2], [1, 2]] and numbers.answers.tolist() == [0, -1]
    assert numbers.image_indices.tolist() == [4, 4] and np.shape(numbers.target_boxes) == (2, 3, 4)


def test_figures_of_a_net_that_always_says_yes():
    net = initialize_net(shape(), compute_feature_moments(store()), 0)
    with torch.no_grad():
        net.answer.weight.zero_()
        net.answer.bias.copy_(torch.tensor([-1.0, 1.0]))
    questions = [
        SampleQuestion(
            question_id=str(i),
            image_id=f"p{i}",
            split="val",
            text="Red cup?",
            answer="yes" if i else "no",
            answer_annotations={},
            structural="verify" if i < 2 else "query",
        )
        for i in range(4)
    ]
    found = vqa_training_data.compute_metrics(
        loaded_model(net), SubsetData(questions, {}, {f"p{i}": i for i in range(4)}), store()
    )
    # one of two "verify" and both "query" right; all confidences alike: the curve is one straight line
    assert found == {"verify": 0.5, "query": 1.0, "accuracy": 0.75, "auroc": 0.5, "auaf": 0.375}


def test_a_net_of_one_output_has_no_answers_to_be_right():
    net = loaded_model(initialize_net(shape(answers=1), compute_feature_moments(store()), 0), ("answerable",))
    data = SubsetData([question("a"), question("b")], {}, {"p": 0, "q": 1})
    data.questions[1] = SampleQuestion(
        question_id="b", image_id="q", split="val", text="Cup?", answer="no", answer_annotations={}
    )
    places = ArrayStore(["p", "q"], store().features[:2], store().boxes[:2])
    assert set(vqa_training_data.compute_metrics(net, data, places)) == {"auroc"}

"""Prompts, their solver, and dynamic batching."""

import hashlib
import threading

import anyio
import pytest
from inspect_ai.model import ContentText

from pipeline.core.errors import UserError
from pipeline.inference.dynamic_batching import DynamicBatcher
from pipeline.inference.prompts import PROMPTS, get_prompt

from .conftest import first_word, image_in, png, said, tokens

# Prompt solver
# Each confidence method by a real run of inspect_ai on split validation: the items a1 ("red") and u1, both on image n1.


def scores(log):
    return {sample.id: sample.scores["rgqa"] for sample in log.samples if sample.scores}


def confidences(log):
    return {name: score.value["confidence"] for name, score in scores(log).items()}


def item_in(messages):
    """Which item is asked about."""
    (name,) = {name for name in ("a1", "u1") for message in messages if f"the {name}?" in message.text}
    return name


def test_the_probability_of_the_answers_tokens(answer):
    # a1: 0.5 x 0.6 = 0.3; u1 abstains, so 0
    def say(messages, config):
        assert config.logprobs and config.temperature == 0 and config.max_tokens == 64
        known = item_in(messages) == "a1"
        return (
            said("red", tokens=tokens(("re", 0.5), ("d", 0.6))) if known else said("unanswerable", tokens=[])
        )

    assert confidences(answer(say, split="validation", confidence="token-probability")) == {
        "a1": pytest.approx(0.3),
        "u1": 0,
    }


def test_p_true_is_a_second_turn_and_the_answer_stays_the_reply(answer):
    def say(messages, config):
        if len(messages) == 1:
            return said("red", tokens=[])
        assert [message.role for message in messages] == ["user", "assistant", "user"]
        assert config.top_logprobs == 20
        # a1: 0.6 / (0.6 + 0.2) = 0.75; u1: 0.1 / (0.1 + 0.7) = 0.125
        yes, no = (0.6, 0.2) if item_in(messages) == "a1" else (0.1, 0.7)
        return said("Yes", tokens=first_word("Yes", yes=yes, no=no))

    run = answer(say, split="validation", prompt="short-answer", confidence="p_true")
    assert confidences(run) == {"a1": pytest.approx(0.75), "u1": pytest.approx(0.125)}
    assert {sample.output.completion for sample in run.samples} == {"red"}
    assert scores(run)["a1"].metadata["raw_replies"] == ["red", "Yes"]


def test_p_true_reuses_the_first_turn_of_prompt_ask_first(answer):
    def say(messages, config):
        if len(messages) == 1:
            assert "Reply with yes or no." in messages[0].text and image_in(messages[0]) == png("red")
            return said("no", tokens=first_word("no", yes=0.2, no=0.6))
        assert len(messages) == 3 and isinstance(messages[2].content, str)  # the image was shown already
        return said("blue", tokens=[])

    run = answer(say, split="validation", prompt="ask-first", confidence="p-true")
    assert confidences(run) == {"a1": pytest.approx(0.25), "u1": pytest.approx(0.25)}  # 0.2 / 0.8
    assert scores(run)["u1"].value["detected_abstention"] == 1 and scores(run)["u1"].answer == "blue"


def test_a_verbalized_confidence_is_requested_after_the_answer(answer):
    def say(messages, config):
        if len(messages) == 1:
            return said("red")
        return said("85%" if item_in(messages) == "a1" else "I cannot say")

    run = answer(say, split="validation", confidence="verbalized")
    assert confidences(run) == {"a1": 0.85}
    (failed,) = [sample for sample in run.samples if sample.error]
    assert failed.id == "u1" and failed.error.message == "no confidence: verbalized, from 'I cannot say'"


@pytest.mark.parametrize("at_once", [True, False])
def test_self_consistency_answers_with_the_most_common_reply(answer, at_once):
    replies = ["blue", "red", "Red.", "unanswerable", "I cannot tell."]
    seeds = []

    def say(messages, config):
        seeds.append(config.seed)
        assert config.temperature == 0.7
        return said(*replies) if config.num_choices == 5 else said(replies[config.seed - 8])

    run = answer(
        say,
        split="validation",
        confidence="self-consistency",
        num_replies=5,
        use_num_choices=at_once,
        seed=7,
        single=True,
    )
    (score,) = scores(run).values()
    assert score.value["confidence"] == 2 / 5 and score.answer == "red"  # "red" and "Red." of five
    assert score.metadata["raw_replies"] == replies
    assert sorted(seeds) == ([7] if at_once else [8, 9, 10, 11, 12])  # or a server would say the same again


def test_missing_replies_are_requested_one_by_one(answer):
    run = answer(
        lambda messages, config: said("red"),
        split="validation",
        confidence="self-consistency",
        num_replies=4,
        single=True,
    )
    (score,) = scores(run).values()
    assert score.value["confidence"] == 1 and len(score.metadata["raw_replies"]) == 4


def test_a_truncated_reply_is_an_error(answer):
    run = answer(
        lambda messages, config: said("red, because", stop="max_tokens"), split="validation", single=True
    )
    (sample,) = run.samples
    assert confidences(run) == {} and sample.error.message == "truncated: allow more tokens: 'red, because'"
    assert sample.metadata["raw_replies"] == ["red, because"]


def test_truncated_replies_do_not_agree_with_others(answer):
    def say(messages, config):
        seed = config.seed
        return said(["red", "blue", "red", "green"][seed - 1], stop="max_tokens" if seed == 4 else "stop")

    run = answer(
        say,
        split="validation",
        confidence="self-consistency",
        num_replies=4,
        use_num_choices=False,
        single=True,
    )
    (score,) = scores(run).values()
    assert score.value["confidence"] == 2 / 4 and score.answer == "red"  # two of the four that were asked for
    assert sorted(score.metadata["raw_replies"]) == ["blue", "green", "red", "red"]


def test_one_complete_reply_among_many_has_a_low_confidence(answer):
    replies = [said("red").choices[0], *said(*["red and"] * 9, stop="max_tokens").choices]
    run = answer(
        lambda *_: said().model_copy(update={"choices": replies}),
        split="validation",
        confidence="self-consistency",
        single=True,
    )
    assert list(confidences(run).values()) == [1 / 10]


def test_reasoning_without_its_start_marker_is_no_part_of_the_answer(answer):
    text = "A bowl? No, it is red.</think>\n\nRed"
    run = answer(lambda *_: said(text), split="validation", single=True)
    (score,) = scores(run).values()
    assert (score.answer, score.metadata["raw_replies"]) == ("Red", [text])


def test_reasoning_without_an_end_counts_as_truncated(answer):
    run = answer(lambda messages, config: said("<think>The cup is", stop="stop"), split="validation")
    assert confidences(run) == {}
    assert {sample.error.message.partition(":")[0] for sample in run.samples} == {"truncated"}


def test_chat_template_markers_are_no_part_of_the_answer(answer):
    run = answer(lambda messages, config: said("<answer>red</answer><|im_end|>"), split="validation")
    assert {sample.output.completion for sample in run.samples} == {"red"}


def test_a_filtered_reply_counts_as_an_empty_abstention(answer):
    run = answer(lambda messages, config: said("red is", stop="content_filter"), split="validation")
    assert confidences(run) == {"a1": 0.0, "u1": 0.0}
    assert {sample.output.completion for sample in run.samples} == {""}


def test_a_reply_marked_as_refusal_by_the_server_is_an_abstention(answer):
    def say(messages, config):
        return said([ContentText(text="Red things", refusal=True)])

    assert confidences(answer(say, split="validation")) == {"a1": 0.0, "u1": 0.0}


def test_missing_log_probabilities_are_errors(answer):
    run = answer(lambda messages, config: said("red"), split="validation", confidence="token-probability")
    assert confidences(run) == {}
    assert {sample.error.message for sample in run.samples} == {
        "no confidence: token-probability, from 'red'"
    }


def test_a_failing_request_is_an_error_of_its_item_only(answer):
    def say(messages, config):
        if item_in(messages) == "u1":
            raise RuntimeError("the server is on fire")
        return said("red")

    run = answer(say, split="validation")
    assert confidences(run) == {"a1": 1.0} and run.status == "success"
    assert [sample.error.message for sample in run.samples if sample.error] == [
        "RuntimeError('the server is on fire')"
    ]


def test_examples_precede_the_question_with_images_and_answers(answer):
    def say(messages, config):
        roles = [message.role for message in messages[:5]]
        assert roles == ["user", "assistant", "user", "assistant", "user"]
        # validation's UQ u1 and AQ a1, both on the red image
        assert [messages[1].text, messages[3].text] == ["unanswerable", "red"]
        assert image_in(messages[0]) == image_in(messages[2]) == png("red") != image_in(messages[4])
        return said("red")

    assert len(confidences(answer(say, shots=2))) == 4


def test_examples_of_the_prompt_that_asks_first_have_both_turns(answer):
    def say(messages, config):
        assert [m.text for m in messages[:8] if m.role == "assistant"] == ["no", "unanswerable", "yes", "red"]
        return said("yes")

    assert len(confidences(answer(say, shots=2, prompt="ask-first"))) == 4


def test_no_image_is_sent_with_no_image(answer):
    def say(messages, config):
        assert [split.type for split in messages[0].content] == ["text"]
        return said("red")

    assert len(confidences(answer(say, split="validation", no_image=True))) == 2


def test_the_log_has_the_unchanged_text_of_a_reply(answer):
    run = answer(lambda messages, config: said(" The answer is:\n**Red** "), split="validation", single=True)
    (sample,) = run.samples
    assert (
        sample.output.completion
        == sample.scores["rgqa"].metadata["prediction"]
        == " The answer is:\n**Red** "
    )


# Prompts


def test_each_prompt_contains_the_question_unchanged():
    for prompt in PROMPTS.values():
        assert "Is {it} red?" in prompt.format_question("Is {it} red?")
    assert "Is it red?" in PROMPTS["ask-first"].format_first_turn("Is it red?")
    assert PROMPTS["short-answer"].format_first_turn("Is it red?") == ""


def test_two_prompts_offer_to_abstain():
    offering = [name for name, prompt in PROMPTS.items() if "unanswerable" in prompt.template]
    assert offering == ["abstain", "explain"]


def test_the_hash_covers_all_texts_and_nothing_else():
    word = PROMPTS["short-answer"]
    # by hand: sha256 of '["", "", "{question}\\nAnswer with a word or a short phrase."]'
    text = '["", "", "{question}\\nAnswer with a word or a short phrase."]'
    assert word.hash == hashlib.sha256(text.encode()).hexdigest()[:12]
    assert word._replace(help="other").hash == word.hash
    changed = [word._replace(template="?"), word._replace(first_turn_template="?"), word._replace(system="?")]
    assert len({word.hash, *(prompt.hash for prompt in changed)}) == 4


def test_an_unknown_prompt_is_rejected_with_the_known_names():
    with pytest.raises(UserError, match="--prompt short: .* short-answer, abstain, ask-first, explain, bare"):
        get_prompt("short")


# Dynamic batching
# Questions of many tasks in batches.


def asked_together(batches, questions):
    """The replies, errors among them, of questions that come at once."""
    replies = {}

    async def one(question):
        try:
            replies[question] = await batches(question)
        except ValueError as error:
            replies[question] = error

    async def all_of_them():
        async with anyio.create_task_group() as group:
            for question in questions:
                group.start_soon(one, question)

    anyio.run(all_of_them)
    return [replies[question] for question in questions]


def test_requests_are_batched_and_each_gets_its_own_reply():
    sizes, threads = [], set()

    def double(batch):
        sizes.append(len(batch))
        threads.add(threading.current_thread())
        return [2 * one for one in batch]

    assert asked_together(DynamicBatcher(double, 4), range(10)) == [2 * k for k in range(10)]
    assert sizes == [4, 4, 2] and threading.main_thread() not in threads


def test_a_failing_request_does_not_affect_others():
    def inverse(batch):
        if 0 in batch:
            raise ValueError("no inverse")
        return [1 / one for one in batch]

    replies = asked_together(DynamicBatcher(inverse, 8), [1, 0, 2, 4])
    assert [replies[0], *replies[2:]] == [1, 0.5, 0.25] and str(replies[1]) == "no inverse"


def test_batches_can_follow_each_other():
    batches = DynamicBatcher(list, 4)
    assert asked_together(batches, [1]) == [1] and asked_together(batches, [2, 3]) == [2, 3]


@pytest.mark.parametrize("backend", ["asyncio"])
def test_a_single_request_does_not_wait(backend):
    assert anyio.run(DynamicBatcher(list, 100), 7, backend=backend) == 7

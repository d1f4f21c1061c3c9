"""Marks of reasoning models and of chat templates, each as its parser or template writes it (see the module)."""

import pytest

from pipeline.scoring.reasoning_parser import extract_final_answer

OF_REASONING = [
    ("<think>", "</think>"),
    ("<thinking>", "</thinking>"),
    ("<thought>", "</thought>"),
    ("<reasoning>", "</reasoning>"),
    ("<THINK>", "</THINK>"),
    ("<seed:think>", "</seed:think>"),
    ("<longcat_think>", "</longcat_think>"),
    ("<reflection>", "</reflection>"),
    ("[THINK]", "[/THINK]"),
    ("◁think▷", "◁/think▷"),
    ("<|begin_of_thought|>", "<|end_of_thought|>"),
    ("<|START_THINKING|>", "<|END_THINKING|>"),
    ("<|inner_prefix|>", "<|inner_suffix|>"),
    ("<|channel|>analysis<|message|>", "<|end|><|start|>assistant<|channel|>final<|message|>"),
    ("<|channel>thought\n", "<channel|>"),
    ("<|thought_begin|>", "<|thought_end|>"),
    ("<|reasoning_start|>", "<|reasoning_end|>"),
    ("<|start_of_thinking|>", "<|end_of_thinking|>"),
    ("<reasoning_content>", "</reasoning_content>"),
    ("<unused94>thought\n", "<unused95>"),
    ("Thinking...\n", "\n...done thinking.\n\n"),
    ("analysis", "assistantfinal"),
    ("Here is my thought process:", "Here is my response:"),
]


@pytest.mark.parametrize(("opening", "closing"), OF_REASONING)
@pytest.mark.parametrize("answer", ["red", " \n\nred\n", "+"])
def test_reasoning_is_removed_from_the_answer(opening, closing, answer):
    reply = f"{opening}The cup is blue. Or is it?{closing}{answer}"
    found = extract_final_answer(reply)
    assert (found.text, found.is_truncated) == (answer.strip(), False)
    assert reply[found.start : found.end] == found.text


@pytest.mark.parametrize(("opening", "closing"), OF_REASONING)
def test_reasoning_that_does_not_end_is_no_answer(opening, closing):
    assert extract_final_answer(f"{opening}The cup is blue. Or").is_truncated
    assert extract_final_answer(f"red{opening}The cup").is_truncated == (
        opening not in ("analysis", "Here is my thought process:", "Thinking...\n")
    )


@pytest.mark.parametrize("closing", [closing for _, closing in OF_REASONING])
def test_the_prompt_may_have_opened_the_reasoning(closing):
    assert extract_final_answer(f"The cup is blue.{closing}red").text == "red"


@pytest.mark.parametrize(
    "reply",
    [
        "red<|im_end|>",
        "<|im_start|>assistant\nred<|im_end|>\n",
        "<|im_start|>user\nWhat color?<|im_end|>\n<|im_start|>assistant\nred<|im_end|>",
        "red<|im_end|>\n<|im_start|>user\nAnd now?<|im_end|>\n<|im_start|>assistant\nblue",
        "red</s>",
        "<s>red</s></s><pad><pad>",
        "<|start_header_id|>assistant<|end_header_id|>\n\nred<|eot_id|>",
        "<start_of_turn>model\nred<end_of_turn>",
        "<|turn>model\nred<turn|>",
        "[INST] What color? [/INST] red</s>",
        "USER: <image>\nWhat color? ASSISTANT: red",
        "Assistant: red",
        "<|assistant|>\nred<|endoftext|>",
        "<｜Assistant｜>red<｜end▁of▁sentence｜>",
        "<|channel|>final<|message|>red<|return|>",
        "<answer>red</answer>",
        "<answer>red",
        "The cup is there. <answer> red </answer>.",
        "<think>Is it <answer>blue</answer>?</think><answer>red</answer>",
        "<think>It is red. <answer>red</answer>",
        "<SUMMARY>s</SUMMARY><CAPTION>c</CAPTION><REASONING>r</REASONING><CONCLUSION>red</CONCLUSION>",
        "<think>x</think><|begin_of_box|>red<|end_of_box|>",
        "<|begin_of_thought|>x<|end_of_thought|><|begin_of_solution|>red<|end_of_solution|>",
        "The answer is $\\boxed{red}$.",
        "\\boxed{blue} no, \\boxed{\\text{red}}",
        "<think>a<think>b</think>c</think>red",
        "<think>a</think>red<think>b</think>",
        "<think>\n\n</think>\n\nred",
    ],
)
def test_markers_around_an_answer_are_removed(reply):
    found = extract_final_answer(reply)
    assert (found.text, found.is_truncated) == ("red", False)
    assert reply[found.start : found.end] == "red"


@pytest.mark.parametrize(
    "reply",
    [
        "red ",
        " Red.\n",
        "<red>",
        "<b>red</b>",
        "5 < 6",
        "[red]",
        "analysis of data",
        "I think so",
        "",
        "a_b",
        "$5",
        "{red}",
    ],
)
def test_a_reply_without_markers_is_unchanged(reply):
    assert extract_final_answer(reply) == (reply, False, 0, len(reply))


@pytest.mark.parametrize(
    "reply",
    [
        "</s>",
        "<think>red</think>",
        "<|im_end|>",
        "<|im_start|>assistant\n",
        "<answer></answer>",
        "<think>x</think><answer> </answer>",
    ],
)
def test_a_reply_of_markers_only_is_empty(reply):
    assert extract_final_answer(reply)[:2] == ("", False)

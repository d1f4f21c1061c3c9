"""Separate a model's final answer from its reasoning and from chat template tokens.

All code that reads replies uses `extract_final_answer`: the readers of predictions files and of harness logs,
`rgqa run`, and the abstention classifier. To support another model, add the markers of the model to one of
the tables below.

Sources of the markers: the reasoning parsers of vLLM (`vllm/reasoning`, for example apertus, cohere_command,
deepseek_r1, gemma4, gptoss, granite, hunyuan_a13b, longcat, mistral, pangu, seedoss) and of SGLang,
llama.cpp's `common/chat.cpp`, and the chat templates on the Hugging Face hub.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

# Names of XML-like elements that contain reasoning. In a reply, the names may have a prefix ("seed:think",
# "longcat_think") and attributes.
REASONING_ELEMENTS = (
    "think",
    "thinking",
    "thought",
    "thoughts",
    "reason",
    "reasoning",
    "reasoning_content",
    "rationale",
    "reflection",
    "scratchpad",
    "analysis",
    "inner_monologue",
    # LLaVA-CoT and other vision models that describe the image before they answer.
    "summary",
    "caption",
    "observe",
    "observation",
    "look",
)
# Other markers that open and close reasoning, as regular expressions.
REASONING_MARKERS = (
    (r"(?-i:\[THINK\])", r"(?-i:\[/THINK\])"),  # Magistral
    (r"(?-i:\[REASONING\])", r"(?-i:\[/REASONING\])"),
    (r"◁think▷", r"◁/think▷"),  # Kimi
    (r"<\|begin_of_thought\|>", r"<\|end_of_thought\|>"),  # OpenThoughts, LlamaV-o1
    (r"<\|start_thinking\|>", r"<\|end_thinking\|>"),  # Cohere Command
    (r"<\|inner_prefix\|>", r"<\|inner_suffix\|>"),  # Apertus
    (r"\[unused16\]", r"\[unused17\]"),  # Pangu
    (r"<\|think(?:ing)?\|>", r"<\|/think(?:ing)?\|>"),
    # Other spellings of the same markers: thought_begin and thought_end, start_of_reasoning and
    # end_of_reasoning.
    (
        r"<\|(?:(?:begin|start)_(?:of_)?)?(?:think(?:ing)?|thoughts?|reason(?:ing)?)_?(?:begin|start)?\|>",
        r"<\|(?:end_(?:of_)?(?:think(?:ing)?|thoughts?|reason(?:ing)?)|(?:think(?:ing)?|thoughts?|reason(?:ing)?)_?end)\|>",
    ),
    (r"<unused94>\s*thought\b", r"<unused95>"),  # MedGemma
    (r"\A\s*Thinking\.\.\.\s*\n", r"\n\s*\.\.\.done thinking\."),  # Ollama's command line
    # gpt-oss: every channel except the final one is reasoning. The next entry is the same format without
    # special tokens.
    (
        r"<\|channel\|>\s*(?!final\b)\w+[^<]*(?:<\|message\|>)?",
        r"<\|channel\|>\s*final\b[^<]*<\|message\|>",
    ),
    (r"(?-i:\Aanalysis(?=[A-Z]))", r"(?-i:assistantfinal(?:json)?)"),
    (r"<\|channel>\s*thought\b", r"<channel\|>(?:\s*final\b)?"),  # Gemma 4
    (r"\A\s*here(?:'s| is) my thought process:", r"here(?:'s| is) my response:"),  # Granite
)
# Elements and other markers that contain only the answer.
ANSWER_ELEMENTS = ("answer", "final_answer", "conclusion")
ANSWER_MARKERS = (
    (r"<\|begin_of_solution\|>", r"<\|end_of_solution\|>"),
    (r"<\|begin_of_box\|>", r"<\|end_of_box\|>"),  # GLM-4.5V
    (r"<\|start_(?:response|text)\|>", r"<\|end_(?:response|text)\|>"),  # Cohere Command
    (r"\[answer\]", r"\[/answer\]"),
)
# Names of roles, and markers that open a turn of the model or of another role.
MODEL_ROLES = r"(?:assistant|model|chatbot|gpt)"
OTHER_ROLES = r"(?:user|human|system|developer)"
MODEL_TURN_MARKERS = (
    rf"<\|(?:im_start|start|turn|role)\|?>\s*{MODEL_ROLES}\b\s*:?",
    rf"<\|start_header_id\|>\s*{MODEL_ROLES}\s*<\|end_header_id\|>",
    rf"<start_of_turn>\s*{MODEL_ROLES}\b",
    rf"<[|｜](?:{MODEL_ROLES}|{MODEL_ROLES}_start)(?:_token)?[|｜]>",
    rf"<(?:seed:)?bos>\s*{MODEL_ROLES}\b",
    r"\[/INST\]",
)
OTHER_TURN_MARKERS = (
    rf"<\|(?:im_start|start|turn|role)\|?>\s*{OTHER_ROLES}\b\s*:?",
    rf"<\|start_header_id\|>\s*{OTHER_ROLES}\s*<\|end_header_id\|>",
    rf"<start_of_turn>\s*{OTHER_ROLES}\b",
    rf"<[|｜](?:{OTHER_ROLES}|{OTHER_ROLES}_start)(?:_token)?[|｜]>",
    rf"<(?:seed:)?bos>\s*{OTHER_ROLES}\b",
    r"\[INST\]",
)
# Markers that end a turn, and other markers without a meaning here. At the beginning of a reply, these
# markers are ignored. After words, such a marker ends the answer: the text after the marker belongs to
# another turn.
END_MARKERS = (
    r"</?s>",
    r"<(?:seed:)?(?:bos|eos|pad|unk)>",
    r"\[(?:eos|bos|pad|unk|SEP|CLS)\]",
    r"<(?:end_of_turn|end_of_utterance|turn\|)>",
    r"<[|｜][\w▁/:.-]+[|｜]>",
    r"<\|turn>|<\|message>",
)
# Role names in plain text instead of markers, as in the template of LLaVA.
PLAIN_TEXT_ROLES = re.compile(r"\A\s*(?:(?:USER|Human)\s*:.*?)?\b(?:ASSISTANT|Assistant)\s*:", re.DOTALL)


def _alternation(*marks: str) -> str:
    return "|".join(marks)


_REASONING_ELEMENT = rf"(?:[a-z]\w*[:_])?(?:{_alternation(*REASONING_ELEMENTS)})"
_REASONING_OPENING = _alternation(
    rf"<{_REASONING_ELEMENT}(?:\s[^<>]*)?>", *(opening for opening, _ in REASONING_MARKERS)
)
_REASONING_CLOSING = _alternation(
    rf"</{_REASONING_ELEMENT}\s*>", *(closing for _, closing in REASONING_MARKERS)
)
_REASONING = re.compile(rf"(?P<close>{_REASONING_CLOSING})|(?P<open>{_REASONING_OPENING})", re.IGNORECASE)
_ANSWER_OPENING = _alternation(
    rf"<(?:{_alternation(*ANSWER_ELEMENTS)})>", *(opening for opening, _ in ANSWER_MARKERS)
)
_ANSWER_CLOSING = _alternation(
    rf"</(?:{_alternation(*ANSWER_ELEMENTS)})>", *(closing for _, closing in ANSWER_MARKERS)
)
_ANSWER = re.compile(
    rf"(?:{_ANSWER_OPENING})(?P<text>(?:(?!{_ANSWER_OPENING}).)*?)(?P<end>{_ANSWER_CLOSING}|\Z)",
    re.IGNORECASE | re.DOTALL,
)
_EMPTY_ANSWER = re.compile(rf"\s*(?:{_ANSWER_OPENING})\s*(?:{_ANSWER_CLOSING})?\s*", re.IGNORECASE)
_TURN = re.compile(
    rf"(?P<model>{_alternation(*MODEL_TURN_MARKERS)})|(?P<other>{_alternation(*OTHER_TURN_MARKERS)})",
    re.IGNORECASE,
)
_END_MARKER = re.compile(_alternation(*END_MARKERS), re.IGNORECASE)
_LEADING_MARKERS = re.compile(rf"(?:\s|{_alternation(*MODEL_TURN_MARKERS, *END_MARKERS)})*", re.IGNORECASE)
_BOXED = re.compile(r"\\boxed\s*\{")
_LATEX_WRAPPER = re.compile(r"\\(?:text|textbf|textit|mathrm|mathbf|mbox)\s*\{")
# A reply that does not match has no markers.
_MAY_HAVE_MARKERS = re.compile(
    r"[<\[◁]|\\boxed|thought process:|my response:|assistantfinal|\Aanalysis|done thinking|\A\s*thinking\.\.\.\s*\n|assistant\s*:",
    re.I,
)


class FinalAnswer(NamedTuple):
    """The final answer of a reply.

    Attributes:
        text: The answer, `reply[start:end]`; "" if there is no answer.
        is_truncated: Whether reasoning was opened but not closed, so that the model did not reach an answer.
        start, end: Offsets of the answer in the reply.
    """

    text: str
    is_truncated: bool = False
    start: int = 0
    end: int = 0


@lru_cache(maxsize=1 << 16)
def extract_final_answer(reply: str) -> FinalAnswer:
    """Return the final answer of a reply, without reasoning and chat template tokens.

    If reasoning has only a closing marker, it starts at the beginning of the reply, because some templates
    put the opening marker into the prompt. If reasoning is not closed, there is no answer. A reply without
    markers is returned unchanged.

    >>> extract_final_answer("<think>There is no cat.</think>\\n\\nBlack.").text
    'Black.'
    >>> extract_final_answer("There is no cat.</think> Black.").text
    'Black.'
    >>> extract_final_answer("<think>There is no").is_truncated
    True
    >>> extract_final_answer("<think>x</think><answer>red</answer>").text
    'red'
    >>> final = "<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>final<|message|>red<|return|>"
    >>> extract_final_answer(final).text
    'red'
    >>> extract_final_answer("The answer is $\\\\boxed{\\\\text{red}}$.").text, extract_final_answer("red<|im_end|>").text
    ('red', 'red')
    """
    if not _MAY_HAVE_MARKERS.search(reply):
        return FinalAnswer(reply, False, 0, len(reply))
    start, end = _find_model_turn(reply)
    start, end, is_open = _skip_reasoning(reply, start, end)
    if is_open:
        # A complete answer element at the end of the reply also ends the reasoning.
        *_, last = [None, *_ANSWER.finditer(reply, start, end)]
        if not last or not last["end"] or reply[last.end() : end].strip(" \n.") or not last["text"].strip():
            return FinalAnswer("", True, end, end)
    start, end = _strip_end_markers(reply, start, end)
    if _EMPTY_ANSWER.fullmatch(reply, start, end):
        return FinalAnswer("", False, end, end)
    found = [match for match in _ANSWER.finditer(reply, start, end) if match["text"].strip()]
    if found:
        start, end = found[-1].span("text")
        start, end = _strip_end_markers(reply, start, end)
    start, end = _unwrap_boxed(reply, start, end)
    if (start, end) == (0, len(reply)):
        return FinalAnswer(reply, False, start, end)
    start += len(reply[start:end]) - len(reply[start:end].lstrip())
    end = start + len(reply[start:end].rstrip())
    return FinalAnswer(reply[start:end], False, start, end)


def _find_model_turn(reply: str) -> tuple[int, int]:
    """Return the span of the model's turn in the reply: after an echo of the prompt, and before the next
    turn.
    """
    if plain := PLAIN_TEXT_ROLES.match(reply):
        return plain.end(), len(reply)
    turns = [*_TURN.finditer(reply)]
    others = [turn for turn in turns if turn["other"]]
    if not others:
        return 0, len(reply)
    # If there is no text before the first turn that is not the model's, the reply begins with the prompt.
    starts_with_prompt = not _LEADING_MARKERS.sub("", reply[: others[0].start()], count=1).strip()
    if not starts_with_prompt:
        return 0, others[0].start()
    own = [turn for turn in turns if turn["model"]]
    return (own[-1].end(), len(reply)) if own else (0, len(reply))


def _skip_reasoning(reply: str, start: int, end: int) -> tuple[int, int, bool]:
    """Return the span of the last text with words outside of reasoning, and whether reasoning is still open
    at the end.
    """
    parts: list[tuple[int, int]] = []
    place, is_open = start, False
    for mark in _REASONING.finditer(reply, start, end):
        if mark["close"] is not None:
            if not is_open:
                # The closing marker has no opening marker: the opening marker was in the prompt, or the
                # reasoning itself contained a closing marker. All text before the marker is reasoning.
                parts = []
            is_open, place = False, mark.end()
        elif not is_open:
            parts.append((place, mark.start()))
            is_open = True
    if is_open:
        return place if place > start else start, end, True
    parts.append((place, end))
    worded = [part for part in parts if re.search(r"\w", _END_MARKER.sub("", reply[slice(*part)]))]
    return *(worded or parts)[-1], False


def _strip_end_markers(reply: str, start: int, end: int) -> tuple[int, int]:
    """Remove markers before the first words, and everything after the first end marker that follows words."""
    if leading := _LEADING_MARKERS.match(reply, start, end):
        start = leading.end() if leading.group().strip() else start
    for ending in _END_MARKER.finditer(reply, start, end):
        if re.search(r"\w", reply[start : ending.start()]) or not re.search(
            r"\w", _END_MARKER.sub("", reply[ending.end() : end])
        ):
            return start, ending.start()
        start = ending.end()
    return start, end


def _unwrap_boxed(reply: str, start: int, end: int) -> tuple[int, int]:
    r"""Return the span inside the last \boxed{...}, without commands such as \text{...} around all of it."""
    *_, last = [None, *_BOXED.finditer(reply, start, end)]
    if not last:
        return start, end
    inner = last.end(), _find_closing_brace(reply, last.end(), end)
    while wrapped := _LATEX_WRAPPER.match(reply[: inner[1]].rstrip(), inner[0]):
        close = _find_closing_brace(reply, wrapped.end(), inner[1])
        if reply[close + 1 : inner[1]].strip():
            break
        inner = wrapped.end(), close
    return inner if reply[slice(*inner)].strip() else (start, end)


def _find_closing_brace(text: str, start: int, end: int) -> int:
    depth = 1
    for place in range(start, end):
        depth += {"{": 1, "}": -1}.get(text[place], 0)
        if depth == 0:
            return place
    return end

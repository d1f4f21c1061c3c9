"""Ask and read questions of public sets as their authors do.

`format_prompt` writes what the authors send to a model, and `parse_replies` reads replies by the authors' rules. What a set's
authors leave open is listed in `PROMPT_SOURCES` and `REPLY_SOURCES`: a set that is missing there has no rule of its authors, and
the project's plain rule is used.

Three sets are read by a language model in the authors' scripts: MM-UPD (where the rule for letters finds none), HallusionBench and
CP-Bench. Here the abstention classifier and the words of the reply stand in for it. Judgements of a language model can be given to
`author_scores.score_set` instead of parsed replies.

In all sets, reasoning and chat template tokens are removed before the authors' rule is applied
(`reasoning_parser.extract_final_answer`). Replies without such markers are read unchanged.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from pipeline.core.no_answer_texts import normalize_words
from pipeline.public_sets.items import SetItem
from pipeline.scoring.abstention import ABSTAINED, classify_abstention
from pipeline.scoring.reasoning_parser import extract_final_answer

SET_NAMES = (
    "POPE",
    "RePOPE",
    "MM-UPD",
    "HallusionBench",
    "NaturalBench",
    "AMBER",
    "VizWiz",
    "TDIUC",
    "TUBench",
    "CP-Bench",
    "UNK-VQA",
    "VQA v2",
    "GQA",
    "RGQA",
)
# Where the authors state how a question is asked. The other sets are older than models that take instructions, or their authors
# publish no prompt.
PROMPT_SOURCES: Mapping[str, str] = MappingProxyType(
    {
        "POPE": "AoiDragon/POPE 04ed55d, README.md: the question alone",
        "RePOPE": "YanNeu/RePOPE 1080bdf, README.md: the question alone, as in POPE",
        "MM-UPD": "AtsuMiyai/UPD 0545322, vlms/gpt4v/gpt4v_vqa_updbench.py; which prompt: f7fc3e5, scripts/inference/llava1.5",
        "HallusionBench": "tianyi-lab/HallusionBench 0daf753, evaluation.py: the question alone",
        "NaturalBench": "Baiqi-Li/NaturalBench 3717258, naturalbench_vqa.py",
        "AMBER": "junyangwang0410/AMBER 5e1fd52, data/query: the question alone",
        "TUBench": "NLPCode/TUBench e0e8d8c, vlms/gpt4.py and utils/*/prompt.json",
        "CP-Bench": "Wu0409/Antidote d0ff5c4, benchmark/infer.py: the question alone",
    }
)
# Where the authors state how a reply is read. Of MM-UPD this is the rule for letters only.
REPLY_SOURCES: Mapping[str, str] = MappingProxyType(
    {
        "POPE": "AoiDragon/POPE f3ec604, evaluate.py",
        "RePOPE": "AoiDragon/POPE f3ec604, evaluate.py",
        "MM-UPD": "AtsuMiyai/UPD 7426f5e, automatic_eval/calculate_scores.py",
        "NaturalBench": "Baiqi-Li/NaturalBench 3717258, naturalbench_vqa.py",
        "TUBench": "NLPCode/TUBench e0e8d8c, evaluations/evaluate.py, evaluate_UGeoQA.py and evaluate_UTabMWP.py",
    }
)

# A reply that none of the options of a multiple-choice question fits. MM-UPD's authors use this letter.
NO_OPTION = "H"
UNKNOWN, UNANSWERABLE = "unknown", "unanswerable"
# The answer to TDIUC's absurd questions.
TDIUC_ABSURD_ANSWER = "doesnotapply"

MM_UPD_INSTRUCTIONS = {
    "base": "",
    "option": "Answer with the option's letter from the given choices directly.",
    "original": "Answer with the option's letter from the given choices directly.",
    "inst": 'If all the options are incorrect, answer "F. None of the above".',
}
MM_UPD_IVQD_INSTRUCTION = (
    'If the given image is irrelevant to the question, answer "F. The image and question are irrelevant."'
)
NATURAL_BENCH_INSTRUCTIONS = {
    "yes_no": "Please answer Yes or No.",
    "multiple_choice": "Please output the letter corresponding to the correct option.",
}
_TUBENCH_ORDER = "Give your answer first and then output the explanation."
_TUBENCH_YES_NO = 'answer either "Yes" or "No".'
TUBENCH_INSTRUCTIONS = {
    "UCR": (
        "Please analyze the given image and question step by step. If you find the question does not have a deterministic answer,"
        f' please answer "Unanswerable". If it does, {_TUBENCH_YES_NO} {_TUBENCH_ORDER}'
    ),
    "UVQA": (
        "Please analyze the given image and question step by step. If you find that the given image lacks the information necessary"
        ' to answer the question, please answer "Unanswerable". If the image contains the information needed to answer the'
        f" question, {_TUBENCH_YES_NO} {_TUBENCH_ORDER}"
    ),
    "UGeoQA": (
        "Please analyze the given image and question step by step. If you find that the given question and image lack the"
        ' information necessary to answer the question, please answer "Unanswerable". If the question and image contain the'
        f" information needed to answer the question, select your answer from the answer choices. {_TUBENCH_ORDER}"
    ),
    "UTabMWP": (
        "Please analyze the table in the given image and question step by step. If you find the table lacks the information"
        ' necessary to answer the question, please answer "Unanswerable". If the table contains the information needed to answer'
        f" the question, select your answer from the answer choices. {_TUBENCH_ORDER}"
    ),
}


def format_prompt(set_name: str, item: SetItem) -> str:
    """Return the text with which a set's authors ask a question.

    If the authors state no prompt (the set is not in `PROMPT_SOURCES`), the text is the hint, the question and the options, one a
    line, without an instruction.

    Args:
        set_name: One of `SET_NAMES`.
        item: The question, with the details that `author_scores` lists.

    Raises:
        ValueError: There is no such set.
        KeyError: The item lacks a detail.

    >>> format_prompt("MM-UPD", SetItem("1", "", "Which?", {"A": "cat", "B": "dog"}, details={"question_type": "option"}))
    "Which?\\nA. cat\\nB. dog\\nAnswer with the option's letter from the given choices directly."
    """
    check_set_name(set_name)
    if set_name == "MM-UPD":
        kind = item.details["question_type"]
        is_ivqd = kind == "inst" and item.details["upd_type"] == "ivqd"
        # The authors end the prompt of the setting "base" with a line break.
        return _join_lines(item) + "\n" + (MM_UPD_IVQD_INSTRUCTION if is_ivqd else MM_UPD_INSTRUCTIONS[kind])
    if set_name == "NaturalBench":
        # The authors put no space between the question and the instruction.
        return item.question + NATURAL_BENCH_INSTRUCTIONS[item.details["Question_Type"]]
    if set_name == "TUBench":
        dataset = item.details["dataset"]
        # UGeoQA was translated from questions with a blank to fill in.
        question = item.question.replace("()", "?") if dataset == "UGeoQA" else item.question
        choices = " ".join(
            f"({letter}) {text}" for letter, text in zip("abcdefgh", item.options.values(), strict=False)
        )
        choices = f"Answer Choices: {choices.strip()}. " if dataset in ("UGeoQA", "UTabMWP") else ""
        return f"{question} {choices}{TUBENCH_INSTRUCTIONS[dataset]}"
    return _join_lines(item)


def parse_reply(set_name: str, item: SetItem, reply: str) -> str:
    """Read one reply. See `parse_replies`, which is faster for many.

    >>> item = SetItem("1", "", "Is there a dog in the image?")
    >>> parse_reply("POPE", item, "No, I see a cat."), parse_reply("POPE", item, "The dog is not there. Yes."), parse_reply("POPE", item, "")
    ('no', 'no', 'yes')
    """
    return parse_replies(set_name, [item], [reply])[0]


def parse_replies(set_name: str, items: Sequence[SetItem], replies: Sequence[str]) -> list[str]:
    """Read replies as a set's authors read them.

    | set | reading |
    |---|---|
    | POPE, RePOPE | "no" if the first sentence has the word "No", "no" or "not"; otherwise "yes", also for an empty reply |
    | MM-UPD | the letter that the reply is, or with which it begins if no other letter A to G with ".", ")" or "," occurs; otherwise the option whose text the reply is or names, the letter that the authors' script adds for "no answer", or `NO_OPTION` |
    | HallusionBench | "yes" or "no" if the reply begins with it; "unknown" if the reply abstains; otherwise the first of these words |
    | NaturalBench | the first of the words "yes" and "no" (or "A" and "B") in any case; "unknown" for neither |
    | AMBER | the first of the words "yes" and "no"; "unknown" for neither. The authors take "Yes" and "No" only and leave the reading to the user |
    | TUBench | "yes", "no", an option's letter or "unanswerable" by words of the reply; "unknown" if nothing is found |
    | CP-Bench | "reject" if the reply abstains or denies what the question presupposes, otherwise "accept"; "NA" if empty |
    | TDIUC | the reply in lower case without a final full stop; "doesnotapply" if it abstains |
    | GQA, RGQA | the reply in lower case without a final full stop |
    | VizWiz, UNK-VQA, VQA v2 | the reply, as the authors normalize it when they score |

    Args:
        set_name: One of `SET_NAMES`.
        items: [n] questions.
        replies: [n] replies, with or without reasoning.

    Returns:
        [n] texts: "yes", "no", "unknown", "unanswerable", "accept", "reject", a letter, or free text.

    Raises:
        ValueError: There is no such set, or the numbers of items and replies differ.
        KeyError: An item lacks a detail.
    """
    check_set_name(set_name)
    texts = [extract_final_answer(reply).text for reply in replies]
    read = _READERS[set_name]
    found = [read(item, text) for item, text in zip(items, texts, strict=True)]
    left = [place for place, value in enumerate(found) if value is None]
    if left:
        # Classified together, because one by one takes much longer.
        verdicts = classify_abstention(
            [items[place].question for place in left], [texts[place] for place in left]
        )
        read_meaning = _READERS_OF_MEANING[set_name]
        for place, verdict in zip(left, verdicts.tolist(), strict=True):
            found[place] = read_meaning(items[place], texts[place], verdict == ABSTAINED)
    return [value or "" for value in found]


def check_set_name(set_name: str) -> None:
    """Raise a ValueError if there is no set of this name."""
    if set_name not in SET_NAMES:
        raise ValueError(f"unknown set {set_name!r}; expected one of {', '.join(SET_NAMES)}")


def _join_lines(item: SetItem) -> str:
    options = (f"{letter}. {text}" for letter, text in item.options.items())
    return "\n".join([*([item.hint] if item.hint else []), item.question, *options])


def _short_answer(text: str) -> str:
    return text.strip().removesuffix(".").rstrip().lower()


class AddedLetters(NamedTuple):
    """Letters that MM-UPD's script adds to the options of a question when it matches a reply with them.

    Attributes:
        removed_answer: Letter of the answer that was removed from the options; "" for none.
        refusals: Letters of "none of the above" and "I cannot answer".
    """

    removed_answer: str
    refusals: tuple[str, ...]


def mm_upd_letters(item: SetItem) -> AddedLetters:
    """Return the letters that MM-UPD's script adds to the options of an item.

    Source: AtsuMiyai/UPD 7426f5e, automatic_eval/calculate_scores.py, `build_option_str_w_gt`. The first free letter from C on
    belongs to the removed answer (of unsolvable questions of AAD and IASD), and the next one to a refusal. With the instruction of
    the setting "inst", "F" is a refusal, too.
    """
    kind, is_inst = item.details["upd_type"], item.details["question_type"] == "inst"
    instructed = ("F",) if is_inst else ()
    free = [letter for letter in "CDEFG" if letter not in item.options]
    if item.details["type"] == "standard" or kind == "ivqd":
        return AddedLetters("", (free[0], *instructed))
    if is_inst and kind == "iasd" and free[0] == "E":
        return AddedLetters("E", ("F", "G"))
    return AddedLetters(free[0], (free[1], *instructed))


def find_option_letter(text: str, letters: Sequence[str]) -> str:
    """Return the only option letter that a text names by MM-UPD's rule; "" if there is none.

    The text is the letter, or begins with it and ".", ")" or "," (or with "(A)"), and no other letter from A to G with one of
    these marks occurs anywhere in the text.

    Source: AtsuMiyai/UPD 7426f5e, automatic_eval/calculate_scores.py, `can_infer_option`.

    >>> find_option_letter("B. a dog", "AB"), find_option_letter("A. or B.", "AB"), find_option_letter("a", "AB"), find_option_letter("(A)", "AB")
    ('B', '', '', 'A')
    """
    text = text.strip()
    found = [
        letter
        for letter in dict.fromkeys(letters)
        if text == letter
        or (
            text.startswith((f"{letter})", f"{letter}.", f"{letter},", f"({letter})"))
            and not any(other + mark in text for other in "ABCDEFG" if other != letter for mark in ".),")
        )
    ]
    return found[0] if len(found) == 1 else ""


def _read_pope(item: SetItem, text: str) -> str:
    words = text.partition(".")[0].replace(",", "").split(" ")
    return "no" if {"No", "not", "no"}.intersection(words) else "yes"


def _read_mm_upd(item: SetItem, text: str) -> str | None:
    added = mm_upd_letters(item)
    letters = [*item.options, *added.refusals, *([added.removed_answer] if added.removed_answer else [])]
    return find_option_letter(text, letters) or (None if text.strip() else NO_OPTION)


# Words with which the options that MM-UPD's script adds for "no answer" refuse, and which may be no abstention in other sets.
MM_UPD_REFUSALS = (
    "none of the above",
    "all provided options are incorrect",
    "the image and question are irrelevant",
    "the image is incompatible with the question",
)


def _read_mm_upd_meaning(item: SetItem, text: str, abstains: bool) -> str:
    """Stand in for the language model with which the authors match a reply with the options."""
    added, said = mm_upd_letters(item), normalize_words(text)
    texts = {letter: normalize_words(option) for letter, option in item.options.items()}
    if added.removed_answer:
        texts[added.removed_answer] = normalize_words(item.details.get("masked_answer", ""))
    texts = {letter: option for letter, option in texts.items() if option}
    if equal := [letter for letter, option in texts.items() if option == said]:
        return equal[0]
    if abstains or any(f" {words} " in f" {said} " for words in MM_UPD_REFUSALS):
        return added.refusals[0]
    named = [letter for letter, option in texts.items() if f" {option} " in f" {said} "]
    return named[0] if len(named) == 1 else NO_OPTION


def _first_of(text: str, first: str, second: str) -> str:
    """Return which of two words occurs first in a text, in any case; "unknown" for neither."""
    found = re.search(rf"\b(?:({first})|{second})\b", text, re.IGNORECASE)
    return UNKNOWN if not found else first if found[1] else second


def _read_yes_no(item: SetItem, text: str) -> str:
    return _first_of(text, "yes", "no")


def _read_hallusion_bench(item: SetItem, text: str) -> str | None:
    begin = re.match(r"\W*(yes|no)\b", text, re.IGNORECASE)
    return begin[1].lower() if begin else None


def _read_hallusion_bench_meaning(item: SetItem, text: str, abstains: bool) -> str:
    return UNKNOWN if abstains else _read_yes_no(item, text)


def _read_natural_bench(item: SetItem, text: str) -> str:
    kind = item.details["Question_Type"]
    if kind not in NATURAL_BENCH_INSTRUCTIONS:
        raise KeyError(f"Question_Type {kind!r}")
    return _first_of(text, *(("yes", "no") if kind == "yes_no" else ("A", "B")))


# Where NLTK's tokenizer, with which TUBench's authors split replies, separates words.
_NLTK_BOUNDARIES = re.compile(
    r"""[\s,;:?!()\[\]{}<>"“”‘’`@#$%&«»„*—]+|--+|\.{2,}|\.(?=[\s"')\]}>»”’]|$)|(?<!\w)'|'(?!\w)"""
)


def _read_tubench(item: SetItem, text: str) -> str:
    lower = text.lower().strip()
    if item.details["dataset"] in ("UCR", "UVQA"):
        words = _NLTK_BOUNDARIES.split(lower)
        return next((word for word in (UNANSWERABLE, "yes", "no") if word in words), UNKNOWN)
    letters = "abcd"
    for letter in letters:
        if any(
            sign in lower
            for sign in (f"{letter})", f"answer: {letter}", f"option {letter}", f"answer is {letter}")
        ):
            return letter.upper()
    if UNANSWERABLE in lower:
        return UNANSWERABLE
    if len(lower) in (1, 2) and lower[0] in letters and lower[1:] in ("", "."):
        return lower[0].upper()
    options = zip(letters, item.options.values(), strict=False)
    return next((letter.upper() for letter, option in options if option.lower() in lower), UNKNOWN)


def _read_cp_bench(item: SetItem, text: str) -> str | None:
    return None if text else "NA"


def _read_cp_bench_meaning(item: SetItem, text: str, abstains: bool) -> str:
    return "reject" if abstains else "accept"


def _read_tdiuc_meaning(item: SetItem, text: str, abstains: bool) -> str:
    return TDIUC_ABSURD_ANSWER if abstains else _short_answer(text)


# What a reply says by the authors' rule; None if the meaning of the reply decides.
_READERS: dict[str, Callable[[SetItem, str], str | None]] = {
    "POPE": _read_pope,
    "RePOPE": _read_pope,
    "MM-UPD": _read_mm_upd,
    "HallusionBench": _read_hallusion_bench,
    "NaturalBench": _read_natural_bench,
    "AMBER": _read_yes_no,
    "VizWiz": lambda item, text: text.strip(),
    "TDIUC": lambda item, text: TDIUC_ABSURD_ANSWER if _short_answer(text) == TDIUC_ABSURD_ANSWER else None,
    "TUBench": _read_tubench,
    "CP-Bench": _read_cp_bench,
    "UNK-VQA": lambda item, text: text.strip(),
    "VQA v2": lambda item, text: text.strip(),
    "GQA": lambda item, text: _short_answer(text),
    "RGQA": lambda item, text: _short_answer(text),
}
# Called for the replies that the rule leaves open, with whether the reply abstains.
_READERS_OF_MEANING: dict[str, Callable[[SetItem, str, bool], str]] = {
    "MM-UPD": _read_mm_upd_meaning,
    "HallusionBench": _read_hallusion_bench_meaning,
    "CP-Bench": _read_cp_bench_meaning,
    "TDIUC": _read_tdiuc_meaning,
}

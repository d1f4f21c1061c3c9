"""Scores of public sets as their authors define them.

The authors' scores need more than a `SetItem` has. The readers put these fields into `SetItem.details`, under the names that the
authors use. All values are strings.

| set | `details` | meaning |
|---|---|---|
| MM-UPD | `index` | index of the row; circular versions of a row have its index plus a multiple of 1,000,000 |
| | `type` | "standard" or "upd" |
| | `upd_type` | "aad", "iasd" or "ivqd" |
| | `question_type` | "base", "option", "inst" or "original"; which of the authors' prompts is used |
| | `answer` | the column `answer`: the letter that is right, also if the question is unsolvable ("F" where no option says so) |
| | `masked_answer` | the answer that was removed from the options; "" for none |
| HallusionBench | `category` | "VD" (visual dependent) or "VS" (visual supplement) |
| | `subcategory`, `set_id`, `figure_id`, `question_id` | together they identify an item; `figure_id` is "0" for the original figure or for no figure |
| NaturalBench | `Question_Type` | "yes_no" or "multiple_choice" |
| | `combination` | "q0_i0", "q0_i1", "q1_i0" or "q1_i1": question and image; the four items of a group share `pair_id` |
| AMBER | `type` | such as "discriminative-attribute-state", from annotations.json |
| VizWiz, VQA v2 | `answer_type` | such as "yes/no"; optional |
| TDIUC | `question_type` | such as "absurd" |
| TUBench | `dataset` | "UCR", "UVQA", "UGeoQA" or "UTabMWP" |
| | `strategy` | number of the strategy by which an unanswerable question was made, "0" for none; optional |
| CP-Bench | `tag` | "cpq" (counterfactual presupposition) or "tpq" (true presupposition) |
| GQA | `structural`, `semantic`, `global` | GQA's types and global group; optional |

POPE, RePOPE, UNK-VQA and RGQA need no details. `SetItem.group` is the part that the authors score separately: "random", "popular" or
"adversarial" of POPE and RePOPE.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from types import MappingProxyType

import numpy as np

from pipeline.core.errors import Problems, UserError, format_count, join_examples
from pipeline.public_sets.author_prompts import UNANSWERABLE, UNKNOWN, check_set_name, mm_upd_letters
from pipeline.public_sets.items import SetItem
from pipeline.scoring.answer_scores import vqa_accuracy
from pipeline.scoring.gqa_diagnostics import compute_gqa_diagnostics
from pipeline.scoring.normalize import (
    ARTICLES,
    NUMBER_WORDS,
    OFFICIAL_CONTRACTIONS,
    process_punctuation,
    to_single_line,
)
from pipeline.scoring.published_scripts import published_scores
from pipeline.scoring.realistic_vqa import answerability_ap, answerability_f1

# Fields of `SetItem.details` without which a set cannot be scored.
REQUIRED_DETAILS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "MM-UPD": ("index", "type", "upd_type", "question_type", "answer"),
        "HallusionBench": ("category", "subcategory", "set_id", "figure_id", "question_id"),
        "NaturalBench": ("Question_Type", "combination"),
        "AMBER": ("type",),
        "TDIUC": ("question_type",),
        "TUBench": ("dataset",),
        "CP-Bench": ("tag",),
    }
)
# Values of these fields that a set knows.
_KNOWN_VALUES: Mapping[tuple[str, str], tuple[str, ...]] = MappingProxyType(
    {
        ("MM-UPD", "type"): ("standard", "upd"),
        ("MM-UPD", "upd_type"): ("aad", "iasd", "ivqd"),
        ("MM-UPD", "question_type"): ("base", "option", "inst", "original"),
        ("HallusionBench", "category"): ("VD", "VS"),
        ("NaturalBench", "Question_Type"): ("yes_no", "multiple_choice"),
        ("NaturalBench", "combination"): ("q0_i0", "q0_i1", "q1_i0", "q1_i1"),
        ("TUBench", "dataset"): ("UCR", "UVQA", "UGeoQA", "UTabMWP"),
        ("CP-Bench", "tag"): ("cpq", "tpq"),
    }
)
# The value of a perfect score: 100 if the authors give percent, else 1.
PERFECT_SCORES: Mapping[str, int] = MappingProxyType(
    {
        "POPE": 1,
        "RePOPE": 1,
        "MM-UPD": 1,
        "HallusionBench": 100,
        "NaturalBench": 1,
        "AMBER": 100,
        "VizWiz": 100,
        "TDIUC": 100,
        "TUBench": 1,
        "CP-Bench": 1,
        "UNK-VQA": 1,
        "VQA v2": 100,
        "GQA": 100,
        "RGQA": 1,
    }
)
# The score that the authors put first, without the name of a group.
MAIN_SCORES: Mapping[str, str] = MappingProxyType(
    {
        "POPE": "f1",
        "RePOPE": "f1",
        "MM-UPD": "dual_accuracy",
        "HallusionBench": "qAcc",
        "NaturalBench": "G_Acc",
        "AMBER": "f1",
        "VizWiz": "accuracy",
        "TDIUC": "harmonic_mpt",
        "TUBench": "two_label_accuracy",
        "CP-Bench": "final_score",
        "VQA v2": "accuracy",
        "GQA": "accuracy",
        "RGQA": "auaf",
    }
)
Parsed = Sequence[str]
Confidence = Sequence[float] | None


def score_set(
    set_name: str, items: Sequence[SetItem], parsed: Parsed, *, confidence: Confidence = None
) -> dict[str, float]:
    """Compute the scores that a set's authors define.

    A name without "/" is a score of all items. "adversarial/f1" is the score "f1" of the part "adversarial". Scores are not rounded,
    except those of AMBER, whose script computes F1 from rounded numbers. A score that the authors' script cannot compute, because it
    would divide by zero, is NaN.

    Args:
        set_name: A name in `author_prompts.SET_NAMES`.
        items: [n] questions, with the details listed above.
        parsed: [n] readings of the replies, from `author_prompts.parse_replies`. Of HallusionBench, judgements of a language model
            ("correct", "incorrect", "unclear") are taken, too.
        confidence: [n] confidences in [0, 1] that the questions are answerable, for VizWiz and RGQA. None: of VizWiz, 0 where the
            answer is "unanswerable" and 1 elsewhere; of RGQA, the scores of the answers only.

    Returns:
        Score -> value. The value of a perfect score is in `PERFECT_SCORES`. Empty for UNK-VQA, whose authors publish no script.

    Raises:
        ValueError: There is no such set, or the numbers of items, readings and confidences differ.
        UserError: Items lack details, groups of NaturalBench are incomplete, or ids of HallusionBench occur twice.

    >>> items = [SetItem(str(i), "", "", answers=(answer,)) for i, answer in enumerate(["yes", "yes", "no", "no"])]
    >>> score_set("POPE", items, ["yes", "no", "yes", "no"])["f1"]
    0.5
    """
    check_set_name(set_name)
    if len(items) != len(parsed) or (confidence is not None and len(confidence) != len(items)):
        raise ValueError("the numbers of items, readings and confidences differ")
    check_details(set_name, items)
    if not items:
        return {}
    if set_name == "VizWiz":
        return score_vizwiz(items, parsed, confidence)
    return score_rgqa(items, parsed, confidence) if set_name == "RGQA" else _SCORERS[set_name](items, parsed)


def check_details(set_name: str, items: Sequence[SetItem]) -> None:
    """Check that items have the details that the prompts and scores of a set need.

    Raises:
        UserError: Details are missing, or have values that the set does not know.
    """
    problems = Problems(set_name)
    for name in REQUIRED_DETAILS.get(set_name, ()):
        known = _KNOWN_VALUES.get((set_name, name))
        faults = [
            item.id
            for item in items
            if name not in item.details
            or (known and item.details[name] not in known)
            or (name == "index" and not item.details[name].isdecimal())
        ]
        if faults:
            wanted = (
                f"one of {', '.join(known)}" if known else "a whole number" if name == "index" else "a text"
            )
            problems.add(
                f"`{name}`",
                f"missing or unknown in {format_count(len(faults), 'item')}: {join_examples(faults)}. Expected {wanted}.",
            )
    problems.raise_if_any()


def _divide(part: float, whole: float) -> float:
    return part / whole if whole else math.nan


def _by(keys: Iterable[str]) -> dict[str, list[int]]:
    """Return the places of each key, in the order in which the keys occur first."""
    places = defaultdict[str, list[int]](list)
    for place, key in enumerate(keys):
        places[key].append(place)
    return places


def _with_parts(
    score: Callable[[Sequence[SetItem], Parsed], dict[str, float]],
    items: Sequence[SetItem],
    parsed: Parsed,
    keys: Iterable[str],
) -> dict[str, float]:
    """Return the scores of all items, and of each part that is named, if there are several."""
    parts = {key: places for key, places in _by(keys).items() if key}
    scores = score(items, parsed)
    for key, places in sorted(parts.items()):
        if len(places) < len(items):
            of_part = score([items[place] for place in places], [parsed[place] for place in places])
            scores |= {f"{key}/{name}": value for name, value in of_part.items()}
    return scores


def score_pope(items: Sequence[SetItem], parsed: Parsed) -> dict[str, float]:
    """Score POPE or RePOPE: "yes" is the positive class, and every reading but "no" is a "yes".

    Source: AoiDragon/POPE f3ec604, evaluate.py. The script scores one file, which is a group here; the scores of all items are
    those of the files one after the other. RePOPE has the same form of labels and scores both sets with one function
    (YanNeu/RePOPE 127ad0f, src/evaluate.py).
    """
    return _with_parts(_score_pope, items, parsed, (item.group for item in items))


def _score_pope(items: Sequence[SetItem], parsed: Parsed) -> dict[str, float]:
    says_yes = np.array([value != "no" for value in parsed], bool)
    is_yes = np.array([item.answers[:1] != ("no",) for item in items], bool)
    hits = int((says_yes & is_yes).sum())
    precision, recall = _divide(hits, int(says_yes.sum())), _divide(hits, int(is_yes.sum()))
    return {
        "accuracy": float((says_yes == is_yes).mean()),
        "precision": precision,
        "recall": recall,
        "f1": _divide(2 * precision * recall, precision + recall),
        "yes_rate": float(says_yes.mean()),
    }


def score_mm_upd(items: Sequence[SetItem], parsed: Parsed) -> dict[str, float]:
    """Score MM-UPD: accuracy on standard and on unsolvable questions, and dual accuracy.

    A question is right if all its circular versions are (rows whose indices are equal modulo 1,000,000). An unsolvable question is
    right with the letter of the data, with a letter that the script adds for a refusal, or with the removed answer. Dual accuracy
    is the proportion of questions whose standard and unsolvable version are both right, among those that have both.

    The groups (`SetItem.group`) are never mixed. With one group, or none, the names have no prefix. In [0, 1].

    Source: AtsuMiyai/UPD 7426f5e, automatic_eval/calculate_scores.py, and 9ea469e, automatic_eval/utils/common_utils.py.
    Difference: an empty reply is wrong. The authors' table loses such a row, because an empty cell is read as missing.
    """
    groups = _by(item.group for item in items)
    scores = {}
    for group, places in sorted(groups.items()):
        of_group = _score_mm_upd_group(
            [items[place] for place in places], [parsed[place] for place in places]
        )
        prefix = f"{group}/" if len(groups) > 1 else ""
        scores |= {prefix + name: value for name, value in of_group.items()}
    return scores


def _score_mm_upd_group(items: Sequence[SetItem], parsed: Parsed) -> dict[str, float]:
    right = defaultdict[tuple[bool, int], list[bool]](list)
    main = set[tuple[bool, int]]()
    for item, value in zip(items, parsed, strict=True):
        index = int(item.details["index"])
        version = item.details["type"] != "standard", index % 1_000_000
        right[version].append(_is_mm_upd_hit(item, value))
        if index < 1_000_000:
            main.add(version)
    hits = {version: all(marks) for version, marks in right.items() if version in main}
    both = [
        hits[False, index] and hits[True, index]
        for is_upd, index in hits
        if not is_upd and (True, index) in hits
    ]
    standard, upd = ([hit for (is_upd, _), hit in hits.items() if is_upd is kind] for kind in (False, True))
    return {
        "standard_accuracy": _divide(sum(standard), len(standard)),
        "upd_accuracy": _divide(sum(upd), len(upd)),
        "dual_accuracy": _divide(sum(both), len(both)),
    }


def _is_mm_upd_hit(item: SetItem, letter: str) -> bool:
    right = item.details["answer"]
    # A letter that is read before the script adds letters of its own has to be the right one.
    read_first = letter in item.options or (letter == "F" and item.details["question_type"] == "inst")
    if item.details["type"] == "standard" or read_first:
        return letter == right
    added = mm_upd_letters(item)
    accepted = {added.removed_answer, *added.refusals} - {""}
    return letter in accepted or (letter == right and right != "F")


def score_hallusion_bench(items: Sequence[SetItem], parsed: Parsed) -> dict[str, float]:
    """Score HallusionBench: accuracy by question, figure and pair of questions, and the consistency test. In percent.

    - aAcc: proportion of right answers. Without a figure (VS, `figure_id` 0), "unknown" is right, too.
    - fAcc: proportion of figures with right answers only (the consistency test's "correct"); "inconsistent": right and wrong
      answers; "wrong": wrong answers only. `figure_score` is the mean proportion of right answers of a figure.
    - qAcc: proportion of questions that are answered rightly with each of their figures. easy_aAcc and hard_aAcc: the same for the
      original figure or no figure (`figure_id` 0), and for the other figures.

    "VD/..." and "VS/..." are the scores of a category.

    Source: tianyi-lab/HallusionBench 08e51de, utils.py, and 3733d9c, gpt4v_benchmark.py. The authors let GPT-4 judge replies;
    `author_prompts` reads them instead. The shares of language hallucination and visual illusion need GPT-4's judgement of whether
    two replies agree, and are not computed.
    """
    keys = [_hallusion_bench_key(item, "figure_id", "question_id") for item in items]
    if twice := [key for key, places in _by(keys).items() if len(places) > 1]:
        raise UserError(
            f"HallusionBench: {format_count(len(twice), 'question')} twice: {join_examples(twice)}. Each question of a figure has to"
            " occur once."
        )
    return _with_parts(_score_hallusion_bench, items, parsed, (item.details["category"] for item in items))


def _hallusion_bench_key(item: SetItem, *names: str) -> str:
    return "_".join(item.details[name] for name in ("category", "subcategory", "set_id", *names))


def _score_hallusion_bench(items: Sequence[SetItem], parsed: Parsed) -> dict[str, float]:
    is_original = [item.details["figure_id"] == "0" for item in items]
    has_no_figure = [
        original and item.details["category"] == "VS"
        for item, original in zip(items, is_original, strict=True)
    ]
    right = [
        value == "correct"
        or (value in ("yes", "no") and item.answers[:1] == (value,))
        or (no_figure and value in (UNKNOWN, "unclear"))
        for item, value, no_figure in zip(items, parsed, has_no_figure, strict=True)
    ]

    def rates(kept: Iterable[bool], name: str) -> np.ndarray:
        """Return the proportion of right answers of each figure or question."""
        marks = defaultdict[str, list[bool]](list)
        for item, keep, mark in zip(items, kept, right, strict=True):
            if keep:
                marks[_hallusion_bench_key(item, name)].append(mark)
        return np.array([sum(values) / len(values) for values in marks.values()])

    def percent(marks: np.ndarray) -> float:
        return 100 * float(marks.mean()) if len(marks) else math.nan

    figures = rates([not value for value in has_no_figure], "figure_id")
    return {
        "aAcc": percent(np.array(right)),
        "fAcc": percent(figures == 1),
        "qAcc": percent(rates([True] * len(items), "question_id") == 1),
        "easy_aAcc": percent(rates(is_original, "question_id") == 1),
        "hard_aAcc": percent(rates([not value for value in is_original], "question_id") == 1),
        "inconsistent": percent((figures > 0) & (figures < 1)),
        "wrong": percent(figures == 0),
        "figure_score": percent(figures),
    }


def score_natural_bench(items: Sequence[SetItem], parsed: Parsed) -> dict[str, float]:
    """Score NaturalBench. In [0, 1].

    A group has two images and two questions. By construction, question 0 has the answer "yes" (or "A") for image 0 and "no" (or
    "B") for image 1, and question 1 the other way round.

    - Acc: proportion of right answers.
    - Q_Acc: proportion of questions that are answered rightly for both images.
    - I_Acc: proportion of images for which both questions are answered rightly.
    - G_Acc: proportion of groups in which all four answers are right.

    Source: Baiqi-Li/NaturalBench 3717258, naturalbench_vqa.py, `get_scores`.
    """
    names = ("q0_i0", "q0_i1", "q1_i0", "q1_i1")
    groups = _by(item.pair_id for item in items)
    rows, faults = [], []
    for group, places in groups.items():
        said = {items[place].details["combination"]: parsed[place] for place in places}
        if len(places) != 4 or set(said) != set(names):
            faults.append(group)
            continue
        expected = ("yes", "A"), ("no", "B"), ("no", "B"), ("yes", "A")
        rows.append([said[name] in right for name, right in zip(names, expected, strict=True)])
    if faults:
        raise UserError(
            f"NaturalBench: {format_count(len(faults), 'group')} without exactly the items {', '.join(names)}:"
            f" {join_examples(faults)}. Score whole groups."
        )
    right = np.array(rows, bool).reshape(-1, 2, 2)  # group, question, image
    return {
        "Acc": float(right.mean()),
        "Q_Acc": float(right.all(axis=2).mean()),
        "I_Acc": float(right.all(axis=1).mean()),
        "G_Acc": float(right.all(axis=(1, 2)).mean()),
    }


# Dimensions of AMBER's discriminative part, with the types of the annotations; "relation" has all other types.
AMBER_DIMENSIONS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "existence": ("discriminative-hallucination",),
        "attribute": (
            "discriminative-attribute-state",
            "discriminative-attribute-number",
            "discriminative-attribute-action",
        ),
        "state": ("discriminative-attribute-state",),
        "number": ("discriminative-attribute-number",),
        "action": ("discriminative-attribute-action",),
    }
)


def score_amber(items: Sequence[SetItem], parsed: Parsed) -> dict[str, float]:
    """Score AMBER's discriminative part: accuracy, and precision, recall and F1 of the answer "no". In percent.

    The script rounds to one decimal, computes F1 from the rounded precision and recall, adds 0.001 to each number of items (three
    times for "attribute"), and adds 0.0001 (for "existence" 0.001) to the denominator of F1. So do these scores.

    Source: junyangwang0410/AMBER 5e1fd52, inference.py and data/metrics.txt.
    """
    parts = dict(AMBER_DIMENSIONS)
    known = {kind for kinds in parts.values() for kind in kinds}
    parts["relation"] = tuple({item.details["type"] for item in items} - known)
    scores = _score_amber(items, parsed, 1, 0.0001)
    for name, kinds in parts.items():
        places = [place for place, item in enumerate(items) if item.details["type"] in kinds]
        if places:
            of_part = _score_amber(
                [items[place] for place in places],
                [parsed[place] for place in places],
                3 if name == "attribute" else 1,
                0.001 if name == "existence" else 0.0001,
            )
            scores |= {f"{name}/{score}": value for score, value in of_part.items()}
    return scores


def _score_amber(
    items: Sequence[SetItem], parsed: Parsed, counters: int, f1_offset: float
) -> dict[str, float]:
    right = hits = nos = said_nos = 0
    for item, value in zip(items, parsed, strict=True):
        is_no = item.answers[:1] != ("yes",)
        right += value == ("no" if is_no else "yes")
        hits += is_no and value == "no"
        nos += is_no
        said_nos += value == "no"

    # The script's counters start at 0.001 and are added up one by one.
    def percent(part: int, whole: int) -> float:
        return round(part / (whole + 0.001 * counters) * 100, 1)

    precision, recall = percent(hits, said_nos), percent(hits, nos)
    f1 = round(
        2 * (precision / 100) * (recall / 100) / ((precision / 100) + (recall / 100) + f1_offset) * 100, 1
    )
    return {"accuracy": percent(right, len(items)), "precision": precision, "recall": recall, "f1": f1}


# Contractions that VizWiz's table writes with a straight apostrophe. In all others the apostrophe is typographic, so that an answer
# that is restored from such a contraction does not equal a human answer with a straight one.
_VIZWIZ_STRAIGHT = frozenset(
    ("ain't", "aren't", "can't", "could've", "couldn't", "we've", "where's", "who've")
)
_VIZWIZ_STRAIGHT_KEYS = frozenset(("couldn'tve", "hadn'tve"))
_VIZWIZ_CONTRACTIONS = {
    (key if key in _VIZWIZ_STRAIGHT_KEYS else key.replace("'", "’")): (
        full if full in _VIZWIZ_STRAIGHT else full.replace("'", "’")
    )
    for key, full in OFFICIAL_CONTRACTIONS.items()
}


@lru_cache(maxsize=1 << 20)
def normalize_vizwiz_answer(answer: str) -> str:
    """Normalize a predicted answer as VizWiz's script does.

    It is VQA's normalization with typographic apostrophes in most contractions. The script is the one of vizwiz.org (Qing Li), read
    in AttentionX/InstructBLIP_PEFT 8b0d453, lavis/common/vqa_tools/vqa_eval_vizwiz.py.

    >>> normalize_vizwiz_answer("The two cans."), normalize_vizwiz_answer("dont"), normalize_vizwiz_answer("cant")
    ('2 cans', 'don’t', "can't")
    """
    words = (
        NUMBER_WORDS.get(word, word) for word in process_punctuation(to_single_line(answer)).lower().split()
    )
    return " ".join(_VIZWIZ_CONTRACTIONS.get(word, word) for word in words if word not in ARTICLES)


def score_vizwiz(items: Sequence[SetItem], parsed: Parsed, confidence: Confidence = None) -> dict[str, float]:
    """Score VizWiz: accuracy of the answers, and average precision and F1 of finding unanswerable questions. In percent.

    An answer has the accuracy min(matches / 3, 1), averaged over all subsets of the human answers that omit one. The prediction is
    normalized, the human answers are not. A question counts as found if 1 - confidence > 0.5.

    Source: vizwiz.org's script (Qing Li), read in AttentionX/InstructBLIP_PEFT 8b0d453, lavis/common/vqa_tools/vqa_eval_vizwiz.py.
    Its scores of captions (BLEU, METEOR, ROUGE, CIDEr) are not computed.
    """
    scores = {}
    said = [normalize_vizwiz_answer(text) for text in parsed]
    answered = [place for place, item in enumerate(items) if item.answers]
    if answered:
        accuracy = np.array(
            [_leave_one_out_accuracy(said[place], items[place].answers) for place in answered]
        )
        kinds = (items[place].details.get("answer_type", "") for place in answered)
        scores |= _mean_by(accuracy, kinds)
    labelled = [place for place, item in enumerate(items) if item.is_answerable is not None]
    if labelled:
        if confidence is None:
            confidence = [float(text != UNANSWERABLE) for text in said]
        answerable = [bool(items[place].is_answerable) for place in labelled]
        sure = [confidence[place] for place in labelled]
        scores["average_precision"] = 100 * answerability_ap(sure, answerable)
        scores["f1"] = 100 * answerability_f1(sure, answerable)
    return scores


def _leave_one_out_accuracy(said: str, answers: Sequence[str]) -> float:
    matches = sum(said == answer for answer in answers)
    others = len(answers) - matches
    return (matches * min(1, (matches - 1) / 3) + others * min(1, matches / 3)) / len(answers)


def _mean_by(accuracy: np.ndarray, kinds: Iterable[str]) -> dict[str, float]:
    """Return the mean accuracy of all items and of each kind, in percent."""
    scores = {"accuracy": 100 * float(accuracy.mean())}
    for kind, places in sorted(_by(kinds).items()):
        if kind:
            scores[f"{kind}/accuracy"] = 100 * float(accuracy[places].mean())
    return scores


def score_tdiuc(items: Sequence[SetItem], parsed: Parsed) -> dict[str, float]:
    """Score TDIUC: arithmetic and harmonic mean of the accuracies by type of question. In percent.

    The normalized scores (`nmpt`) average over the different right answers within a type first. The script adds 1e-10 to the
    accuracy of a type in the means, so that a harmonic mean with a type at 0 is near 0.

    Source: the script of TDIUC's download page, read in bupt-cist/vqa-playground-pytorch 877a443, tdiuc_evaluate.py. The script
    counts right answers that are not in a model's list of answers as wrong; a model that writes text has no such list.
    """
    right = np.array([item.answers[:1] == (value,) for item, value in zip(items, parsed, strict=True)], bool)
    plain, normalized = {}, {}
    for kind, places in sorted(_by(item.details["question_type"] for item in items).items()):
        plain[kind] = 100 * float(right[places].mean())
        answers = _by((items[place].answers or ("",))[0] for place in places)
        normalized[kind] = 100 * float(
            np.mean([right[[places[at] for at in within]].mean() for within in answers.values()])
        )
    scores = {"accuracy": 100 * float(right.mean())}
    for name, rates in (("mpt", plain), ("nmpt", normalized)):
        values = np.array([*rates.values()]) + 1e-10
        scores[f"arithmetic_{name}"] = float(values.mean())
        scores[f"harmonic_{name}"] = float(len(values) / (1 / values).sum())
    for kind, value in plain.items():
        scores |= {f"{kind}/accuracy": value, f"{kind}/normalized_accuracy": normalized[kind]}
    return scores


def score_tubench(items: Sequence[SetItem], parsed: Parsed) -> dict[str, float]:
    """Score each part of TUBench. In [0, 1].

    - two_label_accuracy: proportion of questions that are rightly answered or rightly called unanswerable, whatever the answer.
    - total_accuracy: proportion of right labels, with "unanswerable" as a label.
    - unanswerable_accuracy, answerable_accuracy: proportion of unanswerable questions that are called so, and of answerable
      questions with the right answer. answerable_two_label_accuracy: proportion of answerable questions with any answer.
    - failed: proportion of replies in which nothing was found. They count as "yes", or as the first option.
    - precision, recall, f1: of the label "unanswerable". macro_...: mean over all labels (three of UCR and UVQA, five of UGeoQA).
    - "strategy 1/...": the same accuracies and F1 for the questions of a strategy.

    The parts are never mixed. With one part the names have no prefix.

    Source: NLPCode/TUBench e0e8d8c, evaluations/evaluate.py, evaluate_UGeoQA.py and evaluate_UTabMWP.py. UTabMWP's scores by type of
    question are not computed.
    """
    parts = _by(item.details["dataset"] for item in items)
    scores = {}
    for part, places in sorted(parts.items()):
        of_part = _score_tubench_part(
            part, [items[place] for place in places], [parsed[place] for place in places]
        )
        prefix = f"{part}/" if len(parts) > 1 else ""
        scores |= {prefix + name: value for name, value in of_part.items()}
    return scores


def _score_tubench_part(part: str, items: Sequence[SetItem], parsed: Parsed) -> dict[str, float]:
    labels = ("yes", "no", UNANSWERABLE) if part in ("UCR", "UVQA") else ("A", "B", "C", "D", UNANSWERABLE)
    truth = [item.answers[0] if item.answers else UNANSWERABLE for item in items]
    said = [value if value in labels else labels[0] for value in parsed]
    scores = _tubench_accuracies(truth, said)
    scores["failed"] = sum(value not in labels for value in parsed) / len(items)
    by_label = np.array([_precision_recall_f1(truth, said, label) for label in labels])
    names = ("precision", "recall", "f1")
    scores |= dict(zip(names, by_label[-1].tolist(), strict=True))
    if part != "UTabMWP":
        scores |= {
            f"macro_{name}": float(value) for name, value in zip(names, by_label.mean(axis=0), strict=True)
        }
    for strategy, places in sorted(_by(item.details.get("strategy", "0") for item in items).items()):
        if strategy not in ("", "0"):
            kept = [truth[place] for place in places], [said[place] for place in places]
            of_strategy = _tubench_accuracies(*kept) | {"f1": _precision_recall_f1(*kept, UNANSWERABLE)[2]}
            scores |= {f"strategy {strategy}/{name}": value for name, value in of_strategy.items()}
    return scores


def _tubench_accuracies(truth: Sequence[str], said: Sequence[str]) -> dict[str, float]:
    right = [one == other for one, other in zip(truth, said, strict=True)]
    both = [(one == UNANSWERABLE) == (other == UNANSWERABLE) for one, other in zip(truth, said, strict=True)]
    answerable = [place for place, label in enumerate(truth) if label != UNANSWERABLE]
    unanswerable = [place for place, label in enumerate(truth) if label == UNANSWERABLE]
    return {
        "two_label_accuracy": sum(both) / len(truth),
        "total_accuracy": sum(right) / len(truth),
        "unanswerable_accuracy": _divide(sum(right[place] for place in unanswerable), len(unanswerable)),
        "answerable_two_label_accuracy": _divide(sum(both[place] for place in answerable), len(answerable)),
        "answerable_accuracy": _divide(sum(right[place] for place in answerable), len(answerable)),
    }


def _precision_recall_f1(truth: Sequence[str], said: Sequence[str], label: str) -> tuple[float, float, float]:
    """Return precision, recall and F1 of a label; 0 where the authors' script sets 0."""
    hits = sum(one == other == label for one, other in zip(truth, said, strict=True))
    found, there = sum(value == label for value in said), sum(value == label for value in truth)
    precision, recall = hits / found if found else 0.0, hits / there if there else 0.0
    return precision, recall, 2 * precision * recall / (precision + recall) if hits else 0.0


def score_cp_bench(items: Sequence[SetItem], parsed: Parsed) -> dict[str, float]:
    """Score CP-Bench. In [0, 1].

    - cpq_reject_rate: proportion of questions with a counterfactual presupposition that are rejected.
    - tpq_accept_rate: proportion of questions with a true presupposition that are accepted.
    - accuracy: proportion of questions of both kinds that are rightly rejected or accepted.
    - final_score: 0.6 cpq_reject_rate + 0.2 tpq_accept_rate + 0.2 accuracy.

    Source: Wu0409/Antidote d0ff5c4, benchmark/eval.py. The authors let Qwen-2.5-72B judge whether a reply rejects
    (benchmark/judge.py); `author_prompts` uses the abstention classifier.
    """
    wanted = {"cpq": "reject", "tpq": "accept"}
    right = [wanted.get(item.details["tag"]) == value for item, value in zip(items, parsed, strict=True)]
    places = {
        tag: [place for place, item in enumerate(items) if item.details["tag"] == tag] for tag in wanted
    }
    rejects, accepts = (_divide(sum(right[place] for place in kept), len(kept)) for kept in places.values())
    accuracy = sum(right) / len(items)
    return {
        "accuracy": accuracy,
        "cpq_reject_rate": rejects,
        "tpq_accept_rate": accepts,
        "final_score": 0.6 * rejects + 0.2 * accepts + 0.2 * accuracy,
    }


def score_vqa_v2(items: Sequence[SetItem], parsed: Parsed) -> dict[str, float]:
    """Score VQA v2: VQA accuracy of all questions and by type of answer. In percent.

    Source: GT-Vision-Lab/VQA a013f00, vqaEval.py; see `answer_scores.vqa_accuracy`. The accuracies by type of question are not
    computed.
    """
    answered = [(item, text) for item, text in zip(items, parsed, strict=True) if item.answers]
    if not answered:
        return {}
    accuracy = vqa_accuracy([text for _, text in answered], [list(item.answers) for item, _ in answered])
    return _mean_by(accuracy, (item.details.get("answer_type", "") for item, _ in answered))


def score_gqa(items: Sequence[SetItem], parsed: Parsed) -> dict[str, float]:
    """Score GQA: accuracy of all, of binary and of open questions, by type, and the distribution score. In percent.

    An answer is right if it equals the answer exactly. The distribution score (chi-square, lower is better) is the script's, which
    divides by 100 and is not a percentage.

    Source: GQA's eval.py; see `gqa_diagnostics.compute_gqa_diagnostics`, which also has the scores that need other files.
    """
    questions = {
        str(place): {
            "answer": (item.answers or ("",))[0],
            "types": {
                name: item.details[name] for name in ("structural", "semantic") if name in item.details
            },
            "groups": {"global": item.details.get("global")},
        }
        for place, item in enumerate(items)
    }
    found = compute_gqa_diagnostics(questions, {str(place): value for place, value in enumerate(parsed)})
    names = ["accuracy"]
    names += ["binary", "open"] if any("structural" in item.details for item in items) else []
    scores = {name: 100 * found[name]["value"] for name in names if "value" in found[name]}
    for name in ("structural", "semantic"):
        if any(name in item.details for item in items):
            scores |= {
                f"{kind}/accuracy": 100 * of_kind["value"] for kind, of_kind in found[f"by_{name}"].items()
            }
    if "value" in found["distribution"]:
        scores["distribution"] = found["distribution"]["value"]
    return scores


def score_rgqa(items: Sequence[SetItem], parsed: Parsed, confidence: Confidence = None) -> dict[str, float]:
    """Score RGQA with the authors' thirteen scores; without confidences, or without AQs or UQs, only FACC. In [0, 1].

    Source: chihhuiho/RGQA 737af30; see `published_scripts.published_scores`.
    """
    answerable = [bool(item.is_answerable) for item in items]
    right = [
        value == item.answers[0] if item.answers else value.upper() == "UQ"
        for item, value in zip(items, parsed, strict=True)
    ]
    if confidence is None or len(set(answerable)) < 2:
        of_aqs = [one for one, has_answer in zip(right, answerable, strict=True) if has_answer]
        return {"facc": _divide(sum(of_aqs), len(of_aqs))}
    return published_scores(list(confidence), right, answerable)


_SCORERS: dict[str, Callable[[Sequence[SetItem], Parsed], dict[str, float]]] = {
    "POPE": score_pope,
    "RePOPE": score_pope,
    "MM-UPD": score_mm_upd,
    "HallusionBench": score_hallusion_bench,
    "NaturalBench": score_natural_bench,
    "AMBER": score_amber,
    "TDIUC": score_tdiuc,
    "TUBench": score_tubench,
    "CP-Bench": score_cp_bench,
    "UNK-VQA": lambda items, parsed: {},
    "VQA v2": score_vqa_v2,
    "GQA": score_gqa,
}

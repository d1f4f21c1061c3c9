"""What others' published scripts compute, written again from their public definitions: slow, plain, quirks kept.

The oracles of tests/scoring/test_published_scripts.py. Each says which repository and commit it follows; nothing of
`pipeline` is used here, so that a fault of ours cannot hide in both.
"""

import re

import numpy as np
from sklearn.metrics import auc, f1_score, precision_recall_curve, roc_curve

# GT-Vision-Lab/VQA, PythonEvaluationTools/vqaEvaluation/vqaEval.py. The form of 2021 was read in a fork that has it
# (st7ma784/VQA 7f14984), the older one in c4e6a0e; the tables are the same in both.
NUMBER_WORDS = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"]
DIGITS = {word: str(value) for value, word in enumerate(NUMBER_WORDS)} | {"none": "0"}
MARKS = [*';/[]"{}()=+\\_-><@`,?!']
APOSTROPHES = dict(
    pair.split(":")
    for pair in [
        "aint:ain't",
        "arent:aren't",
        "cant:can't",
        "couldve:could've",
        "couldnt:couldn't",
        "couldn'tve:couldn't've",
        "couldnt've:couldn't've",
        "didnt:didn't",
        "doesnt:doesn't",
        "dont:don't",
        "hadnt:hadn't",
        "hadnt've:hadn't've",
        "hadn'tve:hadn't've",
        "hasnt:hasn't",
        "havent:haven't",
        "hed:he'd",
        "hed've:he'd've",
        "he'dve:he'd've",
        "hes:he's",
        "howd:how'd",
        "howll:how'll",
        "hows:how's",
        "Id've:I'd've",
        "I'dve:I'd've",
        "Im:I'm",
        "Ive:I've",
        "isnt:isn't",
        "itd:it'd",
        "itd've:it'd've",
        "it'dve:it'd've",
        "itll:it'll",
        "let's:let's",
        "maam:ma'am",
        "mightnt:mightn't",
        "mightnt've:mightn't've",
        "mightn'tve:mightn't've",
        "mightve:might've",
        "mustnt:mustn't",
        "mustve:must've",
        "neednt:needn't",
        "notve:not've",
        "oclock:o'clock",
        "oughtnt:oughtn't",
        "ow's'at:'ow's'at",
        "'ows'at:'ow's'at",
        "'ow'sat:'ow's'at",
        "shant:shan't",
        "shed've:she'd've",
        "she'dve:she'd've",
        "she's:she's",
        "shouldve:should've",
        "shouldnt:shouldn't",
        "shouldnt've:shouldn't've",
        "shouldn'tve:shouldn't've",
        "somebody'd:somebodyd",
        "somebodyd've:somebody'd've",
        "somebody'dve:somebody'd've",
        "somebodyll:somebody'll",
        "somebodys:somebody's",
        "someoned:someone'd",
        "someoned've:someone'd've",
        "someone'dve:someone'd've",
        "someonell:someone'll",
        "someones:someone's",
        "somethingd:something'd",
        "somethingd've:something'd've",
        "something'dve:something'd've",
        "somethingll:something'll",
        "thats:that's",
        "thered:there'd",
        "thered've:there'd've",
        "there'dve:there'd've",
        "therere:there're",
        "theres:there's",
        "theyd:they'd",
        "theyd've:they'd've",
        "they'dve:they'd've",
        "theyll:they'll",
        "theyre:they're",
        "theyve:they've",
        "twas:'twas",
        "wasnt:wasn't",
        "wed've:we'd've",
        "we'dve:we'd've",
        "weve:we've",
        "werent:weren't",
        "whatll:what'll",
        "whatre:what're",
        "whats:what's",
        "whatve:what've",
        "whens:when's",
        "whered:where'd",
        "wheres:where's",
        "whereve:where've",
        "whod:who'd",
        "whod've:who'd've",
        "who'dve:who'd've",
        "wholl:who'll",
        "whos:who's",
        "whove:who've",
        "whyll:why'll",
        "whyre:why're",
        "whys:why's",
        "wont:won't",
        "wouldve:would've",
        "wouldnt:wouldn't",
        "wouldnt've:wouldn't've",
        "wouldn'tve:wouldn't've",
        "yall:y'all",
        "yall'll:y'all'll",
        "y'allll:y'all'll",
        "yall'd've:y'all'd've",
        "y'alld've:y'all'd've",
        "y'all'dve:y'all'd've",
        "youd:you'd",
        "youd've:you'd've",
        "you'dve:you'd've",
        "youll:you'll",
        "youre:you're",
        "youve:you've",
    ]
)


def vqa_punctuation(text):
    """`processPunctuation`. `re.UNICODE`, which is 32, stands where `sub` takes its count."""
    comma_in_number = re.search(r"\d,\d", text) is not None
    result = text
    for mark in MARKS:
        beside_space = f"{mark} " in text or f" {mark}" in text
        result = result.replace(mark, "" if beside_space or comma_in_number else " ")
    return re.sub(r"(?!<=\d)(\.)(?!\d)", "", result, count=32)


def vqa_digits_articles(text):
    """`processDigitArticle`."""
    words = [DIGITS.get(word, word) for word in text.lower().split()]
    return " ".join(APOSTROPHES.get(word, word) for word in words if word not in ("a", "an", "the"))


def vqa_cleaned(text):
    return text.replace("\n", " ").replace("\t", " ").strip()


def leave_one_out(said, people):
    """Mean over the people of min(others who agree / 3, 1)."""
    scores = []
    for left_out in range(len(people)):
        agreeing = [i for i, text in enumerate(people) if i != left_out and text == said]
        scores.append(min(1, len(agreeing) / 3))
    return sum(scores) / len(scores)


def vqa_accuracy_master(said, people):
    """VQAEval.evaluate of a013f00 (March 2021), the repository's master: where people disagree, prediction and
    people's answers are normalised; where they agree, neither is."""
    said, people = vqa_cleaned(said), [vqa_cleaned(text) for text in people]
    if len(set(people)) > 1:
        said = vqa_digits_articles(vqa_punctuation(said))
        people = [vqa_digits_articles(vqa_punctuation(text)) for text in people]
    return leave_one_out(said, people)


def vqa_accuracy_2017(said, people):
    """VQAEval.evaluate of a4f1afd: the prediction is always normalised, people's answers lose their punctuation
    where they disagree."""
    said = vqa_digits_articles(vqa_punctuation(vqa_cleaned(said)))
    if len(set(people)) > 1:
        people = [vqa_punctuation(text) for text in people]
    return leave_one_out(said, people)


def rgqa(rows):
    """chihhuiho/RGQA 737af30, compute_accfpr: the script's thirteen numbers.

    Args:
        rows: (confidence, prediction, label), the label "UQ" for an unanswerable question.
    """
    confidence = np.array([row[0] for row in rows], float)
    said, labels = np.array([row[1] for row in rows]), np.array([row[2] for row in rows])
    answerable, right = labels != "UQ", said == labels
    # accfpr_curve: counts at each distinct confidence; points amid equal steps dropped; from (0, 0) on.
    thresholds = np.unique(confidence)[::-1]
    false = np.array([(~answerable & (confidence >= t)).sum() for t in thresholds], float)
    true = np.array([(answerable & right & (confidence >= t)).sum() for t in thresholds], float)
    if len(false) > 2:
        corner = np.r_[True, np.logical_or(np.diff(false, 2), np.diff(true, 2)), True]
        false, true = false[corner], true[corner]
    fpr, acc = np.r_[0, false] / false[-1], np.r_[0, true] / answerable.sum()
    target = acc[-1] * 0.95
    numbers = {
        "auaf": auc(fpr, acc),
        "ff95": min(fpr) if all(acc >= target) else np.interp(target, acc, fpr),
        "facc": acc[-1],
        "accuracy_indomain": right[answerable].mean(),
    }
    accepted = confidence > 0.5
    if accepted.all():
        return numbers
    fpr, tpr, _ = roc_curve(answerable, confidence)
    precision, recall, _ = precision_recall_curve(answerable, confidence)
    out_precision, out_recall, _ = precision_recall_curve(~answerable, -confidence)
    share = answerable.mean()
    return numbers | {
        "fpr95": np.interp(0.95, tpr, fpr),
        "fpr81.4": np.interp(0.814, tpr, fpr),
        "auroc": auc(fpr, tpr),
        "aupr_in": auc(recall, precision),
        "aupr_out": auc(out_recall, out_precision),
        "detection_error": min(
            share * (1 - t) + (1 - share) * f for f, t in zip(fpr, tpr, strict=True) if t >= 0.95
        ),
        "accuracy_accept": right[accepted].mean() if accepted.any() else 0.0,
        "accuracy": right.mean(),
        "f1": f1_score(answerable, accepted, zero_division=0),
    }


def reliable_vqa(test, dev, risks, costs):
    """facebookresearch/reliable_vqa d9586af, eval_scripts/reliable_vqa_eval.py, but for its rounding of what it
    prints: accuracies of items are rounded to 4 decimals there before thresholds for costs are chosen and before the
    sort by accuracy, risks are not.

    Args:
        test, dev: (confidence, accuracy) of each item.

    Returns:
        accuracy, auc, best_auc, [best_]coverage@risk, threshold@risk, phi@cost, phi_threshold@cost, best_phi@cost.
    """
    rows = [(confidence, round(100 * accuracy, 2), 1 - accuracy) for confidence, accuracy in test]
    numbers = {"accuracy": sum(accuracy for _, accuracy in test) / len(test)}
    for best in (True, False):  # sorted by accuracy first, then, stably, by confidence: ties break best-first
        rows.sort(key=lambda row: -row[1] if best else -row[0])
        risk = np.cumsum([row[2] for row in rows]) / np.arange(1, len(rows) + 1)
        numbers["best_auc" if best else "auc"] = auc(np.arange(1, len(rows) + 1) / len(rows), risk)
        for tolerance in risks:
            coverage, threshold = _coverage(rows, risk, tolerance)
            if best:
                numbers[f"best_coverage@{tolerance}"] = coverage
            else:
                numbers |= {f"coverage@{tolerance}": coverage, f"threshold@{tolerance}": threshold}
    for cost in costs:
        earned = sorted(((c, round(100 * a, 2) / 100) for c, a in dev), key=lambda row: -row[0])
        totals = np.array([sum(a if a else -cost for _, a in earned[: i + 1]) for i in range(len(earned))])
        threshold = earned[np.flatnonzero(totals == totals.max())[-1]][0]
        phi = sum((a / 100 if a else -cost) for c, a, _ in rows if c >= threshold) / len(rows)
        best_phi = sum(a / 100 for _, a, _ in rows) / len(rows)
        numbers |= {f"phi@{cost}": phi, f"phi_threshold@{cost}": threshold, f"best_phi@{cost}": best_phi}
    return numbers


def _coverage(rows, risk, tolerance):
    """`computeCatR`: from the last item backwards to the first whose risk is within, then out of a tie."""
    index = len(rows) - 1
    while index >= 0 and risk[index] > tolerance:
        index -= 1

    def tied(i):
        return i + 1 < len(rows) and rows[i][0] == rows[i + 1][0]

    if index > -1 and tied(index):
        while index > -1 and (tied(index) or risk[index] > tolerance):
            index -= 1
    return ((index + 1) / len(rows), rows[index][0]) if index > -1 else (0.0, 0.0)


def gqa(questions, predictions, choices=None, scenes=None, attention=None, size=0):
    """GQA's eval.py, which its download page offers without a commit, as two public copies of it have it: shares, not percent, and
    distribution as it is printed.

    Args:
        attention: question id -> [size][size] weights, the first index x.
    """
    scores = {
        name: []
        for name in ("accuracy", "binary", "open", "validity", "plausibility", "consistency", "grounding")
    }
    gold, told = {}, {}
    for name, question in questions.items():
        if not question["isBalanced"]:
            continue
        right = predictions[name] == question["answer"]
        scores["accuracy"].append(right)
        scores["open" if question["types"]["structural"] == "query" else "binary"].append(right)
        if choices is not None:
            common = "Common" in question["types"]["detailed"]
            for score, key in (("validity", "valid"), ("plausibility", "plausible")):
                allowed = ["color", "material", "shape"] if common else choices[name][key]
                scores[score].append(predictions[name] in allowed)
        if attention is not None:
            scores["grounding"].append(
                _gqa_grounding(question, scenes[question["imageId"]], attention[name], size)
            )
        group = question["groups"]["global"]
        if group is not None:
            for counts, answer in ((gold, question["answer"]), (told, predictions[name])):
                counts.setdefault(group, {}).setdefault(answer, 0)
                counts[group][answer] += 1
        entailed = [other for other in question["entailed"] if other != name]
        if right and entailed:
            scores["consistency"].append(
                sum(predictions[other] == questions[other]["answer"] for other in entailed) / len(entailed)
            )
    weighted = total = 0
    for group, counts in gold.items():
        chi_square = sum((told[group].get(answer, 0) - n) ** 2 / n for answer, n in counts.items())
        weighted, total = weighted + chi_square * sum(counts.values()), total + sum(counts.values())
    means = {name: sum(values) / len(values) if values else 0 for name, values in scores.items()}
    return means | ({"distribution": weighted / total / 100} if total else {})


def _gqa_grounding(question, scene, attention, size):
    """Summed over regions and cells: the cell's attention times the share of the cell that lies in the region. The
    script looks for "scene" among the *keys* of a step of the program, where it never is: no region is the whole
    image."""
    pointers = [
        *question["annotations"]["question"].values(),
        *question["annotations"]["fullAnswer"].values(),
    ]
    total = 0.0
    for pointer in pointers:
        box, width, height = scene["objects"][pointer], scene["width"], scene["height"]
        left, right = box["x"] / width, (box["x"] + box["w"]) / width
        top, bottom = box["y"] / height, (box["y"] + box["h"]) / height
        for i in range(size):
            for j in range(size):
                wide = min(right, (i + 1) / size) - max(left, i / size)
                high = min(bottom, (j + 1) / size) - max(top, j / size)
                if wide > 0 and high > 0:
                    total += attention[i][j] * wide * high * size * size
    return total

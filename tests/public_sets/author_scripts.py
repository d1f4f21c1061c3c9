"""What the scripts of other authors' sets compute, written again: slow, plain, loop by loop, quirks kept.

The oracles of test_author_scores.py and test_author_prompts.py. Each says which repository and commit it follows. Rows are dicts, as in
the authors' files; nothing of `pipeline` is used, so that a fault of ours cannot hide in both.
"""

import re
import statistics

from sklearn.metrics import average_precision_score, f1_score

from tests.scoring.published import APOSTROPHES, DIGITS, MARKS


def pope_reading(text):
    """AoiDragon/POPE f3ec604, evaluate.py."""
    if "." in text:
        text = text.split(".")[0]
    words = text.replace(",", "").split(" ")
    return "no" if "No" in words or "not" in words or "no" in words else "yes"


def pope(rows):
    """AoiDragon/POPE f3ec604, evaluate.py. Rows: said ("yes" or "no"), label."""
    tp = tn = fp = fn = yes = 0
    for row in rows:
        said, label = row["said"] != "no", row["label"] != "no"
        yes += said
        if said and label:
            tp += 1
        elif said:
            fp += 1
        elif label:
            fn += 1
        else:
            tn += 1
    precision, recall = tp / (tp + fp), tp / (tp + fn)
    return {
        "accuracy": (tp + tn) / (tp + tn + fp + fn),
        "precision": precision,
        "recall": recall,
        "f1": 2 * precision * recall / (precision + recall),
        "yes_rate": yes / len(rows),
    }


def upd_letter(answer, valid):
    """The letter that a text names. AtsuMiyai/UPD 7426f5e, automatic_eval/calculate_scores.py, can_infer_option."""
    answer = answer.strip()
    candidates = []
    for letter in "ABCDEFG":
        if letter not in valid:
            continue
        combinations = [other + mark for other in "ABCDEFG" if other != letter for mark in [".", ")", ","]]
        begins = any(
            answer.startswith(sign) for sign in [letter + ")", letter + ".", letter + ",", f"({letter})"]
        )
        if answer == letter or (begins and all(sign not in answer for sign in combinations)):
            candidates.append(letter)
    return candidates[0] if len(candidates) == 1 else None


def upd_letters(row):
    """The letters that can be matched, and those that are right of an unsolvable question. The same file, build_option_str_w_gt."""
    valid, right = list(row["options"]), []
    free = [letter for letter in ["C", "D", "E", "F"] if letter not in valid]
    if row["type"] == "upd" and row["upd_type"] in ("aad", "iasd"):
        removed = free[0]
        after = {"C": "D", "D": "E", "E": "F", "F": "G"}[removed]
        if row["question_type"] == "inst" and row["upd_type"] == "iasd" and removed == "E":
            return [*valid, "E", "F", "G"], ["E", "F", "G"]
        valid += [removed, after]
        right = [removed, after]
        if row["question_type"] == "inst":
            valid.append("F")
            right.append("F")
    else:
        valid.append(free[0])
        if row["type"] == "upd":
            right = [free[0]]
        if row["question_type"] == "inst":
            valid.append("F")
            if row["type"] == "upd":
                right.append("F")
    return valid, right


def upd_first_letter(row):
    """The letter that a reply names before other letters are added. The same file, prefetch_answer."""
    return upd_letter(row["reply"], [*row["options"], *(["F"] if row["question_type"] == "inst" else [])])


def upd_circular_hit(rows):
    """Whether all circular versions of a question are right. The same file, eval_sub_data.

    Rows: index, type, upd_type, question_type, options, answer, reply, and matched: the letter that the language model finds.
    """
    found = []
    for row in rows:
        letter = upd_first_letter(row)
        found.append(letter)
        if letter and letter != row["answer"]:
            return 0
    for row, letter in zip(rows, found, strict=True):
        if letter:
            continue
        valid, right = upd_letters(row)
        letter = upd_letter(row["reply"], valid) or row["matched"]
        if row["type"] == "standard":
            if letter != row["answer"]:
                return 0
        elif row["answer"] == "F":
            if letter not in right:
                return 0
        elif letter != row["answer"] and letter not in right:
            return 0
    return 1


def upd(rows):
    """AtsuMiyai/UPD 7426f5e, calculate_scores.py, eval_result and dual_results; 9ea469e, utils/common_utils.py, report_acc."""
    hits = {}
    for kind in ("standard", "upd"):
        of_kind = sorted((row for row in rows if row["type"] == kind), key=lambda row: row["index"])
        hits[kind] = {}
        for main in of_kind:
            if main["index"] < 1e6:
                versions = [row for row in of_kind if row["index"] % int(1e6) == main["index"]]
                hits[kind][main["index"]] = upd_circular_hit(versions)
    both = [
        1 if hits["standard"][index] == 1 and hits["upd"][index] == 1 else 0
        for index in hits["standard"]
        if index in hits["upd"]
    ]
    return {
        "standard_accuracy": statistics.fmean(hits["standard"].values()),
        "upd_accuracy": statistics.fmean(hits["upd"].values()),
        "dual_accuracy": statistics.fmean(both),
    }


def hallusion_bench(rows):
    """tianyi-lab/HallusionBench 08e51de, utils.py; 3733d9c, gpt4v_benchmark.py. Rows: as in HallusionBench.json, and check: "0" wrong,
    "1" right, "2" unclear."""
    for row in rows:
        if row["category"] == "VS" and int(row["figure_id"]) == 0:
            row["correct"] = 1 if row["check"] in ("1", "2") else 0
        else:
            row["correct"] = 1 if row["check"] == "1" else 0

    def share_of_right_questions(kept):
        questions = {}
        for row in kept:
            name = "_".join([row["category"], row["subcategory"], row["set_id"], row["question_id"]])
            right, total = questions.get(name, (0, 0))
            questions[name] = (right + row["correct"], total + 1)
        return 100 * sum(right == total for right, total in questions.values()) / len(questions)

    figures = {}
    for row in rows:
        if row["category"] == "VS" and row["figure_id"] == "0":
            continue
        name = "_".join([row["category"], row["subcategory"], row["set_id"], row["figure_id"]])
        right, total = figures.get(name, (0, 0))
        figures[name] = (right + row["correct"], total + 1)
    stat = {"correct": 0, "wrong": 0, "inconsistent": 0, "score": 0}
    for right, total in figures.values():
        if right == total:
            stat["correct"] += 1
        elif right == 0:
            stat["wrong"] += 1
        else:
            stat["inconsistent"] += 1
        stat["score"] += right / total
    return {
        "aAcc": 100 * sum(row["correct"] for row in rows) / len(rows),
        "fAcc": 100 * stat["correct"] / len(figures),
        "qAcc": share_of_right_questions(rows),
        "easy_aAcc": share_of_right_questions([row for row in rows if row["figure_id"] == "0"]),
        "hard_aAcc": share_of_right_questions([row for row in rows if row["figure_id"] != "0"]),
        "inconsistent": 100 * stat["inconsistent"] / len(figures),
        "wrong": 100 * stat["wrong"] / len(figures),
        "figure_score": 100 * stat["score"] / len(figures),
    }


def natural_bench_reading(text, kind):
    """Baiqi-Li/NaturalBench 3717258, naturalbench_vqa.py, extract_answer: 1, 0 or -1."""

    def position(word):
        found = re.search(r"\b" + word + r"\b", text, re.IGNORECASE)
        return found.start() if found else -1

    one, zero = (position("yes"), position("no")) if kind == "yes_no" else (position("A"), position("B"))
    if one == -1 and zero == -1:
        return -1
    if one != -1 and zero != -1:
        return 1 if one < zero else 0
    return 0 if one == -1 else 1


def natural_bench(groups):
    """Baiqi-Li/NaturalBench 3717258, naturalbench_vqa.py, get_scores. Groups: q0_i0, q0_i1, q1_i0, q1_i1, each 1, 0 or -1."""
    questions = images = answers = whole = 0
    for group in groups:
        of_questions = (group["q0_i0"] == 1 and group["q0_i1"] == 0) + (
            group["q1_i1"] == 1 and group["q1_i0"] == 0
        )
        of_images = (group["q0_i0"] == 1 and group["q1_i0"] == 0) + (
            group["q1_i1"] == 1 and group["q0_i1"] == 0
        )
        answers += (
            (group["q0_i0"] == 1) + (group["q0_i1"] == 0) + (group["q1_i0"] == 0) + (group["q1_i1"] == 1)
        )
        questions, images = questions + of_questions, images + of_images
        whole += of_questions == 2 and of_images == 2
    count = len(groups)
    return {
        "Q_Acc": questions / (count * 2),
        "I_Acc": images / (count * 2),
        "Acc": answers / (count * 4),
        "G_Acc": whole / count,
    }


def amber(rows):
    """junyangwang0410/AMBER 5e1fd52, inference.py and data/metrics.txt. Rows: type, truth, response."""
    short = {
        "discriminative-attribute-state": "as",
        "discriminative-attribute-number": "an",
        "discriminative-attribute-action": "aa",
        "discriminative-hallucination": "ha",
    }
    counters = {}
    for part in ("all", "as", "an", "aa", "ha", "asso"):
        for name in ("correct", "no", "ans_no"):
            counters[part, name, "score"], counters[part, name, "num"] = 0, 0.001
    for row in rows:
        for part in ("all", short.get(row["type"], "asso")):
            counters[part, "correct", "num"] += 1
            if row["truth"] == "yes":
                counters[part, "correct", "score"] += row["response"] == "Yes"
            else:
                counters[part, "no", "num"] += 1
                counters[part, "correct", "score"] += row["response"] == "No"
                counters[part, "no", "score"] += row["response"] == "No"
            if row["response"] == "No":
                counters[part, "ans_no", "num"] += 1
                counters[part, "ans_no", "score"] += row["truth"] == "no"
    scores = {}
    for name, parts, offset in [
        ("", ["all"], 0.0001),
        ("existence/", ["ha"], 0.001),
        ("attribute/", ["as", "an", "aa"], 0.0001),
        ("state/", ["as"], 0.0001),
        ("number/", ["an"], 0.0001),
        ("action/", ["aa"], 0.0001),
        ("relation/", ["asso"], 0.0001),
    ]:
        accuracy, precision, recall = (
            round(
                sum(counters[part, of, "score"] for part in parts)
                / sum(counters[part, of, "num"] for part in parts)
                * 100,
                1,
            )
            for of in ("correct", "ans_no", "no")
        )
        f1 = round(
            2 * (precision / 100) * (recall / 100) / ((precision / 100) + (recall / 100) + offset) * 100, 1
        )
        scores |= {name + "accuracy": accuracy, name + "precision": precision}
        scores |= {name + "recall": recall, name + "f1": f1}
    return scores


# The table of vizwiz.org's script: VQA's, with a typographic apostrophe but in these eight, whose keys have none.
STRAIGHT = {"aint", "arent", "cant", "couldve", "couldnt", "weve", "wheres", "whove"}
VIZWIZ_APOSTROPHES = {
    (key if key in ("couldn'tve", "hadn'tve") else key.replace("'", "’")): (
        full if key in STRAIGHT else full.replace("'", "’")
    )
    for key, full in APOSTROPHES.items()
}


def vizwiz_answer(text):
    """AttentionX/InstructBLIP_PEFT 8b0d453, lavis/common/vqa_tools/vqa_eval_vizwiz.py, processPunctuation and processDigitArticle."""
    text = text.replace("\n", " ").replace("\t", " ").strip()
    out = text
    for mark in MARKS:
        if mark + " " in text or " " + mark in text or re.search(r"(\d)(\,)(\d)", text) is not None:
            out = out.replace(mark, "")
        else:
            out = out.replace(mark, " ")
    # The script gives a flag as the maximum number of replacements; the value of the flag is 32.
    out = re.sub(r"(?!<=\d)(\.)(?!\d)", "", out, count=32)
    words = [DIGITS.get(word, word) for word in out.lower().split()]
    words = [word for word in words if word not in ("a", "an", "the")]
    return " ".join(VIZWIZ_APOSTROPHES.get(word, word) for word in words)


def vizwiz(rows):
    """The same file, evaluate and evaluate_unanswerability. Rows: answer, answerable (predicted), answers, answer_type, is_answerable."""
    accuracies, by_type = [], {}
    for row in rows:
        said, shares = vizwiz_answer(row["answer"]), []
        for i in range(len(row["answers"])):
            others = [answer for j, answer in enumerate(row["answers"]) if i != j]
            shares.append(min(1, sum(answer == said for answer in others) / 3))
        accuracies.append(sum(shares) / len(shares))
        by_type.setdefault(row["answer_type"], []).append(accuracies[-1])
    truth = [1 - row["is_answerable"] for row in rows]
    said = [1.0 - row["answerable"] for row in rows]
    return {
        "accuracy": 100 * sum(accuracies) / len(accuracies),
        **{f"{kind}/accuracy": 100 * sum(values) / len(values) for kind, values in by_type.items()},
        "average_precision": 100 * average_precision_score(truth, said),
        "f1": 100 * f1_score(truth, [value > 0.5 for value in said]),
    }


def tdiuc(rows):
    """TDIUC's script, in bupt-cist/vqa-playground-pytorch 877a443, tdiuc_evaluate.py. Rows: type, answer, said."""
    kinds = sorted({row["type"] for row in rows})
    scores = {"accuracy": 100 * statistics.fmean(row["said"] == row["answer"] for row in rows)}
    means = {"mpt": [], "nmpt": []}
    for kind in kinds:
        true = [row for row in rows if row["type"] == kind and row["said"] == row["answer"]]
        false = [row for row in rows if row["type"] == kind and row["said"] != row["answer"]]
        scores[f"{kind}/accuracy"] = 100 * len(true) / (len(true) + len(false))
        answers = {row["answer"] for row in rows if row["type"] == kind}
        total = 0
        for answer in answers:
            with_it = [row for row in rows if row["type"] == kind and row["answer"] == answer]
            total += sum(row["said"] == answer for row in with_it) / len(with_it)
        scores[f"{kind}/normalized_accuracy"] = 100 * total / len(answers)
        means["mpt"].append(scores[f"{kind}/accuracy"] + 1e-10)
        means["nmpt"].append(scores[f"{kind}/normalized_accuracy"] + 1e-10)
    for name, values in means.items():
        scores[f"arithmetic_{name}"] = statistics.fmean(values)
        scores[f"harmonic_{name}"] = statistics.harmonic_mean(values)
    return scores


def tubench(rows, labels):
    """NLPCode/TUBench e0e8d8c, evaluations/evaluate.py and evaluate_UGeoQA.py. Rows: gold, said (-1 if nothing was found).

    labels: ["Yes", "No"], or ["(a)", "(b)", "(c)", "(d)"].
    """
    everything = [*labels, "Unanswerable"]
    matrix = {gold: dict.fromkeys(everything, 0) for gold in everything}
    failed = 0
    for row in rows:
        said = row["said"]
        if said == -1:
            failed += 1
            said = labels[0]
        matrix[row["gold"]][said] += 1
    total = len(rows)
    answerable = sum(matrix[gold][said] for gold in labels for said in everything)
    any_answer = sum(matrix[gold][said] for gold in labels for said in labels)
    right_answers = sum(matrix[gold][gold] for gold in labels)
    called = matrix["Unanswerable"]["Unanswerable"]
    by_label = []
    for label in everything:
        hits = matrix[label][label]
        found, there = sum(matrix[gold][label] for gold in everything), sum(matrix[label].values())
        precision, recall = hits / found if found else 0, hits / there if there else 0
        f1 = 2 * precision * recall / (precision + recall) if precision + recall else 0
        by_label.append((precision, recall, f1))
    macro = [sum(values) / len(everything) for values in zip(*by_label, strict=True)]
    return {
        "two_label_accuracy": (any_answer + called) / total,
        "total_accuracy": (right_answers + called) / total,
        "unanswerable_accuracy": called / (total - answerable),
        "answerable_two_label_accuracy": any_answer / answerable,
        "answerable_accuracy": right_answers / answerable,
        "failed": failed / total,
        **dict(zip(("precision", "recall", "f1"), by_label[-1], strict=True)),
        **dict(zip(("macro_precision", "macro_recall", "macro_f1"), macro, strict=True)),
    }


def tubench_choice(response, choices):
    """NLPCode/TUBench e0e8d8c, evaluations/evaluate_UGeoQA.py, extract_label."""
    response = response.lower().strip()
    for letter in "abcd":
        signs = [f"({letter})", f"{letter})", f"answer: {letter}", f"option {letter}", f"answer is {letter}"]
        if any(sign in response for sign in signs):
            return f"({letter})"
    if "unanswerable" in response:
        return "Unanswerable"
    for letter in "abcd":
        if len(response) == 1 and letter in response:
            return f"({letter})"
    for letter in "abcd":
        if len(response) == 2 and letter + "." in response:
            return f"({letter})"
    for letter, choice in zip("abcd", choices, strict=False):
        if choice.lower() in response:
            return f"({letter})"
    return -1


def tubench_word(tokens):
    """NLPCode/TUBench e0e8d8c, evaluations/evaluate.py, extract_label, of the words of a reply."""
    if "yes" in tokens and "no" not in tokens and "unanswerable" not in tokens:
        return "Yes"
    if "no" in tokens and "yes" not in tokens and "unanswerable" not in tokens:
        return "No"
    if "unanswerable" in tokens:
        return "Unanswerable"
    if "yes" in tokens:
        return "Yes"
    return "No" if "no" in tokens else -1


def cp_bench(rows):
    """Wu0409/Antidote d0ff5c4, benchmark/eval.py. Rows: tag, judge."""
    rejected = accepted = cpq = tpq = right = 0
    for row in rows:
        if row["tag"] == "cpq":
            cpq += 1
            rejected += row["judge"] == "reject"
        if row["tag"] == "tpq":
            tpq += 1
            accepted += row["judge"] == "accept"
        right += (row["tag"], row["judge"]) in (("cpq", "reject"), ("tpq", "accept"))
    accuracy, reject_rate, accept_rate = right / len(rows), rejected / cpq, accepted / tpq
    return {
        "accuracy": accuracy,
        "cpq_reject_rate": reject_rate,
        "tpq_accept_rate": accept_rate,
        "final_score": 0.6 * reject_rate + 0.2 * accept_rate + 0.2 * accuracy,
    }

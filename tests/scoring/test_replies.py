"""What models reply, through every reader: reasoning, characters beyond ASCII, other languages."""

import json
from datetime import date

import openpyxl
import pandas as pd
import pytest

from pipeline.core.errors import UserError
from pipeline.scoring.abstention import ABSTAINED, UNCLEAR, classify_abstention
from pipeline.scoring.items import Benchmark, BenchmarkItem, Items
from pipeline.scoring.join import find_faults
from pipeline.scoring.joined_predictions import ScoringOptions
from pipeline.scoring.matching import match_answers
from pipeline.scoring.normalize import normalize_answer
from pipeline.scoring.prediction_reader import read_predictions
from pipeline.scoring.reasoning_parser import extract_final_answer
from tests.scoring.conftest import ROWS, predictions, refused, scored, write

# Replies
# What models reply, through every reader: reasoning, characters beyond ASCII, other languages, empty and filtered replies,
# missing values, and ids of the wrong kind.


def log_rows(form, reply, name="a1"):
    """A row of each kind of file, with this reply."""
    openai = {
        "custom_id": name,
        "response": {"status_code": 200, "body": {"choices": [{"message": {"content": reply}}]}},
    }
    parts = [{"type": "message", "content": [{"type": "output_text", "text": reply}]}]
    return {
        "plain": {"questionId": name, "prediction": reply},
        "lmms-eval": {"doc_id": 0, "item_id": name, "filtered_resps": [reply]},
        "inspect": {"id": name, "epoch": 1, "output": {"choices": [{"message": {}}], "completion": reply}},
        "scored": {
            "id": name,
            "epoch": 1,
            "output": {"choices": [{"message": {}}], "completion": ""},
            "scores": {"s": {"metadata": {"prediction": reply}}},
        },
        "OpenAI": openai,
        "responses": {"custom_id": name, "response": {"status_code": 200, "body": {"output": parts}}},
        "VLMEvalKit": {"index": name, "question": "?", "prediction": reply},
    }[form]


FORMS = ("plain", "lmms-eval", "inspect", "scored", "OpenAI", "responses", "VLMEvalKit")


def read_form(tmp_path, form, reply, suffix="json"):
    path = tmp_path / f"m.{suffix}"
    if suffix == "json":
        write(path, [log_rows(form, reply)])
    else:
        pd.DataFrame([log_rows(form, reply)]).to_csv(path, index=False, sep="," if suffix == "csv" else "\t")
    return read_predictions(path)


@pytest.mark.parametrize("form", FORMS)
def test_reasoning_is_removed_by_every_reader(tmp_path, form):
    for reply in ("<think>x</think>red", "x</think>\nred", "[THINK]x[/THINK]red</s>", "\\boxed{red}"):
        assert read_form(tmp_path, form, reply).answer_by_id == {"a1": "red"}


@pytest.mark.parametrize("form", FORMS)
def test_reasoning_without_an_end_is_truncated_in_every_reader(tmp_path, form):
    found = read_form(tmp_path, form, "<think>The cup is red")
    assert found.answer_by_id == {} and found.file_info.failures == {"a1": "truncated"} and not found.faults


def test_the_published_scripts_take_a_reply_as_it_is_written(release, tmp_path):
    rows = [row | {"prediction": f"<think>x</think>{row['prediction']}"} for row in predictions()]
    path = write(tmp_path / "m.json", rows)
    strict = scored(tmp_path, release, path, "--bootstrap", 0)["models"][0]["subsets"]["pt-hard"]
    assert strict["counts"]["missing"] == 0 and strict["realistic"]["facc"] == 0.5  # "Dog" of "no" and "Dog"
    parity = scored(tmp_path, release, path, "--mode", "published")["models"][0]["subsets"]["pt-hard"]
    assert parity["realistic"]["facc"] == 0


@pytest.mark.parametrize(
    "said",
    [
        "yes。", "yes！", "yes…", "yes．", "“yes”", "‘yes’", "„yes“", "«yes»", "「yes」", "ｙｅｓ", "ＹＥＳ", "y\u200bes", "\ufeffyes",
        "yes\u00a0", "yes\u2028", "\u200eyes\u200f", "yes\u00ad", "yes، ", "yes।", "¡yes!", "yes؟", "✅ yes", "yes 👍🏽", "yes\x00", "• yes",
    ],
)  # fmt: skip
def test_non_ascii_punctuation_does_not_matter(said):
    assert match_answers([said], [{"yes": 1.0}], "vqa").tolist() == [1.0]
    assert match_answers([said], [{"yes": 1.0}], "exact").tolist() == [0.0]


@pytest.mark.parametrize(
    ("said", "label"),
    [("cafe\u0301", "café"), ("ﬁsh", "fish"), ("t‑shirt", "t-shirt"), ("t–shirt", "t-shirt"), ("don’t", "don't"), ("①", "1"), ("50％", "50%")],
)  # fmt: skip
def test_equivalent_characters_are_alike_on_both_sides(said, label):
    assert match_answers([said, label], [{label: 1.0}, {said: 1.0}], "vqa").tolist() == [1.0, 1.0]


def test_the_official_form_is_that_of_the_published_code():
    assert (
        normalize_answer("yes。") == "yes。" and normalize_answer("yes。", normalization="corrected") == "yes"
    )


UNREADABLE = [
    "Не видно", "わかりません", "无法回答", "لا يمكن الإجابة", "알 수 없습니다", "Das kann man auf dem Bild nicht sehen", "Je ne sais pas",
    "No se puede saber", "No hay ningún perro en la imagen", "Não é possível determinar", "Ik weet het niet", "Nie widać tego",
    "Det går inte att se", "rojo", "Bilinmiyor",
]  # fmt: skip


@pytest.mark.parametrize("reply", UNREADABLE)
def test_a_reply_in_another_language_is_unclear(reply):
    assert classify_abstention(["What color is the dog?"], [reply]).tolist() == [UNCLEAR]


# The list of words in `abstention` was made beside the replies above. These were written after it, by a reader who did not change
# it: they show what the list is worth elsewhere. Half of the misses are words of English, too ("rot", "negro").
HELD_OUT = [
    "Es gibt keine Katze", "Der Hund ist schwarz", "rot", "Die Farbe ist auf diesem Foto leider unklar", "Unbekannt",
    "Auf dem Tisch liegt ein Apfel", "Il n'y a pas de chat", "Le chien est noir", "rouge", "La réponse est inconnue",
    "Impossible de répondre", "On ne voit pas cela", "No hay gato", "El perro es negro", "negro", "No lo sé",
    "Imposible de determinar", "La respuesta no se ve", "Non c'è nessun gatto", "Il cane è nero", "nero", "Non lo so",
    "Non si vede", "Impossibile rispondere", "Não há gato", "O cão é preto", "preto", "Não sei", "Impossível saber",
    "Er is geen kat", "De hond is zwart", "zwart", "Dat is niet te zien", "Geen idee", "Nie ma kota", "Pies jest czarny",
    "Nie wiem", "Nelze určit", "Kočka tam není", "Nu se vede", "Nu este nicio pisică", "Kissaa ei ole", "En tiedä",
    "Der er ingen kat", "Hunden er sort", "Ved ikke", "Kedi yok", "Tidak ada kucing", "Saya tidak tahu", "Không có con mèo",
]  # fmt: skip


def test_most_replies_in_other_languages_that_the_list_was_not_made_from_are_unclear():
    found = classify_abstention(["What color is the cat?"] * len(HELD_OUT), HELD_OUT)
    assert (len(HELD_OUT), (found == UNCLEAR).sum()) == (
        50,
        43,
    )  # docs/reference/scores.md states these numbers


def test_names_of_the_question_and_of_the_benchmarks_answers_are_known():
    assert classify_abstention(["Is it a Zxqv?"], ["Zxqv"]).tolist() != [UNCLEAR]
    assert classify_abstention(["What is it?"], ["zxqv"]).tolist() == [UNCLEAR]
    assert classify_abstention(["What is it?"], ["zxqv"], {"zxqv"}).tolist() != [UNCLEAR]


def test_one_warning_says_how_many_replies_are_in_another_language(release, tmp_path):
    rows = [row | {"prediction": "Не видно"} for row in predictions()]
    report = scored(
        tmp_path, release, write(tmp_path / "m.json", rows), "--detect-abstention", "--bootstrap", 0
    )
    (warning,) = report["models"][0]["warnings"]["pt-hard"]
    assert (
        "4 replies" in warning and "abstained" in warning and "--abstention-labels" in warning
    )  # 4 items are of part test
    assert report["models"][0]["subsets"]["pt-hard"]["abstention"]["unclear"] == 4


@pytest.mark.parametrize(
    "reply",
    [
        "unanswerable", "Unanswerable.", "UNANSWERABLE。", "“unanswerable”", "ｕｎａｎｓｗｅｒａｂｌｅ", "un\u200banswerable", "[unanswerable]",
        "<unanswerable>", "unanswerable?", "unanswerable<|im_end|>", "unanswerable</s>", "<think>x</think>unanswerable",
        "\\boxed{unanswerable}", "<answer>Unanswerable</answer>", "- unanswerable", "UQ！", "",
    ],
)  # fmt: skip
def test_unanswerable_abstains_whatever_is_around_it(reply, monkeypatch):
    monkeypatch.setattr(
        "pipeline.scoring.abstention.load_abstention_classifier", lambda: pytest.fail("by definition")
    )
    assert classify_abstention(["What color is the dog?"], [reply]).tolist() == [ABSTAINED]


@pytest.mark.parametrize("form", FORMS)
def test_an_empty_reply_abstains_in_every_reader(tmp_path, form):
    found = read_form(tmp_path, form, "")
    assert (
        found.answer_by_id == {"a1": ""}
        and found.file_info.empty_replies == {"a1": "empty"}
        and not found.file_info.failures
    )
    for reply in ("<think>x</think>", " \n", "\ufeff\u200b", "</s>"):
        assert read_form(tmp_path, form, reply).file_info.empty_replies == {"a1": "empty"}


@pytest.mark.parametrize("text", ["", None, "The answer is"])
def test_a_filtered_reply_abstains_in_every_reader(tmp_path, text):
    row, other = log_rows("OpenAI", text), log_rows("responses", text or "")
    row["response"]["body"]["choices"][0]["finish_reason"] = "content_filter"
    other["response"]["body"]["incomplete_details"] = {"reason": "content_filter"}
    inspect = log_rows("inspect", text)
    inspect["output"]["choices"][0]["stop_reason"] = "content_filter"
    blocked = log_rows("lmms-eval", "[SAFETY_BLOCKED:prohibited]")
    for one in (row, other, inspect, blocked):
        found = read_predictions(write(tmp_path / "m.json", [one]))
        assert found.answer_by_id == {"a1": ""} and found.file_info.empty_replies == {"a1": "filtered"}
        assert not found.file_info.failures


@pytest.mark.parametrize(("empty", "warned"), [(0, False), (1, True)])
def test_five_percent_empty_replies_give_a_warning(release, tmp_path, empty, warned):
    rows = predictions()  # 4 of part test; 1 of 4 is 25 %
    for row in rows[2 : 2 + empty]:
        row["prediction"] = ""
    report = scored(tmp_path, release, write(tmp_path / "m.json", rows), "--bootstrap", 0)
    assert (
        any(
            "have no text" in w or "has no text" in w
            for w in report["models"][0]["warnings"].get("pt-hard", ())
        )
        == warned
    )


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("m.json", '[{"id": "a1", "prediction": null, "confidence": 1}, {"id": "u1", "prediction": "red", "confidence": 1}]'),
        ("m.json", '[{"id": "a1", "prediction": NaN, "confidence": 1}, {"id": "u1", "prediction": "red", "confidence": 1}]'),
        ("m.csv", "id,prediction,confidence\na1,,1\nu1,red,1\n"),
        ("m.tsv", "index\tquestion\tprediction\tconfidence\na1\t?\t\t1\nu1\t?\tred\t1\n"),
        ("m.json", '[{"index": "a1", "question": "?", "prediction": NaN}, {"index": "u1", "question": "?", "prediction": "red"}]'),
        ("m.json", '[{"index": "a1", "question": "?", "prediction": null}, {"index": "u1", "question": "?", "prediction": "red"}]'),
    ],
)  # fmt: skip
def test_a_missing_answer_is_no_prediction_in_every_format(tmp_path, name, text):
    (tmp_path / name).write_text(text)
    found = read_predictions(tmp_path / name)
    assert (
        found.faults == ()
        and found.answer_by_id == {"u1": "red"}
        and found.file_info.failures.keys() == {"a1"}
    )


def test_a_missing_answer_is_refused_unless_missing_predictions_are_accepted(release, tmp_path, capsys):
    rows = predictions()
    rows[2]["prediction"] = None
    path = write(tmp_path / "m.json", rows)
    message = refused(capsys, release, path)
    assert "prediction is missing (null" in message and "has prediction" not in message and "a2" in message
    counts = scored(tmp_path, release, path, "--missing", "wrong", "--bootstrap", 0)["models"][0]["subsets"][
        "pt-hard"
    ]["counts"]
    assert counts["missing"] == 1


def test_the_missing_key_of_a_confidence_is_named(release, tmp_path, capsys):
    rows = [{"questionId": row["questionId"], "prediction": "x", "score": 0.5} for row in predictions()]
    message = refused(capsys, release, write(tmp_path / "m.json", rows))
    assert "`confidence`" in message and "questionId, prediction, score" in message


def workbook(path, *rows):
    book = openpyxl.Workbook()
    for row in rows:
        book.active.append(row)
    book.save(path)
    return path


@pytest.mark.parametrize(
    ("cell", "what"),
    [
        (True, "TRUE"),
        (date(2024, 3, 1), "2024-03-01"),
        ("=1+1", "=1+1"),
        ('="re"&"d"', '="re"&"d"'),
        ("#N/A", "#N/A"),
    ],
)
@pytest.mark.parametrize("column", [0, 1])
def test_what_a_spreadsheet_made_of_a_text_is_refused(tmp_path, cell, what, column):
    row: list = ["a1", "red", 0.5]
    row[column] = cell
    path = workbook(tmp_path / "m.xlsx", ["item_id", "prediction", "confidence"], row, ["u1", "blue", 0.5])
    with pytest.raises(UserError) as caught:
        read_predictions(path)
    first, *others = caught.value.problems
    assert "1 cell" in first and len(others) == 1
    assert "row 2" in others[0] and ("item_id", "prediction")[column] in others[0] and what in others[0]


def test_numbers_of_a_workbook_are_texts_but_for_confidences(tmp_path):
    path = workbook(
        tmp_path / "m.xlsx",
        ["id", "prediction", "confidence", "when"],
        [95, 2.0, 0.5, date(2024, 3, 1)],
        [None] * 4,
        ["u", "x", 1, None],
    )
    found = read_predictions(path)
    assert found.answer_by_id == {"95": "2", "u": "x"} and found.confidence.tolist() == [0.5, 1.0]


def test_of_several_sheets_the_table_is_read_or_the_choice_asked_for(tmp_path):
    path = workbook(tmp_path / "m.xlsx", ["item_id", "prediction"], ["a1", "red"])
    book = openpyxl.load_workbook(path)
    book.create_sheet("notes").append(["made on Monday"])
    book.save(path)
    assert read_predictions(path).answer_by_id == {"a1": "red"}
    book["notes"].insert_rows(1)
    for place, name in enumerate(("id", "answer"), 1):
        book["notes"].cell(1, place, name)
    book.save(path)
    with pytest.raises(UserError, match="notes"):
        read_predictions(path)


LINES = [json.dumps(row) for row in predictions()]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("m.json", "\n".join(LINES)),
        ("m.csv", "item_id|prediction\n" + "".join(f"{row[0]}|{row[-2]}\n" for row in ROWS)),
        ("m.json", "\ufeff" + "\r\n".join(LINES) + "\r\n"),
        ("m", "\n\n".join(LINES)),
        ("m.json", "\n".join(json.dumps(row, indent=2) for row in predictions())),
        ("m.jsonl", "\n".join(json.dumps(row, indent=2) for row in predictions())),
        ("m.jsonl", json.dumps(predictions())),
        ("m.jsonl", json.dumps(predictions(), indent=1)),
        ("m.ndjson", "\n".join(LINES)),
        ("m.json", json.dumps({"notes": ["a"], "licenses": [], "results": predictions()})),
        ("m.json", json.dumps({"notes": ["a"], "licenses": [], "results": predictions()}, indent=2)),
        ("m.json", json.dumps({"other": [{"a": 1}], "predictions": predictions()}, indent=2)),
    ],
)
def test_json_is_known_by_what_it_is_not_by_its_suffix(tmp_path, name, text):
    (tmp_path / name).write_text(text)
    assert read_predictions(tmp_path / name).answer_by_id == {row[0]: row[-2] for row in ROWS}


def test_json_lines_of_one_line_are_read(tmp_path):
    (tmp_path / "m.json").write_text(LINES[0])
    assert read_predictions(tmp_path / "m.json").answer_by_id == {"a1": "red"}


def test_a_truncated_line_is_named_whatever_the_suffix(tmp_path):
    (tmp_path / "m.json").write_text("\n".join(LINES)[:-5])
    with pytest.raises(UserError, match="line 6"):
        read_predictions(tmp_path / "m.json")


def test_item_id_is_the_key_of_a_prediction_and_counts_before_others(release, tmp_path, capsys):
    rows = [{"item_id": row["questionId"], "question_id": "7", **row} for row in predictions()]
    for row in rows:
        del row["questionId"]
    report = scored(tmp_path, release, write(tmp_path / "m.json", rows), "--bootstrap", 0)
    assert report["models"][0]["file_info"]["id_field"] == "item_id"


def benchmark(*ids):
    items = Items.from_rows([BenchmarkItem(name, "n1", {"red": 1.0}) for name in ids])
    return Benchmark("rgqa", "b", "", {}, {"s": items}, items.ids)


def found_faults(tmp_path, known, *ids):
    rows = [{"question_id": name, "prediction": "red", "confidence": 0.5} for name in ids]
    read_file = read_predictions(write(tmp_path / "m.json", rows))
    return [*find_faults(benchmark(*known), read_file, ScoringOptions(missing="wrong"))]


def test_ids_of_source_questions_are_reported_with_what_to_use(tmp_path):
    (line,) = found_faults(tmp_path, ["clipeasy_n1+0229", "x"], "0229", "x")
    assert "source question" in line and "0229" in line and "clipeasy_n1+0229" in line and "item_id" in line
    (twice,) = found_faults(tmp_path, ["clipeasy_n1+0229", "0229"], "0229", "0229")
    assert "source question" in twice and "clipeasy_n1+0229" in twice


@pytest.mark.parametrize("given", [229, 229.0, "229", "229.0"])
def test_lost_leading_zeros_are_reported(tmp_path, given):
    (line,) = found_faults(tmp_path, ["0229", "x"], given, "x")
    assert "leading zeros" in line and "0229" in line and "text" in line


def test_unknown_ids_of_each_kind_are_distinguished(tmp_path):
    lines = found_faults(tmp_path, ["0229", "pt_n1+051", "x"], 229, "051", "y")
    assert ["source" in lines[0], "leading" in lines[1], "not in the benchmark" in lines[2]] == [True] * 3


def test_an_excel_separator_line_and_a_table_of_tabs_are_read(tmp_path):
    table = "item_id{0}prediction{0}confidence\na1{0}red{0}0.5\n"
    for name, text in (
        ("m.csv", "sep=;\n" + table.format(";")),
        ("m.csv", table.format("\t")),
        ("m.tsv", table.format(",")),
    ):
        (tmp_path / name).write_text(text)
        assert read_predictions(tmp_path / name).answer_by_id == {"a1": "red"}


# Reasoning parser
# Marks of reasoning models and of chat templates, each as its parser or template writes it (see the module).


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

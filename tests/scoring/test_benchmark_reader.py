import hashlib
import json

import pytest

from pipeline.core.errors import UserError
from pipeline.scoring.benchmark_reader import read_benchmark, read_release_name
from tests.scoring.conftest import predictions, scored, write


def test_the_fields_of_items_are_read_from_a_release(release):
    benchmark = read_benchmark(release)
    assert (benchmark.kind, benchmark.name, benchmark.version) == ("rgqa", "1.0.0", "1.0.0")
    assert list(benchmark.subsets) == ["clip-easy", "pt-hard"]
    _, item, *_ = benchmark.subsets["pt-hard"]
    assert (item.id, item.image, item.answers, item.category) == ("u1", "n1", {}, "missing object")
    assert (item.edits, item.structural, item.split, item.pair_id) == (
        ("object",),
        "query",
        "validation",
        "p1",
    )
    data = (release / "rgqa/clip-easy.json").read_bytes()
    assert benchmark.sha256["rgqa/clip-easy.json"] == hashlib.sha256(data).hexdigest()
    assert set(benchmark.sha256) == {"provenance.jsonl", "rgqa/clip-easy.json", "rgqa/pt-hard.json"}


def test_only_named_subsets_are_read_but_all_ids_are_known(release):
    write(release / "rgqa/clip-hard.json", [{"img_id": "n", "question_id": "other", "label": {"UQ": 1.0}}])
    benchmark = read_benchmark(release, ["pt-hard"])
    assert list(benchmark.subsets) == ["pt-hard"] and "other" in benchmark.ids
    with pytest.raises(UserError, match="no subset x, y; there are clip-easy, clip-hard, pt-hard"):
        read_benchmark(release, ["x", "pt-hard", "y"])


def test_items_without_provenance_are_named(release):
    lines = (release / "provenance.jsonl").read_text().splitlines()
    (release / "provenance.jsonl").write_text("\n".join(lines[1:]))
    with pytest.raises(UserError, match="has nothing on clip-easy's item a1"):
        read_benchmark(release)
    (release / "provenance.jsonl").write_text('{"item": {"subset": "clip-easy"}}')
    with pytest.raises(UserError, match="line 1: not an item's provenance"):
        read_benchmark(release)


def test_a_folder_without_subsets_is_refused(tmp_path):
    with pytest.raises(UserError, match="no rgqa/"):
        read_benchmark(tmp_path)


def test_a_subsets_own_file_is_a_benchmark_too(release, tmp_path):
    model = write(tmp_path / "m.json", predictions())
    found = scored(tmp_path, release / "rgqa" / "clip-easy.json", model, "--bootstrap", 0)
    splits = found["models"][0]["subsets"]["clip-easy"]
    assert splits["realistic"]["auaf"] == pytest.approx(5 / 9)
    assert "unavailable" in splits["pairs"] and "unavailable" in splits["subgroups"]


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        ([{"uq": 1.0}, {"red": 1.0}], "says that there is no answer"),
        ([{"Unanswerable.": 1.0}, {"UQ": 1.0}], "says that there is no answer"),
        ([{"n/a": 1.0}, {"UQ": 1.0}], "says that there is no answer"),
        ([{"UQ": 1.0, "red": 1.0}, {"red": 1.0}], "both UQ and an answer"),
        ([{}, {"red": 1.0}], "label is {}"),
        ([{"red": "1"}], "expected {answer: 1.0}"),
        ([{"UQ": 0.0}], "one more than 0"),
        ([{"red": 0.0, "blue": 0.0}], "one more than 0"),
        ([{"red": float("nan")}], "one more than 0"),
        ([{"": 1.0}], "has an empty answer"),
        ([{" ": 1.0, "red": 1.0}], "has an empty answer"),
    ],
)
def test_faulty_labels_are_refused(tmp_path, labels, expected):
    rows = [
        {"img_id": "n", "question_id": str(i), "sent": "?", "label": label} for i, label in enumerate(labels)
    ]
    with pytest.raises(UserError) as caught:
        read_benchmark(write(tmp_path / "b.json", rows))
    assert caught.value.problems[0].endswith("b.json: 1 fault") and expected in caught.value.problems[1]


def test_an_answer_may_be_worth_from_nothing_to_one(tmp_path):
    label = {"maroon": 0.0, "dark red": 0.3, "red": 1}
    rows = [{"question_id": str(i), "label": one} for i, one in enumerate((label, {"UQ": 1.0}))]
    subset = read_benchmark(write(tmp_path / "b.json", rows)).subsets["b"]
    assert [item.answers for item in subset] == [label, {}]
    for worth in (-0.1, 1.1):
        rows[0]["label"] = {"red": worth}
        with pytest.raises(UserError, match="each worth 0 to 1"):
            read_benchmark(write(tmp_path / "b.json", rows))


def test_every_faulty_row_is_listed(tmp_path):
    rows = [
        {"question_id": "1", "label": {"red": 1}},
        {"question_id": "1", "label": {"red": 1}},
        3,
        {"label": {}},
    ]
    with pytest.raises(UserError) as caught:
        read_benchmark(write(tmp_path / "b.json", rows))
    assert caught.value.problems[1:] == [
        "b.json, question 2: duplicate id 1",
        "b.json, question 3: expected an object with question_id and label",
        "b.json, question 4: expected an object with question_id and label",
    ]


def test_gqas_own_file_keeps_ids_and_questions_as_they_are(tmp_path):
    question = {"imageId": "n5", "answer": "red", "types": {"structural": "query", "semantic": None}}
    benchmark = read_benchmark(write(tmp_path / "q.json", {"0071": question}))
    (item,) = benchmark.subsets["q"]
    assert (benchmark.kind, item.id, item.image, item.answers) == ("gqa", "0071", "n5", {"red": 1.0})
    assert (item.structural, item.semantic, item.gqa_question) == ("query", "", question)


def test_vqas_own_file_keeps_every_human_answer(tmp_path):
    answers = [{"answer": "red"}, {"answer": "blue"}, {"answer": "red"}]
    rows = [{"question_id": 7, "image_id": 3, "answer_type": "other", "answers": answers}]
    benchmark = read_benchmark(write(tmp_path / "v.json", {"annotations": rows}))
    (item,) = benchmark.subsets["v"]
    assert (benchmark.kind, item.id, item.image, item.structural) == ("vqa", "7", "3", "other")
    assert item.human_answers == ("red", "blue", "red") and item.answers == {"red": 1.0, "blue": 1.0}
    faulty = [*rows, *rows, {"question_id": 8, "answers": []}, {"answers": answers}]
    with pytest.raises(UserError) as caught:
        read_benchmark(write(tmp_path / "v.json", {"annotations": faulty}))
    assert [line.partition(": ")[2] for line in caught.value.problems[1:]] == [
        "duplicate id 7",
        "id 8 has no answers",
        "expected question_id and answers (KeyError('question_id'))",
    ]


@pytest.mark.parametrize("value", [3, {}, {"a": 1}, {"annotations": 3}])
def test_other_files_are_refused(tmp_path, value):
    with pytest.raises(UserError, match="expected RGQA's list of questions"):
        read_benchmark(write(tmp_path / "b.json", value))


def test_a_truncated_file_is_refused(tmp_path):
    (tmp_path / "b.json").write_text(json.dumps([{"question_id": "1"}])[:-3])
    with pytest.raises(UserError, match="The file may be truncated"):
        read_benchmark(tmp_path / "b.json")


def test_a_release_without_a_title_has_its_folders_name(release, monkeypatch):
    monkeypatch.chdir(release)
    assert read_benchmark(".").name == release.name


def named(folder, **params):
    write(folder / "params.json", params)
    return read_benchmark(folder).full_name


def test_a_release_is_named_by_its_title_wherever_it_lies(release):
    title = {"release": {"title": "Kitchens"}, "dataset": "kitchens-2", "version": "1.2.0"}
    assert named(release, **title) == "Kitchens 1.2.0"
    moved = release.rename(release.with_name("download(1)"))
    assert str(read_release_name(moved)) == "Kitchens 1.2.0"
    assert named(moved, dataset="kitchens-2", version="1.2.0") == "kitchens-2 1.2.0"
    assert named(moved, release={"title": "Kitchens 1.2.0"}, version="1.2.0") == "Kitchens 1.2.0"
    assert named(moved, version="1.2.0") == "download(1) 1.2.0" and named(moved) == "download(1)"


def test_a_title_is_one_printable_line(release):
    assert named(release, release={"title": "Küchen\n \ud800"}) == "Küchen ?"


@pytest.mark.parametrize(
    ("params", "key"),
    [
        ({"version": 1.0}, "version"),
        ({"release": {"title": ["a"]}}, "release.title"),
        ({"dataset": None}, "dataset"),
    ],
)
def test_a_name_that_is_no_text_is_refused(release, params, key):
    with pytest.raises(UserError, match=f"params.json: {key} is"):
        named(release, **params)


def test_reports_name_the_release(release, tmp_path, capsys):
    write(release / "params.json", {"release": {"title": "Kitchens"}, "version": "1.2.0"})
    found = scored(tmp_path, release, write(tmp_path / "m.json", predictions()), "--bootstrap", 0)
    assert found["benchmark"]["name"] == "Kitchens"
    assert capsys.readouterr().out.startswith("benchmark Kitchens 1.2.0, split test")

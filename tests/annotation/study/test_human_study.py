import json
from collections import Counter
from pathlib import Path
from xml.etree import ElementTree

import pandas as pd
import pytest

from annotation.study import human_study
from pipeline.core.errors import UserError
from pipeline.core.files import read_jsonl, write_jsonl
from pipeline.core.records import Item, Picture, Record

INTERFACE = Path(human_study.__file__).with_name("study.xml")
HOME = Path("data/tiny/study/human")


class Row(Record):
    item: Item
    votes_invalid: int = 0


def item(number, subset="clip-hard", uq=True, picture="n1", part="test", key=None):
    return Item(
        item_id=key or f"{subset}-{'uq' if uq else 'aq'}-{number}",
        subset=subset,
        picture_id=picture,
        question_id=f"q{number}",
        text=f"What is {number}?",
        unanswerable=uq,
        answer="" if uq else "red",
        pair_id="p",
        part=part,
    )


def items(uqs=60, aqs=70, subset="clip-hard"):
    made = [item(n, subset, True, f"n{n % 20}") for n in range(uqs)]
    return made + [item(n, subset, False, f"n{n % 20}") for n in range(aqs)]


def test_as_many_aqs_as_uqs_are_drawn_of_each_subset():
    drawn = human_study.choose([*items(), *items(30, 40, "pt-easy")], each=50, seed=1)
    assert Counter((row.subset, row.answerable) for row in drawn) == {
        ("clip-hard", True): 50,
        ("clip-hard", False): 50,
        ("pt-easy", True): 30,
        ("pt-easy", False): 30,
    }
    assert len({row.question_id for row in drawn}) == len({row.task for row in drawn}) == 160


def test_only_the_test_part_is_asked_and_nothing_twice():
    dev = [item(n, part="dev", key=f"dev{n}") for n in range(9)] + [
        item(n, uq=False, part="dev", key=f"dev{n}a") for n in range(9)
    ]
    shared = [item(n, subset, False, key=f"aq{n}") for subset in ("clip-easy", "clip-hard") for n in range(4)]
    uqs = [item(n, subset) for subset in ("clip-easy", "clip-hard") for n in range(4)]
    drawn = human_study.choose([*dev, *shared, *uqs], each=2, seed=1)
    assert sorted(Counter((row.subset, row.answerable) for row in drawn).values()) == [2, 2, 2, 2]
    asked = [row.question_id for row in drawn if row.answerable]
    assert len(asked) == len(set(asked)) == 4
    assert not [row for row in drawn if row.question_id.startswith("dev")]


def test_pictures_are_used_evenly():
    # 20 pictures, 100 questions: five of each, whatever the lot says.
    shown = Counter(row.picture_id for row in human_study.choose(items(), each=50, seed=3))
    assert set(shown.values()) == {5}


def test_the_draw_hangs_on_the_seed_and_not_on_the_order_of_items():
    rows = items()
    assert human_study.choose(rows, 20, 1) == human_study.choose(rows[::-1], 20, 1)
    assert human_study.choose(rows, 20, 1) != human_study.choose(rows, 20, 2)


def test_the_order_of_tasks_does_not_tell_the_label():
    drawn = human_study.choose(items(), each=50, seed=1)
    first = sum(row.answerable for row in drawn[:50])
    assert 15 <= first <= 35  # 25 of 50 by chance, standard deviation 2.5
    assert drawn == sorted(drawn, key=lambda row: row.task)


@pytest.fixture
def release(tiny):
    rows = [Row(item=row) for row in items(12, 12)]
    write_jsonl("data/release/tiny/1.0.0/provenance.jsonl", rows)
    write_jsonl(
        "data/tiny/interim/ingest/pictures.jsonl",
        [
            Picture(
                picture_id=f"n{n}",
                split="testdev",
                path=f"data/tiny/source/images/n{n}.jpg",
                width=9,
                height=9,
                sha256="0",
            )
            for n in range(20)
        ],
    )
    return Path("data/release/tiny/1.0.0")


def test_what_people_see_is_a_picture_and_a_question_and_nothing_else(release):
    human_study.draw(release, each=5, seed=1)
    tasks = json.loads((HOME / "tasks.json").read_text())
    drawn = {row.task: row for row in read_jsonl(HOME / "drawn.jsonl", human_study.StudyTask)}
    assert len(tasks) == 10
    for task in tasks:
        assert set(task) == {"data"} and set(task["data"]) == {"task", "image", "question"}
        row = drawn[task["data"]["task"]]
        assert task["data"] == {
            "task": row.task,
            "question": row.text,
            "image": f"/data/local-files/?d=tiny/source/images/{row.picture_id}.jpg",
        }
        assert len(row.task) == 16 and row.question_id not in json.dumps(task)
    assert (HOME / "study.xml").read_bytes() == INTERFACE.read_bytes()


def test_drawn_again_it_is_the_same_and_another_draw_is_refused(release):
    human_study.draw(release, each=5, seed=1)
    before = {path.name: path.read_bytes() for path in HOME.iterdir()}
    human_study.draw(release, each=5, seed=1)
    assert {path.name: path.read_bytes() for path in HOME.iterdir()} == before
    with pytest.raises(UserError, match="another study was drawn there"):
        human_study.draw(release, each=5, seed=2)
    assert {path.name: path.read_bytes() for path in HOME.iterdir()} == before


def test_mistakes_are_told(release, tiny):
    with pytest.raises(UserError, match="no release is there"):
        human_study.draw(Path("data/release/tiny/9.9.9"))
    write_jsonl("data/tiny/interim/ingest/pictures.jsonl", [])
    with pytest.raises(UserError) as caught:
        human_study.draw(release, each=5)
    assert "its pictures are not those of data set tiny" in caught.value.problems[0]
    assert "n0: no such picture" in caught.value.problems


def test_the_screen_shows_what_a_task_holds_and_has_a_key_for_either_answer():
    tree = ElementTree.parse(INTERFACE).getroot()
    shown = {value[1:] for tag in tree.iter() for value in tag.attrib.values() if value.startswith("$")}
    assert shown == {"image", "question"}
    assert [(c.get("value"), c.get("hotkey")) for c in tree.iter("Choice")] == [
        ("answer", "1"),
        ("reject", "2"),
    ]
    assert [choice.get("value") for choice in tree.iter("Choice")] == list(
        human_study.STUDY_SCREEN.questions["judgement"]
    )
    assert [choices.get("name") for choices in tree.iter("Choices")] == list(
        human_study.STUDY_SCREEN.questions
    )


def test_label_studio_accepts_the_screen():
    from label_studio_sdk.label_interface import LabelInterface

    LabelInterface(INTERFACE.read_text()).validate()


def drawn_of(each):
    """So many AQs and UQs of one subset, by task."""
    rows = [
        human_study.StudyTask(
            task=f"{n}{'aq' if answerable else 'uq'}",
            question_id=f"q{n}",
            subset="clip-hard",
            picture_id="n1",
            text=f"What is {n}?",
            answerable=answerable,
        )
        for n in range(each)
        for answerable in (True, False)
    ]
    return {row.task: row for row in rows}


def annotation(number, person, choice, **more):
    result = (
        [{"from_name": "judgement", "to_name": "image", "type": "choices", "value": {"choices": [choice]}}]
        if choice
        else []
    )
    return {
        "id": number,
        "completed_by": person,
        "result": result,
        "was_cancelled": False,
        "lead_time": 3.0,
        "created_at": f"2026-01-01T00:00:{number % 60:02}Z",
    } | more


def export(path, rows):
    path.write_text(
        json.dumps(
            [
                {"id": n, "data": {"task": task, "image": "x", "question": "y"}, "annotations": made}
                for n, (task, made) in enumerate(rows)
            ]
        )
    )
    return path


def test_the_last_answer_of_each_person_counts_and_what_does_not_is_counted(tmp_path):
    drawn = drawn_of(1)
    one, two = sorted(drawn)
    path = export(
        tmp_path / "e.json",
        [
            (
                one,
                [
                    annotation(2, 1, "reject"),
                    annotation(1, 1, "answer"),
                    annotation(3, {"id": 2, "email": "b@x.org"}, "answer"),
                ],
            ),
            (two, [annotation(4, 2, "answer", was_cancelled=True), annotation(5, 1, "")]),
            ("elsewhere", [annotation(6, 1, "answer")]),
        ],
    )
    given, counts = human_study.read_judgements([path, path], drawn)  # the same export twice changes nothing
    assert sorted(zip(given["task"], given["accepted"], strict=True)) == [(one, False), (one, True)]
    assert given["person"].nunique() == 2 and not given["person"].str.contains("b@x.org").any()
    assert counts == {
        "complete": 2,
        "empty": 1,
        "of another batch": 1,
        "replaced by a later one": 1,
        "seen more than once": 6,
        "skipped": 1,
    }


def test_exports_that_are_none_are_all_named(tmp_path):
    drawn = drawn_of(1)
    (tmp_path / "a.json").write_text("{")
    bad = export(tmp_path / "b.json", [(min(drawn), [annotation(7, 1, "valid")])])
    with pytest.raises(UserError) as caught:
        human_study.read_judgements([tmp_path / "a.json", tmp_path / "none.json", bad], drawn)
    assert "2 problems" in caught.value.problems[0]
    for line, name in zip(caught.value.problems[1:], ("a.json: not", "none.json: no such file"), strict=True):
        assert name in line and "wanted: Label Studio's export format JSON" in line
    with pytest.raises(
        UserError,
        match="1 annotations say `judgement`: 'valid'; wanted are `judgement` one of answer, reject.",
    ):
        human_study.read_judgements([bad], drawn)
    with pytest.raises(UserError, match="no judgement of this study"):
        human_study.read_judgements([export(tmp_path / "c.json", [])], drawn)


def given_by(drawn, person, accepts):
    """A person's judgements: `accepts` says of a task whether they answered it."""
    return [
        {"subset": row.subset, "answerable": row.answerable, "person": person, "accepted": accepts(row)}
        for row in drawn.values()
    ]


def test_rates_are_those_of_people():
    drawn = drawn_of(2)
    given = given_by(drawn, "p", lambda row: row.answerable) + given_by(drawn, "q", lambda row: True)
    rates = human_study.rates(pd.DataFrame(given))
    assert rates.reset_index().to_dict("records") == [
        {"subset": "clip-hard", "people": 2, "aqs": 4, "accepted": 4, "uqs": 4, "rejected": 2}
    ]
    line = human_study.table(rates).splitlines()[1]
    assert line.split()[:3] == ["clip-hard", "2", "100.0%"]
    assert " 50.0% [15.0%, 85.0%]" in line  # Wilson 2 of 4
    assert " 75.0% [" in line  # 6 of 8 right


def test_a_rate_of_nothing_is_undefined():
    aqs = {key: row for key, row in drawn_of(2).items() if row.answerable}
    rates = human_study.rates(pd.DataFrame(given_by(aqs, "p", lambda row: True)))
    assert human_study.table(rates).splitlines()[1].count("undefined") == 2  # UQs rejected, UQs accepted


def test_nothing_is_scored_before_a_study_was_drawn(tiny):
    with pytest.raises(UserError, match="no study was drawn; run: rgqa annotate study draw"):
        human_study.score([Path("x.json")])

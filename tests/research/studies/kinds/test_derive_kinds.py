"""Kinds of nouns from WordNet: derivation, choices between senses, and files."""

from __future__ import annotations

import re
from pathlib import Path
from types import SimpleNamespace

import pytest
from typer.testing import CliRunner

from pipeline.cli.main import app
from pipeline.core.errors import UserError
from pipeline.language.lexicon import WORDNET_TABLE_PATH
from research.studies.kinds.derive_kinds import KindsDerivation, format_table, write_kinds_table
from research.studies.kinds.wordnet_choices import KINDS, MEANT_SENSES, SYNONYMS, parse_entries, parse_words
from research.studies.kinds.wordnet_files import WORDNET_FILES, WordNet

# The derivation of the table of kinds from a WordNet of a few words, and the table that is part of the project.


# The folder of Debian's package wordnet-base.
INSTALLED = Path("/usr/share/wordnet")
ANIMAL, ARTIFACT, FOOD, EVENT, PERSON, PLANT = 5, 6, 13, 11, 18, 20

# id: lexicographer file, words, the ids above, definition. A word's senses are numbered in this order.
SYNSETS = {
    1: (ARTIFACT, ("furniture",), (), "what makes a room ready; no multiplication table"),
    2: (ARTIFACT, ("seat",), (1,), "to sit on; no multiplication table"),
    3: (ARTIFACT, ("couch", "sofa", "lounge"), (2,), "a long seat; no multiplication table"),
    4: (ARTIFACT, ("table",), (1,), "has a flat top; no multiplication table"),
    5: (ARTIFACT, ("oak_table",), (4,), "a table of oak"),
    6: (EVENT, ("table", "lounge"), (), "an event"),
    7: (ANIMAL, ("animal",), (), "it lives"),
    8: (ANIMAL, ("crane",), (7,), "a bird"),
    9: (ARTIFACT, ("crane",), (), "lifts loads"),
    10: (FOOD, ("food",), (), "to eat"),
    11: (FOOD, ("carrot",), (10,), "orange root"),
    12: (PLANT, ("carrot",), (), "the plant"),
    13: (PERSON, ("person",), (), "a human"),
    14: (PERSON, ("dish",), (13,), "a person who is nice to see"),
    15: (ARTIFACT, ("dish",), (), "for food"),
    16: (EVENT, ("gale",), (), "a storm"),
    17: (ANIMAL, ("gale",), (7,), "an animal"),
    18: (PERSON, ("oaf",), (13,), "(an ethnic slur) a person"),
    19: (PERSON, ("skater",), (13,), "who skates: a skater; see skaters, skater"),
    20: (ARTIFACT, ("multiplication_table",), (), "numbers"),
    21: (ARTIFACT, ("headphone",), (1,), "for the ears"),
    22: (ANIMAL, ("Rex",), (7,), "a dog", "@i"),
    23: (PERSON, ("passer-by",), (13,), "it is in no other definition"),
}
# (word, number of its sense) -> how often it is tagged: "crane" the bird 4, the machine 1 (a quarter); gale 9 : 2.
TAGGED = {
    ("crane", 1): 4,
    ("crane", 2): 1,
    ("gale", 1): 9,
    ("gale", 2): 2,
    ("table", 1): 5,
    ("table", 2): 1,
    ("oak_table", 1): 1,
    ("couch", 1): 2,
    ("sofa", 1): 1,
    ("dish", 1): 5,
    ("skater", 1): 1,
    ("oaf", 1): 3,
    ("multiplication_table", 1): 1,
}
MADE = {
    "KINDS": "furniture: furniture#1\nanimal: animal#1; food: food#1\nperson: person#1",
    "MEANT_SENSES": "",
    "EXCLUDED_NAMES": "",
    "SYNONYMS": "couch#1",
    "EXTRA_SYNONYMS": "",
    "EXTRA_KINDS": "",
    "EXCLUDED_KINDS": "",
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    index: dict[str, list[int]] = {}
    data = ["  1 This is the licence.  "]  # below, both words are in four definitions: everyday words
    for key, (file, words, above, definition, *kind) in SYNSETS.items():
        spelled = " ".join(f"{word} 0" for word in words)
        up = [f"{(kind or ['@'])[0]} {number:08d} n 0000" for number in above]
        data.append(
            " ".join(
                (
                    f"{key:08d} {file:02d} n {len(words):02x}",
                    spelled,
                    f"{len(up):03d}",
                    *up,
                    f"| {definition}  ",
                )
            )
        )
        for word in words:
            index.setdefault(word.lower(), []).append(key)
    (tmp_path / "data.noun").write_text("\n".join(data) + "\n")
    (tmp_path / "index.noun").write_text(
        "  1 This is the licence.  \n"
        + "".join(
            f"{word} n {len(keys)} 1 @ {len(keys)} 0 {' '.join(f'{key:08d}' for key in keys)}  \n"
            for word, keys in sorted(index.items())
        )
    )
    (tmp_path / "cntlist.rev").write_text(
        "".join(f"{word}%1:06:00:: {number} {count}\n" for (word, number), count in TAGGED.items())
        + "sofa%2:30:00:: 1 1\n"
    )
    return tmp_path


def rows(folder: Path, **made: str) -> dict[str, tuple[str, str]]:
    found = KindsDerivation(WordNet(folder), SimpleNamespace(**MADE | made)).build_rows()
    return {name: (row.canonical_name, ",".join(sorted(row.hypernyms))) for name, row in found.items()}


def test_a_word_is_of_the_kinds_above_its_sense(folder):
    assert rows(folder)["couch"] == ("", "furniture")
    assert rows(folder)["seat"] == ("", "furniture")
    assert rows(folder)["skater"] == ("", "person")


def test_the_words_of_a_trusted_sense_are_synonyms_unless_they_commonly_mean_something_else(folder):
    assert rows(folder)["sofa"] == ("couch", "furniture")
    assert rows(folder)["lounge"] == ("couch", "furniture")  # its event cannot be seen and is not tagged
    assert rows(folder, SYNONYMS="")["sofa"] == ("", "furniture")


def test_a_name_with_two_common_senses_gets_what_they_have_in_common(folder):
    assert "crane" not in rows(folder)  # 1 >= 4 / 4: both are common; animal and none have nothing in common
    assert rows(folder, MEANT_SENSES="crane: crane#1")["crane"] == ("", "animal")


def test_a_commonly_invisible_name_gets_no_kind(folder):
    assert "gale" not in rows(folder)  # 2 < 9 / 4


def test_food_comes_before_the_plant_it_grows_on(folder):
    assert rows(folder)["carrot"] == ("", "food")


def test_a_word_for_people_that_also_names_an_object_gets_no_kind(folder):
    assert "dish" not in rows(folder)


def test_offensive_words_individuals_and_rare_people_are_left_out(folder):
    assert not {"oaf", "rex", "passer-by"} & rows(folder).keys()


def test_the_last_word_is_a_kind_where_wordnet_says_so_and_not_elsewhere(folder):
    assert rows(folder)["oak table"] == ("", "furniture,table")
    assert rows(folder)["multiplication table"] == ("", "")  # so that nobody takes it for furniture


def test_plural_only_names_are_plural_in_the_table(folder):
    assert rows(folder)["headphones"] == ("", "furniture")
    assert "headphone" not in rows(folder)


def test_the_projects_own_lists_add_and_remove_kinds(folder):
    made = rows(
        folder,
        EXCLUDED_NAMES="skater, table house",
        EXTRA_SYNONYMS="settee: couch",
        EXTRA_KINDS="seat: bean bag",
        EXCLUDED_KINDS="table: furniture",
    )
    assert made["skater"] == made["table house"] == ("", "")
    assert made["settee"] == ("couch", "furniture")
    assert made["bean bag"] == ("", "furniture,seat")  # with the kinds of the kind
    assert "furniture" not in made["table"][1]


def test_the_table_is_sorted_and_the_same_each_time(folder):
    made = KindsDerivation(WordNet(folder), SimpleNamespace(**MADE))
    text = format_table(made.build_rows())
    body = [line for line in text.splitlines() if not line.startswith("#")]
    assert body == sorted(body)
    assert text == format_table(KindsDerivation(WordNet(folder), SimpleNamespace(**MADE)).build_rows())
    assert "Princeton University" in text


def test_all_missing_wordnet_files_are_reported(tmp_path):
    (tmp_path / "data.noun").touch()
    with pytest.raises(UserError) as error:
        WordNet(tmp_path)
    assert [line.split(":")[0] for line in error.value.problems[1:]] == ["index.noun", "cntlist.rev"]


def test_all_missing_senses_are_reported(folder):
    with pytest.raises(UserError) as error:
        rows(folder, KINDS="furniture: furniture#2 sideboard#1 but seat#1", SYNONYMS="")
    assert [line.split(":")[0] for line in error.value.problems[1:]] == ["furniture#2", "sideboard#1"]


def test_a_missing_folder_argument_is_a_usage_error():
    ran = CliRunner().invoke(app, ["study", "derive-kinds"])
    assert ran.exit_code == 2
    assert "Missing argument 'folder'" in ran.stderr


def test_the_table_is_written_where_it_is_read(folder, tmp_path, monkeypatch):
    monkeypatch.setattr("research.studies.kinds.derive_kinds.WORDNET_TABLE_PATH", tmp_path / "kinds.tsv")
    monkeypatch.setattr(
        "research.studies.kinds.derive_kinds.KindsDerivation",
        lambda wordnet: KindsDerivation(wordnet, SimpleNamespace(**MADE)),
    )
    count = len(KindsDerivation(WordNet(folder), SimpleNamespace(**MADE)).build_rows())
    assert write_kinds_table(folder) == f"{count} names in kinds.tsv"
    assert (tmp_path / "kinds.tsv").read_text().endswith("\n")


@pytest.mark.skipif(
    not INSTALLED.is_dir(), reason="needs WordNet 3.0 in /usr/share/wordnet (package wordnet-base)"
)
def test_the_table_in_the_project_is_what_the_script_makes():
    assert format_table(KindsDerivation(WordNet(INSTALLED)).build_rows()) == WORDNET_TABLE_PATH.read_text(
        encoding="utf-8"
    )


def test_entries_are_separated_by_lines_or_semicolons():
    assert list(parse_entries("a: x#1\nb c: y#2 z#1; d: w#1")) == [
        ("a", "x#1"),
        ("b c", "y#2 z#1"),
        ("d", "w#1"),
    ]


def test_senses_without_a_name_get_the_first_lemma():
    assert list(parse_entries("a_b#2; c#1 d#1 but e#1")) == [("a b", "a_b#2"), ("c", "c#1 d#1 but e#1")]


def test_every_sense_is_a_word_with_the_number_of_its_sense():
    specs = [
        spec for text in (KINDS, MEANT_SENSES) for _, rest in parse_entries(text) for spec in rest.split()
    ]
    assert all(re.fullmatch(r"[^#\s]+#\d+", spec) for spec in {*specs, *parse_words(SYNONYMS)} - {"but"})


def test_no_kind_and_no_sense_is_chosen_twice():
    for text in (KINDS, MEANT_SENSES):
        names = [name for name, _ in parse_entries(text)]
        assert len(names) == len(set(names))


# Two synsets in WordNet's own format: a couch is a seat; the word "couch" is also tagged twice as a verb.
DATA = """  1 This is the licence.
00000001 06 n 02 couch 0 sofa 0 001 @ 00000002 n 0000 | a soft seat
00000002 06 n 01 seat 0 000 | a seat, an ethnic slur to nobody
"""
INDEX = """  1 This is the licence.
couch n 1 1 @ 1 0 00000001
sofa n 1 1 @ 1 0 00000001
seat n 1 0 1 0 00000002
"""
COUNTS = "couch%1:06:00:: 1 7\ncouch%2:30:00:: 1 2\n"


@pytest.fixture
def wordnet(tmp_path):
    for name, text in zip(WORDNET_FILES, (DATA, INDEX, COUNTS), strict=True):
        (tmp_path / name).write_text(text)
    return WordNet(tmp_path)


def test_senses_have_words_and_hypernyms(wordnet):
    assert wordnet.senses["00000001"].words == ("couch", "sofa")
    assert wordnet.hypernym_closure("00000001") == {"00000001", "00000002"}
    assert wordnet.hypernym_closure("00000002") == {"00000002"}


def test_a_sense_is_found_by_its_number(wordnet):
    assert wordnet.synset_by_sense == {"couch#1": "00000001", "sofa#1": "00000001", "seat#1": "00000002"}


def test_tags_are_counted_for_nouns_by_sense_and_for_the_rest_together(wordnet):
    assert (wordnet.sense_counts["couch#1"], wordnet.sense_counts["sofa#1"]) == (7, 0)
    assert wordnet.other_pos_counts["couch"] == 2


def test_definitions_say_what_is_everyday_and_what_offends(wordnet):
    assert wordnet.mentions["seat"] == 2  # of two definitions
    assert wordnet.senses["00000002"].is_offensive and not wordnet.senses["00000001"].is_offensive


def test_all_files_that_are_missing_are_named(tmp_path):
    with pytest.raises(UserError) as caught:
        WordNet(tmp_path)
    assert len(caught.value.problems) == 1 + len(WORDNET_FILES)

"""What is to be written takes no input's place, and no other output's."""

import os

import pytest

from tests.pipeline.scorers.conftest import predictions, refused, run, write


def everything(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("--json m.json", "--json m.json: would take the place of a file that is read"),
        ("--json ./1.0.0/../m.json", "would take the place of a file that is read"),
        ("--json link.json", "--json link.json: would take the place of a file that is read"),
        ("--json hard.json", "--json hard.json: would take the place of a file that is read"),
        ("--json m.json/s.json", "would take the place of a file that is read"),
        ("--json 1.0.0/provenance.jsonl", "would take the place of a file that is read"),
        ("--json 1.0.0/rgqa/pt-hard.json", "would take the place of a file that is read"),
        ("--json dev.json --dev dev.json", "would take the place of a file that is read"),
        ("--json judge.json --judge judge.json", "would take the place of a file that is read"),
        ("--json same.json --synonyms same.json", "would take the place of a file that is read"),
        ("--json e.json --without-errata e.json", "would take the place of a file that is read"),
        ("--json 1.0.0/errata.json --without-errata auto", "would take the place of a file that is read"),
        ("--json log.json --extra run-log=log.json", "would take the place of a file that is read"),
        ("--out old --extra human=old/scores.json", "--out old/scores.json: would take the place of a file"),
        ("--json new/scores.json --out new", "--json new/scores.json: would take the place of --out's new/s"),
        ("--json new --out new", "--json new: would take the place of --out's new/scores.json"),
        ("--json new --table ./new", "--json new: would take the place of --table's new"),
        ("--json p/a --plots p/a", "--json p/a: would take the place of --plots's p/a/*"),
        ("--table pipe/t.csv", "--table pipe/t.csv: pipe is no folder"),
        ("--out 1.0.0/params.json/a", "--out 1.0.0/params.json/a: 1.0.0/params.json is no folder"),
        ("--json pipe", "--json pipe: wanted a file"),
        ("--out pipe", "--out pipe: wanted a folder"),
        ("--json /dev/null", "--json /dev/null: wanted a file"),
    ],
)
def test_it_is_refused_before_anything_is_written(release, tmp_path, monkeypatch, capsys, words, expected):
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "m.json", predictions())
    (tmp_path / "link.json").symlink_to("m.json")
    os.link(tmp_path / "m.json", tmp_path / "hard.json")
    os.mkfifo(tmp_path / "pipe")
    before = everything(tmp_path)
    assert expected in refused(capsys, "1.0.0", "m.json", *words.split())
    assert everything(tmp_path) == before


def test_files_beside_each_other_are_written_and_written_anew(release, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "m.json", predictions())
    for _ in range(2):
        run("1.0.0", "m.json", "--bootstrap", 0, "--json", "out/s.json", "--out", "out")
    assert {path.name for path in (tmp_path / "out").iterdir()} == {"s.json", "scores.json", "scores.txt"}

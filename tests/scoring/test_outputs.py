"""What is to be written takes no input's place, and no other output's."""

import os
import re

import pytest

from tests.scoring.conftest import predictions, refused, run, write


def everything(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize(
    "words",
    [
        "--json m.json",
        "--json ./1.0.0/../m.json",
        "--json link.json",
        "--json hard.json",
        "--json m.json/s.json",
        "--json 1.0.0/provenance.jsonl",
        "--json 1.0.0/rgqa/pt-hard.json",
        "--json validation.json --validation validation.json",
        "--json judge.json --abstention-labels judge.json",
        "--json same.json --synonyms same.json",
        "--json e.json --exclude-errata e.json",
        "--json 1.0.0/errata.json --exclude-errata auto",
        "--json log.json --resource run-log=log.json",
        "--out old --resource human-judgments=old/scores.json",
        "--json new/scores.json --out new",
        "--json new --out new",
        "--json new --table ./new",
        "--json p/a --plots p/a",
        "--table pipe/t.csv",
        "--out 1.0.0/params.json/a",
        "--json pipe",
        "--out pipe",
        "--json /dev/null",
    ],
)
def test_it_is_refused_before_anything_is_written(release, tmp_path, monkeypatch, capsys, words):
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "m.json", predictions())
    (tmp_path / "link.json").symlink_to("m.json")
    os.link(tmp_path / "m.json", tmp_path / "hard.json")
    os.mkfifo(tmp_path / "pipe")
    before = everything(tmp_path)
    said = refused(capsys, "1.0.0", "m.json", *words.split())
    assert re.search(r"--(json|out|plots|table) \S+: ", said)
    assert everything(tmp_path) == before


def test_files_beside_each_other_are_written_and_written_anew(release, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "m.json", predictions())
    for _ in range(2):
        run("1.0.0", "m.json", "--bootstrap", 0, "--json", "out/s.json", "--out", "out")
    assert {path.name for path in (tmp_path / "out").iterdir()} == {"s.json", "scores.json", "scores.txt"}

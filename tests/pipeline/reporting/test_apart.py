from pathlib import Path

import pytest

from pipeline.core.errors import UserError
from pipeline.core.paths import Folders
from pipeline.reporting.apart import apart, page_of


def test_outputs_of_their_own_may_be_anywhere_else(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("self").symlink_to("self")
    apart([("--out", Path("self"))], [])
    apart([("--page", Path("p.html")), ("--json", Path("more/p.html"))], [Path("set"), Path("set.json")])


def test_what_is_read_or_named_twice_is_refused_wherever_links_lead(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("set").mkdir()
    Path("link").symlink_to("set")
    Path("l.json").symlink_to("s.json")
    outputs = [("--page", Path("l.json")), ("--json", Path("link/f.json")), ("--balance", Path("s.json"))]
    with pytest.raises(UserError) as error:
        apart(outputs, [Path("set"), Path("s.json")])
    assert error.value.problems == [
        "what is to be written: 4 problems",
        "--page l.json: that is read, or in a folder that is; name another place",
        "--json link/f.json: that is read, or in a folder that is; name another place",
        "--balance s.json: that is read, or in a folder that is; name another place",
        "--balance s.json: that is the place of --page, too; name another one",
    ]


def test_a_page_lies_not_among_what_it_tells_of(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    folders = Folders("tiny")
    assert page_of(folders, None, "report.html") == Path("data/tiny/report.html")
    assert page_of(folders, Path("x.html"), "report.html") == Path("x.html")
    for place in ("interim/rank/rank.json", "source/questions.csv", "../release/tiny/1.0.0/README.md"):
        with pytest.raises(UserError, match="that is read, or in a folder that is"):
            page_of(folders, folders.home / place, "report.html")

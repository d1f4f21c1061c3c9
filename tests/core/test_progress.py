"""Progress is printed on stderr and never on stdout."""

import sys

import pytest

from pipeline.core.progress import report_written, track


def test_items_come_one_by_one_and_unchanged():
    taken = []

    def items():
        for item in "abc":
            taken.append(item)
            yield item

    tracked = track(items(), "letters")
    assert (next(tracked), taken) == ("a", ["a"])
    assert list(tracked) == ["b", "c"]


def test_the_progress_bar_is_on_stderr_with_label_and_total(capsys):
    assert list(track(iter(range(3)), "rank", 3, "block")) == [0, 1, 2]
    told = capsys.readouterr()
    assert told.out == ""
    assert "rank" in told.err and "3/3" in told.err and "block" in told.err


@pytest.mark.parametrize(("terminal", "seconds"), [(True, 0.2), (False, 10)])
def test_a_log_file_gets_few_lines_instead_of_a_moving_bar(monkeypatch, terminal, seconds):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: terminal, raising=False)
    options = {}
    monkeypatch.setattr("tqdm.tqdm", lambda items, *_, **given: options.update(given) or items)
    list(track([1], "label"))
    assert (options["mininterval"], options["dynamic_ncols"]) == (seconds, terminal)


def test_the_last_line_names_result_and_destination(capsys):
    report_written("rank", "12,750 candidates", "data/sample/interim/rank")
    assert capsys.readouterr().out == "rank: 12,750 candidates -> data/sample/interim/rank\n"
    report_written("rank", "one", "x", sys.stderr)
    assert capsys.readouterr() == ("", "rank: one -> x\n")

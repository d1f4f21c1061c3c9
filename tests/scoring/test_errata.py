from math import isclose

import pytest

from pipeline.core.errors import UserError
from pipeline.scoring.benchmark_reader import read_benchmark
from pipeline.scoring.errata import exclude_errata
from tests.scoring.conftest import predictions, refused, run, scored, write

FAULTY = [{"item_id": "u2", "reason": "it has an answer", "version": "1.0.0"}]


@pytest.fixture
def model(tmp_path):
    return write(tmp_path / "m.json", predictions())


def test_faulty_items_and_their_pairs_are_excluded_and_reported(release, model, tmp_path, capsys):
    write(release / "errata.json", FAULTY)
    words = "--bootstrap", "0", "--split", "all"
    whole, less = (
        scored(tmp_path, release, model, *words, *more) for more in ((), ("--exclude-errata", "auto"))
    )
    # of three pairs one is left out: u2 itself, and a2, which is asked beside it, in both subsets
    assert [r["benchmark"]["subsets"]["pt-hard"] for r in (whole, less)] == [6, 4]
    assert (whole["benchmark"]["errata"], less["benchmark"]["errata"]) == (None, ["a2", "u2"])
    # FACC: "red" and "Dog" are right and "no" is wrong, 2 of 3; without a2 2 of 2
    found = [r["models"][0]["subsets"]["pt-hard"]["realistic"]["facc"] for r in (whole, less)]
    assert isclose(found[0], 2 / 3) and found[1] == 1
    capsys.readouterr()
    run(release, model, *words, "--exclude-errata", "auto")
    assert "WITHOUT 2 items by errata" in " ".join(capsys.readouterr().out.split())
    run(release, model, *words)
    assert "errata" not in capsys.readouterr().out


def test_an_errata_list_without_items_of_this_benchmark_is_reported(release, model, tmp_path, capsys):
    path = write(tmp_path / "e.json", [{"item_id": "elsewhere"}])
    run(release, model, "--bootstrap", "0", "--exclude-errata", path)
    assert "WITHOUT 0 items by errata" in " ".join(capsys.readouterr().out.split())


def test_items_without_a_pair_are_excluded_alone(release, tmp_path):
    single = release / "rgqa/pt-hard.json"
    left = exclude_errata(read_benchmark(single), single, str(write(tmp_path / "e.json", FAULTY)))
    assert left.errata == ("u2",) and len(left.subsets["pt-hard"]) == 5 and "u2" in left.ids


@pytest.mark.parametrize("content", [{"u2": "why"}, ["u2"], [{"id": "u2"}]])
def test_a_file_of_another_format_is_refused(release, tmp_path, content):
    path = write(tmp_path / "e.json", content)
    with pytest.raises(UserError, match="expected a list of"):
        exclude_errata(read_benchmark(release), release, str(path))


def test_a_release_without_a_list_says_what_to_do(release, model, capsys):
    assert "Name a file instead" in refused(capsys, release, model, "--exclude-errata", "auto")

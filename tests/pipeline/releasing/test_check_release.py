import json
import shutil

import pytest

from pipeline.core.errors import UserError
from pipeline.core.files import read_jsonl, write_jsonl
from pipeline.releasing.check_release import check_release
from pipeline.releasing.checksums import write_checksums
from pipeline.releasing.provenance import Provenance
from pipeline.releasing.publish import publish


def test_the_release_passes_its_check_and_a_changed_one_does_not(release, tmp_path):
    assert "sanity predictions get their scores" in check_release(release)
    publish(release, tmp_path)
    place = tmp_path / "tiny/0.1.0"
    predictions = place / "sanity/clip-easy/clip_score.json"
    predictions.chmod(0o644)
    predictions.write_text(predictions.read_text().replace("0.", "0.9", 1))
    with pytest.raises(UserError, match="its bytes have changed"):
        check_release(place)


@pytest.fixture
def copy(release, tmp_path):
    return shutil.copytree(release, tmp_path / "copy")


def test_rows_that_tell_of_other_items_are_noticed_though_all_sums_are_right(copy):
    rows = list(read_jsonl(copy / "provenance.jsonl", Provenance))
    write_jsonl(copy / "provenance.jsonl", rows[1:])
    write_checksums(copy)
    subset = rows[0].item.subset
    with pytest.raises(UserError, match=f"rgqa/{subset}.json: its rows are not those of provenance.jsonl"):
        check_release(copy)


def test_scores_that_are_not_reached_are_noticed_though_all_sums_are_right(copy):
    path = next((copy / "sanity").glob("*/expected.json"))
    stated = json.loads(path.read_text())
    stated["constant"]["auroc"] += 0.01
    path.write_text(json.dumps(stated))
    write_checksums(copy)
    with pytest.raises(UserError, match=f"sanity/{path.parent.name}/constant.json: scores are"):
        check_release(copy)

"""Provenance, licences and errata of a release."""

import json
import re

import pytest
from msgspec.structs import replace
from typer.testing import CliRunner

from pipeline.benchmark.release.check_release import read_released_items
from pipeline.benchmark.release.errata import Erratum, add_erratum, read_errata, remove_erratum, render_errata
from pipeline.benchmark.release.licences import get_licences, make_hub_licence_fields, render_licence
from pipeline.benchmark.release.provenance import (
    DROPPED_FILES,
    Provenance,
    iter_dropped,
    make_canary,
    make_provenance,
)
from pipeline.cli.main import app
from pipeline.core.errors import UserError
from pipeline.core.json_files import read_jsonl, write_jsonl
from pipeline.core.params import convert_params
from pipeline.core.paths import DatasetFolders
from pipeline.core.records import (
    Candidate,
    CollectedCandidate,
    DroppedCandidate,
    Item,
    Question,
    VerifierResult,
)
from pipeline.core.release_params import Licence, ReleaseParams
from tests.benchmark.release.card_facts import P

# Provenance


def test_an_answerable_item_has_the_text_and_image_of_its_source(release):
    for row in read_jsonl(release / "provenance.jsonl", Provenance):
        if not row.item.unanswerable:
            assert (row.item.image_id, row.item.text) == (row.source_image_id, row.source_text)


def test_the_source_text_is_that_of_the_source_even_if_it_was_paraphrased(items):
    asked = {
        item.question_id: Question(
            question_id=item.question_id,
            image_id="n1",
            split="val",
            text=item.text,
            answer="a",
            source_text="As it was?",
        )
        for item in items
    }
    assert {row.source_text for row in make_provenance(items, asked, {})} == {"As it was?"}


def test_the_provenance_of_an_unanswerable_item_has_votes_and_the_edited_program(release):
    rows = [row for row in read_jsonl(release / "provenance.jsonl", Provenance) if row.item.unanswerable]
    assert all(row.verifier_result and row.program for row in rows)
    by_votes = [row for row in rows if row.decided_by == "votes"]
    # The conditions of the status "unanswerable" in docs/explanation/annotation_quality.md.
    assert by_votes and all(row.votes_invalid > row.votes_valid or row.votes_invalid >= 2 for row in by_votes)


def test_a_canary_belongs_to_one_version_of_one_data_set():
    marks = {make_canary(dataset, version) for dataset in ("a", "b") for version in ("1.0.0", "1.0.1")}
    assert len(marks) == 4 and make_canary("a", "1.0.0") in marks
    assert make_canary("a", "1.0.0", simulated=True).endswith(make_canary("a", "1.0.0"))


@pytest.mark.parametrize("published", ["2026-02-30", "2026-2-3", "", "today"])
def test_an_invalid_date_is_refused(published):
    given = {
        "title": "t",
        "data_source": "o",
        "licence": "l",
        "licence_url": "https://u.org",
        "release_date": published,
    }
    with pytest.raises(
        UserError, match=re.escape(f"release_date: Invalid RFC3339 encoded date (got {published!r})")
    ):
        convert_params(given, ReleaseParams, "params.yaml, tiny.release")


def test_every_candidate_is_released_or_dropped(release, tiny_run):
    # Every candidate is an item or in dropped.jsonl, exactly once.
    interim = tiny_run / "data/tiny/interim"
    candidates = [
        json.loads(line)["candidate_id"]
        for stage in ("rank", "perturb")
        for line in (interim / stage / "candidates.jsonl").open()
    ]
    items = [item.item_id for item in read_released_items(release) if item.unanswerable]
    dropped = [
        row.candidate_id
        for row in read_jsonl(release / "dropped.jsonl", DroppedCandidate)
        if row.stage != "perturb"
    ]
    assert sorted(items + dropped) == sorted(candidates)
    assert all(row.reason for row in read_jsonl(release / "dropped.jsonl", DroppedCandidate))


def test_collected_candidates_that_are_not_unanswerable_are_dropped(tmp_path, monkeypatch):
    def verified(status):
        return CollectedCandidate(
            candidate=Candidate(
                candidate_id=status, subset="pt-easy", image_id="p", question_id="q", text="?"
            ),
            verifier_result=VerifierResult(answerability="unknown"),
            status=status,
            votes_invalid=1,
            votes_valid=2,
            votes_excluded=0,
            verdict_ids=(),
            simulated=False,
        )

    monkeypatch.chdir(tmp_path)
    for name in DROPPED_FILES:
        write_jsonl(DatasetFolders("birds").stage_dir(name), ())
    statuses = ("answerable", "unanswerable", "doubtful", "no_votes")
    rows = iter_dropped(DatasetFolders("birds"), map(verified, statuses))
    assert [(row.reason, row.detail) for row in rows] == [
        (status, "1 invalid, 2 valid") for status in ("answerable", "doubtful", "no_votes")
    ]


# Licences


ODD = Licence(name="Terms of Somebody", url="https://somebody")


def test_each_part_has_its_licence_and_its_files():
    text = render_licence(
        "Tiny 1.0.0",
        replace(
            P, licence_overrides={**P.licence_overrides, "verdicts": Licence(name="CC0 1.0", url="zero")}
        ),
        ["pt-easy"],
    )
    questions, verdicts, images = (
        next(block for block in text.split("\n\n") if block.startswith(part))
        for part in ("Questions", "Verdicts", "Images")
    )
    assert "CC BY 4.0, u" in questions and "rgqa/" in questions and "Drawn." in questions
    assert "CC0 1.0, zero" in verdicts and "verdicts.jsonl" in verdicts
    assert "CC BY 4.0, u" in images and "card.png" in images
    # The tables for VLMEvalKit contain the images, too, and every file has a licence.
    assert "harness/vlmevalkit/" in images and "All files except those named below" in questions


def test_without_images_there_is_no_licence_of_images():
    p = replace(P, include_images=False, licence_overrides={"images": ODD})
    assert set(get_licences(p)) == {"questions", "verdicts"}
    text = render_licence("Tiny 1.0.0", p, ["pt-easy"])
    assert "grants no rights to any" in text and "Terms of Somebody" in text and "column `image`" not in text


def test_the_licence_of_the_data_does_not_apply_to_images(items):
    p = replace(P, licence_overrides={})
    text = render_licence("Tiny 1.0.0", p, ["pt-easy"])
    images = next(block for block in text.split("\n\n") if block.startswith("Images"))
    assert "The licence of the images is not stated" in images and "CC BY" not in images
    assert make_hub_licence_fields(p)["license"] == "other" and set(get_licences(p)) == {
        "questions",
        "verdicts",
    }


def test_only_actual_changes_are_stated():
    assert "about other images" not in render_licence("T", P, ["pt-easy"])
    assert "edited" not in render_licence("T", P, ["clip-easy"])
    assert "Changes" not in render_licence("T", P, ["counterfactual"])


def test_the_hub_gets_its_licence_ids():
    # as on https://huggingface.co/docs/hub/repositories-licenses
    assert make_hub_licence_fields(P) == {"license": "cc-by-4.0"}
    assert make_hub_licence_fields(
        replace(P, licence_overrides={"images": Licence(name="CC BY-NC-SA 4.0", url="n")})
    ) == {"license": ["cc-by-4.0", "cc-by-nc-sa-4.0"]}
    assert make_hub_licence_fields(replace(P, licence_overrides={"images": ODD})) == {
        "license": "other",
        "license_name": "cc-by-4.0-and-terms-of-somebody",
        "license_link": "LICENSE",
    }


# Errata


@pytest.fixture
def folders(release, tmp_path, monkeypatch):
    """The tiny data set, its errata elsewhere."""
    found = DatasetFolders()
    found.errata = tmp_path / "errata"
    return found


def test_errata_are_kept_by_item(folders):
    ids = sorted({item.item_id for item in folders.read_records(Item)})[:2]
    assert read_errata(folders) == ()
    add_erratum(folders, "0.1.0", ids[1], f"  wrong \n {ids[1]} ")
    path = add_erratum(folders, "0.1.0", ids[0], f"wrong {ids[0]}")
    assert read_errata(folders) == tuple(
        Erratum(item_id=item, reason=f"wrong {item}", version="0.1.0") for item in ids
    )
    assert [row["item_id"] for row in json.loads(path.read_text())] == ids
    with pytest.raises(UserError, match=f"{ids[0]}: already has an erratum, since version 0.1.0: wrong"):
        add_erratum(folders, "0.2.0", ids[0], "again")


@pytest.mark.parametrize(
    ("item", "reason", "message"), [("nope", "x", "no such item"), ("nope", " ", "reason is empty")]
)
def test_invalid_errata_are_refused(folders, item, reason, message):
    with pytest.raises(UserError, match=message):
        add_erratum(folders, "0.1.0", item, reason)
    assert not folders.errata.exists()


def test_errata_list_present_and_removed_items():
    rows = [Erratum(item_id=name, reason="a | b <i>", version="0.9.0") for name in ("here", "removed")]
    text = render_errata("T 1.0.0", rows, {"here"})
    assert "| `here` | 0.9.0 | a \\| b &lt;i&gt; |" in text.split("no longer")[0]
    assert "`removed`" in text.split("no longer")[1] and "--exclude-errata auto" in text
    assert "None known" in render_errata("T 1.0.0", rows[1:], {"here"})


def test_the_command_adds_an_erratum(release, monkeypatch):
    monkeypatch.setattr("pipeline.benchmark.release.errata.add_erratum", lambda *given: given[1:])
    result = CliRunner().invoke(app, ["errata", "add", "00100101", "two cups"])
    assert result.exit_code == 0 and "'00100101', 'two cups'" in result.output


def test_an_erratum_can_be_removed(folders):
    item = next(iter(folders.read_records(Item))).item_id
    add_erratum(folders, "0.1.0", item, "wrong")
    with pytest.raises(UserError, match=f"nope: has no erratum; items with an erratum: {item}"):
        remove_erratum(folders, "nope")
    remove_erratum(folders, item)
    assert read_errata(folders) == () and not list(folders.errata.iterdir())
    result = CliRunner().invoke(app, ["errata", "remove", "00100101"])
    assert result.exit_code == 1 and "has no erratum; items with an erratum: none" in result.stderr

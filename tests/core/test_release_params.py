import pytest

from pipeline.core.errors import UserError
from pipeline.core.params import convert_params
from pipeline.core.release_params import Licence, ReleaseParams, check_release_params

LEAST = {
    "title": "T",
    "data_source": "o",
    "licence": "l",
    "licence_url": "https://l.org/",
    "release_date": "2026-01-01",
}


def test_the_section_is_read():
    given = LEAST | {
        "licence_overrides": {"images": {"name": "X", "url": "http://x.org"}},
        "derived_from": {"GQA": "https://g.org"},
        "annotation_dates": ["2026-02-03", "2026-02-04"],
    }
    p = convert_params(given, ReleaseParams, "release")
    assert (
        p.licence_overrides == {"images": Licence(name="X", url="http://x.org")}
        and p.annotation_dates[1].day == 4
    )
    assert p.creators == () and p.url == ""


def test_all_problems_are_reported_together():
    with pytest.raises(UserError) as caught:
        convert_params(
            LEAST | {"licence_overrides": {"songs": {}}, "annotated_by": "robots"}, ReleaseParams, "release"
        )
    assert [line.split(":")[0] for line in caught.value.problems[1:]] == ["licence_overrides", "annotated_by"]


def test_links_must_be_http_urls():
    bad = {
        "licence_url": "javascript:alert(1)",
        "licence_overrides": {"images": {"name": "X", "url": "x"}},
        "url": "not a url",
        "derived_from": {"GQA": "data:text/html,x"},
    }
    with pytest.raises(UserError) as caught:
        convert_params(LEAST | bad, ReleaseParams, "release")
    assert {line.split(":")[0] for line in caught.value.problems[1:]} == bad.keys()


def test_days_in_the_wrong_order_are_refused(tmp_path):
    path = tmp_path / "params.yaml"
    text = "dataset: a\na:\n  release: {title: T, annotation_dates: [%s, %s]}\n"
    path.write_text(text % ('"2026-04-09"', '"2026-03-01"'))
    with pytest.raises(UserError, match="annotation_dates"):
        check_release_params(path)
    path.write_text(text % ('"2026-03-01"', '"2026-03-01"'))
    assert "data_source, licence, licence_url, release_date are empty" in check_release_params(path)

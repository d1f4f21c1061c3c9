"""What the gate lets annotators ask for, decided without Label Studio."""

from __future__ import annotations

from typing import Any

import pytest

from annotation.server.studio.rules import RequestRefused, check, references, skips


@pytest.mark.parametrize(
    ("view", "method", "query", "body"),
    [
        ("tasks:api:task-annotations", "POST", {}, {"result": []}),
        ("tasks:api-annotations:annotation-detail", "PATCH", {}, {"result": []}),
        ("tasks:api-drafts:draft-detail", "DELETE", {}, {}),
        ("tasks:api:task-list", "HEAD", {"project": ["3"]}, {}),
        ("data_manager:dm-actions", "POST", {"project": ["3"], "id": ["next_task"]}, {}),
        ("data_manager:api:view-list", "POST", {}, {"project": 3}),
    ],
)
def test_labelling_is_allowed(
    view: str, method: str, query: dict[str, list[str]], body: dict[str, Any]
) -> None:
    check(view, method, query, body)


@pytest.mark.parametrize(
    ("view", "method", "query", "status"),
    [
        ("webhooks:api:webhook-list", "POST", {}, 403),
        ("a view of the next version", "GET", {}, 403),
        ("tasks:api-annotations:annotation-detail", "DELETE", {}, 403),
        ("tasks:api:task-detail", "PATCH", {}, 403),
        ("projects:api:project-detail", "DELETE", {}, 403),
        ("data_manager:dm-actions", "POST", {"project": ["3"], "id": ["delete_tasks"]}, 403),
        ("data_manager:dm-actions", "POST", {"project": ["3"], "id": ["next_task", "delete_tasks"]}, 403),
        ("data_manager:dm-actions", "POST", {"project": ["3"]}, 403),
        # Label Studio takes project 1 when none is named.
        ("data_manager:dm-columns", "GET", {}, 404),
        ("data_manager:dm-project", "GET", {"project": [""]}, 404),
        ("tasks:api:task-list", "GET", {"view": ["1"]}, 404),
        ("tasks:api:task-detail", "OPTIONS", {}, 403),
    ],
)
def test_all_else_is_refused(view: str, method: str, query: dict[str, list[str]], status: int) -> None:
    with pytest.raises(RequestRefused) as refusal:
        check(view, method, query, {})
    assert refusal.value.status == status


def test_everything_that_a_request_names_is_looked_at() -> None:
    named = references(
        "task",
        {"pk": 5, "annotation_id": 6},
        {"project": ["1", "2"], "taskID": ["7"], "tabID": ["0"], "page": ["9"]},
        {
            "draft_id": 0,
            "parent_annotation": None,
            "completed_by": 8,
            "project": "3",
            "result": [{"task": 99}],
        },
    )
    assert named == {
        ("task", 5),
        ("annotation", 6),
        ("project", 1),
        ("project", 2),
        ("task", 7),
        ("user", 8),
        ("project", 3),
    }


@pytest.mark.parametrize("value", ["1 or 1=1", "-1", "1.0", [1], {"id": 1}, True, "٣", " 1"])
def test_an_id_is_a_number_and_nothing_else(value: Any) -> None:
    with pytest.raises(RequestRefused):
        references("", {}, {}, {"completed_by": value})


@pytest.mark.parametrize(
    ("query", "body", "expected"),
    [
        ({}, {"result": []}, False),
        ({}, {"was_cancelled": False}, False),
        ({}, {"was_cancelled": True}, True),
        ({"was_cancelled": ["1"]}, {}, True),
        ({"was_cancelled": ["0"]}, {}, False),
        ({"was_cancelled": ["0", "true"]}, {}, True),  # which of two counts is Label Studio's affair
    ],
)
def test_a_skip_is_seen_in_the_query_and_in_what_is_sent(
    query: dict[str, list[str]], body: dict[str, Any], expected: bool
) -> None:
    assert skips(query, body) is expected

"""What an annotator's browser may ask Label Studio for. Whatever is not written here is refused.

Label Studio's open edition checks organisations in some places only (1.23.2 gives drafts, annotations, next tasks and
data-manager lists of any project to any account), and within an organisation everybody may do everything. So the gate
lets annotators do just what labelling takes, and only with what belongs to their own organisation.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

BODY_LIMIT = 1 << 20  # bytes; an answer has a few kilobytes


class Rule(NamedTuple):
    """`methods` that are allowed; `names`: what the number in the address is; `asks`: a query that must be there."""

    methods: str
    names: str = ""
    asks: str = ""


# By the name that Label Studio gives a view, which is safer than a pattern of our own for its address.
OPEN: Mapping[str, Rule] = {
    "user-login": Rule("GET POST"),
    "logout": Rule("GET"),
    "health": Rule("GET"),
    "jwt_auth:token_refresh": Rule("POST"),
    "core.utils.static_serve.serve": Rule("GET"),
    "core.views.serve_file": Rule("GET"),
    "django.views.generic.base.RedirectView": Rule("GET"),
}
LABELLING: Mapping[str, Rule] = {
    "main": Rule("GET"),
    "projects:project-index": Rule("GET"),
    "data_manager:project-data": Rule("GET", names="project"),
    "rgqa-picture": Rule("GET"),
    "current-user-whoami": Rule("GET"),
    "current-user-hotkeys": Rule("GET"),
    "user-list": Rule("GET", asks="project"),  # of their organisation: the annotator and the service account
    "version": Rule("GET"),
    "labels_manager:api-labels:label_link-list": Rule("GET", asks="project"),
    "ml:api:ml-list": Rule("GET", asks="project"),
    "projects:api:project-list": Rule("GET"),
    "projects:api:project-counts-list": Rule("GET"),
    "projects:api:project-detail": Rule("GET", names="project"),
    "projects:api:project-next": Rule("GET", names="project"),
    "projects:api:label-stream-history": Rule("GET", names="project"),
    "data_manager:dm-project": Rule("GET", asks="project"),
    "data_manager:dm-columns": Rule("GET", asks="project"),
    "data_manager:dm-actions": Rule("GET POST", asks="project"),
    "data_manager:api:view-list": Rule("GET POST", asks="project"),
    "data_manager:api:view-detail": Rule("GET PATCH", names="view"),
    "tasks:api:task-list": Rule("GET", asks="project"),
    "tasks:api:task-detail": Rule("GET", names="task"),
    "tasks:api:task-annotations": Rule("GET POST", names="task"),
    "tasks:api:task-drafts": Rule("GET POST", names="task"),
    "tasks:api:task-annotations-drafts": Rule("GET POST", names="task"),
    "tasks:api-annotations:annotation-detail": Rule("GET PATCH", names="annotation"),
    "tasks:api-annotations:annotation-convert-to-draft": Rule("POST", names="annotation"),
    "tasks:api-drafts:draft-detail": Rule("GET PATCH DELETE", names="draft"),
}
# What a number means by its name, in an address, a query or an answer that is sent.
KINDS: Mapping[str, str] = {
    "project": "project",
    "project_id": "project",
    "task": "task",
    "task_id": "task",
    "taskID": "task",
    "annotation": "annotation",
    "annotation_id": "annotation",
    "parent_annotation": "annotation",
    "draft": "draft",
    "draft_id": "draft",
    "view": "view",
    "tabID": "view",
    "completed_by": "user",
    "updated_by": "user",
    "last_created_by": "user",
    "created_by": "user",
    "user": "user",
}


class Refused(Exception):
    """The request is refused; `status` is the HTTP status (403, 404, 413, 415)."""

    def __init__(self, status: int, why: str) -> None:
        super().__init__(why)
        self.status = status


def check(view: str, method: str, query: Mapping[str, list[str]], body: Mapping[str, Any]) -> Rule:
    """The rule of LABELLING that a request of an annotator falls under.

    Raises:
        Refused: there is none, or the method or a query that it needs is not the one allowed.
    """
    rule = LABELLING.get(view)
    if rule is None or not allows(rule, method):
        raise Refused(403, "annotators may only label; ask the study leader")
    if rule.asks and not any(query.get(rule.asks, [])) and not body.get(rule.asks):
        raise Refused(404, f"the query {rule.asks} is missing")
    if view == "data_manager:dm-actions" and method == "POST" and query.get("id") != ["next_task"]:
        raise Refused(403, "annotators may only ask for their next task")
    return rule


def allows(rule: Rule, method: str) -> bool:
    return ("GET" if method == "HEAD" else method) in rule.methods.split()


def references(
    names: str, address: Mapping[str, Any], query: Mapping[str, list[str]], body: Mapping[str, Any]
) -> set[tuple[str, int]]:
    """All that a request names, as (kind, number): the gate looks whether each belongs to the annotator.

    Raises:
        Refused: a name comes with something that is no number.
    """
    found: list[tuple[str, Any]] = [
        (KINDS.get(name, names), value) for name, value in address.items() if name == "pk" or name in KINDS
    ]
    found += [(KINDS[name], value) for name, values in query.items() if name in KINDS for value in values]
    found += [(KINDS[name], value) for name, value in body.items() if name in KINDS and value is not None]
    numbers = {(kind, number(value)) for kind, value in found if value != ""}
    return {
        (kind, value) for kind, value in numbers if value
    }  # 0 is none: the data manager before it has a view


def skips(query: Mapping[str, list[str]], body: Mapping[str, Any]) -> bool:
    """Whether an answer is sent as a skip, in the query or in what is sent."""
    said = [*query.get("was_cancelled", []), body.get("was_cancelled")]
    return any(str(value).lower() in ("1", "true", "t", "yes", "y", "on") for value in said)


def number(value: Any) -> int:
    """An id as Label Studio writes it: an integer, or its digits."""
    if isinstance(value, bool) or not (
        isinstance(value, int) or (isinstance(value, str) and value.isascii() and value.isdigit())
    ):
        raise Refused(404, "an id must be a number")
    return int(value)

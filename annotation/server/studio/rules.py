"""What an annotator's browser may ask Label Studio for. Whatever is not written here is refused.

Label Studio's open edition checks organisations in some places only (1.23.2 gives drafts, annotations, next tasks and
data-manager lists of any project to any account), and within an organisation everybody may do everything. So the gate
lets annotators do just what labelling takes, and only with what belongs to their own organisation.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

BODY_LIMIT = 1 << 20  # bytes; an answer has a few kilobytes


class Rule(NamedTuple):
    """`methods` that are allowed; `names`: what the number in the address is; `asks`: a query that must be there; `open`:
    for everybody, logged in or not."""

    methods: str = "GET"
    names: str = ""
    asks: str = ""
    open: bool = False

    def allows(self, method: str) -> bool:
        return ("GET" if method == "HEAD" else method) in self.methods.split()


# By the name that Label Studio gives a view, which is safer than a pattern of our own for its address.
# `user-list` is of their organisation: the annotator and the service account.
ALLOWED: Sequence[tuple[Rule, str]] = (
    (Rule(open=True), "logout health core.utils.static_serve.serve core.views.serve_file"),
    (Rule(open=True), "django.views.generic.base.RedirectView"),
    (Rule("POST", open=True), "jwt_auth:token_refresh"),
    (Rule("GET POST", open=True), "user-login"),
    (Rule(), "main projects:project-index rgqa-picture current-user-whoami current-user-hotkeys version"),
    (Rule(), "projects:api:project-list projects:api:project-counts-list"),
    (Rule(names="project"), "data_manager:project-data projects:api:project-detail"),
    (Rule(names="project"), "projects:api:project-next projects:api:label-stream-history"),
    (Rule(asks="project"), "user-list labels_manager:api-labels:label_link-list ml:api:ml-list"),
    (Rule(asks="project"), "data_manager:dm-project data_manager:dm-columns tasks:api:task-list"),
    (Rule("GET POST", asks="project"), "data_manager:dm-actions data_manager:api:view-list"),
    (Rule("GET PATCH", names="view"), "data_manager:api:view-detail"),
    (Rule(names="task"), "tasks:api:task-detail"),
    (Rule("GET POST", names="task"), "tasks:api:task-annotations tasks:api:task-drafts"),
    (Rule("GET POST", names="task"), "tasks:api:task-annotations-drafts"),
    (Rule("GET PATCH", names="annotation"), "tasks:api-annotations:annotation-detail"),
    (Rule("POST", names="annotation"), "tasks:api-annotations:annotation-convert-to-draft"),
    (Rule("GET PATCH DELETE", names="draft"), "tasks:api-drafts:draft-detail"),
)
RULES = {view: rule for rule, views in ALLOWED for view in views.split()}
NONE = Rule(methods="")  # of every other view
# What a number means by its name, in an address, a query or an answer that is sent.
NAMES = {
    "project": "project project_id",
    "task": "task task_id taskID",
    "annotation": "annotation annotation_id parent_annotation",
    "draft": "draft draft_id",
    "view": "view tabID",
    "user": "user completed_by updated_by last_created_by created_by",
}
KINDS = {name: kind for kind, names in NAMES.items() for name in names.split()}


class RequestRefused(Exception):
    """The request is refused; `status` is the HTTP status (403, 404, 413, 415)."""

    def __init__(self, status: int, why: str) -> None:
        super().__init__(why)
        self.status = status


def check(view: str, method: str, query: Mapping[str, list[str]], body: Mapping[str, Any]) -> Rule:
    """The rule that a request of an annotator falls under.

    Raises:
        RequestRefused: there is none, or the method or a query that it needs is not the one allowed.
    """
    rule = RULES.get(view, NONE)
    if not rule.allows(method):
        raise RequestRefused(403, "annotators may only label; ask the study leader")
    if rule.asks and not any(query.get(rule.asks, [])) and not body.get(rule.asks):
        raise RequestRefused(404, f"the query {rule.asks} is missing")
    if view == "data_manager:dm-actions" and method == "POST" and query.get("id") != ["next_task"]:
        raise RequestRefused(403, "annotators may only ask for their next task")
    return rule


def references(
    names: str, address: Mapping[str, Any], query: Mapping[str, list[str]], body: Mapping[str, Any]
) -> set[tuple[str, int]]:
    """All that a request names, as (kind, number): the gate looks whether each belongs to the annotator.

    Raises:
        RequestRefused: a name comes with something that is no number.
    """
    kinds = KINDS | {"pk": names}
    asked = [(name, value) for name, values in query.items() for value in values]
    given = [*address.items(), *asked, *body.items()]
    named = {
        (kinds[name], number(value)) for name, value in given if name in kinds and value not in ("", None)
    }
    # 0 is none: the data manager before it has a view.
    return {(kind, value) for kind, value in named if value}


def skips(query: Mapping[str, list[str]], body: Mapping[str, Any]) -> bool:
    """Whether an answer is sent as a skip, in the query or in what is sent."""
    said = [*query.get("was_cancelled", []), body.get("was_cancelled")]
    return any(str(value).lower() in ("1", "true", "t", "yes", "y", "on") for value in said)


def number(value: Any) -> int:
    """An id as Label Studio writes it: an integer, or its digits."""
    if isinstance(value, bool) or not re.fullmatch("[0-9]+", str(value)):
        raise RequestRefused(404, "an id must be a number")
    return int(value)

"""The one door to Label Studio: its SDK, and around it what has to be stricter.

- The SDK takes any answer for one of Label Studio's. A server that seems to hold nothing would get everything again,
  so lists are checked.
- It sends requests that failed again, and an import that is sent twice doubles its tasks. Only reading is tried again.
- Its pages go by number, which shift when tasks come or go. Here they go by task id (filter `greater`).
- What fails in it, in httpx or on the server becomes one message that says what to do.

What was found out about version 1.23 and is relied on here:
- `include` names the fields of tasks and, with the same list, those of their annotations; fewer are much faster.
- Drafts are listed for their owner alone, but the filter `draft_exists` finds everybody's.
- The export of a project writes files on the server, and a snapshot keeps SQLite from being written for as long as it
  takes; lists do neither.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

import msgspec

from annotation.client.credentials import Connection
from annotation.study.exports import ExportedAnnotation
from pipeline.core.errors import UserError

if TYPE_CHECKING:
    from label_studio_sdk import LabelStudio as Sdk
    from label_studio_sdk.core.request_options import RequestOptions

TESTED = "1.23"
BATCH = 5_000  # tasks a request when they are imported or deleted
PAGE = 1_000  # tasks a request when they are listed
ANSWER_SECONDS = 300.0  # for an answer to begin; a batch takes a second or two, on a busy machine a minute
READ: RequestOptions = {"max_retries": 1}
COUNTS = "id,data,total_annotations,cancelled_annotations"
VERDICTS = f"{COUNTS},annotations,completed_by,result,was_cancelled,lead_time,created_at,updated_at"
Plain = Any  # dictionaries as Label Studio documents them; the SDK, which types them as its models, takes them too


class QueuedTask(msgspec.Struct):
    """A task in a project. `data` is what was imported; the counts are of verdicts and of skips."""

    id: int
    data: dict[str, Any]
    total_annotations: int
    cancelled_annotations: int
    annotations: list[ExportedAnnotation] | None = None

    @property
    def key(self) -> str | None:
        """The task's id with us; None if the task is none of ours."""
        key = self.data.get("task")
        return key if isinstance(key, str) else None


class LabelStudio:
    """A Label Studio that one token opens, when something is first asked of it. Projects and tasks are numbers.

    Raises:
        UserError: from every method, when the server does not do what it is asked; says what to do.
    """

    def __init__(self, connection: Connection) -> None:
        self.connection, self.url, self.own = connection, connection.url, connection.own

    @cached_property
    def sdk(self) -> Sdk:
        """The SDK's client, after a look at address, token and version."""
        import httpx
        from label_studio_sdk import LabelStudio as Sdk

        with self._explained():
            client = httpx.Client(timeout=httpx.Timeout(ANSWER_SECONDS, connect=10))
            token = self.connection.token
            sdk = Sdk(base_url=f"{self.url}/", api_key=token, httpx_client=client, max_retries=0)
            release = msgspec.convert(sdk.versions.get(request_options=READ).release, str)
            sdk.users.whoami(request_options=READ)
        if release.split(".")[:2] != TESTED.split("."):
            warning = f"this is Label Studio {release}; tested with {TESTED}, others may answer differently"
            print(f"warning: {warning}", file=sys.stderr)
        return sdk

    def people(self) -> dict[int, str]:
        """Number -> e-mail address of the accounts that the token may see."""
        with self._explained():
            users = self.sdk.users.list(request_options=READ)
            return {user.id: (user.email or "").lower() for user in users if user.id is not None}

    def project(self, title: str) -> int | None:
        """The project of that title, None if there is none.

        Raises:
            UserError: there are several.
        """
        with self._explained():
            pages = self.sdk.projects.list(title=title, request_options=READ)
            if pages.items is None:
                raise ValueError("no list of projects")
            numbers = [project.id for project in pages if project.title == title]
        if len(numbers) > 1:
            raise UserError(
                f"{self.url} has {len(numbers)} projects `{title}` (numbers {', '.join(map(str, numbers))}), and one is "
                "expected; open them, keep the one with the verdicts, and rename the others"
            )
        return numbers[0] if numbers else None

    def ensure_project(self, settings: Mapping[str, Any]) -> int:
        """The project of that title, made if there is none."""
        number = self.project(settings["title"])
        if number is None:
            with self._explained():
                number = msgspec.convert(self.sdk.projects.create(**settings).id, int)
        return number

    def mend(self, project: int, settings: Mapping[str, Any]) -> list[str]:
        """Put settings right that are not as wanted (changed by hand, or of an earlier version); return the names of
        those that changed by it.

        Raises:
            UserError: the labelling interface differs and verdicts hold it fast.
        """
        with self._explained():
            now = self.sdk.projects.get(project, request_options=READ)
        wrong = [name for name in settings if not same(name, getattr(now, name, None), settings[name])]
        if not wrong:
            return []
        held_fast = (
            f"the labelling interface of project `{settings['title']}` was changed, and verdicts that were given with it "
            "keep Label Studio from putting ours back:",
            "pull those verdicts, then rename this project by hand and push again: the open tasks get a new one",
        )
        with self._explained(*held_fast if "label_config" in wrong else ()):
            then = self.sdk.projects.update(project, **{name: settings[name] for name in wrong})
        # HTML that the server cleans stays different; what did not change was not put right.
        return [name for name in wrong if getattr(then, name, None) != getattr(now, name, None)]

    def count(self, project: int) -> int:
        """How many tasks the project has now."""
        with self._explained():
            return msgspec.convert(self.sdk.projects.get(project, request_options=READ).task_number, int)

    def tasks(self, project: int) -> Iterator[QueuedTask]:
        """All tasks, in the order of their numbers, with counts but without annotations."""
        return self._pages(project, COUNTS)

    def drafts(self, project: int) -> set[int]:
        """The tasks that somebody has begun and not submitted."""
        return {task.id for task in self._pages(project, COUNTS, _is("draft_exists", True))}

    def judged(self, project: int) -> Iterator[QueuedTask]:
        """The tasks with annotations, cancelled ones too; bounded memory: one page at a time."""
        yield from self._pages(project, VERDICTS, _over("total_annotations", 0))
        skipped_only = (_is("total_annotations", 0), _over("cancelled_annotations", 0))
        yield from self._pages(project, VERDICTS, *skipped_only)

    def put(self, project: int, tasks: Sequence[Plain]) -> None:
        """Import one batch of tasks.

        Raises:
            UserError: also when the server says that it took fewer.
        """
        with self._explained():
            taken = self.sdk.projects.import_tasks(project, request=tasks).task_count
        if taken is None:
            raise UserError(
                f"{self.url} imports in the background (a paid edition), unverified: not supported"
            )
        if taken != len(tasks):
            again = "run the same command again: it puts what is missing"
            raise UserError(f"{self.url} took {taken} of {len(tasks)} tasks; {again}")

    def delete(self, project: int, numbers: Sequence[int]) -> int:
        """Delete those of some tasks that have no annotation and no draft at that moment; return how many there were."""
        untouched = (_is("total_annotations", 0), _is("cancelled_annotations", 0), _is("draft_exists", False))
        gone = 0
        for start in range(0, len(numbers), BATCH):
            chosen: Plain = {"all": False, "included": numbers[start : start + BATCH]}
            with self._explained():
                answer = self.sdk.actions.with_raw_response.create(
                    id="delete_tasks", project=project, filters=_all(*untouched), selected_items=chosen
                )
                gone += answer.response.json()["processed_items"]  # the SDK itself does not hand it over
        return gone

    def serve_pictures(self, project: int, folders: Sequence[Path]) -> None:
        """Let the project's members see the pictures of these folders (on the server's machine) and nothing else.

        Label Studio sends a local file to whoever may open a project with a storage record above it.
        """
        let_it = (
            "let it serve local files: LABEL_STUDIO_LOCAL_FILES_SERVING_ENABLED=true, and as "
            "LABEL_STUDIO_LOCAL_FILES_DOCUMENT_ROOT the folder data/ of this project; or put data/ on a web server and its "
            "address into params.yaml, annotate.pictures"
        )
        storages = self.sdk.import_storage.local
        with self._explained():
            there = {storage.path for storage in storages.list(project=project, request_options=READ)}
        for path in sorted({str(folder) for folder in folders} - there):
            with self._explained(f"{self.url} cannot show the pictures of {path}:", let_it):
                storages.create(project=project, title="RGQA pictures", path=path, regex_filter="^$")

    def _pages(self, project: int, include: str, *conditions: Plain) -> Iterator[QueuedTask]:
        last = 0
        while True:
            query = {"filters": _all(_over("id", last), *conditions), "ordering": ["tasks:id"]}
            with self._explained():
                page = self.sdk.tasks.list(
                    project=project,
                    query=msgspec.json.encode(query).decode(),
                    page=1,
                    page_size=PAGE,
                    fields="all" if include == VERDICTS else "task_only",
                    include=include,
                    resolve_uri=False,
                    request_options=READ,
                )
                tasks = msgspec.convert(page.items, list[QueuedTask], from_attributes=True)
                total = msgspec.convert(page.response.total, int)
            yield from tasks
            if len(tasks) >= total or not tasks:
                return
            last = tasks[-1].id

    @contextmanager
    def _explained(self, before: str = "", after: str = "") -> Iterator[None]:
        """Turn what can go wrong on the way into one message, with a line before and a line after it."""
        import httpx
        from label_studio_sdk.core.api_error import ApiError

        # The last four: an answer of another shape, in which the SDK or we find nothing.
        wrong = (ApiError, httpx.HTTPError, httpx.InvalidURL, AttributeError, KeyError, TypeError, ValueError)
        try:
            yield
        except wrong as error:
            raise UserError([line for line in (before, self._reason(error), after) if line]) from error

    def _reason(self, error: Exception) -> str:
        import httpx
        from label_studio_sdk.core.api_error import ApiError

        again = "what was done is kept, run the same command again"
        match error:
            case ApiError():
                return self._refusal(error.status_code or 401, error.headers or {}, error.body)
            case httpx.ConnectError():
                start = "start it with: rgqa annotate serve" if self.own else "check LABEL_STUDIO_URL"
                return f"no server answers at {self.url} ({error}); {start}"
            case httpx.TimeoutException():
                return f"{self.url} gave no answer within {ANSWER_SECONDS:.0f} seconds; {again}"
            case httpx.InvalidURL() | httpx.UnsupportedProtocol():
                return f"{self.url} is no address of a server ({error}); set LABEL_STUDIO_URL"
            case httpx.HTTPError():
                return f"{self.url} broke off ({type(error).__name__}: {error}); {again}"
        return f"{self.url} answers, but is no Label Studio {TESTED} ({error}); check LABEL_STUDIO_URL"

    def _refusal(self, status: int, headers: Mapping[str, str], body: Any) -> str:
        """What an error answer comes to; `body` is a text if it is no answer of Label Studio's."""
        said = "no reason given" if isinstance(body, str) else body
        if isinstance(body, dict):
            parts = [str(body[name]) for name in ("detail", "validation_errors") if body.get(name)]
            said = "; ".join(parts) or body
        if status == 401:
            elsewhere = "make a new one in Label Studio (Account & Settings, Personal Access Token) and set LABEL_STUDIO_TOKEN"
            how = "run: rgqa annotate serve" if self.own else elsewhere
            return f"{self.url} does not accept the token ({said}): wrong, expired or called back; {how}"
        if status == 403:
            return f"{self.url} does not allow this with this token ({said}); it takes the token of somebody who may make projects"
        if 300 <= status < 400:
            where = headers.get("location", "")
            return f"{self.url} sends us on to {where}; set LABEL_STUDIO_URL to what answers itself"
        if isinstance(body, str):
            what = "is no Label Studio" if status < 500 else f"is in trouble (status {status})"
            return f"{self.url} answers, but {what}; check LABEL_STUDIO_URL and the server's log"
        return f"{self.url} says: {said} (status {status}); what was done is kept"


def same(name: str, now: Any, wanted: Any) -> bool:
    """Whether a setting is as wanted; of the labelling interface, the meaning counts and not the spaces."""
    return now == wanted or (name == "label_config" and _canonical(now) == _canonical(wanted))


def _canonical(xml: Any) -> str | None:
    try:
        return " ".join(ElementTree.canonicalize(xml, strip_text=True).split())
    except (ElementTree.ParseError, TypeError, ValueError):
        return None


def _all(*conditions: Plain) -> Plain:
    return {"conjunction": "and", "items": conditions}


def _is(column: str, value: bool | int) -> Plain:
    kind = "Boolean" if isinstance(value, bool) else "Number"
    return {"filter": f"filter:tasks:{column}", "operator": "equal", "type": kind, "value": value}


def _over(column: str, value: int) -> Plain:
    return _is(column, value) | {"operator": "greater"}

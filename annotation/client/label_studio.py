"""The one door to Label Studio's HTTP API, with the SDK's handling of tokens.

What was found out about version 1.23 and is relied on here:
- Lists of tasks are paged by task id (filter `greater`), as pages by number shift when tasks come or go.
- `include` names the fields of tasks and, with the same list, those of their annotations; fewer are much faster.
- Drafts are listed for their owner alone, but the filter `draft_exists` finds everybody's.
- The export of a project writes files on the server, and a snapshot keeps SQLite from being written for as long as it
  takes; lists do neither.
- Repeating an import doubles its tasks, so a request that changes something is never sent again by itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import msgspec

from annotation.client.secrets import Connection
from pipeline.core.errors import UserError

TESTED = "1.23"
BATCH = 5_000  # tasks a request when they are imported or deleted
PAGE = 1_000  # tasks a request when they are listed
ANSWER_SECONDS = 300  # for an answer to begin; a batch takes a second or two, on a busy machine a minute
COUNTS = "id,data,total_annotations,cancelled_annotations"
VERDICTS = "id,data,annotations,completed_by,result,was_cancelled,lead_time,created_at,updated_at"
Settings = Mapping[str, Any]


class Project(msgspec.Struct):
    """A project; `task_number` counts its tasks."""

    id: int
    title: str
    task_number: int | None = None


class Annotation(msgspec.Struct, omit_defaults=False):
    """What somebody gave; `completed_by` is a number here, an object in some answers."""

    id: int
    result: list[dict[str, Any]]
    completed_by: int | dict[str, Any] | None = None
    was_cancelled: bool = False
    lead_time: float | None = None
    created_at: str = ""
    updated_at: str = ""


class Listed(msgspec.Struct):
    """A task in a project. `data` is what was imported; the counts are of verdicts and of skips."""

    id: int
    data: dict[str, Any] = {}
    total_annotations: int = 0
    cancelled_annotations: int = 0
    annotations: list[Annotation] = []

    @property
    def key(self) -> str | None:
        """The task's id with us; None if the task is none of ours."""
        key = self.data.get("task")
        return key if isinstance(key, str) else None


class _Page(msgspec.Struct):
    tasks: list[Listed]
    total: int


class _Projects(msgspec.Struct):
    results: list[Project]
    next: str | None = None


class LabelStudio:
    """A Label Studio that one token opens.

    Raises:
        UserError: from every method, when the server does not do what it is asked; says what to do.
    """

    def __init__(self, connection: Connection, answer_seconds: float = ANSWER_SECONDS) -> None:
        import httpx
        from label_studio_sdk import LabelStudio as Sdk

        self.url, self.own = connection.url.rstrip("/"), connection.own
        self.answer_seconds = answer_seconds
        with self._told():
            client = httpx.Client(timeout=httpx.Timeout(answer_seconds, connect=10))
            sdk = Sdk(base_url=f"{self.url}/", api_key=connection.token, httpx_client=client, max_retries=0)
        self._http = (
            sdk._client_wrapper.httpx_client
        )  # adds the token, and fetches an access token for a personal one

    def check(self) -> str:
        """The server's version, after a look at address and token."""
        answer = self._ask("GET", "api/version")
        release = answer.get("release") if isinstance(answer, dict) else None
        if not isinstance(release, str):
            raise UserError(
                f"{self.url} answers, but is no Label Studio; check the address (LABEL_STUDIO_URL)"
            )
        self._ask("GET", "api/current-user/whoami")
        return release

    def people(self) -> dict[int, str]:
        """Number -> e-mail address of the accounts that the token may see."""
        rows = self._ask("GET", "api/users/")
        rows = rows.get("results", []) if isinstance(rows, dict) else rows
        return {row["id"]: row.get("email", "").lower() for row in rows}

    def project(self, title: str) -> Project | None:
        """The project of that title.

        Raises:
            UserError: there are several.
        """
        found, number = [], 1
        while True:
            page = self._ask(
                "GET", "api/projects/", {"title": title, "page": number, "page_size": 100}, kind=_Projects
            )
            found += [project for project in page.results if project.title == title]
            if not page.next:
                break
            number += 1
        if len(found) > 1:
            numbers = ", ".join(str(project.id) for project in found)
            raise UserError(
                f"{self.url} has {len(found)} projects `{title}` (numbers {numbers}), and one is expected; open them, "
                "keep the one with the verdicts, and rename the others"
            )
        return found[0] if found else None

    def made(self, settings: Settings) -> Project:
        """The project of that title, made if there is none."""
        found = self.project(settings["title"])
        return found or self._ask("POST", "api/projects/", body=settings, kind=Project)

    def mend(self, project: Project, settings: Settings) -> list[str]:
        """Put settings right that are not as wanted (changed by hand, or of an earlier version); return the names of those that
        changed by it.

        Raises:
            UserError: the labelling interface differs and verdicts hold it fast.
        """
        now = self._ask("GET", f"api/projects/{project.id}/")
        wrong = [name for name, value in settings.items() if not same(name, now.get(name), value)]
        if wrong:
            try:
                then = self._ask(
                    "PATCH", f"api/projects/{project.id}/", body={name: settings[name] for name in wrong}
                )
            except UserError as error:
                if "label_config" not in wrong:
                    raise
                raise UserError(
                    [
                        f"the labelling interface of project `{project.title}` was changed, and verdicts that were given with "
                        + "it keep Label Studio from putting ours back:",
                        *error.problems,
                        "pull those verdicts, then rename this project by hand and push again: the open tasks get a new one",
                    ]
                ) from error
            # HTML that the server cleans stays different; what did not change was not put right.
            wrong = [name for name in wrong if then.get(name) != now.get(name)]
        return wrong

    def count(self, project: Project) -> int:
        """How many tasks the project has now."""
        return self._ask("GET", f"api/projects/{project.id}/", kind=Project).task_number or 0

    def tasks(self, project: Project) -> Iterator[Listed]:
        """All tasks, in the order of their numbers, with counts but without annotations."""
        return self._pages(project, COUNTS)

    def with_drafts(self, project: Project) -> set[int]:
        """Numbers of the tasks that somebody has begun and not submitted."""
        return {task.id for task in self._pages(project, "id", [_is("draft_exists", True)])}

    def judged(self, project: Project) -> Iterator[Listed]:
        """The tasks with annotations, cancelled ones too; bounded memory: one page at a time."""
        for condition in (
            [_over("total_annotations", 0)],
            [_is("total_annotations", 0), _over("cancelled_annotations", 0)],
        ):
            yield from self._pages(project, VERDICTS, condition, fields="all")

    def put(self, project: Project, tasks: Sequence[Mapping[str, Any]]) -> None:
        """Import one batch of tasks.

        Raises:
            UserError: also when the server says that it took fewer.
        """
        answer = self._ask("POST", f"api/projects/{project.id}/import", body=tasks)
        taken = answer.get("task_count")
        if taken is None and "import" in answer:
            raise UserError(
                f"{self.url} imports in the background (a paid edition); push cannot verify that: not supported"
            )
        if taken != len(tasks):
            raise UserError(
                f"{self.url} took {taken} of {len(tasks)} tasks; run the same command again: it puts what is missing"
            )

    def delete(self, project: Project, numbers: Sequence[int]) -> int:
        """Delete those of some tasks that have no annotation and no draft at that moment; return how many there were."""
        gone = 0
        for start in range(0, len(numbers), BATCH):
            body = {
                "selectedItems": {"all": False, "included": list(numbers[start : start + BATCH])},
                "filters": _all(
                    [_is("total_annotations", 0), _is("cancelled_annotations", 0), _is("draft_exists", False)]
                ),
            }
            answer = self._ask("POST", "api/dm/actions/", {"id": "delete_tasks", "project": project.id}, body)
            gone += answer["processed_items"]
        return gone

    def serve_pictures(self, project: Project, folders: Sequence[Path]) -> None:
        """Let the project's members see the pictures of these folders (on the server's machine) and nothing else.

        Label Studio sends a local file to whoever may open a project with a storage record above it.
        """
        known = self._ask("GET", "api/storages/localfiles/", {"project": project.id})
        known = known.get("results", []) if isinstance(known, dict) else known
        there = {row.get("path") for row in known}
        for folder in folders:
            if str(folder) not in there:
                record = {
                    "project": project.id,
                    "title": "RGQA pictures",
                    "path": str(folder),
                    "regex_filter": "^$",
                }
                try:
                    self._ask("POST", "api/storages/localfiles/", body=record)
                except UserError as error:
                    raise UserError(
                        [
                            f"{self.url} cannot show the pictures of {folder}:",
                            *error.problems,
                            "let it serve local files: LABEL_STUDIO_LOCAL_FILES_SERVING_ENABLED=true, and as "
                            + "LABEL_STUDIO_LOCAL_FILES_DOCUMENT_ROOT the folder data/ of this project;",
                            "or put data/ on a web server and its address into params.yaml, annotate.pictures",
                        ]
                    ) from error

    def _pages(
        self, project: Project, include: str, conditions: Sequence[dict] = (), fields: str = "task_only"
    ) -> Iterator[Listed]:
        last = 0
        while True:
            query = {"filters": _all([_over("id", last), *conditions]), "ordering": ["tasks:id"]}
            page = self._ask(
                "GET",
                "api/tasks/",
                {
                    "project": project.id,
                    "query": msgspec.json.encode(query).decode(),
                    "page": 1,
                    "page_size": PAGE,
                    "fields": fields,
                    "include": include,
                    "resolve_uri": "false",
                },
                kind=_Page,
            )
            yield from page.tasks
            if len(page.tasks) >= page.total or not page.tasks:
                return
            last = page.tasks[-1].id

    def _ask(
        self, method: str, path: str, params: Mapping | None = None, body: Any = None, kind: Any = Any
    ) -> Any:
        """One request and its answer as `kind`. Only reading is tried a second time."""
        with self._told():
            answer = self._http.request(
                path,
                method=method,
                params=params,
                content=None if body is None else msgspec.json.encode(body),
                headers={"Content-Type": "application/json"},
                request_options={"max_retries": 1 if method == "GET" else 0},
            )
        if answer.status_code >= 300:
            raise UserError(
                self._refusal(answer.status_code, answer.headers.get("location", ""), answer.content)
            )
        if not answer.content:
            return None
        try:
            return msgspec.json.decode(answer.content, type=kind)
        except msgspec.DecodeError as error:
            raise UserError(
                f"{self.url} answers, but not as a Label Studio does ({path}: {error}); check the address (LABEL_STUDIO_URL); "
                f"tested with {TESTED}"
            ) from error

    def _refusal(self, status: int, location: str, content: bytes) -> str:
        said = _words(content)
        if status == 401:
            how = (
                "run: rgqa annotate serve"
                if self.own
                else "make a new one in Label Studio (Account & Settings, Personal Access Token) and set LABEL_STUDIO_TOKEN"
            )
            return f"{self.url} does not accept the token ({said or 'no reason given'}); it is wrong, expired or called back: {how}"
        if status == 403:
            return f"{self.url} does not allow this with this token ({said}); it takes the token of somebody who may make projects"
        if status in (301, 302, 307, 308):
            return f"{self.url} sends us on to {location}; set LABEL_STUDIO_URL to the address that answers itself"
        if said is None:
            what = "is no Label Studio" if status < 500 else f"is in trouble (status {status})"
            return (
                f"{self.url} answers, but {what}; check the address (LABEL_STUDIO_URL) and the server's log"
            )
        return f"{self.url} says: {said} (status {status}); what was done is kept"

    @contextmanager
    def _told(self) -> Iterator[None]:
        """Turn what can go wrong on the way into one message."""
        import httpx
        from label_studio_sdk.core.api_error import ApiError

        again = "what was done is kept, run the same command again"
        try:
            yield
        except ApiError as error:  # the token's own faults
            body = error.body if isinstance(error.body, dict) else {}
            raise UserError(self._refusal(error.status_code or 401, "", msgspec.json.encode(body))) from error
        except httpx.ConnectError as error:
            start = (
                "start it with: rgqa annotate serve" if self.own else "check the address (LABEL_STUDIO_URL)"
            )
            raise UserError(f"no server answers at {self.url} ({error}); {start}") from error
        except httpx.TimeoutException as error:
            raise UserError(
                f"{self.url} gave no answer within {self.answer_seconds:.0f} seconds; {again}"
            ) from error
        except (httpx.InvalidURL, httpx.UnsupportedProtocol) as error:
            raise UserError(
                f"{self.url} is no address of a server ({error}); set LABEL_STUDIO_URL"
            ) from error
        except httpx.HTTPError as error:
            raise UserError(f"{self.url} broke off ({type(error).__name__}: {error}); {again}") from error
        except ValueError as error:  # the SDK reads the answer to a token as JSON, whatever it is
            raise UserError(
                f"{self.url} answers, but is no Label Studio; check the address (LABEL_STUDIO_URL)"
            ) from error


def other_version(release: str) -> str | None:
    """A warning if the server's version was not tested."""
    if release.split(".")[:2] == TESTED.split("."):
        return None
    return f"warning: this is Label Studio {release}; tested with {TESTED}, others may answer differently"


def same(name: str, now: Any, wanted: Any) -> bool:
    """Whether a setting is as wanted; of the labelling interface, the meaning counts and not the spaces."""
    if name != "label_config":
        return now == wanted
    try:
        return _canonical(now) == _canonical(wanted)
    except (ElementTree.ParseError, TypeError):
        return False


def _canonical(xml: str) -> str:
    return " ".join(ElementTree.canonicalize(xml, strip_text=True).split())


def _words(content: bytes) -> str | None:
    """What an error answer says; None if it is no answer of Label Studio's."""
    try:
        answer = msgspec.json.decode(content)
    except msgspec.DecodeError:
        return None
    if isinstance(answer, dict):
        wrong = answer.get("validation_errors")
        parts = [str(answer["detail"])] if answer.get("detail") else []
        return "; ".join([*parts, *([str(wrong)] if wrong else [])]) or str(answer)
    return str(answer)


def _all(conditions: Sequence[dict]) -> dict:
    return {"conjunction": "and", "items": list(conditions)}


def _is(column: str, value: bool | int) -> dict:
    kind = "Boolean" if isinstance(value, bool) else "Number"
    return {"filter": f"filter:tasks:{column}", "operator": "equal", "type": kind, "value": value}


def _over(column: str, value: int) -> dict:
    return {"filter": f"filter:tasks:{column}", "operator": "greater", "type": "Number", "value": value}

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

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

import httpx
import msgspec
from label_studio_sdk.core.api_error import ApiError

from annotation.study.exports import ExportedAnnotation, Person
from pipeline.core.errors import UserError, counted, warn

if TYPE_CHECKING:
    from label_studio_sdk import LabelStudio as Sdk

TESTED = "1.23"
BATCH = 5_000  # tasks a request when they are imported or deleted
PAGE = 1_000  # tasks a request when they are listed
ANSWER_SECONDS = 300.0  # for an answer to begin; a batch takes a second or two, on a busy machine a minute
COUNTS = "id,data,total_annotations,cancelled_annotations"
VERDICTS = f"{COUNTS},annotations,completed_by,result,was_cancelled,lead_time,created_at,updated_at"
Plain = Any  # dictionaries as Label Studio documents them; the SDK, which types them as its models, takes them too
READ: Plain = {"max_retries": 1}


class QueuedTask(msgspec.Struct):
    """A task in a project. `data` is what was imported; the counts are of verdicts and of skips."""

    id: int
    data: dict[str, Any]
    total_annotations: int
    cancelled_annotations: int
    annotations: list[ExportedAnnotation] | None = None

    @property
    def given(self) -> int:
        """Verdicts and skips."""
        return self.total_annotations + self.cancelled_annotations

    @property
    def key(self) -> str:
        """The task's id with us; "" if the task is none of ours."""
        key = self.data.get("task")
        return key if isinstance(key, str) else ""


class LabelStudio:
    """A Label Studio that one token opens, when something is first asked of it. `own` is true for the server that `serve`
    runs. Projects and tasks are numbers.

    Raises:
        UserError: from every method, when the server does not do what it is asked; says what to do.
    """

    def __init__(self, url: str, token: str, own: bool = False) -> None:
        self.url, self.token, self.own = url, token, own

    @cached_property
    def sdk(self) -> Sdk:
        """The SDK's client, after a look at address, token and version."""
        from label_studio_sdk import LabelStudio as Sdk

        with self._explained():
            # What runs here is not asked for by a proxy: that would get the administrator's token.
            client = httpx.Client(timeout=httpx.Timeout(ANSWER_SECONDS, connect=10), trust_env=not self.own)
            sdk = Sdk(base_url=f"{self.url}/", api_key=self.token, httpx_client=client, max_retries=0)
            release = msgspec.convert(sdk.versions.get(request_options=READ).release, str)
            sdk.users.whoami(request_options=READ)
        if release.split(".")[:2] != TESTED.split("."):
            warning = f"this is Label Studio {release}; tested with {TESTED}, others may answer differently"
            warn(warning)
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
        with self._explained():
            there = self.project(settings["title"])
            return there or msgspec.convert(self.sdk.projects.create(**settings).id, int)

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

    def tasks(self, project: int | None, *conditions: Plain, include: str = COUNTS) -> Iterator[QueuedTask]:
        """The tasks that meet some conditions, in the order of their numbers; bounded memory: one page at a time.

        Args:
            project: None has no tasks.
            include: COUNTS, or VERDICTS for their annotations too.
        """
        last = None if project is None else 0
        while last is not None:
            query = {"filters": _all(_is("id", last, "greater"), *conditions), "ordering": ["tasks:id"]}
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
            last = tasks[-1].id if 0 < len(tasks) < total else None

    def report(self) -> dict[str, Any]:
        """What our own server tells of every data set: tasks, votes, people (annotation/server/label_studio_app/admin_api.py)."""
        return self._desk("GET", "report")

    def forget(self, email: str) -> dict[str, int]:
        """Delete all that our own server has of somebody; how many annotations, places and accounts it was."""
        return self._desk("POST", "forget", json={"email": email})

    def delete_answers(self, project: int | None, email: str) -> int:
        """Delete all annotations of somebody in a project; how many there were."""
        theirs = {number for number, address in self.people().items() if address == email.lower()}
        given = [one for task in self.judged(project) for one in task.annotations or ()]
        gone = 0
        for one in given:
            number = one.completed_by.id if isinstance(one.completed_by, Person) else one.completed_by
            if number in theirs:
                with self._explained():
                    self.sdk.annotations.delete(int(one.id))
                gone += 1
        return gone

    def _desk(self, method: str, name: str, **more: Any) -> Any:
        with self._explained():
            http = self.sdk._client_wrapper.httpx_client  # with the SDK's token
            answer = http.request(f"desk/{name}", method=method, **more)
            answer.raise_for_status()
            return answer.json()

    def judged(self, project: int | None) -> Iterator[QueuedTask]:
        """The tasks with annotations, cancelled ones too."""
        yield from self.tasks(project, _is("total_annotations", 0, "greater"), include=VERDICTS)
        skipped_only = _is("total_annotations", 0), _is("cancelled_annotations", 0, "greater")
        yield from self.tasks(project, *skipped_only, include=VERDICTS)

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
            raise UserError(f"{self.url} took {taken} of {counted(len(tasks), 'task')}; {again}")

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

    def serve_pictures(self, project: int, folder: Path) -> None:
        """Let the project's members see the pictures of a folder (on the server's machine) and nothing else.

        Label Studio sends a local file to whoever may open a project with a storage record above it.
        """
        let_it = (
            "let it serve local files: LABEL_STUDIO_LOCAL_FILES_SERVING_ENABLED=true, and as "
            "LABEL_STUDIO_LOCAL_FILES_DOCUMENT_ROOT the folder data/ of this project; or put data/ on a web server and its "
            "address into params.yaml, annotate.pictures"
        )
        storages, path = self.sdk.import_storage.local, str(folder)
        with self._explained(f"{self.url} cannot show the pictures of {path}:", let_it):
            there = storages.list(project=project, request_options=READ)
            if path not in [storage.path for storage in there]:
                storages.create(project=project, title="RGQA pictures", path=path, regex_filter="^$")

    @contextmanager
    def _explained(self, before: str = "", after: str = "") -> Iterator[None]:
        """Turn what can go wrong on the way into one message, with a line before and a line after it."""
        # The last four: an answer of another shape, in which the SDK or we find nothing.
        wrong = (ApiError, httpx.HTTPError, httpx.InvalidURL, AttributeError, KeyError, TypeError, ValueError)
        try:
            yield
        except wrong as error:
            raise UserError([line for line in (before, self._reason(error), after) if line]) from error

    def _reason(self, error: Exception) -> str:
        """What an error comes to. The `body` of an error answer is a text if it is none of Label Studio's."""
        url, check = self.url, "check LABEL_STUDIO_URL"
        kept = "what was done is kept"
        again = f"{kept}, run the same command again"
        match error:
            case ApiError(status_code=401 | None, body=body):
                elsewhere = "make a new one in Label Studio (Account & Settings, Personal Access Token) and set LABEL_STUDIO_TOKEN"
                how = "run: rgqa annotate serve" if self.own else elsewhere
                said = f"({_said(body)}): wrong, expired or called back"
                return f"{url} does not accept the token {said}; {how}"
            case ApiError(status_code=403, body=body):
                return f"{url} does not allow this with this token ({_said(body)}); it takes the token of somebody who may make projects"
            case ApiError(status_code=int(status), headers=headers) if 300 <= status < 400:
                where = (headers or {}).get("location", "")
                return f"{url} sends us on to {where}; set LABEL_STUDIO_URL to what answers itself"
            case ApiError(status_code=status, body=str()):
                known = f"is in trouble (status {status})" if (status or 0) >= 500 else "is no Label Studio"
                return f"{url} answers, but {known}; {check} and the server's log"
            case ApiError(status_code=status, body=body):
                return f"{url} says: {_said(body)} (status {status}); {kept}"
            case httpx.ConnectError():
                return f"no server answers at {url} ({error}); {'start it with: rgqa annotate serve' if self.own else check}"
            case httpx.TimeoutException():
                return f"{url} gave no answer within {ANSWER_SECONDS:.0f} seconds; {again}"
            case httpx.InvalidURL() | httpx.UnsupportedProtocol():
                return f"{url} is no address of a server ({error}); set LABEL_STUDIO_URL"
            case httpx.HTTPError():
                return f"{url} broke off ({type(error).__name__}: {error}); {again}"
        return f"{url} answers, but is no Label Studio {TESTED} ({error}); {check}"


def _said(body: Any) -> Any:
    """Why Label Studio refuses: of its answer the parts that tell it."""
    if isinstance(body, str):
        return "no reason given"
    parts = [body.get("detail"), body.get("validation_errors")] if isinstance(body, dict) else []
    return "; ".join(str(part) for part in parts if part) or body


def same(name: str, now: Any, wanted: Any) -> bool:
    """Whether a setting is as wanted; of the labelling interface, the meaning counts and not the spaces."""
    if name == "label_config":
        with suppress(ElementTree.ParseError, TypeError, ValueError):
            now, wanted = (ElementTree.canonicalize(xml, strip_text=True).split() for xml in (now, wanted))
    return now == wanted


def _all(*conditions: Plain) -> Plain:
    return {"conjunction": "and", "items": conditions}


def _is(column: str, value: bool | int, operator: str = "equal") -> Plain:
    kind = "Boolean" if isinstance(value, bool) else "Number"
    return {"filter": f"filter:tasks:{column}", "operator": operator, "type": kind, "value": value}

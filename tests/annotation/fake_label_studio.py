"""A small Label Studio on 127.0.0.1: the part of its API that we use, with faults on demand."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

TOKEN = "f" * 40


class FakeLabelStudio:
    """State and faults. `fault(method, path, number)` is asked before each request, `after` once it was carried out; what
    they return is done: "drop" the connection, or (status, content type, body)."""

    def __init__(self) -> None:
        self.release = "1.23.2"
        self.projects: dict[int, dict] = {}
        self.tasks: dict[int, dict] = {}  # with project, annotations, drafts
        self.storages: list[dict] = []
        self.people = {1: "leader@example.org"}
        self.report: dict = {}  # what our own server reports
        self.requests: list[tuple[str, str]] = []
        self.fault: Callable = lambda *_: None
        self.after: Callable = lambda *_: None
        self.refuse_settings = False
        self.cleans = False  # instructions, as the real one does with HTML that it does not like
        self._numbers = iter(range(1, 10**9))
        self._annotations = iter(range(1, 10**9))
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (Handler,), {"fake": self}))
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True
        ).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def project(self, title: str) -> dict:
        (found,) = [project for project in self.projects.values() if project["title"] == title]
        return found

    def in_project(self, title: str) -> list[dict]:
        number = self.project(title)["id"]
        return [task for task in self.tasks.values() if task["project"] == number]

    def keys(self, title: str) -> list[str]:
        return [task["data"]["task"] for task in self.in_project(title)]

    def put(self, project: int, data: dict) -> dict:
        task = {"id": next(self._numbers), "project": project, "data": data, "annotations": [], "drafts": 0}
        self.tasks[task["id"]] = task
        return task

    def annotate(
        self,
        task: dict,
        first: str = "valid",
        second: str = "invalid",
        person: int | None = 7,
        **more: object,
    ) -> dict:
        number = next(self._annotations)
        result = [
            {"from_name": name, "to_name": "image", "type": "choices", "value": {"choices": [choice]}}
            for name, choice in (("first", first), ("second", second))
        ]
        when = f"2026-01-01T{number // 3600:02}:{number // 60 % 60:02}:{number % 60:02}.000000Z"
        annotation = {
            "id": number,
            "completed_by": person,
            "result": result,
            "was_cancelled": False,
            "lead_time": 4.5,
            "created_at": when,
            "updated_at": when,
        } | more
        task["annotations"].append(annotation)
        return annotation


class Handler(BaseHTTPRequestHandler):
    fake: FakeLabelStudio
    protocol_version = "HTTP/1.1"

    def log_message(self, *_: object) -> None:
        pass

    def do_GET(self) -> None:
        self.serve()

    do_POST = do_PATCH = do_DELETE = do_GET

    def serve(self) -> None:
        fake, address = self.fake, urlsplit(self.path)
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        fake.requests.append((self.command, address.path))
        number = sum(request == (self.command, address.path) for request in fake.requests)
        fault = fake.fault(self.command, address.path, number)
        if fault is None:
            answer = self.answer(
                address.path,
                {k: v[-1] for k, v in parse_qs(address.query).items()},
                json.loads(body or b"null"),
            )
            fault = fake.after(self.command, address.path, number)
        if fault == "drop":
            self.close_connection = True
            self.connection.close()
            return
        status, kind, content = fault or (answer[0], "application/json", json.dumps(answer[1]).encode())
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def answer(self, path: str, query: dict, body: object) -> tuple[int, object]:
        fake = self.fake
        if path == "/api/version/":
            return 200, {"release": fake.release}
        if path == "/api/token/refresh/":
            return (
                (200, {"access": TOKEN})
                if body["refresh"].endswith(".good")
                else (401, {"detail": "Token is invalid or expired"})
            )
        if self.headers.get("Authorization") not in (f"Token {TOKEN}", f"Bearer {TOKEN}"):
            return 401, {"detail": "Invalid token."}
        parts = path.strip("/").split("/")
        if fake.cleans and isinstance(body, dict) and "expert_instruction" in body:
            body["expert_instruction"] = "cleaned"
        if path == "/annotate/report":
            return 200, fake.report
        if path == "/annotate/erase":
            gone = [
                fake.people.pop(number) for number, email in [*fake.people.items()] if email == body["email"]
            ]
            return 200, {"annotations": 2, "assignments": 3, "accounts": len(gone)}
        if parts[:2] == ["api", "annotations"] and self.command == "DELETE":
            for task in fake.tasks.values():
                task["annotations"] = [row for row in task["annotations"] if row["id"] != int(parts[2])]
            return 200, None
        if path == "/api/current-user/whoami":
            return 200, {"id": 1}
        if path == "/api/users/":
            return 200, [{"id": number, "email": email} for number, email in fake.people.items()]
        if path == "/api/storages/localfiles/":
            if self.command == "GET":
                return 200, [row for row in fake.storages if row["project"] == int(query["project"])]
            fake.storages.append(body)
            return 201, body
        if path == "/api/projects/":
            if self.command == "POST":
                project = {"id": next(fake._numbers), **body}
                fake.projects[project["id"]] = project
                return 201, project
            rows = [row for row in fake.projects.values() if query.get("title", "") in row["title"]]
            start = (int(query["page"]) - 1) * 2  # two per page, to test paging
            more = "more" if len(rows) > start + 2 else None
            return 200, {"count": len(rows), "next": more, "results": rows[start : start + 2]}
        if parts[:2] == ["api", "projects"] and parts[-1] == "import":
            for row in body:
                fake.put(int(parts[2]), row["data"])
            return 201, {"task_count": len(body)}
        if parts[:2] == ["api", "projects"]:
            project = fake.projects[int(parts[2])]
            if self.command == "PATCH":
                if fake.refuse_settings:
                    return 400, {
                        "detail": "Validation error",
                        "validation_errors": {"label_config": ["Created annotations"]},
                    }
                project |= body
            return 200, project | {
                "task_number": sum(task["project"] == project["id"] for task in fake.tasks.values())
            }
        if path == "/api/tasks/":
            rows = self.chosen(int(query["project"]), json.loads(query["query"])["filters"])
            page = rows[: int(query["page_size"])]
            return 200, {
                "total": len(rows),
                "tasks": [self.shown(task, query["include"].split(",")) for task in page],
            }
        if path == "/api/dm/actions/" and query["id"] == "delete_tasks":
            included = set(body["selectedItems"]["included"])
            rows = [
                task for task in self.chosen(int(query["project"]), body["filters"]) if task["id"] in included
            ]
            for task in rows:
                del fake.tasks[task["id"]]
            return 200, {"processed_items": len(rows)}
        return 404, {"detail": f"no such address {path}"}

    def chosen(self, project: int, filters: dict) -> list[dict]:
        assert filters["conjunction"] == "and"
        rows = [task for task in self.fake.tasks.values() if task["project"] == project]
        for row in filters["items"]:
            column, value = row["filter"].removeprefix("filter:tasks:"), row["value"]
            fits = {"equal": lambda a, b: a == b, "greater": lambda a, b: a > b}[row["operator"]]
            rows = [task for task in rows if fits(self.column(task, column), value)]
        return sorted(rows, key=lambda task: task["id"])

    @staticmethod
    def column(task: dict, name: str) -> object:
        cancelled = sum(annotation["was_cancelled"] for annotation in task["annotations"])
        return {
            "id": task["id"],
            "total_annotations": len(task["annotations"]) - cancelled,
            "cancelled_annotations": cancelled,
            "draft_exists": task["drafts"] > 0,
        }[name]

    def shown(self, task: dict, names: list[str]) -> dict:
        whole = {"id": task["id"], "data": task["data"]}
        whole |= {name: self.column(task, name) for name in ("total_annotations", "cancelled_annotations")}
        whole["annotations"] = [{k: v for k, v in row.items() if k in names} for row in task["annotations"]]
        return {name: value for name, value in whole.items() if name in names}

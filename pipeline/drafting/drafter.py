"""Draft questions and scene graphs of a folder of photographs with a vision model (`rgqa draft`).

1. First look: the model lists objects with boxes, attributes and relations, and writes questions about them.
2. Questions: the model gets each question in a request of its own, without its list. A question that it now answers differently,
   or cannot answer, is left out.
3. Third look: objects that the model doubts, and those of questions that were left out, are shown alone. An object that the
   model then calls something else is left out, with its questions.

What remains is written in the formats that the pipeline reads, with the name of the model in each row.

    questions.csv                          a table of questions, with the column drafted_by
    sceneGraphs/testdev_sceneGraphs.json   scene graphs in the format of GQA, with the key draftedBy
    rejected.jsonl                         everything that was left out, with the reason
    answers.jsonl                          the journal: every reply as it came
    draft.json                             settings, and counts by type and reason
"""

from __future__ import annotations

import csv
import io
import shlex
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from pipeline.core.atomic_files import atomic_write, write_text
from pipeline.core.errors import UserError, format_count, warn
from pipeline.core.json_files import write_jsonl
from pipeline.core.output_paths import Output, check_output_paths
from pipeline.drafting.answer_comparison import compare_answers
from pipeline.drafting.images import Photographs
from pipeline.drafting.look_reader import DraftObject, DraftQuestion, Look, Rejected, RejectedKind, read_look
from pipeline.drafting.prompts import QUESTION_TYPES, BoxUnit, DraftPrompts
from pipeline.drafting.requests import (
    DraftFolder,
    DraftRequest,
    RequestSession,
    make_request_options,
    require_vision_model,
)
from pipeline.drafting.selection import choose_questions
from pipeline.drafting.third_look import MAX_CROPS, find_doubtful_objects, settle_object
from pipeline.inference.cost_forecast import Prices, format_duration
from pipeline.inference.run_options import make_folder_name
from pipeline.language.nouns import get_grammatical_number
from pipeline.sources.gqa_files import GqaObject, GqaRelation, GqaSceneGraph
from pipeline.sources.large_json import write_members
from pipeline.tasks.gold_questions import make_existence_question

# The type of questions about objects that the model called absent.
ABSENT_TYPE = "absent object"
SPLIT = "testdev"


class DraftOptions(NamedTuple):
    """The options of `rgqa draft`.

    Attributes:
        images: Folder of photographs.
        model: Name of the model on the server, or in inspect_ai.
        server: Base URL of an OpenAI-compatible server; "" to use a provider of inspect_ai.
        out: Folder of the draft; None for drafts/<folder>-<model>.
        questions_per_image: Maximum number of questions of an image in the table.
        box_unit: Unit in which the model gives boxes.
        max_image_size: Maximum length of the longer side of images that are sent, in pixels; 0 for the original size.
        max_tokens: Maximum length of a reply in tokens.
        max_connections: Number of requests at the same time; 0 for the default.
        prices: Prices for the forecast.
        yes: Whether to continue after the forecast without asking.
    """

    images: Path
    model: str
    server: str = ""
    out: Path | None = None
    questions_per_image: int = 10
    box_unit: BoxUnit = "thousandths"
    max_image_size: int = 1024
    max_tokens: int = 8192
    max_connections: int = 0
    prices: Prices = Prices()
    yes: bool = False

    @property
    def output_folder(self) -> Path:
        """The folder of the draft."""
        name = f"{self.images.resolve().name}-{self.model}"
        return self.out or Path("drafts") / make_folder_name(name)

    @property
    def prompts(self) -> DraftPrompts:
        """The texts of the requests. A fifth more questions are asked for than are needed."""
        return DraftPrompts(-(-self.questions_per_image * 6 // 5), self.box_unit)


class Draft(NamedTuple):
    """What was drafted.

    Attributes:
        looks: The objects and questions of each image that remain, by image id.
        rejected: Everything that was left out.
        record: The content of draft.json.
        folder: The folder of the draft.
    """

    looks: Mapping[str, Look]
    rejected: Sequence[Rejected]
    record: dict[str, Any]
    folder: Path


def draft(options: DraftOptions) -> Draft:
    """Ask a model about all images of a folder, and write questions and scene graphs.

    The same call resumes a draft that was stopped. No request that has a reply is sent again.

    Raises:
        UserError: The images or the options have faults, the model cannot be used, or asking stopped early.
    """
    require_vision_model(options.model, options.server)
    check_output_paths([Output("--out", options.output_folder, "folder")], [options.images])
    images, folder, prompts = (
        Photographs(options.images, options.max_image_size),
        DraftFolder(options.output_folder),
        options.prompts,
    )
    settings = {
        "model": options.model,
        "prompts": prompts.hash,
        "box_unit": options.box_unit,
        "max_image_size": options.max_image_size,
    }
    with folder.hold_lock():
        before = folder.load_previous(settings)
        record = {
            **settings,
            "server": options.server,
            "images_path": str(options.images),
            "sessions": before.get("sessions", []),
            "warnings": before.get("warnings", []),
        }
        request_options = make_request_options(
            options.model,
            options.server,
            max_tokens=options.max_tokens,
            max_connections=options.max_connections,
            prices=options.prices,
            yes=options.yes,
        )
        session = RequestSession(request_options, folder, images, prompts, record)
        drafter = _Drafter(images, session, options.box_unit)
        drafter.look()
        drafter.check_questions()
        drafter.look_again()
        looks, rejected = drafter.finish(options.questions_per_image)
        record |= _summarize(looks, rejected, folder, session, options.prices)
        _write(folder, looks, rejected, images, options.model)
        folder.write_json(folder.RECORD_NAME, record)
    return Draft(looks, rejected, record, folder.path)


class _Drafter:
    """The rounds of requests, and what is rejected in each."""

    def __init__(self, images: Photographs, session: RequestSession, box_unit: BoxUnit) -> None:
        self._images, self._session = images, session
        self._box_unit: BoxUnit = box_unit
        self._looks: dict[str, Look] = {}
        self._rejected: list[Rejected] = []
        # Image id -> the questions that the model answered differently or not at all.
        self._contested: dict[str, list[DraftQuestion]] = {}

    def _request(self, kind: Any, image_id: str, **more: Any) -> DraftRequest:
        return DraftRequest(kind, image_id, self._images.by_id[image_id].sha256, **more)

    def _reject(self, image_id: str, kind: RejectedKind, row: Any, reason: str, detail: str = "") -> None:
        text, type_ = (row.text, row.type) if isinstance(row, DraftQuestion) else (str(row), "")
        if isinstance(row, DraftQuestion):
            detail = f"{row.answer} / {detail}" if detail else row.answer
        self._rejected.append(
            Rejected(image_id=image_id, kind=kind, text=text, reason=reason, detail=detail[:200], type=type_)
        )

    def look(self) -> None:
        """Let the model list what each image shows."""
        requests = {image_id: self._request("look", image_id) for image_id in self._images.by_id}
        self._session.ask("look", requests.values())
        for image_id, request in requests.items():
            if (reply := self._session.get_reply(request)) is None:
                reason = self._session.failures.get(request.id, "")
                self._reject(image_id, "reply", "", "no reply", reason)
                continue
            size = self._images.by_id[image_id].size
            look = read_look(image_id, reply, size, self._session.get_sent_size(request), self._box_unit)
            self._rejected += look.rejected
            absent = [_ask_for_absent(name) for name in look.absent]
            known = {question.text.lower() for question in look.questions}
            self._looks[image_id] = msgspec.structs.replace(
                look, questions=(*look.questions, *(one for one in absent if one.text.lower() not in known))
            )

    def check_questions(self) -> None:
        """Ask each question again, without the list."""
        asked = {
            (image_id, question): self._request("question", image_id, question=question.text)
            for image_id, look in self._looks.items()
            for question in look.questions
        }
        self._session.ask("question", asked.values())
        kept: dict[str, list[DraftQuestion]] = {image_id: [] for image_id in self._looks}
        self._contested = {image_id: [] for image_id in self._looks}
        for (image_id, question), request in asked.items():
            reply = self._session.get_reply(request)
            reason = "no reply" if reply is None else compare_answers(question.text, question.answer, reply)
            if not reason:
                kept[image_id].append(question)
                continue
            self._reject(image_id, "question", question, reason, reply or "")
            if reason in ("answered differently", "cannot be answered"):
                self._contested[image_id].append(question)
        for image_id, questions in kept.items():
            self._looks[image_id] = msgspec.structs.replace(self._looks[image_id], questions=tuple(questions))

    def look_again(self) -> None:
        """Show doubtful objects alone, and leave out those that the model then calls something else."""
        doubtful = {
            image_id: find_doubtful_objects(look.objects, self._contested[image_id])
            for image_id, look in self._looks.items()
        }
        requests = {
            (image_id, obj.object_id): self._request("crop", image_id, box=obj.box)
            for image_id, objects in doubtful.items()
            for obj in objects[:MAX_CROPS]
        }
        self._session.ask("crop", requests.values())
        for image_id, objects in doubtful.items():
            out: dict[str, str] = {}
            wrong: dict[str, tuple[str, ...]] = {}
            for obj in objects:
                request = requests.get((image_id, obj.object_id))
                reply = self._session.get_reply(request) if request else None
                if request is None or reply is None:
                    reason, detail = ("too many doubtful objects" if request is None else "no reply"), ""
                else:
                    reason, detail, wrong[obj.object_id] = settle_object(obj, reply)
                if reason:
                    out[obj.object_id] = reason
                    self._reject(image_id, "object", obj.name, reason, detail)
                for attribute in wrong.get(obj.object_id, ()):
                    self._reject(image_id, "attribute", attribute, "contradicted in the third look", obj.name)
            if out or any(wrong.values()):
                self._looks[image_id] = self._leave_out(self._looks[image_id], out, wrong)

    def _leave_out(self, look: Look, out: Mapping[str, str], wrong: Mapping[str, Sequence[str]]) -> Look:
        """Return a look without some objects and attributes, and without the questions about them."""
        objects = [
            msgspec.structs.replace(
                obj,
                attributes=tuple(one for one in obj.attributes if one not in wrong.get(obj.object_id, ())),
                relations=tuple(pair for pair in obj.relations if pair[1] not in out),
            )
            for obj in look.objects
            if obj.object_id not in out
        ]
        questions = []
        for question in look.questions:
            words = {question.answer, *question.text.lower().rstrip("?").split()}
            if any(key in out for key in question.object_ids):
                self._reject(look.image_id, "question", question, "about an object that was left out")
            elif any(words.intersection(wrong.get(key, ())) for key in question.object_ids):
                self._reject(look.image_id, "question", question, "about an attribute that was left out")
            else:
                questions.append(question)
        return msgspec.structs.replace(look, objects=tuple(objects), questions=tuple(questions))

    def finish(self, per_image: int) -> tuple[dict[str, Look], list[Rejected]]:
        """Choose the questions of the table. Return what remains of each image, and everything that was left out."""
        own = {
            image_id: [question for question in look.questions if question.type != ABSENT_TYPE]
            for image_id, look in self._looks.items()
        }
        chosen = choose_questions(own, per_image)
        for image_id, look in self._looks.items():
            for question in own[image_id]:
                if question not in chosen[image_id]:
                    self._reject(image_id, "question", question, "more of its type or wording than needed")
            absent = [question for question in look.questions if question.type == ABSENT_TYPE]
            self._looks[image_id] = msgspec.structs.replace(look, questions=(*chosen[image_id], *absent))
        return self._looks, sorted(self._rejected, key=lambda row: row.image_id)


def _ask_for_absent(name: str) -> DraftQuestion:
    question = make_existence_question(name, get_grammatical_number(name))
    return DraftQuestion(text=question.text, answer="no", type=ABSENT_TYPE)


def _write(
    folder: DraftFolder,
    looks: Mapping[str, Look],
    rejected: Sequence[Rejected],
    images: Photographs,
    model: str,
) -> None:
    table = io.StringIO()
    writer = csv.writer(table, lineterminator="\n")
    writer.writerow(["question_id", "image", "question", "answer", "drafted_by"])
    for image_id, look in looks.items():
        for number, question in enumerate(look.questions, 1):
            name = images.by_id[image_id].path.name
            writer.writerow([f"{image_id}-{number:02d}", name, question.text, question.answer, model])
    write_text(folder.path / "questions.csv", table.getvalue())
    graphs = ((image_id, make_graph(look, model)) for image_id, look in looks.items() if look.objects)
    (folder.path / "sceneGraphs").mkdir(exist_ok=True)
    with atomic_write(folder.path / f"sceneGraphs/{SPLIT}_sceneGraphs.json") as file:
        write_members(file, graphs)
    write_jsonl(folder.path / "rejected.jsonl", rejected)


def make_graph(look: Look, model: str) -> GqaSceneGraph:
    """Return the scene graph of an image in the format of GQA, marked with the model that drafted it."""
    numbers = {obj.object_id: str(number) for number, obj in enumerate(look.objects, 1)}
    return GqaSceneGraph(
        width=look.width,
        height=look.height,
        objects={numbers[obj.object_id]: _make_object(obj, numbers) for obj in look.objects},
        location=look.place or None,
        weather=look.weather or None,
        drafted_by=model,
    )


def _make_object(obj: DraftObject, numbers: Mapping[str, str]) -> GqaObject:
    x, y, w, h = obj.box
    relations = tuple(
        GqaRelation(name=name, object=numbers[other]) for name, other in obj.relations if other in numbers
    )
    return GqaObject(name=obj.name, x=x, y=y, w=w, h=h, attributes=obj.attributes, relations=relations)


def _summarize(
    looks: Mapping[str, Look],
    rejected: Sequence[Rejected],
    folder: DraftFolder,
    session: RequestSession,
    prices: Prices,
) -> dict[str, Any]:
    """Count what remains and what was left out."""
    questions = [question for look in looks.values() for question in look.questions]
    kept = Counter(question.type for question in questions)
    out = Counter((row.type, row.reason) for row in rejected if row.kind == "question")
    types = [*QUESTION_TYPES, "other", ABSENT_TYPE]
    tokens = [sum(row["tokens"][i] for row in folder.rows) for i in (0, 1)]
    return {
        "counts": {
            "images": len(looks) + sum(row.reason == "no reply" and row.kind == "reply" for row in rejected),
            "images_with_questions": sum(bool(look.questions) for look in looks.values()),
            "damaged_replies": sum(look.is_damaged for look in looks.values()),
            "truncated_replies": sum(row["finish"] in ("max_tokens", "model_length") for row in folder.rows),
            "objects": sum(len(look.objects) for look in looks.values()),
            "questions": len(questions),
            "replies": len(folder.rows),
            "failed": len(session.failures),
        },
        "questions": {
            name: {
                "written": kept[name] + sum(count for key, count in out.items() if key[0] == name),
                "kept": kept[name],
                "left_out": {key[1]: count for key, count in out.most_common() if key[0] == name},
            }
            for name in types
            if kept[name] or any(key[0] == name for key in out)
        },
        "rejected": {
            kind: dict(Counter(row.reason for row in rejected if row.kind == kind).most_common())
            for kind in ("reply", "object", "attribute", "relation", "absent object", "question")
        },
        "tokens": {"input": tokens[0], "output": tokens[1]},
        "cost": prices.compute_cost(tokens[0], tokens[1]) if prices.is_known else None,
        "failures": session.failures,
    }


def format_result(result: Draft) -> Iterator[str]:
    """Yield the lines that the command prints at the end."""
    record, counts = result.record, result.record["counts"]
    yield (
        f"draft: {format_count(counts['questions'], 'question')} and {format_count(counts['objects'], 'object')} "
        f"of {format_count(counts['images'], 'image')}, by {record['model']} -> {result.folder}"
    )
    yield f"  {'type':<14}{'written':>8}{'kept':>6}  left out"
    for name, row in record["questions"].items():
        why = "; ".join(f"{count} {reason}" for reason, count in row["left_out"].items())
        yield f"  {name:<14}{row['written']:>8,}{row['kept']:>6,}  {why}".rstrip()
    for kind in ("reply", "object", "attribute", "relation", "absent object"):
        if found := record["rejected"][kind]:
            why = "; ".join(f"{count} {reason}" for reason, count in found.items())
            yield f"  {kind} left out: {why}"
    if damaged := counts["damaged_replies"]:
        yield f"  {format_count(damaged, 'reply was', 'replies were')} no complete JSON, and used as far as readable"
    tokens, seconds = record["tokens"], sum(row["seconds"] for row in record["sessions"])
    cost = f", cost {record['cost']:.2f}" if record["cost"] is not None else ""
    yield (
        f"  {format_count(counts['replies'], 'reply', 'replies')}, {tokens['input']:,} tokens in, {tokens['output']:,} out{cost}, "
        f"{format_duration(seconds)}"
    )


def run_draft(options: DraftOptions) -> None:
    """Draft, and print what was drafted and what to do next.

    Raises:
        UserError: As by `draft`, or no question is left.
    """
    result = draft(options)
    print("\n".join(format_result(result)))
    counts = result.record["counts"]
    if counts["failed"]:
        reasons = [*dict.fromkeys(result.record["failures"].values())][:5]
        warn(
            f"{format_count(counts['failed'], 'request')} failed: {'; '.join(reasons)}. Run the same command to send them again"
        )
    if counts["truncated_replies"]:
        warn(
            f"{format_count(counts['truncated_replies'], 'reply was', 'replies were')} truncated after {options.max_tokens:,} tokens; "
            "with a higher --max-tokens and another --out, more is drafted"
        )
    if not counts["questions"]:
        raise UserError(
            f"no question is left; {result.folder / 'rejected.jsonl'} says why, and answers.jsonl has the replies"
        )
    images, questions, graphs = (
        shlex.quote(str(path))
        for path in (options.images, result.folder / "questions.csv", result.folder / "sceneGraphs")
    )
    print(f"Next: rgqa init NAME --images {images} --questions {questions} --scene-graphs {graphs}")

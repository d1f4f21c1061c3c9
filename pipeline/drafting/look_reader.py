"""Read what a model listed in an image: objects, place, absent objects and questions.

Replies are not trusted. Everything that cannot be used is rejected with a reason and counted. Nothing that a model writes is an
error.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

from pipeline.core.no_answer_texts import is_no_answer
from pipeline.core.records import Record
from pipeline.drafting.json_replies import read_json_reply
from pipeline.drafting.prompts import MAX_WORDS, MIN_WORDS, QUESTION_TYPES, BoxUnit
from pipeline.language.functional_programs import EXISTENCE_PATTERN
from pipeline.language.nouns import lemmatize
from pipeline.language.similarity import get_similarity_keys
from pipeline.scoring.normalize import normalize_answer, to_plain_text

MAX_OBJECTS = 60
MAX_ATTRIBUTES = 8
MAX_RELATIONS = 12
MAX_ABSENT = 6
MAX_QUESTIONS = 40
# Of a longer question, only the beginning is read, which has too many words.
MAX_CHARACTERS = 1000
# Longest name of an object or an attribute, and longest answer, in words.
MAX_NAME_WORDS, MAX_ANSWER_WORDS = 3, 4
# Largest overlap (intersection over union) of two objects of one name.
MAX_OVERLAP = 0.9
LOOK_KEYS = ("objects", "questions")
# Other names of keys, which models use although they are asked for the first one.
KEY_ALIASES = {
    "name": ("name", "label"),
    "box": ("box", "bbox", "bbox_2d"),
    "objects": ("objects", "about", "object_ids"),
}
YES_NO = ("yes", "no")
# An English question has one of the first words, or begins with one of the others.
_ASKING_WORDS = frozenset(
    ("what", "what's", "which", "who", "who's", "whom", "whose", "where", "where's", "how")
)
_FIRST_VERBS = frozenset(
    ("is", "are", "was", "were", "do", "does", "did", "has", "have", "can", "could", "isn't", "aren't")
)
# A question begins with a verb and a pronoun, or has only words that are no verb before it ("What color is her hair?"), so it says
# nowhere whom it means.
_UNEXPLAINED_PRONOUN = re.compile(
    rf"(?:(?!(?:{'|'.join(sorted(_FIRST_VERBS))}|the|a|an)\b)[\w']+ )*(?:{'|'.join(sorted(_FIRST_VERBS))}) "
    r"(?:(?:in|on|at|under|behind|around|over|with|near|above|below|to|from) )*"
    r"(?:he|she|his|her|hers|him|they|them|their|theirs|its)\b"
)
# What stands in quotation marks, and words of letters and digits: license plates, flight numbers.
_WRITING = re.compile(r"\"|(?:^|\s)'\w|\b(?=[A-Za-z-]*\d)(?=[\d-]*[A-Za-z])[A-Za-z\d]+(?:-[A-Za-z\d]+)*\b")
_NAME_PATTERN = re.compile(r"[a-z0-9][a-z0-9' -]*")
_ARTICLES = re.compile(r"^(?:a|an|the|some)\s+")

RejectedKind = Literal["reply", "object", "attribute", "relation", "absent object", "question"]
Box = tuple[int, int, int, int]


class Rejected(Record):
    """Something that a model wrote and that is left out.

    Attributes:
        image_id: Id of the image.
        kind: What it is.
        text: What the model wrote.
        reason: The reason, from a fixed list.
        detail: A further explanation. For a question, its answer, and after " / " the reply when it was asked again.
        type: The type of a question; "" for everything else.
    """

    image_id: str
    kind: RejectedKind
    text: str
    reason: str
    detail: str = ""
    type: str = ""


class DraftObject(Record):
    """An object that a model listed.

    Attributes:
        object_id: Its id in the reply.
        name: Its name, in lower case.
        box: Left, top, width and height in pixels of the image.
        attributes: Its attributes.
        relations: Names of relations, each with the id of the other object.
        is_sure: False if the model is not certain of it.
    """

    object_id: str
    name: str
    box: Box
    attributes: tuple[str, ...] = ()
    relations: tuple[tuple[str, str], ...] = ()
    is_sure: bool = True


class DraftQuestion(Record):
    """A question that a model wrote, with its answer, its type, and the ids of the objects that it is about."""

    text: str
    answer: str
    type: str
    object_ids: tuple[str, ...] = ()


class Look(Record):
    """What a model listed in an image.

    Attributes:
        image_id: Id of the image.
        width, height: Size of the image in pixels.
        objects: The objects, with unique ids.
        place, weather: As in GQA; "" if not known.
        absent: Names of objects that are not in the image.
        questions: The questions.
        rejected: What was left out.
        is_damaged: Whether the reply was damaged, so that only a part of it was read.
    """

    image_id: str
    width: int
    height: int
    objects: tuple[DraftObject, ...] = ()
    place: str = ""
    weather: str = ""
    absent: tuple[str, ...] = ()
    questions: tuple[DraftQuestion, ...] = ()
    rejected: tuple[Rejected, ...] = ()
    is_damaged: bool = False


def read_look(
    image_id: str,
    reply: str,
    size: tuple[int, int],
    sent_size: tuple[int, int] | None = None,
    box_unit: BoxUnit = "thousandths",
) -> Look:
    """Read the reply to the first look at an image.

    Args:
        image_id: Id of the image.
        reply: The reply.
        size: Width and height of the image in pixels.
        sent_size: Width and height of the image as it was sent; None if it was sent in this size.
        box_unit: Unit of the boxes in the reply.

    >>> look = read_look("n1", '{"objects": [{"id": "o1", "name": "A Cup", "box": [0, 0, 500, 1200]}]}', (200, 100))
    >>> look.objects[0].name, look.objects[0].box
    ('cup', (0, 0, 100, 100))
    """
    found = read_json_reply(reply, LOOK_KEYS)
    if found.fault:
        rejected = Rejected(image_id=image_id, kind="reply", text=reply[:200], reason=found.fault)
        return Look(image_id=image_id, width=size[0], height=size[1], rejected=(rejected,))
    reader = _LookReader(image_id, size, sent_size or size, box_unit)
    objects = reader.read_objects(_as_list(found.value.get("objects")))
    ids = {obj.object_id for obj in objects}
    return Look(
        image_id=image_id,
        width=size[0],
        height=size[1],
        objects=objects,
        place=_read_scene_value(found.value.get("place")) or _read_location(found.value.get("indoors")),
        weather=_read_scene_value(found.value.get("weather")),
        absent=tuple(reader.read_absent(_as_list(found.value.get("absent")), objects)),
        questions=tuple(reader.read_questions(_as_list(found.value.get("questions")), ids)),
        rejected=tuple(reader.rejected),
        is_damaged=found.is_damaged,
    )


def clean_name(value: Any, max_words: int = MAX_NAME_WORDS) -> str:
    """Return a name in lower case without an article; "" if it is no short English name.

    >>> clean_name("The Coffee_Cup "), clean_name("Tasse für Kaffee"), clean_name(["cup"])
    ('coffee cup', '', '')
    """
    if not isinstance(value, str) or len(value) > 200:
        return ""
    words = _ARTICLES.sub("", to_plain_text(value).lower().replace("_", " ").strip(" .,;:!\"'"))
    return words if _NAME_PATTERN.fullmatch(words) and len(words.split()) <= max_words else ""


def find_question_fault(text: str, answer: str) -> str:
    """Return why a question cannot be used; "" if it can.

    >>> find_question_fault("What color is the red cup?", "red"), find_question_fault("Is the cup red or blue?", "red")
    ('names its answer', '')
    >>> find_question_fault("Welche Farbe hat die Tasse?", "rot")
    'not an English question'
    """
    words = re.findall(r"[a-z0-9']+", text[:MAX_CHARACTERS].lower())
    if not text.isascii() or not _is_worded_as_question(words) or not text.rstrip().endswith("?"):
        return "not an English question"
    if not MIN_WORDS <= len(words) <= MAX_WORDS:
        return f"shorter than {MIN_WORDS} or longer than {MAX_WORDS} words"
    if is_no_answer(answer):
        return "its answer means that none exists"
    if not clean_name(answer, MAX_ANSWER_WORDS):
        return "its answer is no word or short phrase"
    if EXISTENCE_PATTERN.match(text):
        return "asks only whether something exists"
    if _UNEXPLAINED_PRONOUN.match(" ".join(words)):
        return "does not say whom it means"
    if _WRITING.search(text):
        return "quotes writing in the image"
    asked, said = (normalize_answer(part).split() for part in (text.strip("? "), answer))
    if answer not in YES_NO and "or" not in asked and _contains(asked, said):
        return "names its answer"
    return ""


def _is_worded_as_question(words: Sequence[str]) -> bool:
    """Return whether a text has a word that asks ("The dog is behind what?"), or begins with a verb as questions do."""
    return not _ASKING_WORDS.isdisjoint(words) or bool(words and words[0] in _FIRST_VERBS)


def _contains(words: Sequence[str], part: Sequence[str]) -> bool:
    """Return whether a sequence of words contains another one, in any number."""
    lemmas, wanted = [lemmatize(word) for word in words], [lemmatize(word) for word in part]
    return bool(wanted) and any(
        lemmas[start : start + len(wanted)] == wanted for start in range(len(lemmas) - len(wanted) + 1)
    )


class _LookReader:
    """Reads the lists of a reply, and collects what it rejects."""

    def __init__(
        self, image_id: str, size: tuple[int, int], sent_size: tuple[int, int], box_unit: BoxUnit
    ) -> None:
        self.image_id, self.size, self.rejected = image_id, size, list[Rejected]()
        unit = (1000, 1000) if box_unit == "thousandths" else sent_size
        self._scale = (size[0] / unit[0], size[1] / unit[1])

    def reject(self, kind: RejectedKind, text: Any, reason: str, detail: str = "", type_: str = "") -> None:
        shown = text if isinstance(text, str) else repr(text)
        row = Rejected(
            image_id=self.image_id,
            kind=kind,
            text=shown[:200],
            reason=reason,
            detail=detail[:200],
            type=type_,
        )
        self.rejected.append(row)

    def read_objects(self, rows: Sequence[Any]) -> tuple[DraftObject, ...]:
        """Return the objects that can be used. Relations to other objects are left out."""
        objects: dict[str, DraftObject] = {}
        relations: dict[str, list[Any]] = {}
        for number, row in enumerate(rows):
            if number >= MAX_OBJECTS:
                self.reject("object", _describe(row), f"more than {MAX_OBJECTS} objects")
                continue
            if not isinstance(row, Mapping):
                self.reject("object", row, "not a JSON object")
                continue
            written, name = _get(row, "name"), clean_name(_get(row, "name"))
            key = str(row.get("id") or f"object {number}")[:50]
            if not name:
                self.reject("object", _describe(row), "no short English name")
            elif key in objects:
                self.reject("object", written, "the same id as another object", key)
            elif isinstance(box := self._read_box(_get(row, "box")), str):
                self.reject("object", written, box, repr(_get(row, "box")))
            elif any(obj.name == name and _overlap(obj.box, box) > MAX_OVERLAP for obj in objects.values()):
                self.reject("object", written, "listed twice")
            else:
                relations[key] = _as_list(row.get("relations"))
                objects[key] = DraftObject(
                    object_id=key,
                    name=name,
                    box=box,
                    attributes=tuple(self._read_attributes(row.get("attributes"), name)),
                    is_sure=row.get("sure") is not False,
                )
        return tuple(
            DraftObject(
                object_id=obj.object_id,
                name=obj.name,
                box=obj.box,
                attributes=obj.attributes,
                relations=tuple(self._read_relations(relations[key], obj, objects)),
                is_sure=obj.is_sure,
            )
            for key, obj in objects.items()
        )

    def _read_box(self, value: Any) -> Box | str:
        """Return a box clipped to the image, or why it cannot be used."""
        if (
            not isinstance(value, list)
            or len(value) != 4
            or any(
                isinstance(one, bool) or not isinstance(one, int | float) or not math.isfinite(one)
                for one in value
            )
        ):
            return "no box of four numbers"
        left, top, right, bottom = map(float, value)
        if right < left or bottom < top:
            return "the corners of its box are swapped"
        if right == left or bottom == top:
            return "its box has no area"
        if max(value) <= 1 and right - left <= 1 and not all(float(one).is_integer() for one in value):
            # Proportions of the image.
            scale = self.size
        else:
            scale = self._scale
        edges = [left * scale[0], top * scale[1], right * scale[0], bottom * scale[1]]
        x, y, right, bottom = (
            round(min(max(edge, 0), limit)) for edge, limit in zip(edges, self.size * 2, strict=True)
        )
        if right <= x or bottom <= y:
            return (
                "its box is outside of the image"
                if edges[0] >= self.size[0] or edges[1] >= self.size[1] or min(edges[2:]) <= 0
                else "its box has no area"
            )
        return x, y, right - x, bottom - y

    def _read_attributes(self, value: Any, name: str) -> Iterator[str]:
        rows = value.split(",") if isinstance(value, str) else _as_list(value)
        seen = set[str]()
        for row in rows:
            attribute = clean_name(row)
            if not attribute or attribute == name:
                self.reject("attribute", row, "no short English attribute", name)
            elif len(seen) >= MAX_ATTRIBUTES:
                self.reject("attribute", row, f"more than {MAX_ATTRIBUTES} attributes", name)
            elif attribute not in seen:
                seen.add(attribute)
                yield attribute

    def _read_relations(
        self, rows: Sequence[Any], obj: DraftObject, objects: Mapping[str, DraftObject]
    ) -> Iterator[tuple[str, str]]:
        seen = set[tuple[str, str]]()
        for row in rows:
            name = clean_name(_get(row, "name"), 5) if isinstance(row, Mapping) else ""
            other = str(row.get("object"))[:50] if isinstance(row, Mapping) else ""
            if not name:
                self.reject("relation", row, "no short English relation", obj.name)
            elif other not in objects or other == obj.object_id:
                self.reject("relation", row, "its object is not listed", obj.name)
            elif len(seen) >= MAX_RELATIONS:
                self.reject("relation", row, f"more than {MAX_RELATIONS} relations", obj.name)
            elif (name, other) not in seen:
                seen.add((name, other))
                yield name, other

    def read_absent(self, rows: Sequence[Any], objects: Sequence[DraftObject]) -> Iterator[str]:
        """Yield the names of objects that are not in the image."""
        listed = [get_similarity_keys(obj.name) for obj in objects]
        seen = set[str]()
        for row in rows:
            name = clean_name(row, 2)
            if not name:
                self.reject("absent object", row, "no short English name")
            elif any(get_similarity_keys(name) & keys for keys in listed):
                self.reject("absent object", row, "the model lists such an object")
            elif len(seen) >= MAX_ABSENT:
                self.reject("absent object", row, f"more than {MAX_ABSENT} absent objects")
            elif name not in seen:
                seen.add(name)
                yield name

    def read_questions(self, rows: Sequence[Any], ids: set[str]) -> Iterator[DraftQuestion]:
        """Yield the questions that can be used."""
        seen = set[str]()
        for number, row in enumerate(rows):
            if not isinstance(row, Mapping) or not isinstance(row.get("question"), str):
                self.reject("question", row, "not a JSON object with a question")
                continue
            text, written = (
                " ".join(to_plain_text(row["question"]).split()),
                str(row.get("type") or "").lower(),
            )
            type_, answer = written if written in QUESTION_TYPES else "other", _read_answer(row.get("answer"))
            about = tuple(dict.fromkeys(str(key)[:50] for key in _as_list(_get(row, "objects"))))
            if answer in YES_NO and type_ == "other":
                type_ = "yes-no"
            fault = (
                (number >= MAX_QUESTIONS and f"more than {MAX_QUESTIONS} questions")
                or find_question_fault(text, answer)
                or (text.lower() in seen and "the same question as another one")
                or (type_ != "place" and ids.isdisjoint(about) and "about no object that is listed")
            )
            if fault:
                self.reject("question", text or row, fault, answer, type_)
                continue
            seen.add(text.lower())
            yield DraftQuestion(
                text=text, answer=answer, type=type_, object_ids=tuple(key for key in about if key in ids)
            )


def _read_answer(value: Any) -> str:
    """Return an answer in lower case, without a full stop and an article."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return str(value)
    text = (
        to_plain_text(value).strip(" .,;:!\"'").lower()
        if isinstance(value, str) and len(value) <= 200
        else ""
    )
    return _ARTICLES.sub("", text)


def _read_scene_value(value: Any) -> str:
    name = clean_name(value)
    return "" if name in ("none", "unknown", "n", "not visible", "unclear") or is_no_answer(name) else name


def _read_location(value: Any) -> str:
    return {True: "indoors", False: "outdoors"}.get(value, "") if isinstance(value, bool) else ""


def _get(row: Mapping[str, Any], key: str) -> Any:
    return next((row[alias] for alias in KEY_ALIASES[key] if alias in row), None)


def _as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _describe(row: Any) -> Any:
    return _get(row, "name") if isinstance(row, Mapping) else row


def _overlap(one: Box, other: Box) -> float:
    """Return the intersection over union of two boxes (x, y, w, h)."""
    width = min(one[0] + one[2], other[0] + other[2]) - max(one[0], other[0])
    height = min(one[1] + one[3], other[1] + other[3]) - max(one[1], other[1])
    shared = max(width, 0) * max(height, 0)
    return shared / (one[2] * one[3] + other[2] * other[3] - shared)

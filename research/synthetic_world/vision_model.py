"""Imitate a vision-language model that sees the synthetic world, with errors at known rates (`rgqa sample serve --as vlm`).

The model recognizes an image by its pixels, and sees what the complete scene graph says, except for its errors: it misses objects,
invents objects, and takes one color for another. Each look has errors of its own, and a part of them is the same in all looks
at an image. All choices depend on the seed, the image and the request only, so the same request gets the same reply.

It replies to the three kinds of requests of `rgqa draft`: a list of objects with questions, an answer to a question, and the name of
the object in a part of an image. It replies to `rgqa annotate panel`, too: it calls a question invalid if what it sees has no answer to
it. So its errors as a voter follow from what it misses, invents or takes for something else.
"""

from __future__ import annotations

import hashlib
import io
import json
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from threading import Lock
from typing import Any

import msgspec
import numpy as np
from PIL import Image

from pipeline.core.errors import Problems, UserError
from pipeline.core.images import find_image_files
from pipeline.core.randomness import hash_uniform, make_generator
from pipeline.core.records import Relation, SceneGraph, SceneObject, Step
from pipeline.drafting.images import widen_box
from pipeline.drafting.prompts import DraftPrompts
from pipeline.inference.probe import PROBE_QUESTION
from pipeline.language.functional_programs import parse_program
from pipeline.language.letter_case import to_sentence_case
from pipeline.language.nouns import get_grammatical_number
from pipeline.language.tagger import load_tagger
from pipeline.language.text_programs import derive_program
from pipeline.sources.gqa_files import read_scene_graphs
from pipeline.tasks.gold_questions import make_existence_question
from pipeline.verifier.evidence import build_scene_evidence
from pipeline.verifier.verification import ExecutionResult, execute_program
from research.synthetic_world.ontology import COLORS, KINDS
from research.synthetic_world.question_checks import LEXICON
from research.synthetic_world.questions import SampleQuestion, generate_questions
from research.synthetic_world.served_models import UNANSWERABLE, ChatTurn

VLM_NAME = "vlm"
ABSENT_PER_IMAGE = 4
# Requests of `rgqa draft` are recognized by these texts.
LOOK_PATTERN = re.compile(r'"questions": (\d+) questions')
CROP_REQUEST = DraftPrompts().crop()
# Requests of `rgqa annotate panel` are recognized by this text (`annotation.panel.prompts`).
JUDGE_PATTERN = re.compile(r"^First question: (.*)\nSecond question: (.*)$", re.MULTILINE)
# A part of an image shows an object if their boxes overlap by this intersection over union.
MIN_OVERLAP = 0.4
# Length of a token in characters, about.
TOKEN_PATTERN = re.compile(r"\s?[^\s]{1,5}|\s")
_COMMENTS = "```json\n{}\n```\nI hope this helps!", "Here is what I see:\n{}", "{}\n// end of list"


@dataclass(frozen=True)
class VisionErrors:
    """The errors of the model.

    Attributes:
        miss_rate: Proportion of the objects that it misses.
        invention_rate: Number of objects that it invents, as a proportion of the objects.
        color_error_rate: Proportion of the colors that it takes for another color.
        json_fault_rate: Proportion of its JSON replies that are truncated or have text around them.
        persistence: Proportion of the objects about which it errs in all looks or in none. About the others, each look errs by itself.
        guess_rate: Proportion of the questions that it cannot answer, to which it guesses an answer.
        seed: Seed of the errors.
    """

    miss_rate: float = 0.0
    invention_rate: float = 0.0
    color_error_rate: float = 0.0
    json_fault_rate: float = 0.0
    persistence: float = 0.5
    guess_rate: float = 0.5
    seed: int = 0


class SimulatedVisionModel:
    """A vision-language model for `model_server.ModelServer`. `generate` may be called from several threads.

    Args:
        images: Folder of images.
        scenes: Complete scene graphs of these images by id.
        errors: The errors of the model.

    Raises:
        UserError: The folder has no image with a scene graph.
    """

    names: Sequence[str] = (VLM_NAME,)

    def __init__(self, images: Path, scenes: Mapping[str, SceneGraph], errors: VisionErrors) -> None:
        files = find_image_files(images)[0] if images.is_dir() else {}
        self._scenes = {image_id: scenes[image_id] for image_id in sorted(files.keys() & scenes.keys())}
        if not self._scenes:
            raise UserError(f"{images}: no image whose complete scene graph is known")
        self._errors, self._lock = errors, Lock()
        self._pixels = {image_id: _decode(files[image_id].read_bytes()) for image_id in self._scenes}
        self._ids = {_hash_pixels(pixels): image_id for image_id, pixels in self._pixels.items()}
        # Image id -> text of each question that the model wrote -> its program.
        self._written: dict[str, dict[str, tuple[Step, ...]]] = {}

    def generate(self, name: str, turns: Sequence[ChatTurn]) -> list[dict[str, float]]:
        """Return the reply to the last message: for each token, token -> 1.

        Raises:
            ValueError: The image is none of the known images.
        """
        with self._lock:
            reply = self._reply(
                turns[-1].text, next((turn.image for turn in reversed(turns) if turn.image), None)
            )
        return [{token: 1.0} for token in TOKEN_PATTERN.findall(reply)]

    def _reply(self, text: str, image: bytes | None) -> str:
        if image is None:
            return json.dumps({"name": "cup", "attributes": []}) if "JSON" in text else UNANSWERABLE
        pixels = _decode(image)
        if text == PROBE_QUESTION:
            return min(COLORS, key=lambda color: _color_distance(COLORS[color], pixels[0, 0]))
        if text == CROP_REQUEST:
            return self._name_object(pixels)
        if (image_id := self._ids.get(_hash_pixels(pixels))) is None:
            raise ValueError("it is none of the images that this model knows")
        if found := LOOK_PATTERN.search(text):
            return self._damage(self._list(image_id, int(found[1]), "pixels (" in text), image_id)
        if found := JUDGE_PATTERN.search(text):
            # Each prompt makes the model look again.
            return self._damage(self._judge(image_id, (found[1], found[2]), text), f"{image_id} {text}")
        return self._answer(image_id, text.splitlines()[0])

    def perceive(self, image_id: str, look: str) -> SceneGraph:
        """Return what the model sees of an image in one look, as a complete graph.

        Args:
            image_id: Id of the image.
            look: A text that identifies the look.
        """
        scene, errors = self._scenes[image_id], self._errors
        objects: list[SceneObject] = []
        for obj in scene.objects:
            if self._errs("miss", obj.object_id, look) >= errors.miss_rate:
                objects.append(self._recolor(obj, look))
            if self._errs("invent", obj.object_id, look) < errors.invention_rate:
                objects.append(self._invent(scene, f"{obj.object_id}9"))
        there = {obj.object_id for obj in objects}
        return msgspec.structs.replace(
            scene,
            objects=tuple(
                msgspec.structs.replace(
                    obj,
                    relations=tuple(relation for relation in obj.relations if relation.object_id in there),
                )
                for obj in objects
            ),
        )

    def _errs(self, kind: str, key: str, look: str) -> float:
        """Return a random number for an error: the same in all looks for some objects, a new one for the others."""
        seed = str(self._errors.seed)
        is_fixed = hash_uniform(seed, kind, key, "fixed") < self._errors.persistence
        return hash_uniform(seed, kind, key, "" if is_fixed else look)

    def _recolor(self, obj: SceneObject, look: str) -> SceneObject:
        number = self._errs("color", obj.object_id, look)
        if number >= self._errors.color_error_rate:
            return obj
        colors = _KIND_COLORS.get(obj.name, tuple(COLORS))
        # The number also chooses the color, so that a fixed error has the same color in all looks.
        place = int(number / self._errors.color_error_rate * 1000)
        attributes = [
            (others := [color for color in colors if color != one])[place % len(others)]
            if one in COLORS and len(colors) > 1
            else one
            for one in obj.attributes
        ]
        return msgspec.structs.replace(obj, attributes=tuple(attributes))

    def _invent(self, scene: SceneGraph, key: str) -> SceneObject:
        """Return an object of a kind that the image does not show, the same in all looks."""
        rng = make_generator(self._errors.seed, "invented", key)
        there = {obj.name for obj in scene.objects}
        kinds = [kind for kind in KINDS if kind.name not in there and scene.location in kind.locations]
        kind = kinds[int(rng.integers(len(kinds)))]
        width, height = (
            min(side, limit // 2) for side, limit in zip(kind.size, (scene.width, scene.height), strict=True)
        )
        x, y = int(rng.integers(scene.width - width)), int(rng.integers(scene.height - height))
        colors = (str(rng.choice(kind.colors)),) if kind.colors else ()
        near = Relation(name="near", object_id=scene.objects[int(rng.integers(len(scene.objects)))].object_id)
        return SceneObject(
            object_id=key, name=kind.name, x=x, y=y, w=width, h=height, attributes=colors, relations=(near,)
        )

    def _list(self, image_id: str, count: int, is_pixels: bool) -> str:
        seen = self.perceive(image_id, "look")
        questions = generate_questions([seen], self._errors.seed, per_image=count) if seen.objects else []
        written = self._written.setdefault(image_id, {})
        written.update((one.text, one.program) for one in questions)
        unit = (1, 1) if is_pixels else (1000 / seen.width, 1000 / seen.height)
        there = {obj.name for obj in seen.objects}
        absent = sorted(kind.name for kind in KINDS if kind.name not in there)
        rng = make_generator(self._errors.seed, "absent", image_id)
        chosen = [str(name) for name in rng.choice(absent, ABSENT_PER_IMAGE, replace=False)]
        # `rgqa draft` asks for these objects, too.
        existence = (make_existence_question(name, get_grammatical_number(name)) for name in chosen)
        written.update((one.text, one.program) for one in existence)
        return json.dumps(
            {
                "objects": [_describe_object(obj, unit) for obj in seen.objects],
                "place": seen.location,
                "weather": seen.weather,
                "indoors": not seen.weather,
                "absent": chosen,
                "questions": [
                    {
                        "question": question.text,
                        "answer": question.answer,
                        "type": get_question_type(question),
                        "objects": _find_objects(question),
                    }
                    for question in questions
                ],
            }
        )

    def _damage(self, reply: str, image_id: str) -> str:
        number = hash_uniform(str(self._errors.seed), "json", image_id)
        if number >= self._errors.json_fault_rate:
            return reply
        place = number / self._errors.json_fault_rate
        if place < 0.5:
            return reply[: int((0.2 + place) * len(reply))]
        return _COMMENTS[int(place * 1000) % len(_COMMENTS)].replace("{}", reply)

    def _answer(self, image_id: str, text: str) -> str:
        """Answer a question from what the model sees in a new look."""
        seen = self.perceive(image_id, text)
        result = self._execute(image_id, text, seen)
        if result and result.answerability == "answerable" and result.answers:
            return result.answers[0]
        key = str(self._errors.seed), "guess", image_id, text
        if hash_uniform(*key) >= self._errors.guess_rate:
            return UNANSWERABLE
        guesses = self._list_guesses(seen, text)
        return guesses[int(hash_uniform(*key, "which") * len(guesses))]

    def _judge(self, image_id: str, questions: tuple[str, str], look: str) -> str:
        """Return the verdict on a task: each question is invalid if it has no answer in what the model sees in this look."""
        seen, verdict = self.perceive(image_id, look), dict[str, str]()
        for side, text in zip(("first", "second"), questions, strict=True):
            found = self._execute(image_id, text, seen)
            choice = _CHOICES[found.answerability if found else "unknown"]
            verdict[side] = choice
            verdict[f"{side}_reason"] = (found and found.category) or "" if choice == "invalid" else ""
        return json.dumps(verdict)

    def _execute(self, image_id: str, text: str, seen: SceneGraph) -> ExecutionResult | None:
        """Execute a question on what the model sees; None if the question has no program that can be executed."""
        program = self.find_program(image_id, text)
        with suppress(UserError):
            return (
                execute_program(parse_program(program, text), build_scene_evidence(seen, LEXICON))
                if program
                else None
            )
        return None

    def _list_guesses(self, seen: SceneGraph, text: str) -> list[str]:
        words = text.lower().rstrip("?").split()
        if "color" in words:
            return [*COLORS]
        if "or" in words:
            place = words.index("or")
            return [words[place - 1], words[-1]]
        if words[0] in ("is", "are", "do", "does"):
            return ["yes", "no"]
        return [obj.name for obj in seen.objects] or [UNANSWERABLE]

    def find_program(self, image_id: str, text: str) -> tuple[Step, ...]:
        """Return the program of a question: the one with which the model wrote it, or one derived from its text."""
        if image_id not in self._written:
            # The server has been started again since the model wrote its questions.
            self._list(image_id, DraftPrompts().num_questions, False)
        return self._written[image_id].get(text) or _derive_program(text)

    def _name_object(self, part: np.ndarray) -> str:
        """Name the object in a part of an image."""
        found = self._locate(part)
        if found is None:
            return json.dumps({"name": "wall", "attributes": []})
        image_id, window = found
        seen = self.perceive(image_id, f"part {window}")
        size = (seen.width, seen.height)
        best = max(
            seen.objects,
            key=lambda obj: _overlap(widen_box((obj.x, obj.y, obj.w, obj.h), size), window),
            default=None,
        )
        if best is None or _overlap(widen_box((best.x, best.y, best.w, best.h), size), window) < MIN_OVERLAP:
            return json.dumps({"name": "wall", "attributes": []})
        return json.dumps({"name": best.name, "attributes": [*best.attributes]})

    def _locate(self, part: np.ndarray) -> tuple[str, tuple[int, int, int, int]] | None:
        """Return the image that contains a part, and left, top, right and bottom of the part in it."""
        height, width = part.shape[:2]
        # The middle row has more structure than the first one, which is often sky or wall.
        row = part[height // 2].tobytes()
        for image_id, pixels in self._pixels.items():
            data, start = pixels.tobytes(), -1
            while (start := data.find(row, start + 1)) >= 0:
                y, x = divmod(start // 3, pixels.shape[1])
                top = y - height // 2
                if start % 3 or top < 0 or x + width > pixels.shape[1]:
                    continue
                if np.array_equal(pixels[top : top + height, x : x + width], part):
                    return image_id, (x, top, x + width, top + height)
        return None


# Answerability -> the choice of a voter.
_CHOICES = {"answerable": "valid", "unanswerable": "invalid", "unknown": "unsure"}
_KIND_COLORS = {name: kind.colors for kind in KINDS for name in (kind.name, kind.plural) if kind.colors}


def load_vision_model(images: Path, graphs: Path, errors: VisionErrors) -> SimulatedVisionModel:
    """Load the model for a folder of images and a folder with their complete scene graphs (testdev_sceneGraphs.json).

    Raises:
        UserError: The graphs cannot be read, or there is no image with a graph.
    """
    problems = Problems(str(graphs))
    scenes = {
        scene.image_id: scene
        for scene in read_scene_graphs(graphs.resolve(), ("testdev",), problems, is_complete=True)
    }
    problems.raise_if_any()
    return SimulatedVisionModel(images, scenes, errors)


def get_question_type(question: SampleQuestion) -> str:
    """Return the type of a question as `rgqa draft` names it."""
    if question.semantic == "global":
        return "place"
    if question.answer in ("yes", "no"):
        return "yes-no"
    if question.structural == "choose":
        return "choice"
    if question.semantic in ("rel", "cat"):
        return "object"
    return "relation" if question.detailed == "positionQuery" else "attribute"


@lru_cache(maxsize=10_000)
def _derive_program(text: str) -> tuple[Step, ...]:
    sentence = to_sentence_case(text)
    return derive_program(sentence, next(iter(load_tagger().tag([sentence]))))


def _describe_object(obj: SceneObject, unit: tuple[float, float]) -> dict[str, Any]:
    edges = (obj.x, obj.y, obj.x + obj.w, obj.y + obj.h)
    return {
        "id": obj.object_id,
        "name": obj.name,
        "box": [round(edge * scale) for edge, scale in zip(edges, unit * 2, strict=True)],
        "attributes": [*obj.attributes],
        "relations": [{"name": relation.name, "object": relation.object_id} for relation in obj.relations],
        "sure": True,
    }


def _find_objects(question: SampleQuestion) -> list[str]:
    ids = (found for step in question.program for found in re.findall(r"\((\d+)\)", step.argument))
    return [*dict.fromkeys([*question.annotations.values(), *ids])]


def _decode(data: bytes) -> np.ndarray:
    return np.asarray(Image.open(io.BytesIO(data)).convert("RGB"))


def _hash_pixels(pixels: np.ndarray) -> str:
    return hashlib.sha256(f"{pixels.shape}".encode() + pixels.tobytes()).hexdigest()


def _color_distance(color: str, pixel: np.ndarray) -> float:
    rgb = [int(color[place : place + 2], 16) for place in (1, 3, 5)]
    return float(np.abs(np.array(rgb) - pixel[:3]).sum())


def _overlap(one: tuple[int, int, int, int], other: tuple[int, int, int, int]) -> float:
    """Return the intersection over union of two boxes (left, top, right, bottom)."""
    width = min(one[2], other[2]) - max(one[0], other[0])
    height = min(one[3], other[3]) - max(one[1], other[1])
    shared = max(width, 0) * max(height, 0)
    areas = sum((box[2] - box[0]) * (box[3] - box[1]) for box in (one, other))
    return shared / (areas - shared)

"""Let the VQA models of the sample reply in a conversation. A reply consists of distributions over tokens.

A net gives a probability for each answer, and a confidence that the question is answerable. To imitate a
language model, the most likely answer becomes a token whose probability is the confidence. The other answers
get probabilities in the same proportion as before. The remaining probability goes to the reply "unanswerable"
if the request offers it; otherwise it is spread evenly over all answers.
"""

from __future__ import annotations

import hashlib
import re
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from io import BytesIO
from threading import Lock
from typing import NamedTuple

import numpy as np
from PIL import Image
from scipy.special import expit

from pipeline.core.errors import UserError
from pipeline.core.paths import DatasetFolders
from research.reference_models.image_towers import ClipTower
from research.reference_models.inference import LoadedModel, forward, load_net
from research.reference_models.leaderboard_rows import LEADERBOARD_ROWS, LeaderboardRow, score_row
from research.reference_models.net_files import REGION_HEAD_FILE, REGION_SOURCES, find_nets
from research.reference_models.region_head import find_regions, load_head, load_images

# Net -> the leaderboard row that needs only this net and its outputs.
SERVED_MODELS: dict[str, LeaderboardRow] = {
    row.net: row
    for row in LEADERBOARD_ROWS.values()
    if row.detector in ("msp", row.net) and not row.answer_net and row.net not in REGION_SOURCES
}
UNANSWERABLE = "unanswerable"
# Maximum number of images whose regions are cached. The cache helps because several requests may be about the
# same image.
MAX_CACHED_REGIONS = 512
# Words in sentences about a question or an answer. No question of the sample contains these words.
_META_PATTERN = re.compile(
    r"\b(un)?answer\w*|\bquestions?\b|\bcorrect\b|\bconfiden\w+|\bsure\b|\bcertain\b|\byes or no\b|\btrue or false\b",
    re.IGNORECASE,
)
_PERCENT_PATTERN = re.compile(r"\b0\b[^.?!]*\b100\b|\bpercent", re.IGNORECASE)
_TRUE_FALSE_PATTERN = re.compile(r"\btrue\b.*\bfalse\b", re.I | re.S)
_SENTENCE_END_PATTERN = re.compile(r"(?<=[?.!:])\s+|\n+")


class ChatTurn(NamedTuple):
    """A message: its role (system, user, assistant), its text, and the bytes of its last image, if it has
    one.
    """

    role: str
    text: str
    image: bytes | None = None


class ParsedRequest(NamedTuple):
    """The last request of a conversation: a question, the image (None: no image), and the format of the
    reply.
    """

    question: str
    image: bytes | None
    # One of "word", "refuse", "yes", "true", "number" and "word and number".
    reply_format: str


class ServedModel:
    """Nets of a seed, with all data that they need. `generate` may be called from several threads.

    Args:
        names: Names of nets in `SERVED_MODELS`.
        seed: Seed of the nets.
        folders: Folders of the data set of the nets; None for the sample.

    Raises:
        UserError: A net cannot be served or does not exist.
    """

    def __init__(self, names: Sequence[str], seed: int = 0, folders: DatasetFolders | None = None) -> None:
        folders = folders or DatasetFolders("sample")
        there = find_nets(folders.vqa_models).get(seed, {})
        if wrong := [name for name in names if name not in SERVED_MODELS or name not in there]:
            available = (
                ", ".join(name for name in SERVED_MODELS if name in there) or f"none in {folders.vqa_models}"
            )
            raise UserError(
                f"no net {', '.join(wrong)} of seed {seed} can be served. Available: {available}."
            )
        self._nets: dict[str, LoadedModel] = {name: load_net(there[name]) for name in names}
        self._head, self._tower = load_head(folders.vqa_models / REGION_HEAD_FILE), ClipTower(folders.clip)
        self._regions: OrderedDict[str, tuple[np.ndarray, np.ndarray]] = OrderedDict()
        self._lock = Lock()

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self._nets)

    def generate(self, name: str, turns: Sequence[ChatTurn]) -> list[dict[str, float]]:
        """Return the reply of a net: for each position, token -> probability, the most likely token first.

        Raises:
            OSError: The image cannot be read.
        """
        wanted = parse_request(turns)
        with self._lock:
            answers, confidence = self._predict(name, wanted.question, wanted.image)
        return make_token_distributions(answers, confidence, wanted.reply_format)

    def _predict(self, name: str, question: str, image: bytes | None) -> tuple[dict[str, float], float]:
        """Return answer -> probability, and the confidence that the question is answerable."""
        net = self._nets[name]
        batch: tuple[np.ndarray, ...] = (net.vocabulary.encode([question]),)
        if not net.net.shape.blind:
            batch = (*batch, *self._detect_regions(image), np.zeros(1, np.int64))
        seen = forward(net, batch)
        confidence = float(score_row(SERVED_MODELS[name], {SERVED_MODELS[name].net: seen}).confidence[0])
        return dict(zip(seen.answers, expit(seen.logits[0].astype(float)).tolist(), strict=True)), confidence

    def _detect_regions(self, image: bytes | None) -> tuple[np.ndarray, np.ndarray]:
        """Return features [1, M, d] and boxes [1, M, 4]. If there is no image, a gray image is used."""
        key = hashlib.sha256(image or b"").hexdigest()
        if key not in self._regions:
            file = BytesIO(image or _grey_image())
            found = find_regions(self._tower, self._head, load_images([file], self._tower.size))
            self._regions[key] = (found.features.astype(np.float32), found.boxes)
            while len(self._regions) > MAX_CACHED_REGIONS:
                self._regions.popitem(last=False)
        self._regions.move_to_end(key)
        return self._regions[key]


def parse_request(turns: Sequence[ChatTurn]) -> ParsedRequest:
    """Return the question, the image and the reply format of a conversation.

    The question is in the last message with an image, or in a later message. The last message of the user
    determines the format.

    >>> parse_request([ChatTurn("user", "Is it red? Say yes or no.", b"0"), ChatTurn("assistant", "no"),
    ...     ChatTurn("user", "What is it?", b"1"), ChatTurn("assistant", "cup"),
    ...     ChatTurn("user", "Can this question be answered? Yes or no.")])
    ParsedRequest(question='What is it?', image=b'1', reply_format='yes')
    """
    users = [turn for turn in turns if turn.role == "user"] or [ChatTurn("user", "")]
    first = max((place for place, turn in enumerate(users) if turn.image), default=0)
    if users[first].image is None:
        first = len(users) - 1
        while first and not _find_questions(users[first].text):
            first -= 1
    asked = [text for turn in users[first:] for text in _find_questions(turn.text)]
    question = asked[-1] if asked else users[first].text.strip()
    last = users[-1].text
    return ParsedRequest(question, users[first].image, _detect_reply_format(last, question in last))


def _find_questions(text: str) -> list[str]:
    """Return the questions in a text, except questions about a question or an answer."""
    return [s for s in _SENTENCE_END_PATTERN.split(text) if s.endswith("?") and not _META_PATTERN.search(s)]


def _detect_reply_format(text: str, has_question: bool) -> str:
    """Return the reply format that a text asks for.

    `has_question` says whether the text contains the question itself.
    """
    about = [s for s in _SENTENCE_END_PATTERN.split(text) if s.endswith("?") and _META_PATTERN.search(s)]
    if _PERCENT_PATTERN.search(text):
        return "word and number" if has_question and not about else "number"
    if _TRUE_FALSE_PATTERN.search(text):
        return "true"
    if about or (not has_question and re.search(r"\byes or no\b", text, re.I)):
        return "yes"
    return "refuse" if UNANSWERABLE in text.lower() else "word"


def make_token_distributions(
    answers: Mapping[str, float], confidence: float, reply_format: str
) -> list[dict[str, float]]:
    """Return a reply, as a distribution for each token.

    `answers` has the probability of each answer, and `confidence` is the confidence that the question is
    answerable.

    >>> make_token_distributions({"red": 0.5, "blue": 0.1}, 0.5, "refuse")
    [{'red': 0.5, 'unanswerable': 0.4, 'blue': 0.1}]
    >>> make_token_distributions({"red": 0.5, "blue": 0.1}, 0.5, "yes")
    [{'Yes': 0.5, 'No': 0.5}]
    >>> make_token_distributions({"red": 0.5}, 0.5, "number")
    [{'50': 1.0}]
    """
    number = {str(round(100 * confidence)): 1.0}
    if reply_format == "number":
        return [number]
    if reply_format in ("yes", "true"):
        yes, no = ("Yes", "No") if reply_format == "yes" else ("True", "False")
        return [_sort_tokens({yes: confidence, no: 1 - confidence})]
    word = [_answer_distribution(answers, confidence, reply_format == "refuse")]
    return [*word, {"\n": 1.0}, number] if reply_format == "word and number" else word


def _answer_distribution(answers: Mapping[str, float], confidence: float, offered: bool) -> dict[str, float]:
    """Return the distribution over answers described in the module's docstring."""
    top = max(answers, key=lambda name: answers[name])
    others = {name: p * confidence / answers[top] for name, p in answers.items() if name != top}
    total = sum(others.values())
    share = min(1.0, (1 - confidence) / total) if total else 0.0
    tokens = {top: confidence} | {name: p * share for name, p in others.items()}
    rest = max(0.0, 1 - confidence - total * share)
    if offered:
        return _sort_tokens(tokens | {UNANSWERABLE: rest})
    return _sort_tokens({name: p + rest / len(tokens) for name, p in tokens.items()})


def _sort_tokens(tokens: Mapping[str, float]) -> dict[str, float]:
    return dict(sorted(tokens.items(), key=lambda pair: -pair[1]))


def _grey_image() -> bytes:
    file = BytesIO()
    Image.new("RGB", (64, 48), (127, 127, 127)).save(file, "PNG")
    return file.getvalue()

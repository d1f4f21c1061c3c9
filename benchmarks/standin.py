"""A stand-in for a large set of GQA questions, made of a small one: the same questions with their vocabulary varied.

What is kept of the small set: its sentences, programs and annotations, which questions are asked of one picture, how
often a name is said beside others. What is made up: names and attributes are put for others of the same number and
type, of which some are coined words, until there are as many as in GQA (1,703 objects, 617 attributes). All questions
of a picture change in the same way, one of so many ways that texts repeat on different pictures, some far oftener
than others. Nothing in it is true of any picture: each is the same grey square.
"""

from __future__ import annotations

import io
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import msgspec
import numpy as np
from PIL import Image

from pipeline.core.errors import Problems
from pipeline.core.files import replacing
from pipeline.core.progress import track
from pipeline.core.records import Question, Split, Step
from pipeline.programs.operations import SCENE, parse, root
from pipeline.sources import gqa_files
from pipeline.words.frames import FRAME_NOUNS, PRONOUNS
from pipeline.words.nouns import article, number_of, plural, singular
from pipeline.words.word_tables import words

SAMPLE = Path("data/sample/source")
OBJECTS, ATTRIBUTES = 1_703, 617  # different ones in GQA's scene graphs
QUESTIONS, PICTURES = 943_000, 72_140  # of GQA's balanced train split
DISTINCT = (
    1 / 3
)  # texts a question, were all ways to vary them used alike; as some are commoner, it comes to a fifth

_FIXED = PRONOUNS | FRAME_NOUNS | words("person, place")
_NO_LOOK = frozenset(
    ("name", "rel", "hposition", "vposition", "place", "room", "location", "type", "weather")
)
Role = tuple[str, ...]  # what may take each other's place: kind, number or type, how many words
Words = Mapping[tuple[str, str], str]  # (kind, word) -> what it becomes


class Pools:
    """The words of a set of questions by role, the commonest first, then coined ones; and how they may be changed."""

    def __init__(self, questions: Sequence[Question], rng: np.random.Generator) -> None:
        self.said = [self._said(question) for question in questions]
        counts = Counter(word for said in self.said for word in said)
        self.roles = self._roles(questions, counts)
        self.pools: dict[Role, list[str]] = defaultdict(list)
        for (kind, word), _ in sorted(counts.items(), key=lambda item: (-item[1], item[0])):
            self.pools[self.roles[kind, word]].append(word)
        coin = _coined({word for _, word in counts}, rng)
        for kind, wanted in (("object", OBJECTS), ("attribute", ATTRIBUTES)):
            roles = [role for role in self.pools if role[0] == kind and role[1] != "mass"]
            share = np.array([len(self.pools[role]) for role in roles], float)
            missing = max(wanted - sum(len(pool) for role, pool in self.pools.items() if role[0] == kind), 0)
            for role, more in zip(roles, rng.multinomial(missing, share / share.sum()), strict=True):
                for _ in range(more):
                    name = " ".join(next(coin) for _ in range(int(role[2])))
                    self.pools[role].append(plural(name) if role[1] == "plural" else name)

    def way(self, number: int, seed: int) -> dict[tuple[str, str], str]:
        """One way to change all words; way 0 changes none."""
        if number == 0:
            return {word: word[1] for word in self.roles}
        rng, changed = np.random.default_rng((seed, number)), {}
        for role, pool in sorted(self.pools.items()):
            own = [word for word, theirs in self.roles.items() if theirs == role]
            weight = 1 / (np.arange(len(pool)) + 5)
            drawn = rng.choice(len(pool), len(own), replace=False, p=weight / weight.sum())
            changed |= {word: pool[i] for word, i in zip(own, drawn.tolist(), strict=True)}
        return changed

    def _said(self, question: Question) -> tuple[tuple[str, str], ...]:
        """The objects and attributes of a program that its text says by their own names; categories left out."""
        if not question.program:
            return ()
        program, text = parse(question.program, question.question_id), question.text.lower()
        said: list[tuple[str, str]] = []
        last = program[-1]
        category = program[root(program, last.inputs[0])].name if last.type == "name" else ""
        for operation in program:
            if operation.name not in ("", SCENE, category) and operation.name not in _FIXED:
                said.append(("object", operation.name))
            if operation.verb in ("filter", "verify", "choose") and operation.type not in _NO_LOOK:
                said += [("attribute", value) for value in operation.values]
        return tuple(
            (kind, word)
            for kind, word in dict.fromkeys(said)
            if any(re.search(rf"\b{re.escape(form)}\b", text) for form in _forms(kind, word, word))
        )

    @staticmethod
    def _roles(
        questions: Sequence[Question], counts: Counter[tuple[str, str]]
    ) -> dict[tuple[str, str], Role]:
        """The role of each word that is said; an attribute's type is GQA's."""
        types: dict[str, str] = {}
        for question in questions:
            for operation in parse(question.program, question.question_id) if question.program else ():
                if operation.type not in _NO_LOOK:
                    for value in operation.values:
                        types[value] = types.get(value) or operation.type
        return {
            (kind, word): (
                kind,
                number_of(word) if kind == "object" else types.get(word) or "none",
                str(len(word.split())),
            )
            for kind, word in sorted(counts)
        }


def _coined(known: set[str], rng: np.random.Generator) -> Iterator[str]:
    """Words that there are not, with a regular plural."""
    while True:
        syllables = [
            "".join((*rng.choice(list("bdfgklmnprstvz"), 1), *rng.choice(list("aeiou"), 1))) for _ in range(2)
        ]
        word = "".join((*syllables, rng.choice(list("bdgklprt"))))
        if word not in known:
            known.add(word)
            yield word


def _forms(kind: str, word: str, new: str) -> dict[str, str]:
    """How a word may be said -> how what takes its place is said then."""
    if kind == "attribute":
        return {word: new}
    return {singular(word): singular(new), plural(word): plural(new), word: new}


def changed(question: Question, said: Sequence[tuple[str, str]], way: Words, picture_id: str) -> dict:
    """A question in GQA's own form, its words changed in one way."""
    forms = {form: new for kind, word in said for form, new in _forms(kind, word, way[kind, word]).items()}
    alternatives = "|".join(re.escape(form) for form in sorted(forms, key=len, reverse=True))
    pattern = re.compile(rf"\b(?:(an?) )?({alternatives})\b", re.IGNORECASE) if forms else None

    def put(match: re.Match[str]) -> str:
        new = forms[match[2].lower()]
        before = f"{article(new)} " if match[1] else ""
        return (before + new).capitalize() if match[0][0].isupper() else before + new

    def text(old: str) -> str:
        return pattern.sub(put, old) if pattern else old

    named = {word: way[kind, word] for kind, word in said}
    return {
        "imageId": picture_id,
        "question": text(question.text),
        "answer": named.get(question.answer, question.answer),
        "fullAnswer": text(question.full_answer),
        "isBalanced": True,
        "groups": {"global": question.group_global, "local": question.group_local},
        "types": {
            "structural": question.structural,
            "semantic": question.semantic,
            "detailed": question.detailed,
        },
        "semantic": [_step(step, named) for step in question.program],
        "annotations": {"question": question.annotations, "answer": {}, "fullAnswer": {}},
        "entailed": [],
        "equivalent": [],
    }


def _step(step: Step, named: Mapping[str, str]) -> dict:
    body, bracket, ids = step.argument.partition(" (")
    parts = re.split(r"([,|()])", body)  # `cup,on,s`, `red|blue`, `not(red)`
    argument = "".join(named.get(part.strip(), part) for part in parts) + bracket + ids
    return {"operation": step.operation, "argument": argument, "dependencies": step.dependencies}


def make(source: Path, split: Split, questions: int, folder: Path, seed: int = 0) -> None:
    """Write the stand-in as GQA's files: questions1.2/train_balanced_questions.json and images/, a row at a time.

    Args:
        source: GQA's files of the small set, of which `split` is used.
        questions: how many; pictures as many as in GQA for so many.
    """
    problems = Problems(str(source))
    rows = sorted(gqa_files.questions(source, (split,), problems), key=lambda q: q.question_id)
    problems.raise_if_any()
    rng = np.random.default_rng(seed)
    pools, pictures = Pools(rows, rng), max(1, round(questions * PICTURES / QUESTIONS))
    asked: dict[str, list[int]] = defaultdict(list)
    for number, question in enumerate(rows):
        asked[question.picture_id].append(number)
    together = [asked[picture] for picture in sorted(asked)]
    varied = len({question.text for question, said in zip(rows, pools.said, strict=True) if said})
    ways = [pools.way(number, seed) for number in range(max(1, round(DISTINCT * questions / max(varied, 1))))]
    encode = msgspec.json.Encoder().encode
    texts: set[int] = set()
    with replacing(folder / "questions1.2/train_balanced_questions.json") as file:
        file.write(b"{")
        done = 0
        for picture in track(range(pictures), "stand-in", pictures, "picture"):
            # Some ways, and so some texts, are commoner than others.
            way = ways[int(len(ways) * rng.random() ** 1.5)]
            wanted = (picture + 1) * questions // pictures - done
            for number in _asked_together(together, wanted, rng):
                row = changed(rows[number], pools.said[number], way, f"{2_000_000 + picture}")
                texts.add(hash(row["question"]))
                file.write(b",\n" * (done > 0) + encode(f"{done:08d}") + b":" + encode(row))
                done += 1
        file.write(b"}\n")
    _grey_squares(folder / "images", pictures)
    print(
        f"{done:,} questions, {len(texts):,} distinct texts, {pictures:,} pictures, "
        f"{len(ways):,} ways to vary {len(pools.roles):,} words"
    )


def _asked_together(together: Sequence[Sequence[int]], wanted: int, rng: np.random.Generator) -> list[int]:
    """Questions of as many pictures of the small set as it takes, each picture's together."""
    numbers: list[int] = []
    drawn: set[int] = set()
    while len(numbers) < wanted:
        picture = int(rng.integers(len(together)))
        if picture not in drawn:
            drawn.add(picture)
            numbers += together[picture]
    return numbers[:wanted]


def _grey_squares(folder: Path, pictures: int) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    buffer = io.BytesIO()
    Image.new("RGB", (8, 8), "grey").save(buffer, "JPEG")
    for number in range(pictures):
        (folder / f"{2_000_000 + number}.jpg").write_bytes(buffer.getvalue())

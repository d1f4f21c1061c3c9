"""A stand-in for a large set of GQA questions, made of a small one: the same questions with their vocabulary varied.

    python -m benchmarks.standin FOLDER                         a hundredth of GQA's train split, of the sample's questions
    python -m benchmarks.standin FOLDER --like data/gqa/source --questions 943000 --pictures 72140

What is kept of the small set: its sentences, programs and annotations, which questions are asked of one picture, how
often a name is said beside others. What is made up: names and attributes are put for others of the same number and
type, of which some are coined words, until there are as many as in GQA (1,703 objects, 617 attributes). All questions
of a picture change in the same way, one of so many ways that texts repeat on different pictures, some far oftener
than others. Nothing in it is true of any picture: each is the same grey square.
"""

from __future__ import annotations

import argparse
import io
import os
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import msgspec
import numpy as np

from pipeline.core.errors import Problems, run
from pipeline.core.files import replacing
from pipeline.core.progress import track
from pipeline.core.records import Question, Split, Step
from pipeline.perturbing.alignment import root
from pipeline.programs.operations import SCENE, parse
from pipeline.sources import gqa_files
from pipeline.words.frames import FRAME_NOUNS, PRONOUNS
from pipeline.words.nouns import article, number_of, plural, singular, words

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
        self.roles = {
            word: self._role(*word, types) for word, types in self._types(questions, counts).items()
        }
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
        program, text, found = parse(question.program, question.question_id), question.text.lower(), []
        last = program[-1]
        category = program[root(program, last.inputs[0])].name if last.type == "name" else ""
        for operation in program:
            if operation.name not in ("", SCENE, category) and operation.name not in _FIXED:
                found.append(("object", operation.name))
            if operation.verb in ("filter", "verify", "choose") and operation.type not in _NO_LOOK:
                found += [("attribute", value) for value in operation.values]
        return tuple(
            (kind, word)
            for kind, word in dict.fromkeys(found)
            if any(re.search(rf"\b{re.escape(form)}\b", text) for form in _forms(kind, word, word))
        )

    @staticmethod
    def _types(questions: Sequence[Question], counts: Counter) -> dict[tuple[str, str], str]:
        """Of each word that is said the type: of an attribute GQA's."""
        types = dict.fromkeys(sorted(counts), "")
        for question in questions:
            for operation in parse(question.program, question.question_id) if question.program else ():
                for value in operation.values:
                    if ("attribute", value) in types and operation.type not in _NO_LOOK:
                        types["attribute", value] = types["attribute", value] or operation.type
        return types

    @staticmethod
    def _role(kind: str, word: str, type_: str) -> Role:
        return kind, number_of(word) if kind == "object" else type_ or "none", str(len(word.split()))


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


def changed(
    question: Question, said: Sequence[tuple[str, str]], way: Words, question_id: str, picture_id: str
) -> dict:
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


def make(
    source: Path, split: Split, questions: int, pictures: int, distinct: float, folder: Path, seed: int = 0
) -> None:
    """Write the stand-in as GQA's files: questions1.2/train_balanced_questions.json and images/, a row at a time.

    Args:
        source: GQA's files of the small set, of which `split` is used.
        distinct: see `DISTINCT`.
    """
    problems = Problems(str(source))
    rows = sorted(gqa_files.questions(source, (split,), problems), key=lambda q: q.question_id)
    problems.raise_if_any()
    rng = np.random.default_rng(seed)
    pools = Pools(rows, rng)
    asked: dict[str, list[int]] = defaultdict(list)
    for number, question in enumerate(rows):
        asked[question.picture_id].append(number)
    together = [asked[picture] for picture in sorted(asked)]
    varied = len({question.text for question, said in zip(rows, pools.said, strict=True) if said})
    ways = [pools.way(number, seed) for number in range(max(1, round(distinct * questions / max(varied, 1))))]
    encode = msgspec.json.Encoder().encode
    texts: set[int] = set()
    with replacing(folder / "questions1.2/train_balanced_questions.json") as file:
        file.write(b"{")
        done = 0
        for picture in track(range(pictures), "stand-in", pictures, "picture"):
            way = ways[
                int(len(ways) * rng.random() ** 1.5)
            ]  # some ways, and so some texts, are commoner than others
            wanted = (picture + 1) * questions // pictures - done
            for number in _some(together, wanted, rng):
                row = changed(rows[number], pools.said[number], way, f"{done:08d}", f"{2_000_000 + picture}")
                texts.add(hash(row["question"]))
                file.write(b",\n" * (done > 0) + encode(f"{done:08d}") + b":" + encode(row))
                done += 1
        file.write(b"}\n")
    _grey_squares(folder / "images", pictures)
    print(
        f"{done:,} questions, {len(texts):,} distinct texts, {pictures:,} pictures, "
        f"{len(ways):,} ways to vary {len(pools.roles):,} words"
    )


def _some(together: Sequence[Sequence[int]], wanted: int, rng: np.random.Generator) -> list[int]:
    """Questions of as many pictures of the small set as it takes, each picture's together."""
    found: list[int] = []
    drawn: set[int] = set()
    while len(found) < wanted:
        one = int(rng.integers(len(together)))
        if one not in drawn:
            drawn.add(one)
            found += together[one]
    return found[:wanted]


def _grey_squares(folder: Path, pictures: int) -> None:
    from PIL import Image

    folder.mkdir(parents=True, exist_ok=True)
    buffer = io.BytesIO()
    Image.new("RGB", (8, 8), "grey").save(buffer, "JPEG")
    first = folder / "2000000.jpg"
    first.write_bytes(buffer.getvalue())
    for number in range(1, pictures):
        path = folder / f"{2_000_000 + number}.jpg"
        if number % 60_000 == 0:  # a file has no more than 65,000 names in some file systems
            first = path
            first.write_bytes(buffer.getvalue())
        elif not path.exists():
            os.link(first, path)


def arguments(parser: argparse.ArgumentParser) -> None:
    """The options that say what the stand-in is made of, and how large it is."""
    parser.add_argument(
        "--like",
        type=Path,
        default=SAMPLE,
        help="a source folder with GQA's files; default: the embedded sample's",
    )
    parser.add_argument("--split", default="testdev", help="the split of it that is used (default testdev)")
    parser.add_argument("--questions", type=int, default=QUESTIONS // 100)
    parser.add_argument("--pictures", type=int, default=0, help="0: as many as in GQA for so many questions")
    parser.add_argument("--distinct", type=float, default=DISTINCT, help="texts a question, at most")
    parser.add_argument("--seed", type=int, default=0)


def made_by(a: argparse.Namespace, folder: Path) -> None:
    """Make it as the options say."""
    problems = Problems("options")
    for name, least in (("questions", 1), ("pictures", 0), ("distinct", 0), ("seed", 0)):
        if getattr(a, name) < least:
            problems.add(f"--{name}", f"{getattr(a, name)}, at least {least} wanted")
    problems.raise_if_any()
    pictures = a.pictures or max(1, round(a.questions * PICTURES / QUESTIONS))
    make(a.like, a.split, a.questions, pictures, a.distinct, folder, a.seed)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    arguments(parser)
    a = parser.parse_args()
    made_by(a, a.folder)


if __name__ == "__main__":
    run(main)

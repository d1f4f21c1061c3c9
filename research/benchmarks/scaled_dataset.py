"""Generate a data set as large as GQA from a small one: the same questions with a larger vocabulary.

Sentences, programs, annotations, the grouping of questions by image, and word frequencies are kept. Object
names are replaced by others of the same grammatical number, and attributes by others of the same attribute
type. Some of the replacements are invented words, so the data set has as many words as GQA (1,703 objects, 617
attributes). All questions about an image are changed in the same way. The number of ways is limited, so texts
repeat on different images, some much more often than others. The images are grey squares; no answer is true.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import yaml
from PIL import Image

from pipeline.core.atomic_files import atomic_write, write_text
from pipeline.core.errors import Problems
from pipeline.core.json_files import read_json
from pipeline.core.jsonl_index import group_by
from pipeline.core.progress import track
from pipeline.core.records import Question, Split
from pipeline.language.functional_programs import (
    NON_ATTRIBUTE_TYPES,
    POSITION_TYPES,
    SCENE,
    find_root_step,
    parse_program,
)
from pipeline.language.nouns import choose_article, get_grammatical_number, pluralize, singularize
from pipeline.language.word_lists import FRAME_WORDS, UNINFORMATIVE_NAMES, parse_words
from pipeline.sources import gqa_files
from pipeline.verifier.vocabulary import ProgramCounter

ROOT = Path(__file__).parents[2]
SAMPLE = Path("data/sample/source")
NUM_WORDS = {"object": 1_703, "attribute": 617}  # in GQA's scene graphs
GQA_QUESTIONS, GQA_IMAGES = 943_000, 72_140  # GQA's balanced train split
# Distinct texts per question for uniformly sampled substitutions. Substitutions are not sampled uniformly,
# so the real ratio is about a fifth.
DISTINCT_TEXT_RATE = 1 / 3

_FIXED_WORDS = UNINFORMATIVE_NAMES | FRAME_WORDS | parse_words("person, place")
_NON_ATTRIBUTES = NON_ATTRIBUTE_TYPES | POSITION_TYPES | {"weather"}
# "object" or "attribute", and the word.
Word = tuple[str, str]
# A role is (kind, grammatical number or attribute type, number of words). Words of one role can replace each other.
WordRole = tuple[str, str, int]


def find_replaceable_words(question: Question) -> list[Word]:
    """Return the objects and attributes of a program that are named in the text, except the category in "What
    kind of furniture ...?".
    """
    if not question.program:
        return []
    program, text = parse_program(question.program, question.question_id), question.text.lower()
    said: list[Word] = []
    last = program[-1]
    category = program[find_root_step(program, last.inputs[0])].name if last.type == "name" else ""
    for operation in program:
        if operation.name not in ("", SCENE, category) and operation.name not in _FIXED_WORDS:
            said.append(("object", operation.name))
        if operation.verb in ("filter", "verify", "choose") and operation.type not in _NON_ATTRIBUTES:
            said += [("attribute", value) for value in operation.values]
    return [
        (kind, word)
        for kind, word in dict.fromkeys(said)
        if any(re.search(rf"\b{re.escape(form)}\b", text) for form in _replacement_forms(kind, word, word))
    ]


class WordPools:
    """The words of a set of questions by role, most common first, and their replacements: the same words,
    then invented ones.
    """

    def __init__(self, questions: Sequence[Question], rng: np.random.Generator) -> None:
        self.words_by_question = [find_replaceable_words(question) for question in questions]
        counts = Counter(chain.from_iterable(self.words_by_question))
        meanings = ProgramCounter({})
        for question in questions:
            meanings.add_question(question)
        types = meanings.get_attribute_types()

        def role_of(word: Word) -> WordRole:
            of = get_grammatical_number(word[1]) if word[0] == "object" else types.get(word[1], "none")
            return word[0], of, len(word[1].split())

        self.original_words = group_by(sorted(counts, key=lambda word: (-counts[word], word)), role_of)
        self.replacement_words = {
            role: [word for _, word in self.original_words[role]] for role in sorted(self.original_words)
        }
        new_words = _coin_words({word for _, word in counts}, rng)
        for kind, most in NUM_WORDS.items():
            roles = [role for role in self.replacement_words if role[0] == kind]
            have = np.array([len(self.replacement_words[role]) for role in roles])
            share = have * np.array([role[1] != "mass" for role in roles])
            more = rng.multinomial(max(most - have.sum(), 0), share / share.sum())
            for role, number in zip(roles, more, strict=True):
                names = [" ".join(islice(new_words, role[2])) for _ in range(number)]
                self.replacement_words[role] += map(pluralize, names) if role[1] == "plural" else names

    def make_substitution(self, number: int) -> dict[Word, str]:
        """Return a substitution of all words. Substitution 0 is the identity."""
        rng, changed = np.random.default_rng((0, number)), {}
        for role, pool in self.replacement_words.items():
            drawn, weight = np.arange(len(self.original_words[role])), 1 / (np.arange(len(pool)) + 5)
            if number:
                drawn = rng.choice(len(pool), len(drawn), replace=False, p=weight / weight.sum())
            changed |= {word: pool[i] for word, i in zip(self.original_words[role], drawn, strict=True)}
        return changed


def _coin_words(known: set[str], rng: np.random.Generator) -> Iterator[str]:
    """Yield invented words with a regular plural."""
    while True:
        letters = ("bdfgklmnprstvz", "aeiou", "bdfgklmnprstvz", "aeiou", "bdgklprt")
        word = "".join(str(rng.choice(list(some))) for some in letters)
        if word not in known:
            known.add(word)
            yield word


def _replacement_forms(kind: str, word: str, new: str) -> dict[str, str]:
    """Return the forms of a word, each with the same form of its replacement."""
    if kind == "attribute":
        return {word: new}
    return {singularize(word): singularize(new), pluralize(word): pluralize(new), word: new}


def vary_question(
    row: dict[str, Any], words: Sequence[Word], substitution: Mapping[Word, str], image_id: str
) -> dict:
    """Return a question in GQA's format with its words replaced."""
    forms = {
        form: new
        for kind, word in words
        for form, new in _replacement_forms(kind, word, substitution[kind, word]).items()
    }
    alternatives = "|".join(re.escape(form) for form in sorted(forms, key=len, reverse=True))
    pattern = re.compile(rf"\b(?:(an?) )?({alternatives})\b", re.IGNORECASE)
    named = {word: substitution[kind, word] for kind, word in words}

    def put(match: re.Match[str]) -> str:
        new = forms[match[2].lower()]
        before = f"{choose_article(new)} " if match[1] else ""
        return (before + new).capitalize() if match[0][0].isupper() else before + new

    def renamed(argument: str) -> str:
        body, bracket, ids = argument.partition(" (")
        parts = re.split(r"([,|()])", body)  # `cup,on,s`, `red|blue`, `not(red)`
        return "".join(named.get(part.strip(), part) for part in parts) + bracket + ids

    texts = {key: pattern.sub(put, row[key]) for key in ("question", "fullAnswer") if forms and key in row}
    steps = [step | {"argument": renamed(step["argument"])} for step in row["semantic"]]
    answer = row.get("answer", "")
    others = {"imageId": image_id, "answer": named.get(answer, answer), "semantic": steps}
    return row | texts | others | {"entailed": [], "equivalent": []}


def write_scaled_dataset(source: Path, split: Split, questions: int, folder: Path) -> None:
    """Write the data set as GQA's files: questions1.2/train_balanced_questions.json and images/.

    Args:
        source: Folder of the small set with GQA's files. `split` of it is used.
        questions: Number of questions. The number of images is in the same proportion as in GQA.
    """
    problems = Problems(str(source))
    rows = list(gqa_files.read_questions(source, (split,), problems))
    problems.raise_if_any()
    as_written = read_json(
        source / f"questions1.2/{split}_balanced_questions.json", dict[str, dict[str, Any]]
    )
    rng = np.random.default_rng(0)
    pools, images = WordPools(rows, rng), max(1, round(questions * GQA_IMAGES / GQA_QUESTIONS))
    asked = group_by(zip(rows, pools.words_by_question, strict=True), lambda pair: pair[0].image_id)
    questions_by_image = [asked[image] for image in sorted(asked)]
    num_varied = len({question.text for question, said in chain.from_iterable(questions_by_image) if said})
    ways = [
        pools.make_substitution(number)
        for number in range(max(1, round(DISTINCT_TEXT_RATE * questions / max(num_varied, 1))))
    ]
    encode = msgspec.json.Encoder().encode
    texts: set[int] = set()
    with atomic_write(folder / "questions1.2/train_balanced_questions.json") as file:
        file.write(b"{")
        done = 0
        for image in track(range(images), "scaled", images, "image"):
            # Some ways, and so some texts, are more common than others.
            way = ways[int(len(ways) * rng.random() ** 1.5)]
            wanted = (image + 1) * questions // images - done
            some = chain.from_iterable(
                questions_by_image[i] for i in rng.permutation(len(questions_by_image))
            )
            for question, said in islice(some, wanted):
                row = vary_question(as_written[question.question_id], said, way, f"{2_000_000 + image}")
                texts.add(hash(row["question"]))
                file.write(b",\n" * (done > 0) + encode(f"{done:08d}") + b":" + encode(row))
                done += 1
        file.write(b"}\n")
    grey = Image.new("RGB", (8, 8), "grey")
    (folder / "images").mkdir(parents=True, exist_ok=True)
    for image in range(2_000_000, 2_000_000 + images):
        grey.save(
            folder / f"images/{image}.jpg", comment=str(image)
        )  # makes each file unique, because vectors are cached by hash
    print(
        f"{done:,} questions, {len(texts):,} distinct texts, {images:,} images, "
        f"{len(ways):,} ways to replace {sum(map(len, pools.original_words.values())):,} words"
    )


def write_scaled_project(
    folder: Path,
    name: str,
    source: Path,
    split: Split,
    questions: int,
    changes: Mapping[str, Mapping[str, Any]],
) -> None:
    """Write a project with one generated data set and GQA's parameters.

    Args:
        source, split, questions: As for `write_scaled_dataset`.
        changes: Changed parameters by section.
    """
    write_scaled_dataset(source, split, questions, folder / f"data/{name}/source")
    sections = yaml.safe_load((ROOT / "params.yaml").read_text(encoding="utf-8"))["gqa"]
    sections["ingest"] = {
        "split": "train",
        "question_splits": ["train"],
        "graph_splits": [],
        "paraphrase": False,
    }
    for section, changed_ones in changes.items():
        sections[section] = {**sections[section], **changed_ones}
    whole = {"dataset": name, "version": "1.0.0", name: sections}
    write_text(folder / "params.yaml", yaml.safe_dump(whole))

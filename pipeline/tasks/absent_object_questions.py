"""Write questions about objects that an image very probably does not show.

They are the unanswerable gold questions of a data set about whose images only questions are known. With scene
graphs they are not needed, because the verifier finds unanswerable questions by itself.

An object counts as absent if all of these conditions hold:

- Nobody overlooks it, because it is an animal, a vehicle, a piece of furniture or the like (`CONSPICUOUS`).
- No word of the image's questions and answers may denote it, also not as a synonym, a kind or a member of a
  kind. It does not matter whether the word is asserted or only asked about.
- It hardly ever occurs together with the objects that the questions name, by the counts of the vocabulary and
  by a table (`COMPANIONS`).
- None of the image's CLIP-Hard candidates names it. These are the questions of other images that CLIP finds
  most similar to the image. Without CLIP there are none.

Most of the questions are questions of the image itself, with such an object in place of one that they
presuppose. So their form tells nothing. A few follow RGQA's template "What color is the <obj0> <rel> the
<obj1>?". None of them counts against an annotator before enough annotators agree
(`annotation.study.gold_agreement`).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from msgspec.structs import replace

from pipeline.candidates.perturbing.edit_slots import EditCase, find_object_slots
from pipeline.candidates.perturbing.object_edits import replace_object
from pipeline.candidates.perturbing.perturb_image import ParsedImage, PerturbInputs, parse_image
from pipeline.candidates.perturbing.plausibility import ObjectConstraints
from pipeline.candidates.perturbing.replacements import ReplacementSampler
from pipeline.candidates.perturbing.surface_realization import Swap, edit_program, rewrite_text
from pipeline.candidates.screening.grammar import find_grammar_error
from pipeline.language.functional_programs import is_existence_question
from pipeline.language.nouns import get_grammatical_number, lemmatize, singularize
from pipeline.language.object_taxonomy import (
    LIVING_KINDS,
    get_kinds,
    get_main_kind,
    is_selected,
    parse_name_filter,
)
from pipeline.language.presuppositions import Presupposition
from pipeline.language.sentence import tokenize_text
from pipeline.language.word_lists import parse_headed_groups
from pipeline.tasks.gold_questions import (
    MAX_TEMPLATES_PER_KIND,
    TEMPLATE_RELATIONS,
    GoldQuestion,
    QuestionsByName,
    make_absent_object_question,
    sample_foreign_questions,
)
from pipeline.verifier.presence_model import get_known_names
from pipeline.verifier.verification import verify_question

# Objects that nobody overlooks and that have one meaning. Left out are parts of objects, people, clothing that many
# wear, buildings, landscape, small things, and what stands in the background of many photographs.
CONSPICUOUS = parse_name_filter("""
elephant, giraffe, zebra, horse, pony, cow, cows, sheep, goat, pig, bear, polar bear, panda, monkey, gorilla, cat, kitten, dog, puppy, lion, tiger, camel, ostrich, kangaroo,
shark, dolphin, alligator, crocodile, gazelle, bison, rabbit, parrot, penguin, frog, teddy bear,
pizza, cake, birthday cake, cupcake, donut, doughnut, burger, hamburger, hot dog, sandwich, sandwiches, banana, bananas, apple, apples, pineapple, watermelon, broccoli,
cauliflower, carrot, carrots, pumpkin, strawberry, strawberries, tomato, tomatoes, lemon, grapes, mushroom, mushrooms, ice cream, french fries, fries, waffle, salad, cabbage,
piano, guitar, trumpet, bathtub, toilet, urinal, sink, refrigerator, fridge, microwave, microwave oven, oven, stove, dishwasher, toaster, blender, coffee maker,
bed, couch, sofa, fireplace, chandelier, television, laptop, laptops, suitcase, umbrella, parasol, kite, surfboard, snowboard, skateboard, frisbee, tennis racket, racket, basketball,
bicycle, bike, motorcycle, moped, scooter, airplane, plane, jet, aircraft, boat, boats, canoe, kayak, sailboat, yacht, ship, train, locomotive, passenger train, bus, school bus, fire truck, ambulance, tractor, trolley,
snowman, fire hydrant, parking meter, teapot, vase, wine glass, candle, christmas tree, palm tree, crown, cowboy hat, bow tie, apron, tent
""")
# Kinds of things that may be replaced. A place, a surface or a part in its place would often make no sense.
REPLACEABLE = parse_name_filter("""
person, animal, plush, garment, headwear, eyewear, jewelry, baggage, edible, drinkable, dish, cutlery, receptacle, seat, tabletop, storage, bathware, appliance, light, furniture,
handheld, device, linen, drapery, paper, picture, sign, instrument, paddle, ball, board, tool, bike, watercraft, aircraft, train, car, vehicle, building, post, tree, flora, rock, upright,
-group, -crowd, -clothing, -clothes
""")
# After these prepositions, a thing can also replace a place, a surface or a part.
PLACE_PREPOSITIONS = ("behind", "beside", "near", "above", "under", "below", "by", "to")
# What the objects of a kind often come with, although no question names it. The kinds before the colon are those of
# a named object, the kinds and names after it are never taken for absent.
COMPANIONS = parse_headed_groups("""
watercraft: watercraft, aircraft, life jacket
aircraft: aircraft, bus, truck, ambulance
vehicle: vehicle, umbrella, suitcase
road: vehicle, fire hydrant, parking meter, umbrella, suitcase, dog
street: vehicle, fire hydrant, parking meter, umbrella, suitcase, dog, cat
sidewalk: vehicle, fire hydrant, parking meter, umbrella, suitcase, dog, cat
building: vehicle, fire hydrant, parking meter, tent, umbrella
landform: animal, tent, tree, watercraft
water: watercraft, dolphin, shark, umbrella, kite
sky: aircraft, kite
tree: palm tree, christmas tree, apple, apples, kite, tent
field: animal, tractor, tent
grass: animal, tractor, tent
dish: edible, teapot, vase, candle, wine glass, appliance
drinkable: edible, teapot, wine glass, appliance
edible: edible, teapot, vase, candle, wine glass, appliance
tabletop: edible, laptop, laptops, vase, candle, teapot, wine glass, appliance
seat: couch, sofa, bed
wall: vase, candle, television, umbrella
person: umbrella, suitcase, boat
""")
# Objects of the image that a template may name.
SOLID = parse_name_filter(
    "person, animal, plush, baggage, dish, receptacle, seat, tabletop, storage, bathware, appliance, light, instrument, vehicle, building, tree, sign, rock, fence"
)
# An object is never taken for absent if it is shown with at least this probability, by the counts of the
# vocabulary.
MAX_PRESENCE = 0.04
# Number of questions that are written about an image, per own question of the image, and their smallest number.
QUESTIONS_PER_QUESTION, MIN_QUESTIONS = 2.0, 12
# Maximum number of questions of other images per image.
MAX_FOREIGN_QUESTIONS = 12
# Largest number of words of a name.
MAX_NAME_WORDS = 3


@dataclass(frozen=True)
class AbsentObjects:
    """What is absent from an image.

    Attributes:
        probabilities: For each row of the object table the probability that the image does not show such an
            object; 0 for objects that may be shown.
        present: The names of objects that the image shows according to its questions, sorted.
    """

    probabilities: np.ndarray
    present: Sequence[str]


def find_mentioned_names(texts: Iterable[str], names: Collection[str]) -> set[str]:
    """Return the singular names of all objects that texts mention.

    Args:
        texts: The texts.
        names: Singular names of objects.

    >>> sorted(find_mentioned_names(["Is the fire hydrant red?", "no, the dogs are"], {"fire hydrant", "dog", "cat"}))
    ['dog', 'fire hydrant']
    """
    mentioned = set[str]()
    for text in texts:
        tokens = tokenize_text(text)
        for size in range(1, MAX_NAME_WORDS + 1):
            for start in range(len(tokens) - size + 1):
                name = lemmatize(" ".join(tokens[start : start + size]))
                if name in names:
                    mentioned.add(name)
    return mentioned


def find_absent_objects(
    parsed: ParsedImage, replacements: ReplacementSampler, similar_texts: Iterable[str] = ()
) -> AbsentObjects:
    """Find the objects of the vocabulary that an image very probably does not show.

    Args:
        parsed: The image and its questions.
        replacements: The vocabulary with its tables.
        similar_texts: Questions of other images that CLIP finds similar to the image.
    """
    table = replacements.object_table
    row_by_lemma = {lemmatize(name): row for name, row in table.row_by_name.items()}
    texts = [
        text
        for question, *_ in parsed.questions
        for text in (question.text, question.source_text, question.answer, question.full_answer)
    ]
    mentioned = find_mentioned_names(texts, row_by_lemma.keys())
    evident = {
        name for obj in (parsed.evidence.objects if parsed.evidence else ()) for name in obj.names if name
    }
    named = sorted({*mentioned, *map(lemmatize, evident), *get_known_names(parsed.evidence)})
    absent = replacements.estimate_absence(parsed.evidence)
    absent = np.where(
        (absent >= 1 - MAX_PRESENCE)
        & (replacements.presence.estimate_probabilities(named) <= MAX_PRESENCE)
        & np.array([is_selected(name, CONSPICUOUS) for name in table.names]),
        absent,
        0,
    )
    kinds = {kind for name in named for kind in get_kinds(name)}
    main_kinds = {get_main_kind(name) for name in named} - {""}
    companions = frozenset(member for kind in kinds & COMPANIONS.keys() for member in COMPANIONS[kind])
    for name in {*named, *find_mentioned_names(similar_texts, row_by_lemma.keys())}:
        absent[table.match_confusable(name)] = 0
    for row, name in enumerate(table.names):
        own = get_kinds(name)
        words = {lemmatize(word) for word in name.split()}
        if (
            own & (companions | {*named})
            or words & {*named}
            or lemmatize(name) in kinds
            or get_main_kind(name) in main_kinds
        ):
            absent[row] = 0
    # The word "can" of a text may be no object, so templates name only objects that the evidence knows.
    present = [name for name in sorted(get_known_names(parsed.evidence)) if name in row_by_lemma]
    return AbsentObjects(absent, present)


class AbsentObjectWriter:
    """Writes unanswerable gold questions of images.

    Args:
        inputs: The questions, evidence and vocabulary of the data set. Its parameters must not balance words.
        questions_by_name: The questions of all images.
    """

    def __init__(
        self,
        inputs: PerturbInputs,
        questions_by_name: QuestionsByName,
    ) -> None:
        self._inputs, self._questions_by_name = inputs, questions_by_name

    def write_questions(
        self, image_id: str, similar_texts: Iterable[str], rng: np.random.Generator
    ) -> list[GoldQuestion]:
        """Write questions about objects that are absent from an image.

        Args:
            image_id: The id of the image.
            similar_texts: Questions of other images that CLIP finds similar to the image.
            rng: The random generator.

        Returns:
            First questions in the form of the image's own questions, then questions of other images, then
            questions after RGQA's template.
        """
        parsed = parse_image(self._inputs, image_id)
        absent = find_absent_objects(parsed, self._inputs.replacements, similar_texts)
        if not absent.probabilities.any():
            return []
        return [
            *self._edit_own_questions(parsed, absent, rng),
            *self._take_foreign_questions(image_id, parsed, absent, rng),
            *self._fill_templates(absent, rng),
        ]

    def edit_questions(
        self, image_id: str, absent_names: Collection[str], rng: np.random.Generator
    ) -> list[GoldQuestion]:
        """Edit questions of an image so that they presuppose an object that is certainly absent.

        Args:
            image_id: The id of the image.
            absent_names: Singular names of objects that the image certainly does not show.
            rng: The random generator.

        Returns:
            Questions that the verifier finds unanswerable, because the object is missing.
        """
        parsed = parse_image(self._inputs, image_id)
        table = self._inputs.replacements.object_table
        is_absent = np.array([lemmatize(name) in absent_names for name in table.names], float)
        if parsed.evidence is None or not is_absent.any():
            return []
        found = []
        for row in self._edit_own_questions(parsed, AbsentObjects(is_absent, ()), rng):
            result = verify_question(row.program, parsed.evidence, row.text) if row.program else None
            if result and result.category == "missing object":
                found.append(replace(row, source="edited question", explanation=result.detail))
        return found

    def _take_foreign_questions(
        self, image_id: str, parsed: ParsedImage, absent: AbsentObjects, rng: np.random.Generator
    ) -> Iterator[GoldQuestion]:
        """Yield questions of other images that presuppose an absent object."""
        if parsed.evidence is None:
            return
        names = self._inputs.replacements.object_table.names
        absent_names = {lemmatize(names[row]) for row in np.flatnonzero(absent.probabilities)}
        evidence = dataclasses.replace(parsed.evidence, absent_names=frozenset(absent_names))
        found = sample_foreign_questions(
            image_id, self._questions_by_name, evidence, MAX_FOREIGN_QUESTIONS, rng
        )
        for row in found:
            yield replace(row, source="absent object, to be confirmed")

    def _edit_own_questions(
        self, parsed: ParsedImage, absent: AbsentObjects, rng: np.random.Generator
    ) -> list[GoldQuestion]:
        own = [row for row in parsed.questions if not is_existence_question(row[0])]
        wanted = max(round(QUESTIONS_PER_QUESTION * len(own)), MIN_QUESTIONS)
        probabilities, found = absent.probabilities.copy(), dict[str, GoldQuestion]()
        table = self._inputs.replacements.object_table
        # Every question is edited once before any is edited again.
        for index in [*rng.permutation(len(own)), *rng.permutation(len(own)), *rng.permutation(len(own))]:
            question, sentence, program, presuppositions = own[index]
            if len(found) >= wanted:
                break
            case = EditCase(
                sentence,
                program,
                presuppositions,
                parsed.evidence,
                probabilities,
                self._inputs.replacements,
                (),
            )
            swap = self._replace_one_object(case, rng)
            if swap is None:
                continue
            text = rewrite_text(sentence, [swap])
            if find_grammar_error(text) or text in found:
                continue
            in_program = program and swap.slot.step >= 0
            found[text] = GoldQuestion(
                text=text,
                expected_choice="invalid",
                source="absent object, to be confirmed",
                explanation=f"no {singularize(swap.new)} can be seen",
                program=edit_program(question.program, program, [swap]) if in_program else (),
                question_id=question.question_id,
            )
            # No object is used often, so that its name does not show which question is the gold question.
            probabilities[table.row_by_name[swap.new]] *= 0.2
        return list(found.values())

    def _replace_one_object(self, case: EditCase, rng: np.random.Generator) -> Swap | None:
        table = self._inputs.replacements.object_table
        slots = [
            slot
            for slot in find_object_slots(case)[0]
            if not slot.is_query_only and _is_replaceable(case, slot)
        ]
        for index in rng.permutation(len(slots)):
            swap = replace_object(case, slots[index], rng.random(2).tolist(), [], False)
            row = table.row_by_name.get(swap.new, -1) if swap else -1
            if (
                swap
                and row >= 0
                and case.absence_probabilities[row]
                and not _is_subject_of_final_verb(case, swap)
            ):
                return swap
        return None

    def _fill_templates(self, absent: AbsentObjects, rng: np.random.Generator) -> Iterator[GoldQuestion]:
        replacements = self._inputs.replacements
        table, plausibility = replacements.object_table, replacements.plausibility
        with_color = plausibility.score_objects(ObjectConstraints(types=("color",)))
        weights = absent.probabilities * table.sampling_weights * with_color * ~table.is_category
        others = [
            name
            for name in absent.present
            if is_selected(name, SOLID) and not table.is_category[table.row_by_name.get(name, 0)]
        ]
        for _ in range(MAX_TEMPLATES_PER_KIND):
            if not weights.any() or not others:
                return
            row = int(rng.choice(len(weights), p=weights / weights.sum()))
            name, other = table.names[row], str(rng.choice(others))
            weights[row] = 0
            relations = [
                relation
                for relation in TEMPLATE_RELATIONS
                if plausibility.score_relation(name, relation, other) > 0
            ]
            relation = str(rng.choice(relations or TEMPLATE_RELATIONS[:1]))
            number = get_grammatical_number(name)
            yield replace(
                make_absent_object_question(name, number, relation, other),
                source="absent object template, to be confirmed",
                explanation=f"no {singularize(name)} can be seen",
            )


def _is_replaceable(case: EditCase, slot: Presupposition) -> bool:
    sentence = case.sentence
    # "The woman WHO is wearing a hat" cannot become a thing.
    if "who" in (sentence.get_token(slot.span.end_token), sentence.get_token(slot.span.end_token + 1)):
        return False
    return is_selected(slot.word, REPLACEABLE) or (
        sentence.get_previous_token(slot.phrase_start) in PLACE_PREPOSITIONS
        and bool(get_main_kind(slot.word))
    )


def _is_subject_of_final_verb(case: EditCase, swap: Swap) -> bool:
    """Return whether a new word is the subject of a verb at the end of the question, and does not fit it.

    What the light is SHOWING and what the man is RIDING can be asked of living things only if the old word was
    one.
    """
    sentence = case.sentence
    is_subject = sentence.get_previous_token(swap.slot.phrase_start) in ("is", "are", "was", "were")
    has_verb = any(
        sentence.get_tag(index) == "VBG" for index in range(swap.slot.span.end_token, len(sentence.tokens))
    )
    is_living = get_main_kind(swap.slot.word) in LIVING_KINDS and get_main_kind(swap.new) == "animal"
    return is_subject and has_verb and not is_living

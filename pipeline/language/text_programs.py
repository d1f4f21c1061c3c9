"""Derive a functional program from the text of a question that has none.

    "What color is the bike next to the tree?"     select: tree, relate: bike,next to,s, query: color
    "Is the man in the car wearing a red hat?"     select: car, relate: man,in,s, relate: hat,wearing,o,
                                                   filter color: red, exist
    "Why is the dog sitting on the couch?"         select: couch, relate: dog,sitting on,s, query: reason

The parser reads noun phrases with their attributes and what modifies them (prepositional phrases, participles and
relative clauses), and then the form of the question, which decides what is asked, what is asserted and what is
presupposed. It uses Penn tags, closed word classes and lists of everyday objects and attributes. It needs no
vocabulary of the data set. Where a form is unknown, the program only presupposes the definite noun phrases
("the red car") and asks for something unknown.

A phrase modifies the nearest noun before it. A program has one relation for each noun. Objects of further
relations are selected, too, in steps on which no other step builds.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache
from itertools import islice

import msgspec

from pipeline.core.records import Question, Step
from pipeline.language.commonsense import get_type_by_value
from pipeline.language.letter_case import to_sentence_case
from pipeline.language.lexicon import load_wordnet
from pipeline.language.nouns import get_grammatical_number, lemmatize
from pipeline.language.object_taxonomy import get_kinds, get_main_kind
from pipeline.language.relations import PREPOSITIONS
from pipeline.language.sentence import Sentence
from pipeline.language.similarity import ATTRIBUTE_SYNONYMS
from pipeline.language.tagger import BATCH_SIZE, TaggedToken, Tagger, get_present_participle
from pipeline.language.word_lists import (
    DEFINITE_DETERMINERS,
    DETERMINERS,
    FRAME_WORDS,
    PARTITIVE_NOUNS,
    parse_groups,
    parse_headed_groups,
    parse_words,
)

# Phrases that add nothing to what is asked, as they speak of the image or the listener.
_FILLERS = re.compile(
    r"""
    ^(?:in|on)\ (?:this|the)\ (?:photo|photograph|picture|image|scene)\ ?,?\ |
    (?<!\bis)(?<!\bare)(?<!\bside)(?<!\bpart)(?<!\bhalf)\ (?:in|of|on|from|within)\ (?:this|the)\ (?:photo|photograph|picture|image|scene|snapshot|shot)\b(?!\ (?:'s|is|was)\b) |
    \b(?:do\ you\ think|would\ you\ say|do\ you\ suppose|do\ you\ believe)\b\ ?(?:that\ )?(?=.) |
    ^(?:please|so|now|and)\ ?,?\ | \b(?:actually|currently|probably|exactly|really|both|also|just|only)\b\ ? |
    \ (?:here|shown|pictured|depicted|visible|presented|displayed|at\ the\ moment|right\ now)$
    """,
    re.VERBOSE,
)
_BE = parse_words("is, are, was, were, 's, be, isn, aren, wasn, weren")
_DO = parse_words("do, does, did, can, could, will, would, has, have, had, should, don, doesn")
_PERSONAL_PRONOUNS = parse_words("he, she, they, it, him, her, them, this, that, these, those")
_LISTENER = parse_words("you, i, we, one")
_RELATIVE_PRONOUNS = parse_words("that, which, who")
# Types of attributes that are no part of a name, although WordNet knows "old man".
_DESCRIBING_TYPES = parse_words("age, size, height, length, fatness, weight, pose, cleanliness, face expression, tone")
_VENUE_WORDS = parse_words("venue, scene, setting, area, environment, store, place, room, location")
# Parts of an object or an image that are no objects: "the front of the bus".
_PART_NOUNS = parse_words(
    "front, back, side, sides, edge, end, middle, center, centre, top, bottom, left, right, part, corner, inside, outside,"
    "rear, half, surface, tip, base, foot, rest, inside"
)
_PARTITIVE_FRAMES = parse_words("""
kind, kinds, type, types, sort, sorts, piece, pieces, item, items, article, articles, breed, species, style,
brand, variety, form
""")
# Words for the kind of an answer, with the type of the attribute that they ask for, as in GQA.
_ASKED_TYPES = {
    word: head
    for head, words in parse_headed_groups("""
color: color, colour, colors, colours; material: material, materials, fabric; shape: shape; size: size
pattern: pattern, print, design; age: age; gender: gender, sex; height: height; length: length; width: width
weight: weight; texture: texture; weather: weather; room: room; place: place, location, setting
time: time, season, year, day, date, hour; number: number; activity: activity, sport; company: brand, company, make, logo
flavor: flavor; position: position; direction: direction; expression: expression, emotion, mood; state: condition, state
hposition: side; vposition: part; text: word, words, text, letter, letters, language, numbers
""").items()
    for word in words
}
_HOW_TYPES = parse_headed_groups(
    "age: old, young; height: tall, high; length: long, short; width: wide; size: big, large, small; weight: heavy;"
    "thickness: thick; number: much; state: clean, dirty, full; distance: far, close; depth: deep; weather: hot, cold"
)
_TYPE_BY_ADJECTIVE = {word: head for head, words in _HOW_TYPES.items() for word in words}
_ZONES = {"left": "hposition", "right": "hposition", "top": "vposition", "bottom": "vposition"}
_ZONE_NOUNS = parse_words("side, half, part, edge, corner, end, hand side")
_SCENE_NOUNS = parse_words("photo, photograph, picture, image, scene, snapshot, shot, weather, background, foreground, sky")
_PLACE_ASKED = parse_words("place, room, location, weather, scene, photo, picture, image, photograph")
# Longest first.
_PREPOSITION_TOKENS = sorted(
    {tuple(phrase.split()) for phrase in (*PREPOSITIONS, "among", "amongst", "beyond", "up", "down", "during",
     "after", "before", "like", "for", "on the other side of", "at the top of", "at the bottom of", "on the edge of",
     "at the edge of", "in the front of", "on the back of", "at the end of", "in back of", "out of", "as")},
    key=lambda phrase: (-len(phrase), phrase),
)  # fmt: skip
# After these a preposition starts another phrase: "holding IN his hand".
_TRANSITIVE_VERBS = parse_words(
    "holding, wearing, carrying, eating, drinking, reading, riding, pulling, pushing, throwing, using, doing, cutting,"
    "catching, kicking, hitting, driving, cooking, making, selling, serving, petting, feeding, touching, swinging"
)
_OPTION_TOKENS = sorted(
    {tuple(phrase.split()) for phrase in parse_words(
        "to the left, to the right, in front, on the left, on the right, to the left of, to the right of, left, right")},
    key=lambda phrase: (-len(phrase), phrase),
)  # fmt: skip
_NOT_VERBS = parse_words("during, according, including, regarding, concerning, following, interesting, wedding, building, ceiling, painting, clothing, railing, string, ring, king, wing, thing, something, nothing, anything, everything, evening, morning, pudding, icing, frosting, topping, dressing, stuffing, awning, siding, marking, lighting, seating, parking, crossing, reading, drawing, carving, swing, sling, earring, spring, wiring, bedding, padding, covering, herring, duckling, sapling")
_QUESTION_WORDS = parse_words("what, which, who, whose, whom, where, when, why, how")


@dataclass(slots=True)
class NounPhrase:
    """A noun phrase of a question.

    Attributes:
        name: the object's name.
        head: its tokens [first, last) in the text.
        is_definite: whether it presupposes its object ("the cup", "her cup", "the girl's cup").
        is_pronoun: whether it is a pronoun.
        attributes: pairs (type, attribute); a negated attribute is "not(...)".
        relations: what the phrase says of the object, as triples (relation, role of the object, other phrase). The
            role is "s" for the relation's subject and "o" for its object.
        possessor: the phrase before "'s".
        is_counted: whether it has no determiner or only a number.
    """

    name: str
    head: tuple[int, int] = (0, 0)
    is_definite: bool = False
    is_pronoun: bool = False
    attributes: list[tuple[str, str]] = field(default_factory=list)
    relations: list[tuple[str, str, NounPhrase]] = field(default_factory=list)
    has_determiner: bool = False


@dataclass(slots=True)
class Piece:
    """A phrase after a noun: a prepositional phrase, a participle, a relative clause or a position.

    Attributes:
        kind: "preposition", "participle", "relative", "object_relative", "zone" or "material".
        start, end: its tokens [start, end).
        values: the relation; several are the options of a choice. Or the position or material.
        type: the type of a position or material.
        other: the phrase that the relation relates the noun to, if there is one.
        attributes: the attributes that a relative clause states.
        inner: the piece inside a relative clause.
    """

    kind: str
    start: int
    end: int
    values: tuple[str, ...] = ()
    type: str = ""
    other: NounPhrase | None = None
    attributes: list[tuple[str, str]] = field(default_factory=list)
    inner: Piece | None = None


class TextProgramParser:
    """Derive the program of one question.

    Args:
        text: the question.
        tokens: its tagged tokens.
    """

    def __init__(self, text: str, tokens: Sequence[TaggedToken]) -> None:
        sentence = Sentence(text)
        words, tags, self._indices = [], [], []
        last = sentence.num_content_tokens
        if "," in sentence.tokens[:last]:
            comma = last - 1 - sentence.tokens[:last][::-1].index(",")
            # "Which animal is it, a cow or a sheep?"
            if "or" in sentence.tokens[comma:last] and sentence.tokens[0] in _QUESTION_WORDS:
                last = comma
        for index in range(last):
            start, end = sentence.char_spans[index]
            inside = [tag for first, last, tag in tokens if start <= first and last <= end]
            if sentence.tokens[index][0].isalnum() or sentence.tokens[index] == "'s":
                words.append(sentence.tokens[index])
                tags.append(inside[-1] if inside else "")
                self._indices.append(index)
        self.words, self.tags = self._drop_fillers(words, tags)
        self.extra: list[NounPhrase] = []

    def _drop_fillers(self, words: list[str], tags: list[str]) -> tuple[list[str], list[str]]:
        kept = list(range(len(words)))
        for _ in range(3):
            joined, starts = " ".join(words[i] for i in kept), []
            position = 0
            for i in kept:
                starts.append(position)
                position += len(words[i]) + 1
            removed = [match.span() for match in _FILLERS.finditer(joined)]
            rest = [
                i
                for i, start in zip(kept, starts, strict=True)
                if not any(low <= start < high for low, high in removed)
            ]
            if rest == kept or not rest:
                break
            kept = rest
        self._indices = [self._indices[i] for i in kept]
        return [words[i] for i in kept], [tags[i] for i in kept]

    # Words.

    def word(self, index: int) -> str:
        return self.words[index] if 0 <= index < len(self.words) else ""

    def tag(self, index: int) -> str:
        return self.tags[index] if 0 <= index < len(self.tags) else ""

    def _is_noun(self, index: int, is_in_phrase: bool) -> bool:
        word, tag = self.word(index), self.tag(index)
        if not word or word in _CLOSED or word in _BE or word in _DO:
            return False
        if word.endswith("ing") and tag.startswith(("NN", "VBG")) and word not in _NOT_VERBS:
            return tag.startswith("NN") and is_known_name(word) and is_in_phrase
        if tag.startswith("NN"):
            return True
        if tag in ("VB", "VBP") and self._match_preposition(index + 1) > index + 1:
            return False
        return is_in_phrase and tag.startswith(("VB", "JJ", "RB", "IN", "FW", "UH", "MD")) and is_known_name(word) and (
            tag.startswith("VB") or not get_attribute_type(word)
        ) and not (tag in ("VBN", "VBD", "JJ", "RB"))

    def _is_verb(self, index: int) -> bool:
        word, tag = self.word(index), self.tag(index)
        if word in _CLOSED or word in _BE:
            return False
        if word.endswith("ing") and word not in _NOT_VERBS and len(word) > 4:
            return True
        return tag in ("VBN", "VBD")

    def _is_attribute(self, index: int) -> bool:
        word, tag = self.word(index), self.tag(index)
        if not word or word in _CLOSED or word in _BE or word in _DO:
            return False
        return tag.startswith(("JJ", "VBN")) or bool(get_attribute_type(word)) or (
            word.endswith("ing") and word not in _NOT_VERBS
        )

    def _match_preposition(self, index: int) -> int:
        """Return the token after the preposition that starts at a token, or the token itself."""
        for phrase in _PREPOSITION_TOKENS:
            if tuple(self.words[index : index + len(phrase)]) == phrase:
                return index + len(phrase)
        return index

    def _match_option(self, index: int, is_first: bool = True) -> int:
        """Return the token after "to the left" of "to the left or to the right of"."""
        for phrase in _OPTION_TOKENS:
            end = index + len(phrase)
            if tuple(self.words[index:end]) == phrase and (not is_first or self.word(end) == "or"):
                return end
        return index

    # Noun phrases.

    def parse_noun_phrase(self, index: int) -> tuple[NounPhrase, int] | None:
        """Return the noun phrase at a token, without what follows its noun, and the token after it."""
        start = index
        word = self.word(index)
        follows = self._is_noun(index + 1, True) or self._is_attribute(index + 1)
        if word in _PERSONAL_PRONOUNS and not (
            word in ("this", "that", "these", "those", "her") and follows and self.word(index + 1) not in _BE
        ):
            return NounPhrase(word, (index, index + 1), True, True), index + 1
        if word in _LISTENER:
            return None
        # "All of the", "one of the", "some of the".
        if self.word(index + 1) == "of" and self.word(index + 2) in DEFINITE_DETERMINERS and (
            word in DETERMINERS or word in ("one", "most", "many", "none", "part") or self.tag(index) == "CD"
        ):
            index += 2
            word = self.word(index)
        is_definite = has_determiner = False
        while word in DETERMINERS or self.tag(index) in ("PRP$", "CD", "PDT") or word in _QUANTIFIERS:
            is_definite = is_definite or word in DEFINITE_DETERMINERS or self.tag(index) == "PRP$"
            has_determiner = True
            index += 1
            word = self.word(index)
        found = self._parse_head(index, has_determiner)
        if found is None:
            return None
        attributes, (first, last) = found
        # "Clothing ITEM", "food ITEMS".
        if self.words[last - 1] in ("item", "items") and last - 2 >= index and self._is_noun(last - 2, True):
            first, last = last - 2, last - 1
            phrase = NounPhrase(self.words[first], (first, last), is_definite, False, attributes, has_determiner=has_determiner)
            return phrase, last + 1
        name = " ".join(self.words[first:last])
        phrase = NounPhrase(name, (first, last), is_definite, False, attributes, has_determiner=has_determiner)
        if self.word(last) == "of" and not self._is_scene(last + 1):
            if self.words[last - 1] in _PARTITIVE_FRAMES | _PART_NOUNS or (
                self.words[last - 1] in PARTITIVE_NOUNS and self.word(last + 1) not in DETERMINERS
            ):
                inner = self.parse_noun_phrase(last + 1)
                if inner and not inner[0].is_pronoun:
                    inner_is_definite = inner[0].is_definite
                    inner[0].is_definite, inner[0].has_determiner = is_definite, has_determiner
                    inner[0].attributes += attributes if self.words[last - 1] not in _PART_NOUNS else []
                    if self.words[last - 1] in _PART_NOUNS:
                        # "The right side of the road" presupposes the road.
                        inner[0].is_definite = is_definite or inner_is_definite
                    return inner
        if self.word(last) == "'s" or (self.word(last) == "s" and self._is_noun(last + 1, True)):
            inner = self.parse_noun_phrase(last + 1)
            if inner:
                inner[0].relations.insert(0, ("of", "s", phrase))
                inner[0].is_definite = True
                return inner
        return (phrase, last) if last > start else None

    def _parse_head(
        self, index: int, has_determiner: bool
    ) -> tuple[list[tuple[str, str]], tuple[int, int]] | None:
        """Return the attributes of a noun phrase and the tokens of its noun."""
        modifiers: list[int] = []
        nouns: list[int] = []
        is_negated = False
        position = index
        while position < len(self.words):
            word = self.words[position]
            if self._is_noun(position, has_determiner or bool(modifiers or nouns)) and not (
                nouns and self._ends_predicate(nouns, position)
            ) and not (not nouns and get_attribute_type(word) and self._continues_phrase(position + 1)):
                nouns.append(position)
            elif not nouns and self._is_attribute(position) and self._continues_phrase(position + 1):
                modifiers.append(position)
            elif not nouns and word in ("and", "very", "not", "most", "more", "brightly", "small", "other", "same") and (
                self._continues_phrase(position + 1)
            ):
                is_negated = is_negated or word == "not"
            elif not nouns and self.tag(position) in ("RB", "RBS", "RBR", "CD") and self._continues_phrase(position + 1):
                pass
            elif word == "-" :
                pass
            else:
                break
            position += 1
        if not nouns:
            return None
        last = nouns[-1] + 1
        # Nouns that are attributes ("the wood fence"), unless they belong to a known name ("wine glass").
        first = nouns[-1]
        for begin in [*modifiers, *nouns]:
            is_described = get_attribute_type(self.words[begin]) in _DESCRIBING_TYPES and is_known_name(
                " ".join(self.words[begin + 1 : last])
            )
            if begin < last - 1 and not is_described and is_known_name(" ".join(self.words[begin:last])):
                first = begin
                break
        before = [i for i in (*modifiers, *nouns) if i < first]
        attributes = []
        skipped = -1
        for i in before:
            two = " ".join(self.words[i : i + 2])
            if i == skipped:
                continue
            if i + 1 in before and " " in two and get_attribute_type(two):
                # "Light blue".
                attributes.append((get_attribute_type(two), two))
                skipped = i + 1
                continue
            type_ = get_attribute_type(self.words[i])
            if self.words[i] in _ZONES:
                # "The left cup" has a position, "the left hand" does not.
                if get_main_kind(" ".join(self.words[first:last])) != "bodypart":
                    attributes.append((_ZONES[self.words[i]], self.words[i]))
            elif i in modifiers or type_:
                value = canonicalize_attribute(self.words[i])
                attributes.append((type_, f"not({value})" if is_negated else value))
        return attributes, (first, last)

    def _continues_phrase(self, index: int) -> bool:
        """Return whether attributes and a noun follow, so that an attribute before them belongs to the phrase."""
        for position in range(index, min(index + 5, len(self.words))):
            if self._is_noun(position, True):
                return not (
                    get_attribute_type(self.words[position])
                    and not is_known_name(self.words[position])
                    and not self._continues_phrase(position + 1)
                )
            if not (
                self._is_attribute(position)
                or self.words[position] in ("and", "very", "other", "same")
                or self.tag(position) in ("RB", "CD")
            ):
                return False
        return False

    def _ends_predicate(self, nouns: Sequence[int], position: int) -> bool:
        """Return whether a noun after a noun is what a question says of it: "Is the fence WOOD?"."""
        compound = " ".join(self.words[nouns[0] : position + 1])
        ends = position + 1 == len(self.words) or self.words[position + 1] in ("or", "and")
        return bool(get_attribute_type(self.words[position])) and ends and not is_known_name(compound)

    def _is_scene(self, index: int) -> bool:
        while self.word(index) in DETERMINERS:
            index += 1
        return self.word(index) in _SCENE_WORDS

    # What follows a noun.

    def parse_piece(self, index: int) -> Piece | None:
        """Return the prepositional phrase, participle or relative clause at a token."""
        return self._parse_zone(index) or self._parse_prepositional(index) or self._parse_relative(index) or (
            self._parse_participle(index)
        )

    def _parse_zone(self, index: int) -> Piece | None:
        """Parse "on the left", "at the top", "on the left side of the picture"."""
        position = index
        if self.word(position) not in ("on", "at", "in"):
            return None
        position += 1
        while self.word(position) in ("the", "very", "far", "upper", "lower", "its", "your"):
            position += 1
        zone = self.word(position)
        if zone not in _ZONES and zone not in ("middle", "center", "centre"):
            return None
        position += 1
        if zone in _ZONES and self.word(position) in ("hand",):
            position += 1
        if self.word(position) in _ZONE_NOUNS:
            position += 1
        if self.word(position) == "of":
            if not self._is_scene(position + 1):
                return None
            while self.word(position) not in _SCENE_WORDS:
                position += 1
            position += 1
        if self.word(position) == "or" and (second := self._parse_zone(position + 1)):
            values = ("middle" if zone not in _ZONES else zone, *second.values)
            return Piece("zone", index, second.end, values=values, type=second.type)
        type_ = _ZONES.get(zone, "hposition")
        return Piece("zone", index, position, values=("middle" if zone not in _ZONES else zone,), type=type_)

    def _parse_prepositional(self, index: int) -> Piece | None:
        end = self._match_option(index)
        if end == index:
            end = self._match_preposition(index)
        if end == index:
            return None
        values = [" ".join(self.words[index:end])]
        while self.word(end) in ("or", "and"):
            following = max(self._match_preposition(end + 1), self._match_option(end + 1, False))
            if following == end + 1:
                break
            values.append(" ".join(self.words[end + 1 : following]))
            end = following
        inner = self.parse_noun_phrase(end)
        if inner is None:
            return Piece("preposition", index, end, values=tuple(values))
        return Piece("preposition", index, inner[1], values=_complete_options(values), other=inner[0])

    def _parse_participle(self, index: int) -> Piece | None:
        if not self._is_verb(index):
            return None
        verb, position = self.words[index], index + 1
        if verb == "made" and self.word(position) in ("of", "from", "out", "with"):
            position += 2 if self.word(position) == "out" else 1
            if position >= len(self.words):
                return Piece("material", index, position)
            values = [canonicalize_attribute(self.words[position])]
            while self.word(position + 1) == "or" and position + 2 < len(self.words):
                position += 3 if self.word(position + 2) == "of" else 2
                values.append(canonicalize_attribute(self.word(position)))
            return Piece("material", index, position + 1, values=tuple(values), type="material")
        if self.tag(position) == "RP" or self.word(position) in ("up", "out", "down", "off", "away", "together"):
            if self._match_preposition(position + 1) > position + 1 or not self._starts_phrase(position + 1):
                verb, position = verb if self.word(position) in ("up", "down") else f"{verb} {self.word(position)}", position + 1
        if (zone := self._parse_zone(position)) is not None:
            return Piece("participle", index, position, values=(verb,))
        if verb in _TRANSITIVE_VERBS and self._match_preposition(position) > position:
            # "What is the man HOLDING in his hand?"
            return Piece("participle", index, position, values=(verb,))
        end = self._match_preposition(position)
        options = [verb]
        while self.word(position) == "or" and self._is_verb(position + 1) and end == position:
            options.append(self.words[position + 1])
            position = end = position + 2
        if len(options) > 1:
            return Piece("participle", index, position, values=tuple(options))
        relation = " ".join([verb, *self.words[position:end]])
        inner = self.parse_noun_phrase(end)
        if inner is None and end > position and end < len(self.words):
            return Piece("participle", index, position, values=(verb,))
        return Piece("participle", index, inner[1] if inner else end, values=(relation,), other=inner[0] if inner else None)

    def _starts_phrase(self, index: int) -> bool:
        return self.parse_noun_phrase(index) is not None

    def _parse_relative(self, index: int) -> Piece | None:
        """Parse "that is red", "who wears a hat", "that the man is holding", "the man is on"."""
        position = index
        if self.word(position) in _RELATIVE_PRONOUNS:
            position += 1
            if self.word(position) in _BE:
                position += 1
                is_negated = self.word(position) == "not" or self.word(position) == "t"
                position += is_negated
                if values := self._parse_adjectives(position):
                    found, end = values
                    found = [(t, f"not({v})" if is_negated else v) for t, v in found]
                    return Piece("relative", index, end, attributes=found)
                piece = self._parse_zone(position) or self._parse_prepositional(position) or self._parse_participle(position)
                return Piece("relative", index, piece.end, inner=piece) if piece else None
            if self.tag(position).startswith("VB") and self.word(position) not in _DO | _BE or self.word(position) in ("has", "have"):
                if self.word(position) in ("looks", "look", "appears", "appear", "seems", "seem") and (
                    values := self._parse_adjectives(position + 1)
                ):
                    return Piece("relative", index, values[1], attributes=values[0])
                verb = _VERB_RELATIONS.get(self.word(position)) or get_present_participle(self.word(position))
                end = self._match_preposition(position + 1)
                relation = " ".join([verb, *self.words[position + 1 : end]])
                inner = self.parse_noun_phrase(end)
                if inner is None:
                    piece = Piece("participle", position, end, values=(relation,))
                else:
                    piece = Piece("participle", position, inner[1], values=(relation,), other=inner[0])
                return Piece("relative", index, piece.end, inner=piece)
        # "The bag (that) the man is holding".
        if self.word(position) in DETERMINERS and (subject := self.parse_noun_phrase(position)):
            after = subject[1]
            if self.word(after) in _BE:
                end = self._match_preposition(after + 1)
                if end > after + 1 and not self._starts_phrase(end):
                    return Piece("object_relative", index, end, values=(" ".join(self.words[after + 1 : end]),), other=subject[0])
                verb = self._parse_participle(after + 1)
                if verb and verb.other is None and verb.values:
                    return Piece("object_relative", index, verb.end, values=verb.values, other=subject[0])
            elif self.tag(after) in ("VBZ", "VBP", "VBD", "VB", "NNS") and self.word(after) not in _DO:
                verb = get_present_participle(self.word(after))
                end = self._match_preposition(after + 1)
                if not self._starts_phrase(end):
                    return Piece("object_relative", index, end, values=(" ".join([verb, *self.words[after + 1 : end]]),), other=subject[0])
        return None

    def _parse_adjectives(self, index: int) -> tuple[list[tuple[str, str]], int] | None:
        """Return the attributes at a token that no noun follows, and the token after them."""
        found: list[tuple[str, str]] = []
        position = index
        while position < len(self.words):
            word = self.words[position]
            if self._match_preposition(position) > position and word not in ("on", "off"):
                break
            if self.tag(position) in ("RB", "RBR") and not get_attribute_type(word) and position + 1 < len(self.words):
                position += 1
                continue
            two = " ".join(self.words[position : position + 2])
            if " " in two and get_attribute_type(two):
                found.append((get_attribute_type(two), two))
                position += 2
            elif word.endswith("ing") and not get_attribute_type(word):
                break
            elif self._is_attribute(position) and not (self.tag(position) in ("VBN", "VBD") and self._match_preposition(position + 1) > position + 1) and not (word.endswith("ing") and position + 1 < len(self.words) and self.words[position + 1] not in ("and", "or")):
                found.append((get_attribute_type(word), canonicalize_attribute(word)))
                position += 1
            else:
                break
            if self.word(position) in ("and", "or") and position + 1 < len(self.words):
                position += 1
                continue
            break
        if not found or self._is_noun(position, True):
            return None
        if self.words[position - 1] in ("and", "or"):
            position -= 1
        return found, position

    def parse_pieces(self, index: int) -> tuple[list[Piece], int]:
        """Return all pieces from a token on, and the token after the last one."""
        pieces: list[Piece] = []
        while piece := self.parse_piece(index):
            if piece.end <= index:
                break
            pieces.append(piece)
            index = piece.end
        return pieces, index

    def parse_full_phrase(self, index: int) -> tuple[NounPhrase, int] | None:
        """Return the noun phrase at a token with all that modifies it."""
        found = self.parse_noun_phrase(index)
        if found is None:
            return None
        phrase, end = found
        pieces, end = self.parse_pieces(end)
        self.attach(phrase, pieces)
        return phrase, end

    def attach(self, phrase: NounPhrase, pieces: Iterable[Piece]) -> NounPhrase:
        """Add pieces to the phrase that they modify, which is the last one before. Return the last phrase."""
        last = phrase
        for piece in pieces:
            last = self._attach_piece(last, piece)
        return last

    def _attach_piece(self, phrase: NounPhrase, piece: Piece) -> NounPhrase:
        if piece.kind == "relative":
            phrase.attributes += piece.attributes
            return self._attach_piece(phrase, piece.inner) if piece.inner else phrase
        if piece.kind in ("zone", "material"):
            if piece.values:
                phrase.attributes.append((piece.type, piece.values[0]))
        elif piece.kind == "object_relative" and piece.other:
            phrase.relations.append((piece.values[0], "o", piece.other))
        elif piece.other is None:
            if piece.kind == "participle":
                phrase.attributes.append((get_attribute_type(piece.values[0]) or get_activity_type(piece.values[0]), piece.values[0]))
        elif piece.other.is_pronoun or piece.other.name in _SCENE_WORDS | _PART_NOUNS | _ZONE_WORDS:
            pass
        else:
            phrase.relations.append((piece.values[0], "s", piece.other))
            return piece.other
        return phrase

    # Frames of questions.

    def parse(self, answer: str = "") -> list[Step]:
        """Return the steps of the question's program, or none if it presupposes nothing that can be read."""
        frame = self._parse_frame()
        if frame is None:
            self.extra = self._find_definite_phrases(0, len(self.words))
            if not self.extra:
                return []
            frame = Frame("query", self.extra.pop(), type="unknown")
        return _ProgramWriter(frame, self.extra, answer).write()

    def _parse_frame(self) -> Frame | None:
        if not self.words:
            return None
        first = self.words[0]
        if first in _BE:
            return self._parse_be_question()
        if first in _DO:
            return self._parse_do_question()
        wh = next((i for i, word in enumerate(self.words[:4]) if word in _QUESTION_WORDS), None)
        if wh is None or (wh > 0 and self._match_preposition(0) != wh):
            return self._parse_trailing_question()
        word = self.words[wh]
        if word in ("what", "which"):
            return self._parse_what_question(wh)
        if word in ("who", "whom"):
            return self._parse_subject_question(wh + 1, NounPhrase("person"))
        if word == "where":
            return self._parse_adverb_question(wh + 1, "location")
        if word in ("why", "when"):
            return self._parse_adverb_question(wh + 1, "reason" if word == "why" else "time")
        if word == "how":
            return self._parse_how_question(wh + 1)
        return None

    def _find_definite_phrases(self, start: int, end: int) -> list[NounPhrase]:
        """Return the definite noun phrases between two tokens, with what modifies them."""
        found: list[NounPhrase] = []
        position = start
        while position < end:
            is_start = self.word(position) in DEFINITE_DETERMINERS or self.tag(position) == "PRP$"
            phrase = self.parse_full_phrase(position) if is_start else None
            if phrase and not phrase[0].is_pronoun and phrase[0].name not in _SCENE_WORDS and phrase[0].name not in FRAME_WORDS:
                found.append(phrase[0])
                position = phrase[1]
            else:
                position += 1
        return found

    def _skip_negation(self, index: int) -> int:
        while self.word(index) in ("not", "t", "n"):
            index += 1
        return index

    def _parse_be_question(self) -> Frame | None:
        index = self._skip_negation(1)
        if self.word(index) == "there":
            return self._parse_existence(index + 1)
        subject = self.parse_noun_phrase(index)
        if subject is None:
            return None
        phrase, end = subject
        if phrase.is_pronoun or phrase.name in _SCENE_WORDS:
            return self._parse_statement_of_pronoun(phrase, end)
        pieces, rest = self.parse_pieces(end)
        if rest < len(self.words):
            last = self.attach(phrase, [])
            self.attach(last, pieces)
            return self._parse_predicate(phrase, rest)
        if not pieces:
            return None
        choice = [i for i, piece in enumerate(pieces) if len(piece.values) > 1]
        verbs = [i for i, piece in enumerate(pieces) if piece.kind in ("participle", "material")]
        others = [i for i, piece in enumerate(pieces) if piece.kind not in ("relative", "object_relative")]
        chosen = (choice or verbs[-1:] or others[:1] or [-1])[0]
        if chosen < 0:
            return None
        if not verbs and not choice and len(others) > 1 and pieces[others[0]].values[0] in ("of", "with", "in"):
            chosen = others[-1]
        piece = pieces[chosen]
        self.attach(phrase, pieces[:chosen])
        if piece.other is not None:
            self.attach(piece.other, pieces[chosen + 1 :])
        else:
            self._keep_phrases(pieces[chosen + 1 :])
        return self._state_piece(phrase, piece)

    def _keep_phrases(self, pieces: Iterable[Piece]) -> None:
        """Keep the definite phrases of pieces that modify no noun."""
        previous: NounPhrase | None = None
        for piece in pieces:
            inner = piece.inner if piece.kind == "relative" and piece.inner else piece
            if previous is not None and inner.other is not None and not inner.other.is_pronoun and inner.kind == "preposition" and inner.values[0] == "of":
                previous = self.attach(previous, [piece])
            elif inner.other is not None and inner.other.is_definite and not inner.other.is_pronoun and inner.other.name not in _SCENE_WORDS and inner.other.name not in FRAME_WORDS:
                self.extra.append(inner.other)
                previous = inner.other
            elif previous is not None:
                previous = self.attach(previous, [piece])

    def _state_piece(self, phrase: NounPhrase, piece: Piece) -> Frame:
        """Return the frame of a yes-no question or a choice whose statement is a piece."""
        if piece.kind in ("zone", "material"):
            return Frame("choose" if len(piece.values) > 1 else "verify", phrase, type=piece.type, values=piece.values)
        if piece.other is None or piece.other.is_pronoun:
            type_ = get_attribute_type(piece.values[0]) or get_activity_type(piece.values[0])
            return Frame("verify" if len(piece.values) == 1 else "choose", phrase, type=type_, values=piece.values)
        return Frame("relation", phrase, values=piece.values, other=piece.other)

    def _parse_predicate(self, phrase: NounPhrase, index: int) -> Frame | None:
        """Parse what a question says of a phrase: "red or blue", "a cup", "taller than the tree"."""
        index = self._skip_negation(index)
        if self.word(index) == "made" or (self.word(index) in ("of",) and index):
            piece = self._parse_participle(index)
            if piece and piece.kind == "material" and piece.values:
                values = self._parse_options(index + 2)
                return Frame("verify" if len(values) < 2 else "choose", phrase, type="material", values=values or piece.values)
        zone = self._parse_zone(index)
        if zone:
            return Frame("verify", phrase, type=zone.type, values=zone.values)
        found = self._parse_adjectives(index)
        if found:
            values, end = found
            self._keep(self._find_definite_phrases(end, len(self.words)))
            if "or" in self.words[index:end] and len(values) > 1:
                return Frame("choose", phrase, type=values[0][0], values=tuple(value for _, value in values))
            return Frame("verify", phrase, type=values[0][0], values=(values[0][1],))
        noun = self.parse_full_phrase(index)
        if noun and not noun[0].is_definite and not noun[0].is_pronoun:
            options = [noun[0].name]
            if self.word(noun[1]) == "or" and (second := self.parse_noun_phrase(noun[1] + 1)):
                options.append(second[0].name)
            return Frame("verify" if len(options) == 1 else "choose", phrase, type="name", values=tuple(options))
        self._keep(self._find_definite_phrases(index, len(self.words)))
        return Frame("query", phrase, type="unknown")

    def _keep(self, phrases: Iterable[NounPhrase]) -> None:
        self.extra += phrases

    def _parse_options(self, index: int) -> tuple[str, ...]:
        words = [word for word in self.words[index:] if word not in ("or", "and", "of", "the", "a", "an")]
        return tuple(canonicalize_attribute(word) for word in words) if "or" in self.words[index:] else ()

    def _parse_statement_of_pronoun(self, phrase: NounPhrase, index: int) -> Frame | None:
        self._keep(self._find_definite_phrases(index, len(self.words)))
        name = "scene" if phrase.name in _SCENE_WORDS else phrase.name
        found = self._parse_adjectives(index)
        if found:
            type_ = found[0][0][0]
            values = tuple(value for _, value in found[0])
            if values[0] in ("indoors", "outdoors", "indoor", "outdoor", "sunny", "cloudy", "overcast", "rainy"):
                name = "scene"
            return Frame("choose" if len(values) > 1 else "verify", NounPhrase(name, is_definite=True, is_pronoun=True), type=type_, values=values)
        if self.extra:
            return Frame("query", NounPhrase(name, is_definite=True, is_pronoun=True), type="unknown")
        return None

    def _parse_existence(self, index: int) -> Frame | None:
        while self.word(index) in ("any", "some", "more", "than", "other", "either", "no") or self.tag(index) == "CD":
            if self._is_noun(index, True) and self.tag(index) != "CD":
                break
            index += 1
        found = self.parse_full_phrase(index)
        if found is None:
            self._keep(self._find_definite_phrases(index, len(self.words)))
            return Frame("query", self.extra.pop(), type="unknown") if self.extra else None
        phrases = [found[0]]
        while self.word(found[1]) in ("or", "and") and (following := self.parse_full_phrase(found[1] + 1)):
            phrases.append(following[0])
            found = following
        return Frame("exist", phrases[0], options=phrases)

    def _parse_do_question(self) -> Frame | None:
        index = self._skip_negation(1)
        if self.word(index) in _LISTENER:
            if self.word(index + 1) in ("see", "notice", "spot", "find", "observe", "recognize"):
                return self._parse_existence(index + 2)
            return None
        subject = self.parse_noun_phrase(index)
        if subject is None:
            return None
        phrase, end = subject
        if phrase.name in _SCENE_WORDS and self.word(end) in ("show", "contain", "have", "depict", "include"):
            return self._parse_existence(end + 1)
        pieces, rest = self.parse_pieces(end)
        self.attach(phrase, pieces)
        if phrase.is_pronoun:
            return self._parse_statement_of_pronoun(phrase, rest)
        verb = self.word(rest)
        if verb in ("look", "seem", "appear", "be"):
            start = rest + 1 + (self.words[rest + 1 : rest + 3] == ["to", "be"]) * 2
            if (piece := self.parse_piece(start)) and piece.end == len(self.words) and piece.kind != "preposition":
                return self._state_piece(phrase, piece)
            return self._parse_predicate(phrase, start)
        if not verb:
            return Frame("query", phrase, type="unknown")
        relation = _VERB_RELATIONS.get(verb) or get_present_participle(verb)
        end = self._match_preposition(rest + 1)
        found = self.parse_full_phrase(end)
        relation = " ".join([relation, *self.words[rest + 1 : end]])
        if found is None or found[0].is_pronoun:
            return Frame("verify", phrase, type=get_activity_type(relation), values=(relation,))
        if self.word(found[1]) == "or" and (second := self.parse_noun_phrase(found[1] + 1)):
            if second[0].is_definite:
                self.extra.append(second[0])
            if found[0].is_definite:
                self.extra.append(found[0])
            return Frame("query", phrase, type="unknown")
        return Frame("relation", phrase, values=(relation,), other=found[0])

    def _parse_trailing_question(self) -> Frame | None:
        """Parse "The cup to the left of the plate is of what color?" and "The man is wearing what?"."""
        found = self.parse_noun_phrase(0)
        if found is None or found[0].is_pronoun:
            return None
        phrase, end = found
        pieces, end = self.parse_pieces(end)
        if self.word(end) not in _BE:
            if phrase.name in _ASKED_TYPES and pieces and pieces[0].values[0] == "of" and pieces[0].other:
                return Frame("query", self._attach_all(pieces[0].other, pieces[1:]), type=_ASKED_TYPES[phrase.name])
            return None
        self.attach(phrase, pieces)
        wh = next((i for i in range(end, len(self.words)) if self.words[i] in ("what", "which", "who", "whom")), None)
        if wh is None:
            return None
        asked = self.word(wh + 1)
        if asked in _ASKED_TYPES:
            return Frame("query", phrase, type=_ASKED_TYPES[asked])
        if asked in _PARTITIVE_FRAMES:
            return Frame("query", phrase, type="name")
        middle = self.words[end + 1 : wh]
        if middle in (["made", "of"], ["made", "out", "of"]):
            return Frame("query", phrase, type="material")
        if middle and (self._is_verb(end + 1) or self._match_preposition(end + 1) == wh):
            name = self.parse_noun_phrase(wh + 1)
            return Frame("object", phrase, values=(" ".join(middle),), target=name[0] if name else NounPhrase("_"))
        return Frame("query", phrase, type="name")

    def _attach_all(self, phrase: NounPhrase, pieces: Iterable[Piece]) -> NounPhrase:
        self.attach(phrase, pieces)
        return phrase

    def _parse_what_question(self, wh: int) -> Frame | None:
        index = wh + 1
        fronted = " ".join(self.words[:wh])
        if self.word(index) in _BE or self.word(index) in _DO or self._is_finite_verb(index):
            return self._parse_subject_question(index, NounPhrase("_"), fronted)
        # "What color shirt is the man wearing?", "which side of the photo".
        type_ = _ASKED_TYPES.get(self.word(index), "")
        if type_ and not self._is_noun(index + 1, True) and self.word(index + 1) not in ("of",):
            return self._parse_type_question(index + 1, type_)
        if type_ and self.word(index + 1) == "of" and self._is_scene(index + 2):
            while self.word(index) not in _SCENE_WORDS:
                index += 1
            return self._parse_type_question(index + 1, type_)
        if type_ and self._is_noun(index + 1, True):
            target = self.parse_noun_phrase(index + 1)
            frame = self._parse_subject_question(target[1], target[0], fronted) if target else None
            if frame is None:
                return None
            return Frame("target", frame.subject, frame.type, frame.values, frame.other, frame.target, asked=type_, inner=frame)
        target = self.parse_noun_phrase(index)
        if target is None or target[0].is_pronoun:
            return None
        phrase, end = target
        if phrase.name in _PARTITIVE_FRAMES:
            phrase.name = "_"
        if phrase.name in ("sport", "game", "activity", "event"):
            self._keep(self._find_definite_phrases(end, len(self.words)))
            return Frame("query", self.extra.pop(), type="sport") if self.extra else None
        if phrase.name in _ASKED_TYPES:
            return self._parse_type_question(end, _ASKED_TYPES[phrase.name])
        if end >= len(self.words):
            return None
        if phrase.name in _VENUE_WORDS and self.word(end) in _BE and (
            self.word(end + 1) in _PERSONAL_PRONOUNS or self._is_scene(end + 1) or end + 1 == len(self.words)
        ):
            return Frame("query", NounPhrase("scene", is_definite=True, is_pronoun=True), type="place")
        return self._parse_subject_question(end, phrase, fronted)

    def _is_finite_verb(self, index: int) -> bool:
        if self.word(index) in ("items", "item", "kinds", "types"):
            return False
        return self.tag(index) in ("VBZ", "VBP", "VBD", "MD") or (
            self.tag(index) == "NNS" and index <= 1 and self._match_preposition(index + 1) > index + 1
        )

    def _parse_type_question(self, index: int, type_: str) -> Frame | None:
        """Parse what follows "what color": "is the cup", "does the man wear", "are the cup's handles"."""
        if self.word(index) not in _BE and self.word(index) not in _DO:
            return None
        found = self.parse_noun_phrase(index + 1)
        if found is None:
            self._keep(self._find_definite_phrases(index + 1, len(self.words)))
            return Frame("query", self.extra.pop(), type="unknown") if self.extra else None
        phrase, end = found
        if phrase.name in _SCENE_WORDS or (phrase.is_pronoun and type_ in ("weather", "place", "room", "location", "time")):
            return Frame("query", NounPhrase("scene", is_definite=True, is_pronoun=True), type=type_)
        pieces, end = self.parse_pieces(end)
        if pieces and pieces[-1].end == len(self.words) and pieces[-1].kind in ("participle", "material") and pieces[-1].other is None:
            # "Which side is the man STANDING on?", "What material is the table MADE of?".
            # "What color is the light SHOWING?"
            pieces = pieces[:-1]
        if pieces and pieces[-1].kind == "preposition" and pieces[-1].other is None:
            pieces = pieces[:-1]
        self.attach(phrase, pieces)
        return Frame("query", phrase, type=type_)

    def _parse_subject_question(self, index: int, target: NounPhrase, fronted: str = "") -> Frame | None:
        """Parse what follows "what", "what animal" or "who": "is on the table", "is the man holding"."""
        is_verb = self.word(index) in _BE | _DO or self._is_finite_verb(index)
        pieces, index = ([], index) if is_verb else self.parse_pieces(index)
        self.attach(target, pieces)
        if self.word(index) in _DO and not (self.tag(index) in ("VBZ", "VBP") and self.word(index) in ("has", "have") and not self._has_verb_after(index + 1)):
            if self.tag(index + 1) in ("VBN", "VBD") and self.word(index) in ("has", "have", "had"):
                # "Which dog HAS RAISED its paws?"
                return self._parse_finite_verb(index + 1, target)
            return self._parse_do_object(index + 1, target)
        if self.word(index) not in _BE:
            return self._parse_finite_verb(index, target)
        index = self._skip_negation(index + 1)
        if self.word(index) == "there":
            index += 1
        if index >= len(self.words) and target.name != "_":
            return Frame("target", target)
        piece = self.parse_piece(index)
        if piece is not None and piece.kind != "object_relative":
            pieces, end = self.parse_pieces(index)
            if pieces[0].other is not None and pieces[0].other.is_pronoun and pieces[0].other.name in ("this", "it") and pieces[0].kind == "preposition":
                return None
            self.attach(target, pieces)
            if end < len(self.words):
                found = self._parse_adjectives(end)
                target.attributes += found[0] if found else []
                self._keep(self._find_definite_phrases(end, len(self.words)))
            return Frame("target", target)
        found = self.parse_noun_phrase(index)
        if found is None:
            if adjectives := self._parse_adjectives(index):
                target.attributes += adjectives[0]
                pieces, _ = self.parse_pieces(adjectives[1])
                self.attach(target, pieces)
                return Frame("target", target)
            return None
        phrase, end = found
        if phrase.name in _PLACE_WORDS and phrase.is_definite and self.word(end) in ("", "like", "showing", "taken", "of", "about"):
            type_ = _ASKED_TYPES.get(phrase.name, "place")
            return Frame("query", NounPhrase("scene", is_definite=True, is_pronoun=True), type=type_)
        pieces, rest = self.parse_pieces(end)
        asked = _ASKED_TYPES.get(phrase.name) or ("name" if phrase.name in ("name", *_PARTITIVE_FRAMES) else "")
        if asked and phrase.relations and phrase.relations[0][0] == "of":
            possessor = phrase.relations[0][2]
            self.attach(possessor, pieces)
            return Frame("query", possessor, type=asked)
        if asked and pieces and pieces[0].values and pieces[0].values[0] in ("of", "on") and pieces[0].other:
            return Frame("query", self._attach_all(pieces[0].other, pieces[1:]), type=asked)
        if phrase.is_pronoun:
            if pieces and pieces[-1].end == len(self.words) and pieces[-1].other is None:
                return self._ask_object(phrase, pieces, target)
            if target.name != "_":
                return Frame("target", target, is_asked_of_pronoun=True)
            self._keep_phrases(pieces)
            return Frame("query", phrase, type="unknown") if self.extra else None
        if rest == len(self.words):
            open_ = [i for i, piece in enumerate(pieces) if piece.other is None and piece.kind in ("participle", "material", "preposition")]
            if fronted and not open_:
                self.attach(phrase, pieces)
                return Frame("object", phrase, values=(fronted,), target=target)
            if open_:
                return self._ask_object(phrase, pieces, target, fronted)
            verbs = [i for i, piece in enumerate(pieces) if piece.kind == "participle"]
            if verbs and target.name != "_":
                self.attach(phrase, pieces[: verbs[-1]])
                self._keep_phrases(pieces[verbs[-1] :])
                return Frame("query", phrase, type="unknown")
            self.attach(phrase, pieces)
            return Frame("query", phrase, type="name")
        self.attach(phrase, pieces)
        if self.word(rest) in ("called", "named", "known"):
            return Frame("query", phrase, type="name")
        self._keep(self._find_definite_phrases(rest, len(self.words)))
        return Frame("query", phrase, type="unknown")

    def _has_verb_after(self, index: int) -> bool:
        return any(self.tag(i) in ("VB", "VBP") for i in range(index, len(self.words)))

    def _ask_object(self, phrase: NounPhrase, pieces: Sequence[Piece], target: NounPhrase, fronted: str = "") -> Frame:
        """Return the frame of "What is the man HOLDING?", "What is the man doing?", "What is the cup on?"."""
        chosen = max(i for i, piece in enumerate(pieces) if piece.other is None and piece.kind in ("participle", "material", "preposition"))
        piece = pieces[chosen]
        self.attach(phrase, pieces[:chosen])
        after = list(pieces[chosen + 1 :])
        for one in after:
            # "What is the man holding in his hand?"
            if one.kind == "preposition" and one.other is not None and one.other.is_definite and not one.other.is_pronoun:
                self._keep_phrases([one])
        if piece.kind == "material":
            return Frame("query", phrase, type="material")
        relation = piece.values[0]
        if relation.split()[0] == "doing":
            return Frame("query", phrase, type="activity")
        if relation in ("like", "called", "named"):
            return Frame("query", phrase, type="name")
        if fronted and not relation.endswith(fronted):
            relation = f"{relation} {fronted}"
        return Frame("object", phrase, values=(relation,), target=target)

    def _parse_do_object(self, index: int, target: NounPhrase) -> Frame | None:
        """Parse "the man hold" of "What does the man hold?"."""
        found = self.parse_noun_phrase(index)
        if found is None:
            self._keep(self._find_definite_phrases(index, len(self.words)))
            return Frame("query", self.extra.pop(), type="unknown") if self.extra else None
        phrase, end = found
        pieces, rest = self.parse_pieces(end)
        self.attach(phrase, pieces)
        verb = self.word(rest)
        if verb in ("do",):
            return Frame("query", phrase, type="activity")
        if verb in ("say", "read", "spell", "mean", "advertise"):
            return Frame("query", phrase, type="text")
        if verb in ("look", "seem", "appear", ""):
            return Frame("query", phrase, type="name")
        relation = _VERB_RELATIONS.get(verb) or get_present_participle(verb)
        stop = self._match_preposition(rest + 1)
        relation = " ".join([relation, *self.words[rest + 1 : stop]])
        after = self.parse_full_phrase(stop)
        if after is not None:
            if after[0].is_definite and not after[0].is_pronoun:
                self.extra.append(after[0])
            relation = relation.split()[0]
        if phrase.is_pronoun and target.name == "_" and not self.extra:
            return Frame("object", phrase, values=(relation,), target=target)
        return Frame("object", phrase, values=(relation,), target=target)

    def _parse_finite_verb(self, index: int, target: NounPhrase) -> Frame | None:
        """Parse "wears the hat" of "Who wears the hat?"."""
        verb = self.word(index)
        if not verb:
            return None
        if verb in ("looks", "look", "appears", "seems") and (found := self._parse_adjectives(index + 1)):
            target.attributes += found[0]
            return Frame("target", target)
        relation = _VERB_RELATIONS.get(verb) or get_present_participle(verb)
        end = self._match_preposition(index + 1)
        other = self.parse_full_phrase(end)
        relation = " ".join([relation, *self.words[index + 1 : end]])
        if other is None or other[0].is_pronoun:
            target.attributes.append((get_activity_type(relation), relation))
        else:
            target.relations.append((relation, "s", other[0]))
        return Frame("target", target)

    def _parse_adverb_question(self, index: int, type_: str) -> Frame | None:
        """Parse what follows "where", "why" or "when"."""
        is_do = self.word(index) in _DO
        if self.word(index) not in _BE and not is_do:
            return None
        index = self._skip_negation(index + 1)
        if self.word(index) == "there":
            index += 1
        found = self.parse_noun_phrase(index)
        if found is None:
            return None
        phrase, end = found
        if phrase.name in _SCENE_WORDS:
            return Frame("query", NounPhrase("scene", is_definite=True, is_pronoun=True), type="place")
        if phrase.is_pronoun:
            self._keep(self._find_definite_phrases(end, len(self.words)))
            return Frame("query", self.extra.pop(), type="unknown") if self.extra else None
        pieces, rest = self.parse_pieces(end)
        if type_ == "location" and pieces and pieces[-1].kind == "participle" and pieces[-1].other is None:
            pieces = pieces[:-1]
        if is_do and self.tag(rest).startswith("VB") or (is_do and rest == len(self.words) - 1):
            self.attach(phrase, pieces)
            verb = get_present_participle(self.word(rest))
            stop = self._match_preposition(rest + 1)
            other = self.parse_full_phrase(stop)
            if self.word(rest) in ("have", "has", "wear", "hold", "carry") and other is not None:
                phrase.relations.append((_VERB_RELATIONS.get(self.word(rest)) or verb, "s", other[0]))
            elif other is not None and other[0].is_definite:
                phrase.relations.append((" ".join([verb, *self.words[rest + 1 : stop]]), "s", other[0]))
        else:
            self.attach(phrase, pieces)
            if rest < len(self.words) and (adjectives := self._parse_adjectives(rest)):
                phrase.attributes += adjectives[0] if type_ == "reason" else []
                rest = adjectives[1]
            self._keep(self._find_definite_phrases(rest, len(self.words)))
        return Frame("query", phrase, type=type_)

    def _parse_how_question(self, index: int) -> Frame | None:
        word = self.word(index)
        if word in ("many", "much"):
            target = self.parse_noun_phrase(index + 1)
            if target is None or target[0].is_pronoun:
                self._keep(self._find_definite_phrases(index + 1, len(self.words)))
                return Frame("query", self.extra.pop(), type="unknown") if self.extra else None
            phrase, end = target
            pieces, end = self.parse_pieces(end)
            self.attach(phrase, pieces)
            if self.word(end) in _BE:
                end += 1 + (self.word(end + 1) == "there")
                pieces, rest = self.parse_pieces(end)
                self.attach(phrase, pieces)
                if rest < len(self.words) and rest == end:
                    adjectives = self._parse_adjectives(rest)
                    if adjectives:
                        phrase.attributes += adjectives[0]
                    elif subject := self.parse_noun_phrase(rest):
                        # "How many cups is the man holding?"
                        verbs, _ = self.parse_pieces(subject[1])
                        if verbs and verbs[-1].other is None and verbs[-1].values:
                            self.attach(subject[0], verbs[:-1])
                            phrase.relations.append((verbs[-1].values[0], "o", subject[0]))
            elif self.word(end) in _DO:
                subject = self.parse_full_phrase(end + 1)
                if subject and not subject[0].is_pronoun and self.word(end + 1) not in _LISTENER:
                    verb = self.word(subject[1])
                    phrase.relations.append((_VERB_RELATIONS.get(verb) or get_present_participle(verb) if verb else "of", "o", subject[0]))
            elif end < len(self.words) and self.tag(end).startswith("VB"):
                frame = self._parse_finite_verb(end, phrase)
                phrase = frame.subject if frame else phrase
            return Frame("exist", phrase, options=[phrase], is_count=True)
        if word in _TYPE_BY_ADJECTIVE or (self.tag(index).startswith("JJ") and self.word(index + 1) in _BE):
            type_ = _TYPE_BY_ADJECTIVE.get(word, "state")
            return self._parse_type_question(index + 1, type_)
        if word in _BE and self.word(index + 1) == "the" and self.word(index + 2) == "weather":
            return Frame("query", NounPhrase("scene", is_definite=True, is_pronoun=True), type="weather")
        if self.words[-1] == "called":
            self.words[-1:], self.tags[-1:] = [], []
            return self._parse_adverb_question(index, "name")
        return self._parse_adverb_question(index, "manner")


@dataclass(slots=True)
class Frame:
    """The form of a question.

    Attributes:
        kind: what the question does: "query" asks for a value of the subject, "verify" and "choose" state values of
            the subject, "relation" states its relation to another phrase, "exist" asks whether there is such an object,
            "target" asks what the subject is, and "object" asks to what the subject is related.
        subject: the phrase that the question is about.
        type: the type of the value that is asked for or stated.
        values: the stated values or relations.
        other: the other phrase of a stated relation.
        target: the phrase that is asked for.
        options: the phrases whose existence is asked for.
        asked: what is asked of the target: "name" or a type.
        inner: the frame that describes the target.
    """

    kind: str
    subject: NounPhrase
    type: str = ""
    values: tuple[str, ...] = ()
    other: NounPhrase | None = None
    target: NounPhrase | None = None
    options: list[NounPhrase] = field(default_factory=list)
    asked: str = "name"
    inner: Frame | None = None
    is_count: bool = False
    is_asked_of_pronoun: bool = False


class _ProgramWriter:
    """Write the steps of a frame."""

    def __init__(self, frame: Frame, extra: Sequence[NounPhrase], answer: str) -> None:
        self._frame, self._extra, self._answer = frame, extra, answer.strip().lower()
        self._steps: list[Step] = []

    def write(self) -> list[Step]:
        for phrase in self._extra:
            self._select(phrase)
        self._write_frame(self._frame, self._frame.asked)
        return self._steps

    def _add(self, operation: str, argument: str, *inputs: int) -> int:
        self._steps.append(Step(operation=operation, argument=argument, dependencies=inputs))
        return len(self._steps) - 1

    def _get_id(self, phrase: NounPhrase) -> str:
        return re.sub(r"[(),]", " ", describe_phrase(phrase))

    def _select(self, phrase: NounPhrase, is_absent: bool = False, has_id: bool = True) -> int:
        """Add the steps that select the objects of a phrase. Return the last of them."""
        id_ = " (-)" if is_absent else f" ({self._get_id(phrase)})" if has_id and phrase.name != "_" else ""
        *others, first = [*reversed(phrase.relations)] or [None]
        for _, _, other in others:
            if other.is_definite:
                self._select(other)
        if first is None:
            step = self._add("select", phrase.name + id_)
        else:
            relation, role, other = first
            anchor = self._select(other)
            step = self._add("relate", f"{phrase.name},{relation},{role}{id_}", anchor)
        for type_, value in phrase.attributes:
            step = self._add(_name_operation("filter", type_), value, step)
        return step

    def _write_frame(self, frame: Frame, asked: str) -> int:
        subject = frame.subject
        if frame.kind == "exist":
            absent = self._answer in ("no", "0", "zero", "none")
            ends = [self._add("exist", "?", self._select(phrase, is_absent=absent)) for phrase in frame.options]
            while len(ends) > 1:
                ends = [self._add("or", "", ends[0], ends[1]), *ends[2:]]
            return ends[0]
        if frame.kind == "target":
            if frame.inner is not None:
                return self._ask(self._select_target(frame.inner), asked)
            return self._ask(self._select(subject, has_id=False), asked)
        if frame.kind == "object":
            return self._ask(self._select_target(frame), asked)
        step = self._select(subject)
        if frame.kind == "query":
            return self._add("query", frame.type, step)
        if frame.kind in ("verify", "choose"):
            return self._add(_name_operation(frame.kind, frame.type), "|".join(frame.values), step)
        assert frame.other is not None
        relation, other = frame.values, frame.other
        if len(relation) > 1:
            other_step = self._select_before(step, other)
            return self._add("choose rel", f"{subject.name},{'|'.join(relation)},s", other_step)
        if not other.is_definite and (other.attributes or other.relations):
            other_relations, other.relations = other.relations, []
            for _, _, inner in other_relations:
                if inner.is_definite:
                    self._select(inner)
            step = self._add("relate", f"{other.name},{relation[0]},o", step)
            for type_, value in other.attributes:
                step = self._add(_name_operation("filter", type_), value, step)
            return self._add("exist", "?", step)
        if other.is_definite:
            # The object is presupposed with all that is said of it.
            self._select_before(step, other)
        return self._add("verify rel", f"{other.name},{relation[0]},o", step)

    def _select_before(self, step: int, phrase: NounPhrase) -> int:
        return self._select(phrase)

    def _select_target(self, frame: Frame) -> int:
        target = frame.target or frame.subject
        if frame.kind == "object":
            anchor = self._select(frame.subject)
            step = self._add("relate", f"{target.name},{frame.values[0]},o", anchor)
            for type_, value in target.attributes:
                step = self._add(_name_operation("filter", type_), value, step)
            return step
        return self._select(frame.subject, has_id=False)

    def _ask(self, step: int, asked: str) -> int:
        return self._add("query", asked, step)


def _name_operation(verb: str, type_: str) -> str:
    return verb if type_ in ("", "other") else f"{verb} {type_}"


def describe_phrase(phrase: NounPhrase) -> str:
    """Return the words of a phrase, as an id of its object: "red car next to tree"."""
    words = [value for _, value in phrase.attributes] + [phrase.name]
    words += [f"{relation} {describe_phrase(other)}" for relation, _, other in phrase.relations]
    return " ".join(words)


def add_programs(questions: Iterable[Question]) -> Iterator[Question]:
    """Derive the programs of questions that have none. Questions that have one stay as they are.

    Args:
        questions: questions in any order.

    Yields:
        The questions in the same order. `program_from_text` marks the derived programs.
    """
    tagger: Tagger | None = None
    remaining = iter(questions)
    while batch := list(islice(remaining, BATCH_SIZE)):
        texts = [to_sentence_case(question.text) for question in batch if not question.program]
        if texts:
            tagger = tagger or Tagger()
        tags = iter(tagger.tag(texts) if tagger and texts else ())
        for question in batch:
            if not question.program:
                text = to_sentence_case(question.text)
                program = derive_program(text, next(tags), question.answer)
                question = msgspec.structs.replace(question, program=program, program_from_text=bool(program))
            yield question


def derive_program(text: str, tokens: Sequence[TaggedToken], answer: str = "") -> tuple[Step, ...]:
    """Derive the program of a question from its text.

    Args:
        text: the question in sentence case.
        tokens: its tagged tokens.
        answer: its answer, which decides whether an object that is asked for exists.

    Returns:
        The steps as GQA writes them, or () if the question presupposes nothing that can be read.
    """
    return tuple(TextProgramParser(text, tokens).parse(answer))


_SCENE_WORDS = _SCENE_NOUNS - {"sky", "weather"}
_ZONE_WORDS = frozenset(("background", "foreground", "distance", "close-up", "closeup", "middle", "row", "direction"))
_PLACE_WORDS = _PLACE_ASKED
_QUANTIFIERS = parse_words("many, several, few, more, most, other, various, such, what, which, whose") - {"what", "which", "whose"}
_CLOSED = (
    DETERMINERS
    | _PERSONAL_PRONOUNS
    | _LISTENER
    | _QUESTION_WORDS
    | {"and", "or", "not", "there", "'s", "than", "as", "if", "then", "too", "very", "to"}
    | {phrase[0] for phrase in _PREPOSITION_TOKENS if len(phrase) == 1}
)
_VERB_RELATIONS = {"has": "with", "have": "with", "had": "with", "having": "with", "wears": "wearing", "wear": "wearing", "holds": "holding", "hold": "holding"}


@cache
def _load_names() -> frozenset[str]:
    return frozenset(load_wordnet())


@lru_cache(maxsize=1 << 16)
def is_known_name(word: str) -> bool:
    """Return whether everyday objects have this name, in the singular or plural."""
    return lemmatize(word) in _load_names() or (" " not in word and bool(get_main_kind(word)))


@lru_cache(maxsize=1 << 16)
def get_attribute_type(word: str) -> str:
    """Return the GQA type of an attribute, or "" if the word is none."""
    return get_type_by_value().get(word) or get_type_by_value().get(canonicalize_attribute(word), "")


@cache
def _invert_synonyms() -> dict[str, str]:
    return {form: name for name, forms in ATTRIBUTE_SYNONYMS.items() for form in forms if name not in ("caucasian",)}


def canonicalize_attribute(word: str) -> str:
    """Return an attribute as programs write it: "wood" for "wooden"."""
    return _invert_synonyms().get(word, word)


def get_activity_type(word: str) -> str:
    return get_type_by_value().get(word.split()[0]) or "activity"


def _complete_options(values: Sequence[str]) -> tuple[str, ...]:
    """Complete the options of a choice: "to the left or to the right of"."""
    if len(values) < 2:
        return tuple(values)
    complete = {"left": "to the left of", "right": "to the right of", "left of": "to the left of", "right of": "to the right of"}
    return tuple(
        complete.get(value) or (f"{value} of" if value in ("to the left", "to the right", "in front") else value)
        for value in values
    )

"""Parse the noun phrases of a question, and what modifies them, from Penn tags and word lists.

    the red car next to the man that is wearing a hat
        car: red; next to -> man; man: wearing -> hat

The parser needs no functional program and no vocabulary of the data set. It uses closed word classes and the names and attributes of
everyday objects (WordNet, `commonsense.py`). A phrase modifies the nearest noun before it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache
from itertools import accumulate
from operator import itemgetter

from pipeline.core.jsonl_index import group_by
from pipeline.language.commonsense import get_type_by_value
from pipeline.language.lexicon import load_wordnet
from pipeline.language.nouns import lemmatize
from pipeline.language.object_taxonomy import get_main_kind
from pipeline.language.relations import PREPOSITIONS
from pipeline.language.sentence import Sentence
from pipeline.language.similarity import ATTRIBUTE_SYNONYMS
from pipeline.language.tagger import TaggedToken, get_present_participle
from pipeline.language.word_lists import (
    DEFINITE_DETERMINERS,
    DETERMINERS,
    PARTITIVE_NOUNS,
    parse_words,
)

# Phrases that add nothing to what is asked, as they speak of the image or the listener.
_FILLERS = re.compile(
    r"""
    ^(?:in|on)\ (?:this|the)\ (?:photo|photograph|picture|image|scene)\ ?,?\ |
    (?<!\bis)(?<!\bare)(?<!\bside)(?<!\bpart)(?<!\bhalf)\ (?:in|of|on|from|within)\ (?:this|the)\ (?:photo|photograph|picture|image|scene|snapshot|shot)\b(?!\ (?:'s|is|was)\b) |
    \b(?:do\ you\ think|would\ you\ say|do\ you\ suppose|do\ you\ believe)\b\ ?(?:that\ )?(?=.) |
    ^(?:please|so|now|and)\ ?,?\ | \b(?:actually|currently|probably|exactly|really|both|also|just|only)\b\ ? |
    \b(?:right|directly|immediately|straight)\ (?=(?:beside|behind|below|above|under|underneath|near|in\ front\ of|next\ to|on\ top\ of)\b) |
    \ (?:here|shown|pictured|depicted|visible|presented|displayed|at\ the\ moment|right\ now)$
    """,
    re.VERBOSE,
)
BE_FORMS = parse_words("is, are, was, were, 's, be, isn, aren, wasn, weren")
AUXILIARIES = parse_words("do, does, did, can, could, will, would, has, have, had, should, don, doesn")
PERSONAL_PRONOUNS = parse_words("he, she, they, it, him, her, them, this, that, these, those")
LISTENER_PRONOUNS = parse_words("you, i, we, one")
_RELATIVE_PRONOUNS = parse_words("that, which, who")
# Types of attributes that are no part of a name, although WordNet knows "old man".
_DESCRIBING_TYPES = parse_words(
    "age, size, height, length, fatness, weight, pose, cleanliness, face expression, tone"
)
# Parts of an object or an image that are no objects: "the front of the bus".
_PART_NOUNS = parse_words(
    "front, back, side, sides, edge, end, middle, center, centre, top, bottom, left, right, part, corner, inside, outside,"
    "rear, half, surface, tip, base, foot, rest"
)
PARTITIVE_FRAMES = parse_words("""
kind, kinds, type, types, sort, sorts, piece, pieces, item, items, article, articles, breed, species, style,
brand, variety, form
""")
_ZONES = {"left": "hposition", "right": "hposition", "top": "vposition", "bottom": "vposition"}
_ZONE_NOUNS = parse_words("side, half, part, edge, corner, end")
SCENE_WORDS = parse_words(
    "photo, photograph, picture, image, scene, snapshot, shot, background, foreground, portrait, close-up, camera, viewer,"
    "photographer"
)
# Longest first.
_PREPOSITION_TOKENS = sorted(
    {tuple(phrase.split()) for phrase in (*PREPOSITIONS, "among", "amongst", "beyond", "up", "down", "during",
     "after", "before", "like", "for", "on the other side of", "at the top of", "at the bottom of", "on the edge of",
     "at the edge of", "in the front of", "on the back of", "at the end of", "in back of", "out of", "as")},
    key=lambda phrase: (-len(phrase), phrase),
)  # fmt: skip
_PREPOSITIONS_BY_FIRST_WORD = group_by(_PREPOSITION_TOKENS, itemgetter(0))
_PARTICLES = parse_words("up, out, down, off, away, together")
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
_NOT_VERBS = parse_words(
    "during, according, including, regarding, concerning, following, interesting, wedding, building, ceiling, painting, clothing, railing, string, ring, king, wing, thing, something, nothing, anything, everything, evening, morning, pudding, icing, frosting, topping, dressing, stuffing, awning, siding, marking, lighting, seating, parking, crossing, reading, drawing, carving, swing, sling, earring, spring, wiring, bedding, padding, covering, herring, duckling, sapling"
)
QUESTION_WORDS = parse_words("what, which, who, whose, whom, where, when, why, how")


_ZONE_WORDS = frozenset(
    ("background", "foreground", "distance", "close-up", "closeup", "middle", "row", "direction")
)
_QUANTIFIERS = parse_words("many, several, few, more, most, other, various, such")
_CLOSED = (
    DETERMINERS
    | PERSONAL_PRONOUNS
    | LISTENER_PRONOUNS
    | QUESTION_WORDS
    | {"and", "or", "not", "there", "'s", "than", "as", "if", "then", "too", "very", "to"}
    | {phrase[0] for phrase in _PREPOSITION_TOKENS if len(phrase) == 1}
)
_POSSESSION_VERBS = parse_words("has, have, had, having")


@lru_cache(maxsize=1 << 16)
def is_known_name(word: str) -> bool:
    """Return whether everyday objects have this name, in the singular or plural."""
    return lemmatize(word) in load_wordnet() or (" " not in word and bool(get_main_kind(word)))


@lru_cache(maxsize=1 << 16)
def get_attribute_type(word: str) -> str:
    """Return the GQA type of an attribute, or "" if the word is none."""
    return get_type_by_value().get(word) or get_type_by_value().get(canonicalize_attribute(word), "")


@cache
def _invert_synonyms() -> dict[str, str]:
    return {
        form: name
        for name, forms in ATTRIBUTE_SYNONYMS.items()
        for form in forms
        if name not in ("caucasian",)
    }


def canonicalize_attribute(word: str) -> str:
    """Return an attribute as programs write it: "wood" for "wooden"."""
    return _invert_synonyms().get(word, word)


def get_participle_type(relation: str) -> str:
    """Return the GQA type of what somebody does: "pose" of "standing", "activity" if no type is known."""
    types = get_type_by_value()
    return get_attribute_type(relation) or types.get(relation.split()[0]) or "activity"


def _complete_options(values: Sequence[str]) -> tuple[str, ...]:
    """Complete the options of a choice: "to the left or to the right of"."""
    if len(values) < 2:
        return tuple(values)
    complete = {
        "left": "to the left of",
        "right": "to the right of",
        "left of": "to the left of",
        "right of": "to the right of",
    }
    return tuple(
        complete.get(value)
        or (f"{value} of" if value in ("to the left", "to the right", "in front") else value)
        for value in values
    )


def _find_content_words(words: Sequence[str]) -> list[int]:
    """Return the indices of the words that do not belong to a filler ("in this photo", "do you think")."""
    kept = list(range(len(words)))
    # Without one filler, another may stand at the start or the end.
    for _ in range(3):
        starts = list(accumulate((len(words[i]) + 1 for i in kept), initial=0))
        fillers = [match.span() for match in _FILLERS.finditer(" ".join(words[i] for i in kept))]
        rest = [
            i
            for i, start in zip(kept, starts, strict=False)
            if not any(first <= start < last for first, last in fillers)
        ]
        if rest == kept or not rest:
            break
        kept = rest
    return kept


@dataclass(slots=True)
class NounPhrase:
    """A noun phrase of a question.

    Attributes:
        name: the object's name.
        is_definite: whether it presupposes its object ("the cup", "her cup", "the girl's cup").
        is_pronoun: whether it is a pronoun.
        attributes: pairs (type, attribute); a negated attribute is "not(...)".
        relations: what the phrase says of the object, as triples (relation, role of the object, other phrase). The
            role is "s" for the relation's subject and "o" for its object.
    """

    name: str
    is_definite: bool = False
    is_pronoun: bool = False
    attributes: list[tuple[str, str]] = field(default_factory=list)
    relations: list[tuple[str, str, NounPhrase]] = field(default_factory=list)


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


class PhraseParser:
    """Parse the phrases of one question.

    Attributes:
        words: the words of the question in lower case, without marks and phrases that add nothing.
        tags: their Penn tags.
        extra: phrases that the question presupposes and that modify no noun.

    Args:
        text: the question.
        tokens: its tagged tokens.
    """

    def __init__(self, text: str, tokens: Sequence[TaggedToken]) -> None:
        sentence = Sentence(text)
        words: list[str] = []
        tags: list[str] = []
        last = sentence.num_content_tokens
        if "," in sentence.tokens[:last]:
            comma = last - 1 - sentence.tokens[:last][::-1].index(",")
            # "Which animal is it, a cow or a sheep?"
            if "or" in sentence.tokens[comma:last] and sentence.tokens[0] in QUESTION_WORDS:
                last = comma
        for index in range(last):
            start, end = sentence.char_spans[index]
            inside = [tag for first, last, tag in tokens if start <= first and last <= end]
            if sentence.tokens[index][0].isalnum() or sentence.tokens[index] == "'s":
                words.append(sentence.tokens[index])
                tags.append(inside[-1] if inside else "")
        kept = _find_content_words(words)
        self.words, self.tags = [words[i] for i in kept], [tags[i] for i in kept]
        self.extra: list[NounPhrase] = []

    # Words.

    def word(self, index: int) -> str:
        return self.words[index] if 0 <= index < len(self.words) else ""

    def tag(self, index: int) -> str:
        return self.tags[index] if 0 <= index < len(self.tags) else ""

    def _is_noun(self, index: int, is_in_phrase: bool) -> bool:
        word, tag = self.word(index), self.tag(index)
        if not word or word in _CLOSED or word in BE_FORMS or word in AUXILIARIES:
            return False
        if word.endswith("ing") and tag.startswith(("NN", "VBG")) and word not in _NOT_VERBS:
            return tag.startswith("NN") and is_known_name(word) and is_in_phrase
        if tag.startswith("NN"):
            return True
        if tag in ("VB", "VBP") and self._match_preposition(index + 1) > index + 1:
            return False
        if tag == "JJ" and self.word(index - 1) in DEFINITE_DETERMINERS and self._is_verb(index + 1):
            # "The tray under the CROISSANT made of wood": the tagger takes some nouns for adjectives.
            return is_known_name(word) and not get_attribute_type(word)
        return (
            is_in_phrase
            and tag.startswith(("VB", "JJ", "RB", "IN", "FW", "UH", "MD"))
            and is_known_name(word)
            and (tag.startswith("VB") or not get_attribute_type(word))
            and tag not in ("VBN", "VBD", "JJ", "RB")
        )

    def _is_verb(self, index: int) -> bool:
        word, tag = self.word(index), self.tag(index)
        if word in _CLOSED or word in BE_FORMS:
            return False
        if word.endswith("ing") and word not in _NOT_VERBS and len(word) > 4:
            return True
        return tag in ("VBN", "VBD")

    def _is_attribute(self, index: int) -> bool:
        word, tag = self.word(index), self.tag(index)
        if not word or word in _CLOSED or word in BE_FORMS or word in AUXILIARIES:
            return False
        return (
            tag.startswith(("JJ", "VBN"))
            or bool(get_attribute_type(word))
            or (word.endswith("ing") and word not in _NOT_VERBS)
        )

    def _match_preposition(self, index: int) -> int:
        """Return the token after the preposition that starts at a token, or the token itself."""
        for phrase in _PREPOSITIONS_BY_FIRST_WORD.get(self.word(index), ()):
            if tuple(self.words[index : index + len(phrase)]) == phrase:
                return index + len(phrase)
        return index

    def parse_verb_relation(self, index: int) -> tuple[str, int]:
        """Return the relation of a verb with its preposition ("sitting on" of "sits on"), and the token after it."""
        verb = self.word(index)
        end = self._match_preposition(index + 1)
        participle = "with" if verb in _POSSESSION_VERBS else get_present_participle(verb)
        return " ".join([participle, *self.words[index + 1 : end]]), end

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
        if word in PERSONAL_PRONOUNS and not (
            word in ("this", "that", "these", "those", "her")
            and follows
            and self.word(index + 1) not in BE_FORMS
        ):
            return NounPhrase(word, is_definite=True, is_pronoun=True), index + 1
        if word in LISTENER_PRONOUNS:
            return None
        # "All of the", "one of the", "some of the".
        if (
            self.word(index + 1) == "of"
            and self.word(index + 2) in DEFINITE_DETERMINERS
            and (
                word in DETERMINERS
                or word in ("one", "most", "many", "none", "part")
                or self.tag(index) == "CD"
            )
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
            return NounPhrase(self.words[last - 2], is_definite, attributes=attributes), last
        phrase = NounPhrase(" ".join(self.words[first:last]), is_definite, attributes=attributes)
        inner = self._parse_partitive(phrase, last)
        if inner is not None:
            return inner
        if self.word(last) == "'s" or (self.word(last) == "s" and self._is_noun(last + 1, True)):
            inner = self.parse_noun_phrase(last + 1)
            if inner:
                inner[0].relations.insert(0, ("of", "s", phrase))
                inner[0].is_definite = True
                return inner
        return (phrase, last) if last > start else None

    def _parse_partitive(self, phrase: NounPhrase, last: int) -> tuple[NounPhrase, int] | None:
        """Return the phrase after "of" if the noun before it names no object: "a piece of FURNITURE", "the front of the BUS"."""
        head = self.words[last - 1]
        is_frame = head in PARTITIVE_FRAMES or (
            head in PARTITIVE_NOUNS and self.word(last + 1) not in DETERMINERS
        )
        if self.word(last) != "of" or self._is_scene(last + 1) or not (is_frame or head in _PART_NOUNS):
            return None
        found = self.parse_noun_phrase(last + 1)
        if found is None or found[0].is_pronoun:
            return None
        inner = found[0]
        if is_frame:
            inner.is_definite = phrase.is_definite
            inner.attributes += phrase.attributes
        else:
            # "The right side of the road" presupposes the road, which need not be on the right.
            inner.is_definite = phrase.is_definite or inner.is_definite
        return found

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
            if (
                self._is_noun(position, has_determiner or bool(modifiers or nouns))
                and not (nouns and self._ends_predicate(nouns, position))
                and not (not nouns and get_attribute_type(word) and self._continues_phrase(position + 1))
            ):
                nouns.append(position)
            elif not nouns and self._is_attribute(position) and self._continues_phrase(position + 1):
                modifiers.append(position)
            elif (
                not nouns
                and word in ("and", "very", "not", "most", "more", "brightly", "small", "other", "same")
                and (self._continues_phrase(position + 1))
            ):
                is_negated = is_negated or word == "not"
            elif (
                not nouns
                and self.tag(position) in ("RB", "RBS", "RBR", "CD")
                and self._continues_phrase(position + 1)
            ) or word == "-":
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
            # WordNet knows "brown cup", a mushroom, but "orange juice" has the taste of oranges.
            type_ = get_attribute_type(self.words[begin])
            is_color = type_ == "color" and self.words[begin] != "orange"
            is_described = (type_ in _DESCRIBING_TYPES or is_color) and is_known_name(
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
        return self.word(index) in SCENE_WORDS

    # What follows a noun.

    def parse_piece(self, index: int) -> Piece | None:
        """Return the prepositional phrase, participle or relative clause at a token."""
        return (
            self._parse_zone(index)
            or self._parse_prepositional(index)
            or self._parse_relative(index)
            or self._parse_participle(index)
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
            while self.word(position) not in SCENE_WORDS:
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
        inner = self._parse_clothes_color(end) if values == ["in"] else None
        if inner:
            return Piece("preposition", index, inner[1], values=("wearing",), other=inner[0])
        inner = self.parse_noun_phrase(end)
        if inner is None:
            return Piece("preposition", index, end, values=tuple(values))
        return Piece("preposition", index, inner[1], values=_complete_options(values), other=inner[0])

    def _parse_clothes_color(self, index: int) -> tuple[NounPhrase, int] | None:
        """Parse the color in "the woman in RED", which the program writes as red clothes."""
        color = canonicalize_attribute(self.word(index))
        if (
            get_attribute_type(color) != "color"
            or self._is_noun(index + 1, True)
            or self._is_attribute(index + 1)
        ):
            return None
        return NounPhrase("clothes", attributes=[("color", color)]), index + 1

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
        has_particle = self.tag(position) == "RP" or self.word(position) in _PARTICLES
        if has_particle and (
            self._match_preposition(position + 1) > position + 1 or not self._starts_phrase(position + 1)
        ):
            if self.word(position) not in ("up", "down"):
                verb = f"{verb} {self.word(position)}"
            position += 1
        if self._parse_zone(position) is not None:
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
        piece = self._make_participle(index, relation, end)
        if piece.other is None and position < end < len(self.words):
            return Piece("participle", index, position, values=(verb,))
        return piece

    def _make_participle(self, start: int, relation: str, end: int) -> Piece:
        """Return a participle with the noun phrase after it, if there is one."""
        found = self.parse_noun_phrase(end)
        if found is None:
            return Piece("participle", start, end, values=(relation,))
        return Piece("participle", start, found[1], values=(relation,), other=found[0])

    def _starts_phrase(self, index: int) -> bool:
        return self.parse_noun_phrase(index) is not None

    def _parse_relative(self, index: int) -> Piece | None:
        """Parse "that is red", "who wears a hat", "that the man is holding", "the man is on"."""
        position = index
        if self.word(position) in _RELATIVE_PRONOUNS:
            position += 1
            if self.word(position) in BE_FORMS:
                position += 1
                is_negated = self.word(position) == "not" or self.word(position) == "t"
                position += is_negated
                if values := self._parse_adjectives(position):
                    found, end = values
                    found = [(t, f"not({v})" if is_negated else v) for t, v in found]
                    return Piece("relative", index, end, attributes=found)
                piece = (
                    self._parse_zone(position)
                    or self._parse_prepositional(position)
                    or self._parse_participle(position)
                )
                return Piece("relative", index, piece.end, inner=piece) if piece else None
            if (
                self.tag(position).startswith("VB") and self.word(position) not in AUXILIARIES | BE_FORMS
            ) or self.word(position) in ("has", "have"):
                if self.word(position) in ("looks", "look", "appears", "appear", "seems", "seem") and (
                    values := self._parse_adjectives(position + 1)
                ):
                    return Piece("relative", index, values[1], attributes=values[0])
                relation, end = self.parse_verb_relation(position)
                piece = self._make_participle(position, relation, end)
                return Piece("relative", index, piece.end, inner=piece)
        # "The bag (that) the man is holding".
        if self.word(position) in DETERMINERS and (subject := self.parse_noun_phrase(position)):
            after = subject[1]
            if self.word(after) in BE_FORMS:
                end = self._match_preposition(after + 1)
                if end > after + 1 and not self._starts_phrase(end):
                    return Piece(
                        "object_relative",
                        index,
                        end,
                        values=(" ".join(self.words[after + 1 : end]),),
                        other=subject[0],
                    )
                verb = self._parse_participle(after + 1)
                if verb and verb.other is None and verb.values:
                    return Piece("object_relative", index, verb.end, values=verb.values, other=subject[0])
            elif (
                self.tag(after) in ("VBZ", "VBP", "VBD", "VB", "NNS") and self.word(after) not in AUXILIARIES
            ):
                relation, end = self.parse_verb_relation(after)
                if not self._starts_phrase(end):
                    return Piece("object_relative", index, end, values=(relation,), other=subject[0])
        return None

    def _parse_adjectives(self, index: int) -> tuple[list[tuple[str, str]], int] | None:
        """Return the attributes at a token that no noun follows, and the token after them."""
        found: list[tuple[str, str]] = []
        position = index
        while position < len(self.words):
            word = self.words[position]
            if self._match_preposition(position) > position and word not in ("on", "off"):
                break
            if (
                self.tag(position) in ("RB", "RBR")
                and not get_attribute_type(word)
                and position + 1 < len(self.words)
            ):
                position += 1
                continue
            two = " ".join(self.words[position : position + 2])
            if " " in two and get_attribute_type(two):
                found.append((get_attribute_type(two), two))
                position += 2
            elif word.endswith("ing") and not get_attribute_type(word):
                break
            elif (
                self._is_attribute(position)
                and not (
                    self.tag(position) in ("VBN", "VBD")
                    and self._match_preposition(position + 1) > position + 1
                )
                and not (
                    word.endswith("ing")
                    and position + 1 < len(self.words)
                    and self.words[position + 1] not in ("and", "or")
                )
            ):
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
                phrase.attributes.append((get_participle_type(piece.values[0]), piece.values[0]))
        elif piece.other.is_pronoun or piece.other.name in SCENE_WORDS | _PART_NOUNS | _ZONE_WORDS:
            pass
        else:
            relation = piece.values[0]
            # "The man in the red coat" wears it.
            if relation == "in" and get_main_kind(piece.other.name) in ("garment", "headwear", "eyewear"):
                relation = "wearing"
            phrase.relations.append((relation, "s", piece.other))
            return piece.other
        return phrase

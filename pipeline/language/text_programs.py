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
from itertools import islice

import msgspec

from pipeline.core.records import Question, Step
from pipeline.language.letter_case import to_sentence_case
from pipeline.language.tagger import BATCH_SIZE, TaggedToken, load_tagger
from pipeline.language.text_phrases import (
    AUXILIARIES,
    BE_FORMS,
    LISTENER_PRONOUNS,
    PARTITIVE_FRAMES,
    PERSONAL_PRONOUNS,
    QUESTION_WORDS,
    SCENE_WORDS,
    NounPhrase,
    PhraseParser,
    Piece,
    canonicalize_attribute,
    get_participle_type,
)
from pipeline.language.word_lists import (
    DEFINITE_DETERMINERS,
    FRAME_WORDS,
    parse_headed_groups,
    parse_words,
)

_VENUE_WORDS = parse_words("venue, scene, setting, area, environment, store, place, room, location")
# Words for the kind of an answer, with the type of the attribute that they ask for, as in GQA.
_ASKED_TYPES = {
    word: head
    for head, words in parse_headed_groups("""
color: color, colour, colors, colours; material: material, materials, fabric; shape: shape; size: size
pattern: pattern, print, design; age: age; gender: gender, sex; height: height; length: length; width: width
weight: weight; texture: texture; weather: weather; room: room; place: place, location, setting
time: time, season, year, day, date, hour; number: number; activity: activity, sport; company: brand, company, make, logo
flavor: flavor; position: position; direction: direction; expression: expression, emotion, mood; state: condition, state
hposition: side; vposition: part; role: occupation, profession, job, role, purpose, use, function, relationship, title
number: amount, quantity; manner: style; text: word, words, text, letter, letters, language, numbers
""").items()
    for word in words
}
_HOW_TYPES = parse_headed_groups(
    "age: old, young; height: tall, high; length: long, short; width: wide; size: big, large, small; weight: heavy;"
    "thickness: thick; number: much; state: clean, dirty, full; distance: far, close; depth: deep; weather: hot, cold"
)
_TYPE_BY_ADJECTIVE = {word: head for head, words in _HOW_TYPES.items() for word in words}
_LOCATION_VALUES = parse_words("indoors, outdoors, indoor, outdoor")
_WEATHER_VALUES = parse_words("sunny, cloudy, overcast, rainy, foggy, stormy, snowy")
_PLACE_WORDS = parse_words("place, room, location, weather, scene, photo, picture, image, photograph")


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


class QuestionParser(PhraseParser):
    """Parse the form of a question: what it asks for, asserts and presupposes.

    Args:
        text: the question.
        tokens: its tagged tokens.
    """

    # Frames of questions.

    def parse(self, answer: str = "") -> list[Step]:
        """Return the steps of the question's program, or none if it presupposes nothing that can be read."""
        frame = self._parse_frame()
        if frame is None:
            self.extra = []
            frame = self._ask_of_definite_phrase(0)
        if frame is None:
            return []
        return _ProgramWriter(frame, self.extra, answer).write()

    def _parse_frame(self) -> Frame | None:
        if not self.words:
            return None
        first = self.words[0]
        if first in BE_FORMS:
            return self._parse_be_question()
        if first in AUXILIARIES:
            return self._parse_do_question()
        wh = next((i for i, word in enumerate(self.words[:4]) if word in QUESTION_WORDS), None)
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

    def _ask_of_definite_phrase(self, start: int, type_: str = "unknown") -> Frame | None:
        """Return a frame that asks for something of a definite phrase from a token on, or None if there is none."""
        self.extra += self._find_definite_phrases(start)
        return Frame("query", self.extra.pop(), type=type_) if self.extra else None

    def _find_definite_phrases(self, start: int) -> list[NounPhrase]:
        """Return the definite noun phrases from a token on, with what modifies them."""
        found: list[NounPhrase] = []
        position = start
        while position < len(self.words):
            is_start = self.word(position) in DEFINITE_DETERMINERS or self.tag(position) == "PRP$"
            phrase = self.parse_full_phrase(position) if is_start else None
            if phrase and _names_object(phrase[0]):
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
        if phrase.is_pronoun or phrase.name in SCENE_WORDS:
            return self._parse_statement_of_pronoun(phrase, end)
        pieces, rest = self.parse_pieces(end)
        if rest < len(self.words):
            self.attach(phrase, pieces)
            return self._parse_predicate(phrase, rest)
        if not pieces:
            return None
        choice = [i for i, piece in enumerate(pieces) if len(piece.values) > 1]
        verbs = [i for i, piece in enumerate(pieces) if piece.kind in ("participle", "material")]
        others = [i for i, piece in enumerate(pieces) if piece.kind not in ("relative", "object_relative")]
        chosen = (choice or verbs[-1:] or others[:1] or [-1])[0]
        if chosen < 0:
            return None
        if (
            not verbs
            and not choice
            and len(others) > 1
            and pieces[others[0]].values[0] in ("of", "with", "in")
        ):
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
            if (
                previous is not None
                and inner.other is not None
                and not inner.other.is_pronoun
                and inner.kind == "preposition"
                and inner.values[0] == "of"
            ):
                previous = self.attach(previous, [piece])
            elif inner.other is not None and inner.other.is_definite and _names_object(inner.other):
                self.extra.append(inner.other)
                previous = inner.other
            elif previous is not None:
                previous = self.attach(previous, [piece])

    def _state_piece(self, phrase: NounPhrase, piece: Piece) -> Frame:
        """Return the frame of a yes-no question or a choice whose statement is a piece."""
        if not piece.values:
            return Frame("query", phrase, type="material")
        if piece.kind in ("zone", "material"):
            return _state_values(phrase, piece.type, piece.values)
        if piece.other is None or piece.other.is_pronoun:
            return _state_values(phrase, get_participle_type(piece.values[0]), piece.values)
        return Frame("relation", phrase, values=piece.values, other=piece.other)

    def _parse_predicate(self, phrase: NounPhrase, index: int) -> Frame | None:
        """Parse what a question says of a phrase: "red or blue", "a cup", "taller than the tree"."""
        index = self._skip_negation(index)
        if self.word(index) == "made":
            piece = self._parse_participle(index)
            if piece and piece.kind == "material" and piece.values:
                return _state_values(phrase, "material", self._parse_options(index + 2) or piece.values)
        zone = self._parse_zone(index)
        if zone:
            return Frame("verify", phrase, type=zone.type, values=zone.values)
        found = self._parse_adjectives(index)
        if found:
            values, end = found
            self.extra += self._find_definite_phrases(end)
            if "or" in self.words[index:end] and len(values) > 1:
                return Frame("choose", phrase, type=values[0][0], values=tuple(value for _, value in values))
            return Frame("verify", phrase, type=values[0][0], values=(values[0][1],))
        noun = self.parse_full_phrase(index)
        if noun and not noun[0].is_definite and not noun[0].is_pronoun:
            options = [noun[0].name]
            if self.word(noun[1]) == "or" and (second := self.parse_noun_phrase(noun[1] + 1)):
                options.append(second[0].name)
            return _state_values(phrase, "name", options)
        self.extra += self._find_definite_phrases(index)
        return Frame("query", phrase, type="unknown")

    def _parse_options(self, index: int) -> tuple[str, ...]:
        words = [word for word in self.words[index:] if word not in ("or", "and", "of", "the", "a", "an")]
        return tuple(canonicalize_attribute(word) for word in words) if "or" in self.words[index:] else ()

    def _parse_statement_of_pronoun(self, phrase: NounPhrase, index: int) -> Frame | None:
        self.extra += self._find_definite_phrases(index)
        name = "scene" if phrase.name in SCENE_WORDS else phrase.name
        of_scene = [word for word in self.words[index:] if word in _LOCATION_VALUES | _WEATHER_VALUES]
        if of_scene:
            type_ = "location" if of_scene[0] in _LOCATION_VALUES else "weather"
            return _state_values(_make_scene(), type_, of_scene)
        subject = NounPhrase(name, is_definite=True, is_pronoun=True)
        if found := self._parse_adjectives(index):
            return _state_values(subject, found[0][0][0], [value for _, value in found[0]])
        return Frame("query", subject, type="unknown") if self.extra else None

    def _parse_existence(self, index: int) -> Frame | None:
        while (
            self.word(index) in ("any", "some", "more", "than", "other", "either", "no")
            or self.tag(index) == "CD"
        ):
            if self._is_noun(index, True) and self.tag(index) != "CD":
                break
            index += 1
        found = self.parse_full_phrase(index)
        if found is None:
            return self._ask_of_definite_phrase(index)
        phrases = [found[0]]
        while self.word(found[1]) in ("or", "and") and (following := self.parse_full_phrase(found[1] + 1)):
            phrases.append(following[0])
            found = following
        return Frame("exist", phrases[0], options=phrases)

    def _parse_do_question(self) -> Frame | None:
        index = self._skip_negation(1)
        if self.word(index) in LISTENER_PRONOUNS:
            if self.word(index + 1) in ("see", "notice", "spot", "find", "observe", "recognize"):
                return self._parse_existence(index + 2)
            return None
        subject = self.parse_noun_phrase(index)
        if subject is None:
            return None
        phrase, end = subject
        if phrase.name in SCENE_WORDS and self.word(end) in ("show", "contain", "have", "depict", "include"):
            return self._parse_existence(end + 1)
        pieces, rest = self.parse_pieces(end)
        self.attach(phrase, pieces)
        if phrase.is_pronoun:
            return self._parse_statement_of_pronoun(phrase, rest)
        verb = self.word(rest)
        if verb in ("look", "seem", "appear", "be"):
            start = rest + 1 + (self.words[rest + 1 : rest + 3] == ["to", "be"]) * 2
            if (
                (piece := self.parse_piece(start))
                and piece.end == len(self.words)
                and piece.kind != "preposition"
            ):
                return self._state_piece(phrase, piece)
            return self._parse_predicate(phrase, start)
        if not verb:
            return Frame("query", phrase, type="unknown")
        relation, end = self.parse_verb_relation(rest)
        found = self.parse_full_phrase(end)
        if found is None or found[0].is_pronoun:
            return _state_values(phrase, get_participle_type(relation), [relation])
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
        if self.word(end) not in BE_FORMS | {"has", "have"}:
            if phrase.name in _ASKED_TYPES and pieces and pieces[0].values[:1] == ("of",) and pieces[0].other:
                return Frame(
                    "query", self._attach_all(pieces[0].other, pieces[1:]), type=_ASKED_TYPES[phrase.name]
                )
            return None
        self.attach(phrase, pieces)
        wh = next(
            (i for i in range(end, len(self.words)) if self.words[i] in ("what", "which", "who", "whom")),
            None,
        )
        if wh is None:
            return None
        asked = self.word(wh + 1)
        if asked in _ASKED_TYPES:
            return Frame("query", phrase, type=_ASKED_TYPES[asked])
        if asked in PARTITIVE_FRAMES:
            return Frame("query", phrase, type="name")
        middle = self.words[end + 1 : wh]
        if middle in (["made", "of"], ["made", "out", "of"]):
            return Frame("query", phrase, type="material")
        if middle and (self._is_verb(end + 1) or self._match_preposition(end + 1) == wh):
            name = self.parse_noun_phrase(wh + 1)
            return Frame(
                "object", phrase, values=(" ".join(middle),), target=name[0] if name else NounPhrase("_")
            )
        return Frame("query", phrase, type="name")

    def _attach_all(self, phrase: NounPhrase, pieces: Iterable[Piece]) -> NounPhrase:
        self.attach(phrase, pieces)
        return phrase

    def _parse_what_question(self, wh: int) -> Frame | None:
        index = wh + 1
        fronted = " ".join(self.words[:wh])
        if self.word(index) in BE_FORMS or self.word(index) in AUXILIARIES or self._is_finite_verb(index):
            return self._parse_subject_question(index, NounPhrase("_"), fronted)
        # "What color shirt is the man wearing?", "which side of the photo".
        type_ = _ASKED_TYPES.get(self.word(index), "")
        if type_ and not self._is_noun(index + 1, True) and self.word(index + 1) not in ("of",):
            return self._parse_type_question(index + 1, type_)
        if type_ and self.word(index + 1) == "of" and self._is_scene(index + 2):
            while self.word(index) not in SCENE_WORDS:
                index += 1
            return self._parse_type_question(index + 1, type_)
        if type_ and self._is_noun(index + 1, True):
            target = self.parse_noun_phrase(index + 1)
            frame = self._parse_subject_question(target[1], target[0], fronted) if target else None
            if frame is None:
                return None
            return Frame("target", frame.subject, asked=type_, inner=frame)
        target = self.parse_noun_phrase(index)
        if target is None or target[0].is_pronoun:
            return None
        phrase, end = target
        if phrase.name in PARTITIVE_FRAMES:
            phrase.name = "_"
        if phrase.name in ("sport", "game", "activity", "event"):
            return self._ask_of_definite_phrase(end, "sport")
        if phrase.name in _ASKED_TYPES:
            return self._parse_type_question(end, _ASKED_TYPES[phrase.name])
        if end >= len(self.words):
            return None
        if (
            phrase.name in _VENUE_WORDS
            and self.word(end) in BE_FORMS
            and (
                self.word(end + 1) in PERSONAL_PRONOUNS
                or self._is_scene(end + 1)
                or end + 1 == len(self.words)
            )
        ):
            return Frame("query", _make_scene(), type="place")
        return self._parse_subject_question(end, phrase, fronted)

    def _is_finite_verb(self, index: int) -> bool:
        if self.word(index) in ("items", "item", "kinds", "types"):
            return False
        return self.tag(index) in ("VBZ", "VBP", "VBD", "MD") or (
            self.tag(index) == "NNS" and index <= 1 and self._match_preposition(index + 1) > index + 1
        )

    def _parse_type_question(self, index: int, type_: str) -> Frame | None:
        """Parse what follows "what color": "is the cup", "does the man wear", "are the cup's handles"."""
        if self.word(index) not in BE_FORMS and self.word(index) not in AUXILIARIES:
            return None
        found = self.parse_noun_phrase(index + 1)
        if found is None:
            return self._ask_of_definite_phrase(index + 1)
        phrase, end = found
        if phrase.name in SCENE_WORDS or (
            phrase.is_pronoun and type_ in ("weather", "place", "room", "location", "time")
        ):
            return Frame("query", _make_scene(), type=type_)
        pieces, end = self.parse_pieces(end)
        if (
            pieces
            and pieces[-1].end == len(self.words)
            and pieces[-1].kind in ("participle", "material")
            and pieces[-1].other is None
        ):
            # "Which side is the man STANDING on?", "What material is the table MADE of?".
            # "What color is the light SHOWING?"
            pieces = pieces[:-1]
        if pieces and pieces[-1].kind == "preposition" and pieces[-1].other is None:
            pieces = pieces[:-1]
        self.attach(phrase, pieces)
        return Frame("query", phrase, type=type_)

    def _parse_subject_question(self, index: int, target: NounPhrase, fronted: str = "") -> Frame | None:
        """Parse what follows "what", "what animal" or "who": "is on the table", "is the man holding"."""
        is_verb = self.word(index) in BE_FORMS | AUXILIARIES or self._is_finite_verb(index)
        pieces, index = ([], index) if is_verb else self.parse_pieces(index)
        self.attach(target, pieces)
        if self.word(index) in AUXILIARIES and not (
            self.tag(index) in ("VBZ", "VBP")
            and self.word(index) in ("has", "have")
            and not self._has_verb_after(index + 1)
        ):
            if self.tag(index + 1) in ("VBN", "VBD") and self.word(index) in ("has", "have", "had"):
                # "Which dog HAS RAISED its paws?"
                return self._parse_finite_verb(index + 1, target)
            return self._parse_do_object(index + 1, target)
        if self.word(index) not in BE_FORMS:
            return self._parse_finite_verb(index, target)
        index = self._skip_negation(index + 1)
        if self.word(index) == "there":
            index += 1
        if index >= len(self.words) and target.name != "_":
            return Frame("target", target)
        piece = self.parse_piece(index)
        if piece is not None and piece.kind != "object_relative":
            pieces, end = self.parse_pieces(index)
            if (
                pieces[0].other is not None
                and pieces[0].other.is_pronoun
                and pieces[0].other.name in ("this", "it")
                and pieces[0].kind == "preposition"
            ):
                return None
            self.attach(target, pieces)
            if end < len(self.words):
                found = self._parse_adjectives(end)
                target.attributes += found[0] if found else []
                self.extra += self._find_definite_phrases(end)
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
        if (
            phrase.name in _PLACE_WORDS
            and phrase.is_definite
            and self.word(end) in ("", "like", "showing", "taken", "of", "about")
        ):
            type_ = _ASKED_TYPES.get(phrase.name, "place")
            return Frame("query", _make_scene(), type=type_)
        pieces, rest = self.parse_pieces(end)
        asked = _ASKED_TYPES.get(phrase.name) or (
            "name" if phrase.name in ("name", *PARTITIVE_FRAMES) else ""
        )
        if asked and phrase.relations and phrase.relations[0][0] == "of":
            possessor = phrase.relations[0][2]
            self.attach(possessor, pieces)
            return Frame("query", possessor, type=asked)
        if asked and pieces and pieces[0].values and pieces[0].values[0] in ("of", "on") and pieces[0].other:
            return Frame("query", self._attach_all(pieces[0].other, pieces[1:]), type=asked)
        if phrase.is_pronoun:
            if rest == len(self.words) and _find_open_pieces(pieces)[-1:] == [len(pieces) - 1]:
                return self._ask_object(phrase, pieces, target)
            if target.name != "_":
                return Frame("target", target)
            self._keep_phrases(pieces)
            return Frame("query", phrase, type="unknown") if self.extra else None
        if rest == len(self.words):
            open_ = _find_open_pieces(pieces)
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
        self.extra += self._find_definite_phrases(rest)
        return Frame("query", phrase, type="unknown")

    def _has_verb_after(self, index: int) -> bool:
        return any(self.tag(i) in ("VB", "VBP") for i in range(index, len(self.words)))

    def _ask_object(
        self, phrase: NounPhrase, pieces: Sequence[Piece], target: NounPhrase, fronted: str = ""
    ) -> Frame:
        """Return the frame of "What is the man HOLDING?", "What is the man doing?", "What is the cup on?"."""
        chosen = _find_open_pieces(pieces)[-1]
        piece = pieces[chosen]
        self.attach(phrase, pieces[:chosen])
        for after in pieces[chosen + 1 :]:
            # "What is the man holding in his hand?"
            if after.kind == "preposition":
                self._keep_phrases([after])
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
            return self._ask_of_definite_phrase(index)
        phrase, end = found
        pieces, rest = self.parse_pieces(end)
        self.attach(phrase, pieces)
        verb = self.word(rest)
        if verb == "do":
            return Frame("query", phrase, type="activity")
        if verb in ("say", "read", "spell", "mean", "advertise"):
            return Frame("query", phrase, type="text")
        if verb in ("look", "seem", "appear", ""):
            return Frame("query", phrase, type="name")
        relation, stop = self.parse_verb_relation(rest)
        after = self.parse_full_phrase(stop)
        if after is not None:
            if after[0].is_definite and not after[0].is_pronoun:
                self.extra.append(after[0])
            relation = relation.split()[0]
        return Frame("object", phrase, values=(relation,), target=target)

    def _parse_finite_verb(self, index: int, target: NounPhrase) -> Frame | None:
        """Parse "wears the hat" of "Who wears the hat?"."""
        verb = self.word(index)
        if not verb:
            return None
        if verb in ("looks", "look", "appears", "seems") and (found := self._parse_adjectives(index + 1)):
            target.attributes += found[0]
            return Frame("target", target)
        relation, end = self.parse_verb_relation(index)
        other = self.parse_full_phrase(end)
        if other is None or other[0].is_pronoun:
            target.attributes.append((get_participle_type(relation), relation))
        else:
            target.relations.append((relation, "s", other[0]))
        return Frame("target", target)

    def _parse_adverb_question(self, index: int, type_: str) -> Frame | None:
        """Parse what follows "where", "why" or "when"."""
        is_do = self.word(index) in AUXILIARIES
        if self.word(index) not in BE_FORMS and not is_do:
            return None
        index = self._skip_negation(index + 1)
        if self.word(index) == "there":
            index += 1
        found = self.parse_noun_phrase(index)
        if found is None:
            return None
        phrase, end = found
        if phrase.name in SCENE_WORDS:
            return Frame("query", _make_scene(), type="place")
        if phrase.is_pronoun:
            return self._ask_of_definite_phrase(end)
        pieces, rest = self.parse_pieces(end)
        if type_ == "location" and pieces and pieces[-1].kind == "participle" and pieces[-1].other is None:
            pieces = pieces[:-1]
        if is_do and (self.tag(rest).startswith("VB") or rest == len(self.words) - 1):
            self.attach(phrase, pieces)
            relation, stop = self.parse_verb_relation(rest)
            other = self.parse_full_phrase(stop)
            states_object = self.word(rest) in ("have", "has", "wear", "hold", "carry")
            if other is not None and (states_object or other[0].is_definite):
                phrase.relations.append((relation, "s", other[0]))
        else:
            verbs = [i for i, piece in enumerate(pieces) if piece.kind == "participle"]
            # "Why is the man in the boat STANDING?"
            last = verbs[-1] if verbs else len(pieces)
            self.attach(phrase, pieces[:last])
            self.attach(phrase, pieces[last:])
            if rest < len(self.words) and (adjectives := self._parse_adjectives(rest)):
                phrase.attributes += adjectives[0] if type_ == "reason" else []
                rest = adjectives[1]
            self.extra += self._find_definite_phrases(rest)
        return Frame("query", phrase, type=type_)

    def _parse_how_question(self, index: int) -> Frame | None:
        word = self.word(index)
        if word in ("many", "much"):
            target = self.parse_noun_phrase(index + 1)
            if target is None or target[0].is_pronoun:
                return self._ask_of_definite_phrase(index + 1)
            phrase, end = target
            pieces, end = self.parse_pieces(end)
            self.attach(phrase, pieces)
            if self.word(end) in BE_FORMS:
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
            elif self.word(end) in AUXILIARIES:
                subject = self.parse_full_phrase(end + 1)
                if subject and not subject[0].is_pronoun and self.word(end + 1) not in LISTENER_PRONOUNS:
                    has_verb = subject[1] < len(self.words)
                    relation = self.parse_verb_relation(subject[1])[0].split()[0] if has_verb else "of"
                    phrase.relations.append((relation, "o", subject[0]))
            elif end < len(self.words) and self.tag(end).startswith("VB"):
                frame = self._parse_finite_verb(end, phrase)
                phrase = frame.subject if frame else phrase
            return Frame("exist", phrase, options=[phrase])
        if word in _TYPE_BY_ADJECTIVE or (
            self.tag(index).startswith("JJ") and self.word(index + 1) in BE_FORMS
        ):
            type_ = _TYPE_BY_ADJECTIVE.get(word, "state")
            return self._parse_type_question(index + 1, type_)
        if word in BE_FORMS and self.word(index + 1) == "the" and self.word(index + 2) == "weather":
            return Frame("query", _make_scene(), type="weather")
        if self.words[-1] == "called":
            self.words[-1:], self.tags[-1:] = [], []
            return self._parse_adverb_question(index, "name")
        return self._parse_adverb_question(index, "manner")


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
        for _, _, other in reversed(phrase.relations[1:]):
            if other.is_definite:
                self._select(other)
        if not phrase.relations:
            step = self._add("select", phrase.name + id_)
        else:
            relation, role, other = phrase.relations[0]
            anchor = self._select(other)
            step = self._add("relate", f"{phrase.name},{relation},{role}{id_}", anchor)
        return self._filter(step, phrase)

    def _filter(self, step: int, phrase: NounPhrase) -> int:
        """Add the steps that select the objects with the attributes of a phrase. Return the last of them."""
        for type_, value in phrase.attributes:
            step = self._add(_name_operation("filter", type_), value, step)
        return step

    def _write_frame(self, frame: Frame, asked: str) -> int:
        subject = frame.subject
        if frame.kind == "exist":
            absent = self._answer in ("no", "0", "zero", "none")
            ends = [
                self._add("exist", "?", self._select(phrase, is_absent=absent)) for phrase in frame.options
            ]
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
        relation, other = frame.values[0], frame.other
        if len(frame.values) > 1:
            other_step = self._select(other)
            return self._add("choose rel", f"{subject.name},{'|'.join(frame.values)},s", other_step)
        if not other.is_definite and (other.attributes or other.relations):
            for _, _, inner in other.relations:
                if inner.is_definite:
                    self._select(inner)
            step = self._add("relate", f"{other.name},{relation},o", step)
            return self._add("exist", "?", self._filter(step, other))
        if other.is_definite:
            # The object is presupposed with all that is said of it.
            self._select(other)
        return self._add("verify rel", f"{other.name},{relation},o", step)

    def _select_target(self, frame: Frame) -> int:
        target = frame.target or frame.subject
        if frame.kind == "object":
            anchor = self._select(frame.subject)
            step = self._add("relate", f"{target.name},{frame.values[0]},o", anchor)
            return self._filter(step, target)
        return self._select(frame.subject, has_id=False)

    def _ask(self, step: int, asked: str) -> int:
        return self._add("query", asked, step)


def _make_scene() -> NounPhrase:
    return NounPhrase("scene", is_definite=True, is_pronoun=True)


def _find_open_pieces(pieces: Sequence[Piece]) -> list[int]:
    """Return the indices of the pieces without an object, such as "holding" in "What is the man HOLDING?"."""
    return [
        i
        for i, piece in enumerate(pieces)
        if piece.other is None and piece.kind in ("participle", "material", "preposition")
    ]


def _names_object(phrase: NounPhrase) -> bool:
    """Return whether a phrase names an object, not the image, a part of it, or what a pronoun stands for."""
    return not phrase.is_pronoun and phrase.name not in SCENE_WORDS and phrase.name not in FRAME_WORDS


def _state_values(subject: NounPhrase, type_: str, values: Sequence[str]) -> Frame:
    """Return the frame that states a value of a subject, or offers a choice of several."""
    return Frame("choose" if len(values) > 1 else "verify", subject, type=type_, values=tuple(values))


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
    remaining = iter(questions)
    while batch := list(islice(remaining, BATCH_SIZE)):
        texts = [to_sentence_case(question.text) for question in batch if not question.program]
        tags = iter(load_tagger().tag(texts) if texts else ())
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
    return tuple(QuestionParser(text, tokens).parse(answer))

"""Propose questions about the whole image: the place, indoors or outdoors, the weather."""

from __future__ import annotations

from research.synthetic_world.ontology import INDOORS, OUTDOORS, WEATHERS
from research.synthetic_world.phrasing import IMAGE_NOUNS, PHOTO_NOUNS, add_article, make_phrase
from research.synthetic_world.program_builder import start_program
from research.synthetic_world.question_proposals import ProposedQuestion, QuestionGenerator

_PLACE = (
    "<Which/What> place is <it/this/shown/pictured>",
    f"<Which/What> place is shown in the {IMAGE_NOUNS}",
    "Where is <it/this>",
    f"Where was the {PHOTO_NOUNS} taken",
    f"What place was the {PHOTO_NOUNS} taken at",
    f"What kind of place is shown in the {IMAGE_NOUNS}",
    "What kind of place is <this/it>",
    f"Where do you think the {PHOTO_NOUNS} was taken",
)
_WEATHER = (
    "How is the weather",
    f"How is the weather in the {IMAGE_NOUNS}",
    "Which kind of weather is it",
    "How is the weather <today/on this day>",
    "What is the weather like",
    f"What is the weather like in the {IMAGE_NOUNS}",
)
_VERIFY = {
    "location": ("Is <it/this> {v}", "Do you think <it/this> is {v}", f"Was the {PHOTO_NOUNS} taken {{v}}"),
    "weather": ("Is it {v}", "Is the weather {v}", "Is it {v} <today/outside>", "Does the weather look {v}"),
    "place": (
        "Is <it/this> {v}",
        f"Is this {PHOTO_NOUNS} showing {{v}}",
        "Is it <a picture/an image/a photo> of {v}",
    ),
}
_CHOOSE = {
    "location": (
        "Is <it/this> {u} or {v}",
        f"Was the {PHOTO_NOUNS} taken {{u}} or {{v}}",
        "Do you think <it/this> is {u} or {v}",
    ),
    "weather": (
        "Is it {u} or {v}",
        "How is the weather, {u} or {v}",
        "What is the weather like, {u} or {v}",
        "Is the weather {u} or {v}",
        "How is the weather today, {u} or {v}",
    ),
    "place": (
        "Is <it/this> {u} or {v}",
        "Is this <a picture/an image/a photo> of {u} or {v}",
        "Which place is <it/this>, {u} or {v}",
        f"What place is shown in the {PHOTO_NOUNS}, {{u}} or {{v}}",
    ),
}


def query_place(ask: QuestionGenerator) -> ProposedQuestion | None:
    """Propose a question such as "What place is this?"."""
    return _query(ask, "place", ask.scene_index.scene.location, _PLACE)


def query_weather(ask: QuestionGenerator) -> ProposedQuestion | None:
    """Propose a question such as "How is the weather?"."""
    return (
        _query(ask, "weather", ask.scene_index.scene.weather, _WEATHER)
        if ask.scene_index.scene.weather
        else None
    )


def _query(
    ask: QuestionGenerator, form: str, true: str, templates: tuple[str, ...]
) -> ProposedQuestion | None:
    fact = (form, true)
    return ask.make_proposal(
        form,
        templates,
        start_program("scene", ("query", form)),
        true,
        "It is {t}",
        slots={"t": make_phrase(_format_value(form, true))},
        group=form,
        local=f"02q-{form}",
        asserts={fact},
        needs=[{fact}],
        topic=(form,),
    )


def verify_scene(ask: QuestionGenerator) -> ProposedQuestion | None:
    """Propose a question such as "Is it outdoors?" or "Is this a park?" or "Is it sunny?"."""
    form, true, other = _choose_topic(ask)
    yes = ask.is_chosen(0.5)
    value = true if yes else other
    fact = (form, true)
    return ask.make_proposal(
        f"{form}Verify" + "C" * (not yes),
        _VERIFY[form],
        start_program("scene", (f"verify {form}", value)),
        "yes" if yes else "no",
        f"{'Yes' if yes else 'No'}, it is {{t}}",
        slots={"v": make_phrase(_format_value(form, value)), "t": make_phrase(_format_value(form, true))},
        local=f"01-{form}_{value}",
        asserts={fact} if yes or form == "location" else (),
        needs=[{fact}],
        topic=("verify", form, value),
    )


def choose_scene(ask: QuestionGenerator) -> ProposedQuestion | None:
    """Propose a question such as:

    Is it indoors or outdoors?
    Is this a park or a farm?
    Is it sunny or rainy?
    """
    form, true, other = _choose_topic(ask)
    first, second = (true, other) if ask.is_chosen(0.5) else (other, true)
    fact = (form, true)
    return ask.make_proposal(
        f"{form}Choose",
        _CHOOSE[form],
        start_program("scene", (f"choose {form}", f"{first}|{second}")),
        true,
        "It is {t}",
        slots={
            "u": make_phrase(_format_value(form, first)),
            "v": make_phrase(_format_value(form, second)),
            "t": make_phrase(_format_value(form, true)),
        },
        group=form,
        local=f"02c-{form}",
        asserts={fact},
        needs=[{fact}],
        topic=("choose", form),
    )


def _choose_topic(ask: QuestionGenerator) -> tuple[str, str, str]:
    """Choose a topic (location, place or weather), with its true value and another possible one."""
    scene = ask.scene_index.scene
    indoors = scene.location in INDOORS
    form = ask.choose(("location", "place", "weather") if scene.weather else ("location", "place"))
    if form == "location":
        return (form, "indoors", "outdoors") if indoors else (form, "outdoors", "indoors")
    places = INDOORS if indoors else OUTDOORS
    true, values = (scene.weather, WEATHERS) if form == "weather" else (scene.location, places)
    return form, true, ask.choose([value for value in values if value != true])


def _format_value(form: str, value: str) -> str:
    return add_article(value) if form == "place" else value

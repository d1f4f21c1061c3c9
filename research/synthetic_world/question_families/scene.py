"""Questions about the whole picture: the place, indoors or outdoors, the weather."""

from __future__ import annotations

from research.synthetic_world.ontology import INDOORS, OUTDOORS, WEATHERS
from research.synthetic_world.phrasing import IMAGE, PHOTO, with_article, words
from research.synthetic_world.program_builder import chain
from research.synthetic_world.question_proposals import Asker, ProposedQuestion

_PLACE = (
    "<Which/What> place is <it/this/shown/pictured>",
    f"<Which/What> place is shown in the {IMAGE}",
    "Where is <it/this>",
    f"Where was the {PHOTO} taken",
    f"What place was the {PHOTO} taken at",
    f"What kind of place is shown in the {IMAGE}",
    "What kind of place is <this/it>",
    f"Where do you think the {PHOTO} was taken",
)
_WEATHER = (
    "How is the weather",
    f"How is the weather in the {IMAGE}",
    "Which kind of weather is it",
    "How is the weather <today/on this day>",
    "What is the weather like",
    f"What is the weather like in the {IMAGE}",
)
_VERIFY = {
    "location": ("Is <it/this> {v}", "Do you think <it/this> is {v}", f"Was the {PHOTO} taken {{v}}"),
    "weather": ("Is it {v}", "Is the weather {v}", "Is it {v} <today/outside>", "Does the weather look {v}"),
    "place": (
        "Is <it/this> {v}",
        f"Is this {PHOTO} showing {{v}}",
        "Is it <a picture/an image/a photo> of {v}",
    ),
}
_CHOOSE = {
    "location": (
        "Is <it/this> {u} or {v}",
        f"Was the {PHOTO} taken {{u}} or {{v}}",
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
        f"What place is shown in the {PHOTO}, {{u}} or {{v}}",
    ),
}


def query_place(ask: Asker) -> ProposedQuestion | None:
    """What place is this?"""
    return _query(ask, "place", ask.view.scene.location, _PLACE)


def query_weather(ask: Asker) -> ProposedQuestion | None:
    """How is the weather?"""
    return _query(ask, "weather", ask.view.scene.weather, _WEATHER) if ask.view.scene.weather else None


def _query(ask: Asker, form: str, true: str, templates: tuple[str, ...]) -> ProposedQuestion | None:
    fact = (form, true)
    return ask.propose(
        form,
        templates,
        chain("scene", ("query", form)),
        true,
        "It is {t}",
        slots={"t": words(_said(form, true))},
        group=form,
        local=f"02q-{form}",
        asserts={fact},
        needs=[{fact}],
        topic=(form,),
    )


def verify_scene(ask: Asker) -> ProposedQuestion | None:
    """Is it outdoors? Is this a park? Is it sunny?"""
    form, true, other = _form(ask)
    yes = ask.chance(0.5)
    value = true if yes else other
    fact = (form, true)
    return ask.propose(
        f"{form}Verify" + "C" * (not yes),
        _VERIFY[form],
        chain("scene", (f"verify {form}", value)),
        "yes" if yes else "no",
        f"{'Yes' if yes else 'No'}, it is {{t}}",
        slots={"v": words(_said(form, value)), "t": words(_said(form, true))},
        local=f"01-{form}_{value}",
        asserts={fact} if yes or form == "location" else (),
        needs=[{fact}],
        topic=("verify", form, value),
    )


def choose_scene(ask: Asker) -> ProposedQuestion | None:
    """Is it indoors or outdoors? Is this a park or a farm? Is it sunny or rainy?"""
    form, true, other = _form(ask)
    first, second = (true, other) if ask.chance(0.5) else (other, true)
    fact = (form, true)
    return ask.propose(
        f"{form}Choose",
        _CHOOSE[form],
        chain("scene", (f"choose {form}", f"{first}|{second}")),
        true,
        "It is {t}",
        slots={
            "u": words(_said(form, first)),
            "v": words(_said(form, second)),
            "t": words(_said(form, true)),
        },
        group=form,
        local=f"02c-{form}",
        asserts={fact},
        needs=[{fact}],
        topic=("choose", form),
    )


def _form(ask: Asker) -> tuple[str, str, str]:
    """What to ask of (location, place or weather), the true value, and another that might be."""
    scene = ask.view.scene
    indoors = scene.location in INDOORS
    form = ask.pick(("location", "place", "weather") if scene.weather else ("location", "place"))
    if form == "location":
        return (form, "indoors", "outdoors") if indoors else (form, "outdoors", "indoors")
    places = INDOORS if indoors else OUTDOORS
    true, values = (scene.weather, WEATHERS) if form == "weather" else (scene.location, places)
    return form, true, ask.pick([value for value in values if value != true])


def _said(form: str, value: str) -> str:
    return with_article(value) if form == "place" else value

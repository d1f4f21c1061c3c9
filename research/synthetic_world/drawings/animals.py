"""Draw birds, and the parts that all animals share. Animals are seen from the side, looking right."""

from __future__ import annotations

from research.synthetic_world.drawings.appearance import Appearance
from research.synthetic_world.drawings.svg_shapes import fill, oval, path, poly, rect, stroke, transform

EYE = "#1c1a1a"
BEAK, BEAK_LINE = "#f08a1d", "#9c4f0b"


def eye(x: float, y: float, r: float = 1.4) -> str:
    return fill(oval(x, y, r), EYE, "#f4f1ea") + fill(oval(x + 0.4, y - 0.4, r * 0.35), "#ffffff")


def legs(
    look: Appearance, xs: tuple[float, ...], top: float, bottom: float, width: float, hoof: str | None = None
) -> str:
    """Draw slightly tapered legs with hoofs or paws.

    Every second leg is farther away and has the darker tone.
    """
    drawn = ""
    slim = 0.14 * width
    for tone, chosen in (("dark", xs[1::2]), ("base", xs[::2])):
        for x in chosen:
            right = x + width
            leg = poly(x - slim, top, right + slim, top, right - slim, bottom, x + slim, bottom)
            drawn += look.draw_plain_part(leg, tone)
            if hoof:
                drawn += fill(
                    poly(x + slim, bottom - 4, right - slim, bottom - 4, right, bottom, x, bottom), hoof
                )
            else:
                drawn += look.draw_plain_part(rect(x, bottom - 4, width + 1.5, 4, 2), tone)
    return drawn


# 34 x 28 pixels.
def bird(look: Appearance) -> str:
    line = look.tones.line
    tail = look.draw_plain_part(path("M10 15L.6 12.5L1.5 17L.6 20L10 19Z"), "dark")
    body = look.draw_part(path("M7 17Q8 10 16 10Q19 4 24.5 4Q30 4.5 30 10Q30 21 18 22.5Q9 22.5 7 17Z"))
    belly = fill(path("M24 21Q29 18 29.5 12Q25 14 22 21.7Z"), "#fff3dc", opacity=0.8)
    face = fill(path("M29.5 8L33.8 10L29.5 12Z"), "#f2a12e", "#a3610d") + eye(25.5, 8.6, 1.3)
    if look.is_flying:
        far_wing = look.draw_plain_part(path("M17 12Q12 5 13.5 .6Q20 2 22.5 11Z"), "dark")
        wing = look.draw_part(path("M12 13Q5 20 6 27.4Q14 26.5 21 15Z")) + stroke(
            "M9 24L14 19M11.5 24.5L16.5 18", line, 0.9
        )
        return far_wing + tail + body + belly + face + wing
    feet = stroke("M16 21V27M20 21V27M13.5 27.3H18M18 27.3H23", "#c4761a", 1.4)
    near_wing = look.draw_part(path("M9 14Q14 10 20 13Q20 19 11 20.5Q8 18 9 14Z"), "dark")
    return transform(feet + tail + body + belly + face + near_wing, 0, -3.6, 1, 1.13)


# 42 x 36 pixels.
def duck(look: Appearance) -> str:
    feet = path("M13.5 35.4L18.5 32.5L21 35.4ZM20.5 35.4L24.5 32.5L28.5 35.4Z")
    body = path(
        "M3 16Q6 18 12 17.5Q20 16 23.5 17Q25 13 23 9Q23 .8 30 .8Q36.5 1 36.5 8Q36.5 13 34.5 16",
        "Q37 30 22 30.5Q4 31 .8 15Z",
    )
    return (
        stroke("M18 29V34.5M24 29V34.5", BEAK, 2)
        + fill(feet, BEAK, BEAK_LINE)
        + look.draw_part(body)
        + look.draw_plain_part(path("M8 20Q16 16.5 24 20Q23 27.5 14 27Q9 25 8 20Z"), "dark")
        + fill(path("M35.5 6Q39 7 41.6 9.2Q41 11.5 35 11Z"), BEAK, BEAK_LINE)
        + eye(31.5, 6.3)
    )

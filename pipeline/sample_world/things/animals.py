"""Animals, from the side, looking right; sitting ones look out of the picture."""

from __future__ import annotations

from pipeline.sample_world.things.ink import DARK, Look, fill, limb, mix, oval, path, poly, rect, stroke

EYE = "#1c1a1a"


def _eye(x: float, y: float, r: float = 1.4) -> str:
    return fill(oval(x, y, r), EYE, "#f4f1ea") + fill(oval(x + 0.4, y - 0.4, r * 0.35), "#ffffff")


def _legs(look: Look, xs: tuple[float, ...], top: float, bottom: float, width: float, foot: str | None = None) -> str:
    """Legs that taper a little, the far ones (every second) in the darker tone."""
    drawn = ""
    for tone, chosen in (("dark", xs[1::2]), ("base", xs[::2])):
        for x in chosen:
            slim = 0.14 * width
            drawn += look.plain(poly(x - slim, top, x + width + slim, top, x + width - slim, bottom, x + slim, bottom), tone)
            drawn += fill(poly(x + slim, bottom - 4, x + width - slim, bottom - 4, x + width, bottom, x, bottom), foot) if foot else (
                look.plain(rect(x, bottom - 4, width + 1.5, 4, 2), tone))
    return drawn


def dog(look: Look) -> str:
    t = look.tones
    muzzle = t.light if look.name != "white" else "#ece5d8"
    if look.pose == "sitting":  # 56 x 62
        return (limb("M42 54Q53 54 52 42", t.base, t.line, 4) + look.part(path("M18 30Q10 44 10 55Q10 61.4 18 61.4H40Q47 61.4 46 53Q45 42 38 30Z"))
                + fill(oval(28, 42, 6.5, 10), muzzle) + "".join(look.plain(rect(x, 43, 7, 18, 3)) for x in (19, 30))
                + look.part(oval(28, 17.5, 15, 14.5)) + _front_dog_face(look, 28, 17.5, muzzle))
    if look.pose == "lying":  # 84 x 38
        return (limb("M8 31Q1 29 2 22", t.base, t.line, 4) + look.part(path("M6 37.4Q2 20 20 17Q40 13 56 17L60 37.4Z"))
                + look.plain(path("M18 37.4Q14 24 26 24Q36 25 36 37.4Z"), "base")
                + "".join(look.plain(rect(x, y, 26, 5.6, 2.8), tone) for x, y, tone in ((54, 30.4, "dark"), (50, 31.8, "base")))
                + _side_dog_head(look, 52, 2, muzzle))
    return (limb("M15 27Q4 23 5 9", t.base, t.line, 4.4) + _legs(look, (16, 23, 45, 52), 36, 57.4, 6)
            + look.part(path("M12 30Q12 23 20 23H46Q52 22 55 16L64 24Q60 42 54 43Q40 39 24 43Q13 44 12 30Z"))
            + _side_dog_head(look, 47, 1, muzzle))


def _side_dog_head(look: Look, x: float, y: float, muzzle: str) -> str:
    t = look.tones
    return (look.part(path(f"M{x + 3} {y + 10}Q{x + 4} {y + 1} {x + 13} {y + 1}Q{x + 20} {y + 1} {x + 21} {y + 8}L{x + 28} {y + 10}Q{x + 30.4} {y + 11} {x + 30} {y + 15}"
                           f"Q{x + 28} {y + 20} {x + 21} {y + 20}Q{x + 16} {y + 25} {x + 9} {y + 23}Q{x + 3} {y + 20} {x + 3} {y + 10}Z"))
            + fill(path(f"M{x + 22} {y + 10}L{x + 28} {y + 10.5}Q{x + 30} {y + 12} {x + 29.5} {y + 15}Q{x + 27} {y + 19.5} {x + 21} {y + 19}Q{x + 18} {y + 14} {x + 22} {y + 10}Z"), muzzle)
            + fill(oval(x + 28, y + 11, 2.6, 2.2), EYE) + stroke(f"M{x + 28} {y + 16}Q{x + 25} {y + 18} {x + 21} {y + 16.5}", t.line, 1)
            + fill(path(f"M{x + 23} {y + 17.5}Q{x + 26} {y + 23} {x + 27} {y + 16.8}Z"), "#e26a7a")
            + _eye(x + 17.5, y + 8.5) + look.plain(path(f"M{x + 10} {y + 2}Q{x + 2} {y + 1} {x + 1} {y + 10}Q{x} {y + 20} {x + 6} {y + 21}Q{x + 11} {y + 19} {x + 12} {y + 9}Z"), "dark"))


def _front_dog_face(look: Look, x: float, y: float, muzzle: str) -> str:
    t = look.tones
    ears = "".join(look.plain(path(f"M{x + s * 9} {y - 13}Q{x + s * 19} {y - 14} {x + s * 20} {y}Q{x + s * 20} {y + 11} {x + s * 15} {y + 11}Q{x + s * 11} {y + 4} {x + s * 11} {y - 4}Z"), "dark")
                   for s in (-1, 1))
    return (ears + fill(oval(x, y + 6, 8, 6.6), muzzle, t.dark) + fill(oval(x, y + 3, 3.4, 2.4), EYE)
            + stroke(f"M{x} {y + 5}V{y + 7.5}M{x - 4} {y + 7}Q{x - 2} {y + 9.5} {x} {y + 7.5}Q{x + 2} {y + 9.5} {x + 4} {y + 7}", t.line, 1)
            + fill(path(f"M{x - 2} {y + 8.8}Q{x} {y + 15} {x + 2} {y + 8.8}Z"), "#e26a7a") + _eye(x - 5.5, y - 3, 1.8) + _eye(x + 5.5, y - 3, 1.8))


def cat(look: Look) -> str:
    if look.pose == "sitting":  # 38 x 51
        return (limb("M29 47Q38 46 35.5 36Q33.5 31 36 27", look.tones.base, look.tones.line, 3.4)
                + look.part(path("M13 24Q5 36 6 45Q6.5 50.4 12 50.4H26Q31 50.4 31.5 45Q32 36 25 24Z"))
                + "".join(look.plain(rect(x, 36, 4.8, 14.4, 2.2)) for x in (13.4, 19)) + _cat_head(look, 18.8, 15, 1.08))
    if look.pose == "lying":  # 63 x 29
        return (look.part(path("M4 28.4Q2 13 20 10Q36 8 46 14L52 28.4Z"))
                + stroke("M18 11L20 15M25 10L27 14.5M32 10L34 14.5", look.tones.line, 1.6)
                + limb("M5 25Q16 29 28 25.5", look.tones.base, look.tones.line, 3.4)
                + look.plain(rect(36, 24.6, 14, 4, 2)) + _cat_head(look, 49, 14.5, 0.95))
    return (limb("M10 24Q1 19 4 9Q5 3 9 3", look.tones.base, look.tones.line, 3.2) + _legs(look, (10, 15, 32, 37), 29, 45.4, 4.4)
            + look.part(path("M7 26Q7 19 15 19.5H36Q43 19 44 27Q43 34 38 34Q24 31 14 34.5Q7 34 7 26Z"))
            + stroke("M16 20L17.5 24.5M22 20L23.5 24.5M28 20L29.5 24.5", look.tones.line, 1.6) + _cat_head(look, 43, 15, 1.0))


def _cat_head(look: Look, x: float, y: float, scale: float) -> str:
    """A round face with pointed ears and whiskers."""
    t = look.tones
    whisker = "#ffffff" if look.name in ("black", "brown") else "#54504e"
    body = (look.plain(path("M-12 -2L-11.5 -14.5L-3 -9.5H3L11.5 -14.5L12 -2Q12 10 0 10.5Q-12 10 -12 -2Z"))
            + fill(path("M-10 -6L-9.8 -11.5L-5 -8.5ZM10 -6L9.8 -11.5L5 -8.5Z"), "#efa3a3")
            + "".join(fill(oval(dx, -1.5, 2.6, 2.9), "#c9dd62", t.line) + fill(oval(dx, -1.5, 1, 2.6), EYE) for dx in (-5, 5))
            + fill(path("M-1.8 3H1.8L0 5Z"), "#e2788a", t.line) + stroke("M0 5Q-2.5 8 -4 6M0 5Q2.5 8 4 6", t.line if look.name != "black" else "#c8c8c8", 0.9)
            + stroke("M-6 4.5L-14.5 3M-6 6L-14 7.5M6 4.5L14.5 3M6 6L14 7.5", whisker, 0.8))
    return f'<g transform="translate({x} {y}) scale({scale})">{body}</g>'


def bird(look: Look) -> str:  # 34 x 28
    t = look.tones
    beak = "#f2a12e"
    tail = look.plain(path("M10 15L.6 12.5L1.5 17L.6 20L10 19Z"), "dark")
    body = look.part(path("M7 17Q8 10 16 10Q19 4 24.5 4Q30 4.5 30 10Q30 21 18 22.5Q9 22.5 7 17Z"))
    face = fill(path("M29.5 8L33.8 10L29.5 12Z"), beak, "#a3610d") + _eye(25.5, 8.6, 1.3)
    belly = fill(path("M24 21Q29 18 29.5 12Q25 14 22 21.7Z"), "#fff3dc", opacity=0.8)
    if look.flying:
        return (look.plain(path("M17 12Q12 5 13.5 .6Q20 2 22.5 11Z"), "dark") + tail + body + belly + face
                + look.part(path("M12 13Q5 20 6 27.4Q14 26.5 21 15Z")) + stroke("M9 24L14 19M11.5 24.5L16.5 18", t.line, 0.9))
    return (stroke("M16 21V27M20 21V27M13.5 27.3H18M18 27.3H23", "#c4761a", 1.4) + tail + body + belly + face
            + look.part(path("M9 14Q14 10 20 13Q20 19 11 20.5Q8 18 9 14Z"), "dark"))


def duck(look: Look) -> str:  # 42 x 36
    t = look.tones
    return (stroke("M18 29V34.5M24 29V34.5", "#e8821e", 2) + fill(path("M13.5 35.4L18.5 32.5L21 35.4ZM20.5 35.4L24.5 32.5L28.5 35.4Z"), "#e8821e", "#9c4f0b")
            + look.part(path("M3 16Q6 18 12 17.5Q20 16 23.5 17Q25 13 23 9Q23 .8 30 .8Q36.5 1 36.5 8Q36.5 13 34.5 16Q37 30 22 30.5Q4 31 .8 15Z"))
            + look.plain(path("M8 20Q16 16.5 24 20Q23 27.5 14 27Q9 25 8 20Z"), "dark")
            + fill(path("M35.5 6Q39 7 41.6 9.2Q41 11.5 35 11Z"), "#f08a1d", "#9c4f0b") + _eye(31.5, 6.3, 1.4))


def horse(look: Look) -> str:
    t = look.tones
    mane = {"brown": "#3d2412", "black": "#6b6d75", "white": "#b9bcc4", "gray": "#55585e"}[look.name]
    if look.pose == "lying":  # 118 x 70
        return (limb("M10 52Q2 56 3 67", mane, t.line, 5) + look.part(path("M8 69.4Q4 40 28 38Q52 38 66 38Q78 30 84 12L98 22Q96 50 92 60L88 69.4Z"))
                + "".join(look.plain(rect(x, 62, w, 7.4, 3.4), tone) + fill(rect(x + w - 5, 62, 5, 7.4, 1), DARK) for x, w, tone in ((74, 36, "dark"), (26, 34, "base"))) + _horse_head(look, 80, 2, mane))
    return (limb("M14 42Q3 46 5 74", mane, t.line, 5.5) + _legs(look, (18, 28, 70, 80), 58, 99.4, 7.4, DARK)
            + look.part(path("M12 46Q12 34 26 34Q44 38 62 35Q76 30 82 14L97 22Q92 40 90 56Q84 66 72 64Q48 60 36 66Q16 70 12 46Z")) + _horse_head(look, 78, 2, mane))


def _horse_head(look: Look, x: float, y: float, mane: str) -> str:
    t = look.tones
    return (look.plain(path(f"M{x + 6} {y + 8}L{x + 7} {y - 1.4}L{x + 13} {y + 5}Z"))
            + look.part(path(f"M{x + 4} {y + 12}Q{x + 8} {y + 3} {x + 18} {y + 5}Q{x + 24} {y + 8} {x + 37} {y + 24}Q{x + 39.4} {y + 28} {x + 36} {y + 32}Q{x + 32} {y + 35} {x + 27} {y + 31}"
                             f"Q{x + 20} {y + 26} {x + 17} {y + 26}Q{x + 8} {y + 26} {x + 4} {y + 12}Z"))
            + fill(path(f"M{x + 11} {y + 4}Q{x - 2} {y + 2} {x - 6} {y + 20}Q{x - 12} {y + 30} {x - 14} {y + 33}Q{x - 4} {y + 32} {x + 2} {y + 24}Q{x + 6} {y + 16} {x + 11} {y + 4}Z"), mane, t.line)
            + fill(path(f"M{x + 9} {y + 2}Q{x + 16} {y + 3} {x + 18} {y + 10}Q{x + 12} {y + 8} {x + 9} {y + 2}Z"), mane)
            + _eye(x + 18, y + 13, 1.7) + fill(oval(x + 34, y + 27, 1.3), t.line) + stroke(f"M{x + 36} {y + 31}L{x + 30} {y + 29}", t.line, 1))


def cow(look: Look) -> str:
    t = look.tones
    spot = {"white": "#2f2f33", "black": "#f1efe9", "brown": "#f3ead9"}[look.name]
    lift = 24 if look.pose == "lying" else 0
    body = look.part(path("M10 30Q10 20 22 19Q50 22 72 18Q84 17 86 28Q88 46 78 54Q60 58 30 56Q10 56 10 30Z"))
    spots = fill(path("M24 22Q34 18 40 24Q44 34 34 38Q22 36 24 22ZM56 32Q66 26 70 36Q70 46 60 48Q50 44 56 32ZM12 40Q18 38 22 46Q22 53 16 52Q11 48 12 40Z"), spot)
    tail = stroke("M12 28Q3 34 6 52", t.line, 3.4) + stroke("M12 28Q3 34 6 52", t.base, 1.8) + fill(oval(6.4, 55, 2.8, 5), DARK)
    head = (fill(path("M80 10Q76 3 80 .6Q83 6 88 8ZM102 10Q106 3 102 .6Q99 6 94 8Z"), "#efe3c4", "#8f7d52")
            + look.plain(path("M80 12Q70 9 69 15Q73 21 81 18ZM102 12Q111 9 111.6 15Q109 21 101 18Z"), "dark")
            + look.part(path("M79 12Q82 6 91 6Q100 6 103 12L101 30Q98 38 91 38Q84 38 81 30Z")) + fill(path("M87 7H95L93 22H89Z"), spot)
            + fill(oval(91, 32.5, 11.2, 7.4), "#f0aeb0", "#a8646a") + fill(oval(86.5, 32, 1.7, 2.2), "#7c3d45") + fill(oval(95.5, 32, 1.7, 2.2), "#7c3d45")
            + _eye(85, 17, 1.7) + _eye(97, 17, 1.7))
    if look.pose == "lying":  # 112 x 60
        return (f'<g transform="translate(0 3.4)">{tail}{body}{spots}'
                + "".join(look.plain(rect(x, 48.6, w, 7.4, 3.4), tone) + fill(rect(x + w - 5, 48.6, 5, 7.4, 1), DARK) for x, w, tone in ((66, 30, "dark"), (22, 32, "base"))) + f"{head}</g>")
    udder = fill(path("M32 54Q34 63 42 63Q50 63 52 54Z"), "#f0aeb0", "#a8646a")
    return udder + _legs(look, (17, 27, 66, 75), 48, 83.4, 8, DARK) + tail + body + spots + head + "" * lift


def sheep(look: Look) -> str:
    t = look.tones
    face = {"white": "#4a4442", "black": "#8f8b88", "gray": "#3b3837"}[look.name]
    shade = mix(face, "#000000", 0.45)
    bumps = ((16, 22, 10), (28, 15, 11), (42, 14, 11), (54, 20, 10), (58, 30, 9), (50, 38, 10), (36, 41, 10), (22, 39, 10), (12, 32, 9))
    wool = ("".join(fill(oval(x, y, r + 1), t.line) for x, y, r in bumps) + "".join(fill(oval(x, y, r), t.base) for x, y, r in bumps)
            + fill(rect(16, 18, 40, 24, 8), t.base) + "".join(stroke(f"M{x - 4} {y}Q{x} {y + 5} {x + 4} {y}", t.line, 1.1, 0.75)
                                                              for x, y in ((20, 24), (32, 20), (44, 22), (26, 33), (38, 31), (50, 32), (16, 34))))
    head = (fill(path("M57 17Q49 15 49 20Q53 25 59 22ZM73 17Q79.5 15 79.5 20Q77 25 71 22Z"), face, shade)
            + fill(path("M57 16Q58 11 65 11Q72 11 73 16Q74 30 69 35Q65 38 61 35Q56 30 57 16Z"), face, shade)
            + "".join(fill(oval(x, y, 4.6), t.base, t.line) for x, y in ((60, 11), (70, 11), (65, 8)))
            + "".join(fill(oval(x, 20.5, 2), "#ffffff") + fill(oval(x, 20.8, 1.1), EYE) for x in (61, 69))
            + stroke("M63 31Q65 33 67 31", "#f0b6b0", 1.3))
    if look.pose == "lying":  # 80 x 47
        return (f'<g transform="translate(0 -4)">' + f"{wool}{head}" + "".join(fill(rect(x, 45, 20, 5.8, 2.8), face, shade) for x in (12, 48)) + "</g>")
    return "".join(fill(rect(x, 44, 5, 17.4, 1.4), face, shade) for x in (20, 28, 44, 51)) + wool + head

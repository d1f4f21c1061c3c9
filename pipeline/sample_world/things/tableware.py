"""Dishes, containers, bags and food."""

from __future__ import annotations

from pipeline.sample_world.things.ink import DARK, GOLD, METAL, Look, fill, limb, oval, path, poly, rect, stroke


def cup(look: Look) -> str:  # 24 x 26
    return (limb("M17 8q6-1 5.5 5q-.5 6-6.5 6", look.tones.base, look.tones.line, 2.4)
            + look.part(path("M1 3L3 23Q3.2 25.5 6 25.5H14Q16.8 25.5 17 23L19 3Z"))
            + fill(oval(10, 3.4, 9, 2.6), look.tones.dark, look.tones.line)
            + fill(oval(10, 3.8, 6.8, 1.6), look.tones.line))


def plate(look: Look) -> str:  # 48 x 18
    return (look.plain(path("M15 14H33L31 17.5H17Z"), "dark") + look.part(oval(24, 8.5, 23.4, 8))
            + fill(oval(24, 9, 14.5, 4.4), look.tones.light, look.tones.dark)
            + stroke("M4 7.5Q8 2.5 20 1.8", "#ffffff", 1.4, 0.8))


def bowl(look: Look) -> str:  # 46 x 28
    contents = (fill(path("M5 5Q9-.5 14 1.5Q19-2 24 1Q31-2 35 1.5Q40 0 41 5.5Z"), "#e9b36a", "#a06a2a")
                + "".join(fill(oval(x, y, 1.7, 1.3), color) for x, y, color in (
                    (11, 3, "#b8632a"), (17, 2.5, "#f7dca0"), (23, 3.5, "#b8632a"), (29, 2, "#f7dca0"),
                    (34, 3.6, "#b8632a"), (20, 5, "#f7dca0"))) if look.state == "full" else "")
    return (fill(oval(23, 5, 22.3, 4.3), look.tones.dark, look.tones.line)
            + (contents or fill(oval(23, 5.4, 19, 2.9), look.tones.line, opacity=0.75))
            + look.plain(rect(15, 23.5, 16, 4, 1), "dark")
            + look.part(path("M.7 5Q1 24.5 18 25.5H28Q45 24.5 45.3 5Q41 9.3 23 9.3Q5 9.3 .7 5Z"))
            )


def bottle(look: Look) -> str:  # 20 x 52
    body = path("M7 5V13Q7 17 3.5 20Q1 22 1 26V48.5Q1 51.5 4 51.5H16Q19 51.5 19 48.5V26Q19 22 16.5 20Q13 17 13 13V5Z")
    liquid = path("M2.5 21.8H17.5Q18 24 18 26V48Q18 50.5 16 50.5H4Q2 50.5 2 48V26Q2 24 2.5 21.8Z")
    clear = fill(body, "#ffffff", opacity=0.55) + (fill(body, "#b9cdd8", look.tones.line, 0.55) if look.name == "white" else
                                                   fill(body, look.tones.base, look.tones.line, 0.45))
    inside = (fill(liquid, look.tones.base) + fill(liquid, look.tones.dark, opacity=0 if look.name == "white" else 0.45)
              + fill(rect(2.4, 21, 15.2, 1.8), look.tones.light)) if look.state == "full" else ""
    if look.material == "plastic":
        finish = (stroke("M1.5 28H18.5M1.5 45H18.5M1.5 41.5H18.5", look.tones.line, 1, 0.7)
                  + fill(rect(1.2, 31, 17.6, 7.5), "#ffffff", look.tones.line) + fill(rect(4, 33.5, 12, 2.5), look.tones.base)
                  + fill(rect(5.6, 0.6, 8.8, 6.4, 1.4), look.tones.base, look.tones.line)
                  + stroke("M8 1.5V6M10 1.5V6M12 1.5V6", look.tones.line, 0.7))
    else:
        finish = (fill(rect(6.6, 3.6, 6.8, 2.6, 1), look.tones.dark, look.tones.line)
                  + fill(rect(7.4, 0.6, 5.2, 3.4, 0.8), "#c99a63", "#7b5428")
                  + stroke("M4.5 25V46", "#ffffff", 2, 0.85) + stroke("M9 7V13", "#ffffff", 1.4, 0.85))
    return clear + inside + finish


def vase(look: Look) -> str:  # 30 x 48
    body = "M8 3Q11.5 9 10 13Q1 19 1 30Q1 41 9 47H21Q29 41 29 30Q29 19 20 13Q18.5 9 22 3Z"
    return (look.part(path(body)) + fill(oval(15, 3.2, 7.4, 2.5), look.tones.dark, look.tones.line)
            + fill(oval(15, 3.5, 5.2, 1.5), look.tones.line)
            + stroke("M9.5 14.5H20.5", look.tones.line, 1.4))


def basket(look: Look) -> str:  # 60 x 44
    logs = ("".join(fill(oval(x, y, 6.5, 5.6), "#d9a866", "#6e4520") + fill(oval(x, y, 3.2, 2.7), "#e9c48c", "#a8743a")
                    for x, y in ((17, 8), (43, 8), (30, 6), (11, 13), (24, 12.5), (37, 12.5), (49, 13)))
            if look.state == "full" else "")
    t = look.tones
    weave = ""
    if look.material == "metal":
        weave = stroke("M7 16L10 42M15 17L16.5 43M23 18L23.5 43M30 18V43M37 18L36.5 43M45 17L43.5 43M53 16L50 42"
                       "M4 22H56M5 29H55M6 36H54", t.dark, 1.6) + stroke(
                           "M8 16L11 42M16 17L17.5 43M31 18V43M46 17L44.5 43M4 21H56M5 28H55", "#ffffff", 0.8, 0.9)
    elif look.material == "plastic":
        weave = "".join(fill(rect(x, y, 4, 5.4, 1.5), t.line) for y in (21, 30) for x in (8.5, 16, 23.5, 31, 38.5, 46)) + stroke(
            "M8 19V38", "#ffffff", 2, 0.8)
    else:
        weave = "".join(fill(rect(x, y, 5.6, 5.6, 1.4), t.light if (row + column) % 2 else t.dark, t.line)
                        for row, y in enumerate((19, 26, 33)) for column, x in enumerate((6.5, 14.5, 22.5, 30.5, 38.5, 46.5)))
    body = path("M3 14L8 41Q8.5 43.5 11 43.5H49Q51.5 43.5 52 41L57 14Z")
    frame = fill(body, t.base, t.line, 0.35) if look.material == "metal" else fill(body, t.base, t.line)
    return (fill(oval(30, 14, 27, 4.6), t.line)
            + limb("M4.5 14Q6 1.2 30 1.2Q54 1.2 55.5 14", t.base, t.line, 2)
            + logs + frame + weave
            + fill(path("M2 13Q30 21 58 13V17.5Q30 25.5 2 17.5Z"), t.base, t.line))


def box(look: Look) -> str:  # 58 x 50
    t = look.tones
    boards = stroke("M3 24.5H55M3 36.5H55", t.line, 1.2) if look.material == "wood" else ""
    nails = "".join(fill(oval(x, y, 0.9), t.line) for x in (7, 51) for y in (18, 30, 44)) if look.material in ("wood", "metal") else ""
    tape = fill(rect(25, 13, 8, 12), t.light, t.dark) if look.material is None else ""
    front = look.part(rect(3, 13, 52, 36.4, 1)) + boards + nails
    if look.state == "open":
        return (fill(poly(8, 5, 50, 5, 55, 14, 3, 14), t.line)
                + look.plain(poly(8, 5, 14, 0.6, 46, 0.6, 50, 5), "dark") + front
                + look.plain(poly(3, 13, 0.6, 22, 9, 24, 14, 13), "light") + look.plain(poly(55, 13, 57.4, 22, 49, 24, 44, 13), "light"))
    return (front + look.plain(poly(3, 13, 9, 1, 49, 1, 55, 13), "light")
            + (fill(poly(25, 13, 26.5, 1, 31.5, 1, 33, 13), t.base, t.dark) if look.material is None else "") + tape
            + stroke("M3 13H55", t.line, 1.3))


def backpack(look: Look) -> str:  # 46 x 54
    t = look.tones
    return (limb("M16 6Q16 1.6 23 1.6Q30 1.6 30 6", t.dark, t.line, 2)
            + look.plain(rect(0.8, 24, 8, 22, 4), "dark") + look.plain(rect(37.2, 24, 8, 22, 4), "dark")
            + look.part(path("M5 46V20Q5 5 23 5Q41 5 41 20V46Q41 53.2 35 53.2H11Q5 53.2 5 46Z"))
            + stroke("M9 22Q9 10 23 10Q37 10 37 22", t.line, 1.2)
            + look.part(rect(10, 31, 26, 18, 4)) + stroke("M10.5 36H35.5", t.line, 1.4)
            + fill(rect(21, 35, 4, 6, 1), GOLD, t.line) + fill(rect(20, 17, 6, 4, 1.5), t.light, t.line))


def apple(look: Look) -> str:  # 22 x 24
    t = look.tones
    return (look.part(path("M11 7.5Q16 3.5 19.5 7.5Q23 12 19 19Q16 24.5 11 22.5Q6 24.5 3 19Q-1 12 2.5 7.5Q6 3.5 11 7.5Z"))
            + stroke("M11 8Q10.5 4 12 1.5", "#5b3a1e", 1.8)
            + fill(path("M12 4.5Q14 0 19 1Q17.5 5.5 12 4.5Z"), "#4f9d3f", "#2c6425")
            + fill(oval(6, 11.5, 1.7, 2.8), "#ffffff", opacity=0.65) + stroke("M8.5 7.8Q11 9.5 13.5 7.8", t.line, 1))


def banana(look: Look) -> str:  # 34 x 22
    return (look.part(path("M2.5 2.5L6 1Q8 11.5 18 13.5Q26 15 31.5 10.5L33 13.5Q28 22 17 21.5Q3 20 2.5 2.5Z"))
            + stroke("M5.5 6Q8 16 19 17.5Q26 18 31 13.5", look.tones.dark, 1.1)
            + fill(poly(2, 3, 1.4, 0.8, 5, 0.6, 6.4, 1.6), "#6b4a22") + fill(poly(31, 10.8, 33.4, 11, 33.2, 14), "#5c3d1a"))


def pear(look: Look) -> str:  # 22 x 28
    return (look.part(path("M11 4.5Q15 4.5 15.3 9Q15.6 12 18.5 15Q22 19 20 23.5Q17.5 27.5 11 27.5Q4.5 27.5 2 23.5"
                           "Q0 19 3.5 15Q6.4 12 6.7 9Q7 4.5 11 4.5Z"))
            + stroke("M11 5Q11 2.5 13 .9", "#5b3a1e", 1.8)
            + fill(path("M11.5 4Q9 .4 5.5 2Q7.5 5 11.5 4Z"), "#4f9d3f", "#2c6425")
            + fill(oval(6.6, 18.5, 1.7, 3), "#ffffff", opacity=0.6)
            + "".join(fill(oval(x, y, 0.7), look.tones.line, opacity=0.6) for x, y in ((13, 19), (15.5, 22), (12, 23.5), (10, 15))))


def pizza(look: Look) -> str:  # 50 x 16
    toppings = "".join(fill(oval(x, y, 3, 1.6), "#c9362b", "#8d1f18") for x, y in
                       ((12, 6), (21, 10), (23, 4), (33, 4.4), (38, 7.4), (12, 10.2)))
    herbs = "".join(fill(oval(x, y, 1.2, 0.8), "#3f8a35") for x, y in ((17, 7.5), (28, 6), (8, 8), (29, 3.2), (18, 12)))
    return (fill(path("M.6 7.5V9.5Q3 15.5 25 15.5Q47 15.5 49.4 9.5V7.5Z"), "#a5692c", "#6f4216")
            + fill(oval(25, 7.4, 24.2, 6.8), "#d9974a", "#6f4216") + fill(oval(25, 7.2, 20.6, 5.2), "#f6cd52", "#d0672b")
            + toppings + herbs
            + stroke("M25 7.2L29.5 14M25 7.2L45 10.5M25 7.2L6 4M25 7.2L26 .9M25 7.2L43 3.8", "#b4661f", 0.9)
            )


def cake(look: Look) -> str:  # 46 x 42
    t = look.tones
    return (fill(oval(23, 38, 22.4, 3.6), "#dfe3e8", "#8c939c")
            + fill(rect(4, 21, 38, 16, 3), "#e8c48b", "#9a6b34") + fill(rect(4.5, 28, 37, 3), "#f7efe0")
            + look.part(path("M4 20Q4 14 23 14Q42 14 42 20V27Q39.5 31 37 26.5Q34 23.5 31.5 28Q28.5 32 26 27Q23 23 20 28"
                             "Q17 32 14.5 27Q12 23.5 9 28Q6 31 4 26.5Z"))
            + fill(oval(23, 18.6, 18.6, 4), t.light, t.dark)
            + "".join(fill(rect(x - 1, 8, 2, 9, 0.6), "#ffffff", "#c24d6b") + stroke(f"M{x} 6V8", DARK, 0.8)
                      + fill(oval(x, 4, 1.5, 2.6), "#ffb52e", "#e8742a") for x in (14, 23, 32))
            + "".join(fill(oval(x, 17.4, 2.1, 2), "#d3263a", "#84121f") for x in (8.5, 18.5, 27.5, 37.5)))


def sandwich(look: Look) -> str:  # 38 x 22
    return (fill(path("M2 8.5L19 1Q20 .6 21 1L36.5 8.5Z"), "#f3d9a4", "#9c6426")
            + fill(path("M.8 9.5Q.8 7.5 3 7.5H35Q37.2 7.5 37.2 9.5L36.5 11.5H1.5Z"), "#f8e6bf", "#9c6426")
            + fill(path("M1 11.5Q3.5 15 6 12.5Q9 15.5 12 12.5Q15 15.5 18 12.5Q21 15.5 24 12.5Q27 15.5 30 12.5Q34 15.5 37 11.5Z"),
                   "#63b545", "#35782a")
            + fill(rect(2, 14.2, 34, 2), "#f29ba0", "#b0565c") + fill(poly(2, 16, 36, 16, 30, 18.6, 26, 16.6, 8, 16.6), "#ffd23c")
            + fill(rect(1.4, 17, 35.2, 4.4, 1.6), "#f8e6bf", "#9c6426") + stroke("M4 19.4H34", "#e0b878", 1))

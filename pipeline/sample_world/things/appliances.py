"""Appliances and devices."""

from __future__ import annotations

from pipeline.sample_world.things.ink import DARK, METAL, Look, fill, limb, oval, path, poly, rect, stroke


def refrigerator(look: Look) -> str:  # 70 x 136
    t = look.tones
    feet = "".join(fill(rect(x, 131, 8, 4.6), DARK) for x in (12, 50))
    if look.state == "open":
        body = look.plain(rect(0.6, 0.6, 50, 131, 5)) + fill(rect(5, 6, 41, 120, 2), "#eef7fb", "#8fa4b0")
        boards = "".join(fill(rect(5, y, 41, 2.2), "#b9d3df") for y in (30, 54, 78, 102)) + fill(rect(8, 106, 35, 17, 2), "#d5e7ee", "#9fb6c1")
        goods = "".join(fill(rect(x, y, w, h, 1), c, "#59636b") for x, y, w, h, c in (
            (9, 15, 8, 15, "#f5f5f0"), (20, 19, 12, 11, "#9cc7a0"), (10, 43, 16, 11, "#e8c27a"), (31, 40, 8, 14, "#f5f5f0"), (12, 66, 10, 12, "#d98f8f"), (26, 69, 15, 9, "#a9b9dd"), (11, 92, 24, 10, "#efe3b0")))
        door = look.part(poly(50, 1, 69.4, 6, 69.4, 135, 50, 130)) + fill(poly(53, 8, 66, 11, 66, 128, 53, 124), "#dfecf1", "#8fa4b0") + "".join(fill(poly(53, y, 66, y + 2, 66, y + 7, 53, y + 5), t.base, t.line) for y in (38, 72, 104))
        return feet + body + boards + goods + door
    return (feet + look.part(rect(0.6, 0.6, 68.8, 131, 6)) + stroke("M1 46H69", t.line, 2.2) + stroke("M2 48H68", t.light, 1)
            + "".join(fill(rect(7, y, 4.4, h, 2), METAL, "#50565c") for y, h in ((22, 18), (54, 34))))


def stove(look: Look) -> str:  # 74 x 78
    t = look.tones
    on = look.state == "on"
    flames = "".join(fill(path(f"M{x - 10} 7Q{x - 11} 2 {x - 7} .6Q{x - 6} 4 {x - 4} 1Q{x} -1 {x} 3Q{x + 2} -.5 {x + 5} 1Q{x + 6} 4 {x + 8} .6Q{x + 12} 3 {x + 10} 7Z"), "#ff8c1a", "#d8430e")
                     + fill(path(f"M{x - 7} 7Q{x - 5} 3 {x - 3} 5Q{x} 2 {x + 2} 5Q{x + 5} 3 {x + 7} 7Z"), "#5ab4ff") for x in (20, 54)) if on else ""
    glow = "#ff9d2e" if on else "#33353b"
    return (look.plain(poly(5, 6, 69, 6, 73.4, 15, 0.6, 15), "light") + "".join(fill(oval(x, 10.5, 12, 3), "#2a2b30", "#111") for x in (20, 54)) + flames
            + look.part(rect(0.6, 15, 72.8, 62.4, 2)) + "".join(fill(oval(x, 22, 3.6), "#3b3d43", "#16171a") + stroke(f"M{x} 22V19.2", "#e8342b" if on else "#f2f2f2", 1.4) for x in (10, 24, 50, 64))
            + fill(rect(30, 18.6, 14, 6.6, 1), "#16211b", DARK) + (fill(rect(32, 20.6, 10, 2.6), "#58f08a") if on else "")
            + fill(rect(7, 36, 60, 30, 3), glow, t.line) + (fill(oval(37, 52, 22, 10), "#ffd56b", opacity=0.8) if on else fill(poly(14, 38, 24, 38, 14, 60, 10, 60), "#ffffff", opacity=0.18))
            + stroke("M10 58H64M10 52H64", "#15161a", 0.9, 0.7) + limb("M9 31H65", METAL, "#4d5258", 2))


def lamp(look: Look) -> str:  # 36 x 62
    t = look.tones
    on = look.state == "on"
    shade = path("M9 3Q18 1 27 3L35 27Q18 32 1 27Z")
    light = (fill(path("M2 27L0 61H36L34 27Z"), "#ffe98a", opacity=0.6) + fill(path("M8 28L5 61H31L28 28Z"), "#fff6c4", opacity=0.7)) if on else ""
    return (light + fill(rect(16.4, 27, 3.2, 27), METAL if look.material == "metal" else t.dark, t.line) + look.part(path("M7 61.4Q7 52.5 18 52.5Q29 52.5 29 61.4Z"))
            + (fill(oval(18, 30, 6.5, 5), "#fffbe0", "#f2b822") if on else fill(oval(18, 29.5, 4.6, 3.6), "#9b9da1", "#55575c"))
            + look.part(shade) + (fill(path("M5.5 16Q18 13 30.5 16L33 25.5Q18 29.5 3 25.5Z"), "#fff3a0", opacity=0.42) if on else "") + stroke("M3 24Q18 28.5 33 24", t.line, 1))


def television(look: Look) -> str:  # 92 x 62
    picture = (fill(rect(5, 5, 82, 44, 1), "#4fb3e8") + fill(path("M5 40Q20 26 36 36Q56 22 87 36V49H5Z"), "#4caf50") + fill(oval(70, 15, 6), "#ffe14d") + fill(path("M5 46Q40 36 87 46V49H5Z"), "#2f8d3a")
               + fill(rect(12, 10, 22, 4, 2), "#ffffff") + fill(rect(17, 8, 11, 4, 2), "#ffffff") + fill(oval(84, 51.6, 1.1), "#43ff6a")) if look.state == "on" else (
        fill(rect(5, 5, 82, 44, 1), "#191b20") + fill(poly(12, 5, 30, 5, 14, 49, 5, 49, 5, 24), "#ffffff", opacity=0.13) + fill(poly(36, 5, 42, 5, 26, 49, 20, 49), "#ffffff", opacity=0.13))
    return (look.plain(poly(40, 53, 52, 53, 54, 59, 38, 59), "dark") + look.plain(rect(26, 58, 40, 3.6, 1.6), "dark") + look.plain(rect(0.6, 0.6, 90.8, 53, 3))
            + fill(rect(4, 4, 84, 46, 1), look.tones.line) + picture)


def laptop(look: Look) -> str:
    t = look.tones
    if look.state == "closed":  # 56 x 22
        return (fill(rect(13, 0.6, 30, 3, 1), DARK, t.line) + look.part(path("M10 2H46Q48 2 49 4L55 14Q55.4 15.5 54 15.5H2Q.6 15.5 1 14L7 4Q8 2 10 2Z"))
                + fill(oval(28, 8.4, 4.2, 2.6), t.light, t.line) + look.plain(rect(0.6, 15, 54.8, 2.6, 1), "light")
                + fill(rect(0.6, 17.6, 54.8, 3.8, 1.4), t.dark, t.line) + fill(rect(24, 17, 8, 2, 0.8), t.line)
                + fill(rect(5, 18.8, 5, 1.4), DARK) + fill(oval(48, 19.5, 0.9), "#57e07c"))
    return (look.plain(rect(7, 0.6, 42, 26, 2)) + fill(rect(9.4, 3, 37.2, 21), "#bfe3f7", t.line) + fill(rect(9.8, 3.4, 36.4, 4), "#5c86c4") + "".join(fill(rect(13, y, w, 1.8), "#6f8fae") for y, w in ((10, 22), (13.5, 28), (17, 18), (20.5, 25)))
            + look.part(poly(7, 26, 49, 26, 55.4, 34, 0.6, 34), "light") + fill(poly(10, 27.4, 46, 27.4, 48.6, 31, 7.4, 31), DARK) + fill(poly(23, 31.8, 33, 31.8, 34, 33.6, 22, 33.6), t.dark) + look.plain(rect(0.6, 34, 54.8, 3.4, 1.4)))


def clock(look: Look) -> str:  # 40 x 40
    ticks = "M20 6.5V9.5M20 30.5V33.5M6.5 20H9.5M30.5 20H33.5M13.2 8.3L14.2 10M26.8 8.3L25.8 10M8.3 13.2L10 14.2M31.7 13.2L30 14.2M8.3 26.8L10 25.8M31.7 26.8L30 25.8M13.2 31.7L14.2 30M26.8 31.7L25.8 30"
    return (look.part(oval(20, 20, 19.4)) + fill(oval(20, 20, 14.8), "#fdfcf6", look.tones.line) + stroke(ticks, DARK, 1.3)
            + stroke("M20 20V10.5", DARK, 1.6) + stroke("M20 20L26.5 23.5", DARK, 2) + fill(oval(20, 20, 1.6), "#c8202a"))


def telephone(look: Look) -> str:  # 40 x 30
    t = look.tones
    return (look.part(path("M9 11H31L38.5 26Q39 29.4 36 29.4H4Q1 29.4 1.5 26Z")) + fill(oval(20, 20, 7.6, 6.6), "#f5f3ea", t.line)
            + "".join(fill(oval(20 + 4.6 * dx, 20 + 4 * dy, 1.1), t.line) for dx, dy in ((0, -1), (.87, -.5), (.87, .5), (0, 1), (-.87, .5), (-.87, -.5))) + fill(oval(20, 20, 1.8, 1.6), t.base, t.line)
            + look.plain(path("M1 10Q-.5 1 8 .8H32Q40.5 1 39 10Q38.5 12 35 11.5L30 11Q29 7.5 27 7H13Q11 7.5 10 11L5 11.5Q1.5 12 1 10Z"))
            + stroke("M6 3.2Q8 2.5 12 2.6H28", t.light, 1.4))

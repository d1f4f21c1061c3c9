"""People in neutral underclothes: shirts, jeans and hats are things of their own, drawn over them.

Everything is placed by fractions of the frame, so that a person's parts are where world.ANCHORS says.
"""

from __future__ import annotations

from pipeline.sample_world.things.ink import LINE, Look, fill, limb, mix, oval, path, poly, rect, stroke

SKINS = ("#f6cfae", "#eab98f", "#c98d5f", "#9a6540", "#734a2d")
HAIRS = ("#3b2a20", "#6b4426", "#2a2321", "#a86e32", "#8a3f1d")
UNDERSHIRT, SHORTS = "#d3d6da", "#4a4f5a"


class Figure:
    """A person's frame: converts fractions of it to pixels, and holds the colours of skin and hair."""

    def __init__(self, look: Look, child: bool, female: bool) -> None:
        self.w, self.h = look.frame
        self.sitting, self.old, self.young = look.pose == "sitting", look.age == "old", look.age == "young"
        self.child, self.female = child, female
        self.skin = SKINS[look.variety % len(SKINS)]
        self.hair = "#e4e5e8" if self.old else HAIRS[look.variety // len(SKINS)]
        self.skin_line, self.hair_line = mix(self.skin, "#000000", 0.45), mix(self.hair, "#000000", 0.45)
        top, height = 0.03, 0.26 if self.sitting else 0.20
        grown = 1.16 if child else 1.0
        self.head_x, self.head_rx = 0.5 * self.w, (0.205 if not child else 0.25) * self.w
        self.head_ry = height * self.h / 2 * grown
        self.head_y = top * self.h + self.head_ry
        self.body = 0.29 if self.sitting else 0.23
        self.hips = 0.66 if self.sitting else 0.56

    def x(self, fraction: float) -> float:
        return round(fraction * self.w, 2)

    def y(self, fraction: float) -> float:
        return round(fraction * self.h, 2)

    def at(self, dx: float, dy: float) -> tuple[float, float]:
        """A point of the head: (-1, -1) is its upper left corner, (0, 0) its middle."""
        return round(self.head_x + dx * self.head_rx, 2), round(self.head_y + dy * self.head_ry, 2)

    def head_path(self, d: str) -> str:
        """Path data in the head's coordinates (-1 to 1), numbers separated by spaces."""
        words, result, axis = d.split(), [], 0
        for word in words:
            if word.isalpha():
                result.append(word)
                axis = 0
            else:
                value = float(word)
                result.append(str(self.at(value, 0)[0] if axis % 2 == 0 else self.at(0, value)[1]))
                axis += 1
        return " ".join(result)


def man(look: Look) -> str:
    return _person(look, child=False, female=False)


def woman(look: Look) -> str:
    return _person(look, child=False, female=True)


def boy(look: Look) -> str:
    return _person(look, child=True, female=False)


def girl(look: Look) -> str:
    return _person(look, child=True, female=True)


def _person(look: Look, child: bool, female: bool) -> str:
    f = Figure(look, child, female)
    return _hair_behind(f) + _legs(f) + _arms_and_body(f) + _head(f) + _hair(f) + _face(f)


def _legs(f: Figure) -> str:
    shoe = "#8d3b4a" if f.female else "#3c3f47"
    if f.sitting:
        shins = "".join(fill(rect(f.x(x), f.y(0.76), f.x(0.22), f.y(0.19), 2), f.skin, f.skin_line) for x in (0.15, 0.63))
        feet = "".join(fill(path(f"M{f.x(a)} {f.y(1) - 0.6}V{f.y(0.965)}Q{f.x((a + b) / 2)} {f.y(0.915)} {f.x(b)} {f.y(0.965)}V{f.y(1) - 0.6}Z"),
                            shoe, "#1d1d22") for a, b in ((0.11, 0.41), (0.59, 0.89)))
        knees = "".join(fill(oval(f.x(x), f.y(0.765), f.x(0.15), f.y(0.065)), f.skin, f.skin_line) for x in (0.26, 0.74))
        cover = path(f"M{f.x(.2)} {f.y(.64)}H{f.x(.8)}L{f.x(.9)} {f.y(.74)}H{f.x(.1)}Z") if f.female else path(
            f"M{f.x(.2)} {f.y(.64)}H{f.x(.8)}Q{f.x(.9)} {f.y(.66)} {f.x(.9)} {f.y(.74)}H{f.x(.58)}L{f.x(.5)} {f.y(.71)}L{f.x(.42)} {f.y(.74)}H{f.x(.1)}Q{f.x(.1)} {f.y(.66)} {f.x(.2)} {f.y(.64)}Z")
        return shins + feet + knees + fill(cover, SHORTS, "#24262c")
    legs = "".join(fill(rect(f.x(x), f.y(0.56), f.x(0.19), f.y(0.39), 2), f.skin, f.skin_line) for x in (0.265, 0.545))
    feet = "".join(fill(path(f"M{f.x(a)} {f.y(1) - 0.6}V{f.y(0.965)}Q{f.x((a + b) / 2)} {f.y(0.925)} {f.x(b)} {f.y(0.965)}V{f.y(1) - 0.6}Z"),
                        shoe, "#1d1d22") for a, b in ((0.20, 0.47), (0.53, 0.80)))
    if f.female:
        cover = fill(poly(f.x(0.30), f.y(0.55), f.x(0.70), f.y(0.55), f.x(0.775), f.y(0.72), f.x(0.225), f.y(0.72)), SHORTS, "#24262c")
    else:
        cover = fill(path(f"M{f.x(.26)} {f.y(.55)}H{f.x(.74)}V{f.y(.70)}H{f.x(.525)}L{f.x(.51)} {f.y(.62)}H{f.x(.49)}L{f.x(.475)} {f.y(.70)}H{f.x(.26)}Z"),
                     SHORTS, "#24262c")
    return legs + feet + cover


def _arms_and_body(f: Figure) -> str:
    b, width = f.body, f.x(0.115)
    bottom = f.y(f.hips + (0.01 if f.sitting else 0.02))
    wrist = f.y(0.615 if f.sitting else 0.55)
    arms = "".join(limb(f"M{f.x(s)} {f.y(b + .07)}Q{f.x(e)} {f.y(b + .18)} {f.x(h)} {wrist}", f.skin, f.skin_line, width)
                   + fill(oval(f.x(h), wrist + 1, f.x(0.07)), f.skin, f.skin_line)
                   for s, e, h in ((0.25, 0.10, 0.075), (0.75, 0.90, 0.925)))
    trunk = fill(path(f"M{f.x(.36)} {f.y(b + .005)}L{f.x(.24)} {f.y(b + .035)}L{f.x(.20)} {f.y(b + .12)}L{f.x(.29)} {f.y(b + .13)}L{f.x(.30)} {bottom}"
                      f"H{f.x(.70)}L{f.x(.71)} {f.y(b + .13)}L{f.x(.80)} {f.y(b + .12)}L{f.x(.76)} {f.y(b + .035)}L{f.x(.64)} {f.y(b + .005)}"
                      f"Q{f.x(.5)} {f.y(b + .10)} {f.x(.36)} {f.y(b + .005)}Z"), UNDERSHIRT, "#8f949b")
    neck = fill(rect(f.x(0.40), f.y(b - 0.05), f.x(0.20), f.y(0.12), 3), f.skin, f.skin_line)
    return arms + neck + trunk


def _head(f: Figure) -> str:
    ears = "".join(fill(oval(*f.at(dx, 0.12), 0.16 * f.head_rx, 0.2 * f.head_ry), f.skin, f.skin_line) for dx in (-1, 1))
    return ("" if f.female else ears) + fill(oval(*f.at(0, 0), f.head_rx, f.head_ry), f.skin, f.skin_line)


def _hair_behind(f: Figure) -> str:
    if not f.female:
        return ""
    if f.child:  # pigtails
        tails = "".join(fill(path(f.head_path(f"M {s * .8} -.55 Q {s * 1.9} -1 {s * 1.85} .1 Q {s * 1.95} .8 {s * 1.4} 1.1 Q {s * 1.45} .2 {s * .8} -.1 Z")),
                             f.hair, f.hair_line) for s in (-1, 1))
        return tails
    if f.old:
        return fill(oval(*f.at(0, -1), 0.5 * f.head_rx, 0.28 * f.head_ry), f.hair, f.hair_line)
    return fill(path(f.head_path("M -1 -.5 Q -1.25 .8 -1.7 1.75 Q -1 2.1 -.3 1.9 H .3 Q 1 2.1 1.7 1.75 Q 1.25 .8 1 -.5 Z".replace("H .3", "L .3 1.9"))),
                f.hair, f.hair_line)


def _hair(f: Figure) -> str:
    if f.female and f.child:
        ribbons = "".join(fill(oval(*f.at(dx, -0.38), 0.26 * f.head_rx), "#e2557f", "#8c2748") for dx in (-1.02, 1.02))
        return fill(path(f.head_path("M -1.03 .1 Q -1.1 -1.1 0 -1.12 Q 1.1 -1.1 1.03 .1 Q .8 -.35 .55 -.45 Q 0 -.3 -.55 -.45 Q -.8 -.35 -1.03 .1 Z")),
                    f.hair, f.hair_line) + ribbons
    if f.female and f.old:
        curls = "".join(fill(oval(*f.at(dx, dy), 0.34 * f.head_rx, 0.26 * f.head_ry), f.hair, f.hair_line)
                        for dx, dy in ((-.95, .1), (.95, .1), (-.9, -.35), (.9, -.35), (-.55, -.75), (.55, -.75), (0, -.85)))
        return curls
    if f.female:
        return fill(path(f.head_path("M -1.08 .55 Q -1.25 -1.1 0 -1.12 Q 1.25 -1.1 1.08 .55 Q .95 -.2 .35 -.62 Q -.3 -.2 -.8 -.15 Q -1 .1 -1.08 .55 Z")),
                    f.hair, f.hair_line)
    if f.child:  # a tuft
        return fill(path(f.head_path("M -1.05 -.1 Q -1.15 -1 -.35 -1.1 L -.1 -1.25 L .1 -1.08 L .45 -1.2 L .55 -1 Q 1.15 -.85 1.05 -.1 "
                                     "L .85 -.4 L .6 -.3 L .35 -.5 L 0 -.32 L -.3 -.5 L -.6 -.3 L -.85 -.4 Z")), f.hair, f.hair_line)
    if f.old:
        return "".join(fill(path(f.head_path(f"M {s * 1.12} .3 Q {s * 1.3} -.35 {s * .85} -.6 Q {s * .95} -.2 {s * .88} .25 Z")), f.hair, f.hair_line) for s in (-1, 1))
    top = -1.22 if f.young else -1.1
    return fill(path(f.head_path(f"M -1.05 .05 Q -1.2 -.9 -.5 -1 Q 0 {top} .6 {top + .05} Q 1.2 -.8 1.05 .05 L .92 -.3 Q .3 -.35 -.3 -.62 Q -.6 -.4 -.92 -.3 Z")),
                f.hair, f.hair_line)


def _face(f: Figure) -> str:
    eye = 0.13 * f.head_rx + 0.25 * f.child
    r, dark = f.head_rx, "#2a2220"
    eyes = "".join(fill(oval(*f.at(dx, 0.05), eye, eye * 1.25), dark) for dx in (-.4, .4))
    nose = stroke(f.head_path("M 0 .12 L .1 .34 L -.06 .36"), f.skin_line, 0.8)
    cheeks = "".join(fill(oval(*f.at(dx, 0.4), 0.17 * r), "#e8736b", opacity=0.45) for dx in (-.62, .62)) if f.female or f.child else ""
    brows = "" if f.child else stroke(f.head_path("M -.6 -.17 L -.24 -.2 M .24 -.2 L .6 -.17"), f.hair_line, 1.1)
    if f.female and not f.child:
        lashes = stroke(f.head_path("M -.42 -.02 L -.68 -.1 M .42 -.02 L .68 -.1"), dark, 1.1)
        mouth = fill(path(f.head_path("M -.32 .55 Q 0 .48 .32 .55 Q 0 .85 -.32 .55 Z")), "#c8324a")
        jewels = "".join(fill(oval(*f.at(dx, 0.5), 1.3), "#f0c33c", "#a67a14") for dx in (-.98, .98))
    elif f.child:
        lashes, jewels = "", ""
        mouth = fill(path(f.head_path("M -.3 .5 Q 0 .6 .3 .5 Q 0 .95 -.3 .5 Z")), "#9c3434")
        if not f.female:
            jewels = "".join(fill(oval(*f.at(dx, dy), 0.5), f.skin_line) for dx, dy in ((-.65, .35), (-.5, .45), (.65, .35), (.5, .45)))
    else:
        beard = path(f.head_path("M -1.02 .1 Q -.95 1.2 0 1.22 Q .95 1.2 1.02 .1 Q .85 .45 .5 .38 Q 0 .3 -.5 .38 Q -.85 .45 -1.02 .1 Z"))
        short = path(f.head_path("M -.95 .35 Q -.8 1.12 0 1.12 Q .8 1.12 .95 .35 Q .7 .75 .4 .45 Q 0 .38 -.4 .45 Q -.7 .75 -.95 .35 Z"))
        lashes = fill(short if f.young else beard, f.hair, f.hair_line)
        mouth = fill(path(f.head_path("M -.28 .62 Q 0 .56 .28 .62 Q 0 .84 -.28 .62 Z")), "#b9504b" if not f.young else "#a8443f")
        jewels = ""
    glasses = ""
    if f.old:
        rim = "".join(fill(oval(*f.at(dx, 0.05), 0.3 * r), "#ffffff", "#33343a", 0.35) for dx in (-.42, .42))
        glasses = rim + stroke(f.head_path("M -.12 .05 L .12 .05 M -.72 .02 L -1 -.05 M .72 .02 L 1 -.05"), "#33343a", LINE)
        glasses += stroke(f.head_path("M -.45 -.48 Q 0 -.58 .45 -.48 M -.35 -.64 Q 0 -.72 .35 -.64"), f.skin_line, 0.8)
    return cheeks + lashes + mouth + nose + eyes + (glasses or brows) + jewels

"""Describe the appearance of an object, and draw its parts in that color and surface."""

from __future__ import annotations

from dataclasses import dataclass

from research.synthetic_world.drawings.svg_shapes import Shape, Tones, fill
from research.synthetic_world.drawings.textures import GRAINS, PATTERN_COLOR_OF


@dataclass(frozen=True, slots=True)
class Appearance:
    """The appearance of an object.

    Attributes:
        name, tones: Name and tones of the color; "" and gray tones for kinds without a color.
        material, pattern, state, pose, age: As in scene_types.PlacedObject.
        variety: Number that determines properties that are not attributes (hair and skin of people).
        has_fine_detail: Narrow patterns and grain, for small objects.
        seated: Jeans of a person who sits.
        flying: Nothing is under it.
    """

    name: str
    tones: Tones
    material: str | None = None
    pattern: str | None = None
    state: str | None = None
    pose: str | None = None
    age: str | None = None
    variety: int = 0
    has_fine_detail: bool = False
    is_seated: bool = False
    is_flying: bool = False

    def draw_part(self, shape: Shape, tone: str = "base") -> str:
        """Draw a part in a tone of the object's color, with its pattern and material."""
        color, line = getattr(self.tones, tone), self.tones.line
        grain = "fine" if self.has_fine_detail else "wide"
        grained = self.material in GRAINS
        if not (self.pattern or grained or self.material == "glass"):
            return fill(shape, f"url(#{self._light}.{color[1:]})", line)
        drawn = fill(shape, color, line, self._opacity)
        if self.pattern:
            drawn += f'<{shape.inner} fill="url(#{self.pattern}-{grain}-{PATTERN_COLOR_OF.get(self.name, "pale")})"/>'
        standing = "-up" if self.material == "wood" and shape.tall else ""
        overlay = f"{self.material}-{grain}{standing}" if grained else self._light
        return drawn + f'<{shape.inner} fill="url(#{overlay})"/>'

    def draw_plain_part(self, shape: Shape, tone: str = "base") -> str:
        """Draw a part in a tone of the object's color, without pattern and material."""
        return fill(shape, getattr(self.tones, tone), self.tones.line, self._opacity)

    @property
    def _opacity(self) -> float:
        """Return the opacity. Glass is transparent, but still shows its own color."""
        return 1 if self.material != "glass" else 0.9 if self.name == "black" else 0.76

    @property
    def _light(self) -> str:
        light = self.material or "soft"
        return f"{light}-white" if self.name == "white" else light

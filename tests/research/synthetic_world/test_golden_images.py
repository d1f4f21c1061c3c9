"""Drawings look as on the contact sheets in golden/, which somebody has looked at."""

from __future__ import annotations

import numpy as np
import pytest

from research.synthetic_world.drawings import DRAWINGS
from tests.research.synthetic_world import golden_images
from tests.research.synthetic_world.golden_images import COMMAND, FAMILIES, GOLDEN

# Largest mean difference of an object's red, green and blue, of 255, where another resvg or another processor drew the sheet.
# Otherwise pixels must be equal.
MAX_MEAN_DIFFERENCE = 1.0


@pytest.mark.parametrize("family", FAMILIES)
def test_drawings_look_as_on_the_golden_sheet(family):
    sheet = golden_images.make_sheet(family)
    golden, renderer = golden_images.read_golden(family)
    hint = f"If this is meant, run `{COMMAND}` and look at golden/{family}.png before you commit it"
    assert golden.shape == sheet.pixels.shape, f"the sheet {family} has another size. {hint}"
    allowed = 0.0 if renderer == golden_images.describe_renderer() else MAX_MEAN_DIFFERENCE
    differences = np.abs(golden - sheet.pixels)
    means = {
        label: differences[top:bottom, left:right].mean()
        for label, (top, bottom, left, right) in sheet.places.items()
    }
    changed = [f"{label} by {mean:.2f} of 255" for label, mean in means.items() if mean > allowed]
    assert not changed, f"drawn differently than by {renderer}: {', '.join(changed)}. {hint}"


def test_every_drawing_is_of_one_family():
    modules = sorted(module for modules in golden_images.MODULES.values() for module in modules)
    assert modules == sorted({draw.__module__.rsplit(".", 1)[1] for draw in DRAWINGS.values()})


def test_every_sheet_is_of_a_family():
    assert {path.stem for path in GOLDEN.glob("*.png")} == set(FAMILIES)

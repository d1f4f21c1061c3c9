import io

from PIL import Image

from pipeline.benchmark.release.card_image import GAP, PANEL_HEIGHT, PANEL_WIDTH, draw_card_image


def opened(data: bytes) -> Image.Image:
    return Image.open(io.BytesIO(data))


def test_the_first_uq_of_each_subset_is_shown_on_its_image(items, tmp_path):
    for name, colour in (("a", "red"), ("b", "blue")):
        Image.new("RGB", (40, 30), colour).save(tmp_path / f"{name}.png")
    images = {name: tmp_path / f"{name}.png" for name in "ab"}
    data = draw_card_image(items, images)
    assert data == draw_card_image(items, images)
    first = next(item for item in items if item.unanswerable)
    expected = {"a": (255, 0, 0), "b": (0, 0, 255)}[first.image_id]
    assert opened(data).getpixel((GAP + PANEL_WIDTH // 2, GAP + PANEL_HEIGHT // 2)) == expected
    assert opened(data).width == PANEL_WIDTH + 2 * GAP  # one subset, one panel


def test_missing_images_are_replaced_by_empty_panels(items):
    shown = opened(draw_card_image(items, {}))
    frame = shown.crop((GAP, GAP + 30, GAP + PANEL_WIDTH, GAP + PANEL_HEIGHT))
    assert {colour for _, colour in frame.getcolors(1 << 16)} >= {(238, 241, 244)}
    assert frame.getpixel((PANEL_WIDTH // 2, 5)) == (238, 241, 244)

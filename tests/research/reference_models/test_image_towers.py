"""Image towers: a CLIP's, and one of its own."""

import numpy as np
import pytest
import torch

from pipeline.candidates.encoders import clip
from pipeline.core.paths import DatasetFolders
from research.reference_models.image_towers import ClipTower, ResidualTower
from research.reference_models.region_head import load_images

IMAGES = sorted(DatasetFolders("sample").source.glob("images/*.jpg"))[:2]
SIZE = (192, 256)


@pytest.fixture(scope="module")
def of_clip():
    return ClipTower(DatasetFolders("sample").clip)


def test_embeddings_of_the_clip_tower_are_those_of_the_encoder(of_clip):
    """So its pixels are prepared alike."""
    encoder = clip.Encoder(f"local-dir:{DatasetFolders('sample').clip}", device="cpu")
    vectors = of_clip.embed_images(load_images(IMAGES, SIZE))
    np.testing.assert_allclose(vectors, encoder.stack_batches(encoder.encode_images(IMAGES, 2), 2), atol=2e-3)


def test_maps_of_the_clip_tower_lead_to_its_embeddings(of_clip):
    pixels = load_images(IMAGES, SIZE)
    maps = of_clip.compute_maps(pixels)
    assert maps.shape == (2, 56 * 4 + 152 + 368, 12, 16)  # 8 pixels a cell, four to one of 16; 16; 32
    with torch.inference_mode():
        trunk = of_clip._visual.trunk
        middle = trunk.s3(trunk.s2(trunk.s1(trunk.stem(of_clip.normalize(pixels)))))
    torch.testing.assert_close(maps[:, 56 * 4 : 56 * 4 + 152], middle)
    assert of_clip.size == SIZE and not any(p.requires_grad for p in of_clip.parameters())


def test_cells_of_the_residual_tower_have_16_pixels():
    torch.manual_seed(0)
    tower = ResidualTower(SIZE).eval()
    pixels = np.full((1, 3, *SIZE), 128, np.uint8)
    plain = tower.compute_maps(pixels)
    assert plain.shape == (1, 128, 12, 16)
    pixels[:, :, 32:48, 64:80] = 255  # row 32 / 16, column 64 / 16: cell (2, 4)
    changed = (tower.compute_maps(pixels) - plain).abs().sum(1)[0]
    most = divmod(int(changed.argmax()), 16)
    assert abs(most[0] - 2) <= 1 and abs(most[1] - 4) <= 1
    # A cell sees 4 + 8 pixels by the first convolution, 16 by a block at 4 pixels a cell, 8 + 32 at 8, 16 + 2 * 64 at 16: 212, 106
    # to each side; the last column's middle is 248 - 80 = 168 from what changed.
    assert changed[:, 15].max() == 0


@pytest.mark.parametrize("kind", ["own", "clip"])
def test_in_float64_maps_are_the_same_but_for_rounding(kind):
    torch.manual_seed(0)
    tower = ResidualTower(SIZE).eval() if kind == "own" else ClipTower(DatasetFolders("sample").clip)
    pixels = load_images(IMAGES[:1], SIZE)
    single, double = tower.compute_maps(pixels), tower.double().compute_maps(pixels)
    assert (single.dtype, double.dtype) == (torch.float32, torch.float64)
    assert (single - double).abs().max() < 1e-3 * double.abs().max()


def test_weights_of_the_residual_tower_depend_on_the_seed():
    def weights(seed):
        torch.manual_seed(seed)
        return torch.cat([p.flatten() for p in ResidualTower(SIZE).parameters()])

    assert torch.equal(weights(1), weights(1)) and not torch.equal(weights(1), weights(2))

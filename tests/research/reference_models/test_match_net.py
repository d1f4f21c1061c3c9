"""The net, its losses, and the towers that see images."""

import math

import numpy as np
import pytest
import torch

from pipeline.candidates.encoders import clip
from pipeline.core.paths import DatasetFolders
from research.reference_models.image_towers import ClipTower, ResidualTower
from research.reference_models.match_net import RELATIVE_BOX_SIZE, encode_boxes, encode_relative_boxes
from research.reference_models.net_losses import (
    box_iou,
    compute_item_losses,
    compute_pointing_loss,
    make_targets,
)
from research.reference_models.region_head import load_images
from tests.research.reference_models.toy_nets import COLORS, REGIONS, WIDTH, net, world

# The VQA model: what changes nothing, and what each part sees.


def inputs(rows=4):
    store, questions = world()
    features, boxes = map(torch.from_numpy, store.get_regions(questions.image_indices[:rows]))
    return torch.from_numpy(questions.tokens[:rows]), features, boxes


@pytest.mark.parametrize("changes", [{}, {"match": False}, {"head": "multi_branch"}])
def test_shapes_of_outputs(changes):
    output = net(**changes)(*inputs())
    assert output.logits.shape == (4, COLORS) and output.features.shape == (4, 16)
    assert output.attention.shape == (4, 3, REGIONS)
    torch.testing.assert_close(output.attention.sum(-1), torch.ones(4, 3))


def test_padding_has_no_effect():
    model = net().eval()
    tokens, features, boxes = inputs()
    longer = torch.cat([tokens, torch.zeros(4, 5, dtype=torch.long)], 1)
    longer[3] = torch.tensor([2, 3, 4, 2, 3, 4, 2])  # a long neighbour
    alone = model(tokens[:3], features[:3], boxes[:3]).logits
    torch.testing.assert_close(model(longer, features, boxes).logits[:3], alone, atol=1e-6, rtol=1e-5)


def test_the_order_of_regions_has_no_effect():
    model = net().eval()
    tokens, features, boxes = inputs()
    order = torch.tensor([2, 0, 1])
    torch.testing.assert_close(
        model(tokens, features[:, order], boxes[:, order]).logits,
        model(tokens, features, boxes).logits,
        atol=1e-5,
        rtol=1e-4,
    )


def test_boxes_belong_to_their_regions():
    model = net().eval()
    tokens, features, boxes = inputs()
    swapped = model(tokens, features, boxes[:, [2, 0, 1]]).logits
    assert not torch.allclose(swapped, model(tokens, features, boxes).logits, atol=1e-4)


def test_a_text_only_net_needs_no_regions_and_ignores_them():
    model = net(blind=True).eval()
    tokens, features, boxes = inputs()
    output = model(tokens)
    assert output.attention is None
    assert torch.equal(output.logits, model(tokens, features, boxes).logits)


def test_regions_are_normalized_by_the_moments():
    model = net().eval()
    tokens, features, boxes = inputs()
    plain = model(tokens, features, boxes).logits
    model.mean, model.spread = torch.full((WIDTH,), 5.0), torch.full((WIDTH,), 2.0)
    torch.testing.assert_close(model(tokens, 2 * features + 5, boxes).logits, plain, atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("head", ["branch", "multi_branch", "k_plus_1"])
def test_an_extra_head_gives_one_logit(head):
    output = net(head=head)(*inputs())
    assert output.logits.shape == (4, COLORS) and {k: v.shape for k, v in output.head_logits.items()} == {
        head: (4,)
    }
    assert net()(*inputs()).head_logits == {}


def test_relative_positions_of_boxes():
    seat = torch.tensor([[0.4, 0.4, 0.6, 0.6]])
    boxes = torch.tensor([[[0.1, 0.4, 0.2, 0.6], [0.4, 0.4, 0.6, 0.6], [0.4, 0.8, 0.6, 1.0]]])
    left, same, below = encode_relative_boxes(boxes, seat)[0]
    assert len(left) == RELATIVE_BOX_SIZE
    # middles: 0.15 - 0.5 = -0.35 across; then 0.9 - 0.5 = 0.4 down
    assert left[0] == pytest.approx(-0.35) and left[1] == pytest.approx(0)
    assert below[0] == pytest.approx(0) and below[1] == pytest.approx(0.4)
    # gaps: across 0.4 - 0.2 = 0.2 to the left one; down 0.8 - 0.6 = 0.2 to the one below
    assert left[8] == pytest.approx(0.2) and below[9] == pytest.approx(0.2)
    assert same[12] == pytest.approx(1) and left[12] < 0.1  # how close: exp(-8 * 0) and exp(-8 * 0.7)


def test_positions_of_boxes():
    # middle (0.25, 0.5), size (0.5, 1), edges 0, 0, 0.5, 1; each times 2, less 1
    assert encode_boxes(torch.tensor([0.0, 0.0, 0.5, 1.0])).tolist() == [-0.5, 0, 0, 1, -1, -1, 0, 1]


# Targets and losses, by hand.


def test_the_target_of_an_extra_answer_and_of_a_single_output():
    answers = np.array([2, 0])
    assert make_targets(net(), answers, 1).tolist() == [[0, 0, 1, 0], [1, 0, 0, 0], [0, 0, 0, 0]]
    assert make_targets(net(head="k_plus_1"), answers, 1).tolist() == [
        [0, 0, 1, 0, 0],
        [1, 0, 0, 0, 0],
        [0, 0, 0, 0, 1],
    ]
    assert make_targets(net(answers=1), answers, 2).tolist() == [[1], [1], [0], [0]]


def test_with_a_branch_pairs_have_no_loss_over_answers():
    model = net(head="branch")
    output = model(torch.tensor([[2, 0], [3, 0]]), torch.zeros(2, 3, 9), torch.zeros(2, 3, 4))
    output = output._replace(logits=torch.zeros(2, COLORS), head_logits={"branch": torch.tensor([0.0, 2.0])})
    losses = compute_item_losses(model, output, make_targets(model, np.array([1]), 1), 1)
    # 4 answers of log 2 and the branch's log 2; for the pair the branch alone: -log(1 - sigmoid(2)) = log(1 + e^2)
    assert losses.tolist() == pytest.approx([5 * math.log(2), math.log(1 + math.exp(2))])


def test_the_pointing_loss_is_of_attention_to_the_matching_region():
    boxes = torch.tensor([[[0.0, 0, 0.5, 0.5], [0.5, 0.5, 1, 1]]])
    attention = torch.tensor([[[0.2, 0.8], [0.9, 0.1], [0.5, 0.5]]])
    nan = [float("nan")] * 4
    seats = torch.tensor([[[0.5, 0.5, 1, 1], nan, [0.0, 0, 0.5, 0.45]]])
    assert compute_pointing_loss(attention, boxes, seats).item() == pytest.approx(
        -(math.log(0.8) + math.log(0.5)) / 2
    )
    assert compute_pointing_loss(attention, boxes, torch.tensor([[nan, nan, nan]])) == 0
    # a box that is nowhere near any region teaches nothing
    assert compute_pointing_loss(attention, boxes, torch.tensor([[[0.6, 0.1, 0.7, 0.2]] * 3])) == 0


def test_iou_of_boxes():
    first, second = torch.tensor([0.0, 0, 2, 2]), torch.tensor([1.0, 1, 3, 3])
    assert box_iou(first, second).item() == pytest.approx(1 / 7)  # 1 of 4 + 4 - 1


# Image towers: a CLIP's, and one of its own.


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

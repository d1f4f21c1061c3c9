"""The answer net: what changes nothing, and what each part sees."""

import pytest
import torch

from research.reference_models.match_net import RELATIVE_BOX_SIZE, encode_boxes, encode_relative_boxes
from tests.research.reference_models.toy_nets import COLORS, REGIONS, WIDTH, net, world


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

import numpy as np
import pytest

from pipeline.candidates.ranking import approximate_matmul
from pipeline.candidates.ranking.approximate_matmul import choose_matmul
from pipeline.candidates.ranking.topk import top_and_bottom_k
from tests.candidates.ranking.test_topk import random_world


@pytest.fixture
def processor(monkeypatch, tmp_path):
    """A function that makes the processor one with these abilities, and any number of pairs many."""

    def give(flags):
        path = tmp_path / "cpuinfo"
        path.write_text(f"processor : 0\nflags : {flags} fpu\n")
        monkeypatch.setattr(approximate_matmul, "CPU_INFO_PATH", path)
        monkeypatch.setattr(approximate_matmul, "MIN_PAIRS_FOR_TORCH", 1)

    return give


def units(kind, count, dimension=256):
    rng = np.random.default_rng(0)
    rows = {
        "normal": rng.normal(size=(count, dimension)),
        # All lie just above or below the middle of two bfloat16 numbers, 1 and 1 + 2**-7 times a power of two, and have
        # one sign: errors of rounding add up to nearly the most that is possible.
        "up": np.full((count, dimension), 1 + 2.0**-8 + 2.0**-20),
        "down": np.full((count, dimension), 1 + 2.0**-8 - 2.0**-20),
    }[kind]
    length = 16 if kind != "normal" else np.linalg.norm(rows, axis=1, keepdims=True)  # 1 within 1 %
    return (rows / length).astype(np.float32)


@pytest.mark.parametrize("flags", ["amx_bf16 amx_tile", "avx2"])
@pytest.mark.parametrize("kinds", [("normal", "normal"), ("up", "up"), ("down", "down"), ("up", "down")])
def test_a_product_is_off_by_no_more_than_it_says(processor, flags, kinds):
    processor(flags)
    one, other = (units(kind, count) for kind, count in zip(kinds, (33, 70), strict=True))
    out = np.empty((33, 70), np.float32)
    with choose_matmul(one, other) as product:
        product.multiply(one, other, out)
    error = np.abs(out - one.astype(float) @ other.astype(float).T).max()
    # 8 bits of a number are kept: 2**-8 of it is lost at most, of two numbers twice that.
    most = 256 * 2.0**-23 + (1.04 * 2.0**-7 if "amx" in flags else 0)
    assert error <= product.max_error <= most


def test_bfloat16_is_for_many_pairs_on_a_processor_that_multiplies_it(processor, monkeypatch):
    def rounded(images=1):
        with choose_matmul(units("normal", 2)[:images], units("normal", 2)) as product:
            return product.max_error > 0.001

    processor("amx_bf16 amx_tile")
    assert rounded()
    assert not rounded(images=0)
    processor("amx_tile avx512_bf16")
    assert not rounded()
    monkeypatch.setattr(approximate_matmul, "CPU_INFO_PATH", approximate_matmul.CPU_INFO_PATH.parent / "none")
    assert not rounded()


def test_torch_is_left_as_it_was(processor):
    import torch

    processor("amx_bf16")
    before = torch.get_float32_matmul_precision(), torch.get_num_threads()
    with pytest.raises(ZeroDivisionError), choose_matmul(units("normal", 2), units("normal", 2)):
        assert torch.get_float32_matmul_precision() == "medium"
        raise ZeroDivisionError
    assert (torch.get_float32_matmul_precision(), torch.get_num_threads()) == before


def test_a_mapped_file_is_multiplied_without_a_warning(processor, tmp_path, recwarn):
    processor("amx_bf16")
    texts = units("normal", 20)
    np.save(tmp_path / "texts.npy", texts)
    mapped = np.load(tmp_path / "texts.npy", mmap_mode="r")
    with choose_matmul(texts, mapped) as product:
        product.multiply(texts, mapped, np.empty((20, 20), np.float32))
    assert not recwarn.list


def test_the_ranking_is_the_same_by_either_product(processor):
    a, b, _, _, table = random_world(40, 3000, 64)
    results = []
    for flags in ("avx2", "amx_bf16"):
        processor(flags)
        found = top_and_bottom_k(a, b, table, 200, 50, block_images=7, tile_texts=100)
        results.append([array.tobytes() for end in (found.top, found.bottom) for array in end])
    assert results[0] == results[1]

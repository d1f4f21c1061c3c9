import pytest

from pipeline.inference.cost_forecast import Prices, Usage, format_duration, format_forecast


def test_a_forecast_is_proportional_to_the_usage_so_far():
    # 20 replies in 10 s, 1,000 tokens in and 5 out each; 480 left: x 24 = 240 s, 480,000 and 2,400 tokens;
    # 0.48 x 0.15 + 0.0024 x 0.60 = 0.072 + 0.00144
    text = format_forecast(Usage(20, 10.0, 20_000, 100), 480, Prices(0.15, 0.60))
    assert (
        text == "480 more to ask: about 4 min 0 s, 480 thousand tokens in, 2.4 thousand out, cost 0.07 more"
    )


@pytest.mark.parametrize(
    ("tokens_in", "tokens_out", "text"), [(0, 100, "0 tokens in, 100 out"), (100, 0, "100 tokens in, 0 out")]
)
def test_a_server_may_count_input_or_output_tokens_only(tokens_in, tokens_out, text):
    assert f"about 10 s, {text}, cost 0.00 more" in format_forecast(
        Usage(20, 10.0, tokens_in, tokens_out), 20, Prices(1.0, 1.0)
    )


def test_without_prices_no_cost_is_shown():
    assert "cost" not in format_forecast(Usage(20, 10.0, 20_000, 100), 480, Prices())


def test_a_server_that_counts_no_tokens_leaves_the_cost_unknown():
    assert format_forecast(Usage(20, 10.0, 0, 0), 20, Prices(1.0)) == (
        "20 more to ask: about 10 s, cost unknown: the server reports no token counts"
    )


def test_one_price_is_enough():
    assert (
        Prices(2.0).compute_cost(500_000, 1_000_000) == 1.0
        and Prices(None, 2.0).compute_cost(500_000, 1_000_000) == 2.0
    )


@pytest.mark.parametrize(
    ("seconds", "words"), [(0, "0 s"), (59.6, "1 min 0 s"), (3600, "1 h 0 min"), (86_400, "24 h 0 min")]
)
def test_durations_are_formatted_with_units(seconds, words):
    assert format_duration(seconds) == words

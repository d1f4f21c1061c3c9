"""Command-line options of the commands that ask a vision model (`rgqa draft`, `rgqa annotate panel`)."""

from __future__ import annotations

from typing import Annotated

from typer import Option

VisionModelOption = Annotated[
    str,
    Option(
        help="Use this vision model: its name on the server, or without --server its name in inspect_ai (openai/..., anthropic/..., "
        "hf-vlm/... for models on this machine)."
    ),
]
ServerOption = Annotated[
    str,
    Option(
        metavar="URL",
        help="Use the OpenAI-compatible server at this address. If it needs a key, put the key into the environment variable "
        "SERVER_API_KEY.",
    ),
]
MaxImageSizeOption = Annotated[
    int,
    Option(
        min=0,
        max=100_000,
        help="Shrink the images that are sent so that the longer side has at most this number of pixels. 0 keeps their size.",
    ),
]
MaxTokensOption = Annotated[
    int, Option(min=64, max=10_000_000, help="Limit each reply to this number of tokens.")
]
MaxConnectionsOption = Annotated[
    int,
    Option(
        min=0,
        max=10_000,
        help="Send at most this number of requests at the same time. 0: 10 for remote models, or as many as a model on this machine "
        "can process.",
    ),
]
InputPriceOption = Annotated[
    float | None,
    Option(min=0, max=1_000_000, help="Price of a million input tokens, for the cost forecast."),
]
OutputPriceOption = Annotated[
    float | None,
    Option(min=0, max=1_000_000, help="Price of a million output tokens, for the cost forecast."),
]

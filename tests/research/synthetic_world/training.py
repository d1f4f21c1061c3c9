"""A few steps of training on four images."""

from pathlib import Path

from pipeline.core.atomic_files import sha256_file
from research.synthetic_world import clip_trainer, clip_training_data, train_clip


def weights(folder: Path) -> str:
    return sha256_file(folder / "model/open_clip_model.safetensors")


def trained(start: Path | None = None) -> clip_trainer.ClipTrainer:
    made = clip_trainer.ClipTrainer(*clip_training_data.load_chunks(1), start=start)
    train_clip.train(made, text_steps=2, small_steps=1, image_steps=2, every=1)
    return made

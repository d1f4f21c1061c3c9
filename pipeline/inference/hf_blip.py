"""BLIP for `hf-vqa`: generate an answer, or rank a given list of answers."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
import transformers
from torch.nn import functional

from ..core.images import WHITE, load_rgb
from .hf_vqa_base import ImageQuestion, VqaModel, VqaModelSettings, VqaPrediction, read_answers_file

# Number of answers that the decoder scores at the same time.
ANSWERS_PER_BATCH = 256


class Blip(VqaModel):
    """BLIP, which generates an answer.

    If the user gives a list of answers, the model computes the probability of generating each of them, and
    returns the most likely answer (Li et al., ICML 2022, section 5.3).
    """

    def __init__(self, name: str, settings: VqaModelSettings, config: Any) -> None:
        super().__init__(name, settings, config)
        self.processor = transformers.AutoProcessor.from_pretrained(name, **self.hub_kwargs)
        self.answer_vocabulary = (
            read_answers_file(Path(settings.answers_file)) if settings.answers_file else ()
        )
        self._answer_ids = self._tokenize_answers(self.answer_vocabulary) if self.answer_vocabulary else None

    def predict(self, questions: Sequence[ImageQuestion]) -> list[VqaPrediction]:
        # The decoder also attends to padding (transformers 5.23), so all questions of a batch must have the
        # same length.
        by_length: dict[int, list[int]] = defaultdict(list)
        max_length = self.config.text_config.max_position_embeddings
        tokens = self.processor.tokenizer([one.question for one in questions]).input_ids
        for i, ids in enumerate(tokens):
            by_length[min(len(ids), max_length)].append(i)
        replies: dict[int, VqaPrediction] = {}
        for length, indices in by_length.items():
            pixels = self.processor.image_processor(
                [load_rgb(questions[i].image_bytes, background=WHITE) for i in indices], return_tensors="pt"
            )
            ids = torch.tensor(
                [(*tokens[i][: length - 1], tokens[i][-1]) for i in indices], device=self.device
            )
            with torch.inference_mode():
                predictions = self._predict_same_length(ids, pixels["pixel_values"].to(self.device))
            replies |= {
                i: prediction._replace(is_question_truncated=len(tokens[i]) > max_length)
                for i, prediction in zip(indices, predictions, strict=True)
            }
        return [replies[i] for i in range(len(questions))]

    def _predict_same_length(self, ids: torch.Tensor, pixels: torch.Tensor) -> list[VqaPrediction]:
        """Answer questions of the same length, given token ids [n, L] and images [n, 3, height, width]."""
        if self._answer_ids is not None:
            encoded = self._encode_questions(ids, pixels)
            table = [np.exp(self._answer_log_likelihoods(one[None], self._answer_ids)) for one in encoded]
            return [
                VqaPrediction(self.answer_vocabulary[row.argmax()], float(row.max()), row) for row in table
            ]
        generated = self.model.generate(
            input_ids=ids, pixel_values=pixels, do_sample=False, num_beams=1, max_new_tokens=20,
            output_logits=True, return_dict_in_generate=True,
        )  # fmt: skip
        answers = generated.sequences[:, 1:]
        log_probs = torch.stack(generated.logits, 1).double().log_softmax(-1)
        log_probs = log_probs.gather(2, answers[..., None])[..., 0]
        # The tokens after the end of an answer are padding.
        end = answers == self.config.text_config.sep_token_id
        ended = end.cumsum(1).roll(1, 1)
        ended[:, 0] = 0
        probabilities = log_probs.masked_fill(ended > 0, 0).sum(1).exp().tolist()
        texts = self.processor.tokenizer.batch_decode(answers, skip_special_tokens=True)
        rows = zip(texts, probabilities, end.any(1).tolist(), strict=True)
        return [
            VqaPrediction(text.strip(), probability, is_answer_truncated=not is_complete)
            for text, probability, is_complete in rows
        ]

    def _tokenize_answers(self, answers: Sequence[str]) -> torch.Tensor:
        """Return the decoder's token ids of the answers, [K, longest], padded with 0."""
        ids = self.processor.tokenizer(list(answers), padding=True, return_tensors="pt").input_ids
        # As in training, the start token of the decoder comes first.
        ids[:, 0] = self.config.text_config.bos_token_id
        return ids.to(self.device)

    def _encode_questions(self, ids: torch.Tensor, pixels: torch.Tensor) -> torch.Tensor:
        """Encode questions [n, L] with cross-attention to their images; return [n, L, d]."""
        image_states = self.model.vision_model(pixel_values=pixels)[0]
        return self.model.text_encoder(input_ids=ids, encoder_hidden_states=image_states)[0]

    def _answer_log_likelihoods(self, encoded: torch.Tensor, answers: torch.Tensor) -> np.ndarray:
        """Return the log-likelihood [K] of generating each answer [K, longest], given one encoded question
        [1, L, d].
        """
        sums = []
        for batch in answers.split(ANSWERS_PER_BATCH):
            logits = self.model.text_decoder(
                input_ids=batch[:, :-1],
                encoder_hidden_states=encoded.expand(len(batch), -1, -1),
                is_decoder=True,
            ).logits
            losses = functional.cross_entropy(
                logits.double().transpose(1, 2),
                batch[:, 1:],
                ignore_index=self.config.text_config.pad_token_id,
                reduction="none",
            )
            sums.append(-losses.sum(1))
        return torch.cat(sums).cpu().numpy()

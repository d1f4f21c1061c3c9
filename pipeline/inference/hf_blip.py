"""BLIP, which writes its answer, or ranks a list of answers that a user brings."""

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

ANSWERS_PER_BATCH = 256  # answers of a list that the decoder reads side by side


class Blip(VqaModel):
    """Writes its answer; with a list of answers it says how likely it is to write each of them, as in its paper (Li et al.,
    ICML 2022, section 5.3: answers are ranked)."""

    def __init__(self, name: str, settings: VqaModelSettings, config: Any) -> None:
        super().__init__(name, settings, config)
        self.processor = transformers.AutoProcessor.from_pretrained(name, **self.hub_kwargs)
        self.answer_vocabulary = (
            read_answers_file(Path(settings.answers_file)) if settings.answers_file else ()
        )
        self._answer_ids = self._tokenize_answers(self.answer_vocabulary) if self.answer_vocabulary else None

    def predict(self, questions: Sequence[ImageQuestion]) -> list[VqaPrediction]:
        # Its decoder attends to the padding of questions (Hugging Face, 5.23), so only those of one length go together.
        by_length: dict[int, list[int]] = defaultdict(list)
        most = self.config.text_config.max_position_embeddings
        tokens = self.processor.tokenizer([one.question for one in questions]).input_ids
        for place, ids in enumerate(tokens):
            by_length[min(len(ids), most)].append(place)
        replies: dict[int, VqaPrediction] = {}
        for length, places in by_length.items():
            pixels = self.processor.image_processor(
                [load_rgb(questions[p].image_bytes, background=WHITE) for p in places], return_tensors="pt"
            )
            ids = torch.tensor(
                [(*tokens[p][: length - 1], tokens[p][-1]) for p in places], device=self.device
            )
            with torch.inference_mode():
                said = self._predict_same_length(ids, pixels["pixel_values"].to(self.device))
            replies |= {
                p: one._replace(is_question_truncated=len(tokens[p]) > most)
                for p, one in zip(places, said, strict=True)
            }
        return [replies[place] for place in range(len(questions))]

    def _predict_same_length(self, ids: torch.Tensor, pixels: torch.Tensor) -> list[VqaPrediction]:
        """Replies to questions of one length, ids [n, L]."""
        if self._answer_ids is not None:
            read = self._encode_questions(ids, pixels)
            table = [np.exp(self._answer_log_likelihoods(one[None], self._answer_ids)) for one in read]
            return [
                VqaPrediction(self.answer_vocabulary[row.argmax()], float(row.max()), row) for row in table
            ]
        written = self.model.generate(
            input_ids=ids, pixel_values=pixels, do_sample=False, num_beams=1, max_new_tokens=20,
            output_logits=True, return_dict_in_generate=True,
        )  # fmt: skip
        said = written.sequences[:, 1:]
        each = torch.stack(written.logits, 1).double().log_softmax(-1).gather(2, said[..., None])[..., 0]
        # What comes after the end of an answer is padding.
        end = said == self.config.text_config.sep_token_id
        ended = end.cumsum(1).roll(1, 1)
        ended[:, 0] = 0
        sums = each.masked_fill(ended > 0, 0).sum(1).exp().tolist()
        texts = self.processor.tokenizer.batch_decode(said, skip_special_tokens=True)
        rows = zip(texts, sums, end.any(1).tolist(), strict=True)
        return [
            VqaPrediction(text.strip(), sum_, is_answer_truncated=not whole) for text, sum_, whole in rows
        ]

    def _tokenize_answers(self, answers: Sequence[str]) -> torch.Tensor:
        """Answers as the decoder reads them, [K, longest], 0 after their end."""
        found = self.processor.tokenizer(list(answers), padding=True, return_tensors="pt").input_ids
        # As in training: a mark of the decoder's own comes first.
        found[:, 0] = self.config.text_config.bos_token_id
        return found.to(self.device)

    def _encode_questions(self, ids: torch.Tensor, pixels: torch.Tensor) -> torch.Tensor:
        """Questions after a look at their images, [n, L, d]."""
        seen = self.model.vision_model(pixel_values=pixels)[0]
        return self.model.text_encoder(input_ids=ids, encoder_hidden_states=seen)[0]

    def _answer_log_likelihoods(self, encoded: torch.Tensor, answers: torch.Tensor) -> np.ndarray:
        """Of writing each answer [K, longest] to its end, after one question [1, L, d]: [K]."""
        sums = []
        for some in answers.split(ANSWERS_PER_BATCH):
            logits = self.model.text_decoder(
                input_ids=some[:, :-1],
                encoder_hidden_states=encoded.expand(len(some), -1, -1),
                is_decoder=True,
            ).logits
            losses = functional.cross_entropy(
                logits.double().transpose(1, 2),
                some[:, 1:],
                ignore_index=self.config.text_config.pad_token_id,
                reduction="none",
            )
            sums.append(-losses.sum(1))
        return torch.cat(sums).cpu().numpy()

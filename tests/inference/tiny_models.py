"""Random models of a few thousand weights, made from configurations and saved as the hub has them: nothing is fetched."""

import io

import numpy as np
import torch
import transformers
from PIL import Image
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import WhitespaceSplit

WORDS = [
    "[PAD]",
    "[UNK]",
    "[CLS]",
    "[SEP]",
    "[MASK]",
    "is",
    "the",
    "cup",
    "red",
    "blue",
    "what",
    "color",
    "?",
    "yes",
    "no",
    "on",
    "table",
    "[DEC]",
]
ANSWERS = ("yes", "no", "red", "blue", "cup")
QUESTIONS = ("is the cup red?", "what color is the cup on the table?", "is it?", "is the table blue?")


def tokenizer():
    return transformers.BertTokenizer(vocab={word: place for place, word in enumerate(WORDS)})


def tiny_vilt(folder, named=True):
    torch.manual_seed(1)
    names = {"id2label": dict(enumerate(ANSWERS)), "label2id": {name: k for k, name in enumerate(ANSWERS)}}
    config = transformers.ViltConfig(
        vocab_size=len(WORDS), hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=37,
        image_size=64, patch_size=16, max_position_embeddings=12, initializer_range=0.5,
        **(names if named else {"num_labels": len(ANSWERS)}),
    )  # fmt: skip
    images = transformers.ViltImageProcessor(size={"shortest_edge": 64}, size_divisor=16)
    return saved(
        folder, transformers.ViltForQuestionAnswering(config), transformers.ViltProcessor(images, tokenizer())
    )


def tiny_blip(folder):
    torch.manual_seed(2)
    shared = {"num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 37, "hidden_size": 32}
    marks = {"bos_token_id": WORDS.index("[DEC]"), "sep_token_id": 3, "eos_token_id": 3, "pad_token_id": 0}
    text = {
        "vocab_size": len(WORDS),
        "encoder_hidden_size": 32,
        "max_position_embeddings": 32,
        "projection_dim": 16,
    }
    config = transformers.BlipConfig(
        text_config={**shared, **text, **marks, "initializer_range": 0.4},
        vision_config={**shared, "image_size": 32, "patch_size": 8, "initializer_range": 0.4},
        projection_dim=16, image_text_hidden_size=16,
    )  # fmt: skip
    model = transformers.BlipForQuestionAnswering(config)
    # so that answers end, some at once and some later
    model.text_decoder.cls.predictions.bias.data[marks["sep_token_id"]] = 3.5
    images = transformers.BlipImageProcessor(size={"height": 32, "width": 32})
    return saved(folder, model, transformers.BlipProcessor(images, tokenizer()))


def tiny_lxmert(folder):
    torch.manual_seed(3)
    config = transformers.LxmertConfig(
        vocab_size=len(WORDS), hidden_size=32, num_attention_heads=2, intermediate_size=37, initializer_range=0.5,
        num_qa_labels=len(ANSWERS), l_layers=1, x_layers=1, r_layers=1, visual_feat_dim=8, max_position_embeddings=32,
    )  # fmt: skip
    return saved(folder, transformers.LxmertForQuestionAnswering(config), tokenizer())


CHAT = [
    "<unk>",
    "<s>",
    "</s>",
    "<pad>",
    "<image>",
    "USER",
    ":",
    "ASSISTANT",
    "is",
    "the",
    "cup",
    "red",
    "blue",
    "what",
    "?",
    "yes",
    "no",
    "can",
    "it",
    "be",
    "answered",
]
TEMPLATE = (
    "{% for m in messages %}{{ m['role'].upper() }} : {% for p in m['content'] %}{% if p['type'] == 'image' %}<image> "
    "{% else %}{{ p['text'] }} {% endif %}{% endfor %}{% endfor %}{% if add_generation_prompt %}ASSISTANT :{% endif %}"
)


def tiny_llava(folder, template=TEMPLATE):
    torch.manual_seed(4)
    core = Tokenizer(WordLevel({word: place for place, word in enumerate(CHAT)}, unk_token="<unk>"))
    core.pre_tokenizer = WhitespaceSplit()
    marks = {"bos_token": "<s>", "eos_token": "</s>", "pad_token": "<pad>", "unk_token": "<unk>"}
    words = transformers.PreTrainedTokenizerFast(
        tokenizer_object=core, extra_special_tokens={"image_token": "<image>"}, **marks
    )
    shared = {"hidden_size": 32, "intermediate_size": 37, "num_hidden_layers": 2, "num_attention_heads": 2}
    sees = {"model_type": "clip_vision_model", "image_size": 32, "patch_size": 8, "projection_dim": 16}
    says = {
        "model_type": "llama",
        "vocab_size": len(CHAT),
        "num_key_value_heads": 2,
        "initializer_range": 0.3,
    }
    ends = {"bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 3}
    config = transformers.LlavaConfig(
        vision_config={**shared, **sees}, text_config={**shared, **says, **ends},
        image_token_index=4, vision_feature_layer=-1,
    )  # fmt: skip
    images = transformers.CLIPImageProcessor(
        size={"shortest_edge": 32}, crop_size={"height": 32, "width": 32}
    )
    processor = transformers.LlavaProcessor(
        images, words, patch_size=8, vision_feature_select_strategy="default", chat_template=template,
        num_additional_image_tokens=1,
    )  # fmt: skip
    return saved(folder, transformers.LlavaForConditionalGeneration(config), processor)


def saved(folder, model, processor):
    model.save_pretrained(folder)
    processor.save_pretrained(folder)
    return folder


def image(seed, size=(96, 64)):
    file = io.BytesIO()
    pixels = np.random.default_rng(seed).integers(0, 255, (size[1], size[0], 3), np.uint8)
    Image.fromarray(pixels).save(file, "PNG")
    return file.getvalue()

"""Scores of public sets as their authors define them.

The authors' scores need more than a `SetItem` has. The readers put these fields into `SetItem.details`, under the names that the
authors use. All values are strings.

| set | `details` | meaning |
|---|---|---|
| MM-UPD | `index` | index of the row; circular versions of a row have its index plus a multiple of 1,000,000 |
| | `type` | "standard" or "upd" |
| | `upd_type` | "aad", "iasd" or "ivqd" |
| | `question_type` | "base", "option", "inst" or "original"; which of the authors' prompts is used |
| | `answer` | the column `answer`: the letter that is right, also if the question is unsolvable ("F" where no option says so) |
| | `masked_answer` | the answer that was removed from the options; "" for none |
| HallusionBench | `category` | "VD" (visual dependent) or "VS" (visual supplement) |
| | `subcategory`, `set_id`, `figure_id`, `question_id` | together they identify an item; `figure_id` is "0" for the original figure or for no figure |
| NaturalBench | `Question_Type` | "yes_no" or "multiple_choice" |
| | `combination` | "q0_i0", "q0_i1", "q1_i0" or "q1_i1": question and image; the four items of a group share `pair_id` |
| AMBER | `type` | such as "discriminative-attribute-state", from annotations.json |
| VizWiz, VQA v2 | `answer_type` | such as "yes/no"; optional |
| TDIUC | `question_type` | such as "absurd" |
| TUBench | `dataset` | "UCR", "UVQA", "UGeoQA" or "UTabMWP" |
| | `strategy` | number of the strategy by which an unanswerable question was made, "0" for none; optional |
| CP-Bench | `tag` | "cpq" (counterfactual presupposition) or "tpq" (true presupposition) |
| GQA | `structural`, `semantic`, `global` | GQA's types and global group; optional |

POPE, RePOPE, UNK-VQA and RGQA need no details. `SetItem.group` is the part that the authors score separately: "random", "popular" or
"adversarial" of POPE and RePOPE.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

# Fields of `SetItem.details` without which a set cannot be scored.
REQUIRED_DETAILS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "MM-UPD": ("index", "type", "upd_type", "question_type", "answer"),
        "HallusionBench": ("category", "subcategory", "set_id", "figure_id", "question_id"),
        "NaturalBench": ("Question_Type", "combination"),
        "AMBER": ("type",),
        "TDIUC": ("question_type",),
        "TUBench": ("dataset",),
        "CP-Bench": ("tag",),
    }
)

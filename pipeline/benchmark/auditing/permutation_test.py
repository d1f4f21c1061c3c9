"""Test whether the texts predict the labels, by a permutation test of the maximum over several attackers.

The strongest of several attackers is above chance even where nothing can be learned, and the more so the smaller the set. So the
largest of all deviations from chance is compared with what it is for permuted labels, each attacker being trained again on each
permutation (Westfall and Young, 1993: max-T; p values as by Phipson and Smyth, 2010). The attackers of the audit are too slow for
that. Those here learn in closed form, by class means of TF-IDF vectors or naive Bayes, so that all permutations are one product
of matrices.

The test is only valid if all label assignments that it compares are equally probable under the null hypothesis that texts predict
nothing. So a permutation keeps what a set may have by design. Labels are exchanged between whole clusters of the same size, and
within clusters; rows made from one source question exchange their labels among each other, or all of them with another such unit of
the same size. A cluster whose size no other one has keeps its labels but for exchanges within it, which costs power and no validity.

- Folds by text: labels may belong to a text or to an image. So the test is made twice, with text groups and with images as
  clusters, and the larger p value counts. It is valid if labels are exchangeable in at least one of the two ways.
- Folds by image: clusters are images.

An attacker that trains on labels cannot fall below 0.5 because of what a text says. It does so where similar texts have opposite
labels by design, as in sets of pairs or in balanced ones: what training rows have more of, the held-out rows have less of. A model
that sees one question at a time cannot use that. So these attackers are tested for an AUROC above chance, and the length of the
text, which is not trained, for one on either side.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array
from scipy.stats import rankdata
from sklearn.feature_extraction.text import TfidfVectorizer
from threadpoolctl import threadpool_limits

from pipeline.benchmark.auditing.attack_evaluation import Folds, compute_word_tfidf, order_by_hash
from pipeline.benchmark.auditing.text_attackers import make_first_word_features, make_word_pair_features
from pipeline.core.randomness import make_generator
from pipeline.core.records import Record
from pipeline.scoring.bootstrap import number_clusters

# The test is made on at most so many rows, whole clusters chosen by their content: sets of any size take the same time. With as
# many of either label the standard error of an AUROC is then below 0.006.
MAX_TESTED_ROWS = 10_000
PERMUTATIONS_PER_BLOCK = 64  # permutations whose attackers are trained at once: bounds memory

ScoreFunction = Callable[["FoldFeatures", np.ndarray], np.ndarray]  # labels [n, m] -> scores [n, m]


class MaxTResult(Record):
    """The permutation test of one kind of folds.

    Attributes:
        p_value: The probability of so large a maximum where texts predict nothing, in (0, 1].
        permutations: How many label assignments the observed one was compared with.
        rows: How many rows were tested; of larger sets, a part.
        attacker: The fast attacker with the largest standardized deviation from its mean over permutations.
    """

    p_value: float
    permutations: int
    rows: int
    attacker: str


class PermutationInputs(NamedTuple):
    """Rows in canonical order. `clusters`: by what labels may be exchanged, "text" and perhaps "image"; [n] each. `units`: [n],
    the source question of each row; None where it is not known."""

    texts: Sequence[str]
    clusters: dict[str, np.ndarray]
    source_units: np.ndarray | None

    def select(self, keep: np.ndarray) -> PermutationInputs:
        units = None if self.source_units is None else self.source_units[keep]
        return PermutationInputs(
            [str(self.texts[i]) for i in keep], {k: v[keep] for k, v in self.clusters.items()}, units
        )


def run_max_t_test(
    rows: PermutationInputs, folds: Folds, group_by: str, num_permutations: int
) -> MaxTResult | None:
    """Test whether any of the fast attackers predicts the labels.

    Args:
        rows: What the attackers see, and by what labels are exchanged.
        folds: Whose groups are never on both sides.
        by: What the folds keep apart, "text" or "image".
        permutations: Label assignments to compare with.

    Returns:
        The test; None if there are too few groups for the folds.
    """
    if len(keep := sample_groups(folds, MAX_TESTED_ROWS)) < len(rows.texts):
        rows, folds = (
            rows.select(keep),
            Folds(folds.labels[keep], folds.groups[keep], folds.num_folds, folds.seed),
        )
    splits = folds.split_rows()
    if not splits or len(np.unique(folds.labels)) < 2:
        return None
    panel = AttackerPanel(rows.texts, splits)

    def p_of(scheme: str) -> tuple[float, str]:
        rng = make_generator(folds.seed, "permutation test", group_by, scheme)
        labels = permute_labels(folds.labels, rows.clusters[scheme], rows.source_units, num_permutations, rng)
        return compute_p_value(panel.compute_aurocs(labels))

    with threadpool_limits(1):
        p, attacker = max(
            p_of(scheme) for scheme in rows.clusters if group_by == "text" or scheme == group_by
        )
    return MaxTResult(
        p_value=round(p, 4), permutations=num_permutations, rows=len(rows.texts), attacker=attacker
    )


def sample_groups(folds: Folds, max_rows: int) -> np.ndarray:
    """Places of the rows of as many whole groups as come to at most so many rows, chosen by their content."""
    if len(folds.labels) <= max_rows:
        return np.arange(len(folds.labels))
    names = [str(name) for name in folds.groups.tolist()]
    count, (group,) = number_clusters([names])
    sizes, chosen, total = np.bincount(group), np.zeros(count, bool), 0
    for i in order_by_hash(dict.fromkeys(names), folds.seed).tolist():
        if total + sizes[i] <= max_rows:
            chosen[i], total = True, total + sizes[i]
    return np.flatnonzero(chosen[group])


def permute_labels(
    labels: np.ndarray,
    clusters: np.ndarray,
    units: np.ndarray | None,
    num_permutations: int,
    rng: np.random.Generator,
) -> np.ndarray:
    """Sample label assignments that are as probable as the observed one if labels do not depend on texts.

    Labels of whole clusters are exchanged between clusters that have as many units of each size, then those of units of the same
    size within a cluster, then those of rows within a unit.

    Args:
        labels: [n], 0 or 1. clusters: [n]. units: [n]; of each cluster those rows that have the same. None: each row is one.

    Returns:
        [n, 1 + permutations] of int8, the observed labels first.
    """
    count = len(labels)
    cluster = np.unique(clusters, return_inverse=True)[1]
    if units is None:
        unit = np.arange(count)
    else:
        inside = np.unique(units, return_inverse=True)[1]
        unit = np.unique(cluster.astype(np.int64) * (inside.max() + 1) + inside, return_inverse=True)[1]
    size = np.bincount(unit)[unit]
    order = np.lexsort((size, cluster))
    ends = np.cumsum(np.bincount(cluster))[:-1]
    shapes: dict[bytes, int] = {}
    shape = np.array([shapes.setdefault(s.tobytes(), len(shapes)) for s in np.split(size[order], ends)])
    kind = shape[cluster]
    observed = labels[np.lexsort((np.arange(count), unit, size, cluster, kind))]
    result = np.empty((count, 1 + num_permutations), np.int8)
    result[:, 0] = labels
    for column in range(1, 1 + num_permutations):
        row, of_unit, of_cluster = rng.random(count), rng.random(unit.max() + 1), rng.random(len(shape))
        result[np.lexsort((row, of_unit[unit], size, of_cluster[cluster], kind)), column] = observed
    return result


def compute_p_value(aurocs: dict[str, np.ndarray]) -> tuple[float, str]:
    """The p value of the maximum.

    Args:
        aurocs: For each attacker [1 + permutations], the observed one first.

    Returns:
        p, and the attacker with the largest observed deviation.
    """
    names, table = list(aurocs), np.array(list(aurocs.values()))
    spread = table.std(axis=1, keepdims=True)
    # Mean and spread are those of all assignments, the observed one among them, so that it is one of equals.
    deviations = (table - table.mean(axis=1, keepdims=True)) / np.where(spread > 1e-9, spread, np.inf)
    two_sided = np.array([name == LENGTH_ATTACKER for name in names])
    deviations[two_sided] = np.abs(deviations[two_sided])
    largest = deviations.max(axis=0)
    return float(np.mean(largest >= largest[0] - 1e-9)), names[int(deviations[:, 0].argmax())]


LENGTH_ATTACKER = "length"


class AttackerPanel:
    """The fast attackers on some texts: features once, and for each label assignment a model of each fold."""

    def __init__(self, texts: Sequence[str], splits: Sequence[tuple[np.ndarray, np.ndarray]]) -> None:
        characters = TfidfVectorizer(analyzer="char_wb", ngram_range=(2, 5), sublinear_tf=True)
        self._attackers: dict[str, tuple[FoldFeatures, ScoreFunction]] = {
            name: (FoldFeatures(features, splits), learn)
            for name, features, learn in (
                ("word n-grams, class means", compute_word_tfidf(texts), score_by_class_means),
                ("character n-grams, class means", characters.fit_transform(texts), score_by_class_means),
                ("word pairs, Bayes", make_word_pair_features(tuple(texts)), score_by_naive_bayes),
                ("first three words, Bayes", make_first_word_features(texts), score_by_naive_bayes),
            )
        }
        self._length_ranks = rankdata([len(text.split()) for text in texts])

    def compute_aurocs(self, labels: np.ndarray) -> dict[str, np.ndarray]:
        """AUROC of each attacker for each column of labels [n, m]: [m] each."""
        found: dict[str, list[np.ndarray]] = {name: [] for name in self._attackers}
        for start in range(0, labels.shape[1], PERMUTATIONS_PER_BLOCK):
            block = labels[:, start : start + PERMUTATIONS_PER_BLOCK].astype(np.float64)
            for name, (features, learn) in self._attackers.items():
                ranks = rankdata(np.round(learn(features, block), 9), axis=0)
                found[name].append(_auroc_from_ranks(ranks, block))
        return {name: np.concatenate(parts) for name, parts in found.items()} | {
            LENGTH_ATTACKER: _auroc_from_ranks(self._length_ranks[:, None], labels)
        }


class ClassSums(NamedTuple):
    """Training rows of one fold, for m label assignments: sums of the features of either class, [features, m], and their numbers of
    rows, [m]; the rows to predict and their features."""

    positive_sums: np.ndarray
    negative_sums: np.ndarray
    num_positives: np.ndarray
    num_negatives: np.ndarray
    test_rows: np.ndarray
    test_features: csr_array


class FoldFeatures:
    """Sparse features [n, d] and the parts of each fold. Features that a single row has are left out, as no model can learn them
    from other rows."""

    def __init__(self, features: Any, splits: Sequence[tuple[np.ndarray, np.ndarray]]) -> None:
        features = csr_array(features, dtype=np.float64)
        features = features[:, np.bincount(features.indices, minlength=features.shape[1]) > 1]
        self._total = np.asarray(features.sum(axis=0))[:, None]
        self._folds = [(test, features[test], features[test].T.tocsr()) for _, test in splits]

    def class_sums(self, labels: np.ndarray) -> Iterator[ClassSums]:
        """Sums over the training rows of each fold.

        Args:
            labels: [n, m] floats, 0 or 1.
        """
        of_folds = [turned @ labels[test] for test, _, turned in self._folds]
        total, rows, ones = np.sum(of_folds, axis=0), len(labels), labels.sum(axis=0)
        for (test, held, turned), of_fold in zip(self._folds, of_folds, strict=True):
            of_one = total - of_fold
            of_zero = self._total - np.asarray(turned.sum(axis=1))[:, None] - of_one
            trained = ones - labels[test].sum(axis=0)
            # Differences of sums leave rounding errors where there is nothing.
            np.maximum(of_one, 0, out=of_one)
            np.maximum(of_zero, 0, out=of_zero)
            yield ClassSums(of_one, of_zero, trained, rows - len(test) - trained, test, held)


def score_by_class_means(features: FoldFeatures, labels: np.ndarray) -> np.ndarray:
    """Scores [n, m] of rows that a model has not seen: their product with the difference of the classes' mean vectors."""
    scores = np.empty(labels.shape)
    for fold in features.class_sums(labels):
        weights = fold.positive_sums / np.maximum(fold.num_positives, 1) - fold.negative_sums / np.maximum(
            fold.num_negatives, 1
        )
        scores[fold.test_rows] = fold.test_features @ weights
    return scores


def score_by_naive_bayes(features: FoldFeatures, labels: np.ndarray, alpha: float = 0.3) -> np.ndarray:
    """Scores [n, m] of rows that a model has not seen: the log ratio of likelihoods by multinomial naive Bayes."""
    scores = np.empty(labels.shape)
    for fold in features.class_sums(labels):
        if not len(fold.positive_sums):  # no feature that two rows share
            scores[fold.test_rows] = 0
            continue
        smoothing = alpha * len(fold.positive_sums)
        weights = np.log((fold.positive_sums + alpha) / (fold.negative_sums + alpha))
        weights += np.log(
            (fold.negative_sums.sum(axis=0) + smoothing) / (fold.positive_sums.sum(axis=0) + smoothing)
        )
        scores[fold.test_rows] = fold.test_features @ weights
    return scores


def _auroc_from_ranks(ranks: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """AUROC [m] by the sum of ranks (Mann and Whitney)."""
    ones = labels.sum(axis=0, dtype=np.float64)
    pairs = ones * (len(labels) - ones)
    return ((ranks * labels).sum(axis=0) - ones * (ones + 1) / 2) / pairs

"""Test whether the texts predict the labels, by a permutation test of the maximum over several attackers.

The strongest of several attackers exceeds chance even if nothing can be learned, especially in small sets. So
the largest deviation from chance is compared with its distribution under permuted labels, where each attacker
is trained again on each permutation (max-T test: Westfall and Young, 1993; p values: Phipson and Smyth,
2010). The attackers of the audit are too slow for this test. The attackers in this module are fitted in
closed form, by class means of TF-IDF vectors or by naive Bayes, so that all permutations are one matrix
product.

The test is only valid if all label assignments that it compares are equally probable under the null
hypothesis that texts do not predict labels. A permutation therefore preserves the structure that a set may
have by design. It exchanges the labels of whole clusters of the same size, and labels within a cluster. Rows
made from one source question form a unit: they exchange labels with each other, or all together with another
unit of the same size. A cluster with a unique size only exchanges labels within itself, which reduces power
but not validity.

- Folds by text: labels may depend on the text or on the image. The test is run twice, with text groups and
  with images as clusters, and the larger p value counts. It is valid if labels are exchangeable in at least
  one of the two ways.
- Folds by image: images are the clusters.

A trained attacker has an AUROC below 0.5 only if similar texts have opposite labels by design, as in paired
or balanced sets. There, a text that is over-represented under one label in training is under-represented in
the held-out fold. A model that sees one question at a time cannot use this. So trained attackers are tested
only for an AUROC above chance. The attacker "length" is not trained, and it is tested in both directions.
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

# Maximum number of rows. Larger sets are tested on a sample of whole groups, so that the time is bounded.
# With equally many rows of both labels, the standard error of an AUROC is then below 0.006.
MAX_TESTED_ROWS = 10_000
# Number of permutations for which attackers are trained at once. It bounds the memory.
PERMUTATIONS_PER_BLOCK = 64
LENGTH_ATTACKER = "length"

# A function of features and labels [n, m] that returns scores [n, m].
ScoreFunction = Callable[["FoldFeatures", np.ndarray], np.ndarray]


class MaxTResult(Record):
    """The permutation test in one kind of folds.

    Attributes:
        p_value: Probability (0 to 1) of a maximum that is at least as large as observed, if texts do not
            predict labels.
        permutations: Number of permuted label assignments.
        rows: Number of rows that were tested. Sets with more than `MAX_TESTED_ROWS` rows are sampled.
        attacker: The fast attacker with the largest standardized deviation from its mean over permutations.
    """

    p_value: float
    permutations: int
    rows: int
    attacker: str


class PermutationInputs(NamedTuple):
    """Rows in canonical order.

    Attributes:
        texts: [n] questions.
        clusters: Scheme -> [n] cluster of each row. The schemes are "text" and, if images are known, "image".
        source_units: [n] source question of each row, or None if it is not known.
    """

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
        rows: The texts, and the clusters between which labels are exchanged.
        folds: Labels and folds.
        group_by: What the folds are grouped by, "text" or "image".
        num_permutations: Number of permuted label assignments.

    Returns:
        The result, or None if there are fewer groups than folds, or if there is only one label.
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

    def test_scheme(scheme: str) -> tuple[float, str]:
        rng = make_generator(folds.seed, "permutation test", group_by, scheme)
        labels = permute_labels(folds.labels, rows.clusters[scheme], rows.source_units, num_permutations, rng)
        return compute_p_value(panel.compute_aurocs(labels))

    with threadpool_limits(1):
        p, attacker = max(
            test_scheme(scheme) for scheme in rows.clusters if group_by == "text" or scheme == group_by
        )
    return MaxTResult(
        p_value=round(p, 4), permutations=num_permutations, rows=len(rows.texts), attacker=attacker
    )


def sample_groups(folds: Folds, max_rows: int) -> np.ndarray:
    """Return the indices of a random sample of whole groups with at most `max_rows` rows.

    The sample depends only on the content of the rows and on the seed.
    """
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
    """Sample label assignments for the permutation test.

    The assignments are as probable as the observed assignment if labels do not depend on texts.
    Labels are exchanged between clusters with the same number of units of each size, then between units of
    the same size within a cluster, then between rows within a unit.

    Args:
        labels: [n] labels, 0 or 1.
        clusters: [n] cluster of each row.
        units: [n] unit of each row within its cluster, or None if each row is a unit of its own.
        num_permutations: Number of label assignments.
        rng: The random generator.

    Returns:
        Labels, int8 [n, 1 + num_permutations]. The first column has the observed labels.
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
    """Return the p value of the maximum over attackers.

    Args:
        aurocs: Attacker -> AUROCs [1 + permutations]. The first AUROC is that of the observed labels.

    Returns:
        The p value, and the attacker with the largest observed deviation.
    """
    names, table = list(aurocs), np.array(list(aurocs.values()))
    spread = table.std(axis=1, keepdims=True)
    # The mean and the standard deviation include the observed assignment, so that all assignments are treated
    # alike.
    deviations = (table - table.mean(axis=1, keepdims=True)) / np.where(spread > 1e-9, spread, np.inf)
    two_sided = np.array([name == LENGTH_ATTACKER for name in names])
    deviations[two_sided] = np.abs(deviations[two_sided])
    largest = deviations.max(axis=0)
    return float(np.mean(largest >= largest[0] - 1e-9)), names[int(deviations[:, 0].argmax())]


class AttackerPanel:
    """The fast attackers on a set of texts.

    Features are computed once. Models are fitted for each fold and each label assignment.
    """

    def __init__(self, texts: Sequence[str], splits: Sequence[tuple[np.ndarray, np.ndarray]]) -> None:
        characters = TfidfVectorizer(analyzer="char_wb", ngram_range=(2, 5), sublinear_tf=True)
        self._attackers: dict[str, tuple[FoldFeatures, ScoreFunction]] = {
            name: (FoldFeatures(features, splits), learn)
            for name, features, learn in (
                ("word n-grams, class means", compute_word_tfidf(texts), score_by_class_means),
                ("character n-grams, class means", characters.fit_transform(texts), score_by_class_means),
                ("word pairs, naive Bayes", make_word_pair_features(tuple(texts)), score_by_naive_bayes),
                ("first three words, naive Bayes", make_first_word_features(texts), score_by_naive_bayes),
            )
        }
        self._length_ranks = rankdata([len(text.split()) for text in texts])

    def compute_aurocs(self, labels: np.ndarray) -> dict[str, np.ndarray]:
        """Return attacker -> AUROCs [m], one for each column of labels [n, m]."""
        aurocs: dict[str, list[np.ndarray]] = {name: [] for name in self._attackers}
        for start in range(0, labels.shape[1], PERMUTATIONS_PER_BLOCK):
            block = labels[:, start : start + PERMUTATIONS_PER_BLOCK].astype(np.float64)
            for name, (features, learn) in self._attackers.items():
                ranks = rankdata(np.round(learn(features, block), 9), axis=0)
                aurocs[name].append(_auroc_from_ranks(ranks, block))
        return {name: np.concatenate(parts) for name, parts in aurocs.items()} | {
            LENGTH_ATTACKER: _auroc_from_ranks(self._length_ranks[:, None], labels)
        }


class ClassSums(NamedTuple):
    """Sums over the training rows of one fold, for m label assignments.

    Attributes:
        positive_sums, negative_sums: [features, m] sums of the features of the rows with label 1, and with
            label 0.
        num_positives, num_negatives: [m] number of rows with label 1, and with label 0.
        test_rows: Indices of the rows to predict.
        test_features: [test rows, features] features of these rows.
    """

    positive_sums: np.ndarray
    negative_sums: np.ndarray
    num_positives: np.ndarray
    num_negatives: np.ndarray
    test_rows: np.ndarray
    test_features: csr_array


class FoldFeatures:
    """Sparse features [n, d], split into folds.

    Features that occur in a single row are dropped, because no model can learn them from other rows.
    """

    def __init__(self, features: Any, splits: Sequence[tuple[np.ndarray, np.ndarray]]) -> None:
        features = csr_array(features, dtype=np.float64)
        features = features[:, np.bincount(features.indices, minlength=features.shape[1]) > 1]
        self._total = np.asarray(features.sum(axis=0))[:, None]
        self._folds = [(test, features[test], features[test].T.tocsr()) for _, test in splits]

    def class_sums(self, labels: np.ndarray) -> Iterator[ClassSums]:
        """Yield the class sums of each fold.

        Args:
            labels: [n, m] labels as floats, 0 or 1.
        """
        fold_sums = [transposed @ labels[test] for test, _, transposed in self._folds]
        total, rows, ones = np.sum(fold_sums, axis=0), len(labels), labels.sum(axis=0)
        for (test, test_features, transposed), fold_sum in zip(self._folds, fold_sums, strict=True):
            positive = total - fold_sum
            negative = self._total - np.asarray(transposed.sum(axis=1))[:, None] - positive
            num_positives = ones - labels[test].sum(axis=0)
            # Differences of sums can leave small negative rounding errors where the true sum is 0.
            np.maximum(positive, 0, out=positive)
            np.maximum(negative, 0, out=negative)
            yield ClassSums(
                positive, negative, num_positives, rows - len(test) - num_positives, test, test_features
            )


def score_by_class_means(features: FoldFeatures, labels: np.ndarray) -> np.ndarray:
    """Return out-of-fold scores [n, m]: the features times the difference of the class means."""
    scores = np.empty(labels.shape)
    for fold in features.class_sums(labels):
        weights = fold.positive_sums / np.maximum(fold.num_positives, 1) - fold.negative_sums / np.maximum(
            fold.num_negatives, 1
        )
        scores[fold.test_rows] = fold.test_features @ weights
    return scores


def score_by_naive_bayes(features: FoldFeatures, labels: np.ndarray, alpha: float = 0.3) -> np.ndarray:
    """Return out-of-fold scores [n, m]: the log likelihood ratio of multinomial naive Bayes."""
    scores = np.empty(labels.shape)
    for fold in features.class_sums(labels):
        # There are no features if no two rows share one.
        if not len(fold.positive_sums):
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
    """Return the AUROCs [m] from the sums of ranks (Mann and Whitney)."""
    ones = labels.sum(axis=0, dtype=np.float64)
    pairs = ones * (len(labels) - ones)
    return ((ranks * labels).sum(axis=0) - ones * (ones + 1) / 2) / pairs

"""How much a linear classifier reads off frozen features: top-1 and top-5 accuracy.

The probe is multinomial logistic regression on standardised features, fitted by L-BFGS without any
randomness; the strength of its ridge is chosen on every tenth training picture. Every row of the
table, raw pixels included, goes through the same procedure.
"""

import torch
import torch.nn.functional as F  # noqa: N812
from jaxtyping import Float, Int64
from torch import Tensor

RIDGES = (1e-1, 1e-2, 1e-3)
ITERATIONS = 60

Features = Float[Tensor, "n d"]
Labels = Int64[Tensor, " n"]


def standardise(train: Features, test: Features) -> tuple[Features, Features]:
    """Both sets less the training mean, over the training deviation (0 where that is 0)."""
    mean, deviation = train.mean(0), train.std(0)
    scale = torch.where(deviation > 1e-8, 1 / deviation, torch.zeros_like(deviation))
    return (train - mean) * scale, (test - mean) * scale


def fit(features: Features, labels: Labels, classes: int, ridge: float) -> Float[Tensor, "d1 c"]:
    r"""Weights, the last row the offsets, that minimise the mean log loss plus
    :math:`\tfrac12\,\mathrm{ridge}\,\|w\|^2`, without the offsets."""
    with_one = torch.cat([features, torch.ones_like(features[:, :1])], 1)
    weights = with_one.new_zeros(with_one.shape[1], classes, requires_grad=True)
    search = torch.optim.LBFGS([weights], max_iter=ITERATIONS, line_search_fn="strong_wolfe")

    def loss():
        search.zero_grad()
        value = F.cross_entropy(with_one @ weights, labels)
        value = value + ridge / 2 * weights[:-1].square().sum()
        value.backward()
        return value

    with torch.enable_grad():
        search.step(loss)
    return weights.detach()


def accuracies(
    weights: Float[Tensor, "d1 c"], features: Features, labels: Labels
) -> tuple[float, float]:
    """Top-1 and top-5 accuracy in percent."""
    scores = features @ weights[:-1] + weights[-1]
    best = scores.topk(min(5, scores.shape[1]), -1).indices == labels[:, None]
    return 100 * float(best[:, 0].float().mean()), 100 * float(best.any(-1).float().mean())


def probe(
    train: Features, train_labels: Labels, test: Features, test_labels: Labels, classes: int
) -> tuple[float, float]:
    """Top-1 and top-5 accuracy on the test pictures, in percent."""
    train, test = standardise(train, test)
    kept = torch.arange(len(train), device=train.device) % 10 > 0
    scores = {}
    for ridge in RIDGES:
        weights = fit(train[kept], train_labels[kept], classes, ridge)
        scores[ridge] = accuracies(weights, train[~kept], train_labels[~kept])
    best = max(RIDGES, key=lambda ridge: scores[ridge])
    return accuracies(fit(train, train_labels, classes, best), test, test_labels)


def quick_probe(
    train: Features, train_labels: Labels, test: Features, test_labels: Labels, classes: int
) -> float:
    """Top-1 accuracy of least squares to the classes with a ridge of 1e-2: for learning curves.

    On the CPU, since not every device has double precision."""
    train, test = standardise(train.cpu().double(), test.cpu().double())
    train_labels, test_labels = train_labels.cpu(), test_labels.cpu()
    target = F.one_hot(train_labels, classes).double()
    eye = torch.eye(train.shape[1], device=train.device, dtype=train.dtype)
    gram = train.mT @ train / len(train) + 1e-2 * eye
    weights = torch.linalg.solve(gram, train.mT @ (target - target.mean(0)) / len(train))
    guess = (test @ weights + target.mean(0)).argmax(-1)
    return 100 * float((guess == test_labels).double().mean())

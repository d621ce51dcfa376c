"""Item response theory with several abilities: parameters of items, and probabilities of a new model.

The probability that model i scores on item j is ``sigmoid(a_j . theta_i - k b_j)``: the multidimensional two-parameter
model. ``k`` is 1 in fits of this module; see ``ItemParameters.multiplicity`` for the published parameters.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from fathom.compress.matrix import Floats
from fathom.parallel.units import one_thread
from fathom.types import FathomError

Objective: TypeAlias = Callable[[Floats], tuple[float, Floats]]
Rule: TypeAlias = Literal["coded", "paper"]

CANDIDATES = 100


@dataclass(frozen=True)
class ItemParameters:
    """Parameters of items.

    Attributes:
        discrimination: How much each item discriminates between abilities, shape (N, D).
        difficulty: Shape (N,).
        multiplicity: How often the difficulty is subtracted. The released parameters of MiniLongBench are those of a
            model that subtracts the difficulty once for every dimension, inside the sum over dimensions: 10 times for
            10 dimensions; with 1 they would have another meaning.
    """

    discrimination: Floats
    difficulty: Floats
    multiplicity: int = 1

    def chances(self, ability: Floats) -> Floats:
        """Probabilities of scoring on every item, shape (N,) for abilities (D,), or (M, N) for abilities (M, D)."""
        return sigmoid(ability @ self.discrimination.T - self.multiplicity * self.difficulty)


@dataclass(frozen=True)
class Fit:
    """Parameters of items and abilities of the models that they were fitted to.

    Attributes:
        items: Parameters of N items.
        abilities: Shape (M, D).
        loss: Mean cross-entropy of the observed responses, in nats.
        steps: Steps of the optimiser.
        converged: Whether it converged.
    """

    items: ItemParameters
    abilities: Floats
    loss: float
    steps: int
    converged: bool


STEPS = 2000
"""Most steps of the optimiser."""


@dataclass(frozen=True)
class Prior:
    """Standard deviations of normal priors around 0; they keep items finite that all models pass, or none.

    Attributes:
        ability: Of every ability. The prior of abilities counts N / M times, so that the few models weigh as much as
            the many items: otherwise a fit makes abilities large and discriminations small, without bound.
        discrimination: Of every discrimination.
        difficulty: Of every difficulty; wider, since it alone represents how hard an item is.
    """

    ability: float = 1.0
    discrimination: float = 1.0
    difficulty: float = 2.0


def sigmoid(values: Floats) -> Floats:
    """The logistic function, without overflow."""
    from scipy.special import expit

    return np.asarray(expit(values), dtype=np.float64)


def threshold(scores: Floats, rule: Rule = "coded") -> float:
    """The score above which a response counts as correct, one for all items.

    Among 100 candidates from .01 to .99 it is the one at which the share of correct responses is closest to the mean
    score: ``coded`` takes the mean over models of the distance, as in the released code, ``paper`` the distance of
    the sums over all models (MiniLongBench, equation 3).

    Args:
        scores: Scores in [0, 1], shape (M, N); NaN without a score.
        rule: ``coded`` or ``paper``.

    Raises:
        FathomError: There is no score, or no such rule.
    """
    scored = ~np.isnan(scores)
    kept = scores[scored.any(axis=1)]
    if not kept.size:
        raise FathomError("a threshold needs scores")
    if rule not in ("coded", "paper"):
        raise FathomError(f"unknown rule {rule!r} for the threshold: choose coded or paper")
    scored = ~np.isnan(kept)
    counts = scored.sum(axis=1)
    candidates = np.linspace(0.01, 0.99, CANDIDATES)
    sums = np.array([(np.where(scored, kept, 0.0) > candidate).sum(axis=1) for candidate in candidates])
    apart = sums - np.where(scored, kept, 0.0).sum(axis=1)
    distances = np.abs(apart / counts).mean(axis=1) if rule == "coded" else np.abs(apart.sum(axis=1))
    return float(candidates[int(np.argmin(distances))])


def binarised(scores: Floats, cut: float) -> Floats:
    """1 for scores above the cut, 0 for others, NaN without a score."""
    return np.where(np.isnan(scores), np.nan, (scores > cut).astype(np.float64))


@one_thread("scipy.optimize")
def fit(
    responses: Floats,
    dimensions: int,
    *,
    start: Floats | None = None,
    expected: Floats | None = None,
    bias: bool = True,
    bias_start: Floats | None = None,
    seed: int = 0,
) -> Fit:
    """Fits abilities and items together: the maximum of the posterior under normal priors, by L-BFGS.

    With fewer models than dimensions the prior determines what the responses do not: discriminations shrink to 0 in
    directions in which no two models differ.

    Args:
        responses: Responses in [0, 1], usually 0 and 1, shape (M, N); NaN if missing.
        dimensions: D, the number of abilities.
        start: Start values of the discriminations, shape (N, D), for example embeddings of the items; by
            default standard normal draws.
        bias: Whether items have a difficulty; without, it stays 0.
        bias_start: Start values of the difficulties, shape (N,); by default 0.
        seed: Seed of the start values of the abilities.

    Raises:
        FathomError: Shapes do not match, there are fewer than two models, or a response is not in [0, 1].
    """
    for given in (start, expected):
        _check(responses, dimensions, given)
    models, items = responses.shape
    rng = np.random.default_rng(seed)
    abilities = rng.standard_normal((models, dimensions))
    first = rng.standard_normal((items, dimensions)) if start is None else np.asarray(start, dtype=np.float64)
    difficulty = np.zeros(items) if bias_start is None or not bias else np.asarray(bias_start, dtype=np.float64)

    from scipy.optimize import minimize

    optimum = minimize(
        posterior(responses, dimensions, Prior(), bias, expected),
        np.concatenate([abilities.ravel(), first.ravel(), difficulty]),
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": STEPS, "maxfun": 2 * STEPS, "ftol": 1e-7, "gtol": 1e-4},
    )
    abilities, discrimination, difficulty = _unpacked(optimum.x, models, items, dimensions)
    parameters = ItemParameters(discrimination.copy(), difficulty.copy())
    loss = cross_entropy(responses, abilities @ discrimination.T - difficulty)
    return Fit(parameters, abilities.copy(), loss, int(optimum.nit), bool(optimum.success))


def posterior(
    responses: Floats, dimensions: int, prior: Prior, bias: bool = True, expected: Floats | None = None
) -> Objective:
    """The negative log posterior and its gradient, as a function of all parameters in one row.

    Args:
        responses: Shape (M, N); NaN if missing.
        dimensions: D.
        prior: Standard deviations of the priors.
        bias: Whether the difficulties are fitted.
        expected: Mean of the prior of discriminations, shape (N, D); by default 0.

    Returns:
        A function of abilities (M, D), discriminations (N, D) and difficulties (N,), concatenated.
    """
    models, items = responses.shape
    scored = ~np.isnan(responses)
    known = np.where(scored, responses, 0.0)
    centre = np.zeros((items, dimensions)) if expected is None else np.asarray(expected, dtype=np.float64)
    strength = items / models / prior.ability**2

    def objective(packed: Floats) -> tuple[float, Floats]:
        abilities, discrimination, difficulty = _unpacked(packed, models, items, dimensions)
        logits = abilities @ discrimination.T - difficulty
        chances = sigmoid(logits)
        residual = (chances - known) * scored
        # -log(1 - chance), by logarithms of products of 500 numbers between 1/2 and 1, because logarithms are slow.
        nearer = np.where(scored, np.maximum(chances, 1.0 - chances), 1.0)
        value = -float(np.log(np.multiply.reduceat(nearer, range(0, models, 500), axis=0)).sum())
        value += float((np.maximum(logits, 0.0) * scored).sum() - np.vdot(known, logits))
        value += 0.5 * strength * float((abilities**2).sum())
        value += 0.5 * float(((discrimination - centre) ** 2).sum()) / prior.discrimination**2
        value += 0.5 * float((difficulty**2).sum()) / prior.difficulty**2
        of_abilities = residual @ discrimination + strength * abilities
        of_discrimination = residual.T @ abilities + (discrimination - centre) / prior.discrimination**2
        of_difficulty = (-residual.sum(axis=0) + difficulty / prior.difficulty**2) * bias
        return value, np.concatenate([of_abilities.ravel(), of_discrimination.ravel(), of_difficulty])

    return objective


def ability(scores: Floats, items: ItemParameters, prior: float | None = None) -> Floats:
    """The ability of a new model from its scores on some items.

    Without a prior this is the fit of the released code: BFGS from 0 on the cross-entropy of the scores themselves,
    without a threshold. If scores can be explained perfectly it diverges, and stops where nothing changes.

    Args:
        scores: Scores in [0, 1] on the N items, shape (N,); NaN if the model was not asked.
        prior: Standard deviation of a normal prior around 0; None for none.

    Returns:
        Shape (D,).

    Raises:
        FathomError: The model has no score on these items, or shapes do not match.
    """
    if scores.shape != items.difficulty.shape:
        raise FathomError(f"{scores.size:,} scores for {items.difficulty.size:,} items: expected one for each, or NaN")
    seen = ~np.isnan(scores)
    if not seen.any():
        raise FathomError("the ability of a model needs a score on one item or more")
    known, slopes = scores[seen], items.discrimination[seen]
    shift = items.multiplicity * items.difficulty[seen]
    strength = 0.0 if prior is None else 1.0 / prior**2

    def objective(theta: Floats) -> tuple[float, Floats]:
        logits = slopes @ theta - shift
        value = float((np.logaddexp(0.0, logits) - known * logits).sum()) + 0.5 * strength * float(theta @ theta)
        return value, slopes.T @ (sigmoid(logits) - known) + strength * theta

    from scipy.optimize import minimize

    optimum = minimize(objective, np.zeros(slopes.shape[1]), jac=True, method="BFGS")
    return np.asarray(optimum.x, dtype=np.float64)


def cross_entropy(responses: Floats, logits: Floats) -> float:
    """Mean cross-entropy in nats of the observed responses, under these log-odds."""
    scored = ~np.isnan(responses)
    losses = np.logaddexp(0.0, logits) - np.where(scored, responses, 0.0) * logits
    return float(losses[scored].mean())


def _unpacked(packed: Floats, models: int, items: int, dimensions: int) -> tuple[Floats, Floats, Floats]:
    first, second = models * dimensions, (models + items) * dimensions
    return packed[:first].reshape(models, -1), packed[first:second].reshape(items, -1), packed[second:]


def _check(responses: Floats, dimensions: int, start: Floats | None) -> None:
    if responses.ndim != 2 or responses.shape[0] < 2 or responses.shape[1] < 1:
        raise FathomError(f"item response theory needs two models or more and an item; got {responses.shape}")
    if dimensions < 1:
        raise FathomError(f"{dimensions} dimensions: expected 1 or more")
    if start is not None and start.shape != (responses.shape[1], dimensions):
        raise FathomError(
            f"the start has shape {start.shape}, expected ({responses.shape[1]}, {dimensions}): one row per item"
        )
    known = responses[~np.isnan(responses)]
    if not known.size or known.min() < 0 or known.max() > 1:
        raise FathomError("expected at least one response, all between 0 and 1")

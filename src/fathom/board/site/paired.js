/* Paired differences of two lines: the definitions of fathom.stats.differences and fathom.stats.intervals.

   The Bayesian bootstrap, with a pseudo-item for each of the two scores; the p-value is the level up to which the interval
   holds 0. Items whose pair of scores is the same are drawn together: the sum of their gamma weights is one gamma variate.
   The distribution is the same, and scores of 0 and 1 take four draws where they took hundreds. */
(function (fathom) {
  "use strict";
  const REPLICATES = 4000;
  const PSEUDO_ITEMS = 2;

  /** Scores of a task of both lines, of the items that both have one for.
   * @returns {{first: number[], second: number[]}} */
  fathom.items = function (first, second) {
    const both = first.map((_, n) => n).filter((n) => isScore(first[n]) && isScore(second[n]));
    return { first: both.map((n) => first[n]), second: both.map((n) => second[n]) };
  };

  const isScore = (value) => typeof value === "number" && Number.isFinite(value);

  /** One task: the difference and its replicates.
   * @param {number[]} first - scores of the items.
   * @param {number[]} second - those of the other line, of the same items.
   * @param {string} seed - the same one gives the same figures.
   * @param {number} tasks - how many are averaged: a mean over them holds as many pseudo-items as one task does.
   * @returns {{gap, items, draws, shares}} draws are those of the task alone, shares those of its part in the mean. */
  fathom.paired = function (first, second, seed, tasks = 1) {
    const kinds = alike(first, second);
    const chance = fathom.chance(seed);
    const gap = kinds.reduce((sum, one) => sum + one.count * (one.first - one.second), 0) / first.length;
    const sums = replicates(kinds, first.length, chance);
    const draws = withPrior(sums, PSEUDO_ITEMS, chance);
    return { gap, items: first.length, draws, shares: tasks > 1 ? withPrior(sums, PSEUDO_ITEMS / tasks, chance) : draws };
  };

  function alike(first, second) {
    const kinds = new Map();
    first.forEach(function (value, n) {
      const key = value + "/" + second[n];
      if (!kinds.has(key)) kinds.set(key, { first: value, second: second[n], count: 0 });
      kinds.get(key).count += 1;
    });
    return [...kinds.values()];
  }

  // Weights a little more uneven than Rubin's, as in fathom.stats.intervals, where the reasons are. Each replicate is
  // a weighted sum of the first scores, one of the second, and the weights.
  function replicates(kinds, items, chance) {
    const shape = items > 400 ? 1 : Math.max(items - 2, 0.5) / items;
    const [first, second, mass] = [0, 1, 2].map(() => new Float64Array(REPLICATES));
    for (const kind of kinds) {
      for (let n = 0; n < REPLICATES; n++) {
        const weight = chance.gamma(shape * kind.count);
        first[n] += weight * kind.first;
        second[n] += weight * kind.second;
        mass[n] += weight;
      }
    }
    return { first, second, mass };
  }

  // The pseudo-item is split at random between 0 and 1, for either line apart.
  function withPrior({ first, second, mass }, prior, chance) {
    const mean = (sum, n) => {
      const right = chance.gamma(prior / 2);
      return (sum[n] + right) / (mass[n] + right + chance.gamma(prior / 2));
    };
    return mass.map((_, n) => mean(first, n) - mean(second, n));
  }

  /** The weighted mean over tasks: {gap, items, draws}; weights sum to 1. */
  fathom.weighted = function (parts, weights) {
    const sum = (pick, size) => {
      const total = new Float64Array(size);
      parts.forEach((part, n) => pick(part).forEach((value, k) => (total[k] += weights[n] * value)));
      return total;
    };
    return {
      gap: parts.reduce((total, part, n) => total + weights[n] * part.gap, 0),
      items: parts.reduce((total, part) => total + part.items, 0),
      draws: sum((part) => part.shares, REPLICATES),
    };
  };

  /** What is told of a difference: {difference, low, high, p, items}. */
  fathom.told = function ({ gap, items, draws }) {
    const sorted = Float64Array.from(draws).sort();
    return { difference: gap, low: Math.min(quantile(sorted, 0.025), gap), high: Math.max(quantile(sorted, 0.975), gap), p: pValue(sorted, gap), items };
  };

  // 1 where the difference lies at 0, or on the other side of 0 than most replicates: the interval is stretched to it.
  function pValue(sorted, gap) {
    const notAbove = shareAtZero(sorted, sorted.filter((value) => value <= 0).length);
    const notBelow = shareAtZero(sorted, sorted.filter((value) => value < 0).length);
    const positive = notAbove < 1 - notBelow;
    if (gap === 0 || gap > 0 !== positive) return 1;
    return Math.min(1, Math.max(2 * Math.min(notAbove, 1 - notBelow), 2 / (sorted.length + 1)));
  }

  // The share at which `quantile` gives 0, if it comes before the value at a place.
  function shareAtZero(sorted, place) {
    if (place === 0 || place === sorted.length) return place > 0 ? 1 : 0;
    const [below, above] = [sorted[place - 1], sorted[place]];
    return (place - 1 - below / (above - below)) / (sorted.length - 1);
  }

  function quantile(sorted, share) {
    const at = share * (sorted.length - 1);
    const low = Math.floor(at);
    return sorted[low] + (at - low) * ((sorted[low + 1] ?? sorted[low]) - sorted[low]);
  }

  /** The difference of two estimates as if independent; null where an error is not known. */
  fathom.apart = function (first, second) {
    if (!first || !second) return null;
    const difference = first[0] - second[0];
    if (fathom.half(first) === null || fathom.half(second) === null) return { difference, low: null, high: null, p: null, items: null };
    const error = Math.hypot(first[1], second[1]);
    const p = error > 0 ? tails(Math.abs(difference) / error) : difference === 0 ? 1 : 0;
    // Scores are from 0 to 1, so that no difference is beyond 1.
    return { difference, low: Math.max(-1, difference - fathom.Z * error), high: Math.min(1, difference + fathom.Z * error), p, items: null };
  };

  // Both tails of the normal distribution: the series of erf near 0, the continued fraction of erfc beyond.
  function tails(z) {
    const x = z / Math.SQRT2;
    if (x < 2.5) {
      let [term, sum] = [x, x];
      for (let n = 1; n < 60; n++) sum += (term *= (-x * x) / n) / (2 * n + 1);
      return Math.max(0, 1 - (2 / Math.sqrt(Math.PI)) * sum);
    }
    let rest = 0;
    for (let n = 60; n > 0; n--) rest = n / 2 / (x + rest);
    return Math.exp(-x * x) / Math.sqrt(Math.PI) / (x + rest);
  }
})(window.fathom);

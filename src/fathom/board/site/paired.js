/* Paired differences of two lines: the definitions of fathom.stats.differences and fathom.stats.intervals.

   Sign-flip permutation test, and the Bayesian bootstrap with one pseudo-item for its interval. Items whose pair of
   scores is the same are drawn together: the sum of their gamma weights is one gamma variate, and the sum of their signs
   is counted in bits. The distribution is the same, and scores of 0 and 1 take four draws where they took hundreds. */
(function (fathom) {
  "use strict";
  const FLIPS = 10000;
  const REPLICATES = 2000;

  /** Scores of a task of both lines, of the items that both have one for.
   * @returns {{first: number[], second: number[]}} */
  fathom.items = function (first, second) {
    const both = first.map((_, n) => n).filter((n) => isScore(first[n]) && isScore(second[n]));
    return { first: both.map((n) => first[n]), second: both.map((n) => second[n]) };
  };

  const isScore = (value) => typeof value === "number" && Number.isFinite(value);

  /** One task: the difference, its replicates and its flips.
   * @param {number[]} first - scores of the items.
   * @param {number[]} second - those of the other line, of the same items.
   * @param {string} seed - the same one gives the same figures.
   * @param {number} tasks - how many are averaged: a mean over them holds one pseudo-item in all.
   * @returns {{gap, items, draws, shares, flips}} draws are those of the task alone, shares those of its part in the mean. */
  fathom.paired = function (first, second, seed, tasks = 1) {
    const kinds = alike(first, second);
    const chance = fathom.chance(seed);
    const gap = kinds.reduce((sum, one) => sum + one.count * (one.first - one.second), 0) / first.length;
    const sums = replicates(kinds, first.length, chance);
    const draws = withPrior(sums, 1, chance);
    return { gap, items: first.length, draws, shares: tasks > 1 ? withPrior(sums, 1 / tasks, chance) : draws, flips: flipped(kinds, first.length, chance) };
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

  function flipped(kinds, items, chance) {
    const sizes = new Map();
    for (const kind of kinds) {
      const size = Math.abs(kind.first - kind.second);
      if (size > 0) sizes.set(size, (sizes.get(size) || 0) + kind.count);
    }
    const flips = new Float64Array(FLIPS);
    for (const [size, count] of sizes) for (let n = 0; n < FLIPS; n++) flips[n] += (size / items) * chance.signs(count);
    return flips;
  }

  /** The weighted mean over tasks: {gap, items, draws, flips}; weights sum to 1. */
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
      flips: sum((part) => part.flips, FLIPS),
    };
  };

  /** What is told of a difference: {difference, low, high, p, items}. */
  fathom.told = function ({ gap, items, draws, flips }) {
    const sorted = Float64Array.from(draws).sort();
    // The slack counts permutations that are the same sum in another order.
    const extreme = flips.reduce((count, value) => count + (Math.abs(value) >= Math.abs(gap) - 1e-12 ? 1 : 0), 0);
    return { difference: gap, low: Math.min(quantile(sorted, 0.025), gap), high: Math.max(quantile(sorted, 0.975), gap), p: (extreme + 1) / (FLIPS + 1), items };
  };

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

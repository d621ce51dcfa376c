/* Differences between entries, as in the data files: [difference, low, high, p, questions in common]. */
(function (fathom) {
  "use strict";
  const told = ([difference, low, high, p, shared]) => ({ difference, low, high, p, shared });

  /** The difference of the overall scores of two entries by their keys: {difference, low, high, p, shared, sure}; null
   * if there is none. `sure` is "+", "-" or "0": the result of the test of the first entry against all others.
   * @param {object} pairs - the data file of that name of a board. */
  fathom.between = function (pairs, first, second) {
    const [i, j] = [pairs.keys.indexOf(first), pairs.keys.indexOf(second)];
    if (i < 0 || j < 0 || i === j) return null;
    const [low, high] = i < j ? [i, j] : [j, i];
    // Upper triangle, row by row.
    const gap = told(pairs.gaps[low * pairs.keys.length - (low * (low + 1)) / 2 + high - low - 1]);
    return { ...(i < j ? gap : turned(gap)), sure: (pairs.sure[i] || "")[j] || "0" };
  };

  const turned = (gap) => ({ ...gap, difference: -gap.difference, low: -gap.high, high: -gap.low });

  /** The differences of two entries, overall and on every task that both have a score on: {task: id or null for overall,
   * difference, low, high, p, shared}, all but the first two null if a score has no interval. */
  fathom.differences = async function (whole, a, b) {
    const { board } = whole;
    const [above, below] = board.entries.indexOf(a) < board.entries.indexOf(b) ? [a, b] : [b, a];
    const [pairs, byTask] = await Promise.all([fathom.load("pairs/" + board.id), above.pairs ? fathom.load(`pairs/${board.id}/${above.key}`) : {}]);
    const rows = byTask[below.key] || [];
    const onTask = function (task) {
      const row = rows[board.tasks.findIndex((one) => one.id === task)];
      return row ? (above === a ? told(row) : turned(told(row))) : plain(fathom.onTask(whole, a, task), fathom.onTask(whole, b, task));
    };
    const found = fathom.tasksOf(board, "").map((task) => ({ task, ...onTask(task) })).filter((row) => row.difference !== null);
    return [{ task: null, ...(fathom.between(pairs, a.key, b.key) || plain(a.overall, b.overall)) }, ...found];
  };

  // Scores without an interval have only a difference.
  const plain = (first, second) => ({ difference: first && second ? first[0] - second[0] : null, low: null, high: null, p: null, shared: 0 });
})(window.fathom);

/* Differences between entries. A data file of an entry has columns of [difference, low, high, p, questions in common]
   over all entries with an interval, rows of these for tasks, and rows without p for categories and lengths; all but the
   questions in units of 0.00001. */
(function (fathom) {
  "use strict";
  const UNIT = 100000;
  const told = ([difference, low, high, p, shared]) => ({ difference: difference / UNIT, low: low / UNIT, high: high / UNIT, p: p / UNIT, shared });
  const turned = (gap) => ({ ...gap, difference: -gap.difference, low: -gap.high, high: -gap.low });

  // Entries that the columns are of, by their place.
  const places = new WeakMap();
  function placesOf(board) {
    if (!places.has(board)) {
      const known = board.entries.filter((entry) => entry.overall && entry.overall[1]);
      places.set(board, new Map(known.map((entry, n) => [entry.key, n])));
    }
    return places.get(board);
  }

  /** The differences of an entry to all others: a promise of its data file, null without one. */
  fathom.pairsOf = (board, entry) => (entry.pairs ? fathom.load(`pairs/${board.id}/${entry.key}`) : Promise.resolve(null));

  /** The difference of the overall scores of an entry and another one: {difference, low, high, p, shared, sure}; null if
   * there is none. `sure` is "+", "-" or "0": the result of the test of the entry against all others.
   * @param {object} pairs - the data file of the entry. */
  fathom.between = function (board, pairs, other) {
    const place = placesOf(board).get(other.key);
    if (!pairs || place === undefined || !pairs.overall.length) return null;
    return { ...told(pairs.overall.map((column) => column[place])), sure: pairs.sure[place] || "0" };
  };

  /** The differences of two entries, overall and on every task that both have a score on: {task: id or null for overall,
   * difference, low, high, p, shared}, all but the first two null if a score has no interval or they are not tested. */
  fathom.differences = async function (whole, a, b) {
    const { board } = whole;
    const [above, below] = board.entries.indexOf(a) < board.entries.indexOf(b) ? [a, b] : [b, a];
    const pairs = await fathom.pairsOf(board, above);
    const rows = (pairs && pairs.tasks[below.key]) || [];
    const way = (gap) => (above === a ? gap : turned(gap));
    const onTask = function (task) {
      const row = rows[board.tasks.findIndex((one) => one.id === task)];
      return row ? way(told(row)) : plain(fathom.onTask(whole, a, task), fathom.onTask(whole, b, task));
    };
    const found = fathom.tasksOf(board, "").map((task) => ({ task, ...onTask(task) })).filter((row) => row.difference !== null);
    const known = placesOf(board).has(a.key) && placesOf(board).has(b.key) && a !== b;
    return [{ task: null, ...(known ? way(fathom.between(board, pairs, below)) : plain(a.overall, b.overall)) }, ...found];
  };

  /** The differences of two entries by category and by length: {categories, lengths}, a list of {difference, low, high,
   * shared} each, null without a score of both, or without an interval. */
  fathom.partDifferences = async function (board, a, b) {
    const [above, below] = board.entries.indexOf(a) < board.entries.indexOf(b) ? [a, b] : [b, a];
    const rows = ((await fathom.pairsOf(board, above)) || { parts: {} }).parts[below.key] || [];
    const inPart = ([difference, low, high, shared]) => told([difference, low, high, 0, shared]);
    const at = (row, first, second) => (!row ? plain(first, second) : above === a ? inPart(row) : turned(inPart(row)));
    return {
      categories: board.categories.map((_, n) => at(rows[n], a.categories[n], b.categories[n])),
      lengths: board.lengths.map((_, n) => at(rows[board.categories.length + n], a.lengths[n], b.lengths[n])),
    };
  };

  // Scores without an interval have only a difference.
  const plain = (first, second) => ({ difference: first && second ? first[0] - second[0] : null, low: null, high: null, p: null, shared: 0 });
})(window.fathom);

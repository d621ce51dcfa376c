/* Tables and drawings of scores that the pages of models, tasks and comparisons share. */
(function (fathom) {
  "use strict";
  const { h } = fathom;

  /** A board with all its cells: {board, cells, entry(key), titles}; titles are of tasks. */
  fathom.whole = async function (id) {
    const [board, cells] = await Promise.all([fathom.load("boards/" + id), fathom.load("cells/" + id).catch(() => null)]);
    const byKey = new Map(board.entries.map((entry) => [entry.key, entry]));
    return { board, cells: cells || { tasks: [], overTasks: {}, byLength: {} }, entry: (key) => byKey.get(key) || null, titles: new Map(board.tasks.map((task) => [task.id, fathom.plain(task.title)])) };
  };

  /** The score of an entry on a task, over all lengths. */
  fathom.onTask = (whole, entry, task) => (whole.cells.overTasks[entry.key] || [])[whole.cells.tasks.indexOf(task)] || null;

  /** A curve over the lengths of a board: [length, estimate]. */
  fathom.overLengths = (board, entry) => board.lengths.map((length, n) => [length, entry.lengths[n]]).filter(([, est]) => est);

  /** A drawing with its caption. */
  fathom.plate = (drawing, caption) => h("figure", { class: "plate" }, drawing, h("figcaption", null, caption));

  // If only some tasks have lengths, the view by length shows those.
  const over = (board) => ((board.lengthTasks || []).length ? fathom.many(board.lengthTasks.length, "task") + " that have lengths" : "tasks");

  /** Figures of entries: radar over categories and curves over lengths, if there is enough data. */
  fathom.figures = function (board, entries, keyed = entries.length > 1) {
    const names = entries.map(fathom.entryName);
    const titles = board.categories.map((one) => one.title);
    const curves = entries.map((entry, n) => ({ name: names[n], points: fathom.overLengths(board, entry) }));
    const long = curves.some((one) => one.points.length > 1);
    const round = titles.length > 2 && entries.some((entry) => entry.categories.filter(Boolean).length > 2);
    if (!long && !round) return null;
    const of = `${names.join(", ")} on ${board.title}`;
    const banded = entries.length < 4 && curves.some((one) => one.points.some(([, est]) => fathom.ends(est)));
    return h("div", null, keyed && fathom.key(names),
      h("div", { class: "pair" },
        round && fathom.plate(fathom.radar(titles, entries.map((entry, n) => ({ name: names[n], scores: entry.categories.map((est) => est && est[0]) })), `Scores by category: ${of}`), "Scores by category, from 0 in the centre to 100 at the rim."),
        long && fathom.plate(fathom.curves(curves, `Score against length: ${of}`), `Mean over ${over(board)} against length${banded ? ", with 95% intervals" : ""}.`)));
  };

  const corner = (text) => h("th", { scope: "col", class: "text" }, fathom.unseen(text));

  // Scores of entries side by side and, of two, the second minus the first, as `fathom compare` has it.
  const gapHeads = (entries) => (entries.length === 2 ? ["Second minus first, points"] : []);
  const sure = (gap) => gap.low !== null && (gap.low > 0 || gap.high < 0);
  function gapCell(gap) {
    if (!gap || gap.difference === null) return fathom.absent();
    const ends = gap.low === null ? null : h("span", { class: "ci" }, `${fathom.points(gap.low)} to ${fathom.points(gap.high)}`);
    return h("td", { class: sure(gap) ? "sure" : null }, fathom.points(gap.difference), ends);
  }
  function scoreCells(entries, at, gap) {
    const scores = entries.map(at);
    const plain = () => ({ difference: scores.every(Boolean) ? scores[1][0] - scores[0][0] : null, low: null });
    return [...scores.map((est) => fathom.scoreCell(est)), ...(entries.length === 2 ? [gapCell(gap || plain())] : [])];
  }

  /** Table of entries by category and other figures; heads are given, and of two entries the differences with their
   * intervals once they are loaded (fathom.partDifferences, and `overall`). */
  fathom.categoryTable = (board, entries, heads, gaps = {}) => fathom.plainTable(`Scores on ${board.title} by category`, [corner("Category"), ...heads, ...gapHeads(entries)], [
    ["Overall", ...scoreCells(entries, (entry) => entry.overall, gaps.overall)],
    ...board.categories.map((one, n) => [fathom.plain(one.title), ...scoreCells(entries, (entry) => entry.categories[n], gaps.categories && gaps.categories[n])]),
    ...board.extras.map((one, n) => [fathom.plain(one.title), ...entries.map((entry) => fathom.scoreCell(entry.extras[n], { percent: one.percent })), ...gapHeads(entries).map(() => "")]),
  ], "scores");

  /** Table of entries by task. */
  fathom.taskTable = (whole, entries, heads) => fathom.plainTable(`Scores on ${whole.board.title} by task`, [corner("Task"), ...heads],
    fathom.tasksOf(whole.board, "").map((task) => [taskLink(whole, task), ...entries.map((entry) => fathom.scoreCell(fathom.onTask(whole, entry, task)))]), "scores");

  const taskLink = (whole, task) => h("a", { href: fathom.to("tasks", task) }, whole.titles.get(task) || task);

  /** One entry by task: whiskers on one axis, scores by length, and the names of tasks without a score. */
  fathom.taskProfile = function (whole, entry, label) {
    const at = new Map(fathom.tasksOf(whole.board, "").map((task) => [task, new Map((whole.cells.byLength[entry.key] || [])[whole.cells.tasks.indexOf(task)] || [])]));
    const [tasks, without] = parted([...at.keys()], (task) => fathom.onTask(whole, entry, task) || at.get(task).size);
    return [
      fathom.scroller(label, profileTable(whole, entry, tasks, at)),
      without.length > 0 && h("p", { class: "muted" }, "Without any score: ", without.map((task, n) => [n ? ", " : "", taskLink(whole, task)]), "."),
    ];
  };

  const parted = (all, test) => [all.filter(test), all.filter((one) => !test(one))];

  function profileTable(whole, entry, tasks, at) {
    const lengths = [...new Set(tasks.flatMap((task) => [...at.get(task).keys()]))].sort((a, b) => a - b);
    const axis = h("th", { scope: "col" }, h("span", { class: "task-axis" }, ["0", "50", "100"].map((one) => h("span", null, one))));
    return fathom.plainTable(`Scores on ${whole.board.title} by task`, ["Task", axis, "Score, %", ...lengths.map(fathom.tokens)],
      tasks.map(function (task) {
        const est = fathom.onTask(whole, entry, task);
        return [taskLink(whole, task), h("td", { class: "bar-cell" }, est && fathom.whisker(est, 0, 1, fathom.barWidth())), fathom.scoreCell(est),
          ...lengths.map((length) => (at.get(task).has(length) ? fathom.heatCell(at.get(task).get(length)) : h("td", { class: "void" }, fathom.unseen("not asked"))))];
      }), "profile");
  }

  /** Table of entries by length, with differences as above. */
  fathom.lengthTable = function (board, entries, heads, gaps = {}) {
    const there = board.lengths.map((length, n) => [length, n]).filter(([, n]) => entries.some((entry) => entry.lengths[n]));
    if (!there.length) return null;
    return fathom.plainTable(`Scores on ${board.title} by length`, [corner("Length"), ...heads, ...gapHeads(entries)],
      there.map(([length, n]) => [fathom.count(length) + " tokens", ...scoreCells(entries, (entry) => entry.lengths[n], gaps.lengths && gaps.lengths[n])]), "scores");
  };
})(window.fathom);

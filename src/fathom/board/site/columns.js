/* Columns of the table of a board, common to all views and of each view. */
(function (fathom) {
  "use strict";
  const { h } = fathom;

  /** The mark of a missing score; never a zero. */
  fathom.absent = (why) => h("span", { class: "none", title: why || "no score", "aria-label": why || "no score" }, "n/a");

  function element(tag, name, text) {
    const made = document.createElement(tag);
    if (name) made.className = name;
    if (text !== undefined) made.textContent = text;
    return made;
  }

  /** The cell of a score: value, and its interval below. */
  fathom.scoreCell = function (est, { percent = true, partly = "" } = {}) {
    const td = element("td");
    if (!est) return td.append(fathom.absent()), td;
    const show = percent ? fathom.percent : fathom.plainNumber;
    td.title = fathom.said(est, percent) + (partly && "; " + partly);
    td.textContent = show(est[0]);
    if (partly) td.append(element("sup", "partly", "*"));
    const ends = fathom.ends(est);
    if (ends) td.append(element("span", est[3] ? "ci bound" : "ci", fathom.range(ends, show)));
    if (est[4]) td.append(fathom.beside(est));
    return td;
  };

  /** The cell of a score on the heat scale. */
  fathom.heatCell = function (est) {
    const td = element("td", est ? "h" + fathom.heat(est[0]) : "void", est ? fathom.percent(est[0]) : undefined);
    if (!est) return td.append(element("span", "none", "n/a")), td;
    td.title = fathom.said(est);
    return td;
  };

  /** Columns that every view begins with.
   * @param {object} board - the data file of a board.
   * @param {object} ways - {chosen: Set of keys, choose(entry, on), zero(): missing cells count as 0}. */
  fathom.leading = (board, ways) => [
    { id: "pick", head: fathom.unseen("Compare"), name: "pick", cell: (entry) => pick(entry, ways) },
    { id: "rank", head: "Rank", name: "rank", title: "Range of ranks at 95% confidence", up: true, below: among(board),
      value: (entry) => (entry.rank ? entry.rank[0] + entry.rank[1] / 1000 : null), cell: (entry) => rank(board, entry) },
    { id: "model", head: "Model", name: "model text", up: true, text: true,
      value: (entry) => fathom.plain(entry.model + " " + entry.variant).toLowerCase(), cell: (entry) => model(board, entry) },
    overall(board, ways),
  ];

  // How many entries have a rank.
  function among(board) {
    const ranked = board.entries.filter((entry) => entry.rank).length;
    return ranked > 0 && h("span", { class: "below" }, "of " + fathom.count(ranked));
  }

  function pick(entry, ways) {
    const box = h("input", { type: "checkbox", "data-key": entry.key, "aria-label": "Compare " + fathom.entryName(entry), onchange: () => ways.choose(entry, box.checked) });
    box.checked = ways.chosen.has(entry.key);
    return h("td", { class: "pick" }, h("label", null, box));
  }

  /** The short name of an entry. */
  fathom.entryName = (entry) => fathom.plain(entry.model + (entry.variant ? " (" + entry.variant + ")" : ""));

  function rank(board, entry) {
    const text = fathom.rank(entry.rank);
    // Names begin with the visible text, for voice control.
    const name = text + (entry.rank ? ": why this rank?" : ": not ranked, why?");
    return h("td", { class: "rank" },
      fathom.opens({ class: "why", "aria-label": name }, text, fathom.whyTitle(entry), () => fathom.why(board, entry)));
  }

  function model(board, entry) {
    return h("th", { scope: "row", class: "model" },
      h("a", { href: fathom.to("models", entry.modelKey) }, fathom.name(entry.model)),
      h("span", { class: "sub" }, entry.variant && h("span", { class: "variant" }, fathom.name(entry.variant)), fathom.badge(board.origins[entry.origin])));
  }

  function overall(board, ways) {
    const reach = board.entries.filter((entry) => entry.overall).flatMap((entry) => fathom.ends(entry.overall) || [entry.overall[0]]);
    const [low, high] = [Math.max(0, Math.floor(Math.min(...reach, 1) * 20) / 20), Math.min(1, Math.ceil(Math.max(...reach, 0) * 20) / 20)];
    const value = (entry) => (ways.zero() && entry.asPaper !== null ? entry.asPaper : entry.overall && entry.overall[0]);
    const scale = h("span", { class: "scale", "aria-hidden": "true" }, h("span", null, fathom.percent(low, 0)), h("span", null, fathom.percent(high, 0)));
    return { id: "overall", head: "Overall, %", name: "overall", title: "Mean score with its 95% interval", value, below: scale,
      cell(entry) {
        const td = element("td", "overall");
        const box = td.appendChild(element("div"));
        if (!entry.overall) return box.append(fathom.absent()), td;
        const zero = ways.zero() && !entry.complete && entry.asPaper !== null;
        const est = zero ? [entry.asPaper, null, null, 0] : entry.overall;
        td.title = zero ? fathom.percent(est[0]) + "%, missing tasks counted as 0" : fathom.said(est);
        const ends = fathom.ends(est);
        box.append(element("b", "", fathom.percent(est[0])), fathom.whisker(est, low, high),
          element("span", est[3] ? "ci bound" : "ci", ends ? fathom.range(ends) : zero ? "missing as 0" : "no interval"));
        if (est[4]) box.append(fathom.beside(est));
        return td;
      } };
  }

  /** By category, with the other figures of the board; a category that is the whole board has no column. */
  fathom.categoryColumns = (board, ways) => [
    ...board.categories.map((category, n) => [category, n]).filter(([, n]) => board.categories.length > 1 && board.entries.some((entry) => entry.categories[n])).map(([category, n]) => ({
      id: "category/" + category.id, head: fathom.plain(category.title).replace(/& /g, "&\u00a0"),
      value: (entry) => (zeroed(entry, n, ways) ? entry.asPaperCategories[n] : entry.categories[n] && entry.categories[n][0]),
      below: h("a", { class: "below", href: fathom.to("boards", board.id, { view: "tasks", category: category.id }), "aria-label": `${fathom.many(category.tasks.length, "task")} of ${fathom.plain(category.title)}` }, fathom.many(category.tasks.length, "task")),
      cell: (entry) => zeroed(entry, n, ways) ? fathom.scoreCell([entry.asPaperCategories[n], null, null, 0])
        : fathom.scoreCell(entry.categories[n], { partly: lacking(entry, category) }),
    })),
    // Measures that no entry has have no column.
    ...board.extras.map((extra, n) => [extra, n]).filter(([, n]) => board.entries.some((entry) => entry.extras[n])).map(([extra, n]) => ({
      id: "extra/" + extra.id, head: fathom.plain(extra.title) + (extra.percent ? ", %" : ""), title: extra.about, name: "extra",
      value: (entry) => entry.extras[n] && entry.extras[n][0], cell: (entry) => fathom.scoreCell(entry.extras[n], { percent: extra.percent }),
    })),
  ];

  // Whether a category is shown with its missing tasks as 0.
  function zeroed(entry, n, ways) {
    return ways.zero() && !entry.complete && entry.asPaperCategories && entry.asPaperCategories[n] !== null;
  }

  function lacking(entry, category) {
    const count = category.tasks.filter((task) => entry.missing.includes(task)).length;
    return count && count < category.tasks.length ? fathom.many(count, "task") + " of " + category.tasks.length + " missing" : "";
  }

  /** By length: a small curve, and a heat map. Lengths without any score have no column. */
  fathom.lengthColumns = function (board) {
    const there = board.lengths.map((length, n) => [length, n]).filter(([, n]) => board.entries.some((entry) => entry.lengths[n]));
    if (!there.length) return [];
    const span = [there[0][0], there[there.length - 1][0]];
    const points = (entry) => there.filter(([, n]) => entry.lengths[n]).map(([length, n]) => [length, entry.lengths[n][0]]);
    const scores = fathom.scoreSpan(board.entries.flatMap((entry) => points(entry).map(([, value]) => value)));
    return [
      { id: "curve", head: "Curve", name: "curve", title: "Score against length; the same axis for all entries", below: h("span", { class: "below" }, fathom.range(scores, (one) => fathom.percent(one, 0))),
        cell: (entry) => h("td", { class: "curve" }, points(entry).length > 0 && fathom.spark(points(entry), span, scores)) },
      ...there.map(([length, n]) => ({
        id: "length/" + length, head: fathom.tokens(length), title: fathom.count(length) + " tokens", name: "cell",
        value: (entry) => entry.lengths[n] && entry.lengths[n][0], cell: (entry) => fathom.heatCell(entry.lengths[n]),
      })),
    ];
  };

  /** By task: of one category, or all of them; tasks without any score have no column. `cells` is the data file of that
   * name. */
  fathom.taskColumns = function (board, cells, chosen) {
    const place = new Map(cells.tasks.map((task, n) => [task, n]));
    const title = new Map(board.tasks.map((task) => [task.id, fathom.plain(task.title)]));
    const score = (entry, task) => (cells.overTasks[entry.key] || [])[place.get(task)] || null;
    return fathom.tasksOf(board, chosen).filter((task) => board.entries.some((entry) => score(entry, task))).map((task) => ({
      id: "task/" + task, head: title.get(task) || task, title: title.get(task) || task, name: "cell task",
      below: h("a", { class: "info", href: fathom.to("tasks", task), title: "About " + (title.get(task) || task) }, h("span", { "aria-hidden": "true" }, "i"), fathom.unseen("About " + (title.get(task) || task))),
      value: (entry) => score(entry, task) && score(entry, task)[0], cell: (entry) => fathom.heatCell(score(entry, task)),
    }));
  };

  /** Tasks of a category, or of the board, each once and in order. */
  fathom.tasksOf = (board, chosen) =>
    [...new Set(board.categories.filter((one) => !chosen || one.id === chosen).flatMap((one) => one.tasks))];
})(window.fathom);

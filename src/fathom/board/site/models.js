/* The index: all models over all boards, with the best entry of each model on each board. */
(function (fathom) {
  "use strict";
  const { h } = fathom;
  const dateOf = (model) => model.date;

  /** The page without the name of a model. */
  fathom.allModels = async function (query) {
    const [site, { models }] = await Promise.all([fathom.load("site"), fathom.load("index")]);
    const all = columnsOf(site, models);
    let state = stateOf(query);
    const change = (part, quietly) => fathom.go(addressOf({ ...state, ...part }), quietly);
    const search = h("input", { type: "search", "aria-label": "Find a model", placeholder: "Find a model", autocomplete: "off", spellcheck: "false", oninput: () => change({ q: search.value }, true) });
    const told = h("p", { class: "told" });
    const panel = fathom.panel(models, dateOf, () => state, change);
    const view = h("div", { class: "view" });
    const under = h("div");
    let made = null;
    let kind = null;

    async function update(next) {
      state = stateOf(next);
      if (document.activeElement !== search) search.value = state.q;
      panel.show(state, all.slice(1));
      const words = state.q.toLowerCase().split(/\s+/).filter(Boolean);
      const named = models.filter((model) => words.every((word) => model.model.toLowerCase().includes(word)));
      const { entries, unstated } = fathom.byChoices(named, state, dateOf);
      const columns = [all[0], ...fathom.chosenColumns(all.slice(1), state)];
      if (kind !== columns.map((column) => column.id).join(" ")) {
        kind = columns.map((column) => column.id).join(" ");
        made = fathom.table("All models: their best entry on each board", columns, { name: "board index", rows: models.length, sort: (column) => change({ by: column.id, desc: state.by === column.id ? !state.desc : !column.up }) });
        view.replaceChildren(fathom.scroller("Table of all models", made.element), under);
      }
      const by = all.find((column) => column.id === state.by && column.value) || all[1];
      under.replaceChildren(...(entries.length ? [] : [h("p", { class: "empty" }, "No model matches these filters.")]), ...fathom.allRows(made));
      made.show(fathom.sorted(entries, by, state.desc), { ...state, by: by.id });
      const before = told.textContent;
      told.textContent = (entries.length === models.length ? "" : fathom.count(entries.length) + " of ") + fathom.many(models.length, "model") + unstated.map((text) => "; hidden: " + text).join("");
      if (before && before !== told.textContent) fathom.say(told.textContent);
    }
    const element = h("div", null,
      h("div", { class: "heading" },
        h("h1", { tabindex: "-1" }, "All models"),
        h("p", { class: "lead" }, `${fathom.many(models.length, "model")} on ${fathom.many(site.boards.length, "board")}: the best entry of each, with its 95% interval and its range of ranks. Scores of different boards cannot be compared.`)),
      h("div", { class: "controls", role: "search", "aria-label": "Filter models" }, search, told), panel.element, view);
    await update(query);
    return { title: "All models", element, update, board: "models" };
  };

  const stateOf = (query) => ({ q: (query.q || "").slice(0, 200), by: query.sort || "count", desc: query.sort ? query.desc === "1" : true, ...fathom.choicesOf(query) });

  function addressOf(state) {
    const usual = state.by === "count" && state.desc;
    return fathom.to("models", "", { sort: usual ? "" : state.by, desc: !usual && state.desc ? "1" : "", q: state.q, ...fathom.choicesQuery(state) });
  }

  function columnsOf(site, models) {
    const facts = fathom.factColumns(models, dateOf);
    // Boards on which no model has a score have no column.
    const there = site.boards.map((board, n) => [board, n]).filter(([, n]) => models.some((model) => model.boards[n] && model.boards[n][1]));
    return [
      { id: "model", head: "Model", name: "model text", up: true, text: true, value: (model) => fathom.plain(model.model).toLowerCase(),
        cell: (model) => h("th", { scope: "row", class: "model" }, h("a", { href: fathom.to("models", model.key) }, fathom.name(model.model))) },
      { id: "count", head: "Boards", title: "Boards with an entry of the model", value: (model) => model.boards.filter(Boolean).length, name: "count", cell: (model) => h("td", { class: "count" }, String(model.boards.filter(Boolean).length)) },
      ...facts,
      ...there.map(([board, n]) => ({
        id: "board/" + board.id, head: fathom.plain(board.title), title: "Overall score on " + fathom.plain(board.title), name: "place",
        below: h("a", { class: "below", href: fathom.to("boards", board.id), "aria-label": `${fathom.count(board.ranked)} ranked on ${fathom.plain(board.title)}: open the board` }, `${fathom.count(board.ranked)}\u00a0ranked`),
        value: (model) => (model.boards[n] && model.boards[n][1] ? model.boards[n][1][0] : null),
        cell: (model) => cell(board, model.boards[n]),
      })),
    ];
  }

  function cell(board, best) {
    const td = fathom.scoreCell(best && best[1]);
    td.classList.add("place");
    if (!best || !best[1]) return td;
    const [, , rank, lines] = best;
    td.title += (rank ? `; rank ${fathom.rank(rank)} of ${fathom.count(board.ranked)}` : "; not ranked") + (lines > 1 ? `; the best of ${fathom.count(lines)} entries` : "");
    td.append(h("span", { class: "rank-of" }, rank ? "rank\u00a0" + fathom.rank(rank) : "not ranked"));
    return td;
  }
})(window.fathom);

/* The state of the view of a board, its address, and its controls. */
(function (fathom) {
  "use strict";
  const { h } = fathom;
  const PROVENANCES = (fathom.PROVENANCES = ["published", "recomputed", "measured", "submitted"]);
  const VIEWS = [["categories", "By category"], ["lengths", "By length"], ["tasks", "By task"], ["cost", "Quality and cost"]];

  /** Origins of the entries of a board. */
  const provenancesOf = (board) =>
    PROVENANCES.filter((one) => board.entries.some((entry) => board.origins[entry.origin].provenance === one));

  /** The state of an address, without its invalid parts. */
  fathom.stateOf = function (board, query) {
    const there = provenancesOf(board);
    const from = query.from === undefined ? there : query.from.split(",").filter((one) => there.includes(one));
    return {
      view: VIEWS.some(([id]) => id === query.view) ? query.view : "categories",
      category: board.categories.some((one) => one.id === query.category) ? query.category : "",
      by: query.sort || "overall",
      desc: query.sort ? query.desc === "1" : true,
      q: (query.q || "").slice(0, 200),
      from: new Set(from),
      complete: query.complete === "1",
      zero: board.missingIsZero && query.missing === "zero",
      variant: query.variant || "",
      ...fathom.choicesOf(query),
    };
  };

  /** The address of a state, without defaults. */
  fathom.addressOf = function (board, state) {
    const usual = state.by === "overall" && state.desc, there = provenancesOf(board);
    return fathom.to("boards", board.id, {
      view: state.view === "categories" ? "" : state.view,
      category: state.view === "tasks" ? state.category : "",
      sort: usual ? "" : state.by,
      desc: !usual && state.desc ? "1" : "",
      q: state.q,
      from: state.from.size === there.length ? null : there.filter((one) => state.from.has(one)).join(",") || "none",
      complete: state.complete ? "1" : "",
      missing: state.zero ? "zero" : "",
      variant: state.variant,
      ...fathom.choicesQuery(state),
    });
  };

  /** Gives the date of an entry of a board. */
  fathom.dateOf = (board) => (entry) => board.origins[entry.origin].date || "";

  /** Entries that a state shows, in the order of the board, and texts on those hidden because they state nothing:
   * {entries, unstated}. */
  fathom.shown = function (board, state) {
    const words = state.q.toLowerCase().split(/\s+/).filter(Boolean);
    const named = board.entries.filter(function (entry) {
      const origin = board.origins[entry.origin];
      if (!state.from.has(origin.provenance) || (state.complete && !entry.complete)) return false;
      if (state.variant && entry.variant !== (state.variant === "none" ? "" : state.variant)) return false;
      const text = (entry.model + " " + entry.variant + " " + origin.title).toLowerCase();
      return words.every((word) => text.includes(word));
    });
    return fathom.byChoices(named, state, fathom.dateOf(board));
  };

  /** Whether a view of a board has anything to show. */
  const FILLED = {
    categories: () => true,
    lengths: (board) => board.entries.some((entry) => entry.lengths.some(Boolean)),
    tasks: (board) => board.byTask !== false,
    cost: (board) => board.entries.some((entry) => entry.overall && entry.usage && typeof entry.usage.cost === "number"),
  };

  /** Links to the views of a board that have something to show; `state` is the present one. */
  fathom.viewLinks = (board, state) =>
    h("nav", { class: "views", "aria-label": "Views" }, VIEWS.filter(([id]) => FILLED[id](board)).map(([id, title]) =>
      h("a", { href: fathom.addressOf(board, { ...state, view: id, ...order(state, id) }), "aria-current": state.view === id ? "page" : null }, title)));

  // Another view may not have the sorted column, and has others to choose from.
  function order(state, view) {
    const kept = view === state.view || ["overall", "rank", "model"].includes(state.by) ? {} : { by: "overall", desc: true };
    return view === state.view ? kept : { ...kept, hide: new Set(), show: new Set() };
  }

  /** The controls; they call `change(part of a state, quietly)`, `now()` gives the present state. */
  fathom.controls = function (board, now, change) {
    const count = (test) => board.entries.filter(test).length;
    const search = h("input", { type: "search", "aria-label": "Find a model", placeholder: "Find a model", autocomplete: "off", spellcheck: "false", oninput: () => change({ q: search.value }, true) });
    const boxes = PROVENANCES.map((one) => [one, count((entry) => board.origins[entry.origin].provenance === one)]).filter(([, lines]) => lines)
      .map(([one, lines]) => tick(one, lines, function (on) {
        const from = new Set(now().from);
        if (on) from.add(one); else from.delete(one);
        change({ from });
      }, one));
    const partial = count((entry) => !entry.complete);
    const complete = partial > 0 && tick("complete only", null, (on) => change({ complete: on }));
    const zero = board.missingIsZero && partial > 0 && tick("count missing as 0, as in the paper", null, (on) => change({ zero: on }));
    const variants = [...new Set(board.entries.map((entry) => entry.variant))].sort();
    const variant = variants.length > 1 && variants.length <= 12 && choice("Variant", [["", "all variants"], ...variants.map((one) => [one || "none", fathom.plain(one || "no variant")])], (value) => change({ variant: value }));
    const category = choice("Tasks", [["", "all tasks"], ...board.categories.map((one) => [one.id, fathom.plain(one.title)])], (value) => change({ category: value, by: "overall", desc: true }));
    const told = h("p", { class: "told" });
    const panel = fathom.panel(board.entries, fathom.dateOf(board), now, change);

    function show(state, lines, unstated, columns) {
      panel.show(state, columns);
      if (document.activeElement !== search) search.value = state.q;
      for (const box of boxes) box.input.checked = state.from.has(box.of);
      if (complete) complete.input.checked = state.complete;
      if (zero) zero.input.checked = state.zero;
      if (variant) variant.querySelector("select").value = state.variant;
      category.querySelector("select").value = state.category;
      category.hidden = state.view !== "tasks";
      told.textContent = lines === board.entries.length ? fathom.many(lines, "entry", "entries") : fathom.count(lines) + " of " + fathom.many(board.entries.length, "entry", "entries");
      told.textContent += unstated.map((text) => "; hidden: " + text).join("");
    }
    const element = h("div", { class: "controls", role: "search", "aria-label": "Filter entries" },
      search, category, variant,
      boxes.length > 1 && h("fieldset", null, h("legend", { class: "unseen" }, "Origin of the results"), boxes.map((box) => box.element)),
      complete && complete.element, zero && zero.element, told);
    return { element: h("div", null, element, panel.element), show };
  };

  function tick(text, lines, change, of) {
    const input = h("input", { type: "checkbox", onchange: () => change(input.checked) });
    const label = h("label", { class: "tick" }, input, of ? h("span", { class: "badge " + of }, text) : text, lines === null ? null : h("span", { class: "muted" }, fathom.count(lines)));
    return { element: label, input, of };
  }

  function choice(name, options, change) {
    const select = h("select", { "aria-label": name, onchange: () => change(select.value) }, options.map(([value, text]) => h("option", { value }, text)));
    return h("span", { class: "choice" }, select);
  }
})(window.fathom);

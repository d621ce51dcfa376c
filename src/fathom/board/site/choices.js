/* What is shown of many entries: filters by the weights, size and date that entries state, and the choice of columns.
   Boards and the index of all models share them. */
(function (fathom) {
  "use strict";
  const { h } = fathom;
  const BILLION = 1e9;
  const WEIGHTS = ["open", "closed", "unstated"];
  const DAY = /^\d{4}-\d\d-\d\d$/;
  const ALL = "all";
  /** What is shown of an entry that does not state something. */
  const UNSTATED = "not stated";

  const weightsOf = (entry) => entry.weights || "unstated";
  const names = (text) => new Set((text || "").split(",").filter(Boolean));

  /** The part of a state that filters by facts and chooses columns, without its invalid parts. */
  fathom.choicesOf = function (query) {
    const [, low, high] = /^(\d+\.?\d*)?-(\d+\.?\d*)?$/.exec(query.size || "") || [];
    return {
      weights: new Set(query.weights === undefined ? WEIGHTS : WEIGHTS.filter((one) => names(query.weights).has(one))),
      low: low || "", high: high || "",
      since: DAY.test(query.since || "") ? query.since : "",
      until: DAY.test(query.until || "") ? query.until : "",
      hide: names(query.hide), show: names(query.show),
    };
  };

  /** The same as a part of an address, without defaults. */
  fathom.choicesQuery = (state) => ({
    weights: state.weights.size === WEIGHTS.length ? null : WEIGHTS.filter((one) => state.weights.has(one)).join(",") || "none",
    size: state.low || state.high ? state.low + "-" + state.high : "",
    since: state.since,
    until: state.until,
    hide: [...state.hide].join(","),
    show: [...state.show].join(","),
  });

  const filtersSize = (state) => Boolean(state.low || state.high);
  const filtersDate = (state) => Boolean(state.since || state.until);

  // Months count from their first day to their last.
  function inTime(state, date) {
    return (date.length > 7 ? date : date + "-31") >= state.since && (!state.until || (date.length > 7 ? date : date + "-01") <= state.until);
  }

  /** Filters entries by facts.
   * @param {function} dateOf - gives the date of an entry, YYYY-MM-DD or YYYY-MM; "" if unknown.
   * @returns {{entries, unstated}} those shown, and texts on those hidden because they state nothing. */
  fathom.byChoices = function (all, state, dateOf) {
    const hidden = { size: 0, date: 0 };
    const entries = all.filter(function (entry) {
      if (!state.weights.has(weightsOf(entry))) return false;
      if (filtersSize(state)) {
        if (!entry.parameters) return (hidden.size += 1), false;
        const size = entry.parameters / BILLION;
        if (size < Number(state.low) || (state.high && size > Number(state.high))) return false;
      }
      if (filtersDate(state)) {
        if (!dateOf(entry)) return (hidden.date += 1), false;
        return inTime(state, dateOf(entry));
      }
      return true;
    });
    return { entries, unstated: Object.entries(hidden).filter(([, count]) => count).map(([name, count]) => `${fathom.count(count)} without a stated ${name}`) };
  };

  /** A number of parameters. */
  fathom.size = function (count) {
    const [unit, name] = [[1e12, "T"], [BILLION, "B"], [1e6, "M"], [1, ""]].find(([least]) => count >= least);
    return Number((count / unit).toPrecision(3)) + name;
  };

  /** Columns of facts, which are shown only if they are chosen; only those that some entry states. */
  fathom.factColumns = (all, dateOf) => [
    { id: "weights", head: "Weights", title: "Whether the weights of the model can be downloaded", value: (entry) => entry.weights || null, text: true, up: true, cell: (entry) => fact(entry.weights) },
    { id: "size", head: "Size", title: "Parameters of the model", value: (entry) => entry.parameters || null, cell: (entry) => fact(entry.parameters && fathom.size(entry.parameters)) },
    { id: "date", head: "Date", title: "When the result was published or measured", value: (entry) => dateOf(entry) || null, text: true, cell: (entry) => fact(dateOf(entry)) },
  ].filter((column) => all.some((entry) => column.value(entry) !== null)).map((column) => ({ ...column, name: "fact", added: true }));

  const fact = (text) => h("td", { class: "fact" }, text || h("span", { class: "none" }, UNSTATED));

  /** Whether a state shows a column. */
  const isShown = (state, column) => (column.added || state.hide.has(ALL) ? state.show.has(column.id) : !state.hide.has(column.id));

  /** The columns that a state shows. */
  fathom.chosenColumns = (columns, state) => columns.filter((column) => isShown(state, column));

  // What is to be hidden and shown, so that these columns are; the shorter of two ways.
  function choiceOf(columns, ticked) {
    const usual = columns.filter((column) => !column.added).map((column) => column.id);
    const hidden = usual.filter((id) => !ticked.has(id));
    const most = hidden.length > usual.length / 2;
    return { hide: new Set(most ? [ALL] : hidden), show: new Set([...ticked].filter((id) => most || !usual.includes(id))) };
  }

  /** A panel of filters and columns, which the reader unfolds.
   * @param {object[]} all - the entries.
   * @param {function} now - gives the present state; `change(part of a state, quietly)` is called with a new part.
   * @returns {{element, show(state, columns)}} columns are those to choose from. */
  fathom.panel = function (all, dateOf, now, change) {
    const filters = [weights(all, now, change), sizes(all, now, change), dates(all, dateOf, now, change)].filter(Boolean);
    const columns = h("fieldset", { class: "columns-of" });
    const title = h("summary");
    const clear = h("button", { type: "button", class: "quiet", onclick: () => change(fathom.choicesOf({}), true) }, "Reset columns and filters");
    const element = h("details", { class: "panel" }, title, h("div", { class: "panel-body" }, filters.map((one) => one.element), columns, h("p", null, clear)));
    let drawn = "";

    function show(state, there) {
      for (const one of filters) one.show(state);
      const kind = there.map((column) => column.id).join(" ");
      if (kind !== drawn) columns.replaceChildren(...boxes(there, now, change));
      drawn = kind;
      for (const box of columns.querySelectorAll("input")) box.checked = isShown(state, there[box.dataset.place]);
      columns.hidden = there.length === 0;
      const active = Object.values(fathom.choicesQuery(state)).filter(Boolean).length;
      title.textContent = (filters.length ? "Columns and filters" : "Columns") + (active ? ` (${active} set)` : "");
      clear.parentElement.hidden = active === 0;
      element.hidden = !filters.length && there.length === 0;
    }
    return { element, show };
  };

  function boxes(there, now, change) {
    const turn = function (place, on) {
      const ticked = new Set(fathom.chosenColumns(there, now()).map((column) => column.id));
      if (on) ticked.add(there[place].id); else ticked.delete(there[place].id);
      change(choiceOf(there, ticked), true);
    };
    const every = (on) => change(choiceOf(there, new Set(on ? there.map((column) => column.id) : [])), true);
    return [h("legend", null, "Columns"),
      h("div", { class: "ticks" }, there.map((column, place) => h("label", { class: "tick" },
        h("input", { type: "checkbox", "data-place": place, onchange: (event) => turn(place, event.target.checked) }), column.plain || column.head))),
      h("p", null, h("button", { type: "button", class: "quiet", onclick: () => every(true) }, "All columns"), " \u00b7 ", h("button", { type: "button", class: "quiet", onclick: () => every(false) }, "None"))];
  }

  function weights(all, now, change) {
    const counts = new Map(WEIGHTS.map((one) => [one, all.filter((entry) => weightsOf(entry) === one).length]));
    if (counts.get("unstated") === all.length) return null;
    const there = WEIGHTS.filter((one) => counts.get(one));
    const inputs = there.map((one) => h("input", { type: "checkbox", onchange: (event) => turn(one, event.target.checked) }));
    function turn(one, on) {
      const next = new Set(now().weights);
      if (on) next.add(one); else next.delete(one);
      change({ weights: next });
    }
    return {
      element: h("fieldset", null, h("legend", null, "Weights"), h("div", { class: "ticks" }, there.map((one, n) =>
        h("label", { class: "tick" }, inputs[n], one === "unstated" ? UNSTATED : one, h("span", { class: "muted" }, fathom.count(counts.get(one))))))),
      show: (state) => there.forEach((one, n) => (inputs[n].checked = state.weights.has(one))),
    };
  }

  function sizes(all, now, change) {
    if (!all.some((entry) => entry.parameters)) return null;
    return range("Size, billions of parameters", ["low", "high"], ["from", "to"], { type: "number", min: "0", step: "any", inputmode: "decimal" }, all.filter((entry) => !entry.parameters).length, change);
  }

  function dates(all, dateOf, now, change) {
    if (new Set(all.map(dateOf)).size < 2) return null;
    return range("Date of the result", ["since", "until"], ["from", "to"], { type: "date" }, all.filter((entry) => !dateOf(entry)).length, change);
  }

  function range(title, parts, words, attributes, without, change) {
    const inputs = parts.map((part) => h("input", { ...attributes, oninput: (event) => (event.target.validity.valid ? change({ [part]: event.target.value }, true) : null) }));
    return {
      element: h("fieldset", null, h("legend", null, title),
        h("div", { class: "ticks" }, inputs.map((input, n) => h("label", { class: "tick" }, words[n], input))),
        without > 0 && h("p", { class: "muted" }, `${UNSTATED}: ${fathom.count(without)}`)),
      show: (state) => inputs.forEach((input, n) => (document.activeElement === input ? null : (input.value = state[parts[n]]))),
    };
  }
})(window.fathom);

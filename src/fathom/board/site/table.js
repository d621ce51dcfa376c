/* A sortable table. A short one draws the rows in view first, and the others in idle time; of a long one only the rows in
   view are part of the page. */
(function (fathom) {
  "use strict";
  const { h } = fathom;
  // Rows drawn at once: more than are in view (only those for wide tables), then as many as a frame has time for.
  const ROWS = 40;
  const FEWEST = 15;
  const CELLS = 2400;
  // More rows than this make a table long.
  const LONG = 150;

  /** A table.
   * @param {string} caption - for screen readers.
   * @param {object[]} columns - {id, head: text or elements, title, name: class, value(entry) to sort by, up: lowest
   *     first, cell(entry): td or th, below: element under the head, text: sorts as text}.
   * @param {object} ways - {sort(id, up): called by a head, row(tr, entry): dresses a row, groups: first row of heads,
   *     name: class of the table, rows: the most rows that it may have}.
   * @returns {{element, show(entries, {by, desc}), all}} entries may hold {divider: text}; `all()` draws every row of a
   *     long table, and is null for others. */
  fathom.table = function (caption, columns, ways) {
    const heads = columns.map((column) => head(column, ways.sort));
    const body = { now: h("tbody") };
    const element = h("table", { class: ways.name },
      h("caption", null, caption),
      h("thead", null, ways.groups, h("tr", null, heads)),
      body.now);
    const made = new WeakMap();

    function row(entry) {
      if (!made.has(entry)) made.set(entry, entry.divider ? h("tr", { class: "divider" }, h("td", { colspan: columns.length }, h("span", null, entry.divider)))
        : h("tr", null, columns.map((column) => column.cell(entry))));
      const tr = made.get(entry);
      if (ways.row && !entry.divider) ways.row(tr, entry);
      return tr;
    }
    row.made = made;

    const long = ways.rows > LONG ? fathom.rowsInView(element, columns.length, row) : null;
    let turn = 0;
    function show(entries, sort) {
      const mine = (turn += 1);
      columns.forEach((column, n) => mark(heads[n], column, sort));
      if (long) return long.show(entries), Promise.resolve();
      const next = h("tbody");
      const step = Math.max(20, Math.round(CELLS / columns.length));
      const first = Math.min(ROWS, Math.max(FEWEST, Math.round(CELLS / 2 / columns.length)));
      next.append(...entries.slice(0, first).map(row));
      body.now.replaceWith(next);
      body.now = next;
      return new Promise(function (resolve) {
        (function more(start) {
          if (mine !== turn || start >= entries.length) return resolve();
          setTimeout(function () {
            if (mine === turn) next.append(...entries.slice(start, start + step).map(row));
            more(start + step);
          }, 0);
        })(first);
      });
    }
    return { element, show, all: long && long.all };
  };

  /** A note under a long table, with a button that draws all of its rows; [] under others. */
  fathom.allRows = (table) => (table.all ? [h("p", { class: "muted all-rows" }, "Rows are drawn while you scroll. The search of the browser finds only those in view; \u201cFind a model\u201d finds all. ",
    h("button", { type: "button", class: "quiet", onclick: () => (table.all(), fathom.say("All rows are drawn")) }, "Draw all rows"))] : []);

  function head(column, sort) {
    const attributes = { scope: "col", class: column.name || null, title: column.title || null };
    if (!column.value) return h("th", attributes, column.head, column.below);
    const button = h("button", { type: "button", class: "sort" }, h("span", null, column.head), h("i", { "aria-hidden": "true" }));
    button.addEventListener("click", () => sort(column));
    return h("th", attributes, button, column.below);
  }

  function mark(th, column, sort) {
    if (!column.value) return;
    if (column.id === sort.by) th.setAttribute("aria-sort", sort.desc ? "descending" : "ascending");
    else th.removeAttribute("aria-sort");
  }

  /** Entries in the order of a column; those without a value are last, whatever the direction. */
  fathom.sorted = function (entries, column, desc) {
    const keyed = entries.map((entry) => [column.value(entry), entry]);
    const known = keyed.filter(([value]) => value !== null && value !== undefined);
    const way = desc ? -1 : 1;
    const compare = column.text ? (a, b) => a.localeCompare(b) : (a, b) => a - b;
    known.sort((a, b) => way * compare(a[0], b[0]));
    return [...known, ...keyed.filter(([value]) => value === null || value === undefined)].map(([, entry]) => entry);
  };

  /** A small table that does not sort: heads and rows of elements or text; the first cell of a row is its head. */
  fathom.plainTable = (caption, heads, rows, name) =>
    h("table", { class: "plain " + (name || "") },
      h("caption", null, caption),
      h("thead", null, h("tr", null, heads.map((one, n) => (one instanceof HTMLTableCellElement ? one : h("th", { scope: "col", class: n ? null : "text" }, one))))),
      h("tbody", null, rows.map(([first, ...rest]) =>
        h("tr", null, h("th", { scope: "row" }, first), rest.map((cell) => (cell instanceof HTMLTableCellElement ? cell : h("td", null, cell)))))));
})(window.fathom);

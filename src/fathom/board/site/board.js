/* The page of a board: its table, its views, and the tray of entries to compare. */
(function (fathom) {
  "use strict";
  const { h } = fathom;
  const MOST = 6;
  // Entries that were measured here which the heading names.
  const OWN = 3;
  // Chosen entries by board; kept while other pages are shown.
  const chosen = new Map();

  fathom.pages = {};

  fathom.pages.boards = async function (id, query) {
    const board = await fathom.load("boards/" + id);
    const page = { board, state: fathom.stateOf(board, query), chosen: chosenOf(board.id) };
    const controls = fathom.controls(board, () => page.state, (part, quietly) => fathom.go(fathom.addressOf(board, { ...page.state, ...part }), quietly));
    const views = h("div");
    const view = h("div", { class: "view" });
    const element = h("div", null, heading(board), h("div", { class: "bar" }, views, downloads(board)), controls.element, view, legend(board));

    async function update(next) {
      page.state = fathom.stateOf(board, next);
      views.replaceChildren(fathom.viewLinks(board, page.state));
      const { entries, unstated } = fathom.shown(board, page.state);
      await draw(page, view, entries);
      controls.show(page.state, entries.length, unstated, page.table ? page.table.choice : []);
      if (page.told !== undefined && page.told !== entries.length) fathom.say(fathom.many(entries.length, "entry", "entries") + " shown");
      page.told = entries.length;
    }
    await update(query);
    return { title: board.title, element, update, board: board.id, shown: () => tray(board, page.chosen) };
  };

  function chosenOf(id) {
    if (!chosen.has(id)) chosen.set(id, new Set());
    return chosen.get(id);
  }

  function heading(board) {
    const counts = new Map();
    for (const entry of board.entries) {
      const kind = board.origins[entry.origin].provenance;
      counts.set(kind, (counts.get(kind) || 0) + 1);
    }
    const told = fathom.PROVENANCES.filter((kind) => counts.has(kind)).map((kind) => fathom.count(counts.get(kind)) + " " + kind);
    const mixed = counts.size > 1 && ". Papers use their own prompts and questions: small differences between entries of different origin mean little";
    const facts = [
      h("dl", { class: "facts" },
        fathom.fact("Overall score", fathom.capital(fathom.plain(board.rule))),
        fathom.fact("Entries", fathom.listed(told), mixed)),
      h("dl", { class: "facts" },
        fathom.fact("Source", board.citation && fathom.outside(board.url, fathom.plain(board.citation))),
        fathom.fact("Tasks", h("a", { href: fathom.to("boards", board.id, { view: "tasks" }) }, fathom.many(board.tasks.length, "task")), " in ", fathom.many(board.categories.length, "category", "categories"))),
    ];
    return h("div", { class: "heading" },
      h("h1", { tabindex: "-1" }, fathom.plain(board.title)),
      h("p", { class: "lead" }, fathom.plain(board.about)),
      ownEntries(board),
      fathom.narrow() ? fathom.fold("Score, entries, tasks, source", false, facts) : h("div", { class: "halves" }, facts));
  }

  // The entries that were measured for this site, before all others; null if there are no others.
  function ownEntries(board) {
    const own = board.entries.filter((entry) => board.origins[entry.origin].provenance === "measured");
    if (!own.length || own.length === board.entries.length) return null;
    const shown = own.slice(0, OWN);
    const rank = ({ rank }) => (rank ? ", rank " + [...new Set(rank)].join("\u2013") : ", no rank");
    return h("p", { class: "own" }, h("b", null, "Measured here: "), shown.map((entry, n) => [n ? "; " : "",
      h("a", { href: fathom.to("models", entry.modelKey) }, fathom.entryName(entry)), entry.overall ? " " + fathom.percent(entry.overall[0]) + "%" : "", rank(entry)]),
    own.length > OWN && ` and ${fathom.count(own.length - OWN)} more`, ". ",
    shown.length > 1 && h("a", { href: fathom.to("compare", "", { board: board.id, lines: shown.map((entry) => entry.key).join(",") }) }, "Compare them"));
  }

  function downloads(board) {
    return h("p", { class: "downloads" }, "Download ", ["csv", "parquet", "json"].map((kind, n) =>
      [n ? " \u00b7 " : "", h("a", { href: `downloads/${board.id}.${kind}`, download: `${board.id}.${kind}` }, kind.toUpperCase().replace("PARQUET", "Parquet"))]));
  }

  function legend(board) {
    const bound = board.entries.some((entry) => entry.overall && entry.overall[3]);
    const other = board.entries.flatMap((entry) => [entry.overall, ...entry.categories, ...entry.lengths]).find((est) => est && est[4]);
    const noted = board.origins.some((origin) => !fathom.isOfPaper(origin) && origin.note);
    return h("div", { class: "legend muted" },
      h("p", null, "A rank is a range of ranks at 95% confidence; a bracket joins an entry with the entries below it that are not distinguishable from it. Click a rank to see why. Means are in percent, with their 95% intervals."),
      bound && h("p", null, h("i", null, "An interval in italics"), " with an open bar: only means are published, so the interval is the widest that this many scores can have."),
      noted && h("p", null, "A badge with a * has a note on the entry. Click it to read the note."),
      other && h("p", null, / without the /.test(other[4]) ? "\u201cAnswered only\u201d is the mean without unanswered replies, which count 0 in the score above it." : "\u201cUnanswered as 0\u201d is the mean with 0 for unanswered replies, which are left out of the score above it."),
      h("p", null, h("span", { class: "none" }, "n/a"), " means that there is no score. It is left out of averages, never counted as 0", board.missingIsZero ? ", unless you switch to the count of the paper. " : ". ", "* is a mean over part of a category. ", h("a", { href: "#/about" }, "How to read this board")),
      board.licence && h("p", null, "Licence of the data: ", fathom.plain(board.licence), /[.]$/.test(board.licence) ? "" : "."));
  }

  async function draw(page, view, entries) {
    const { board, state } = page;
    if (state.view === "cost") {
      page.table = null;
      return view.replaceChildren(fathom.costView(board, entries));
    }
    const kind = [state.view, state.category, state.zero, ...state.hide, "", ...state.show].join("/");
    if (!page.table || page.kind !== kind) {
      const made = await tableOf(page, state);
      page.kind = kind;
      page.table = made;
      view.replaceChildren(made.note || "", made.element ? fathom.scroller("Table of the board", made.element) : "", made.under || "");
    }
    if (!page.table.element) return;
    const there = entries.filter(page.table.has);
    page.table.under.replaceChildren(...under(entries.length, entries.length - there.length, state.view), ...fathom.allRows(page.table));
    page.whole = page.table.show(ordered(page, there, page.table.columns), state);
  }

  // Note on entries that the table does not show.
  function under(asked, without, view) {
    if (!asked) return [h("p", { class: "empty" }, "No entry matches these filters.")];
    return without ? [h("p", { class: "muted" }, `${fathom.many(without, "entry", "entries")} without a score ${view === "lengths" ? "at any length" : "on any of these tasks"} ${without === 1 ? "is" : "are"} not shown.`)] : [];
  }

  async function tableOf(page, state) {
    const { board } = page;
    const ways = { chosen: page.chosen, choose: (entry, on) => choose(page, entry, on), zero: () => page.state.zero };
    const cells = state.view === "tasks" ? await fathom.load("cells/" + board.id) : null;
    const more = state.view === "lengths" ? fathom.lengthColumns(board) : cells ? fathom.taskColumns(board, cells, state.category) : fathom.categoryColumns(board, ways);
    if (!more.length && state.view !== "categories") return { note: nothing(board, state), choice: [] };
    const choice = [...fathom.factColumns(board.entries, fathom.dateOf(board)), ...more];
    const columns = [...fathom.leading(board, ways), ...fathom.chosenColumns(choice, state)];
    const made = fathom.table(`${board.title}: entries and their scores, ${state.view}`, columns, {
      name: "board " + state.view + (more.length > 8 && state.view === "tasks" ? " upright" : ""),
      groups: cells && more.length && !state.category ? groups(board, columns) : null,
      row: (tr, entry) => dress(tr, entry, page),
      rows: board.entries.length,
      sort(column) {
        const now = page.state;
        fathom.go(fathom.addressOf(board, { ...now, by: column.id, desc: now.by === column.id ? !now.desc : !column.up }));
      },
    });
    const figures = more.filter((column) => column.value);
    const has = (entry) => state.view === "categories" || figures.some((column) => column.value(entry) !== null);
    return { ...made, columns, choice, has, under: h("div"), note: state.view === "lengths" ? lengthNote(board) : null };
  }

  // Shown instead of a table without columns.
  function nothing(board, state) {
    const back = h("a", { href: fathom.addressOf(board, { ...state, view: "categories" }) }, "Scores by category");
    if (state.view === "lengths") return h("p", { class: "empty" }, "No entry of this board has scores by length. ", back);
    const title = new Map(board.tasks.map((task) => [task.id, fathom.plain(task.title)]));
    return h("div", { class: "empty" },
      h("p", null, "No entry of this board has scores by task. ", back),
      h("p", null, "The tasks:"),
      h("ul", { class: "names" }, fathom.tasksOf(board, state.category).map((task) => h("li", null, h("a", { href: fathom.to("tasks", task) }, title.get(task) || task)))));
  }

  function lengthNote(board) {
    const only = board.lengthTasks || [];
    const title = new Map(board.tasks.map((task) => [task.id, fathom.plain(task.title)]));
    return only.length ? h("p", { class: "muted" }, "Lengths in tokens; means over " + only.map((task) => title.get(task)).join(", ") + ", which have all of these lengths.") : null;
  }

  function groups(board, columns) {
    const left = new Set(columns.map((column) => column.id));
    const wide = board.categories.map((one) => [one, one.tasks.filter((task) => left.delete("task/" + task)).length]).filter(([, count]) => count);
    return h("tr", { class: "groups" }, h("td", { colspan: left.size }), wide.map(([one, count]) =>
      h("th", { scope: "colgroup", colspan: count }, h("span", null, fathom.plain(one.title)))));
  }

  // By overall score, incomplete entries come after the complete ones.
  function ordered(page, entries, columns) {
    const { by, desc, zero } = page.state;
    const column = columns.find((one) => one.id === by && one.value) || columns.find((one) => one.id === "overall");
    if (column.id !== "overall" || zero) return fathom.sorted(entries, column, desc);
    const whole = fathom.sorted(entries.filter((entry) => entry.complete), column, desc);
    const part = fathom.sorted(entries.filter((entry) => !entry.complete), column, desc);
    page.ties = tieEnds(whole);
    return part.length ? [...whole, { divider: "Not complete: scores or replies are missing, or other entries have more questions; not ranked" }, ...part] : whole;
  }

  // Rows that begin and end a bracket; groups of one have none.
  function tieEnds(entries) {
    const ends = new Map();
    entries.forEach((entry, n) => {
      const like = (other) => other && entry.group !== null && other.group === entry.group;
      const [up, down] = [like(entries[n - 1]), like(entries[n + 1])];
      if (up || down) ends.set(entry, "tie" + (up ? "" : " tie-first") + (down ? "" : " tie-last"));
    });
    return ends;
  }

  function dress(tr, entry, page) {
    const tied = page.state.by === "overall" && !page.state.zero && page.ties ? page.ties.get(entry) : "";
    const name = [tied, entry.group !== null && entry.group % 2 ? "odd" : "", entry.complete ? "" : "partial", page.chosen.has(entry.key) ? "chosen" : ""].filter(Boolean).join(" ");
    if (tr.className !== name) tr.className = name;
    const box = tr.querySelector("input");
    if (box) box.checked = page.chosen.has(entry.key);
  }

  function choose(page, entry, on) {
    if (on && page.chosen.size >= MOST) fathom.say(`At most ${MOST} entries can be compared`);
    else if (on) page.chosen.add(entry.key);
    else page.chosen.delete(entry.key);
    refresh(page.board, page.chosen);
  }

  function refresh(board, picked) {
    for (const box of document.querySelectorAll("table.board td.pick input")) {
      box.checked = picked.has(box.dataset.key);
      box.closest("tr").classList.toggle("chosen", box.checked);
    }
    tray(board, picked);
  }

  function tray(board, picked) {
    const bar = document.getElementById("tray");
    bar.hidden = picked.size === 0;
    const names = board.entries.filter((entry) => picked.has(entry.key)).map(fathom.entryName).join(", ");
    bar.replaceChildren(
      h("p", { title: names }, h("b", null, fathom.many(picked.size, "entry", "entries")), " selected", picked.size === 1 ? ": select one more" : picked.size >= MOST ? " (the maximum)" : ""),
      picked.size > 1 && h("a", { class: "do", href: fathom.to("compare", "", { board: board.id, lines: [...picked].join(",") }) }, `Compare ${picked.size}`),
      h("button", { type: "button", onclick: () => (picked.clear(), refresh(board, picked)) }, "Clear"));
  }
})(window.fathom);

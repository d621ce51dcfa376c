/* The list of samples: only the rows in view are elements, so that a hundred thousand samples scroll at ease. */
(function (fathom) {
  "use strict";
  const { h } = fathom;
  const ROW = 60;
  const BEYOND = 12;
  const SCORES = [["right", "right (1)"], ["partly", "partly right"], ["wrong", "wrong (0)"], ["none", "not scored"]];
  const RANGES = [["0-0.25", "first quarter"], ["0.25-0.5", "second quarter"], ["0.5-0.75", "third quarter"], ["0.75-1", "last quarter"]];

  /** The name of a run. */
  fathom.runName = (run) => fathom.plain(run.model + (run.variant ? " (" + run.variant + ")" : ""));

  /** The filters; `change(part of a state, quietly)` is called with what the user chose. */
  fathom.filterForm = function (form, list, entries, change) {
    const found = (of) => [...new Set(entries.map(of))];
    const statuses = [...new Set(entries.flatMap((entry) => entry.replies.map((one) => one.status)))].sort();
    const depths = found((entry) => entry.depth).filter((depth) => depth !== null).sort((one, other) => one - other);
    const search = h("input", { type: "search", name: "q", id: "search", placeholder: "Search", "aria-label": "Search ids, questions and answers", autocomplete: "off", spellcheck: "false", oninput: () => change({ q: search.value }, true) });
    const selects = {
      suite: select("suite", "Suite", [["", "all suites"], ...list.suites.map((name) => [name, fathom.plain(name)])], list.suites.length > 1),
      task: select("task", "Task", [["", "all tasks"], ...list.tasks.map((task) => [task.name, fathom.plain(task.title)])], list.tasks.length > 1),
      length: lengths(),
      depth: select("depth", "Depth", [["", "all depths"], ...(depths.length <= 12 ? depths.map((depth) => [String(depth), "depth " + depth]) : RANGES)], depths.length > 1),
      status: select("status", "Status", [["", "all statuses"], ...statuses.map((one) => [one, one])], statuses.length > 1),
      score: select("score", "Score", [["", "all scores"], ...SCORES, ...(list.runs.length > 1 ? [["differ", "runs disagree"]] : [])], true),
    };
    const runs = list.runs.map((run, n) => [String(n), fathom.runName(run)]);
    const left = list.runs.length > 1 && h("select", { class: "run", "aria-label": "Run", onchange: () => change(chosen(left.value, other.value)) }, [["", "all runs"], ...runs].map(option));
    const other = list.runs.length > 1 && h("select", { class: "run", "aria-label": "Compare with", onchange: () => change(chosen(left.value, other.value)) }, [["none", "no comparison"], ...runs.map(([n, name]) => [String(Number(n) + 1), "compare with " + name])].map(option));
    const clear = h("button", { type: "button", class: "plain", onclick: () => change({ model: "", variant: "", suite: "", task: "", length: "", depth: "", status: "", score: "", q: "" }) }, "Clear filters");
    form.addEventListener("submit", (event) => event.preventDefault());
    form.replaceChildren(...[search, left, other, ...Object.values(selects).filter(Boolean), clear].filter(Boolean));

    function lengths() {
      const all = found((entry) => entry.length).sort((one, two) => one - two);
      return select("length", "Length", [["", "all lengths"], ...all.map((one) => [String(one), one ? fathom.lengthName(one) + " tokens" : "without context"])], all.length > 1);
    }

    function chosen(run, second) {
      const named = run === "" ? { model: "", variant: "" } : { model: list.runs[run].model, variant: list.runs[run].variant };
      return { ...named, other: second };
    }

    function select(name, label, options, wanted) {
      if (!wanted) return null;
      const made = h("select", { name, "aria-label": label, onchange: () => change({ [name]: made.value }) }, options.map(option));
      return made;
    }

    function option([value, text]) {
      return h("option", { value }, text);
    }

    /** Shows a state. */
    return function (state) {
      if (document.activeElement !== search) search.value = state.q || "";
      for (const [name, one] of Object.entries(selects)) {
        if (!one) continue;
        const value = state[name] || "";
        if (value && ![...one.options].some((each) => each.value === value)) one.append(option([value, value]));
        one.value = value;
        one.classList.toggle("set", Boolean(value));
      }
      if (left) {
        const run = fathom.leftRun(list, state);
        left.value = run < 0 ? "" : String(run);
        left.classList.toggle("set", run >= 0);
        const shown = fathom.shownRuns(list, state);
        other.value = shown.length > 1 ? String(shown[1] + 1) : "none";
      }
      clear.hidden = !["model", "suite", "task", "length", "depth", "status", "score", "q"].some((name) => state[name]);
    };
  };

  /** The rows; `address(entry)` is the link of one. */
  fathom.rowList = function (scroller, rows, list, address) {
    let entries = [];
    let chosen = -1;
    let compared = [];
    let drawn = "";

    function draw() {
      const first = Math.max(0, Math.floor(scroller.scrollTop / ROW) - BEYOND);
      const last = Math.min(entries.length, Math.ceil((scroller.scrollTop + scroller.clientHeight) / ROW) + BEYOND);
      const key = [first, last, chosen, compared, entries.length].join();
      if (key === drawn) return;
      drawn = key;
      const focus = document.activeElement && rows.contains(document.activeElement) ? document.activeElement.dataset.n : null;
      rows.style.height = entries.length * ROW + "px";
      rows.replaceChildren(...entries.slice(first, last).map((entry, n) => row(entry, first + n)));
      if (focus !== null) (rows.querySelector(`[data-n="${focus}"]`) || scroller).focus({ preventScroll: true });
    }

    function row(entry, place) {
      const shown = compared[0];
      const own = entry.replies.find((one) => one.run === shown) || entry.replies[0];
      const differs = list.runs.length > 1 && fathom.differ(entry);
      const answer = own.answer || (own.status === "ok" ? "" : own.status);
      const link = h("a", { href: address(entry), "data-n": String(place), "aria-current": place === chosen ? "true" : null },
        h("span", { class: "name" }, fathom.plain(entry.id)),
        h("span", { class: "chips" }, differs && h("span", { class: "differs", title: "runs disagree" }, "\u2260"), entry.replies.slice(0, 6).map((one) => fathom.chip(one.value, fathom.runName(list.runs[one.run]), one.status)), entry.replies.length > 6 && h("span", { class: "muted" }, "+" + (entry.replies.length - 6))),
        h("span", { class: "answer" }, answer ? h("bdi", null, fathom.visible(answer)) : h("i", null, "no answer"), entry.gold ? [" \u00b7 gold ", h("bdi", null, fathom.visible(entry.gold))] : ""));
      const item = h("li", { "aria-setsize": String(entries.length), "aria-posinset": String(place + 1) }, link);
      item.style.top = place * ROW + "px";
      return item;
    }

    scroller.addEventListener("scroll", draw, { passive: true });
    new ResizeObserver(draw).observe(scroller);

    return {
      /** Shows entries, with one of them chosen (-1: none); `kept` at the place where the list is scrolled to. */
      show(found, place, runs, kept) {
        if (found !== entries && !kept) scroller.scrollTop = 0;
        entries = found;
        chosen = place;
        compared = runs;
        drawn = "";
        rows.style.height = entries.length * ROW + "px";
        if (place >= 0 && !kept) {
          const top = place * ROW;
          if (top < scroller.scrollTop) scroller.scrollTop = top - ROW;
          else if (top + 2 * ROW > scroller.scrollTop + scroller.clientHeight) scroller.scrollTop = top - scroller.clientHeight / 2;
        }
        draw();
      },
    };
  };
})(window.fathom);

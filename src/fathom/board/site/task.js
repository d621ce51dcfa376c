/* The page of a task: protocol, example and scores. */
(function (fathom) {
  "use strict";
  const { h, s } = fathom;

  fathom.pages.tasks = async function (id) {
    const tasks = await fathom.load("tasks");
    if (!Object.prototype.hasOwnProperty.call(tasks, id)) throw new Error("There is no such task.");
    const task = tasks[id];
    const wholes = await Promise.all(task.boards.map(fathom.whole));
    const element = h("div", null,
      h("div", { class: "heading" },
        h("h1", { tabindex: "-1" }, fathom.plain(task.title)),
        h("p", { class: "lead" }, description(task)),
        protocol(id, task)),
      (task.data || []).length > 1 && fathom.fold(`Licences and citations of ${fathom.count(task.data.length)} data sets`, false, fathom.scroller("Data sets", dataSets(task.data))),
      task.example && example(task.example),
      wholes.map((whole) => ranking(whole, id, task)));
    return { title: fathom.plain(task.title), element };
  };

  // Some descriptions begin with the title, which is the heading.
  function description(task) {
    const [text, title] = [fathom.plain(task.description || ""), fathom.plain(task.title)];
    const rest = fathom.capital(text.startsWith(title + ", ") ? text.slice(title.length + 2) : text);
    return rest + (!rest || /[.!?]$/.test(rest) ? "" : ".");
  }

  function protocol(id, task) {
    const rules = task.rules || {};
    const several = (task.data || []).length > 1;
    return h("div", { class: "halves" },
      h("dl", { class: "facts" },
        fathom.fact("Metric", fathom.plain(task.metric || "")),
        fathom.fact("Official rule", fathom.plain(rules.official || "")),
        fathom.fact("Strict rule", rules.strict !== task.metric && fathom.plain(rules.strict || "")),
        fathom.fact("Chance", level(task.chance)),
        fathom.fact("Closed-book", level(task.closedBook))),
      h("dl", { class: "facts" },
        fathom.fact("Languages", (task.languages || []).map(language).join(", ")),
        fathom.fact("Longest reply", task.maxOutputTokens && fathom.many(task.maxOutputTokens, "token")),
        fathom.fact("Data", fathom.plain(task.source || "")),
        !several && fathom.fact("Licence", fathom.plain(task.licence || "")),
        !several && fathom.fact("Citation", fathom.plain(task.citation || "")),
        fathom.fact("Name and version", h("code", null, fathom.plain(id)), task.version ? ", version " + fathom.plain(task.version) : "")));
  }

  const dataSets = (data) => fathom.plainTable("Data sets of the task", ["Data set", "Licence", "Citation"], data.map((one) => [
    fathom.name(one.name), h("td", { class: "text" }, fathom.plain(one.licence)), h("td", { class: "text long" }, fathom.plain(one.citation)),
  ]), "texts");

  const NAMES = new Intl.DisplayNames(["en"], { type: "language", fallback: "code" });

  function language(code) {
    try {
      return NAMES.of(code);
    } catch {
      return fathom.plain(code);  // a name already
    }
  }

  const level = (value) => (value === null || value === undefined ? null : value === 0 ? "0%" : fathom.percent(value) + "%");

  function example(one) {
    return h("section", null, h("h2", null, "Example"),
      h("p", { class: "muted" }, [one.tokens && `A prompt of ${fathom.many(one.tokens, "token")}.`, one.end && " Its middle is left out."]),
      h("div", { class: "prompt", role: "region", "aria-label": "Example of a prompt" },
        h("p", null, fathom.plain(one.start)), one.end && [h("p", { class: "cut" }, "\u22ef the middle is left out \u22ef"), h("p", null, fathom.plain(one.end))]),
      one.target && h("p", { class: "answer" }, h("span", { class: "muted" }, "Correct answer "), h("span", { class: "target" }, fathom.plain(one.target))));
  }

  function ranking(whole, id, task) {
    const { board } = whole;
    const told = board.entries.map((entry) => [entry, fathom.onTask(whole, entry, id)]).filter(([, est]) => est).sort((a, b) => b[1][0] - a[1][0]);
    const lacking = board.entries.length - told.length;
    const rows = told.map(([entry, est]) => [
      [h("a", { href: fathom.to("models", entry.modelKey) }, fathom.name(entry.model)), entry.variant && h("span", { class: "variant" }, fathom.name(entry.variant))],
      h("td", { class: "bar-cell" }, bar(est, task.chance)), fathom.scoreCell(est), fathom.badge(board.origins[entry.origin]),
    ]);
    return h("section", null,
      h("h2", null, "On ", h("a", { href: fathom.to("boards", board.id) }, fathom.plain(board.title))),
      rows.length ? fathom.scroller("Scores on " + board.title, fathom.plainTable(`Scores on this task, ${board.title}`, ["Model", axis(task.chance), "Score, %", "Source"], rows, "ranking")) : h("p", { class: "empty" }, "No entry has a score on this task alone."),
      h("p", { class: "muted" }, rows.length > 1 && "Best first; differences between overlapping bars may not be significant. ", rows.length > 0 && lacking ? `${fathom.many(lacking, "entry", "entries")} of this board ${lacking === 1 ? "has" : "have"} no score on this task.` : ""));
  }

  // Redrawn at the width of a phone instead of scaled down, so that its marks stay visible.
  function bar(est, chance) {
    const wide = fathom.barWidth();
    const at = (value) => fathom.round(4 + (wide - 8) * Math.min(1, Math.max(0, value)));
    const ends = fathom.ends(est);
    return s("svg", { viewBox: `0 0 ${wide} 18`, width: wide, height: 18, class: "whisker", "aria-hidden": "true" },
      s("path", { class: "rail", d: `M4 9H${wide - 4}` }),
      chance && s("path", { class: "chance", d: `M${at(chance)} 0V18` }),
      ends && fathom.arm(at(ends[0]), at(ends[1]), 9, est[3]),
      s("circle", { class: "dot", cx: at(est[0]), cy: 9, r: 3.4 }));
  }

  function axis(chance) {
    return h("span", { class: "task-axis" }, h("span", null, "0"), chance ? h("span", { class: "chance-word" }, "chance " + fathom.percent(chance, 0)) : h("span", null, "50"), h("span", null, "100"));
  }
})(window.fathom);

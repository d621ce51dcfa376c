/* The page of a model: every score on every board, how it was asked, and where the results come from. */
(function (fathom) {
  "use strict";
  const { h } = fathom;
  const OUTCOMES = { cut: "truncated at the output cap", overflow: "prompt too long for the model" };

  fathom.pages.models = async function (id, query) {
    if (!id) return fathom.allModels(query);
    const model = await fathom.load("models/" + id);
    const boards = [...new Set(model.entries.map((one) => one.board))];
    const wholes = new Map(await Promise.all(boards.map(async (board) => [board, await fathom.whole(board)])));
    const lines = model.entries.map((one) => ({ ...one, whole: wholes.get(one.board), entry: wholes.get(one.board).entry(one.key) })).filter((one) => one.entry);
    const element = h("div", null,
      h("div", { class: "heading" },
        h("h1", { tabindex: "-1" }, fathom.name(model.model)),
        h("p", { class: "lead" }, `${fathom.many(lines.length, "entry", "entries")} on ${fathom.listed(boards.map((board) => fathom.plain(wholes.get(board).board.title)))}.`)),
      lines.length > 1 && fathom.scroller("Summary", summary(lines)),
      lines.map((line, n) => section(line, `entry ${n + 1}`)));
    return { title: fathom.plain(model.model), element };
  };

  function summary(lines) {
    const varied = lines.some(({ entry }) => entry.variant);
    return fathom.plainTable("All entries of this model", ["Board", varied && "Variant", "Rank", "Overall, %", "Source"].filter(Boolean), lines.map(({ whole, entry, origin }) => [
      h("a", { href: fathom.to("boards", whole.board.id) }, fathom.plain(whole.board.title)), ...(varied ? [fathom.name(entry.variant)] : []),
      h("td", null, fathom.rank(entry.rank), entry.rank && h("span", { class: "ci" }, "of " + whole.board.entries.filter((one) => one.rank).length)),
      fathom.scoreCell(entry.overall), fathom.badge(origin),
    ]), "texts");
  }

  function section({ whole, entry, origin, settings, usage, outcomes }, of) {
    const { board } = whole;
    const tasks = fathom.tasksOf(board, "").some((task) => fathom.onTask(whole, entry, task));
    return h("section", { class: "line" },
      h("h2", null, h("a", { href: fathom.to("boards", board.id) }, fathom.plain(board.title)), entry.variant && h("span", { class: "variant" }, fathom.name(entry.variant))),
      h("p", { class: "standing" }, fathom.badge(origin), " ", h("span", { class: "muted" }, [origin.title, origin.table, origin.date].filter(Boolean).map(fathom.plain).join(", "))),
      h("p", { class: "standing" }, entry.overall ? [h("b", null, fathom.percent(entry.overall[0]) + "%"), " overall", standing(board, entry)] : "No overall score."),
      h("div", { class: "beside" },
        fathom.scroller("By category, " + of, fathom.categoryTable(board, [entry], ["Score, %"])),
        fathom.figures(board, [entry]) || ""),
      tasks && fathom.fold("By task", true, fathom.taskProfile(whole, entry, "By task, " + of)),
      fathom.overLengths(board, entry).length > 1 && fathom.fold("By length", false, fathom.scroller("By length, " + of, fathom.lengthTable(board, [entry], ["Score, %"]))),
      fathom.fold("Origin, usage, settings", true, facts({ origin, settings, usage, outcomes }, of)));
  }

  function standing(board, entry) {
    const ends = fathom.ends(entry.overall);
    const ranked = board.entries.filter((one) => one.rank).length;
    const said = [ends ? `, 95% interval ${fathom.range(ends)}` : ", interval unknown"];
    said.push(entry.overall[3] ? " (the widest possible: only means are published)" : "");
    said.push(fathom.both(entry.overall));  // after the interval, which is that of the score
    said.push(entry.rank ? `; rank ${fathom.rank(entry.rank)} of ${ranked} ` : "; not ranked ");
    return [...said, fathom.opens({ class: "quiet" }, "why?", fathom.whyTitle(entry), () => fathom.why(board, entry))];
  }

  function facts({ origin, settings, usage, outcomes }, of) {
    const replies = Object.entries(outcomes || {}).filter(([, count]) => count);
    const took = usage || (replies.length ? {} : null);
    const all = Object.entries(settings || {});
    const plain = all.filter(([, value]) => !isNested(value));
    const nested = all.filter(([, value]) => isNested(value));
    return h("div", { class: "columns" },
      h("div", null, fathom.originOf(origin)),
      took && h("dl", { class: "facts" },
        fathom.fact("Replies", replies.map(([status, count]) => h("span", { class: "piece" }, `${fathom.count(count)} ${OUTCOMES[status] || fathom.plain(status)}`))),
        fathom.fact("Cost per reply", isKnown(took.cost) ? fathom.dollars(took.cost) : "unknown"),
        fathom.fact("Tokens per prompt", isKnown(took.tokensIn) ? fathom.count(took.tokensIn) : "unknown"),
        fathom.fact("Tokens per reply", isKnown(took.tokensOut) ? fathom.count(took.tokensOut) : "unknown"),
        fathom.fact("Time per reply", isKnown(took.seconds) ? fathom.seconds(took.seconds) : "unknown")),
      plain.length > 0 && h("dl", { class: "facts" }, plain.map(([name, value]) => fathom.fact(words(name), setting(value)))),
      nested.map(([name, value]) => settingTable(name, value, of)));
  }

  // Settings of each task, say: {TASK: {version, rule, ...}}.
  function settingTable(name, value, of) {
    const columns = [...new Set(Object.values(value).flatMap(Object.keys))];
    return h("div", { class: "whole" }, fathom.fold("Settings by " + (name === "tasks" ? "task" : fathom.plain(name)), false, fathom.scroller(`Settings, ${name}, ${of}`,
      fathom.plainTable("Settings: " + name, [fathom.plain(name), ...columns.map(fathom.plain)],
        Object.entries(value).map(([key, own]) => [fathom.name(key), ...columns.map((column) => (isKnown(own[column]) ? setting(own[column]) : ""))]), "texts"))));
  }

  const isObject = (value) => value !== null && typeof value === "object" && !Array.isArray(value);
  const isNested = (value) => isObject(value) && Object.values(value).length > 0 && Object.values(value).every(isObject);

  const words = (name) => fathom.capital(fathom.plain(name).replaceAll("_", " "));
  const isKnown = (value) => value !== null && value !== undefined;
  const setting = (value) => fathom.plain(typeof value === "string" ? value : isObject(value) ? Object.entries(value).map(([name, one]) => name + ": " + (typeof one === "string" ? one : JSON.stringify(one))).join(", ") : JSON.stringify(value));
})(window.fathom);

/* Selected entries side by side, with significance tests of their differences. */
(function (fathom) {
  "use strict";
  const { h } = fathom;
  const MOST = 6;
  const PARTS = "Differences by category and by length have 95% intervals, each for itself, and are bold if these exclude 0. Entries that were asked different questions are compared on those that both were asked; without any, the intervals follow from those of the two scores.";

  fathom.pages.compare = async function (_, query) {
    const site = await fathom.load("site");
    if (query.board && !fathom.isSlug(query.board)) throw new Error("There is no such board.");
    const whole = await fathom.whole(query.board || site.default);
    const content = h("div");
    const element = h("div", null,
      h("div", { class: "heading" }, h("h1", { tabindex: "-1" }, "Compare"), h("p", { class: "lead" }, "Entries of ", h("a", { href: fathom.to("boards", whole.board.id) }, fathom.plain(whole.board.title)), ", side by side.")),
      content);
    let turn = 0;

    async function update(next) {
      if ((next.board || site.default) !== whole.board.id) return fathom.anew();
      const mine = (turn += 1);
      const entries = [...new Set((next.lines || "").split(","))].map(whole.entry).filter(Boolean).slice(0, MOST);
      const tests = h("section", null);
      const within = content.contains(document.activeElement);
      content.replaceChildren(chosen(whole, entries), entries.length < 2 ? h("p", { class: "empty" }, "Select two or more entries.") : beside(whole, entries, tests));
      // The button that was pressed is gone.
      const control = within && (content.querySelector(".adding select") || content.querySelector(".chips button"));
      if (control) control.focus();
      // Loaded after the page is there; `done` is for those who wait for all of it.
      page.done = entries.length < 2 ? null : fill(whole, entries, tests, () => mine === turn);
    }
    const page = { title: "Compare", element, update, board: whole.board.id };
    await update(query);
    return page;
  };

  function chosen(whole, entries) {
    const { board } = whole;
    const address = (kept) => fathom.to("compare", "", { board: board.id, lines: kept.map((entry) => entry.key).join(",") });
    const rest = board.entries.filter((entry) => !entries.includes(entry));
    const select = h("select", { "aria-label": "Entry to add" }, rest.map((entry) => h("option", { value: entry.key }, fathom.entryName(entry))));
    return h("div", { class: "chips" },
      h("ul", null, entries.map((entry, n) => h("li", null, fathom.swatch(n),
        h("a", { href: fathom.to("models", entry.modelKey) }, fathom.name(fathom.entryName(entry))),
        h("button", { type: "button", "aria-label": "Remove " + fathom.entryName(entry), onclick: () => fathom.go(address(entries.filter((one) => one !== entry))) }, "\u00d7")))),
      entries.length < MOST && rest.length > 0 && h("div", { class: "adding" }, h("span", { class: "choice" }, select),
        h("button", { type: "button", onclick: () => fathom.go(address([...entries, whole.entry(select.value)])) }, "Add")));
  }

  function beside(whole, entries, tests) {
    const { board } = whole;
    const heads = entries.map((entry, n) => h("span", { class: "named" }, fathom.swatch(n), fathom.name(fathom.entryName(entry))));
    const again = () => heads.map((head) => head.cloneNode(true));
    const categories = h("div", null, fathom.scroller("By category", fathom.categoryTable(board, entries, heads)));
    const lengths = fathom.lengthTable(board, entries, again());
    const byLength = lengths && h("div", null, fathom.scroller("By length", lengths));
    // Again with intervals, once they are loaded.
    tests.differ = function (gaps) {
      categories.replaceChildren(fathom.scroller("By category", fathom.categoryTable(board, entries, again(), gaps)), h("p", { class: "muted" }, PARTS));
      if (byLength) byLength.replaceChildren(fathom.scroller("By length", fathom.lengthTable(board, entries, again(), gaps)));
    };
    const byTask = fathom.tasksOf(board, "").some((task) => entries.some((entry) => fathom.onTask(whole, entry, task)));
    return h("div", null,
      fathom.figures(board, entries, false),
      h("h2", null, "Are the differences significant?"), tests,
      h("h2", null, "By category"), categories,
      h("h2", null, "By task"), byTask ? fathom.scroller("By task", fathom.taskTable(whole, entries, again())) : h("p", { class: "muted" }, "None of these entries has scores by task."),
      byLength && [h("h2", null, "By length"), byLength]);
  }

  async function fill(whole, entries, section, wanted) {
    const pairs = entries.flatMap((a, n) => entries.slice(n + 1).map((b) => [b, a]));
    const tested = await Promise.all(pairs.map(async ([a, b]) => ({ a, b, rows: await fathom.differences(whole, a, b) })));
    const parts = tested.length === 1 ? await fathom.partDifferences(whole.board, entries[1], entries[0]) : null;
    if (!wanted()) return null;
    if (parts) section.differ({ ...parts, overall: tested[0].rows[0] });
    section.replaceChildren(
      fathom.scroller("Differences of the overall score", overallTable(tested)),
      ...notes(whole.board, tested),
      ...tested.filter((one) => one.rows.length > 1).map((one, n) => fathom.fold(h("span", null, "Task by task: ", title(one)), tested.length === 1, fathom.scroller("Differences by task, pair " + (n + 1), taskTable(whole, one)))));
    return tested;
  }

  const title = ({ a, b }) => [fathom.name(fathom.entryName(a)), " minus ", fathom.name(fathom.entryName(b))];
  const HEADS = ["Difference", "95% interval", "p", "Compared over"];

  function overallTable(tested) {
    return fathom.plainTable("Differences of the overall score, in points", ["Overall score", ...HEADS, "Result"], tested.map((one) => [
      h("span", null, title(one)), ...cells(one.rows[0]), h("td", { class: "text" }, result(one, one.rows[0])),
    ]), "texts");
  }

  function taskTable(whole, one) {
    return fathom.plainTable("Differences by task, in points", ["Task", ...HEADS], one.rows.slice(1).map((row) => [
      whole.titles.get(row.task) || row.task, ...cells(row),
    ]), "texts");
  }

  function cells(row) {
    const sure = row.low !== null && (row.low > 0 || row.high < 0);
    return [
      h("td", { class: sure ? "sure" : null }, row.difference === null ? fathom.absent() : fathom.points(row.difference)),
      row.low === null ? fathom.absent("no interval: the source gives no number of questions") : `${fathom.points(row.low)} to ${fathom.points(row.high)}`,
      row.p === null ? fathom.absent() : fathom.pValue(row.p),
      h("td", { class: "text" }, row.shared ? fathom.many(row.shared, "question") + " in common" : "unpaired"),
    ];
  }

  function result({ a, b }, row) {
    if (row.low === null) return "unknown";
    if (row.low <= 0 && row.high >= 0) return "not distinguishable";
    return fathom.entryName(row.difference > 0 ? a : b) + " scores significantly higher";
  }

  function notes(board, tested) {
    const mixed = new Set(tested.flatMap(({ a, b }) => [a, b]).map((entry) => board.origins[entry.origin].provenance)).size > 1;
    const count = tested.reduce((sum, one) => sum + one.rows.filter((row) => row.p !== null).length, 0);
    const paired = tested.some((one) => one.rows.some((row) => row.shared));
    const unpaired = tested.some((one) => one.rows.some((row) => !row.shared));
    return [h("p", { class: "muted" },
      "Differences of the scores on the board. Intervals and p come from the same replicates (Bayesian bootstrap), so that p is below .05 where the interval excludes 0. ",
      paired && "Questions in common have the same weight for both entries. ",
      unpaired && "Unpaired: without common questions the scores are treated as independent; if only means are published, their intervals are the widest possible and the test is conservative. ",
      mixed && "Entries of different origin may have other prompts or questions, which can explain a difference. ",
      board.near && tested.some((one) => one.rows.slice(1).some((row) => row.p === null)) && `On this large board, differences by task are tested between entries that are at most ${fathom.count(board.near)} apart in its order. `,
      count > 1 && `${fathom.count(count)} tests are shown, without correction for their number. If there were no differences, ${fathom.expected(count)} of them would be expected to have p below .05 (${fathom.count(count)} \u00d7 0.05).`)];
  }
})(window.fathom);

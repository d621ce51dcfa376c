/* The reason for a rank: the differences to all other ranked entries. */
(function (fathom) {
  "use strict";
  const { h } = fathom;
  const SHOWN = 12;

  /** Title of the popover. */
  fathom.whyTitle = (entry) => (entry.rank ? "Why this rank" : "Why no rank");

  /** The reason, as a promise of elements for the popover. */
  fathom.why = async function (board, entry) {
    if (!entry.rank) return notRanked(board, entry);
    const pairs = await fathom.pairsOf(board, entry);
    const others = board.entries.filter((other) => other !== entry && other.rank);
    const told = others.map((other) => ({ other, ...fathom.between(board, pairs, other) }));
    const [better, worse, tied] = ["+", "-", "0"].map((sign) => told.filter((one) => one.sure === sign));
    return [
      h("p", null, sentence(entry, better.length, worse.length, tied.length)),
      list("Not distinguishable from it", tied, true),
      list("Significantly lower", better, false),
      list("Significantly higher", worse, false),
      h("p", { class: "muted" }, "Differences in the overall score, in points, with 95% intervals; “paired” means that the entries have questions in common. Significance is tested over all differences of ranked entries together (95%), which is stricter than a single interval that excludes 0."),
    ];
  };

  function sentence(entry, better, worse, tied) {
    const entries = (count) => (count ? fathom.many(count, "entry", "entries") : "no entry");
    const parts = [`${fathom.entryName(entry)} scores significantly higher than ${entries(better)} and significantly lower than ${entries(worse)}. `];
    parts.push(tied ? `It is not distinguishable from ${entries(tied)}. ` : "All differences are significant. ");
    const [low, high] = entry.rank;
    parts.push(low === high ? `Its rank is ${low}.` : `Its rank is in the range from ${low} to ${high}.`);
    return parts.join("");
  }

  function list(title, told, open) {
    if (!told.length) return null;
    const near = [...told].sort((a, b) => Math.abs(a.difference) - Math.abs(b.difference));
    return fathom.fold(`${title}: ${fathom.count(told.length)}`, open,
      h("ul", { class: "gaps" }, near.slice(0, SHOWN).map((one) =>
        h("li", null, fathom.name(fathom.entryName(one.other)), " ",
          h("span", { class: "gap" }, fathom.points(one.difference), " ", h("span", { class: "muted" }, `[${fathom.points(one.low)}, ${fathom.points(one.high)}]${one.shared ? " paired" : ""}`))))),
      near.length > SHOWN && h("p", { class: "muted" }, `The ${SHOWN} nearest of ${fathom.count(near.length)}.`));
  }

  function notRanked(board, entry) {
    const title = new Map(board.tasks.map((task) => [task.id, fathom.plain(task.title)]));
    if (!entry.overall && !entry.missing.length) return [h("p", null, "No overall score.")];
    if (entry.missing.length) {
      const named = entry.missing.slice(0, 8).map((task) => title.get(task) || task).join(", ");
      const average = entry.overall ? "so the average cannot be compared with that of complete entries" : "so there is no average";
      return [h("p", null, `${fathom.many(entry.missing.length, "task")} of ${board.tasks.length} ${entry.missing.length === 1 ? "has" : "have"} no score, or not at all lengths that count, ${average}.`),
        h("p", { class: "muted" }, "Missing: " + named + (entry.missing.length > 8 ? " ..." : "."))];
    }
    const gaps = [
      [entry.unfinished, "Replies to", "are missing: the requests failed, or the replies were not judged."],
      [entry.fewer, "Other entries have more questions of", "than this one."],
      [entry.substituted, "The questions of", "were made from other data than the benchmark's."],
    ].filter(([tasks]) => (tasks || []).length);
    if (gaps.length) {
      const named = [...new Set(gaps.flatMap(([tasks]) => tasks))].map((task) => title.get(task) || task);
      return [...gaps.map(([tasks, before, after]) => h("p", null, `${before} ${fathom.many(tasks.length, "task")} ${after}`)),
        h("p", null, "Only complete entries are ranked."),
        h("p", { class: "muted" }, "Not complete: " + named.slice(0, 8).join(", ") + (named.length > 8 ? " ..." : "."))];
    }
    return [h("p", null, "The source gives a mean without the number of questions or their scores, so there is no interval and no rank.")];
  }
})(window.fathom);

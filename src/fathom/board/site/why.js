/* Why a line has its rank: what the differences to all other ranked lines say. */
(function (fathom) {
  "use strict";
  const { h } = fathom;
  const SHOWN = 12;

  /** What the popover is called. */
  fathom.whyTitle = (entry) => (entry.rank ? "Why this rank" : "Why no rank");

  /** Says why; a promise of elements for the popover. */
  fathom.why = async function (board, entry) {
    if (!entry.rank) return notRanked(board, entry);
    const pairs = await fathom.load("pairs/" + board.id);
    const others = board.entries.filter((other) => other !== entry && other.rank);
    const told = others.map((other) => ({ other, ...fathom.between(pairs, entry.key, other.key) }));
    const [better, worse, tied] = ["+", "-", "0"].map((sign) => told.filter((one) => one.sure === sign));
    return [
      h("p", null, sentence(entry, better.length, worse.length, tied.length)),
      list("Cannot be told apart from it", tied, true),
      list("Scores lower for sure", better, false),
      list("Scores higher for sure", worse, false),
      h("p", { class: "muted" }, "Differences in the overall score, in points, with 95% intervals; in “paired” ones the lines have questions in common. “For sure” is said where the difference stands a test of all differences of this line together (Holm, 95%), which asks for more than that one interval does not reach 0."),
    ];
  };

  function sentence(entry, better, worse, tied) {
    const line = (count) => (count ? fathom.many(count, "line") : "no line");
    const parts = [`${fathom.lineName(entry)} scores higher than ${line(better)} for sure and lower than ${line(worse)}. `];
    parts.push(tied ? `From ${line(tied)} it cannot be told apart. ` : "There is none that it cannot be told apart from. ");
    const [low, high] = entry.rank;
    parts.push(low === high ? `So its rank is ${low}.` : `So its rank is somewhere from ${low} to ${high}.`);
    return parts.join("");
  }

  function list(title, told, open) {
    if (!told.length) return null;
    const near = [...told].sort((a, b) => Math.abs(a.difference) - Math.abs(b.difference));
    return fathom.fold(`${title}: ${fathom.count(told.length)}`, open,
      h("ul", { class: "gaps" }, near.slice(0, SHOWN).map((one) =>
        h("li", null, fathom.name(fathom.lineName(one.other)), " ",
          h("span", { class: "gap" }, fathom.points(one.difference), " ", h("span", { class: "muted" }, `[${fathom.points(one.low)}, ${fathom.points(one.high)}]${one.shared ? " paired" : ""}`))))),
      near.length > SHOWN && h("p", { class: "muted" }, `The ${SHOWN} nearest of ${fathom.count(near.length)}.`));
  }

  function notRanked(board, entry) {
    const title = new Map(board.tasks.map((task) => [task.id, fathom.plain(task.title)]));
    if (!entry.overall && !entry.missing.length) return [h("p", null, "There is no overall score.")];
    if (entry.missing.length) {
      const named = entry.missing.slice(0, 8).map((task) => title.get(task) || task).join(", ");
      const average = entry.overall ? "so the average is of another board than that of complete lines" : "so there is no average";
      return [h("p", null, `${fathom.many(entry.missing.length, "task")} of ${board.tasks.length} ${entry.missing.length === 1 ? "has" : "have"} no score, ${average}.`),
        h("p", { class: "muted" }, "Missing: " + named + (entry.missing.length > 8 ? " ..." : "."))];
    }
    const gaps = [
      [entry.unfinished, "Replies to", "are missing: requests that failed, or that nobody has judged."],
      [entry.fewer, "Other lines have more questions of", "than this one."],
    ].filter(([tasks]) => (tasks || []).length);
    if (gaps.length) {
      const named = [...new Set(gaps.flatMap(([tasks]) => tasks))].map((task) => title.get(task) || task);
      return [...gaps.map(([tasks, before, after]) => h("p", null, `${before} ${fathom.many(tasks.length, "task")} ${after}`)),
        h("p", null, "Only lines without a gap are ranked."),
        h("p", { class: "muted" }, "Not complete: " + named.slice(0, 8).join(", ") + (named.length > 8 ? " ..." : "."))];
    }
    return [h("p", null, "The source gives a mean and neither the scores of questions nor their number. Without an interval nobody can say which lines differ, so there is no rank.")];
  }
})(window.fathom);

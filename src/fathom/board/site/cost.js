/* Quality against cost: points and their Pareto front. */
(function (fathom) {
  "use strict";
  const { h, s } = fathom;

  /** The Pareto front, cheapest first; points are {cost, score}. */
  fathom.front = function (points) {
    const kept = [];
    for (const point of [...points].sort((a, b) => a.cost - b.cost || b.score - a.score)) {
      if (!kept.length || point.score > kept[kept.length - 1].score) kept.push(point);
    }
    return kept;
  };

  /** The view of a board by cost, of these entries. */
  fathom.costView = function (board, entries) {
    const scored = entries.filter((entry) => entry.overall);
    const known = scored.filter((entry) => entry.usage && entry.usage.cost !== null && entry.usage.cost !== undefined);
    const points = known.map((entry) => ({ entry, cost: entry.usage.cost, score: entry.overall[0] }));
    // An entry without some tasks has the mean of others, often easier and cheaper ones.
    const front = fathom.front(points.filter(({ entry }) => entry.complete));
    const rest = scored.filter((entry) => !known.includes(entry));
    const paid = points.some((point) => point.cost > 0);
    return h("div", { class: "cost-view" },
      paid ? h("figure", { class: "plate" }, scatter(points, front), h("figcaption", null, "Overall score against the cost of one reply. The line is the Pareto front of complete entries: no cheaper entry scores higher. Whiskers are 95% intervals; adjacent entries on the front may not be significantly different.",
        known.some((entry) => board.origins[entry.origin].provenance === "submitted") && " The cost of submitted entries was stated by their senders and cannot be verified."))
        : h("p", { class: "empty" }, points.length ? "Replies of these entries cost nothing." : scored.length ? "No entry here has a known cost: papers do not print it, and runs have it only if the price of the model is known." : "No entry has a score."),
      points.length > 0 && fathom.scroller("Quality and cost", table(board, points, front)),
      rest.length > 0 && fathom.fold(`Cost unknown: ${fathom.many(rest.length, "entry", "entries")}`, points.length > 0 && rest.length < 9,
        h("ul", { class: "names" }, rest.map((entry) => h("li", null, h("a", { href: fathom.to("models", entry.modelKey) }, fathom.name(fathom.entryName(entry))), " ", fathom.percent(entry.overall[0]))))));
  };

  function table(board, points, front) {
    const rows = [...points].sort((a, b) => a.cost - b.cost).map(({ entry, cost }) => [
      h("a", { href: fathom.to("models", entry.modelKey) }, fathom.name(fathom.entryName(entry))),
      fathom.dollars(cost), fathom.scoreCell(entry.overall),
      entry.usage.tokensOut === null ? fathom.absent("unknown") : fathom.count(entry.usage.tokensOut),
      entry.usage.seconds === null ? fathom.absent("unknown") : fathom.seconds(entry.usage.seconds),
      front.some((one) => one.entry === entry) ? "yes" : entry.complete ? "" : "not complete",
    ]);
    return fathom.plainTable("Quality and cost of " + board.title, ["Model", "Cost per reply", "Overall, %", "Tokens per reply", "Time", "On the Pareto front"], rows);
  }

  function scatter(points, front) {
    const [wide, high] = fathom.narrow() ? [340, 300] : [860, 420];
    const [left, right, top, bottom] = [44, wide - 20, 18, high - 46];
    const costs = points.map((point) => point.cost).filter((cost) => cost > 0);
    const [from, to] = ends(Math.min(...costs), Math.max(...costs));
    const log = (value) => Math.log10(Math.max(value, from));
    // A cost of 0 has no logarithm, so it is drawn at the left.
    const free = points.some((point) => !(point.cost > 0));
    const start = left + (free ? 60 : 8);
    const x = (value) => (value > 0 ? start + ((right - 8 - start) * (log(value) - log(from))) / (log(to) - log(from) || 1) : left + 12);
    const [low, up] = fathom.scoreSpan(points.flatMap(({ entry }) => fathom.ends(entry.overall) || [entry.overall[0]]).map((one) => Math.min(1, Math.max(0, one))));
    const y = (value) => bottom - ((bottom - top) * (Math.min(up, Math.max(low, value)) - low)) / (up - low);
    const steps = front.flatMap((point, n) => (n ? [[x(point.cost), y(front[n - 1].score)], [x(point.cost), y(point.score)]] : [[x(point.cost), y(point.score)]]));
    return fathom.drawing(wide, high, `Overall score against cost for ${fathom.many(points.length, "entry", "entries")}; ${front.length} of them on the Pareto front. A table with the same numbers follows.`,
      fathom.levels(low, up, y, left, right),
      marks(from, to).map((cost) => [s("path", { class: "grid", d: `M${fathom.round(x(cost))} ${top}V${bottom}` }), fathom.label(x(cost), bottom + 18, fathom.dollars(cost))]),
      free && fathom.label(x(0), bottom + 18, fathom.dollars(0)),
      fathom.label((left + right) / 2, high - 6, "US dollars for one reply", "middle", "axis"),
      front.length > 0 && s("path", { class: "front", d: fathom.path([...steps, [right, y(front[front.length - 1].score)]]) }),
      points.map((point) => dot(point, x, y, front.includes(point))),
      names(front, x, y, right));
  }

  function dot({ entry, cost, score }, x, y, best) {
    const ends = fathom.ends(entry.overall);
    return s("g", { class: best ? "point best" : "point" },
      ends && s("path", { class: "arm", d: `M${fathom.round(x(cost))} ${fathom.round(y(ends[0]))}V${fathom.round(y(ends[1]))}` }),
      s("circle", { class: "dot", cx: fathom.round(x(cost)), cy: fathom.round(y(score)), r: best ? 5 : 3.6 },
        s("title", null, `${fathom.entryName(entry)}: ${fathom.said(entry.overall)}, ${fathom.dollars(cost)} per reply`)));
  }

  // Names of the front that do not overlap; the best first.
  function names(front, x, y, right) {
    const taken = [];
    return [...front].reverse().map(function ({ entry, cost, score }) {
      const text = fathom.entryName(entry);
      const short = text.length > 26 ? text.slice(0, 25) + "\u2026" : text;
      const wide = short.length * 6.6;
      const end = x(cost) + 9 + wide > right;
      const box = [end ? x(cost) - 9 - wide : x(cost) + 9, y(score) - 20, end ? x(cost) - 9 : x(cost) + 9 + wide, y(score) - 4];
      if (box[0] < 40 || taken.some((one) => box[0] < one[2] && one[0] < box[2] && box[1] < one[3] && one[1] < box[3])) return null;
      taken.push(box);
      return fathom.label(end ? x(cost) - 9 : x(cost) + 9, y(score) - 8, short, end ? "end" : "start", "halo");
    });
  }

  // Ends of the axis and its marks are 1, 2 or 5 times a power of ten, or only powers if there are many.
  const STEPS = Array.from({ length: 13 }, (_, n) => [1, 2, 5].map((digit) => Number(`${digit}e${n - 8}`))).flat();

  function ends(low, high) {
    const from = STEPS.filter((step) => step <= low).pop() || STEPS[0];
    return [from, STEPS.find((step) => step >= high && step > from) || STEPS[STEPS.length - 1]];
  }

  function marks(from, to) {
    const all = STEPS.filter((step) => step >= from && step <= to);
    return all.length <= (fathom.narrow() ? 5 : 9) ? all : all.filter((step) => String(step.toExponential()).startsWith("1"));
  }
})(window.fathom);

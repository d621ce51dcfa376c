/* Small drawings as SVG. Colours are classes of the style sheet, with a light and a dark form; dashes and markers carry
   the same information. Every drawing has a name, and a table shows its numbers. */
(function (fathom) {
  "use strict";
  const { h, s } = fathom;
  const DASHES = ["", "6 3", "2 3", "9 3 2 3", "12 4", "4 2 1 2"];
  const MARKS = [
    "M-3.4 0a3.4 3.4 0 1 0 6.8 0a3.4 3.4 0 1 0 -6.8 0Z", "M-3 -3H3V3H-3Z", "M0 -4.2L4.2 0L0 4.2L-4.2 0Z",
    "M0 -4L3.8 3H-3.8Z", "M0 4L3.8 -3H-3.8Z", "M-3.4 -1.2H-1.2V-3.4H1.2V-1.2H3.4V1.2H1.2V3.4H-1.2V1.2H-3.4Z",
  ];
  /** Number of distinct styles. */
  fathom.SERIES = DASHES.length;

  /** A mark of a series; `said` is its value for pointer and keyboard. */
  fathom.mark = (n, x, y, said = "") =>
    s("path", { class: "mark s" + n, d: MARKS[n], transform: `translate(${round(x)} ${round(y)})` }, said ? s("title", null, said) : null);
  fathom.stroke = (n, path) => s("path", { class: "stroke s" + n, d: path, "stroke-dasharray": DASHES[n] || null });
  fathom.label = (x, y, text, anchor = "middle", name = "") => s("text", { x: round(x), y: round(y), "text-anchor": anchor, class: name }, text);

  const round = (number) => Math.round(number * 100) / 100;
  fathom.round = round;
  fathom.path = (points) => points.map(([x, y], n) => (n ? "L" : "M") + round(x) + " " + round(y)).join("");

  /** A drawing with a name; `wide` and `high` in its own units. */
  fathom.drawing = function (wide, high, name, ...children) {
    const drawing = s("svg", { viewBox: `0 0 ${wide} ${high}`, role: "img", "aria-label": name, class: "drawing" }, ...children);
    fathom.values(drawing);
    return drawing;
  };

  /** What the colours mean. */
  fathom.key = (names) =>
    h("ul", { class: "key" }, names.map((name, n) =>
      h("li", null, swatch(n), h("span", null, fathom.name(name)))));

  function swatch(n) {
    return s("svg", { viewBox: "0 0 34 12", class: "swatch", "aria-hidden": "true" }, fathom.stroke(n, "M1 6H33"), fathom.mark(n, 17, 6));
  }
  fathom.swatch = swatch;

  /** Dot and interval on one axis from `low` to `high`, for the cell of a table. */
  fathom.whisker = function (est, low, high, wide = 132) {
    const at = (value) => round(4 + ((wide - 8) * Math.min(1, Math.max(0, (value - low) / (high - low || 1)))));
    const ends = fathom.ends(est);
    return s("svg", { viewBox: `0 0 ${wide} 14`, width: wide, height: 14, class: "whisker", "aria-hidden": "true" },
      s("path", { class: "rail", d: `M4 7H${wide - 4}` }),
      ends && fathom.arm(at(ends[0]), at(ends[1]), 7, est[3]),
      s("circle", { class: "dot", cx: at(est[0]), cy: 7, r: 2.9 }));
  };

  /** The bar of an interval; open if only its maximum width is known. */
  fathom.arm = (from, to, y, bound) =>
    s("rect", { class: bound ? "arm bound" : "arm", x: from, y: y - 4, width: round(Math.max(2, to - from)), height: 8, rx: 2 });

  /** A curve without axes, for the cell of a table; `points` are [length, value], `span` the lengths of the axis, and
   * `scores` its lowest and its highest score. */
  fathom.spark = function (points, span, [low, up], wide = 96) {
    const x = lengthAxis(span[0], span[1], 4, wide - 4);
    const at = points.map(([length, value]) => [x(length), 32 - (28 * (value - low)) / (up - low)]);
    return s("svg", { viewBox: `0 0 ${wide} 36`, width: wide, height: 36, class: "spark", "aria-hidden": "true" },
      s("path", { class: "rail", d: `M4 32H${wide - 4}M4 4H${wide - 4}` }),
      at.length > 1 && s("path", { class: "stroke s0", d: fathom.path(at) }),
      at.length < 9 && at.map(([cx, cy]) => s("circle", { class: "dot", cx: round(cx), cy: round(cy), r: 1.9 })));
  };

  /** Position of a length between `from` and `to`; logarithmic from three doublings on. */
  function lengthAxis(low, high, from, to) {
    const place = high / Math.max(low, 1) >= 8 ? Math.log : (value) => value;
    const [start, end] = [place(Math.max(low, 1)), place(Math.max(high, 1))];
    return (length) => (end > start ? from + ((to - from) * (place(Math.max(length, 1)) - start)) / (end - start) : (from + to) / 2);
  }

  /** Ends of an axis of scores, in steps of a tenth: from 0, or from a higher value if all scores are high. */
  fathom.scoreSpan = function (values) {
    const low = Math.min(...values);
    const high = Math.max(...values);
    return [low >= 0.4 ? Math.floor(low * 10 - 0.2) / 10 : Math.min(0, Math.floor(low * 10) / 10), Math.max(low >= 0.4 ? 0 : 0.2, Math.ceil(high * 10) / 10)];
  };

  /** Lines of a grid with their labels. */
  fathom.levels = function (low, high, y, left, right) {
    const step = high - low > 0.55 ? 0.2 : high - low > 0.25 ? 0.1 : 0.05;
    const marks = [];
    for (let value = Math.ceil(low / step - 1e-9) * step; value <= high + 1e-9; value += step) {
      marks.push(s("path", { class: "grid", d: `M${left} ${round(y(value))}H${right}` }), fathom.label(left - 7, y(value) + 4, fathom.percent(value, 0), "end"));
    }
    return marks;
  };

  /** Score against length, one line per series.
   * @param {{name: string, points: [number, ?Array][]}[]} series - at most six; points are [length, estimate].
   * @param {string} name - for screen readers. */
  fathom.curves = function (series, name) {
    const shown = series.map((one) => ({ ...one, points: one.points.filter((point) => point[1]) }));
    const all = shown.flatMap((one) => one.points);
    const lengths = [...new Set(all.map((point) => point[0]))].sort((a, b) => a - b);
    const [wide, high] = fathom.narrow() ? [340, 250] : [540, 320];
    const [left, right, top, bottom] = [40, wide - 14, 16, high - 44];
    const [low, up] = fathom.scoreSpan(all.flatMap(([, est]) => (series.length < 4 && fathom.ends(est)) || [est[0]]).map((value) => Math.min(1, Math.max(0, value))));
    const x = lengthAxis(lengths[0], lengths[lengths.length - 1], left + 10, right - 10);
    const y = (value) => bottom - ((bottom - top) * (Math.min(up, Math.max(low, value)) - low)) / (up - low);
    return fathom.drawing(wide, high, name,
      fathom.levels(low, up, y, left, right),
      ticks(lengths, x).map((length) => fathom.label(x(length), bottom + 18, fathom.tokens(length))),
      fathom.label((left + right) / 2, high - 6, "tokens of context", "middle", "axis"),
      series.length < 4 && shown.map((one, n) => band(one.points, x, y, n)),
      shown.map((one, n) => [
        one.points.length > 1 && fathom.stroke(n, fathom.path(one.points.map(([length, est]) => [x(length), y(est[0])]))),
        one.points.length <= 20 && one.points.map(([length, est]) => fathom.mark(n, x(length), y(est[0]), `${one.name}, ${fathom.tokens(length)}: ${fathom.said(est)}`)),
      ]));
  };

  function band(points, x, y, n) {
    const known = points.filter(([, est]) => fathom.ends(est));
    if (known.length < 2) return known.map(([length, est]) => s("path", { class: "stroke thin s" + n, d: `M${round(x(length))} ${round(y(fathom.ends(est)[0]))}V${round(y(fathom.ends(est)[1]))}` }));
    const upper = known.map(([length, est]) => [x(length), y(fathom.ends(est)[1])]);
    const lower = known.map(([length, est]) => [x(length), y(fathom.ends(est)[0])]).reverse();
    return s("path", { class: "band s" + n, d: fathom.path([...upper, ...lower]) + "Z" });
  }

  // As many labels as have room, the last one always.
  function ticks(lengths, x) {
    const kept = [];
    for (const length of [...lengths].reverse()) {
      if (!kept.length || x(kept[kept.length - 1]) - x(length) > 34) kept.push(length);
    }
    return kept;
  }
})(window.fathom);

/* Radar chart of categories; a table shows the numbers. */
(function (fathom) {
  "use strict";
  const { s } = fathom;
  // Sizes of the drawing and its labels; the second one for phones.
  const WIDE = { wide: 560, radius: 130, line: 14, lines: 3, broad: 20, name: "rim" };
  const NARROW = { wide: 350, radius: 88, line: 12.5, lines: 3, broad: 13, name: "rim slim" };
  const EDGE = 52;

  /** A radar of scores.
   * @param {string[]} titles - three or more categories.
   * @param {{name: string, scores: ?number[]}[]} series - at most six; null scores break the outline.
   * @param {string} name - for screen readers. */
  fathom.radar = function (titles, series, name) {
    const size = fathom.narrow() ? NARROW : WIDE;
    const [x, y] = [size.wide / 2, size.radius + EDGE];
    const angle = (n) => (2 * Math.PI * n) / titles.length - Math.PI / 2;
    const at = (n, value) => {
      const reach = size.radius * Math.min(1, Math.max(0, value));
      return [x + reach * Math.cos(angle(n)), y + reach * Math.sin(angle(n))];
    };
    return fathom.drawing(size.wide, 2 * y, name,
      [0.25, 0.5, 0.75, 1].map((level) => s("path", { class: "grid", d: fathom.path(titles.map((_, n) => at(n, level))) + "Z" })),
      titles.map((_, n) => s("path", { class: "grid", d: fathom.path([at(n, 0), at(n, 1)]) })),
      [0.5, 1].map((level) => fathom.label(x + 4, y - size.radius * level + 11, fathom.percent(level, 0), "start", "small")),
      titles.map((title, n) => label(named(title, titles.length), at(n, 1), angle(n), size)),
      series.map((one, n) => outline(one, titles, at, n, series.length)));
  };

  function outline({ name, scores }, titles, at, n, among) {
    const points = scores.map((value, k) => (value === null ? null : at(k, value)));
    const whole = points.every(Boolean);
    // A category without a score is a gap, not a corner at 0.
    const pieces = whole ? [fathom.path(points) + "Z"] : arcs(points).map(fathom.path);
    return [
      whole && among < 4 && s("path", { class: "band s" + n, d: pieces[0] }),
      pieces.map((piece) => fathom.stroke(n, piece)),
      points.map((point, k) => point && fathom.mark(n, point[0], point[1], `${name}, ${fathom.plain(titles[k])}: ${fathom.percent(scores[k])}%`)),
    ];
  }

  function arcs(points) {
    const pieces = [];
    points.forEach((point, n) => {
      const next = points[(n + 1) % points.length];
      if (point && next) pieces.push([point, next]);
    });
    return pieces;
  }

  // With little room for many names, those that begin with a code ("T3. ...") are shortened to it.
  function named(title, count) {
    const code = /^(\S{1,4})\.\s/.exec(title);
    return fathom.narrow() && count > 8 && code ? code[1] : fathom.plain(title);
  }

  // Beside its corner, and about as high as it.
  function label(title, [x, y], angle, size) {
    const [side, up] = [Math.cos(angle), Math.sin(angle)];
    const anchor = side > 0.2 ? "start" : side < -0.2 ? "end" : "middle";
    const lines = broken(title, size);
    const high = size.line * lines.length;
    const top = y + (high / 2 + 5) * up - high / 2 + 0.8 * size.line;
    return lines.map((line, k) => fathom.label(x + 10 * side, top + k * size.line, line, anchor, size.name));
  }

  // A title in the fewest and then the shortest lines; words may be broken after a hyphen.
  function broken(title, { lines, broad }) {
    const words = title.split(/\s+/).flatMap((word) => (word.length > broad ? word.split(/(?<=-)/) : [word]));
    for (let count = 1; count <= lines; count++) {
      for (let most = 8; most <= broad; most++) {
        const made = filled(words, most);
        if (made.length <= count && made.every((line) => line.length <= broad)) return made;
      }
    }
    return filled(words, broad).slice(0, lines).map((line) => (line.length > broad ? line.slice(0, broad - 1) + "\u2026" : line));
  }

  function filled(words, most) {
    const lines = [];
    for (const word of words) {
      const last = lines[lines.length - 1];
      const gap = last && last.endsWith("-") ? "" : " ";
      if (last && (last + gap + word).length <= most) lines[lines.length - 1] = last + gap + word;
      else lines.push(word);
    }
    return lines;
  }
})(window.fathom);

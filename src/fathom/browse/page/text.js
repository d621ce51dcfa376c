/* Text of models and documents: hidden characters made visible, gold answers marked, long texts in blocks. */
(function (fathom) {
  "use strict";
  const { h } = fathom;
  const BLOCK = 20000;

  // Control and direction characters, characters without width, tags, and halves of characters.
  const HIDDEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u115f\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb]|[\u{e0000}-\u{e007f}]|[\ud800-\udfff]/gu;

  /** Text with hidden characters as pictures (␀) or code points (⟨U+202E⟩). */
  fathom.visible = (text) => String(text).replace(HIDDEN, function (one) {
    const code = one.codePointAt(0);
    if (code < 32) return String.fromCharCode(0x2400 + code);
    return code === 127 ? "\u2421" : "\u27e8U+" + code.toString(16).toUpperCase().padStart(4, "0") + "\u27e9";
  });

  /** Finds gold answers as whole words, like fathom.browse.marks; null without an answer. */
  fathom.finder = function (answers) {
    const words = answers.filter(Boolean).sort((one, other) => other.length - one.length).map((one) =>
      (/^[A-Za-z0-9]/.test(one) ? "(?<![A-Za-z0-9])" : "") + one.replace(/[.*+?^${}()|[\]\\/-]/g, "\\$&") + (/[A-Za-z0-9]$/.test(one) ? "(?![A-Za-z0-9])" : ""));
    return words.length ? new RegExp(words.join("|"), "gi") : null;
  };

  /** Text as nodes, with what the finder finds as <mark>. */
  fathom.marked = function (text, finder) {
    if (!finder) return [fathom.visible(text)];
    const nodes = [];
    let from = 0;
    for (const found of text.matchAll(finder)) {
      if (found.index > from) nodes.push(fathom.visible(text.slice(from, found.index)));
      nodes.push(h("mark", { title: "the text of a gold answer" }, fathom.visible(found[0])));
      from = found.index + found[0].length;
    }
    if (from < text.length) nodes.push(fathom.visible(text.slice(from)));
    return nodes;
  };

  /** Long text in blocks that the browser lays out when they come into view. */
  fathom.blocks = function (text, finder) {
    if (text.length <= BLOCK) return [h("div", { class: "block", dir: "auto" }, fathom.marked(text, finder))];
    const blocks = [];
    for (let from = 0; from < text.length;) {
      let to = Math.min(text.length, from + BLOCK);
      if (to < text.length) {
        const line = text.lastIndexOf("\n", to);
        if (line > from + BLOCK / 2) to = line + 1;
        else if (/[\ud800-\udbff]/.test(text[to - 1])) to -= 1;
      }
      // The end of the block is the end of the line.
      const own = text.slice(from, to);
      blocks.push(h("div", { class: "block long", dir: "auto" }, fathom.marked(to < text.length ? own.replace(/\n$/, "") : own, finder)));
      from = to;
    }
    return blocks;
  };

  /** Characters (code points) start to end of a text, whose UTF-16 may be longer. */
  fathom.slice = (text, start, end) =>
    start === 0 && end >= text.length ? text : /[\ud800-\udfff]/.test(text) ? Array.from(text).slice(start, end).join("") : text.slice(start, end);

  fathom.count = (number) => Number(number).toLocaleString("en-US");
  fathom.many = (number, one, several = one + "s") => fathom.count(number) + " " + (number === 1 ? one : several);

  /** A length as people write it: 8192 is "8k". */
  fathom.lengthName = function (tokens) {
    if (!tokens) return "none";
    for (const [unit, size] of [["m", 1048576], ["k", 1024]]) {
      if (tokens >= size && tokens % size === 0 && tokens % 1000) return tokens / size + unit;
    }
    return String(tokens);
  };

  /** A score as a short text. */
  fathom.score = (value) => (value === null || value === undefined ? "\u2013" : String(Number(value.toFixed(2))));

  /** right, partly, wrong or none, like fathom.browse.pages. */
  fathom.scoreWord = (value) => (value === null || value === undefined ? "none" : value >= 1 ? "right" : value <= 0 ? "wrong" : "partly");

  /** A mark with a score; it is read out in words. */
  fathom.chip = function (value, about, status) {
    const word = fathom.scoreWord(value);
    const why = status && status !== "ok" ? ", " + status : "";
    return h("span", { class: "chip " + word, title: about + ": " + (word === "none" ? "not scored" : "score " + fathom.score(value)) + why }, fathom.score(value));
  };
})(window.fathom);

/* Elements. Text from data only ever becomes text nodes and attribute values. */
(function (fathom) {
  "use strict";
  const SVG = "http://www.w3.org/2000/svg";

  function fill(element, attributes, children) {
    for (const [name, value] of Object.entries(attributes || {})) {
      if (value === null || value === undefined || value === false) continue;
      if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
      else element.setAttribute(name, value === true ? "" : value);
    }
    for (const child of children.flat(3)) {
      if (child !== null && child !== undefined && child !== false) element.append(child);
    }
    return element;
  }

  /** An HTML element; children are elements, text, or nothing. Attributes "onclick" and so on are listeners. */
  fathom.h = (tag, attributes, ...children) => fill(document.createElement(tag), attributes, children);

  /** An SVG element. */
  fathom.s = (tag, attributes, ...children) => fill(document.createElementNS(SVG, tag), attributes, children);

  /** Text for screen readers. */
  fathom.unseen = (text) => fathom.h("span", { class: "unseen" }, text);

  /** A link to another site: https only, else plain text. */
  fathom.outside = function (url, text) {
    if (!/^https:\/\/[^\s]+$/i.test(url || "")) return document.createTextNode(text);
    return fathom.h("a", { href: url, rel: "noopener noreferrer", target: "_blank" }, text);
  };

  /** A name from outside, isolated so that direction marks in it do not affect the text after it. */
  fathom.name = (text) => fathom.h("bdi", null, breakable(fathom.plain(text)));

  // Long names are broken after punctuation first.
  function breakable(text) {
    if (text.length < 18) return text;
    return text.split(/(?<=[/?&=_])/).map((part, n) => (n ? [fathom.h("wbr"), part] : part));
  }

  /** Text without control characters, direction marks and invisible tags. */
  fathom.plain = (text) =>
    String(text).replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069\u{e0000}-\u{e007f}]/gu, "\ufffd");

  /** A box that scrolls and can be focused. Its right edge fades if there is more to the right. */
  fathom.scroller = function (label, ...children) {
    const box = fathom.h("div", { class: "scroll", role: "region", "aria-label": label, tabindex: "0" }, ...children);
    // A few pixels are the sort arrow of the last column.
    const fade = () => box.classList.toggle("more", box.scrollWidth - box.clientWidth - box.scrollLeft > 8);
    const sizes = new ResizeObserver(fade);
    for (const element of [box, ...box.children]) sizes.observe(element);
    box.addEventListener("scroll", fade, { passive: true });
    return box;
  };

  /** A sentence's first letter as a capital. */
  fathom.capital = (text) => text.slice(0, 1).toUpperCase() + text.slice(1);

  /** Texts as one: "a, b and c". */
  fathom.listed = (texts) => (texts.length < 2 ? texts.join("") : texts.slice(0, -1).join(", ") + " and " + texts[texts.length - 1]);

  /** A section that can be folded. */
  fathom.fold = (title, open, ...children) =>
    fathom.h("details", { open: open || null }, fathom.h("summary", null, title), ...children);

  /** Announces text to screen readers. */
  fathom.say = function (text) {
    document.getElementById("said").textContent = text;
  };

  /** A term and its description, for a <dl>; null without a description. */
  fathom.fact = (term, ...said) =>
    said.flat(3).some((one) => one !== null && one !== undefined && one !== "" && one !== false)
      ? fathom.h("div", null, fathom.h("dt", null, term), fathom.h("dd", null, ...said))
      : null;

  /** Whether narrow drawings and lists are used. */
  fathom.narrow = () => matchMedia("(max-width: 44rem)").matches;

  /** Width of the bar of a score in the tables of models and tasks. */
  fathom.barWidth = () => (fathom.narrow() ? 100 : 300);
})(window.fathom);

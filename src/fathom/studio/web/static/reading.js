// The reading pane: a text of millions of characters in sections that the browser skips while they are not in sight,
// search, evidence as highlights (no elements in the text), and a strip with their positions.

import { addComponent, evidenceOf, setEvidence } from "./forms.js";
import { blocksOf, elementOf } from "./layout.js";

const PARAGRAPHS = 50; // in a section at least; measured: see docs
const MOST_HITS = 5000;

const texts = new Map(); // document -> {text, blocks, astral; and for each text node in the pane: starts, ends, nodes}
let pane, shown, hits = [], hit = -1, current = null;

/** Starts the pane. */
export async function startReading(reading) {
  pane = document.getElementById("text");
  const documents = reading.dataset.documents.trim().split(" ");
  if (!(await show(documents[0]))) return;
  document.getElementById("bar").hidden = false;
  const which = document.getElementById("which");
  which?.addEventListener("change", () => show(which.value).then((there) => there && find()));
  const search = document.getElementById("search");
  let waiting = 0;
  search.addEventListener("input", () => { clearTimeout(waiting); waiting = setTimeout(find, 80); });
  search.addEventListener("keydown", (event) => {
    if (event.key === "Enter") { event.preventDefault(); jump(event.shiftKey ? -1 : 1); }
    if (event.key === "Escape") pane.focus();
  });
  document.getElementById("next").addEventListener("click", () => jump(1));
  document.getElementById("previous").addEventListener("click", () => jump(-1));
  document.getElementById("mark").addEventListener("click", mark);
  document.addEventListener("evidence", paint);
  document.addEventListener("focusin", (event) => choose(event.target.closest(".component")));
  document.addEventListener("click", (event) => {
    const wanted = event.target.closest("[data-find]");
    if (wanted) {
      search.value = wanted.dataset.find;
      find();
    }
    const link = event.target.closest("a.evidence");
    if (!link) return;
    event.preventDefault();
    goTo(link.dataset.document, Number(link.dataset.start), Number(link.dataset.end));
  });
  for (const button of document.querySelectorAll("[data-find]")) button.hidden = false;
  choose(document.querySelector(".work .component"));
  document.addEventListener("keydown", keys);
  const strip = document.getElementById("strip");
  strip.hidden = false;
  strip.addEventListener("click", (event) => {
    const part = event.offsetY / strip.clientHeight;
    const at = fromUnits(shown, Math.floor(part * texts.get(shown).text.length));
    goTo(shown, at, at, false);
  });
  new ResizeObserver(paint).observe(pane);
}

async function show(id) {
  if (shown === id) return true;
  if (!texts.has(id)) {
    const text = await fetch(`/documents/${id}/text`).then((answer) => answer.ok ? answer.text() : null, () => null);
    if (text === null) {
      pane.textContent = "The text cannot be loaded; reload the page.";
      return false;
    }
    texts.set(id, split(text));
  }
  shown = id;
  const which = document.getElementById("which");
  if (which) which.value = id;
  const one = texts.get(id);
  Object.assign(one, { starts: [], ends: [], nodes: [] });
  const piece = (start, end, parent) => {
    const node = document.createTextNode(one.text.slice(start, end));
    parent.append(node);
    one.starts.push(start);
    one.ends.push(end);
    one.nodes.push(node);
  };
  piece.text = one.text;
  const sections = [];
  for (let at = 0; at < one.blocks.length;) {
    const section = document.createElement("section");
    let paragraphs = 0, height = 0;
    for (; at < one.blocks.length && paragraphs < PARAGRAPHS; at += 1) {
      const block = one.blocks[at];
      section.append(elementOf(block, piece));
      paragraphs += block.lines.length;
      for (const [start, end] of block.lines) height += block.kind === "prose" ? proseHeight(one.text, start, end) : 23;
    }
    section.style.containIntrinsicSize = `auto ${height}px`;
    sections.push(section);
  }
  pane.replaceChildren(...sections);
  pane.scrollTop = 0;
  paint();
  return true;
}

/** About the height of a paragraph, so that the scroll bar is right before it is laid out; Chinese letters are wide. */
function proseHeight(text, start, end) {
  const line = text.charCodeAt((start + end) >> 1) > 0x2e7f ? 38 : 75;
  return 27 * (1 + Math.ceil((end - start) / line));
}

/** A text with its blocks, and the places where its characters and the units of JavaScript differ. */
function split(text) {
  const astral = []; // offsets count characters; JavaScript counts some of them twice
  if (/[\ud800-\udbff]/.test(text)) {
    for (let at = 0; at < text.length; at += 1) if ((text.charCodeAt(at) & 0xfc00) === 0xd800) astral.push(at);
  }
  return { text, blocks: blocksOf(text), astral };
}

function below(values, most) { // how many are less
  let low = 0, high = values.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (values[middle] < most) low = middle + 1; else high = middle;
  }
  return low;
}

function fromUnits(id, units) { return units - below(texts.get(id).astral, units); }

function toUnits(id, characters) {
  const { astral } = texts.get(id);
  let low = 0, high = astral.length; // astral[n] - n is the character offset of the n-th
  while (low < high) {
    const middle = (low + high) >> 1;
    if (astral[middle] - middle < characters) low = middle + 1; else high = middle;
  }
  return characters + low;
}

/** Ranges of a passage, one for each text node that it touches; in units. */
function ranges(start, end) {
  const one = texts.get(shown);
  const found = [];
  for (let at = Math.max(0, below(one.starts, start + 1) - 1); at < one.starts.length && one.starts[at] < end; at += 1) {
    const from = Math.max(start, one.starts[at]), to = Math.min(end, one.ends[at]);
    if (from >= to) continue;
    const range = new StaticRange({
      startContainer: one.nodes[at], startOffset: from - one.starts[at],
      endContainer: one.nodes[at], endOffset: to - one.starts[at],
    });
    found.push(range);
  }
  return found;
}

function allEvidence() {
  const links = [...document.querySelectorAll(".work a.evidence")].filter((link) => link.dataset.document === shown);
  const found = links.map((link) => [Number(link.dataset.start), Number(link.dataset.end)]);
  return found.sort((one, other) => one[0] - other[0]);
}

function paint() {
  if (!shown || !CSS.highlights) return;
  const passages = allEvidence().map(([start, end]) => [toUnits(shown, start), toUnits(shown, end)]);
  CSS.highlights.set("evidence", new Highlight(...passages.flatMap(([start, end]) => ranges(start, end))));
  drawStrip(passages);
}

function drawStrip(passages) {
  const strip = document.getElementById("strip");
  const height = strip.clientHeight || 1;
  strip.height = height;
  const ink = strip.getContext("2d");
  const style = getComputedStyle(document.documentElement);
  const length = texts.get(shown).text.length || 1;
  const draw = (start, colour, thick) => {
    ink.fillStyle = style.getPropertyValue(colour);
    ink.fillRect(0, Math.floor((start / length) * (height - thick)), strip.width, thick);
  };
  ink.clearRect(0, 0, strip.width, height);
  for (const [start] of hits) draw(start, "--good", 1);
  for (const [start] of passages) draw(start, "--doubt", 3);
}

function find() {
  const { text } = texts.get(shown);
  const wanted = document.getElementById("search").value;
  hits = [];
  hit = -1;
  if (wanted) {
    const exact = wanted !== wanted.toLowerCase();
    const within = exact ? text : lowered(shown);
    // A space stands for any white space: what is searched may go over the end of a line.
    const words = wanted.split(/\s+/).map((word) => word.replace(/[$()*+.?[\\\]^{|}]/g, "\\$&"));
    for (const found of within.matchAll(new RegExp(words.join("\\s+"), "g"))) {
      hits.push([found.index, found.index + found[0].length]);
      if (hits.length === MOST_HITS) break;
    }
  }
  CSS.highlights?.set("hits", new Highlight(...hits.flatMap(([start, end]) => ranges(start, end))));
  CSS.highlights?.delete("current");
  const many = hits.length === MOST_HITS ? `the first ${MOST_HITS}` : `${hits.length}`;
  document.getElementById("hits").textContent = wanted ? `${many} hits${scope()}` : "";
  paint();
  if (hits.length) jump(1);
}

function lowered(id) {
  const one = texts.get(id);
  // A text in which lower case has another length would move all offsets; such a text is searched as it is.
  one.lower ??= one.text.toLowerCase().length === one.text.length ? one.text.toLowerCase() : one.text;
  return one.lower;
}

function scope() {
  return document.getElementById("which") ? " in this document" : "";
}

function jump(step) {
  if (!hits.length) return;
  hit = (hit + step + hits.length) % hits.length;
  document.getElementById("hits").textContent = `${hit + 1} of ${hits.length}${scope()}`;
  reveal(...hits[hit]);
}

function reveal(start, end, select = true) {
  const found = ranges(start, Math.max(end, start + 1));
  if (!found.length) return;
  const range = document.createRange();
  range.setStart(found[0].startContainer, found[0].startOffset);
  range.setEnd(found.at(-1).endContainer, found.at(-1).endOffset);
  const paragraph = found[0].startContainer.parentElement;
  paragraph.scrollIntoView({ block: "center" });
  const box = range.getBoundingClientRect(), frame = pane.getBoundingClientRect();
  if (box.top < frame.top || box.bottom > frame.bottom) pane.scrollTop += box.top - frame.top - frame.height / 3;
  const code = paragraph.closest(".code");
  if (code && (box.left < frame.left || box.right > frame.right)) code.scrollLeft += box.left - frame.left - frame.width / 3;
  if (!select) return;
  getSelection().setBaseAndExtent(range.startContainer, range.startOffset, range.endContainer, range.endOffset);
  CSS.highlights?.set("current", new Highlight(...found));
}

async function goTo(id, start, end, select = true) {
  if (!(await show(id))) return;
  if (matchMedia("(max-width: 52rem)").matches) document.getElementById("reading").scrollIntoView();
  reveal(toUnits(shown, start), toUnits(shown, end), select);
}

function nextEvidence(step) {
  const all = allEvidence();
  if (!all.length) return;
  const at = selected()?.start ?? -1;
  const after = step > 0 ? all.find(([start]) => start > at) ?? all[0] : all.findLast(([start]) => start < at) ?? all.at(-1);
  goTo(shown, ...after);
}

/** The selected passage in characters of the document; null without one. */
function selected() {
  const selection = getSelection();
  if (!selection.rangeCount || selection.isCollapsed) return null;
  const range = selection.getRangeAt(0);
  if (!pane.contains(range.startContainer) || !pane.contains(range.endContainer)) return null;
  const one = texts.get(shown);
  const from = position(one, range.startContainer, range.startOffset, true);
  const to = position(one, range.endContainer, range.endOffset, false);
  if (from === null || to === null || from >= to) return null;
  return { document: shown, start: fromUnits(shown, from), end: fromUnits(shown, to), quote: one.text.slice(from, to) };
}

function position(one, node, offset, first) {
  let at = one.nodes.indexOf(node);
  if (at >= 0) return one.starts[at] + offset;
  const walker = document.createTreeWalker(pane, NodeFilter.SHOW_TEXT);
  const inside = node.childNodes[offset];
  let from = inside ?? node;
  if (!first && !inside) while (from.lastChild) from = from.lastChild; // the end of an element
  walker.currentNode = from;
  const itself = from.nodeType === 3 && (first || !inside);
  const near = itself ? from : first ? walker.nextNode() : walker.previousNode();
  at = one.nodes.indexOf(near);
  return at < 0 ? null : first ? one.starts[at] : one.ends[at];
}

function choose(component) {
  if (!component || !component.querySelector(".marked")) return;
  current?.classList.remove("current");
  current = component;
  current.classList.add("current");
  document.getElementById("mark").hidden = false;
}

function mark() {
  const passage = selected();
  if (!current || !passage) return;
  const place = current.querySelector(".marked");
  const field = current.querySelector("textarea");
  if (field && !field.value) {
    field.value = passage.quote.slice(0, 2000);
    const group = current.closest(".component-fields");
    if (group.lastElementChild === current) addComponent(group);
  }
  setEvidence(place, [...evidenceOf(place), passage]);
}

function keys(event) {
  const typing = event.target.closest("input:not([type=radio]):not([type=checkbox]), textarea, select");
  if (typing || event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
  const selection = getSelection();
  const extend = { ArrowRight: ["forward", "word"], ArrowLeft: ["backward", "word"], ArrowDown: ["forward", "line"], ArrowUp: ["backward", "line"] };
  if (event.shiftKey && extend[event.key] && selection.rangeCount && pane.contains(selection.anchorNode)) {
    selection.modify("extend", ...extend[event.key]);
    event.preventDefault();
    return;
  }
  const action = {
    "/": () => document.getElementById("search").focus(),
    n: () => jump(1), p: () => jump(-1), e: () => nextEvidence(1), E: () => nextEvidence(-1), m: mark,
  }[event.key];
  if (action) { event.preventDefault(); action(); return; }
  const radio = current?.classList.contains("judged") && current.querySelectorAll("input[type=radio]")["123".indexOf(event.key)];
  if (radio) {
    radio.checked = true;
    radio.dispatchEvent(new Event("input", { bubbles: true }));
    const all = [...document.querySelectorAll(".judged")].filter((one) => one.checkVisibility());
    const next = all[all.indexOf(current) + 1];
    if (next) { choose(next); next.scrollIntoView({ block: "nearest" }); }
    event.preventDefault();
  }
}

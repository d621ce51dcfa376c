// How a text is laid out: prose, code and tables. Every character stays in its place: a text node is a piece of the
// text from one offset to another, and what is between two pieces is a line end.

const MOST_CELLS = 20000; // of a document; further tables are shown like code
const MOST_ROWS = 400; // of a table or block of code, which are laid out at once
const LONG = 70; // characters of a line of code, and elements of a row, that may need scrolling
const CELLS = 12;
const FENCE = "```";
const DELIMITER = /^\s*\|?\s*:?-{2,}:?\s*(\|\s*:?-{2,}:?\s*)*\|?\s*$/;
const HEADING = /^#{1,6} /;

/** Blocks of a text: {kind, lines: [[start, end], ...], by}, in units of JavaScript; `by` separates cells. */
export function blocksOf(text) {
  const starts = [], ends = [], fences = [];
  for (let from = 0; from <= text.length; from = ends.at(-1) + 1) {
    const to = text.indexOf("\n", from);
    if (text.startsWith(FENCE, from)) fences.push(starts.length);
    starts.push(from);
    ends.push(to < 0 ? text.length : to);
  }
  const line = (at) => at < starts.length ? text.slice(starts[at], ends[at]) : "";
  const blocks = [];
  let cells = 0, fence = 0;
  for (let at = 0; at < starts.length;) {
    const words = line(at);
    if (!words) { at += 1; continue; }
    while (fences[fence] <= at) fence += 1;
    let kind = "code", by = "", to = at + 1;
    const closed = words.startsWith(FENCE) && fences[fence] - at < MOST_ROWS;
    if (closed) to = fences[fence] + 1;
    else if ((by = separator(words, line(at + 1)) || continued(blocks.at(-1), words))) {
      while (to - at < MOST_ROWS && line(to).includes(by)) to += 1;
      cells += (to - at) * words.split(by).length;
      if (cells < MOST_CELLS) kind = "table";
    } else if (isCode(words)) {
      while (to - at < MOST_ROWS && isCode(line(to)) && !separator(line(to), line(to + 1))) to += 1;
    } else kind = HEADING.test(words) ? "heading" : "prose";
    const lines = [];
    for (let one = at; one < to; one += 1) lines.push([starts[one], ends[one]]);
    blocks.push({ kind, lines, by });
    at = to;
  }
  return blocks;
}

/** What separates the cells if a table begins here: the bars of Markdown, or tabs as from a spreadsheet; or nothing. */
function separator(words, next) {
  if (next.length > 2000 || words.length > 2000) return "";
  if (words.includes("|") && next.includes("|") && DELIMITER.test(next)) return "|";
  const tabs = words.indexOf("\t") > 0 ? words.split("\t").length : 0;
  return tabs && next.indexOf("\t") > 0 && next.split("\t").length === tabs ? "\t" : "";
}

/** What separates the cells of a table that was cut because it is long, if a line goes on with it. */
function continued(before, words) {
  return before?.kind === "table" && before.lines.length === MOST_ROWS && words.includes(before.by) ? before.by : "";
}

/** Whether a line needs letters of one width: it is indented, framed, or has columns. */
function isCode(words) {
  return words.length <= 160 ? /^( {4}|\t)|^\s*[|+]|\S {3,}\S|\S\t/.test(words) : /^\s*[|+]/.test(words);
}

/** The element of a block. `piece(start, end, parent)` adds a piece of the text to an element. */
export function elementOf(block, piece) {
  if (block.kind === "prose" || block.kind === "heading") return paragraph(block.lines[0], piece, block.kind);
  const element = document.createElement("div");
  element.className = block.kind;
  for (const line of block.lines) element.append(paragraph(line, piece, "", block.kind === "table" ? block.by : ""));
  const wide = block.kind === "code" ? block.lines.some(([start, end]) => end - start > LONG) : element.firstChild.childElementCount > CELLS;
  if (wide) {
    element.tabIndex = 0; // it may scroll sideways
    element.setAttribute("role", "group");
    element.setAttribute("aria-label", block.kind === "code" ? "Code or columns" : "Table");
  }
  return element;
}

function paragraph([start, end], piece, kind = "", by = "") {
  const element = document.createElement("p");
  if (kind === "heading") element.className = kind;
  if (!by) {
    if (end > start) piece(start, end, element);
    return element;
  }
  const words = piece.text.slice(start, end);
  for (let from = 0; from <= words.length;) {
    let to = words.indexOf(by, from);
    if (to < 0) to = words.length;
    // Before the first bar and after the last one there is no cell, but an empty one between two bars is one.
    const outside = (from === 0 || to === words.length) && !words.slice(from, to).trim();
    if (to > from || !outside) {
      const cell = element.appendChild(document.createElement("span"));
      if (to > from) piece(start + from, start + to, cell);
    }
    if (to < words.length) {
      const bar = element.appendChild(document.createElement("span"));
      bar.className = "bar";
      piece(start + to, start + to + 1, bar);
    }
    from = to + 1;
  }
  return element;
}

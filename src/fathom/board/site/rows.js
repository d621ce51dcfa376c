/* Rows of a long table: only those in view, and a few around them, are part of the page. */
(function (fathom) {
  "use strict";
  const { h } = fathom;
  const AROUND = 10;
  // Drawn before the table has a size.
  const FIRST = 30;
  const USUAL = 58;
  // The table that is shown; printing needs all of its rows.
  let present = null;
  addEventListener("beforeprint", () => present && present(true));
  addEventListener("afterprint", () => present && present(false));

  /** The rows of a long table, which scrolls within its box.
   * @param {Element} table - with heads and an empty body; its box is the next ".scroll" around it.
   * @param {number} columns - how many there are.
   * @param {function} row - gives the row of an entry; `row.made` has those that were drawn.
   * @returns {{show(entries), all()}} `all` puts every row into the page, for paper and for the search of browsers. */
  fathom.rowsInView = function (table, columns, row) {
    const body = table.querySelector("tbody");
    const heads = [...table.querySelectorAll("thead tr")];
    const heights = new WeakMap();
    const spacers = [];
    let entries = [];
    let usual = USUAL;
    let box = null;
    let size = "";
    let whole = false;
    let asked = 0;

    const heightOf = (entry) => heights.get(entry) || usual;

    function spacer(n, height) {
      while (spacers.length <= n) spacers.push(h("tr", { class: "spacer", "aria-hidden": "true" }, h("td", { colspan: columns })));
      spacers[n].firstChild.style.height = height + "px";
      return spacers[n];
    }

    // Numbers of the first row in view, and of those to draw.
    function view() {
      if (whole) return [0, 0, entries.length];
      if (!box || !box.clientHeight) return [0, 0, Math.min(FIRST, entries.length)];
      const end = box.scrollTop + box.clientHeight - table.tHead.offsetHeight;
      let [top, first] = [0, 0];
      while (first < entries.length - 1 && top + heightOf(entries[first]) <= box.scrollTop) top += heightOf(entries[first++]);
      let last = first;
      while (last < entries.length && top < end) top += heightOf(entries[last++]);
      return [first, Math.max(0, first - AROUND), Math.min(entries.length, last + AROUND)];
    }

    // A row with the focus, or one that opened a popover, stays.
    const holds = (tr) => tr.isConnected && (tr.contains(document.activeElement) || tr.querySelector('[aria-expanded="true"]'));

    function draw() {
      const [first, start, end] = view();
      const numbers = [];
      entries.forEach((entry, n) => {
        if ((n >= start && n < end) || (row.made.has(entry) && holds(row.made.get(entry)))) numbers.push(n);
      });
      const nodes = [];
      let next = 0;
      let gaps = 0;
      const gap = (upto) => {
        const height = entries.slice(next, upto).reduce((sum, entry) => sum + heightOf(entry), 0);
        if (upto > next) nodes.push(spacer(gaps++, height));
      };
      for (const n of numbers) {
        gap(n);
        const tr = row(entries[n]);
        tr.setAttribute("aria-rowindex", heads.length + n + 1);
        nodes.push(tr);
        next = n + 1;
      }
      gap(entries.length);
      place(nodes);
      if (box && box.clientHeight) measure(numbers, first);
    }

    // Rows that stay are not moved: a moved element loses the focus.
    function place(nodes) {
      const wanted = new Set(nodes);
      for (const one of [...body.children]) if (!wanted.has(one)) one.remove();
      let here = body.firstChild;
      for (const one of nodes) {
        if (one === here) here = here.nextSibling;
        else body.insertBefore(one, here);
      }
    }

    // What is in view stays where it is if rows above it are not as high as was assumed.
    function measure(numbers, first) {
      let moved = 0;
      const found = numbers.map((n) => row(entries[n]).getBoundingClientRect().height);
      numbers.forEach((n, at) => {
        if (n < first) moved += found[at] - heightOf(entries[n]);
        heights.set(entries[n], found[at]);
      });
      if (Math.abs(moved) > 0.5) box.scrollTop += moved;
    }

    // Columns keep their widths while other rows come into view.
    function settle() {
      const cells = [...table.tHead.lastElementChild.children];
      for (const th of cells) th.style.minWidth = "";
      const widths = cells.map((th) => th.getBoundingClientRect().width);
      cells.forEach((th, n) => (th.style.minWidth = widths[n] + "px"));
    }

    function later() {
      if (!asked) asked = requestAnimationFrame(function () {
        asked = 0;
        draw();
      });
    }

    function resized() {
      const found = table.closest(".scroll");
      if (!found || !found.clientHeight) return;
      if (found !== box) {
        box = found;
        box.classList.add("long");
        box.addEventListener("scroll", later, { passive: true });
        const rows = [...body.children].filter((tr) => !tr.classList.contains("spacer") && !tr.classList.contains("divider"));
        if (rows.length) usual = rows.reduce((sum, tr) => sum + tr.getBoundingClientRect().height, 0) / rows.length;
      }
      const now = box.clientWidth + "x" + box.clientHeight;
      if (now === size) return;
      if (size.split("x")[0] !== String(box.clientWidth)) settle();
      size = now;
      draw();
    }

    function paper(on) {
      whole = on;
      if (table.isConnected) draw();
    }

    new ResizeObserver(resized).observe(table);
    heads.forEach((tr, n) => tr.setAttribute("aria-rowindex", n + 1));

    function show(next) {
      present = paper;
      entries = next;
      table.setAttribute("aria-rowcount", heads.length + entries.length);
      if (box) box.scrollTop = 0;
      draw();
    }
    return { show, all: () => paper(true) };
  };
})(window.fathom);

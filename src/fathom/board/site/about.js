/* How to read the board, and what has changed since it was last built. */
(function (fathom) {
  "use strict";
  const { h } = fathom;

  fathom.pages.about = async function () {
    const site = await fathom.load("site");
    const element = h("div", { class: "prose" },
      h("div", { class: "heading" }, h("h1", { tabindex: "-1" }, "How to read this board"),
        h("p", { class: "lead" }, "This site compares language models on long texts. It says how sure each number is, and ranks only where the data allow it.")),
      reading(), changes(site), boards(site));
    return { title: "About", element, about: "about" };
  };

  function reading() {
    const terms = [
      ["Ranks", "A rank is a range: 2\u20135 means that the data allow any rank from 2 to 5. It begins after all lines that score higher for sure, and ends before all that score lower for sure; for sure means that the difference stands a test of all differences of the line together, at 95% (Holm\u2019s step-down; the range then holds the true rank with 95% confidence). Differences are taken over the same questions where these are known. A dash is a line that cannot be ranked: it has no interval, it is not complete, or other lines have more questions. Press any rank to see the differences behind it."],
      ["Brackets", "A bracket joins a line with those below it that cannot be told apart from it. Lines of neighbouring brackets may still be within chance of each other: the ranges of ranks say which."],
      ["Intervals", "The dot is the mean, the bar around it its 95% interval; the small numbers are its ends. Where only a mean and a number of questions are published, the bar is open and as wide as it can be for so many scores between 0 and 100."],
      ["Missing scores", "n/a is a score that is not there. It is left out and never taken for 0. Where a paper counts missing scores as 0, that count can be switched on, and is never what ranks are made of."],
      ["Where results come from", h("span", null, h("span", { class: "badge published" }, "published"), " is printed in a paper, with table and date; nothing of it was run here. ", h("span", { class: "badge recomputed" }, "recomputed"), " was computed from scores of single questions that the authors of a paper released, and the paper does not print it. ", h("span", { class: "badge measured" }, "measured"), " was run by those who built this site. ", h("span", { class: "badge submitted" }, "submitted"), " was sent in by others and checked. Papers ask in their own ways, so small differences between results of different origin mean little. A badge with a * has a note on how the line came about: fewer questions than the benchmark has, say, another judge, or the replies or the name of another line.")],
      ["Comparing", "Tick two to six lines in a table. Where both lines were asked the same questions, these weigh the same for both, so that what is hard for both cancels; else the comparison is marked as unpaired."],
      ["Links", "The address holds the view: board, columns, order and filters. \u201cCopy link\u201d copies it; it works from disk too."],
    ];
    return h("dl", { class: "terms" }, terms.map(([term, said]) => h("div", null, h("dt", null, term), h("dd", null, said))));
  }

  function changes(site) {
    const told = site.changes;
    if (!told) return null;
    return h("section", null, h("h2", null, "What has changed"),
      h("p", { class: "muted" }, `From ${fathom.plain(told.old)} to ${fathom.plain(told.new)}.`),
      told.lines.length ? h("ul", null, told.lines.map((line) => h("li", null, fathom.plain(line)))) : h("p", null, "Nothing."));
  }

  function boards(site) {
    return h("section", null, h("h2", null, "Boards"), fathom.scroller("Boards", fathom.plainTable("Boards of this site", ["Board", "Lines", "Models", "Tasks", "Measured", "Submitted", h("th", { scope: "col", class: "text" }, "What it is")], site.boards.map((board) => [
      h("a", { href: fathom.to("boards", board.id) }, fathom.plain(board.title)), fathom.count(board.lines), fathom.count(board.models), fathom.count(board.tasks), fathom.count(board.measured), fathom.count(board.submitted), h("td", { class: "text long" }, fathom.plain(board.about)),
    ]))));
  }
})(window.fathom);

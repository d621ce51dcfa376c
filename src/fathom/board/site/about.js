/* How to read the board, and the changes since its last build. */
(function (fathom) {
  "use strict";
  const { h } = fathom;

  fathom.pages.about = async function () {
    const site = await fathom.load("site");
    const element = h("div", { class: "prose" },
      h("div", { class: "heading" }, h("h1", { tabindex: "-1" }, "How to read this board"),
        h("p", { class: "lead" }, "This site compares language models on long contexts. Every score has a confidence interval where one can be computed, and ranks follow from significance tests.")),
      reading(), changes(site), boards(site));
    return { title: "About", element, about: "about" };
  };

  function reading() {
    const terms = [
      ["Ranks", "A rank is a range: 2\u20135 means that the data are consistent with any rank from 2 to 5. It starts after all entries that score significantly higher and ends before all that score significantly lower. Significance is tested over all differences of ranked entries together (max-T), so that with 95% confidence all ranges contain the true ranks. Differences are over the same questions where these are known. A dash is an entry without a rank: it has no interval, it is not complete, or other entries have more questions. Click a rank to see the differences."],
      ["Brackets", "A bracket joins an entry with the entries below it that are not distinguishable from it. Entries of adjacent brackets may not be distinguishable either: compare their ranges of ranks."],
      ["Intervals", "The dot is the mean and the bar its 95% interval; the small numbers are the ends of the interval. If only a mean and a number of questions are published, the bar is open: it is the widest interval that this many scores between 0 and 100 can have."],
      ["Missing scores", "n/a means that there is no score. It is left out of averages and never counted as 0. If a paper counts missing scores as 0, you can switch to that count; ranks never use it."],
      ["Origins of results", h("span", null, h("span", { class: "badge published" }, "published"), " results are printed in a paper or by the maker of a model, with table and date; they were not run here. Those that are stale are of before a change of the benchmark; click the badge to read of which. ", h("span", { class: "badge recomputed" }, "recomputed"), " results were computed from scores of single questions that the authors of a paper released; the paper does not print them. ", h("span", { class: "badge measured" }, "measured"), " results were run by the maintainers of this site. ", h("span", { class: "badge submitted" }, "submitted"), " results were sent by others and checked. Papers use their own prompts and questions, so small differences between results of different origin mean little. A badge with a * has a note on the entry: for example fewer questions than the benchmark has, another judge, or replies or a model name that match another entry.")],
      ["Comparing", "Select two to six entries in a table. Questions that both entries were asked have the same weight for both, so that their difficulty cancels out; without common questions the comparison is marked as unpaired."],
      ["Links", "The address contains the view: board, columns, order and filters. \u201cCopy link\u201d copies it. It also works for a site opened from disk."],
    ];
    return h("dl", { class: "terms" }, terms.map(([term, said]) => h("div", null, h("dt", null, term), h("dd", null, said))));
  }

  function changes(site) {
    const told = site.changes;
    if (!told) return null;
    return h("section", null, h("h2", null, "Changes"),
      h("p", { class: "muted" }, `From ${fathom.plain(told.old)} to ${fathom.plain(told.new)}.`),
      told.lines.length ? h("ul", null, told.lines.map((line) => h("li", null, fathom.plain(line)))) : h("p", null, "No changes."));
  }

  function boards(site) {
    return h("section", null, h("h2", null, "Boards"), fathom.scroller("Boards", fathom.plainTable("Boards of this site", ["Board", "Entries", "Models", "Tasks", "Measured", "Submitted", h("th", { scope: "col", class: "text" }, "Description")], site.boards.map((board) => [
      h("a", { href: fathom.to("boards", board.id) }, fathom.plain(board.title)), fathom.count(board.lines), fathom.count(board.models), fathom.count(board.tasks), fathom.count(board.measured), fathom.count(board.submitted), h("td", { class: "text long" }, fathom.plain(board.about)),
    ]))));
  }
})(window.fathom);

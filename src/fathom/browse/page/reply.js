/* One reply: its score and why, the text, the reasoning, the scores by other rules, what a judge said. */
(function (fathom) {
  "use strict";
  const { h } = fathom;
  const RULES = { strict: "strict (the task's scorer)", official: "official (the paper's rule)", judge: "judge" };
  const LONG = 4000;
  const BRIEF = 300;  // whose extracted answer the reason shows

  function numbers(reply) {
    const known = [
      reply.tokensIn !== null && fathom.count(reply.tokensIn) + " tokens in",
      reply.tokensOut !== null && fathom.count(reply.tokensOut) + " out",
      reply.tokensReasoning && fathom.count(reply.tokensReasoning) + " of reasoning",
      reply.seconds && (reply.seconds < 0.1 ? "< 0.1" : reply.seconds.toFixed(1)) + " s",
      reply.cost && "$" + reply.cost.toPrecision(2),
      reply.attempts > 1 && fathom.count(reply.attempts) + " attempts",
      reply.stop && reply.stop !== "not_asked" && "stop reason " + fathom.plain(reply.stop),
      reply.served && "by " + fathom.plain(reply.served),
    ].filter(Boolean);
    return known.length ? h("p", { class: "muted small" }, known.join(" \u00b7 ")) : null;
  }

  function text(title, content, open) {
    if (content.length <= LONG && open) return h("div", { class: "said" }, h("h4", null, title), h("div", { class: "text" }, fathom.blocks(content)));
    return h("details", { class: "said", open }, h("summary", null, title + ": " + fathom.many(content.length, "character")), h("div", { class: "text" }, fathom.blocks(content)));
  }

  function scores(reply, name) {
    const rows = reply.scores.map((one, n) => h("tr", null,
      h("th", { scope: "row" }, fathom.plain(one.metric || "score"), n ? null : h("span", { class: "muted" }, " counts")),
      h("td", null, RULES[one.rule] || fathom.plain(one.rule)),
      h("td", null, fathom.score(one.value)),
      h("td", null, one.answer === null ? h("span", { class: "muted" }, "none") : h("bdi", null, fathom.visible(one.answer))),
      h("td", null, fathom.visible([one.grader, one.detail].filter(Boolean).join(": ")))));
    return h("details", { class: "scores" }, h("summary", null, fathom.many(reply.scores.length, "score")),
      fathom.scroller("Scores of " + name, h("table", null,
        h("thead", null, h("tr", null, ["Metric", "Rule", "Score", "Extracted answer", "By"].map((name) => h("th", { scope: "col" }, name)))),
        h("tbody", null, rows))));
  }

  /** A reply as an article. */
  fathom.replyView = function (reply, run, several) {
    const first = reply.scores[0];
    const texts = reply.text !== undefined;
    return h("article", { class: "reply" },
      h("div", { class: "line" },
        h("h3", null, fathom.name(run.model), run.variant ? h("span", { class: "variant" }, " ", fathom.name(run.variant)) : null),
        several ? h("span", { class: "muted" }, "repeat " + reply.epoch) : null,
        reply.status === "ok" ? null : h("span", { class: "status" }, reply.status),
        fathom.chip(reply.value, fathom.runName(run), reply.status)),
      h("div", { class: "why" }, first.words.map((sentence) => h("p", { dir: "auto" }, fathom.visible(sentence)))),
      reply.truncated ? h("p", { class: "note" }, fathom.many(reply.truncated, "token") + " were removed from the prompt before it was sent, because it exceeded the window; below is the whole prompt.") : null,
      first.answer !== null && texts && reply.text.length > BRIEF ? h("div", { class: "said" }, h("h4", null, "Extracted answer"), h("div", { class: "text" }, fathom.blocks(first.answer))) : null,
      texts ? (reply.text ? text("Reply", reply.text, true) : h("p", { class: "muted" }, "The reply has no text.")) : h("p", { class: "muted" }, "The text of the reply is not known: rows have none."),
      reply.byLikelihood ? h("p", { class: "note" }, "The model wrote no text: the reply is the answer that it gives the highest likelihood.") : null,
      reply.reasoning ? text(reply.byLikelihood ? "Likelihoods" : "Reasoning", reply.reasoning, false) : null,
      reply.error && !first.words.join(" ").includes(reply.error) ? h("p", { class: "problem" }, fathom.visible(reply.error)) : null,
      (reply.judge || []).map(([judge, step, said]) => text("Judge " + fathom.plain(judge) + ", " + fathom.plain(step), said, false)),
      scores(reply, fathom.runName(run) + (several ? ", repeat " + reply.epoch : "")),
      numbers(reply));
  };
})(window.fathom);

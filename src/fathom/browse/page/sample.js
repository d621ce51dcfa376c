/* One sample: its facts, the replies of one or two runs, the prompt. */
(function (fathom) {
  "use strict";
  const { h } = fathom;

  function facts(detail, task) {
    const plain = [
      fathom.plain(task.title),
      detail.length ? fathom.lengthName(detail.length) + " tokens" : "without context",
      detail.tokens && detail.length ? "prompt of " + fathom.count(detail.tokens) + " tokens" + (detail.tokenizer ? " (" + fathom.plain(detail.tokenizer) + ")" : "") : null,
      fathom.plain(detail.language),
      detail.chance ? "chance level " + fathom.score(detail.chance) : null,
    ];
    return h("p", { class: "muted facts" }, plain.filter(Boolean).join(" \u00b7 "));
  }

  function facets(detail) {
    if (!detail.facets.length) return null;
    return h("details", { class: "facets" }, h("summary", null, fathom.many(detail.facets.length, "facet")),
      h("dl", null, detail.facets.map(([name, value]) => fathom.fact(fathom.plain(name), h("bdi", null, fathom.visible(String(value)))))));
  }

  /** The whole view. */
  fathom.sampleView = function (list, entry, detail, runs, place, total) {
    const several = detail.replies.some((one) => one.epoch > 1);
    const columns = runs.map(function (run) {
      const own = detail.replies.filter((one) => one.run === run);
      return h("div", { class: "column" }, own.length
        ? own.map((one) => fathom.replyView(one, list.runs[run], several))
        : h("article", { class: "reply" }, h("div", { class: "line" }, h("h3", null, fathom.name(list.runs[run].model))), h("p", { class: "muted" }, "This run has no reply to this sample.")));
    });
    const shown = detail.replies.filter((one) => runs.includes(one.run));
    const missing = list.runs[runs[0]].notes.find((note) => note.startsWith("prompts are missing")) || list.runs[runs[0]].notes.find((note) => note.startsWith("rows have"));
    const gold = detail.targets.length > 1 ? fathom.many(detail.targets.length, "gold answer") : "Gold answer";
    return h("div", { class: "sample" },
      h("div", { class: "line" },
        h("h2", { tabindex: "-1" }, fathom.plain(detail.id)),
        h("span", { class: "muted" }, place >= 0 ? fathom.count(place + 1) + " of " + fathom.count(total) : "not among the filtered samples")),
      facts(detail, list.tasks[entry.task]),
      detail.asked ? h("div", { class: "said" }, h("h3", { class: "label" }, "Question"), h("div", { class: "text" }, fathom.blocks(detail.asked))) : null,
      h("div", { class: "said golds" }, h("h3", { class: "label" }, gold),
        detail.targets.length ? h("ul", null, detail.targets.slice(0, 12).map((one) => h("li", { dir: "auto" }, fathom.visible(one))), detail.targets.length > 12 && h("li", { class: "muted" }, "and " + (detail.targets.length - 12) + " more")) : h("p", { class: "muted" }, "not stored")),
      facets(detail),
      h("div", { class: "columns", "data-columns": String(columns.length) }, columns),
      fathom.promptView(detail.prompt, shown.some((one) => one.thinking), missing && fathom.capital(fathom.plain(missing)) + "."));
  };
})(window.fathom);

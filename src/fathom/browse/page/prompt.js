/* A prompt: gold text and distractors marked, fillers folded and loaded when they are opened. */
(function (fathom) {
  "use strict";
  const { h } = fathom;
  const NAMES = { instruction: "Instruction", question: "Question", gold: "Gold", distractor: "Distractor", heading: "", thinking: "Question with thinking" };
  const FOLDED = { filler: ["filler", "pieces of filler"], text: ["text", "texts"], distractor: ["distractor", "distractors"], gold: ["gold text", "gold texts"], question: ["question", "questions"] };

  /** The text of a part that is a span of a document, as a promise. */
  async function load(part, size) {
    if (part.t !== undefined) return part.t;
    const end = part.s + part.n;
    const pieces = [];
    for (let piece = Math.floor(part.s / size); piece * size < end; piece += 1) pieces.push(piece);
    const texts = await Promise.all(pieces.map((piece) => fathom.load("texts/" + piece)));
    return texts.map((text, n) => fathom.slice(text, Math.max(0, part.s - pieces[n] * size), end - pieces[n] * size)).join("");
  }

  const APART = 24;
  const headings = (parts) => parts.filter((part) => part.k === "heading").map((part) => ({ parts: [part] }));
  const isLong = (part) => part.t === undefined;
  const isLoose = (part) => part.k === "gap" || part.k === "heading";

  /** Parts in groups: those to be shown, and runs of long ones, with their headings, to be folded. */
  function grouped(parts) {
    // A few texts with headings are folded one by one, many together.
    const apart = parts.filter((part) => part.k === "heading").length <= APART;
    const groups = [];
    let waiting = [];
    let fold = null;
    for (const part of parts) {
      if (isLoose(part)) {
        waiting.push(part);
      } else if (isLong(part)) {
        const headed = apart && part.k === "text" && waiting.some((one) => one.k === "heading");
        if (fold && fold.kind === part.k && !headed) fold.parts.push(...waiting, part);
        else {
          if (headed) groups.push(...headings(waiting));
          fold = { kind: part.k, parts: [...(headed ? [] : waiting), part] };
          groups.push(fold);
        }
        waiting = [];
      } else {
        groups.push(...headings(waiting), { parts: [part] });
        waiting = [];
        fold = null;
      }
    }
    groups.push(...headings(waiting));
    return groups;
  }

  function shown(part, finder) {
    if (part.k === "gap") return null;
    const name = NAMES[part.k];
    return h("div", { class: "part " + part.k },
      name ? h("span", { class: "kind" }, name) : null,
      h("div", { class: "text" }, fathom.blocks(part.t, part.k === "question" ? null : finder)));
  }

  function folded(group, prompt, finder) {
    const long = group.parts.filter(isLong);
    const characters = long.reduce((sum, part) => sum + part.n, 0);
    const hits = long.reduce((sum, part) => sum + (part.h || 0), 0);
    const documents = [...new Set(long.map((part) => part.d))];
    const [title, source] = prompt.documents[documents[0]] || ["", ""];
    const from = documents.length > 1 ? fathom.many(documents.length, "document") : "\u201c" + fathom.visible(title || source || "document " + documents[0]) + "\u201d";
    const [one, several] = FOLDED[group.kind];
    const what = long.length > 1 ? fathom.count(long.length) + " " + several : fathom.capital(one);
    const excerpts = long.flatMap((part) => part.x || []).slice(0, 3);
    const body = h("div", { class: "inside" });
    const fold = h("details", { class: "fold of-" + group.kind },
      h("summary", null, h("span", { class: "what" }, what + ": " + fathom.many(characters, "character") + ", from "), h("bdi", null, from),
        hits ? h("span", { class: "hits" }, "gold answer " + (hits === 1 ? "once" : fathom.count(hits) + " times")) : null,
        long.length === 1 && !excerpts.length ? h("span", { class: "preview" }, fathom.visible(long[0].p) + "\u2026") : null),
      body);
    let loaded = null;
    fold.open_ = function () {
      fold.open = true;
      loaded = loaded || fill();
      return loaded;
    };
    async function fill() {
      body.replaceChildren(h("p", { class: "muted", role: "status" }, "Loading ..."));
      try {
        const made = [];
        const texts = await Promise.all(group.parts.map((part) => load(part, prompt.piece)));
        for (const [n, part] of group.parts.entries()) {
          if (part.k === "gap") continue;
          const text = texts[n];
          if (isLong(part) && long.length > 1) {
            const [name, place] = prompt.documents[part.d] || ["", ""];
            made.push(h("p", { class: "from" }, h("bdi", null, fathom.visible(name || place || "document " + part.d)), ", " + fathom.many(part.n, "character")));
          }
          made.push(h("div", { class: isLong(part) ? "text" : "text heading" }, fathom.blocks(text, finder)));
        }
        body.replaceChildren(...made);
      } catch (error) {
        body.replaceChildren(h("p", { class: "problem" }, error.message));
      }
    }
    fold.addEventListener("toggle", () => fold.open && fold.open_());
    const ends = long[long.length - 1].z;
    return [fold, excerpts.length ? h("div", { class: "excerpts" }, excerpts.map(([before, hit, after]) =>
      h("p", { dir: "auto" }, "\u2026" + fathom.visible(before), h("mark", null, fathom.visible(hit)), fathom.visible(after) + "\u2026"))) : null,
    ends ? h("div", { class: "part question" }, h("span", { class: "kind" }, "End of the prompt"), h("div", { class: "text" }, fathom.blocks((ends.length < characters ? "\u2026" : "") + ends))) : null];
  }

  /** The prompt of a sample; `thinking` whether the request for thoughts ends it. */
  fathom.promptView = function (prompt, thinking, missing) {
    if (!prompt) {
      return h("section", { class: "prompt" }, h("h3", null, "Prompt"), h("p", { class: "muted" }, missing || "The prompt is not known: give the suite of the run with --suite."));
    }
    const finder = fathom.finder(prompt.answers);
    const total = prompt.parts.reduce((sum, part) => sum + part.n, 0);
    const parts = [...prompt.parts];
    if (thinking && prompt.thinking) {
      const last = parts.findLastIndex((part) => part.k === "question");
      if (last >= 0) parts[last] = { k: "thinking", n: prompt.thinking.length, t: prompt.thinking.trim() };
    }
    const views = grouped(parts).map((group) => (group.kind ? folded(group, prompt, finder) : group.parts.map((part) => shown(part, finder)))).flat(2);
    const folds = views.filter((view) => view && view.open_);
    const all = h("button", { type: "button", class: "plain", id: "unfold", onclick: toggle }, "Unfold all");
    async function toggle() {
      const open = folds.some((fold) => !fold.open);
      all.textContent = open ? "Fold all" : "Unfold all";
      if (open) await Promise.all(folds.map((fold) => fold.open_()));
      else for (const fold of folds) fold.open = false;
    }
    const gold = parts.filter((part) => part.k === "gold").length;
    const known = prompt.note ? prompt.note : gold ? null : parts.some((part) => part.h) ? "The position of the evidence is not known; texts of gold answers are marked." : null;
    return h("section", { class: "prompt" },
      h("div", { class: "line" }, h("h3", null, "Prompt"), h("span", { class: "muted" }, fathom.many(total, "character") + (known ? ". " + known : "")), folds.length ? all : null),
      views);
  };
})(window.fathom);

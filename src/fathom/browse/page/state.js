/* What is shown: the filters, the sample and the runs, all of them in the part of the address after "#". */
(function (fathom) {
  "use strict";
  const NAMES = ["model", "variant", "other", "suite", "task", "length", "depth", "status", "score", "q", "sample"];

  /** The filters that an address asks for; unknown names are ignored. */
  fathom.read = function (hash) {
    const found = {};
    for (const [name, value] of new URLSearchParams(String(hash).replace(/^#/, ""))) {
      if (NAMES.includes(name) && value) found[name] = value;
    }
    return found;
  };

  /** The address of some filters. */
  fathom.to = (state) =>
    "#" + NAMES.filter((name) => state[name]).map((name) => name + "=" + encodeURIComponent(state[name]).replace(/%2F/g, "/").replace(/%2C/g, ",").replace(/%40/g, "@")).join("&");

  /** Index of the run on the left; -1 if the address names none. A model without a variant is its run without one, else
   * its first run. */
  fathom.leftRun = function (list, state) {
    if (!state.model) return -1;
    const exact = list.runs.findIndex((run) => run.model === state.model && run.variant === (state.variant || ""));
    return exact >= 0 || state.variant ? exact : list.runs.findIndex((run) => run.model === state.model);
  };

  /** Indices of the runs that are shown: one, or two side by side. */
  fathom.shownRuns = function (list, state) {
    const named = fathom.leftRun(list, state);
    const left = Math.max(0, named);
    if (state.other === "none" || list.runs.length < 2) return [left];
    const other = Number(state.other) - 1;
    if (state.other && list.runs[other] && other !== left) return [left, other];
    if (state.model && !state.other) return [left];
    return [left, left === 0 ? 1 : 0];
  };

  /** The list with its columns as one object for each sample. */
  fathom.entries = function (list) {
    const { samples, replies } = list;
    const entries = samples.id.map((id, number) => ({
      number, id, suite: samples.suite[number], task: samples.task[number], length: samples.length[number], depth: samples.depth[number],
      asked: samples.asked[number], gold: samples.gold[number], replies: [],
    }));
    replies.sample.forEach(function (sample, n) {
      entries[sample].replies.push({ run: replies.run[n], epoch: replies.epoch[n], status: replies.status[n], value: replies.value[n], answer: replies.answer[n] });
    });
    return entries;
  };

  /** Whether the scores of two runs for a sample differ by at least a half; `runs` are those that count. */
  fathom.differ = function (entry, runs) {
    const scored = entry.replies.filter((one) => one.value !== null && (!runs || runs.includes(one.run)));
    const values = scored.map((one) => one.value);
    return new Set(scored.map((one) => one.run)).size > 1 && Math.max(...values) - Math.min(...values) >= 0.5;
  };

  /** The samples that the filters leave. */
  fathom.filtered = function (list, entries, state) {
    const run = fathom.leftRun(list, state);
    if (state.model && run < 0) return [];
    const shown = fathom.shownRuns(list, state);
    const words = (state.q || "").toLowerCase().split(/\s+/).filter(Boolean);
    const [low, high] = String(state.depth || "").split("-").map(Number);
    return entries.filter(function (entry) {
      const own = run < 0 ? entry.replies : entry.replies.filter((one) => one.run === run);
      if (!own.length) return false;
      if (state.suite && list.suites[entry.suite] !== state.suite) return false;
      if (state.task && list.tasks[entry.task].name !== state.task) return false;
      if (state.length && entry.length !== Number(state.length)) return false;
      if (state.depth && (entry.depth === null || entry.depth < low - 1e-9 || entry.depth > (high === undefined ? low : high) + 1e-9)) return false;
      if (state.status && !own.some((one) => one.status === state.status)) return false;
      if (state.score === "differ" ? !fathom.differ(entry, shown.length > 1 ? shown : null) : state.score && !own.some((one) => fathom.scoreWord(one.value) === state.score)) return false;
      if (!words.length) return true;
      const text = [entry.id, entry.asked, entry.gold, ...entry.replies.map((one) => one.answer)].join(" ").toLowerCase();
      return words.every((word) => text.includes(word));
    });
  };
})(window.fathom);

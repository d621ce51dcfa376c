/* The page: what the address asks for, and the keyboard. */
(function (fathom) {
  "use strict";
  const { h } = fathom;
  const find = (id) => document.getElementById(id);
  const KEYS = [["j / k", "next / previous sample"], ["n / p", "next / previous sample on which runs disagree"], ["/", "search"], ["u", "unfold the prompt"], ["Esc", "back to the list"], ["?", "this help"]];
  let list = null;
  let all = [];
  let found = [];
  let state = {};
  let place = -1;
  let showForm = null;
  let rows = null;
  let turn = 0;
  let asked = "";
  let version = 0;

  // Samples of two suites can have one name; the number tells them apart.
  const nameOf = (entry) => (list.suites.length > 1 ? entry.number + ":" + entry.id : entry.id);
  const address = (entry) => fathom.to({ ...state, sample: nameOf(entry) });

  /** The name of a data file of a run that was read again. */
  const current = (name) => (version ? "again/" + version + "/" + name : name);

  /** Goes to an address; `quietly` without a step of the back button. */
  function go(hash, quietly) {
    if (hash === location.hash || (hash === "#" && !location.hash)) return;
    if (quietly) {
      history.replaceState(null, "", hash);
      route();
    } else location.hash = hash;
  }

  function change(part, quietly) {
    go(fathom.to({ ...state, ...part }), quietly);
  }

  function route(changed) {
    const kept = changed instanceof Set;
    const old = state;
    state = fathom.read(location.hash);
    const key = JSON.stringify({ ...state, sample: "" });
    if (key !== asked) {
      asked = key;
      found = fathom.filtered(list, all, state);
    }
    const runs = fathom.shownRuns(list, state);
    let entry = state.sample ? all.find((one) => nameOf(one) === state.sample) || all.find((one) => one.id === state.sample && (!state.suite || list.suites[one.suite] === state.suite)) : null;
    const wide = matchMedia("(min-width: 60rem)").matches;
    if (!entry && !state.sample && wide) entry = found[0];
    place = entry ? found.indexOf(entry) : -1;
    showForm(state);
    rows.show(found, place, runs, kept);
    find("told").textContent = found.length === all.length ? fathom.many(all.length, "sample") : fathom.count(found.length) + " of " + fathom.many(all.length, "sample");
    document.body.dataset.view = state.sample && entry ? "detail" : "list";
    if (!entry) return empty();
    if (kept && !changed.has(entry.number)) return null;
    return show(entry, answering(entry, runs), old.sample !== state.sample);
  }

  /** The runs to show: those chosen, or if none of them has a reply to this sample, those that have one. */
  function answering(entry, runs) {
    const own = [...new Set(entry.replies.map((one) => one.run))];
    return runs.some((run) => own.includes(run)) ? runs : own.slice(0, runs.length);
  }

  function empty() {
    turn += 1;
    const why = state.sample ? "There is no sample " + fathom.plain(state.sample) + " on this page." : found.length ? "Choose a sample." : state.model && fathom.leftRun(list, state) < 0 ? "There is no run of " + fathom.plain(state.model) + " on this page." : "No sample has all of these properties.";
    find("detail").replaceChildren(h("p", { class: "wait" }, why));
  }

  async function show(entry, runs, anew) {
    const mine = (turn += 1);
    const started = performance.now();
    try {
      const detail = await fathom.load(current("samples/" + entry.number));
      if (mine !== turn) return;
      const back = h("button", { type: "button", class: "plain back", onclick: () => go(fathom.to({ ...state, sample: "" })) }, "\u2190 List");
      const steps = h("div", { class: "steps" }, back, step("Previous", -1), step("Next", 1));
      find("detail").replaceChildren(steps, fathom.sampleView(list, entry, detail, runs, place, found.length));
      document.title = fathom.plain(entry.id) + " \u00b7 fathom";
      if (anew) find("detail").scrollTop = 0;
      performance.measure("fathom-sample", { start: started });
    } catch (error) {
      if (mine === turn) find("detail").replaceChildren(h("p", { class: "problem" }, error.message));
    }
  }

  function step(name, by) {
    const to = found[place + by];
    return h("button", { type: "button", class: "plain", disabled: place < 0 || !to, onclick: () => move(by) }, name);
  }

  /** Goes to the next sample in a direction; `wanted` says which ones count. */
  function move(by, wanted) {
    for (let n = place < 0 ? (by > 0 ? 0 : found.length - 1) : place + by; n >= 0 && n < found.length; n += by) {
      if (wanted && !wanted(found[n])) continue;
      go(address(found[n]), true);
      return fathom.say(found[n].id);
    }
    fathom.say("No further sample");
  }

  function help() {
    const dialog = find("keys");
    dialog.replaceChildren(h("h2", { id: "keys-title" }, "Keys"),
      h("dl", null, KEYS.map(([keys, meaning]) => fathom.fact(keys, meaning))),
      h("button", { type: "button", class: "plain", onclick: () => dialog.close() }, "Close"));
    dialog.showModal();
  }

  function notes() {
    const dialog = find("keys");
    const said = list.runs.flatMap((run) => run.notes.map((note) => [run, note]));
    dialog.replaceChildren(h("h2", { id: "keys-title" }, "Notes"),
      h("dl", null, said.map(([run, note]) => fathom.fact(fathom.runName(run), fathom.plain(note)))),
      h("button", { type: "button", class: "plain", onclick: () => dialog.close() }, "Close"));
    dialog.showModal();
  }

  const compared = (entry) => fathom.differ(entry, list.runs.length > 1 && fathom.shownRuns(list, state).length > 1 ? fathom.shownRuns(list, state) : null);

  const ACTIONS = {
    j: () => move(1),
    k: () => move(-1),
    n: () => move(1, compared),
    p: () => move(-1, compared),
    u: () => find("unfold") && find("unfold").click(),
    "/": () => find("search").focus(),
    "?": help,
    Escape: () => state.sample && document.body.dataset.view === "detail" && go(fathom.to({ ...state, sample: "" })),
  };

  addEventListener("keydown", function (event) {
    const typing = /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName);
    if (typing && event.key === "Escape") return event.target.blur();
    if (typing || event.ctrlKey || event.metaKey || event.altKey || find("keys").open || !Object.hasOwn(ACTIONS, event.key)) return;
    event.preventDefault();
    ACTIONS[event.key]();
  });

  /** Looks at a run that goes on, and shows what is new where the reader is; ends with the run. */
  async function follow() {
    for (let look = 1, wait = 5; ; look += 1) {
      await new Promise((resolve) => setTimeout(resolve, 1000 * wait));
      const name = "again/" + look + "/state";
      let now;
      try {
        now = await fathom.load(name);
      } catch {
        return tell("no longer refreshed; reload the page");
      }
      fathom.forget(name);
      if (now.version !== version) await refresh(now.version);
      const when = now.written ? "last reply " + new Date(1000 * now.written).toLocaleTimeString() : "no reply yet";
      tell((now.working ? "running, " : "the run has ended, ") + when);
      if (!now.working) return null;
      wait = now.wait;
    }
  }

  function tell(text) {
    find("live").hidden = false;
    find("live").textContent = text;
  }

  async function refresh(next) {
    const before = all;
    version = next;
    list = await fathom.load(current("list"));
    fathom.forget(current("list"));
    all = fathom.entries(list);
    if (!find("filters").contains(document.activeElement)) showForm = fathom.filterForm(find("filters"), list, all, change);
    asked = "";
    await route(new Set(all.filter((entry, n) => JSON.stringify(entry) !== JSON.stringify(before[n])).map((entry) => entry.number)));
  }

  async function start() {
    list = await fathom.load("list");
    all = fathom.entries(list);
    find("title").textContent = fathom.plain(list.title);
    showForm = fathom.filterForm(find("filters"), list, all, change);
    rows = fathom.rowList(find("scroller"), find("rows"), list, address);
    find("notes").hidden = !list.runs.some((run) => run.notes.length);
    find("notes").addEventListener("click", notes);
    addEventListener("hashchange", () => route());
    await route();
    if (list.live) follow();
  }

  fathom.themeButton(find("theme"));
  find("help").addEventListener("click", help);
  document.querySelector(".skip").addEventListener("click", function (event) {
    event.preventDefault();
    find("detail").focus();
  });
  start().catch((error) => find("detail").replaceChildren(h("p", { class: "problem" }, error.message)));
})(window.fathom);

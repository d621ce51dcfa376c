// The moderation page. Everything from submissions is put into the page as text, never as HTML.
"use strict";
(() => {
  const KEY = "fathom-board-token";
  const $ = (id) => document.getElementById(id);

  function make(tag, properties = {}, ...inside) {
    const made = Object.assign(document.createElement(tag), properties);
    made.append(...inside);
    return made;
  }

  function say(words) {
    $("said").textContent = words;
  }

  async function ask(path, body) {
    const headers = { Authorization: `Bearer ${sessionStorage.getItem(KEY)}` };
    const order = { headers, cache: "no-store" };
    if (body !== undefined) {
      order.method = "POST";
      order.body = JSON.stringify(body);
      headers["Content-Type"] = "application/json";
    }
    const answer = await fetch(`/api/${path}`, order);
    if (answer.ok) return answer;
    const found = await answer.json().catch(() => ({}));
    throw Object.assign(new Error(found.error || `the server answered ${answer.status}`), { status: answer.status });
  }

  const moment = (text) => text.replace("T", " ").replace("Z", " UTC");
  const STATES = { pending: "pending", accepted: "accepted", refused: "refused", withdrawn: "withdrawn" };

  const terms = (facts) => make("dl", { className: "facts" }, ...Object.entries(facts).filter(([, value]) => value)
    .map(([name, value]) => make("div", {}, make("dt", {}, name), make("dd", {}, value))));

  // A bundle that the check refused has its reason among the findings already.
  const reason = (one) => (one.history.length || (one.findings || []).some((found) => found.level === "refused") ? "" : one.reason);

  const facts = (one) => terms({
    state: one.decided && !one.decided_by ? `${one.state} by the check` : STATES[one.state],
    from: one.submitter,
    received: moment(one.received),
    "last reply": one.created,
    suites: (one.suites || []).join(", "),
    size: `${(one.size / 1024).toLocaleString("en", { maximumFractionDigits: 0 })} KiB`,
    bundle: one.id.slice(0, 16),
    reason: reason(one),
  });

  const named = (level, words) => make("li", {}, make("span", { className: level }, level), make("span", {}, words));

  // Flags come first.
  const flags = (one) => (one.alike || []).map((other) => named("flagged",
    `${other.words}: ${other.model || "(cannot be read)"}, from ${other.submitter}, ${STATES[other.state]}, received ${moment(other.received)}, bundle ${other.id.slice(0, 16)}`));

  const findings = (one) => make("ul", { className: "findings" }, ...flags(one), ...(one.findings || []).map((found) => named(found.level, found.words)));

  const ACTIONS = { accepted: "accepted", refused: "refused", withdrawn: "withdrawn", undone: "undone" };
  const told = (decision) => [
    make("span", { className: decision.action }, ACTIONS[decision.action] || decision.action),
    make("span", {}, `${moment(decision.decided)} by ${decision.decided_by}${decision.action === "undone" ? `, ${STATES[decision.after]} again` : ""}${decision.reason ? `: ${decision.reason}` : ""}`),
  ];

  function history(one) {
    if (!one.history.length) return [];
    return [make("ol", { className: "findings history" }, ...one.history.map((decision) => make("li", {}, ...told(decision))))];
  }

  function decide(one) {
    if (one.own) return [make("p", { className: "note" }, "This is your submission: another moderator decides on it.")];
    const last = one.history[0];
    const undoes = ["accepted", "refused"].includes(one.state) && last && last.after === one.state;
    if (one.state !== "pending" && one.state !== "accepted" && !undoes) return [];
    const reason = make("textarea", { rows: 1, maxLength: 2000 });
    const act = (what, title, more) => {
      const button = make("button", { type: "button", className: what === "accept" ? "first" : "" }, title);
      button.addEventListener("click", async () => {
        if (!reason.value.trim()) {
          say("Enter a reason, for the submitter and for later review.");
          reason.focus();
          return;
        }
        button.disabled = true;
        try {
          await ask(`submissions/${one.id}/${what}`, { reason: reason.value, ...more });
          await show();
        } catch (error) {
          say(error.message);
          button.disabled = false;
        }
      });
      return button;
    };
    const buttons = one.state === "pending" ? [act("accept", "Accept"), act("refuse", "Refuse")]
      : one.state === "accepted" ? [act("refuse", "Take off the site")] : [];
    if (undoes) buttons.push(act("undo", "Undo the last decision", { decision: last.number }));
    const download = one.state === "pending" || one.state === "accepted" ? [fetcher(one)] : [];
    return [make("div", { className: "decide" }, make("label", {}, "Reason", reason), ...buttons, ...download)];
  }

  function fetcher(one) {
    const button = make("button", { type: "button" }, "Download");
    button.addEventListener("click", async () => {
      try {
        const address = URL.createObjectURL(await (await ask(`submissions/${one.id}/bundle`)).blob());
        make("a", { href: address, download: `${one.id.slice(0, 16)}.zip` }).click();
        setTimeout(() => URL.revokeObjectURL(address), 60000);
      } catch (error) {
        say(error.message);
      }
    });
    return button;
  }

  const item = (one) => make("li", {},
    make("h2", {}, [one.model, one.variant].filter(Boolean).join(", ") || "(cannot be read)"),
    facts(one), findings(one), ...history(one), ...decide(one));

  const audited = (decision) => make("li", { className: "audited" },
    make("h2", {}, decision.model || "(cannot be read)"),
    make("p", { className: "findings history" }, ...told(decision)),
    terms({ bundle: decision.submission.slice(0, 16), before: STATES[decision.before], after: STATES[decision.after] }));

  async function listed(state) {
    if (state === "decisions") return (await (await ask("decisions")).json()).decisions.map(audited);
    return (await (await ask(`submissions${state ? `?state=${state}` : ""}`)).json()).submissions.map(item);
  }

  async function site() {
    const state = await (await ask("site")).json();
    $("site").textContent = state.error ? `The site could not be built: ${state.error}`
      : state.building ? "The site is being built."
      : state.current ? "The site is up to date." : "The site is waiting to be built.";
    $("site").className = state.error ? "refused" : "";
    return state.current || Boolean(state.error);
  }

  let watching = 0;
  function watch() {
    clearTimeout(watching);
    watching = setTimeout(async () => {
      if (!sessionStorage.getItem(KEY)) return;
      const settled = await site().catch(() => true);
      if (!settled) watch();
    }, 2000);
  }

  let shows = 0;
  async function show() {
    const turn = ++shows; // ignores answers to earlier questions
    say("");
    const state = $("state").value;
    try {
      const found = await listed(state);
      const settled = await site();
      if (turn !== shows) return;
      $("enter").hidden = true;
      $("desk").hidden = $("leave").hidden = false;
      $("list").replaceChildren(...found);
      if (!found.length) $("list").append(make("li", {}, "No submissions."));
      if (!settled) watch();
    } catch (error) {
      if (error.status === 401 || error.status === 403) leave();
      say(error.message);
    }
  }

  function leave() {
    sessionStorage.removeItem(KEY);
    $("enter").hidden = false;
    $("desk").hidden = $("leave").hidden = true;
    $("list").replaceChildren();
    $("token").focus();
  }

  $("enter").addEventListener("submit", (event) => {
    event.preventDefault();
    sessionStorage.setItem(KEY, $("token").value.trim());
    $("token").value = "";
    show();
  });
  $("leave").addEventListener("click", leave);
  $("again").addEventListener("click", show);
  $("state").addEventListener("change", show);
  if (sessionStorage.getItem(KEY)) show();
})();

// Forms: time spent, drafts that are saved while somebody types, and components that can be added.

const SAVE_AFTER = 1500; // milliseconds after the last key
const RETRY_AFTER = 5000;
const AWAY_AFTER = 60000; // without any input, time does not count
const csrf = document.body.dataset.csrf;
const person = document.body.dataset.person;

let seen = performance.now();
let active = 0;
let last = performance.now();

const SENT = "draft sent";
if (new URLSearchParams(location.search).has("done") && localStorage.getItem(SENT)) {
  localStorage.removeItem(localStorage.getItem(SENT)); // it arrived
  localStorage.removeItem(SENT);
}

/** Starts timers and drafts of all forms of the page. */
export function startForms() {
  for (const name of ["keydown", "pointerdown", "wheel", "touchmove", "scroll"]) {
    addEventListener(name, () => { seen = performance.now(); }, { passive: true, capture: true });
  }
  setInterval(count, 1000);
  addEventListener("pageshow", (event) => { if (event.persisted) active = 0; }); // that time was sent before
  for (const form of document.forms) {
    form.addEventListener("submit", () => {
      count();
      const field = form.elements.namedItem("seconds");
      if (field) field.value = String(Math.round(active / 1000));
    });
    for (const group of form.querySelectorAll(".component-fields")) startComponents(group);
    if (form.dataset.draft) startDraft(form);
  }
  for (const place of document.querySelectorAll(".marked")) showEvidence(place);
}

function count() {
  const now = performance.now();
  // After a night in which the computer slept, one step is as long as the night.
  if (document.visibilityState === "visible" && now - seen < AWAY_AFTER) active += Math.min(now - last, AWAY_AFTER);
  last = now;
}

// Components: there is always one empty field at the end.

function startComponents(group) {
  group.addEventListener("input", () => {
    const fields = [...group.querySelectorAll(".component textarea")];
    if (fields.at(-1).value && fields.length < (Number(group.dataset.most) || Infinity)) addComponent(group);
  });
}

/** Adds an empty component to a group of fields, and returns it. */
export function addComponent(group) {
  const all = group.querySelectorAll(".component");
  const copy = all[all.length - 1].cloneNode(true);
  const at = all.length;
  const prefix = group.dataset.prefix;
  const field = copy.querySelector("textarea");
  field.name = `${prefix}-${at}`;
  field.value = "";
  copy.querySelector("label span").textContent = `${group.dataset.name ?? prefix} ${at + 1}`;
  const evidence = copy.querySelector("input[type=hidden]");
  evidence.name = `${prefix}-evidence-${at}`;
  evidence.value = "";
  const place = copy.querySelector(".marked");
  place.dataset.field = evidence.name;
  place.replaceChildren();
  copy.classList.remove("current");
  group.append(copy);
  return copy;
}

// Evidence of a component: a hidden field with JSON, and links that show it.

/** The evidence of a place. */
export function evidenceOf(place) {
  const field = fieldOf(place);
  return field && field.value ? JSON.parse(field.value) : [];
}

/** Sets the evidence of a place, and shows it. */
export function setEvidence(place, items) {
  const field = fieldOf(place);
  field.value = items.length ? JSON.stringify(items) : "";
  showEvidence(place);
  field.dispatchEvent(new Event("input", { bubbles: true }));
  document.dispatchEvent(new Event("evidence"));
}

function fieldOf(place) {
  return place.closest("form")?.elements.namedItem(place.dataset.field);
}

function showEvidence(place) {
  place.replaceChildren(...evidenceOf(place).flatMap((one, at, items) => {
    const link = document.createElement("a");
    link.className = "evidence";
    link.href = "#reading";
    link.textContent = one.quote;
    link.title = `characters ${one.start} to ${one.end}`;
    Object.assign(link.dataset, { document: one.document, start: one.start, end: one.end });
    const remove = document.createElement("button");
    remove.type = "button";
    remove.textContent = "×";
    remove.setAttribute("aria-label", `Remove the evidence: ${one.quote.slice(0, 60)}`);
    remove.addEventListener("click", () => setEvidence(place, items.filter((_, other) => other !== at)));
    return [link, remove];
  }));
}

// Drafts: saved on the server while somebody types; while the server does not answer, in the browser.

function startDraft(form) {
  const subject = form.action.split("/").at(-2);
  const address = `/drafts/${subject}/${form.dataset.draft}`;
  const key = `draft ${person} ${subject} ${form.dataset.draft} ${form.dataset.version}`;
  const shown = form.querySelector(".saving");
  let timer = 0;
  let sending = false;
  let changed = false;
  let sent = false;

  function values() {
    const fields = [...new FormData(form)].filter(([name]) => !["csrf", "version", "seconds", "then"].includes(name));
    return JSON.stringify(Object.fromEntries(fields));
  }

  async function save() {
    if (sending || sent) return;
    sending = true;
    changed = false;
    const body = values();
    try {
      const answer = await fetch(address, {
        method: "POST",
        keepalive: body.length < 60000,
        headers: { "content-type": "application/json", "x-csrf": csrf },
        body: JSON.stringify({ version: form.dataset.version, body }),
      });
      if (!answer.ok) throw new Error((await answer.json()).error);
      localStorage.removeItem(key);
      shown.textContent = "Draft saved.";
    } catch (error) {
      localStorage.setItem(key, body);
      shown.textContent = `Not saved on the server yet (kept in this browser): ${error instanceof TypeError ? "the server does not answer" : error.message}`;
      changed = true;
    }
    sending = false;
    if (changed && !sent) timer = setTimeout(save, RETRY_AFTER);
  }

  const kept = localStorage.getItem(key);
  if (kept) {
    restore(form, JSON.parse(kept));
    shown.textContent = "Restored what this browser kept.";
  }
  offerOlder(form, shown, `draft ${person} ${subject} ${form.dataset.draft} `, key);
  form.addEventListener("input", () => {
    changed = true;
    shown.textContent = "";
    clearTimeout(timer);
    timer = setTimeout(save, SAVE_AFTER);
  });
  form.addEventListener("submit", () => {
    sent = true;
    clearTimeout(timer);
    localStorage.setItem(key, values()); // until the answer arrives: the server may be down
    localStorage.setItem(SENT, key);
  });
  addEventListener("pageshow", () => { sent = false; });
  document.addEventListener("visibilitychange", () => {
    if (document.visibilityState === "hidden" && changed && !sending) save();
  });
  if (kept) save();
}

/** What was typed on an earlier version and never reached the server. */
function offerOlder(form, shown, prefix, key) {
  const older = Object.keys(localStorage).find((one) => one.startsWith(prefix) && one !== key);
  if (!older) return;
  const button = document.createElement("button");
  button.type = "button";
  button.textContent = `Restore what you typed on version ${older.slice(prefix.length)}`;
  button.addEventListener("click", () => {
    restore(form, JSON.parse(localStorage.getItem(older)));
    localStorage.removeItem(older);
    button.remove();
    form.querySelector("textarea")?.dispatchEvent(new Event("input", { bubbles: true }));
  });
  shown.after(button);
}

function restore(form, values) {
  for (const group of form.querySelectorAll(".component-fields")) {
    const most = Math.max(-1, ...Object.keys(values).map((name) => Number(name.replace(`${group.dataset.prefix}-`, "")) || 0));
    while (group.querySelectorAll(".component").length <= most) addComponent(group);
  }
  for (const [name, value] of Object.entries(values)) {
    const field = form.elements.namedItem(name);
    if (!field) continue;
    if (field instanceof RadioNodeList) field.value = value;
    else if (field.type === "checkbox") field.checked = field.value === value;
    else field.value = value;
  }
}

// What every page does: keys, the help sheet, and the parts of a page that need more.

import { startForms } from "./forms.js";

const help = document.getElementById("help");
const helpButton = document.getElementById("help-button");

if (help && helpButton) {
  helpButton.hidden = false;
  helpButton.addEventListener("click", () => help.showModal());
}

startForms();
const reading = document.getElementById("reading");
if (reading) {
  import("./reading.js").then((module) => module.startReading(reading), () => {
    document.getElementById("text").prepend("The reading pane cannot be loaded; reload the page.");
  });
}
if (document.getElementById("add") || document.getElementById("compliance")) import("./documents.js");

const atWork = document.querySelector("[data-open]");

// Says that this page is open, and shows who else has it open.
async function sayOpen() {
  if (document.hidden) return;
  const body = new URLSearchParams({ csrf: document.body.dataset.csrf });
  const answer = await fetch(atWork.dataset.open, { method: "POST", body }).catch(() => null);
  if (!answer?.ok) return;
  const { open } = await answer.json();
  const words = open.length ? `${open.join(", ")} ${open.length > 1 ? "have" : "has"} this open.` : "";
  const place = atWork.querySelector(".open-now");
  if (place.textContent !== words) place.textContent = words;
}

if (atWork) {
  sayOpen();
  setInterval(sayOpen, 30_000);
}

let prefix = "";

function move(step) {
  const rows = [...document.querySelectorAll(".queue tbody tr")];
  if (!rows.length) return;
  const at = rows.findIndex((row) => row.classList.contains("current"));
  const next = Math.min(Math.max(at + step, 0), rows.length - 1);
  rows.forEach((row, number) => row.classList.toggle("current", number === next));
  rows[next].querySelector("a").focus();
}

document.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
    const form = event.target.closest("form");
    if (form) form.requestSubmit(form.querySelector("button.main"));
    return;
  }
  const typing = event.target.closest("input:not([type=radio]):not([type=checkbox]), textarea, select");
  if (typing || event.ctrlKey || event.metaKey || event.altKey || help?.open) return;
  if (prefix === "g" && event.key === "q") location.href = "/";
  else if (prefix === "g" && event.key === "d") location.href = "/documents";
  else if (prefix === "g" && event.key === "p") location.href = "/progress";
  else if (event.key === "?") help?.showModal();
  else if (event.key === "j") move(1);
  else if (event.key === "k") move(-1);
  prefix = event.key === "g" ? "g" : "";
});

/* One popover for the whole page: Escape and a click elsewhere close it, and focus goes back to the button. */
(function (fathom) {
  "use strict";
  const h = fathom.h;
  let box = null;
  let opener = null;

  function made() {
    box = h("div", { id: "popup", popover: "auto", role: "dialog", tabindex: "-1", "aria-labelledby": "popup-title" });
    box.addEventListener("toggle", function (event) {
      if (event.newState === "open" || !opener) return;
      opener.setAttribute("aria-expanded", "false");
      if (document.activeElement === document.body || box.contains(document.activeElement)) opener.focus();
      opener = null;
    });
    document.body.append(box);
    return box;
  }

  /** Shows content next to a button; a promise of content shows a placeholder first. */
  fathom.popup = function (button, title, content) {
    box = box || made();
    if (opener && box.matches(":popover-open")) box.hidePopover();
    const body = h("div", { class: "popup-body" });
    const close = h("button", { type: "button", class: "close", "aria-label": "Close", onclick: () => box.hidePopover() }, "\u00d7");
    box.replaceChildren(h("h2", { id: "popup-title" }, title), close, body);
    opener = button;
    button.setAttribute("aria-expanded", "true");
    box.showPopover();
    if (content instanceof Promise) {
      body.append(h("p", { class: "muted" }, "Loading ..."));
      content.then((found) => fit(body, found, button)).catch((error) => fit(body, error.message, button));
    } else fit(body, content, button);
    box.focus();
  };

  function fit(body, content, button) {
    if (opener !== button) return;
    body.replaceChildren(...[content].flat().filter(Boolean));
    place(button.getBoundingClientRect());
  }

  function place(at) {
    const width = box.offsetWidth;
    const height = box.offsetHeight;
    const left = Math.max(8, Math.min(at.left, innerWidth - width - 8));
    const below = at.bottom + 6;
    const top = below + height <= innerHeight - 8 ? below : Math.max(8, Math.min(at.top - height - 6, innerHeight - height - 8));
    box.style.left = left + "px";
    box.style.top = top + "px";
  }

  // Another page has other entries.
  addEventListener("hashchange", function () {
    if (box && box.matches(":popover-open")) box.hidePopover();
  });

  /** A button that opens a popover. */
  fathom.opens = (attributes, label, title, content) =>
    h("button", {
      type: "button", "aria-haspopup": "dialog", "aria-expanded": "false", ...attributes,
      onclick: (event) => fathom.popup(event.currentTarget, title, content()),
    }, label);

  /** The badge with the origin of a result. */
  fathom.badge = function (origin) {
    const where = [origin.title, origin.table, origin.date].filter(Boolean).map(fathom.plain).join(", ");
    // Notes of papers are about all of their entries, others about this one.
    const noted = !fathom.isOfPaper(origin) && origin.note;
    const text = origin.provenance + (origin.stale ? ", stale" : "");
    // Names begin with the visible text, for voice control.
    return fathom.opens(
      { class: "badge " + origin.provenance + (noted ? " noted" : "") + (origin.stale ? " stale" : ""), title: where, "aria-label": text + ": " + where + (noted ? "; with a note" : "") },
      text, "Origin of this result", () => fathom.originOf(origin));
  };

  /** Whether a result comes from a paper and its authors. */
  fathom.isOfPaper = (origin) => origin.provenance === "published" || origin.provenance === "recomputed";

  const MEANING = {
    published: "Printed in a paper or by the maker of a model; not run here.",
    recomputed: "Computed by fathom from scores of single questions that the authors of a paper released. The paper does not print it, and it was not run here.",
    measured: "Measured by the maintainers of this site.",
    submitted: "Sent by others. Hashes were checked, and replies were scored again where possible.",
  };

  /** The origin of a result, as elements. */
  fathom.originOf = (origin) => [
    h("p", { class: "muted" }, MEANING[origin.provenance]),
    h("dl", { class: "facts" },
      fathom.fact(fathom.isOfPaper(origin) ? "Source" : "Run", fathom.outside(origin.url, fathom.plain(origin.title))),
      fathom.fact("Table", fathom.plain(origin.table || "")),
      fathom.fact("Date", origin.date),
      fathom.fact("Stale", fathom.plain(origin.stale || "")),
      fathom.fact("Note", fathom.plain(origin.note || ""))),
  ];
})(window.fathom);

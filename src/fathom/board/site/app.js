/* The frame: the page that the address asks for, with header and footer. */
(function (fathom) {
  "use strict";
  const { h } = fathom;
  let shown = null;
  let turn = 0;

  const find = (id) => document.getElementById(id);

  /** Shows what the address asks for. The present page may update itself. */
  fathom.route = async function () {
    const asked = fathom.read(location.hash);
    const mine = (turn += 1);
    let name = asked.page + "/" + asked.id;
    try {
      // The first board is the same page with and without its name in the address.
      if (name === "boards/") name += asked.id = (await fathom.load("site")).default;
      if (shown && shown.name === name && shown.page.update) return await shown.page.update(asked.query);
      const page = await made(asked);
      if (mine === turn) show(page, name);
    } catch (error) {
      if (mine === turn) show(problem(error), name);
    }
  };

  /** Shows the page from scratch. */
  fathom.anew = function () {
    shown = { name: "" };
    return fathom.route();
  };

  function made({ page, id, query }) {
    const known = Object.prototype.hasOwnProperty.call(fathom.pages, page);
    if (!known || (id && !fathom.isSlug(id) && page !== "tasks")) throw new Error("There is no such page.");
    return fathom.pages[page](id, query);
  }

  function problem(error) {
    return { title: "Not found", element: h("div", { class: "heading" }, h("h1", { tabindex: "-1" }, "Not found"), h("p", null, error.message), h("p", null, h("a", { href: "#/" }, "Go to the first board"))) };
  }

  async function show(page, name) {
    const first = shown === null;
    shown = { name, page };
    find("tray").hidden = true;
    find("main").replaceChildren(page.element);
    if (page.shown) page.shown();
    const site = await fathom.load("site").catch(() => null);
    document.title = page.title + " \u00b7 " + (site ? fathom.plain(site.title) : "fathom");
    for (const link of document.querySelectorAll("#boards a, #to-about")) {
      if (link.dataset.of === (page.board || page.about)) {
        link.setAttribute("aria-current", "page");
        reveal(link);
      } else link.removeAttribute("aria-current");
    }
    performance.mark("fathom-shown");
    if (first) return;
    scrollTo(0, 0);
    const head = page.element.querySelector("h1");
    if (head) head.focus({ preventScroll: true });
  }

  // On a phone the boards are one row that scrolls; the page itself must not.
  function reveal(link) {
    const list = link.closest("ul");
    if (list) list.scrollLeft = link.offsetLeft - list.offsetLeft - (list.clientWidth - link.offsetWidth) / 2;
  }

  async function frame() {
    const site = await fathom.load("site");
    find("title").textContent = fathom.plain(site.title);
    const models = site.boards.length > 1 && h("li", null, h("a", { href: fathom.to("models", ""), "data-of": "models" }, "All models"));
    find("boards").append(h("ul", null, models, site.boards.map((board) =>
      h("li", null, h("a", { href: fathom.to("boards", board.id), "data-of": board.id }, fathom.plain(board.title))))));
    find("to-about").dataset.of = "about";
    find("foot").append(h("p", null, `${fathom.plain(site.title)}; results up to ${site.built}, built with fathom ${fathom.plain(site.fathom)}. Download all data: `,
      ["csv", "parquet", "json"].map((kind, n) => [n ? ", " : "", h("a", { href: "downloads/all." + kind, download: "all." + kind }, kind === "parquet" ? "Parquet" : kind.toUpperCase())]),
      ". This page loads nothing from other sites."));
  }

  async function copy() {
    const button = find("copy");
    let done = false;
    try {
      await navigator.clipboard.writeText(location.href);
      done = true;
    } catch {
      done = copyFromField(location.href);
    }
    button.textContent = done ? "Copied" : "Copy failed";
    fathom.say(done ? "Link copied" : "The link could not be copied; copy it from the address bar");
    setTimeout(() => (button.textContent = "Copy link"), 1600);
  }

  // Pages from disk may not use the clipboard API.
  function copyFromField(text) {
    const field = h("textarea", { class: "unseen", "aria-hidden": "true" });
    field.value = text;
    document.body.append(field);
    field.select();
    const done = document.execCommand("copy");
    field.remove();
    return done;
  }

  fathom.themeButton(find("theme"));
  find("copy").addEventListener("click", copy);
  document.querySelector(".skip").addEventListener("click", function (event) {
    event.preventDefault();  // "#main" is no page
    find("main").focus();
  });
  addEventListener("hashchange", fathom.route);
  // Redrawn only if the new width stays: browsers change it for a moment while they print.
  let narrow = fathom.narrow();
  matchMedia("(max-width: 44rem)").addEventListener("change", () => setTimeout(function () {
    if (fathom.narrow() === narrow) return;
    narrow = fathom.narrow();
    fathom.anew();
  }, 150));
  addEventListener("beforeprint", () => document.querySelectorAll("main details").forEach((fold) => (fold.open = true)));
  frame().catch(() => {});
  fathom.route();
})(window.fathom);

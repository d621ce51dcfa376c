/* Light or dark theme, before anything is drawn: the user's choice, or the system's. */
(function (fathom) {
  "use strict";
  const KEPT = "fathom-theme";
  const system = matchMedia("(prefers-color-scheme: dark)");
  let choice = read();

  // Storage may be forbidden; then the choice is kept only for this page.
  function read() {
    try {
      return localStorage.getItem(KEPT);
    } catch {
      return null;
    }
  }

  function keep() {
    try {
      localStorage.setItem(KEPT, choice);
    } catch {
      // forgotten later
    }
  }

  function apply() {
    const dark = choice ? choice === "dark" : system.matches;
    document.documentElement.dataset.theme = dark ? "dark" : "light";
    return dark;
  }

  /** Sets up the theme button. */
  fathom.themeButton = function (button) {
    function show() {
      const dark = apply();
      button.textContent = dark ? "Light" : "Dark";
      button.setAttribute("aria-label", `${dark ? "Light" : "Dark"} theme`);
    }
    button.addEventListener("click", function () {
      choice = apply() ? "light" : "dark";
      keep();
      show();
    });
    system.addEventListener("change", show);
    show();
  };

  apply();
})(window.fathom);

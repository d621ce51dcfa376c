(function () {
  var root = document.documentElement, button = document.getElementById("theme");
  var dark = matchMedia("(prefers-color-scheme: dark)").matches;
  function show() {
    root.dataset.theme = dark ? "dark" : "light";
    button.textContent = dark ? "Light" : "Dark";
    button.setAttribute("aria-label", "Switch to the " + (dark ? "light" : "dark") + " theme");
  }
  button.hidden = false;
  button.addEventListener("click", function () { dark = !dark; show(); });
  show();
  // Folded parts cannot be opened on paper.
  addEventListener("beforeprint", function () {
    document.querySelectorAll("details").forEach(function (fold) { fold.open = true; });
  });
})();

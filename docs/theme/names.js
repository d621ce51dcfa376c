// What the theme adds while a page loads, made usable by keyboards and screen readers: each block of code has a landmark
// without a name, and wide tables scroll within a box that cannot be focused.
const mend = () => {
  document.querySelectorAll(".md-code__nav:not([aria-label])").forEach((one) => {
    const number = document.querySelectorAll(".md-code__nav[aria-label]").length + 1;
    one.setAttribute("aria-label", `Code block ${number}`);
  });
  document.querySelectorAll(".md-typeset__scrollwrap:not([tabindex])").forEach((one) => {
    one.setAttribute("role", "group");
    one.setAttribute("aria-label", "Table");
    one.tabIndex = 0;
  });
};
new MutationObserver(mend).observe(document.body, { childList: true, subtree: true });
mend();

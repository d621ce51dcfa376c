// Pages of documents: files by drag and drop with their limits, and the keys of the compliance review.

const add = document.getElementById("add");
if (add) startAdding(add);
const compliance = document.getElementById("compliance");
if (compliance) startCompliance();

function startAdding(form) {
  const field = form.elements.namedItem("files");
  const drop = form.querySelector(".drop");
  const status = document.getElementById("add-status");
  const megabytes = (bytes) => Math.ceil(bytes / 1048576);

  function check() {
    const files = [...field.files];
    const large = files.find((one) => one.size > form.dataset.file * 1048576);
    const all = files.reduce((sum, one) => sum + one.size, 0);
    let wrong = "";
    if (files.length > form.dataset.files) wrong = `${files.length} files; choose at most ${form.dataset.files}`;
    else if (large) wrong = `${large.name} has ${megabytes(large.size)} MiB; at most ${form.dataset.file} are taken`;
    else if (all > form.dataset.all * 1048576) wrong = `${megabytes(all)} MiB together; choose at most ${form.dataset.all}`;
    field.setCustomValidity(wrong);
    status.textContent = wrong || (files.length ? `${files.length} chosen, ${megabytes(all)} MiB` : "");
  }

  field.addEventListener("change", check);
  for (const name of ["dragover", "dragleave", "drop"]) {
    drop.addEventListener(name, (event) => {
      event.preventDefault();
      drop.classList.toggle("over", name === "dragover");
      if (name !== "drop" || !event.dataTransfer.files.length) return;
      field.files = event.dataTransfer.files;
      check();
    });
  }
  form.addEventListener("submit", () => {
    form.querySelector("button.main").disabled = true;
    status.textContent = "The files are sent and read; this takes a second for each, large ones a minute. Stay on this page.";
  });
  addEventListener("pageshow", () => { form.querySelector("button.main").disabled = false; });
}

function startCompliance() {
  const search = document.getElementById("search");
  for (const one of document.querySelectorAll(".found")) {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "found";
    button.textContent = one.textContent;
    button.title = "Show it in the text";
    button.addEventListener("click", () => {
      search.value = one.dataset.words;
      search.dispatchEvent(new Event("input"));
    });
    one.replaceWith(button);
  }
  const reason = document.getElementById("reason");
  reason.addEventListener("keydown", (event) => {
    if (event.key === "Enter") { event.preventDefault(); document.getElementById("excluded").click(); }
    if (event.key === "Escape") reason.blur();
  });
  document.getElementById("excluded").addEventListener("click", (event) => {
    reason.setCustomValidity(reason.value.trim() ? "" : "Write why it is excluded.");
    if (!reason.reportValidity()) event.preventDefault();
  });
  reason.addEventListener("input", () => reason.setCustomValidity(""));
  document.addEventListener("keydown", (event) => {
    if (event.target.closest("input, textarea, select") || event.ctrlKey || event.metaKey || event.altKey) return;
    if (document.getElementById("help").open) return;
    if (event.key === "a") document.getElementById("available").click();
    else if (event.key === "x") { event.preventDefault(); reason.focus(); }
    else if (event.key === "j") document.getElementById("following").click();
    else if (event.key === "k") document.getElementById("before").click();
  });
}

// Copy buttons, keyboard shortcuts and menus. Pages work without all of this.
(() => {
  const text = document.documentElement.dataset;
  for (const box of document.querySelectorAll(".copyable")) {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = text.copy || "⧉";
    button.addEventListener("click", async () => {
      await navigator.clipboard.writeText(box.querySelector("pre, code, input").textContent.trim());
      button.textContent = text.copied || "✓";
    });
    box.append(button);
  }
  document.getElementById("error-summary")?.focus();
  const openTarget = () => {
    const target = location.hash.length > 1 && document.getElementById(location.hash.slice(1));
    if (target?.tagName === "DETAILS") target.open = true;
  };
  addEventListener("hashchange", openTarget);
  openTarget();
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape") for (const menu of document.querySelectorAll("details.menu[open]")) menu.open = false;
    if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey || event.target.matches("input, textarea, select")) return;
    const search = document.querySelector("input[type=search]");
    if (search) { search.focus(); event.preventDefault(); }
  });
})();

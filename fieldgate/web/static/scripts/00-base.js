// Copy buttons, notices, breadcrumbs, keyboard shortcuts and menus. Pages work without all of this.
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
  // Screen readers read what has the focus; they do not announce what a page begins with.
  document.querySelector("#error-summary, .notice, .outcome[role=status]")?.focus();
  const openTarget = () => {
    const target = location.hash.length > 1 && document.getElementById(location.hash.slice(1));
    if (target?.tagName === "DETAILS") target.open = true;
  };
  addEventListener("hashchange", openTarget);
  openTarget();
  const closeMenus = (kept) => {
    for (const menu of document.querySelectorAll("details.menu[open]")) if (!menu.contains(kept)) menu.open = false;
  };
  document.addEventListener("click", (event) => closeMenus(event.target));
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape") closeMenus(null);
    if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey || event.target.matches("input, textarea, select")) return;
    const search = document.querySelector("input[type=search]");
    if (search) { search.focus(); event.preventDefault(); }
  });
  // The first step of the breadcrumb is a list: back to it as it was, with its filters.
  if (!location.search.includes("form=")) sessionStorage.setItem(location.pathname, location.search);
  const list = document.querySelector(".breadcrumb a");
  if (list && !list.search) list.search = sessionStorage.getItem(list.pathname) || "";
})();

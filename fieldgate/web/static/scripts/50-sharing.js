// Sharing: tick what a permission needs, untick what it excludes. The server does the same in the preview.
(() => {
  for (const form of document.querySelectorAll(".share-form")) {
    const boxes = [...form.querySelectorAll("input[name=permissions]")];
    const words = (box, name) => box.dataset[name].split(" ").filter(Boolean);
    const note = () => {
      for (const box of boxes) {
        const hint = document.getElementById(box.id + "-note");
        hint.dataset.text ??= hint.textContent;
        const by = boxes.find((other) => other.checked && words(other, "implies").includes(box.value));
        hint.textContent = by ? hint.dataset.needed.replace("{}", by.labels[0].textContent) : box.checked ? "" : hint.dataset.text;
      }
    };
    form.addEventListener("change", ({ target }) => {
      if (target.name !== "permissions") return;
      for (const box of boxes) {
        if (target.checked) {
          const given = [target, ...boxes.filter((other) => words(target, "implies").includes(other.value))];
          if (given.includes(box)) box.checked = true;
          else if (given.some((one) => words(one, "contradicts").includes(box.value) || words(box, "contradicts").includes(one.value))) box.checked = false;
        } else if (words(box, "implies").includes(target.value)) box.checked = false;
      }
      note();
    });
  }
})();

// Sharing: a choice ticks what it gives and unticks what it takes, until it is unticked. So does the server.
(() => {
  const form = document.querySelector(".share-form");
  if (!form) return;
  const { choices } = form.elements, boxes = [...form.querySelectorAll("[name=permissions]")];
  const find = (names) => names.split(" ").flatMap((name) => boxes.find((box) => box.value === name) ?? []);
  for (const box of boxes) [box.gives, box.takes] = [find(box.dataset.gives), find(box.dataset.takes)];
  const active = (own) => own.filter((box, at) => !own.slice(at).some((later) => later.takes.includes(box)));
  form.onchange = ({ target }) => {
    if (!target.gives) return;
    const needs = (box) => box.gives.includes(target);
    let own = find(choices.value);
    const out = target.checked ? own.slice(0, own.lastIndexOf(target) + 1).filter((box) => target.takes.includes(box)) : [];
    own = own.filter((box) => box !== target && !out.includes(box));
    const rest = active(own).filter(needs).flatMap((box) => box.gives);
    if (target.checked) own.push(target);
    else own = [...own, ...rest].filter((box) => !needs(box));
    choices.value = own.map((box) => box.value).join(" ");
    const kept = active(own);
    for (const box of boxes) {
      const by = kept.find((one) => one !== box && one.gives.includes(box)), { nextElementSibling: hint } = box.labels[0];
      box.checked = by || kept.includes(box);
      hint.textContent = by ? hint.dataset.needed.replace("{}", by.labels[0].textContent) : box.checked ? "" : hint.dataset.alone;
    }
  };
})();

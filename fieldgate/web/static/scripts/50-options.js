// Suggestions for a text field: names from the API, loaded when the field is first used.
(() => {
  for (const input of document.querySelectorAll("input[data-options]")) {
    input.addEventListener("focus", async () => {
      const answer = await fetch(input.dataset.options, { headers: { "Accept-Language": document.documentElement.lang } });
      if (!answer.ok) return;
      const list = document.createElement("datalist");
      list.id = input.id + "-options";
      const names = (await answer.json()).results.map((each) => each.name);
      // After a comma, a further name is suggested.
      const suggest = () => {
        const before = input.value.match(/.*[,;،؛]\s*/)?.[0] ?? "";
        list.replaceChildren(...names.map((name) => new Option(name, before + name)));
      };
      suggest();
      input.addEventListener("input", suggest);
      input.after(list);
      input.setAttribute("list", list.id);
    }, { once: true });
  }
})();

// Suggestions for a text field: names from the API, loaded when the field is first used.
(() => {
  for (const input of document.querySelectorAll("input[data-options]")) {
    input.addEventListener("focus", async () => {
      const answer = await fetch(input.dataset.options, { headers: { "Accept-Language": document.documentElement.lang } });
      if (!answer.ok) return;
      const list = document.createElement("datalist");
      list.id = input.id + "-options";
      for (const each of (await answer.json()).results) list.append(new Option(each.name, each.name));
      input.after(list);
      input.setAttribute("list", list.id);
    }, { once: true });
  }
})();

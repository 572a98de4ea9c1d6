// Imports: send files one by one with their progress, take dropped files, and show results when they are there.
(() => {
  const random = crypto.getRandomValues(new Uint32Array(4)).join("-");
  let number = 0;
  const add = (parent, tag, text) => {
    const element = parent.appendChild(document.createElement(tag));
    element.textContent = text;
    return element;
  };

  // Gives the URL of the import, or nothing if the server refuses the file. A new attempt has the same key. A check is
  // sent to the page, which has the result: it is added to those on this page.
  const send = (form, file, item, key, check) => new Promise((resolve) => {
    const text = form.dataset, request = new XMLHttpRequest(), body = new FormData(form);
    for (const name of check ? [] : ["files", "csrf_token", "key"]) body.delete(name);
    body.set(check ? "files" : "file", file);
    if (check) body.set("check", "true");
    item.textContent = "";
    add(item, "bdi", file.name);
    const state = add(item, "span", text.sending), bar = add(item, "progress", "");
    bar.ariaLabel = file.name;
    request.upload.onprogress = (event) => { bar.max = event.total; bar.value = event.loaded; };
    request.onloadend = () => {
      const { status } = request;
      let record = {};
      try { record = JSON.parse(request.responseText); } catch { /* no connection, or a page */ }
      bar.remove();
      if (status === 401) location.reload();
      if (status === 201) {
        state.textContent = `✓ ${text.sent}`;
        return resolve(record.url);
      }
      if (check && status === 200) {
        const page = new DOMParser().parseFromString(request.responseText, "text/html");
        document.getElementById("checks").append(...page.getElementById("checks").children);
        state.textContent = `✓ ${text.checked}`;
        return resolve();
      }
      state.textContent = Object.values(record).flat().join(" ") || text.broken;
      state.className = "failed";
      if (status && status < 429) return resolve();
      const button = add(item, "button", text.retry);
      button.type = "button";
      button.onclick = () => resolve(send(form, file, item, key, check));
    };
    request.open("POST", check ? form.action : text.upload);
    if (!check) request.setRequestHeader("Accept", "application/json");
    request.setRequestHeader("X-CSRFToken", form.elements.csrf_token.value);
    request.setRequestHeader("Idempotency-Key", key);
    request.send(body);
  });

  document.addEventListener("submit", async (event) => {
    const form = event.target;
    if (!form.dataset.upload) return;
    const { files: input, destination } = form.elements, files = [...input.files], list = form.querySelector(".upload-files");
    if (!files.length || (files.length > 1 && destination?.value)) return; // the server explains
    event.preventDefault();
    const buttons = form.querySelectorAll(".tools button"), urls = [], check = event.submitter?.name === "check";
    for (const button of buttons) button.disabled = true;
    for (const element of [list, document.getElementById("checks")]) element?.replaceChildren();
    const items = files.map((file) => add(list, "li", file.name));
    for (const [at, file] of files.entries()) urls.push(await send(form, file, items[at], `${random}-${number++}`, check));
    for (const button of buttons) button.disabled = false;
    if (check) return;
    input.value = "";
    if (urls.every(Boolean)) location.href = urls.length > 1 ? form.dataset.upload : urls[0];
    else refresh();
  });

  for (const type of ["dragover", "dragleave", "drop"]) {
    document.addEventListener(type, (event) => {
      const form = event.target.closest?.("form[data-upload]");
      if (!form) return;
      event.preventDefault();
      form.classList.toggle("dropping", type === "dragover");
      if (type !== "drop" || !event.dataTransfer.files.length) return;
      form.elements.files.files = event.dataTransfer.files;
      form.requestSubmit();
    });
  }

  // Replaces what has changed, and keeps what is typed in forms.
  const refresh = async () => {
    const page = new DOMParser().parseFromString(await (await fetch(location.href, { headers: { Accept: "text/html" } })).text(), "text/html");
    if (!page.getElementById("live")) return;
    document.title = page.title;
    for (const id of ["live", "live-text"]) document.getElementById(id).replaceWith(page.getElementById(id));
    watch();
  };

  // Asks how many files are being read, less and less often, until that changes.
  const watch = () => {
    const live = document.getElementById("live");
    if (!live?.dataset.poll) return;
    let delay = 700;
    const ask = async () => {
      if (!live.isConnected) return;
      try {
        const record = document.hidden || (await (await fetch(live.dataset.poll, { cache: "no-cache" })).json());
        const pending = record.count ?? +(record.status === "processing");
        if (record !== true && pending !== +live.dataset.pending) return await refresh();
      } catch { /* no connection */ }
      delay = Math.min(delay * 1.4, 15000);
      setTimeout(ask, delay);
    };
    setTimeout(ask, delay);
  };
  watch();
})();

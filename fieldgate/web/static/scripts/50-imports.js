// Imports: files are sent one by one with their progress, dropped files are taken, and pending results appear by themselves.
(() => {
  const random = crypto.getRandomValues(new Uint32Array(4)).join("-");
  let sentFiles = 0;
  const add = (parent, tag, text, className) => {
    const element = parent.appendChild(document.createElement(tag));
    element.textContent = text;
    element.className = className || "";
    return element;
  };
  const errorText = (request) => {
    try {
      return Object.values(JSON.parse(request.responseText)).flat().join(" ");
    } catch {
      return "";
    }
  };

  // Resolves to the URL of the import, or to nothing if the server refused the file. The key stays the same on a new attempt.
  const send = (form, file, item, key) => new Promise((resolve) => {
    const text = form.dataset, request = new XMLHttpRequest(), body = new FormData();
    for (const [name, value] of new FormData(form)) {
      if (["destination", "library", "desired_type"].includes(name) && value) body.append(name, value);
    }
    body.append("file", file);
    item.replaceChildren();
    add(item, "bdi", file.name);
    const state = add(item, "span", text.sending), bar = add(item, "progress", "");
    bar.setAttribute("aria-label", file.name);
    request.upload.onprogress = (event) => { bar.max = event.total; bar.value = event.loaded; };
    const fail = (message, again) => {
      bar.remove();
      state.textContent = message || text.broken;
      state.className = "failed";
      if (!again) return resolve();
      const button = add(item, "button", text.retry);
      button.type = "button";
      button.onclick = () => resolve(send(form, file, item, key));
    };
    request.onload = () => {
      if (request.status !== 201) return fail(errorText(request), request.status >= 429);
      bar.remove();
      state.textContent = `✓ ${text.sent}`;
      resolve(JSON.parse(request.responseText).url);
    };
    request.onerror = request.ontimeout = () => fail("", true);
    request.open("POST", text.upload);
    request.setRequestHeader("Accept", "application/json");
    request.setRequestHeader("X-CSRFToken", form.elements.csrf_token.value);
    request.setRequestHeader("Idempotency-Key", key);
    request.send(body);
  });

  document.addEventListener("submit", async (event) => {
    const form = event.target, input = form.elements.files;
    if (!form.matches("form[data-upload]") || !input.files.length) return;
    const files = [...input.files], list = form.querySelector(".upload-files"), button = form.querySelector("button");
    if (files.length > 1 && form.elements.destination && form.elements.destination.value) return; // the server explains
    event.preventDefault();
    button.disabled = true;
    list.replaceChildren();
    const items = files.map((file) => add(list, "li", file.name)), urls = [];
    for (const [at, file] of files.entries()) urls.push(await send(form, file, items[at], `${random}-${sentFiles++}`));
    button.disabled = false;
    input.value = "";
    if (urls.every(Boolean)) location.href = urls.length > 1 ? form.dataset.done : urls[0];
    else refresh();
  });

  for (const type of ["dragover", "dragleave", "drop"]) {
    document.addEventListener(type, (event) => {
      const form = event.target.closest && event.target.closest("form[data-upload]");
      if (!form || !event.dataTransfer.types.includes("Files")) return;
      event.preventDefault();
      form.classList.toggle("dropping", type === "dragover");
      if (type !== "drop") return;
      form.elements.files.files = event.dataTransfer.files;
      form.requestSubmit();
    });
  }

  // Shows the page as it is now, without losing what is typed in forms.
  const refresh = async () => {
    const answer = await fetch(location.href, { headers: { Accept: "text/html" } });
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    if (!answer.ok || !page.getElementById("live")) return;
    document.title = page.title;
    for (const id of ["live", "live-text"]) document.getElementById(id).replaceWith(page.getElementById(id));
    watch();
  };

  // Asks a small JSON resource, less and less often, and refreshes the page when it has changed.
  const watch = () => {
    const live = document.getElementById("live");
    if (!live || !live.dataset.poll) return;
    let before, delay = 700;
    const ask = async () => {
      if (!live.isConnected) return;
      try {
        const now = document.hidden ? before : await (await fetch(live.dataset.poll, { cache: "no-cache" })).text();
        if (before !== undefined && now !== before) return await refresh();
        before = now;
      } catch { /* no connection: try again later */ }
      delay = Math.min(delay * 1.4, 15000);
      setTimeout(ask, delay);
    };
    ask();
  };
  watch();
})();

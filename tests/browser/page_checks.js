// Checks of one page, run in it. `PageChecks` is an object of functions that return lists of texts; empty is good.
(() => {
  const PROGRAMS = "details.programs, #api, [data-for-programs]";
  const EXTERNAL = "bdi, code, pre, kbd, samp, script, style, noscript, textarea, [dir=auto], [translate=no]";
  const pageLanguage = document.documentElement.lang;

  const describe = (element) => {
    const marks = [...element.classList].map((name) => "." + name).join("");
    const id = element.id ? "#" + element.id : "";
    const text = (element.textContent || "").trim().replace(/\s+/g, " ").slice(0, 60);
    return `<${element.localName}${id}${marks}> ${text}`;
  };
  const isVisible = (element) =>
    element.checkVisibility({ visibilityProperty: true, opacityProperty: true }) && !isVisuallyHidden(element);
  const isVisuallyHidden = (element) => {
    for (let each = element; each instanceof HTMLElement; each = each.parentElement) {
      const style = getComputedStyle(each);
      if (style.position === "absolute" && (each.offsetWidth <= 1 || each.offsetHeight <= 1)) return true;
      if (style.clipPath !== "none" && style.clipPath.startsWith("inset(50%")) return true;
    }
    return false;
  };
  const textNodes = function* (root) {
    const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) if (walker.currentNode.data.trim()) yield walker.currentNode;
  };
  const isExternal = (element) => {
    if (element.closest(EXTERNAL)) return true;
    const marked = element.closest("[lang]");
    return marked && marked !== document.documentElement && marked.lang !== pageLanguage;
  };

  const openDisclosures = () => {
    for (const each of document.querySelectorAll("details")) {
      each.open = true;
      // A menu covers what is below it.
      const isMenu = [...each.children].some((child) => ["absolute", "fixed"].includes(getComputedStyle(child).position));
      if (isMenu) each.open = false;
    }
  };

  // What the interface itself says: visible texts, and texts for screen readers. Not what people wrote.
  const interfaceTexts = () => {
    const found = new Set();
    for (const node of textNodes(document.body)) {
      const element = node.parentElement;
      const isShown = element.checkVisibility({ visibilityProperty: true }) || element.closest("svg") || element.closest("datalist");
      if (isShown && !isExternal(element)) found.add(node.data.trim().replace(/\s+/g, " "));
    }
    for (const element of document.querySelectorAll("[aria-label], [title], [placeholder], [alt]")) {
      if (isExternal(element)) continue;
      for (const name of ["aria-label", "title", "placeholder", "alt"]) {
        const value = element.getAttribute(name);
        if (value && value.trim()) found.add(value.trim());
      }
    }
    return [...found];
  };

  // Ids, codenames and addresses that people should not have to read.
  const rawNames = (codenames) => {
    const found = [];
    const uid = /\b[aipv][2-9A-HJ-NP-Za-km-z]{21}\b/;
    const codename = new RegExp(`\\b(${codenames.join("|")})\\b`);
    const address = /https?:\/\/|\/api\/v2\//;
    for (const node of textNodes(document.body)) {
      const element = node.parentElement;
      if (element.closest(PROGRAMS) || element.closest("code, pre, script, style, noscript, textarea") || !isVisible(element)) continue;
      for (const pattern of [uid, codename, address]) {
        if (pattern.test(node.data)) found.push(`${node.data.trim().slice(0, 80)} in ${describe(element)}`);
      }
    }
    return found;
  };

  // Scripts that came with data: attributes with code, scripts and styles in the page, addresses that run code.
  const injectedCode = () => {
    const found = [];
    if (document.documentElement.hasAttribute("data-injected") || window.injected) found.push("injected code ran");
    for (const element of document.querySelectorAll("*")) {
      for (const { name, value } of element.attributes) {
        if (/^on/i.test(name)) found.push(`${name} of ${describe(element)}`);
        if (/^(href|src|action|formaction|xlink:href)$/i.test(name) && /^\s*(javascript|vbscript|data:text)/i.test(value)) {
          found.push(`${name}=${value} of ${describe(element)}`);
        }
      }
      if (element.localName === "script" && !element.src) found.push("a script in the page");
      if (["iframe", "object", "embed", "base"].includes(element.localName)) found.push(describe(element));
    }
    return found;
  };

  const horizontalScroll = () => {
    const page = document.documentElement;
    if (page.scrollWidth <= window.innerWidth) return [];
    const isRightToLeft = getComputedStyle(page).direction === "rtl";
    const wide = [...document.body.querySelectorAll("*")].filter((element) => {
      const box = element.getBoundingClientRect();
      const isOutside = isRightToLeft ? box.left < -0.5 : box.right > window.innerWidth + 0.5;
      return box.width && isOutside && element.checkVisibility() && !insideScroller(element);
    });
    return [`the page is ${page.scrollWidth} wide: ` + wide.slice(0, 4).map(describe).join(" | ")];
  };
  const insideScroller = (element) => {
    for (let each = element.parentElement; each && each !== document.body; each = each.parentElement) {
      if (["auto", "scroll", "hidden", "clip"].includes(getComputedStyle(each).overflowX)) return true;
    }
    return false;
  };

  // Text that a box cuts off.
  const clippedText = () => {
    const found = [];
    for (const element of document.body.querySelectorAll("*")) {
      if (!(element instanceof HTMLElement) || element.localName === "select" || !element.textContent.trim()) continue;
      const style = getComputedStyle(element);
      const cutsX = ["hidden", "clip"].includes(style.overflowX) && element.scrollWidth > element.clientWidth + 1;
      const cutsY = ["hidden", "clip"].includes(style.overflowY) && element.scrollHeight > element.clientHeight + 1;
      if ((cutsX || cutsY) && element.clientWidth > 1 && element.clientHeight > 1 && isVisible(element)) {
        found.push(describe(element));
      }
    }
    return found;
  };

  // Hints in fields that end before they are read.
  const clippedPlaceholders = () => {
    const canvas = document.createElement("canvas").getContext("2d");
    return [...document.querySelectorAll("input[placeholder]")].filter((input) => {
      const style = getComputedStyle(input);
      canvas.font = style.font;
      const room = input.clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight);
      return isVisible(input) && canvas.measureText(input.placeholder).width > room;
    }).map((input) => input.placeholder);
  };

  // Texts that lie on each other.
  const overlappingText = () => {
    const lines = [];
    const hasTextSpacing = document.adoptedStyleSheets.length > 0;
    for (const node of textNodes(document.body)) {
      const element = node.parentElement;
      if (element.localName === "title" || element.localName === "desc" || !isVisible(element) || isPinned(element)) continue;
      if (hasTextSpacing && element.closest("svg")) continue; // the table behind a chart has the same text
      const range = document.createRange();
      range.selectNodeContents(node);
      for (const box of range.getClientRects()) {
        if (box.width > 2 && box.height > 2) lines.push({ box, element });
      }
    }
    lines.sort((one, other) => one.box.top - other.box.top);
    const found = new Set();
    for (let first = 0; first < lines.length; first++) {
      const { box: a, element } = lines[first];
      for (let second = first + 1; second < lines.length; second++) {
        const { box: b, element: other } = lines[second];
        if (b.top > a.bottom) break;
        const width = Math.min(a.right, b.right) - Math.max(a.left, b.left);
        const height = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
        if (width > 3 && height > Math.min(a.height, b.height) * 0.35 && !clippedByScroller(element, a) && !clippedByScroller(other, b)) {
          found.add(`${describe(element)} and ${describe(other)}`);
        }
      }
    }
    return [...found];
  };
  const isPinned = (element) => {
    for (let each = element; each; each = each.parentElement) {
      if (["fixed", "sticky"].includes(getComputedStyle(each).position)) return true;
    }
    return false;
  };
  const clippedByScroller = (element, box) => {
    for (let each = element.parentElement; each; each = each.parentElement) {
      if (!["visible"].includes(getComputedStyle(each).overflowX)) {
        const frame = each.getBoundingClientRect();
        if (box.left >= frame.right || box.right <= frame.left || box.top >= frame.bottom || box.bottom <= frame.top) return true;
      }
    }
    return false;
  };

  // The spacing of WCAG 1.4.12, as a reader's own style sheet would set it.
  const setTextSpacing = (isOn) => {
    const sheet = new CSSStyleSheet();
    sheet.replaceSync(
      "* { line-height: 1.5 !important; letter-spacing: 0.12em !important; word-spacing: 0.16em !important }" +
        " p { margin-block-end: 2em !important }"
    );
    document.adoptedStyleSheets = isOn ? [sheet] : [];
  };

  const nodeCount = (without) => {
    const all = document.querySelectorAll("*").length;
    return without ? all - document.querySelectorAll(without).length : all;
  };

  window.PageChecks = {
    openDisclosures, interfaceTexts, rawNames, injectedCode, horizontalScroll, clippedText, clippedPlaceholders, overlappingText, setTextSpacing, nodeCount,
  };
})();

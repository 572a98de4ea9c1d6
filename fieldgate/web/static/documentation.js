// Starts Swagger UI.
(() => {
  const place = document.getElementById("documentation");

  // A link inside a button cannot be used with a screen reader: make it text.
  const plainPaths = () => ({
    wrapComponents: { DeepLink: (_, { React }) => ({ text }) => React.createElement("span", null, text) },
  });

  SwaggerUIBundle({
    url: place.dataset.description,
    domNode: place,
    deepLinking: true,
    tryItOutEnabled: true,
    validatorUrl: null,
    plugins: [plainPaths],
    // Writes in a session need the CSRF token; no other site may see it.
    requestInterceptor: (request) => {
      const isOurs = new URL(request.url, location.href).origin === location.origin;
      if (isOurs && place.dataset.csrfToken) request.headers["X-CSRFToken"] = place.dataset.csrfToken;
      return request;
    },
  });

  // Names for fields and tables that Swagger UI leaves without one, and keyboard access to what scrolls.
  const nameOf = (field) => {
    const row = field.closest("tr[data-param-name], tr[data-property-name]");
    if (row) return row.dataset.paramName || row.dataset.propertyName;
    if (field.closest(".servers")) return "Server";
    return field.closest(".body-param-content-type, .content-type-wrapper, .response-control-media-type") ? "Media type" : "Value";
  };
  const complete = () => {
    for (const field of place.querySelectorAll("select, textarea, input:not([type=hidden])"))
      if (!field.ariaLabel && (field.id === "servers" || !field.labels.length)) field.ariaLabel = nameOf(field);
    for (const button of place.querySelectorAll(".auth-btn-wrapper [aria-label]")) button.removeAttribute("aria-label");
    for (const table of place.querySelectorAll("table[role=region]")) table.removeAttribute("role");
    for (const code of place.querySelectorAll("pre:not([tabindex])")) code.tabIndex = 0;
    for (const button of place.querySelectorAll("button:not([aria-label])"))
      if (!button.textContent.trim() && !button.title) button.ariaLabel = "Show or hide";
  };
  new MutationObserver(complete).observe(place, { childList: true, subtree: true });
})();

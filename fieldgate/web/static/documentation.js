// Starts Swagger UI on the description of this very service; nothing is loaded from elsewhere.
const place = document.getElementById("documentation");
SwaggerUIBundle({
  url: place.dataset.description,
  domNode: place,
  deepLinking: true,
  tryItOutEnabled: true,
  validatorUrl: null,
});

"""Charts and maps as SVG, made on the server: Python computes the geometry, `templates/macros/charts.html` draws it."""

"""HTTP: routing, requests, responses and OpenAPI. Resources declare operations; this package does the rest."""

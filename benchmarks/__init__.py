"""How fast Fieldgate answers, next to a Django REST framework peer and to the server's own ceiling."""

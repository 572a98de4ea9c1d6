"""The same interface in Django REST framework, in a virtual environment of its own, where nothing else is installed."""

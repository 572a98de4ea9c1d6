"""The interface's conventions, each in its own module. A resource declares what it lists; this room does the rest."""

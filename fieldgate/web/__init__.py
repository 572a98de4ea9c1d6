"""Pages for people: every resource as a page, log-in, the start page, and the documentation of the interface."""

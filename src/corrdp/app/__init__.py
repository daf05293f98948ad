"""The browser application: from a file to a signed table, on this machine alone."""

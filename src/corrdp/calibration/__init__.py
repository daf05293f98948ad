"""calibrate: the least noise that keeps a promise on dependent records."""

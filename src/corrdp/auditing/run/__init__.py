"""Running what is audited: workers, programs, progress."""

"""What a release of movements gives away, by attack."""

"""What an attacker could reconstruct: threats, exact risk, bounds, and noise for a risk target."""

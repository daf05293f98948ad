"""Movement data: points of users in time, and what a privacy unit means on them."""

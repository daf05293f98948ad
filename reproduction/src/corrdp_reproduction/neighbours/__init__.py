"""corrdp next to its neighbours: the same inputs given to riskcal, dp-accounting and OpenDP."""

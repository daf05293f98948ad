"""Local protocols: each person randomizes one value of k before anybody else sees it."""

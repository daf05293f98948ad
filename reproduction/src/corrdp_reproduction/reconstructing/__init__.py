"""Source 004, chapter 5 of Guerra-Balboa's dissertation: risk of reconstruction, and audits."""

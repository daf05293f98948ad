"""Guerra-Balboa (2026), chapter 5: risk of reconstruction, and audits."""

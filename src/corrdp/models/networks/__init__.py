"""Trees and networks: records tied along links."""

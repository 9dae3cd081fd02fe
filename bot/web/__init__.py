"""HTTP in: the guard, the health pages, the metrics, the server."""

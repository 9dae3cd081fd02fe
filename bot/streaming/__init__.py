"""Shows answers while they are written."""

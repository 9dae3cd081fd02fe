"""How requests are written and responses are read, one file a wire. Pure."""

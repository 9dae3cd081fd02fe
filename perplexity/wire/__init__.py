"""How requests are written and responses are read, one module per wire. Pure."""

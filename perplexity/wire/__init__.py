"""The wires: how the requests of each API are written and its responses are read, and what the wires share. Pure."""

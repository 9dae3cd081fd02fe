"""The wires, one module each: how the requests of an API are written and its responses are read. Pure."""

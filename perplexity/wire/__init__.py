"""The wires, which write the requests of each API and read its responses, and what the wires share. None does I/O."""

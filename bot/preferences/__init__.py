"""Settings of people and of channels: what can be set, and which setting outranks which. Pure."""

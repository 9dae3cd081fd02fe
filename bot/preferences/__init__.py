"""Settings of people and channels: the possible settings, and their precedence. Pure."""

"""The possible settings of people, channels and workspaces, and their precedence; pure functions without I/O."""

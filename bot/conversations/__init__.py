"""The memory of a conversation, and the part of it that is sent with the next question."""

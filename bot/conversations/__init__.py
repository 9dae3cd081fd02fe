"""What the app remembers of a conversation, and what of it is sent with the next question."""

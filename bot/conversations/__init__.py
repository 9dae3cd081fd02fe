"""What the app remembers of a conversation, and what of it goes along with the next question."""

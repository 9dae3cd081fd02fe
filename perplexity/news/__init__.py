"""News of a category: the question, stories from replies, and the same story at several sites."""

"""News of a category: asks for it, reads the stories of a reply, and recognizes the same story at several sites."""

"""Deep dives: facts, what people say, and an analysis of both."""

"""Public opinion: posts on X, found by Grok, validated and counted."""

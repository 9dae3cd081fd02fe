"""What people say in public: posts on X, found by Grok, validated and counted."""

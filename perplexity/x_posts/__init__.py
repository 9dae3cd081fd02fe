"""What people say in public: posts on social networks, found and weighed."""

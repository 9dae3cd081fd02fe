"""What is personal among the app's data: where it is kept, and what must not leave."""

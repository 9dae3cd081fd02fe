"""News: the categories, what is asked, and stories told apart by what they tell, not by where they stand."""

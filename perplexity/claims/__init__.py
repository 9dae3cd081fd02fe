"""Checks the claims of a message against quotations that are really in the pages found."""

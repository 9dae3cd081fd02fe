"""The claims of a message, checked against quotations that really are in the pages that were found."""

"""Words for numbers and units, the commonest words of languages, and functions that fold letters."""

"""Words that several packages read: numbers, units, the commonest words, and the folding of letters."""

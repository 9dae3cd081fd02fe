"""Words that several packages read: numbers, units, months, the commonest words, and the folding of letters."""

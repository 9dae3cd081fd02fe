"""Words that several rooms read: numbers, units, months, the commonest words, and how letters are folded."""

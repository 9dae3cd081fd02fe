"""Words that say nothing about which story it is, in the languages that news comes in most. Text and nothing else."""

from __future__ import annotations

_WORDS = """
a about according after again ahead all already also among an and any are as at be because been before being but by
can could did do does during for from had has have he her here him his how if in into is it its itself just latest
live may might more most must near new news no not now of off on one only or other our out over own per report
reports said says see set she should since so some still than that the their them then there these they this those
through to today toward tuesday monday wednesday thursday friday saturday sunday under until up update updated us
via was we were what when where which while who why will with would year years you your amid exclusive breaking
watch video opinion analysis
aber als am an auch auf aus bei beim bis das dass dem den der des die doch ein eine einem einen einer es fur gegen
hat haben ihr im in ist jetzt kann mehr mit nach neue neuer neues nicht noch nur ob oder sich sie sind so soll uber
um und vom von vor war was weil wer werden wie wieder will wird wurde zu zum zur zwischen
au aux avec ce ces cette chez comme contre dans de depuis des du elle en est et etre il ils la le les leur leurs
lors mais ne ou par pas plus pour pourquoi qu que quel qui sa sans se selon ses son sont sous sur tout tres un une
vers nouveau nouvelle apres
al con como contra cuando de del desde donde el ella en entre era es esta este fue ha hacia hasta la las lo los mas
muy no o para pero por porque que se sera si sin sobre son su sus tras un una uno y ya nuevo nueva
alla anche che ci col da dal dalla dei del della delle di e ed gli i il nel nella non per piu si sono su sul un una
dopo
ao aos as com da das do dos e em foi mais na nas no nos o os ou para pela pelo por que sao se sem seu sua um uma
apos
aan bij dat de door een en er het in is met na naar niet nog om ook op over te tot uit van voor wil worden zijn
в во и из к ко на не но о об от по под при с со у за до для что как это его её их он она они был была были уже
في من على إلى عن أن إن مع هذا هذه التي الذي بعد قبل بين أو و
"""

STOPWORDS = frozenset(_WORDS.split())

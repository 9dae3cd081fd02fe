"""The commonest words of the most read languages, in lower case; they do not identify a topic."""

from __future__ import annotations


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


ENGLISH = _words("""
    a about above according across after against ago ahead all almost along already also although amid among an and
    annually any apiece are around as at average away back be because been before being below between beyond both but by
    can compared could despite did do does down during each earlier either even ever every except far following for from
    further had has have he her here him his how however i if in including inside instead into is it its itself last
    later least less like long made may me might more most much must my near no not now of off on once one only or other
    our out outside over own per rather respectively set she should since so some still such tell than that the their
    them then there these they this those though through throughout to together too total toward towards under until up
    upon us versus very via vs was we well were what when where which while who whose why will with within without worth
    would yet you your
    """)
GERMAN = _words("""
    ab aber alle allein aller als also am an ans auch auf aus außerhalb bei beim bereits bis bzw da dabei dafür damit
    danach dann daran daraus darin darunter darüber das dass davon davor dazu dem den denen denn der deren des dessen
    die dies diese diesem diesen dieser doch durch ein eine einem einen einer er es etwa fur für gegen gegenüber haben
    hat hatte hatten her hier hin hinter ihr ihre ihrem ihren im in innerhalb ins insgesamt ist ja je jede jeden jeder
    jedes jedoch jetzt jeweils kann kein keine knapp konnte können lag lagen laut liegt mehr mindestens mit nach neben
    neue neuer neues nicht noch nun nur ob oder ohne pro rund schon sei sein seine seinem seinen seiner seit sich sie
    sind so soll sowie statt uber um und unter vom von vor war waren was weil weniger wenn wer werden wie wieder will
    wird wo wurde wurden während zu zudem zuletzt zum zur zusammen zuvor zwar zwischen über
    """)
ROMANCE = _words("""
    au aux avec ce ces cette chez comme contre dans de depuis des du elle en est et etre il ils la le les leur leurs
    lors mais ne ou par pas plus pour pourquoi qu que quel qui sa sans se selon ses son sont sous sur tout tres un une
    vers nouveau nouvelle apres ont été entre
    al con como contra cuando de del desde donde el ella en entre era es esta este fue ha hacia hasta la las lo los mas
    muy no o para pero por porque que se sera si sin sobre son su sus tras un una uno y ya nuevo nueva más según
    alla anche che ci col da dal dalla dei del della delle di e ed gli i il nel nella non per piu si sono su sul un una
    dopo lo è
    ao aos as com da das do dos e em foi mais na nas no nos o os ou para pela pelo por que sao se sem seu sua um uma
    apos não
    """)
"""French, Spanish, Italian and Portuguese, with and without accents."""
DUTCH = _words("""
    aan bij dat de door een en er het in is maar met na naar niet nog om ook op over te tot uit van voor werd wil worden
    zijn
    """)
RUSSIAN_AND_ARABIC = _words("""
    в во и из к ко на не но о об от по под при с со у за до для что как это его её их он она они был была были уже
    في من على إلى عن أن إن مع هذا هذه التي الذي بعد قبل بين أو و
    """)
OTHERS = _words("""
    aastal adalah af amb ang att av ay az að bir ble blev bu byl byla cho cu có của dari dengan det di din dla egy ei
    els en este et ett että fra för gada godine har hogy ikke ile inte ir için ja je jest juta katika ke kwa lat là med
    metų mga na nem ng ni ning năm och od og olarak oli oraz pada pe persen po pod przez på roku sa sem się som su sunt
    til till trong un untuk var ve ved volt vuonna và với wa wynosi ya yang yra yüzde yılında za är és în được și
    """)
"""Scandinavian, Baltic and Slavic languages, Finnish, Hungarian, Turkish, Romanian, Vietnamese, Malay and some more."""

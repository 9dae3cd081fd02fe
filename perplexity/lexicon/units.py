"""The words and signs for units, currencies and multipliers in English and German."""

from __future__ import annotations

_MULTIPLIERS: dict[str, tuple[int, ...]] = {}
for _powers, _names in (
    ((2,), "hundred hundert"),
    ((3,), "thousand thousands tausend tsd tsd. k K"),
    ((5,), "lakh lakhs"),
    ((6,), "million millions million. millionen mio mio. mln mn mill. MM"),
    ((7,), "crore crores"),
    ((9,), "billion billions bn bln milliarde milliarden mrd mrd. md. mia. mia"),
    ((12,), "trillion trillions trn tn billionen bio bio."),
    ((15,), "billiarde billiarden"),
    ((18,), "trillionen"),
    ((9, 12), "Billion"),
    ((12, 18), "Trillion"),
):
    _MULTIPLIERS |= dict.fromkeys(_names.split(" "), _powers)
_GLUED = {"m": (6,), "M": (6,), "b": (9,), "B": (9,), "t": (12,), "T": (12,), "k": (3,), "K": (3,), "G": (9,)}
"""Letters that are multipliers right after a number, most of them only of money."""

_TABLE = """
% -2: basis_points basis_point basispunkte basispunkten bps bp
% 0: % ٪ percent per_cent pct pct. prozent percentage_point percentage_points prozentpunkt prozentpunkte
% 0: prozentpunkten prozentig v.h. v.h vom_hundert pp ppt %-punkte %-punkten
‰ 0: ‰ promille permille per_mille
m 3: km kms kilometre kilometer kilometern
m 0: m metre meter metern
m -2: cm centimetre centimeter zentimeter zentimetern
m -3: mm millimetre millimeter millimetern
m -6: µm μm micrometre mikrometer micron
m -9: nm nanometre nanometer nanometern
yard 0: yard yd yds
fathom 0: fathom
mile 0: mi mile meile meilen
nmi 0: nautical_mile nautical_miles seemeile seemeilen nmi
ft 0: ft foot feet fuß
inch 0: inch inches zoll
m/s 0: m/s
km/h 0: km/h kph kmh stundenkilometer stundenkilometern kilometres_per_hour kilometers_per_hour
km/h 0: km_per_hour km_an_hour kilometres_an_hour kilometers_an_hour kilometer_pro_stunde kilometern_pro_stunde
km/h 0: kilometer_in_der_stunde kilometern_in_der_stunde
km/s 0: km/s km_per_second kilometres_per_second kilometers_per_second kilometer_pro_sekunde kilometern_pro_sekunde
m/s 0: m_per_second metres_per_second meters_per_second meter_pro_sekunde metern_pro_sekunde
mph 0: mph miles_per_hour miles_an_hour meilen_pro_stunde
mpg 0: mpg mile_per_gallon miles_per_gallon
kn 0: kn kts knots knoten
m² 6: km² km2 sq_km square_kilometre square_kilometres square_kilometer square_kilometers quadratkilometer
m² 6: quadratkilometern
m² 4: ha hectare hektar
m² 0: m² m2 qm sq_m square_metre square_metres square_meter square_meters quadratmeter quadratmetern
sq_ft 0: sq_ft square_foot square_feet quadratfuß
sq_mi 0: sq_mi square_mile square_miles quadratmeile quadratmeilen
gallon 0: gallon gallone gallonen gal
acre 0: acre ac
m³ 0: m³ m3 cubic_metre cubic_metres cubic_meter cubic_meters kubikmeter kubikmetern
m³ 9: bcm km³ km3 cubic_kilometre cubic_kilometres kubikkilometer
m³/m² -3: l/m² liter_pro_quadratmeter litern_pro_quadratmeter litres_per_square_metre
m³ -3: l litre liter litern
m³ -6: ml millilitre milliliter
m³ -1: hl hektoliter hectolitre
g 15: Gt gigatonne gigatonnen
g 12: Mt megatonne megatonnen
g 9: kt kilotonne kilotonnen
g 6: t tonne tonnen tons ton metric_tons metric_ton
g 3: kg kilo kilogram kilogramme kilogramm
g 0: g gram gramm gramme
g -3: mg milligram milligramm
g -6: µg μg mcg microgram mikrogramm
lb 0: lb lbs pounds_of
stone 0: stone stones
oz 0: oz ounce ounces unze unzen
Wh 12: TWh terawattstunde terawattstunden terawatt_hours terawatt-hours
Wh 9: GWh gigawattstunde gigawattstunden gigawatt_hours gigawatt-hours
Wh 6: MWh megawattstunde megawattstunden megawatt_hours megawatt-hours
Wh 3: kWh kilowattstunde kilowattstunden kilowatt_hours kilowatt-hours
Wh 0: Wh wattstunde wattstunden
W 12: TW terawatt
W 9: GW gigawatt
W 6: MW megawatt
W 3: kW kilowatt
W 0: W watt
PS 0: PS hp horsepower
Hz 9: GHz gigahertz
Hz 6: MHz megahertz
Hz 3: kHz kilohertz
Hz 0: Hz hertz
B 12: TB terabyte tbyte
B 9: GB gigabyte gbyte
B 6: MB megabyte mbyte
B 3: kB KB kilobyte kbyte
B 0: byte
bit/s 9: Gbps Gbit/s gigabits_per_second
bit/s 6: Mbps Mbit/s megabits_per_second
cu_ft 0: cubic_foot cubic_feet cu_ft
pint 0: pint
bbl 6: mb/d
bbl 0: barrel barrel_per_day bpd b/d
pixel 6: MP megapixel
V 3: kV kilovolt
V 0: V volt
J 6: MJ
J 3: kJ kilojoule
J 0: J joule
cal 3: kcal
cal 0: cal
Pa 2: hPa mbar mb millibar millibars
Pa 3: kPa
Pa 6: MPa
dB 0: dB decibel dezibel dB(A)
°C 0: C °C ℃ °c degrees_celsius degree_celsius grad_celsius celsius
°F 0: F °F degrees_fahrenheit grad_fahrenheit
° 0: ° degree grad
K 0: K kelvin
year 9: Ga
year 6: Ma Mya mya
year 2: century centurie jahrhundert jahrhunderte jahrhunderten
year 1: decade jahrzehnt jahrzehnte jahrzehnten
year 0: year yrs yr jahr jahre jahren jahres jährig jähriger jährige jährigen jähriges jährigem
month 0: month mo mos mon monat monate monaten monatig monatige monatigen
week 0: week wk wks woche wochen wöchig wöchige wöchigen
day 0: day tag tage tagen tägig tägige tägigen tägiger
hour 0: hour wochenstunde wochenstunden hr hrs stunde stunden std std. stündig stündige stündigen
minute 0: minute min min. mins minuten minütig minütige minütigen
second 0: seconds sec sek. sekunde sekunden s
SEK 0: sek swedish_kronor swedish_krona
second -3: ms milliseconds millisekunden
EUR 6: MEUR
EUR 3: TEUR KEUR T€
EUR 0: € euro eur
EUR -2: eurocent eurocents
USD 0: $ us$ usd dollar us-dollar us_dollar us_dollars U.S._dollars
cent 0: cent ct c
GBP 0: £ gbp pfund pound sterling
GBP -2: p pence
JPY 0: ¥ jpy yen japanese_yen
CHF 0: chf franken francs franc fr. sfr. swiss_francs swiss_franc schweizer_franken
CNY 0: cny rmb yuan renminbi chinese_yuan
INR 0: ₹ inr indian_rupees rupee rupien
KRW 0: ₩ krw won south_korean_won
RUB 0: ₽ rub rouble ruble rubel
NOK 0: nok norwegian_krone norwegian_kroner
DKK 0: dkk danish_krone danish_kroner
PLN 0: pln zloty złoty
CAD 0: c$ cad canadian_dollar canadian_dollars
AUD 0: a$ aud australian_dollar australian_dollars
BRL 0: r$ brl reais
HKD 0: hk$ hkd
DM 0: DM D-Mark mark
Ah 0: Ah
Ah -3: mAh
Nm 0: Nm
bar 0: bar
psi 0: psi
MXN 0: mxn peso mexican_pesos mexican_peso
ZAR 0: zar rand
HUF 0: huf forint
CZK 0: czk koruna
ppm 0: ppm parts_per_million
rpm 0: rpm
fps 0: fps frames_per_second
au 0: AU astronomical_unit astronomical_units
ly 0: light-year light-years light_year light_years lichtjahr lichtjahre lichtjahren
kr 0: kr krona kronor krone kroner kronen
BTC 0: btc bitcoin bitcoins ₿
"""
"""Each line has a unit, a power of ten, and the names for the unit times this power; `_` stands for a space."""
UNITS: dict[str, tuple[str, int]] = {}
for _line in _TABLE.split("\n")[1:-1]:
    _head, _, _line_names = _line.partition(": ")
    _base, _power = _head.split(" ")
    UNITS |= {_name.replace("_", " "): (_base.replace("_", " "), int(_power)) for _name in _line_names.split(" ")}
_MONEY = "EUR USD cent GBP JPY CHF CNY INR KRW RUB SEK NOK DKK PLN CAD AUD BRL HKD DM BTC kr MXN ZAR HUF CZK"
CURRENCIES = frozenset(_MONEY.split(" "))
_CASED = "Ah AU bar m M t T g G k K W V J B s l b c mm MM Mt Gt Ma Ga MP C F"
_EXACT = frozenset(_CASED.split(" "))
"""Short names that mean something else in the other case."""
_LOWER = {name.lower(): known for name, known in UNITS.items() if name not in _EXACT}
INITIALS = frozenset(name.split(" ")[0] for name in UNITS if " " in name)
"""The first word of each unit's name that has several words."""


def find_multiplier(word: str, *, glued: bool, is_money: bool) -> tuple[int, ...]:
    """Return the powers of ten that a word may mean; empty if the word is no multiplier.

    `glued` is whether the word follows the number without a space; only then can a single letter be a multiplier. The
    letters t, T, b and G are multipliers only of money.
    """
    if len(word) == 1:
        return _GLUED.get(word, ()) if glued and (is_money or word not in "tTbG") else ()
    lower = word.lower()
    return _MULTIPLIERS.get(word.rstrip(".")) or _MULTIPLIERS.get(lower) or _MULTIPLIERS.get(lower.rstrip("."), ())


def find_unit(word: str) -> tuple[str, int] | None:
    """Return the unit that a word or a sign names, and the power of ten of the name; None if it names no unit."""
    if word in UNITS:
        return UNITS[word]
    if word[-1:] == "." and word[:-1] in UNITS:
        return UNITS[word[:-1]]
    if len(word) == 1 and word.isalpha():
        return None
    lower = word.lower().replace("\u00a0", " ").removesuffix(".")
    if lower.startswith("prozentig") or (lower.startswith("v.") and lower.endswith("h")):
        return UNITS["%"]
    forms = [lower, lower.replace("-", " ")]
    # Only a singular of three or more letters counts: "has" is no plural of "ha".
    forms += [form for ending in ("s", "es", "n") if len(form := lower.removesuffix(ending)) > 2]
    return next((_LOWER[form] for form in forms if len(form) > 1 and form in _LOWER), None)

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
"""Letters that are multipliers right after a number, some of them only of money."""

_TABLE = """
% -2: basis_point basispunkte bps bp
% 0: % ٪ percent per_cent pct prozent percentage_point prozentpunkt prozentpunkte v.h. vom_hundert pp ppt %-punkte
‰ 0 = 0.1 %: ‰ promille permille per_mille
m 3: km kms kilometre kilometer
m 0: m metre meter
m -2: cm centimetre centimeter zentimeter
m -3: mm millimetre millimeter
m -6: µm μm micrometre mikrometer micron
m -9: nm nanometre nanometer
yard 0 = 0.9144 m: yard yd yds
fathom 0 = 1.8288 m: fathom
mile 0 = 1609.344 m: mi mile meile
nmi 0 = 1852 m: nautical_mile seemeile nmi
ft 0 = 0.3048 m: ft foot feet fuß
inch 0 = 0.0254 m: inch zoll
m/s 0 = 3.6 km/h: m/s m_per_second metres_per_second meters_per_second meter_pro_sekunde metern_pro_sekunde
km/h 0: km/h kph kmh stundenkilometer kilometres_per_hour kilometers_per_hour km_per_hour km_an_hour kilometres_an_hour
km/h 0: kilometers_an_hour kilometer_pro_stunde kilometern_pro_stunde kilometer_in_der_stunde kilometern_in_der_stunde
km/s 0 = 3600 km/h: km/s km_per_second kilometres_per_second kilometers_per_second kilometer_pro_sekunde
km/s 0: kilometern_pro_sekunde
mph 0 = 1.609344 km/h: mph miles_per_hour miles_an_hour meilen_pro_stunde
mpg 0: mpg mile_per_gallon miles_per_gallon
kn 0 = 1.852 km/h: kn kts knots knoten
m² 6: km² km2 sq_km square_kilometre square_kilometer quadratkilometer
m² 4: ha hectare hektar
m² 0: m² m2 qm sq_m square_metre square_meter quadratmeter
sq_ft 0 = 0.092903 m²: sq_ft square_foot square_feet quadratfuß
sq_mi 0 = 2589988 m²: sq_mi square_mile quadratmeile
gallon 0 = 0.00378541 m³: gallon gallone gal
acre 0 = 4046.86 m²: acre ac
m³ 0: m³ m3 cubic_metre cubic_meter kubikmeter
m³ 9: bcm km³ km3 cubic_kilometre kubikkilometer
m³/m² -3: l/m² liter_pro_quadratmeter litern_pro_quadratmeter litres_per_square_metre
m³ -3: l litre liter
m³ -6: ml millilitre milliliter
m³ -1: hl hektoliter hectolitre
g 15: Gt gigatonne
g 12: Mt megatonne
g 9: kt kilotonne
g 6: t tonne ton metric_ton
g 3: kg kilo kilogram kilogramme kilogramm
g 0: g gram gramm gramme
g -3: mg milligram milligramm
g -6: µg μg mcg microgram mikrogramm
lb 0 = 453.592 g: lb lbs pounds_of
stone 0 = 6350 g: stone
oz 0 = 28.3495 g: oz ounce unze
Wh 12: TWh terawattstunde terawatt_hours
Wh 9: GWh gigawattstunde gigawatt_hours
Wh 6: MWh megawattstunde megawatt_hours
Wh 3: kWh kilowattstunde kilowatt_hours
Wh 0 = 3600 J: Wh wattstunde
W 12: TW terawatt
W 9: GW gigawatt
W 6: MW megawatt
W 3: kW kilowatt
W 0: W watt
PS 0 = 740 W: PS hp horsepower
Hz 9: GHz gigahertz
Hz 6: MHz megahertz
Hz 3: kHz kilohertz
Hz 0: Hz hertz
B 12: TB terabyte tbyte
B 9: GB gigabyte gbyte
B 6: MB megabyte mbyte
B 3: KB kilobyte kbyte
B 0: byte
bit/s 9: Gbps Gbit/s gigabits_per_second
bit/s 6: Mbps Mbit/s megabits_per_second
cu_ft 0 = 0.0283168 m³: cubic_foot cubic_feet cu_ft
pint 0 = 0.00047 m³: pint
bbl 6: mb/d
bbl 0 = 0.158987 m³: barrel barrel_per_day bpd b/d
pixel 6: MP megapixel
V 3: kV kilovolt
V 0: V volt
J 6: MJ
J 3: kJ kilojoule
J 0: J joule
cal 3: kcal
cal 0 = 4.184 J: cal
Pa 2: hPa mbar mb millibar
Pa 3: kPa
Pa 6: MPa
dB 0: dB decibel dezibel dB(A)
°C 0: C °C ℃ degrees_celsius degree_celsius grad_celsius celsius
°F 0: F °F degrees_fahrenheit grad_fahrenheit
° 0: ° degree grad
K 0: K kelvin
year 9: Ga
year 6: Ma mya
year 2: century centurie jahrhundert jahrhunderte
year 1: decade jahrzehnt jahrzehnte
year 0 = 12 month: year yrs yr jahr jahre jährig jähriger jährige jährigem
month 0: month mo mos mon monat monate monatig monatige
week 0 = 604800 second: week wk wks woche wöchig wöchige
day 0 = 86400 second: day tag tage tägig tägige tägiger
hour 0 = 3600 second: hour wochenstunde hr hrs stunde std std. stündig stündige
minute 0 = 60 second: minute min min. minütig minütige
second 0: seconds sec sek. sekunde s
SEK 0: sek swedish_kronor swedish_krona
second -3: ms milliseconds millisekunden
EUR 6: MEUR
EUR 3: TEUR KEUR T€
EUR 0: € euro eur
EUR -2: eurocent
USD 0: $ us$ usd dollar us_dollar U.S._dollars
cent 0: cent ct c
GBP 0: £ gbp pfund pound sterling
GBP -2: p pence
JPY 0: ¥ jpy yen japanese_yen
CHF 0: chf franken franc fr. sfr. swiss_franc schweizer_franken
CNY 0: cny rmb yuan renminbi chinese_yuan
INR 0: ₹ inr indian_rupees rupee rupien
KRW 0: ₩ krw won south_korean_won
RUB 0: ₽ rub rouble ruble rubel
NOK 0: nok norwegian_krone norwegian_kroner
DKK 0: dkk danish_krone danish_kroner
PLN 0: pln zloty złoty
CAD 0: c$ cad canadian_dollar
AUD 0: a$ aud australian_dollar
BRL 0: r$ brl reais
HKD 0: hk$ hkd
DM 0: DM D-Mark mark
Ah 0: Ah
Ah -3: mAh
Nm 0: Nm
bar 0 = 1E5 Pa: bar
psi 0 = 6894.76 Pa: psi
MXN 0: mxn peso mexican_peso
ZAR 0: zar rand
HUF 0: huf forint
CZK 0: czk koruna
ppm 0: ppm parts_per_million
rpm 0: rpm
fps 0: fps frames_per_second
au 0 = 1.496E11 m: AU astronomical_unit
ly 0 = 9.461E15 m: light_year lichtjahr lichtjahre
kr 0: kr krona kronor krone kroner
BTC 0: btc bitcoin ₿
"""
"""Each line has a unit, an exponent of ten, and names for their product: in "m 3: km", a km is 10³ m.

A line may have "=" with a factor and another unit. Amounts are multiplied by the factor to compare them in that unit.
`_` stands for a space, in a name also for a hyphen; plurals and German cases are left out (see `find_unit`).
"""
UNITS: dict[str, tuple[str, int]] = {}
CONVERSIONS: dict[str, tuple[str, str]] = {}
"""For each unit that is compared in another unit, the factor to convert it, and that unit."""
for _line in _TABLE.strip().split("\n"):
    _head, _, _line_names = _line.partition(": ")
    _base, _power, *_conversion = _head.split(" ")
    UNITS |= {_name.replace("_", " "): (_base, int(_power)) for _name in _line_names.split(" ")}
    if _conversion:
        CONVERSIONS[_base] = (_conversion[1], _conversion[2])
_MONEY = "EUR USD cent GBP JPY CHF CNY INR KRW RUB SEK NOK DKK PLN CAD AUD BRL HKD DM BTC kr MXN ZAR HUF CZK"
CURRENCIES = frozenset(_MONEY.split(" "))
_CASED = "Ah AU bar m M t T g G k K W V J B s l b c mm MM Mt Gt Ma Ga MP C F"
_EXACT = frozenset(_CASED.split(" "))
"""Short names that are compared case-sensitively, since in the other case they mean something else."""
_LOWER = {name.lower().replace("-", " "): known for name, known in UNITS.items() if name not in _EXACT}
INITIALS = frozenset(name.split(" ")[0] for name in UNITS if " " in name)
"""The first word of each unit's name that has several words."""


def find_multiplier(word: str, *, glued: bool, is_money: bool) -> tuple[int, ...]:
    """Return the powers of ten that a word may mean; empty if the word is no multiplier.

    `glued` says whether the word follows the number without a space; only then can a single letter be a multiplier. The
    letters t, T, b and G are multipliers only of money.
    """
    if len(word) == 1:
        return _GLUED.get(word, ()) if glued and (is_money or word not in "tTbG") else ()
    lower = word.lower()
    return _MULTIPLIERS.get(word.rstrip(".")) or _MULTIPLIERS.get(lower) or _MULTIPLIERS.get(lower.rstrip("."), ())


def find_unit(word: str) -> tuple[str, int] | None:
    """Return the unit that a word or a sign names, and the power of ten of the name; None if it names no unit."""
    known = UNITS.get(word) or UNITS.get(word.removesuffix("."))
    if known or (len(word) == 1 and word.isalpha()):
        return known
    lower = word.lower().replace("\u00a0", " ").replace("-", " ").removesuffix(".")
    if lower.startswith("prozentig") or (lower.startswith("v.") and lower.endswith("h")):
        return UNITS["%"]
    # Only a singular of three or more letters counts: "has" is no plural of "ha".
    forms = [lower, *(form for ending in ("s", "es", "n") if len(form := lower.removesuffix(ending)) > 2)]
    return next((_LOWER[form] for form in forms if len(form) > 1 and form in _LOWER), None)

"""Texts of the demo events. Each is a tuple in the order of `LANGUAGE_CODES`.

Names of countries and disaster types stand before a colon, so that no language needs to inflect them.
"""

from collections.abc import Iterable

from fieldgate.i18n.languages import LanguageCode

LANGUAGE_CODES: tuple[LanguageCode, ...] = ("en", "fr", "ar", "es")
TextByLanguage = tuple[str, str, str, str]


def text_tuple(texts: Iterable[str]) -> TextByLanguage:
    en, fr, ar, es = texts
    return en, fr, ar, es


COLON: TextByLanguage = (": ", " : ", ": ", ": ")
COMMA: TextByLanguage = (", ", ", ", "، ", ", ")
AND_OTHERS: TextByLanguage = (" and others", " et autres", " وغيرها", " y otros")
THOUSANDS_SEPARATOR: TextByLanguage = (",", "\u202f", ",", ".")

AFFECTED_SENTENCES: tuple[TextByLanguage, ...] = (
    (
        "{place}: about {people} people are affected.",
        "{place} : environ {people} personnes sont touchées.",
        "{place}: نحو {people} شخص متضرر.",
        "{place}: unas {people} personas están afectadas.",
    ),
    (
        "{place}: first assessments speak of {people} people in need of help.",
        "{place} : les premières évaluations font état de {people} personnes ayant besoin d’aide.",
        "{place}: تشير التقييمات الأولى إلى {people} شخص بحاجة إلى المساعدة.",
        "{place}: las primeras evaluaciones hablan de {people} personas que necesitan ayuda.",
    ),
    (
        "{place}: the authorities report {people} people affected, and access is difficult.",
        "{place} : les autorités signalent {people} personnes touchées, et l’accès est difficile.",
        "{place}: أفادت السلطات بتضرر {people} شخص، والوصول إليهم صعب.",
        "{place}: las autoridades informan de {people} personas afectadas, y el acceso es difícil.",
    ),
)

# By `DisasterProfile.response_kind`.
RESPONSE_SENTENCES: dict[str, tuple[TextByLanguage, ...]] = {
    "water": (
        (
            "Houses and roads are under water; volunteers bring families to higher ground.",
            "Maisons et routes sont sous l’eau ; les volontaires conduisent les familles vers les hauteurs.",
            "غمرت المياه المنازل والطرق، وينقل المتطوعون العائلات إلى أماكن مرتفعة.",
            "Casas y caminos están bajo el agua; los voluntarios llevan a las familias a zonas altas.",
        ),
        (
            "Wells are spoiled, and water is being purified and handed out.",
            "Les puits sont souillés ; de l’eau est purifiée et distribuée.",
            "تلوثت الآبار، ويجري تنقية المياه وتوزيعها.",
            "Los pozos están contaminados; se purifica y se reparte agua.",
        ),
    ),
    "ground": (
        (
            "Search teams are at work, and tents have been put up for those who lost their homes.",
            "Des équipes de recherche sont à l’œuvre, et des tentes accueillent ceux qui ont perdu leur logement.",
            "تعمل فرق البحث، ونُصبت خيام لمن فقدوا منازلهم.",
            "Los equipos de búsqueda trabajan, y hay carpas para quienes perdieron su casa.",
        ),
        (
            "Roads are blocked; first aid is given in villages that can be reached on foot only.",
            "Les routes sont coupées ; les premiers secours arrivent à pied dans les villages.",
            "الطرق مقطوعة، وتُقدَّم الإسعافات الأولية في قرى لا يمكن بلوغها إلا سيرًا على الأقدام.",
            "Los caminos están cortados; los primeros auxilios llegan a pie a las aldeas.",
        ),
    ),
    "health": (
        (
            "Volunteers go from house to house, explain how to stay safe, and refer the sick to clinics.",
            "Les volontaires vont de maison en maison, expliquent comment se protéger et orientent les malades.",
            "يتنقل المتطوعون من بيت إلى بيت لشرح سبل الوقاية وإحالة المرضى إلى العيادات.",
            "Los voluntarios van de casa en casa, explican cómo protegerse y derivan a los enfermos.",
        ),
        (
            "Clinics lack beds, and a campaign of vaccination is being prepared.",
            "Les centres de santé manquent de lits, et une campagne de vaccination se prépare.",
            "تفتقر العيادات إلى الأسرّة، ويجري الإعداد لحملة تطعيم.",
            "Faltan camas en los centros de salud, y se prepara una campaña de vacunación.",
        ),
    ),
    "hunger": (
        (
            "Harvests have failed, and families receive cash for food and seed.",
            "Les récoltes sont perdues ; les familles reçoivent de l’argent pour la nourriture et les semences.",
            "فشلت المحاصيل، وتتلقى العائلات نقودًا لشراء الغذاء والبذور.",
            "Se perdieron las cosechas; las familias reciben dinero para alimentos y semillas.",
        ),
        (
            "Herds are dying, and water is brought by truck.",
            "Les troupeaux meurent, et l’eau arrive par camion.",
            "تنفق القطعان، وتُنقل المياه بالشاحنات.",
            "El ganado muere, y el agua llega en camiones.",
        ),
    ),
    "people": (
        (
            "People on the move are given water, meals and a way to call their families.",
            "Les personnes en déplacement reçoivent de l’eau, des repas et de quoi appeler leurs proches.",
            "يحصل المتنقلون على الماء والوجبات ووسيلة للاتصال بعائلاتهم.",
            "Las personas en tránsito reciben agua, comida y un medio para llamar a sus familias.",
        ),
        (
            "First-aid posts are open along the road, and children without parents are looked after.",
            "Des postes de secours sont ouverts le long de la route, et les enfants seuls sont pris en charge.",
            "افتُتحت نقاط إسعاف على طول الطريق، ويُعتنى بالأطفال الذين لا يرافقهم أهلهم.",
            "Hay puestos de primeros auxilios en la ruta, y se atiende a los niños que viajan solos.",
        ),
    ),
    "other": (
        (
            "Shelters are open, and volunteers visit people who live alone.",
            "Des abris sont ouverts, et les volontaires rendent visite aux personnes seules.",
            "فُتحت الملاجئ، ويزور المتطوعون من يعيشون وحدهم.",
            "Hay albergues abiertos, y los voluntarios visitan a quienes viven solos.",
        ),
        (
            "The injured have been taken to hospital, and blood donors are called for.",
            "Les blessés ont été conduits à l’hôpital, et on appelle aux dons de sang.",
            "نُقل الجرحى إلى المستشفى، ووُجّه نداء للتبرع بالدم.",
            "Los heridos fueron llevados al hospital, y se piden donantes de sangre.",
        ),
    ),
}

VOLUNTEERS_LABEL: TextByLanguage = (
    "volunteers at work",
    "volontaires à l’œuvre",
    "متطوع في الميدان",
    "voluntarios en acción",
)
MAP_TITLE: TextByLanguage = ("Map of the area", "Carte de la zone", "خريطة المنطقة", "Mapa de la zona")

# Names of fictitious persons.
FIRST_NAMES = (
    "Amina",
    "Bishal",
    "Carmen",
    "Daniel",
    "Fatou",
    "Hiba",
    "Ioana",
    "José",
    "Leila",
    "Musa",
    "Ngozi",
    "Tomás",
)
LAST_NAMES = (
    "Acosta",
    "Diallo",
    "Haddad",
    "Karki",
    "Lopes",
    "Mwangi",
    "Nasser",
    "Okoye",
    "Popa",
    "Quispe",
    "Rahman",
    "Silva",
)
CONTACT_ROLES = (
    ("Originator", "Disaster manager"),
    ("NationalSociety", "Head of operations"),
    ("Federation", "Operations coordinator"),
    ("Media", "Communications officer"),
)
DISTRICTS = ("Central", "East", "North", "South", "West")

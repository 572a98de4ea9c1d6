"""Labels of forms in many languages, and the code page that Excel uses for each language."""

LABELS = {
    "fr": (
        "cp1252",
        "Où habitez-vous ?|Quel est votre prénom ?|Quel âge avez-vous ?|Combien de personnes vivent dans le ménage ?"
        "|Avez-vous été malade au cours des trente derniers jours ?|Quelle est la principale source d’eau potable ?"
        "|À quelle distance se trouve l'école la plus proche ?|Décrivez les dégâts causés par l'inondation"
        "|Avez-vous reçu une aide alimentaire ?|Numéro de téléphone|Année de naissance|Réfugié",
    ),
    "es": (
        "cp1252",
        "¿Dónde vive usted?|¿Cuál es su nombre?|¿Cuántos años tiene?|¿Cuántas personas viven en el hogar?"
        "|¿Ha estado enfermo en los últimos treinta días?|¿A qué distancia está la escuela más cercana?"
        "|Describa los daños causados por la inundación|Número de teléfono|Año de nacimiento|Región de origen",
    ),
    "pt": (
        "cp1252",
        "Onde você mora?|Qual é o seu nome?|Quantas pessoas vivem no agregado familiar?|As crianças vão à escola?"
        "|Esteve doente nos últimos trinta dias?|Qual é a principal fonte de água potável?|Número de telefone"
        "|Descreva os danos causados pela inundação|Região de origem|Não sei",
    ),
    "ar": (
        "cp1256",
        "أين تسكن؟|ما اسمك؟|كم عمرك؟|كم عدد أفراد الأسرة؟|هل كنت مريضا خلال الثلاثين يوما الماضية؟"
        "|ما هو المصدر الرئيسي لمياه الشرب؟|هل يذهب الأطفال إلى المدرسة؟|رقم الهاتف|هل تلقيت مساعدات غذائية؟"
        "|سنة الميلاد|اختر المنطقة|أعلى مستوى تعليمي",
    ),
    "ar and fr": (
        "cp1256",
        "ما اسمك؟ / Quel est votre prénom ?|كم عمرك؟ / Quel âge avez-vous ?|رقم الهاتف / Numéro de téléphone"
        "|المحافظة / Région|سنة الميلاد / Année de naissance|لاجئ / Réfugié",
    ),
    "ru": (
        "cp1251",
        "Где вы живёте?|Как вас зовут?|Сколько вам лет?|Болели ли вы за последние тридцать дней?|Номер телефона"
        "|Каков основной источник питьевой воды?|Ходят ли дети в школу?|Год рождения|Выберите район",
    ),
    "uk": (
        "cp1251",
        "Де ви живете?|Як вас звати?|Скільки вам років?|Чи хворіли ви за останні тридцять днів?|Номер телефону"
        "|Яке основне джерело питної води?|Чи ходять діти до школи?|Рік народження|Оберіть район",
    ),
    "pl": (
        "cp1250",
        "Jak się Pan/Pani nazywa?|Ile osób mieszka w gospodarstwie domowym?|Czy głowa rodziny jest obecna?"
        "|Jakie jest główne źródło wody pitnej?|Jak daleko jest najbliższa szkoła?|Czy dzieci chodzą do szkoły?"
        "|Proszę opisać szkody spowodowane powodzią|Proszę określić|Województwo|Zdrowie i żywienie",
    ),
    "cs": (
        "cp1250",
        "Kde bydlíte?|Kolik je vám let?|Kolik osob žije v domácnosti?|Jaký je hlavní zdroj pitné vody?|Rok narození"
        "|Jak daleko je nejbližší škola?|Chodí děti do školy?|Telefonní číslo|Popište škody způsobené povodní",
    ),
    "ro": (
        "cp1250",
        "Unde locuiţi?|Cum vă numiţi?|Câţi ani aveţi?|Câte persoane locuiesc în gospodărie?|Copiii merg la şcoală?"
        "|Care este sursa principală de apă potabilă?|Număr de telefon|Anul naşterii|Sănătate şi nutriţie",
    ),
    "tr": (
        "cp1254",
        "Nerede yaşıyorsunuz?|Adınız nedir?|Kaç yaşındasınız?|Hanede kaç kişi yaşıyor?|Hane reisi burada mı?"
        "|Çocuklar okula gidiyor mu?|Başlıca içme suyu kaynağı nedir?|Lütfen belirtin|Doğum yılı|İlçeyi seçin",
    ),
    "el": (
        "cp1253",
        "Πού μένετε;|Πώς σας λένε;|Πόσων χρονών είστε;|Πόσα άτομα μένουν στο νοικοκυριό;|Αριθμός τηλεφώνου"
        "|Ποια είναι η κύρια πηγή πόσιμου νερού;|Παρακαλώ διευκρινίστε|Έτος γέννησης",
    ),
    "he": (
        "cp1255",
        "היכן אתה גר?|מה שמך?|בן כמה אתה?|כמה נפשות גרות במשק הבית?|מהו מקור מי השתייה העיקרי?|מספר טלפון"
        "|האם הילדים הולכים לבית הספר?|שנת לידה",
    ),
    "th": ("cp874", "คุณอาศัยอยู่ที่ไหน|คุณชื่ออะไร|คุณอายุเท่าไร|มีกี่คนในครัวเรือน|หมายเลขโทรศัพท์|โปรดระบุ"),
    "ht": (
        "cp1252",
        "Konbyen moun ki rete nan kay la?|Èske chèf fanmi an la?|Ki kote ou pran dlo pou bwè?|Nimewo telefòn"
        "|Ki distans lekòl ki pi pre a?|Èske timoun yo ale lekòl?|Ane ou fèt",
    ),
    "en": ("cp1252", "What’s your name?|How old are you… in years|The child’s age|Don’t know|“Other” – specify"),
}
# Languages that the detector has no table for, and code pages that it does not accept.
OTHERS = {
    "lb": (
        "cp1252",
        "Wéi al sidd Dir?|Wou wunnt Dir – an der Gemeng?|Wéivill Leit liewen am Stot?|Telefonsnummer, wann Är",
    ),
    "mt": ("iso8859_3", "Fejn toqgħod?|X'inhu ismek?|Kemm għandek żmien?|Numru tat-telefown|Sena tat-twelid, ċar"),
    "eo": ("iso8859_3", "Kie vi loĝas?|Kiel vi nomiĝas?|Kiom da homoj loĝas en la domo?|Ĉu infanoj vizitas lernejon?"),
    "cy": ("iso8859_14", "Ble ydych chi'n byw, tŷ neu fflat?|Beth yw'ch enw chi?|Faint ydy'ch oed? Dŵr glân"),
    "fr in DOS": ("cp850", LABELS["fr"][1].replace("’", "'")),
    "ru in Unix": ("koi8_r", LABELS["ru"][1]),
    "pl in Unix": ("iso8859_2", LABELS["pl"][1]),
    "ja": ("cp932", "どこに住んでいますか|お名前は何ですか|何歳ですか|世帯には何人住んでいますか|電話番号"),
    "zh": ("gb18030", "您住在哪里|您叫什么名字|您多大年纪|家里有几口人|主要饮用水来源是什么|电话号码"),
    "ko": ("cp949", "어디에 사십니까|이름이 무엇입니까|몇 살입니까|가구원은 몇 명입니까|전화번호"),
}


def csv_form(labels: list[str], header: str = "label") -> str:
    rows = "".join(f'text,q{number},"{label}"\n' for number, label in enumerate(labels))
    return f"type,name,{header}\n{rows}"

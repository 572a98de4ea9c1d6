"""Large forms of the kinds that are found in the field."""

import random

from tests.imports.xlsform.workbooks import Rows

LISTS = 10
QUESTIONS_PER_REPEAT = 37


def nested_repeats(rows: int = 1_235, seed: int = 1) -> Rows:
    """Return the rows of a survey without its header: a repeat around many others, each with a group of questions.

    For 1,235 rows: 30 repeats, about 714 conditions that refer to other questions, 320 select_multiple.
    """
    rng = random.Random(seed)
    survey: list[list[object]] = [["begin_repeat", "household", "Household"]]
    names: list[str] = []
    for section in range(max(2, rows // (QUESTIONS_PER_REPEAT + 4))):
        survey.append(["begin_repeat", f"members_{section}", f"Members {section}"])
        survey.append(["begin_group", f"details_{section}", f"Details {section}"])
        for _ in range(min(rows // 2, QUESTIONS_PER_REPEAT)):
            name, kind, condition = f"q{len(names)}", rng.choice(("text", "integer", "select_one l1")), None
            if rng.random() < 320 / 1_100:
                kind = f"select_multiple l{rng.randrange(LISTS)}"
            if names and rng.random() < 714 / 1_100:
                condition = f"selected(${{{rng.choice(names)}}}, 'a') and ${{{rng.choice(names[-20:])}}} != ''"
            survey.append([kind, name, f"Question {name}?", condition])
            names.append(name)
        survey += [["end_group"], ["end_repeat"]]
    return [*survey, ["end_repeat"]]


def nested_repeats_form(rows: int = 1_235) -> dict[str, Rows]:
    choices = [[f"l{number}", name, name.upper()] for number in range(LISTS) for name in "abcdef"]
    return {
        "survey": [["type", "name", "label", "relevant"], *nested_repeats(rows)],
        "choices": [["list_name", "name", "label"], *choices],
    }

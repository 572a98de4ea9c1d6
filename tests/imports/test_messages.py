"""What is stored of very many problems."""

import pytest

from fieldgate.http.language import Language, Message
from fieldgate.imports.messages import MOST_PROBLEMS, messages_in, stored_problems
from fieldgate.imports.xlsform import Problem


@pytest.mark.parametrize(("count", "more"), [(1, 0), (MOST_PROBLEMS, 0), (MOST_PROBLEMS + 300, 300)])
def test_problems_that_are_left_out_are_counted(count: int, more: int) -> None:
    problems = [Problem("missing_name", Message("Give this row a name."), "survey", row) for row in range(count)]
    *listed, last = messages_in(Language.FRENCH, {"problems": stored_problems(problems)})["problems"]
    if more:
        assert len(listed) == MOST_PROBLEMS
        assert last == {
            "sheet": None,
            "row": None,
            "column": None,
            "code": "more",
            "message": f"Non listés ici : {more} de plus.",
        }
    else:
        assert len(listed) + 1 == count
        assert last["message"] == "Donnez un nom à cette ligne."

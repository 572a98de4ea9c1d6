"""`python -m tests.injected_regressions WHAT …`: count the hot paths of a Fieldgate that was made worse on purpose.

Regressions that the hot-path test must notice, injected into the running service: an extra query, a loop that runs
twice, a response that is copied once more.
"""

import sys
from typing import Any

import msgspec

from benchmarks.counting import main
from fieldgate.http.response import responses
from fieldgate.imports import routes, serializers
from fieldgate.imports.store import ImportStore


def extra_query() -> None:
    made_by = ImportStore.list_for_user

    async def twice(*arguments: Any) -> Any:
        await made_by(*arguments)
        return await made_by(*arguments)

    ImportStore.list_for_user = twice  # type: ignore[assignment, method-assign]


def repeated_loop() -> None:
    encoded = serializers.encode_import

    def twice(*arguments: Any) -> Any:
        encoded(*arguments)
        return encoded(*arguments)

    vars(routes)["encode_import"] = twice


def extra_copy() -> None:
    transmit = responses.send_response

    async def copied(receive: Any, send: Any, answer: responses.Response, *rest: Any) -> int:
        again = bytes(bytearray(answer.body))
        return await transmit(receive, send, msgspec.structs.replace(answer, body=again), *rest)

    responses.send_response = copied  # type: ignore[assignment]


REGRESSIONS = {"query": extra_query, "loop": repeated_loop, "copy": extra_copy}

if __name__ == "__main__":
    REGRESSIONS[sys.argv.pop(1)]()
    main()

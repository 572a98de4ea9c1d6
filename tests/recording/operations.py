"""Every operation of the OpenAPI document must have an entry."""

from tests.recording.reads import READS
from tests.recording.recorder import Recorder
from tests.recording.writes import WRITES


def check_operations(recorder: Recorder) -> None:
    """End if the service has an operation that no entry covers."""
    document = recorder.send("anonymous", "GET", "/api-docs/openapi.json")
    covered = {("GET", template) for template in READS} | {
        (write.method, write.template) for write in WRITES
    }
    missing = [
        f"{method.upper()} {template}"
        for template, operations in document["paths"].items()
        for method in operations
        if method in {"get", "post", "put", "patch", "delete"}
        and (method.upper(), template) not in covered
    ]
    if missing:
        raise SystemExit(
            f"Add these to tests/recording/reads.py or writes.py: {', '.join(missing)}"
        )

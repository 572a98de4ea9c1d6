"""The form that the fork server parses in advance."""

from fieldgate.imports.sandbox import runner, warm_up
from fieldgate.imports.xlsform import Form, parse_workbook
from tests.imports.sandbox.failing_readers import loaded_modules


def test_the_sample_is_a_form_without_problems() -> None:
    parsed = parse_workbook(warm_up.sample_workbook(), "sample", None)
    assert isinstance(parsed, Form)
    assert (parsed.title, parsed.row_count, parsed.warnings) == ("Sample", 4, [])


def test_the_fork_server_has_parsed_it() -> None:
    limits = runner.SandboxLimits(memory_bytes=2**29, cpu_seconds=30)
    loaded = runner.run_in_process(loaded_modules, (), limits)
    assert isinstance(loaded, bytes)
    assert warm_up.__name__ in loaded.decode().split()

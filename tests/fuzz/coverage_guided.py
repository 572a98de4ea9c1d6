"""Let atheris look for input that breaks a parser, one target after the other.

    python -m tests.fuzz.coverage_guided --seconds 60 [TARGET…]

Each target runs in a process of its own, which ends at the first failure and prints the input. The input then becomes a
seed of the target, and so a test. Atheris comes from `requirements/fuzz.txt`.
"""

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.fuzz.mutations import DICTIONARY

MAX_MEMORY_MB = 2048
INPUT_TIMEOUT_SECONDS = 20  # for one input: a parser that takes longer is a finding


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("targets", nargs="*")
    arguments.add_argument("--seconds", type=int, default=60, help="for each target")
    arguments.add_argument("--one", help=argparse.SUPPRESS)  # the target of this process
    options, fuzzer_options = arguments.parse_known_args()
    if options.one:
        _fuzz(options.one, fuzzer_options)
        return 0
    from tests.fuzz.targets import TARGETS

    failed = [name for name in options.targets or TARGETS if not _run(name, options.seconds)]
    print(f"findings: {', '.join(failed)}" if failed else "no findings")
    return 1 if failed else 0


def _run(name: str, seconds: int) -> bool:
    """Fuzz one target in a process; return whether nothing was found."""
    from tests.fuzz.targets import TARGETS

    with tempfile.TemporaryDirectory() as folder:
        corpus, findings, words = (
            Path(folder, "corpus"),
            Path(folder, "findings"),
            Path(folder, "words"),
        )
        corpus.mkdir()
        findings.mkdir()
        for number, seed in enumerate(TARGETS[name].seeds):
            (corpus / str(number)).write_bytes(seed)
        words.write_text("".join(f'"{_escape(word)}"\n' for word in DICTIONARY))
        command = [
            sys.executable, "-W", "ignore", "-m", __spec__.name if __spec__ else "tests.fuzz.coverage_guided",
            "--one", name, f"-max_total_time={seconds}", f"-max_len={TARGETS[name].max_bytes}", f"-dict={words}",
            f"-timeout={INPUT_TIMEOUT_SECONDS}", f"-rss_limit_mb={MAX_MEMORY_MB}", "-print_final_stats=1",
            f"-artifact_prefix={findings}/", str(corpus),
        ]  # fmt: skip
        done = subprocess.run(
            command, capture_output=True, text=True, errors="replace", check=False
        )
        executions = [
            line for line in done.stderr.splitlines() if "number_of_executed_units" in line
        ]
        print(f"{name}: {executions[-1].split()[-1] if executions else 'no'} inputs", flush=True)
        for finding in findings.iterdir():
            print(
                f"  {finding.name}: {finding.read_bytes()!r}\n{done.stdout[-3000:]}{done.stderr[-1500:]}"
            )
        if done.returncode and not any(findings.iterdir()):
            print(done.stdout[-2000:] + done.stderr[-2000:])
        return done.returncode == 0


def _escape(word: bytes) -> str:
    return "".join(f"\\x{byte:02x}" for byte in word)


def _fuzz(name: str, options: list[str]) -> None:
    import atheris

    with atheris.instrument_imports(include=["fieldgate", "multipart", "csv", "urllib", "email"]):
        from tests.fuzz.targets import TARGETS
    atheris.Setup([sys.argv[0], *options], TARGETS[name].check)
    atheris.Fuzz()


if __name__ == "__main__":
    sys.exit(main())

"""`python -m fieldgate` is the `fieldgate` command."""

from fieldgate.cli import main

main()

"""`python -m fieldgate` is the `fieldgate` command."""

import sys

try:
    from fieldgate.cli import main

    main()
except KeyboardInterrupt:  # while modules are imported; commands handle it themselves
    sys.exit(130)

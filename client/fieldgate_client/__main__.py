"""`python -m fieldgate_client` is the command `fieldgate-client`."""

import sys

from fieldgate_client.cli import main

sys.exit(main())

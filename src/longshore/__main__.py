"""`python -m longshore` is the `longshore` command."""

import sys

from longshore.cli.main import main

sys.exit(main())

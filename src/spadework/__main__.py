"""``python -m spadework``."""

import sys

from spadework.cli import main

if __name__ == "__main__":
    sys.exit(main())

"""`python -m ftheta` is `ftheta`."""

import contextlib
import os
import sys

from .cli import main as run


def main() -> None:
    """Run the command line; an interrupted process ends at once, as Python needs a second to unload torch."""
    try:
        run()
    except SystemExit as end:
        if end.code in (130, 143):
            with contextlib.suppress(OSError):
                sys.stdout.flush()
                sys.stderr.flush()
            os._exit(end.code)
        raise


if __name__ == "__main__":
    main()

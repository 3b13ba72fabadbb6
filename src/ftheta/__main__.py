"""`python -m ftheta` is `ftheta`."""

from .cli import main

if __name__ == "__main__":
    main()

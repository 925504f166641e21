"""Lets `python -m intravar` do what the command `intravar` does."""

from intravar.cli import main

if __name__ == "__main__":
    main()

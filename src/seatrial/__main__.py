"""``python -m seatrial``: the command line without the console script."""

from seatrial.cli.main import main

if __name__ == "__main__":
    main()

"""A terminal for the tests of exports."""

import terminal

run, undrawn = terminal.run, terminal.undrawn

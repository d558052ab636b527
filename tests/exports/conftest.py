"""What the tests of exports share: the terminal."""

import terminal

run = terminal.run

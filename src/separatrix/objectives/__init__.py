"""What is minimised, and what is proved about it: losses over data, penalties, bounds."""

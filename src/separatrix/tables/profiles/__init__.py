"""Records of the contents of the columns of a table, and of their dependences."""

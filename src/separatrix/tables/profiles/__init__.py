"""What the columns of a table hold, and how they depend on one another, as records."""

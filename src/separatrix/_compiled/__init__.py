"""What is compiled, and what compiled loops share: threads, memory, row access, products."""

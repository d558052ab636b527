"""A folder a command, found by its name.

What is imported with the folder is light: the options, the help, and what can be refused at once.
The module ``run`` in it does the work.
"""

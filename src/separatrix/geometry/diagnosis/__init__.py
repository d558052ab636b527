"""What will hurt a linear classifier: the checks of a diagnosis and what they find."""

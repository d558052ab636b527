"""Whether a hyperplane separates labelled points, by how much, and the proof either way."""

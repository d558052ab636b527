"""The page of the studio: HTML, CSS and ES modules without a build step."""

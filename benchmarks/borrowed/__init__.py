"""The share of other people's scikit-learn code that runs with only the import changed.

``python -m benchmarks.borrowed FOLDER ...`` runs the scripts and notebooks below the folders, a
statement at a time; ``--tests`` runs the tests that scikit-learn brings along, and ``--tests-of``
those of other parts of it.  Everything runs twice, with scikit-learn's classes and with this
library's in their place.  A piece of code counts if it makes or calls one of these classes and
does not fail with scikit-learn's.  Nothing of the code is kept.
"""

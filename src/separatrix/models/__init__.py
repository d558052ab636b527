"""scikit-learn estimators: they validate, encode, compose and decode, and compute nothing."""

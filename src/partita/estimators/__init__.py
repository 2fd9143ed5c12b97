"""The estimators: scikit-learn's contract over partita's engine."""

"""Linear models: least squares, shrinkage, basis functions, logistic regression, discriminants, naive Bayes."""

__all__: list[str] = []

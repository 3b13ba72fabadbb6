"""Linear models: basis functions, generative and discriminative classifiers."""

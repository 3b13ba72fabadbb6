from .folds import folds as folds

"""Trees: one, a forest, and boosting; scikit-learn grows them and predicts, what is learned is plain arrays."""

__all__: list[str] = []

"""Networks for images: classifiers and segmentation."""

__all__: list[str] = []

"""Four small families that a user could have written: one file and one card each, no private method overridden.

They show that the layer carries kinds and tasks beyond tables and images. Other processes find them through the
entry point of the small distribution in `dist/`.
"""

from ftheta.catalog import Card, DataCard

CARDS = [
    Card("toy-sequences", {("sequence", "classify"): "tests.toys.sequences:ToySequences"}, "Classify sequences."),
    Card("toy-characters", {("text", "generate"): "tests.toys.characters:ToyCharacters"}, "A model of characters."),
    Card("toy-detector", {("boxes", "detect"): "tests.toys.detector:ToyDetector"}, "Find boxes in images."),
    Card("toy-learner", {("environment", "act"): "tests.toys.learner:ToyLearner"}, "Q-learning in a table."),
]
DATA = [
    DataCard("toy-ragged", "tests.toys.sets:ragged", "sequence", 120, 2, "binary", "synthetic"),
    DataCard("toy-lines", "tests.toys.sets:lines", "text", 960, 1, "none", "synthetic"),
    DataCard("toy-squares", "tests.toys.sets:squares", "boxes", 96, 256, "detect", "synthetic"),
    DataCard("toy-corridor", "tests.toys.sets:corridor", "environment", 1, 1, "none", "synthetic"),
]

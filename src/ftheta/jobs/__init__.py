"""Complete pieces of work, for notebooks, the command line and the lab alike.

trained = jobs.train("mlp", "my.csv", target="price")         a run folder, a result, a report
trained.predict("new.csv"), .evaluate("more.csv"), .sample(64), .explain("summary"), .export("folder"), .report()
jobs.open("last"), jobs.compare_runs([a, b]), jobs.start("mlp", "wine")
"""

from ..catalog import lazy

lazy(__name__)

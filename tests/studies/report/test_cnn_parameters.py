"""Counts of the network of the report, against the printed ones and direct formulas."""

from ftheta.studies.report.cnn_parameters import PRINTED, TINY, Config, figures, judge, measure, tables


def test_the_counts_are_the_printed_ones_and_sharing_saves_what_the_formulas_say():
    evidence = measure(Config())
    counts = dict(zip(evidence["layers"], evidence["parameters"].tolist(), strict=True))
    assert {name: n for name, n in counts.items() if n} == PRINTED and sum(PRINTED.values()) == 34_826
    assert evidence["with_norm"] == [35_018, 192]
    assert evidence["alternatives"] == {
        "convolution": 320,
        "locally connected": 26 * 26 * 32 * 10,
        "dense": 784 * 21_632 + 21_632,
    }
    assert "34,826" in tables(evidence)["layers"].text() and judge(evidence) == []
    assert figures(evidence)["parameters"].axes


def test_a_smaller_network_is_counted_by_the_same_formulas():
    evidence = measure(TINY)
    assert int(evidence["parameters"].sum()) == 40 + 296 + (8 * 1 * 1 + 1) * 10

"""Terms: names of monomials, the table and which figure is drawn."""

import numpy as np

from ftheta.models.linear.basis_terms import Terms, monomial


def test_a_monomial_is_named_by_its_powers():
    inputs = ["age", "bmi", "x"]
    assert [monomial(e, inputs) for e in ([1, 0, 0], [0, 2, 0], [1, 3, 1])] == ["age", "bmi^2", "age bmi^3 x"]
    assert monomial([2, 0, 1], inputs, "T") == "T2(age) T1(x)"


def made(**curve):
    none = dict.fromkeys(("grid", "parts", "fit", "data"))
    return Terms(["1", "x"], np.array([2.0, -0.5]), 3.0, **(none | curve))


def test_the_table_names_every_term_and_the_condition():
    table = made().table()
    assert table.columns["term"] == ["1", "x"] and list(table.columns["coefficient"]) == [2.0, -0.5]
    assert table.caption == "Condition number of what was solved: 3."


def test_one_input_has_curves_and_several_have_bars():
    grid = np.linspace(0, 1, 4)
    curves = made(grid=grid, parts=np.stack([2 + 0 * grid, -0.5 * grid], 1), fit=2 - 0.5 * grid).figure().axes[0]
    assert [line.get_label() for line in curves.lines] == ["1", "x", "fit: the sum"]
    assert [bar.get_width() for bar in made().figure().axes[0].patches] == [2.0, -0.5]

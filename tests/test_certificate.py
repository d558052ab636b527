"""The certificate: its sentence, its dictionary, and the rules of a sum."""

from __future__ import annotations

import dataclasses
import json
import math
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from separatrix import SVC, Certificate
from separatrix.certificate import REMEDIES, ResidualCertificate


def make(primal=2.0, dual=1.9, tol=1e-6, status="max_iter", **more) -> Certificate:
    return Certificate.of(primal=primal, dual=dual, tol=tol, status=status, **more)


def test_sentence_of_an_optimal_fit() -> None:
    certificate = make(8312.41, 8312.41 - 0.0066, status="optimal", n_iter=9, seconds=0.211)
    assert str(certificate) == (
        "optimal: objective 8,312.41, within 0.000079 % of the best possible "
        "(certified gap 0.0066), 9 iterations, 0.21 s"
    )


@pytest.mark.parametrize("status", [s for s in REMEDIES if s != "optimal"])
def test_every_other_status_says_what_to_do(status: str) -> None:
    certificate = make(status=status, tol=3e-5)
    text = str(certificate)
    if certificate.counts_mistakes:
        assert text.startswith(f"{status}: 2 training mistakes left, 0.00 s")
    else:
        assert text.startswith(f"{status}: objective 2, within 5.0 % of the best possible")
    assert "{" not in text
    assert text.count("; ") >= 1
    assert "\n" not in text
    if "{tol" in REMEDIES[status]:
        assert "3e-05" in text


def test_a_bound_that_says_nothing_is_no_percentage() -> None:
    for primal, dual in ((3.0, 0.0), (3.0, -1.0), (3.0, 0.005)):
        certificate = make(primal, dual)
        texts = (str(certificate), certificate.brief, certificate._repr_html_())
        assert all("%" not in text for text in texts)
        assert f"objective 3, lower bound {dual:g} (certified gap" in texts[0]


def test_mistakes_are_mistakes_and_problems_are_counted() -> None:
    parts = [make(n, 0.0, status="not_separated", n_iter=100) for n in (1.0, 0.0, 40.0)]
    whole = Certificate.total(parts, tol=1e-6, seconds=0.0)
    assert str(whole).startswith(
        "not_separated: 41 training mistakes left, 100 passes in each of 3 problems, 0.00 s; "
    )
    assert "%" not in whole.brief
    assert str(parts[0]).startswith("not_separated: 1 training mistake left, 100 passes, ")
    assert "mistakes of weight 1.5 left" in str(make(1.5, 0.0, status="not_separated"))
    assert "mistakes of weight inf" in str(make(math.inf, 0.0, status="not_separated"))
    two = Certificate.total([make(n_iter=4), make(n_iter=5)], tol=1e-6, seconds=0.0)
    assert ", 4 to 5 iterations in each of 2 problems, " in str(two)
    assert ("iterations", "4 to 5 in each of 2 problems") in two.facts() and two.n_iter == 9


def test_iterations_are_stated_where_there_were_any() -> None:
    assert str(make(1.0, 1.0, status="optimal")).endswith(" (certified gap 0), 0.00 s")
    assert "iteration" not in make(1.0, 1.0, status="optimal")._repr_html_()
    parts = [make(1.0, 1.0, status="optimal")] * 2
    assert ", 2 problems, 0.00 s" in str(Certificate.total(parts, tol=1e-6, seconds=0.0))


def test_one_iteration_is_singular_and_thousands_have_commas() -> None:
    assert ", 1 iteration, " in str(make(n_iter=1))
    assert ", 12,345 iterations, " in str(make(n_iter=12_345))


@pytest.mark.parametrize(
    ("primal", "text"),
    [(0.0, "0"), (1234567.891, "1,234,567.89"), (1e-9, "1e-09"), (3.5e12, "3.5e+12"), (0.5, "0.5")],
)
def test_objective_as_text(primal: float, text: str) -> None:
    assert f"objective {text}," in str(make(primal, primal))


@pytest.mark.parametrize(
    ("gap", "text"), [(0.0, "0"), (0.5, "50"), (1e-3, "0.10"), (1.234e-7, "0.000012")]
)
def test_distance_in_per_cent(gap: float, text: str) -> None:
    assert f"within {text} % of the best possible" in str(make(1.0, 1.0 - gap))


def test_no_bound_yet() -> None:
    assert "no lower bound yet" in str(make(1.0, -math.inf))
    # The objective may be infinite in a regression, or where a weight is beyond its bound.
    assert "objective inf, lower bound 2, " in str(make(math.inf, 2.0, status="max_iter"))
    assert "objective inf, no lower bound yet, " in str(make(math.inf, -math.inf))


def test_gap_is_never_negative() -> None:
    certificate = make(1.0, 1.0 + 1e-15, status="optimal")
    assert certificate.gap == 0.0
    assert certificate.relative_gap == 0.0


def test_relative_gap_at_a_zero_objective() -> None:
    assert make(0.0, 0.0, status="optimal").relative_gap == 0.0
    assert make(0.0, -1.0).relative_gap > 1e200


@pytest.mark.parametrize(
    ("primal", "dual"),
    [(math.inf, -math.inf), (math.inf, 0.0), (math.nan, 0.0), (1.0, -math.inf), (1.0, math.nan)],
)
def test_a_bound_that_is_not_finite_is_no_bound(primal: float, dual: float) -> None:
    certificate = make(primal, dual, status="non_finite")
    assert not certificate.relative_gap <= 1.0
    assert not math.isnan(certificate.relative_gap)
    assert not Certificate.total(
        [certificate, make(1.0, 1.0, status="optimal")], tol=1e-6, seconds=0.0
    ).ok


def test_unknown_status_is_refused() -> None:
    with pytest.raises(ValueError, match="status 'fine' is not one of optimal"):
        make(status="fine")


def test_it_is_frozen_hashable_and_pickles() -> None:
    certificate = make(parts=[make(), make()])
    with pytest.raises(dataclasses.FrozenInstanceError):
        certificate.gap = 0.0
    assert pickle.loads(pickle.dumps(certificate)) == certificate
    assert hash(certificate) == hash(make(parts=[make(), make()]))


def test_ok_is_the_status() -> None:
    assert make(status="optimal").ok
    assert not any(make(status=s).ok for s in REMEDIES if s != "optimal")


numbers = st.floats(allow_nan=False, allow_infinity=True)


@given(numbers, numbers, st.floats(1e-12, 1.0), st.sampled_from(sorted(REMEDIES)))
def test_dictionary_round_trip(primal: float, dual: float, tol: float, status: str) -> None:
    part = make(primal, dual, tol, status, n_iter=3, seconds=0.5)
    whole = dataclasses.replace(part, parts=(part, part))
    text = json.dumps(whole.to_dict(), allow_nan=False)
    again = Certificate.from_dict(json.loads(text))
    assert again.to_dict() == whole.to_dict()
    assert len(again.parts) == 2
    assert again.status == status


def test_infinity_in_the_dictionary_is_a_string() -> None:
    record = make(1.0, -math.inf).to_dict()
    assert record["dual"] == "-inf"
    assert record["gap"] == "inf"
    assert Certificate.from_dict(record).dual == -math.inf


# --- the sum -----------------------------------------------------------------------------------


def total(*parts: Certificate, tol: float = 1e-6) -> Certificate:
    return Certificate.total(parts, tol=tol, seconds=1.5)


def test_bounds_gaps_and_iterations_add_up() -> None:
    parts = [make(2.0, 1.5, n_iter=4), make(3.0, 2.75, n_iter=5)]
    whole = total(*parts)
    assert (whole.primal, whole.dual, whole.gap) == (5.0, 4.25, 0.75)
    assert whole.relative_gap == 0.15
    assert (whole.n_iter, whole.seconds) == (9, 1.5)
    assert whole.parts == tuple(parts)


def test_a_sum_of_optimal_parts_is_optimal() -> None:
    good = make(2.0, 2.0 - 1e-6, status="optimal")
    assert total(good, good).ok


def test_optimal_is_judged_on_the_sum() -> None:
    # A part that missed its own tolerance does not matter if its gap drowns in the sum.
    good, poor = make(1e6, 1e6, status="optimal"), make(1e-3, 0.5e-3, status="max_iter")
    assert total(good, poor).status == "optimal"
    assert total(poor, poor).status == "max_iter"


@pytest.mark.parametrize("status", ["separable", "quasi_separable"])
def test_no_finite_optimum_is_never_outweighed(status: str) -> None:
    good, poor = make(1e6, 1e6, status="optimal"), make(1e-9, 0.0, status=status)
    assert total(good, poor).status == status


def test_a_sum_within_tol_is_optimal_interrupted_or_not() -> None:
    good, poor = make(1e6, 1e6, status="optimal"), make(1e-9, 0.0, status="interrupted")
    assert total(good, poor).status == "optimal"
    assert total(make(1.0, 1.0, status="optimal"), make(1.0, 0.5, status="interrupted")).status == (
        "interrupted"
    )


def test_interrupted_speaks_first() -> None:
    parts = [make(status=s) for s in ("max_iter", "separable", "interrupted", "time_limit")]
    assert total(*parts).status == "interrupted"
    assert total(*parts[:2]).status == "separable"


def test_a_part_without_a_bound_leaves_the_sum_without_one() -> None:
    whole = total(make(1.0, 1.0, status="optimal"), make(1.0, -math.inf, status="max_iter"))
    assert whole.dual == -math.inf
    assert whole.status == "max_iter"
    assert not whole.ok


# --- closed forms ---------------------------------------------------------------------------


def _equations(residual: float, **options) -> ResidualCertificate:
    return ResidualCertificate.of(
        equations="normal equations A'r = 0",
        relative_residual=residual,
        condition=10.0,
        rank=3,
        n_columns=3,
        **options,
    )


def test_equations_are_judged_by_what_is_left_of_them() -> None:
    assert _equations(1e-16).ok
    assert _equations(1e-9).status == "precision_limit"
    assert _equations(math.nan).status == "non_finite"
    assert _equations(math.inf).status == "non_finite"
    assert not _equations(1e-16, status="above_tol").ok
    with pytest.raises(ValueError, match="not one of"):
        _equations(1e-16, status="splendid")


def test_several_systems_are_as_good_as_the_worst() -> None:
    parts = [_equations(1e-16, seconds=1.0), _equations(1e-14), _equations(1e-15)]
    whole = ResidualCertificate.total(parts, equations="all", seconds=2.0)
    assert whole.ok
    assert whole.relative_residual == 1e-14
    assert whole.parts == tuple(parts)
    worse = ResidualCertificate.total([*parts, _equations(math.nan)], equations="all", seconds=2.0)
    assert worse.status == "non_finite"
    assert worse.relative_residual == math.inf


def test_equations_survive_json() -> None:
    whole = ResidualCertificate.total(
        [_equations(1e-16), _equations(math.nan)], equations="all", seconds=2.0
    )
    again = ResidualCertificate.from_dict(json.loads(json.dumps(whole.to_dict(), allow_nan=False)))
    assert again.to_dict() == whole.to_dict()
    assert str(again) == str(whole)


def test_what_is_not_known_stays_so() -> None:
    whole = _equations(1e-16)
    assert whole.orthogonality is None
    assert ResidualCertificate.from_dict(whole.to_dict()) == whole
    several = ResidualCertificate.total(
        [whole, _equations(1e-16, orthogonality=1e-15)], equations="all", seconds=0.0
    )
    assert several.orthogonality == 1e-15
    assert ResidualCertificate.from_dict(several.to_dict()) == several


def test_dependent_columns_are_told() -> None:
    told = str(
        ResidualCertificate.of(
            equations="normal equations A'r = 0",
            relative_residual=1e-16,
            condition=10.0,
            rank=2,
            n_columns=3,
        )
    )
    assert "2 of 3 columns independent" in told


def test_in_a_condition_it_certifies_or_not() -> None:
    good = Certificate.of(primal=1.0, dual=1.0, tol=1e-6, status="optimal")
    assert good and not dataclasses.replace(good, status="max_iter")
    with pytest.raises(TypeError, match="compare worst <= tol"):
        bool(SVC(kernel="linear").fit([[0.0], [1.0]], [0, 1]).kkt_violations())

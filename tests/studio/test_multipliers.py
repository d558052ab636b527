"""The multipliers that the studio shows of a plane, against those of the dual problem."""

from __future__ import annotations

import numpy as np
import pytest

from separatrix import SVC
from separatrix.studio import StudioModel
from separatrix.studio.shapes import shape


@pytest.mark.parametrize("strength", [0.01, 1.0, 100.0])
def test_a_plane_has_the_multipliers_of_its_dual(strength):
    kernel = StudioModel()
    state = {**kernel.traits["state"], **shape("blobs", n=40, noise=1.6), "model": "linear_svm"}
    points = np.array(state["points"])
    X, y = points[:, :2], np.where(points[:, 2] == 1, 1, -1)
    own = SVC(kernel="linear", C=strength, tol=1e-8).fit(X, y)
    dual = np.zeros(len(y))
    dual[own.support_] = np.abs(own.dual_coef_.ravel())
    asked = {"type": "ask", "seq": 1, "state": {**state, "parameters": {"C": strength}}}
    known = kernel.reply(asked)["points"]
    np.testing.assert_allclose(known["alpha"], dual, atol=1e-3 * strength)
    kinds = np.array(known["kind"])
    assert ((kinds == "bound") == (dual > strength * (1.0 - 1e-6))).all()
    assert ((kinds != "none") == (dual > 1e-6 * strength)).all()
    # Before the end the plane is not optimal, and has none.
    frame = kernel.reply({"type": "frame", "seq": 2, "of": 1, "step": 0})
    assert frame["points"]["alpha"] is None
    # The squared hinge's give back its weights.
    asked["state"]["parameters"]["loss"] = "squared_hinge"
    answer = kernel.reply(asked)
    lifted = np.column_stack([X, np.ones(len(X))])
    weights = np.append(answer["theta"]["coef"], 0.0)
    np.testing.assert_allclose((answer["points"]["alpha"] * y) @ lifted, weights, atol=0.01)

"""Benchmarks: the time every solver needs to come equally near to the same optimum.

Run ``python -m benchmarks`` from the repository root, with the package installed.

Every row of the table is one objective on one data set, the same for all solvers. Each solver's own
tolerance is swept from loose to tight, each point it returns is valued by `benchmarks.objectives`
(plain NumPy, float64, nothing of the library), and the time to a target is that of the fastest run
whose relative suboptimality is at or below the target. A solver's own claims play no part.

The files, in the order of use:

- ``workloads/``: one data set a file, each with its rows;
- ``objectives.py``: the value of a point, and a lower bound derived from it;
- ``peers.py``: the solvers, each with its settings from loose to tight;
- ``worker.py``: one process for each group of solvers and data set, which can be killed;
- ``runner.py``: the sweeps, the reference optimum, the repeated decisive runs;
- ``statements.py``: exact statements about data and perceptron passes, beside what others offer;
- ``kernel_machines.py``: support vector machines with kernels, to fit and to predict;
- ``system/``: growth, threads, memory, cold start, prediction: one figure a module;
- ``report.py``: the tables, the targets, and the documentation's page, all from one JSON document.

``python -m benchmarks.certificates`` and ``python -m benchmarks.tampering`` measure no time: they
attack the certificates of fits, and the verdicts of ``verify`` on altered models.

- ``hostile_data.py``: random small problems of the kinds that floating point is bad at;
- ``certificates.py``: every model, loss, penalty, solver and kernel fitted to these;
- ``certificate_judge.py``: the provably false claims of a certificate, in interval arithmetic,
  without any code of the library;
- ``tampering.py``: every estimator that can be verified, with each of its numbers altered;
- ``tampering_judge.py``: the objectives at the numbers of a model, in fractions and in balls;
- ``attacks.py``: the options and the processes of both.
"""

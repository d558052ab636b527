"""Published results on data of this size, as their authors state them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Published:
    """One result, and its source."""

    what: str
    data: str
    machines: str
    time: str
    where: str


PUBLISHED = (
    Published(
        "Snap ML, logistic regression",
        "Criteo, 4.2 billion rows, 1 million features",
        "4 servers, 8 POWER9, 16 V100",
        "1.53 min",
        "Dünner, Parnell, Sarigiannis, Ioannou, Anghel, Ravi, Kandasamy and Pozidis (2018), "
        "arXiv:1803.06333, first version",
    ),
    Published(
        "TensorFlow, as Snap ML's authors cite it",
        "Criteo, the same",
        "60 workers, 29 parameter servers",
        "70 min",
        "Sterbenz (2017), Google Cloud",
    ),
    Published(
        "Vowpal Wabbit, online passes, then L-BFGS",
        "17 billion rows, 16 million features, 2.1e12 values",
        "1,000 nodes",
        "70 min",
        "Agarwal, Chapelle, Dudík and Langford (2014), Journal of Machine Learning Research 15, "
        "1111-1133; the figures from their talk, where the paper says about an hour",
    ),
    Published(
        "LIBLINEAR-CDBLOCK, logistic regression",
        "Criteo, 24 days, 3 TB of text",
        "1 machine, 48 cores, 128 GB, hard disks",
        "not verified here",
        "Chen, Liu and Lin (2022), Training and Predicting Criteo's Terascale Data Set on a "
        "Machine with 128GB RAM; the method is that of Yu, Hsieh, Chang and Lin (2012)",
    ),
)

"""Linear least-squares data sets of NIST's Statistical Reference Datasets, as published.

Source: National Institute of Standards and Technology, Statistical Reference Datasets, Linear
Regression, https://www.itl.nist.gov/div898/strd/lls/lls.shtml, doi 10.18434/T43G6C.  The certified
values were computed there in 500 digits and are given to 15.

Longley (1967), An appraisal of least squares programs for the electronic computer from the
viewpoint of the user.  Filip: A. Filippelli, NIST.  Wampler (1970), A report of the accuracy of
some widely used least squares computer programs.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class DataSet:
    """Observations, and certified values with the intercept first."""

    name: str
    x: np.ndarray
    """(n, d) predictors, or (n,) the one of a polynomial."""
    y: np.ndarray
    coefficients: np.ndarray
    errors: np.ndarray
    """Standard deviations of the coefficients."""
    residual_deviation: float
    r_squared: float

    @property
    def degree(self) -> int | None:
        return len(self.coefficients) - 1 if self.x.ndim == 1 else None

    @property
    def columns(self) -> np.ndarray:
        """The predictors, or the powers of the one, rounded where floats cannot hold them."""
        if self.degree is None:
            return self.x
        return np.stack([self.x**k for k in range(1, self.degree + 1)], axis=1)


def correct_digits(found, certified) -> float:
    """The log relative error, at most 15, of the worst of the values; below 0 counts as 0."""
    found, certified = np.ravel(found), np.ravel(certified)
    size = np.where(certified == 0.0, 1.0, np.abs(certified))
    error = float(np.max(np.abs(found - certified) / size))
    return 15.0 if error == 0.0 else float(np.clip(-np.log10(error), 0.0, 15.0))


_LONGLEY = """
60323  83.0 234289 2356 1590 107608 1947
61122  88.5 259426 2325 1456 108632 1948
60171  88.2 258054 3682 1616 109773 1949
61187  89.5 284599 3351 1650 110929 1950
63221  96.2 328975 2099 3099 112075 1951
63639  98.1 346999 1932 3594 113270 1952
64989  99.0 365385 1870 3547 115094 1953
63761 100.0 363112 3578 3350 116219 1954
66019 101.2 397469 2904 3048 117388 1955
67857 104.6 419180 2822 2857 118734 1956
68169 108.4 442769 2936 2798 120445 1957
66513 110.8 444546 4681 2637 121950 1958
68655 112.6 482704 3813 2552 123366 1959
69564 114.2 502601 3931 2514 125368 1960
69331 115.7 518173 4806 2572 127852 1961
70551 116.9 554894 4007 2827 130081 1962
"""

_FILIP = """
0.8116 -6.860120914  0.9072 -4.324130045  0.9052 -4.358625055  0.9039 -4.358426747
0.8053 -6.955852379  0.8377 -6.661145254  0.8667 -6.355462942  0.8809 -6.118102026
0.7975 -7.115148017  0.8162 -6.815308569  0.8515 -6.519993057  0.8766 -6.204119983
0.8885 -5.853871964  0.8859 -6.109523091  0.8959 -5.79832982   0.8913 -5.482672118
0.8959 -5.171791386  0.8971 -4.851705903  0.9021 -4.517126416  0.909  -4.143573228
0.9139 -3.709075441  0.9199 -3.499489089  0.8692 -6.300769497  0.8872 -5.953504836
0.89   -5.642065153  0.891  -5.031376979  0.8977 -4.680685696  0.9035 -4.329846955
0.9078 -3.928486195  0.7675 -8.56735134   0.7705 -8.363211311  0.7713 -8.107682739
0.7736 -7.823908741  0.7775 -7.522878745  0.7841 -7.218819279  0.7971 -6.920818754
0.8329 -6.628932138  0.8641 -6.323946875  0.8804 -5.991399828  0.7668 -8.781464495
0.7633 -8.663140179  0.7678 -8.473531488  0.7697 -8.247337057  0.77   -7.971428747
0.7749 -7.676129393  0.7796 -7.352812702  0.7897 -7.072065318  0.8131 -6.774174009
0.8498 -6.478861916  0.8741 -6.159517513  0.8061 -6.835647144  0.846  -6.53165267
0.8751 -6.224098421  0.8856 -5.910094889  0.8919 -5.598599459  0.8934 -5.290645224
0.894  -4.974284616  0.8957 -4.64454848   0.9047 -4.290560426  0.9129 -3.885055584
0.9209 -3.408378962  0.9219 -3.13200249   0.7739 -8.726767166  0.7681 -8.66695597
0.7665 -8.511026475  0.7703 -8.165388579  0.7702 -7.886056648  0.7761 -7.588043762
0.7809 -7.283412422  0.7961 -6.995678626  0.8253 -6.691862621  0.8602 -6.392544977
0.8809 -6.067374056  0.8301 -6.684029655  0.8664 -6.378719832  0.8834 -6.065855188
0.8898 -5.752272167  0.8964 -5.132414673  0.8963 -4.811352704  0.9074 -4.098269308
0.9119 -3.66174277   0.9228 -3.2644011
"""

_WAMPLER = {
    1: "1 6 63 364 1365 3906 9331 19608 37449 66430 111111 177156 271453 402234 579195 813616 "
    "1118481 1508598 2000719 2613660 3368421",
    2: "1.00000 1.11111 1.24992 1.42753 1.65984 1.96875 2.38336 2.94117 3.68928 4.68559 6.00000 "
    "7.71561 9.92992 12.75603 16.32384 20.78125 26.29536 33.05367 41.26528 51.16209 63.00000",
    3: "760 -2042 2111 -1684 3888 1858 11379 17560 39287 64382 113159 175108 273291 400186 581243 "
    "811568 1121004 1506550 2002767 2611612 3369180",
    4: "75901 -204794 204863 -204436 253665 -200894 214131 -185192 221249 -138370 315911 -27644 "
    "455253 197434 783995 608816 1370781 1303798 2205519 2408860 3444321",
    5: "7590001 -20479994 20480063 -20479636 25231365 -20476094 20489331 -20460392 18417449 "
    "-20413570 20591111 -20302844 18651453 -20077766 21059195 -19666384 26348481 -18971402 "
    "22480719 -17866340 10958421",
}
_WAMPLER_ERRORS = [
    *(2152.32624678170, 2363.55173469681, 779.343524331583),
    *(101.475507550350, 5.64566512170752, 0.112324854679312),
]


def _numbers(text: str) -> np.ndarray:
    return np.array([float(word) for word in text.split()])


def _longley() -> DataSet:
    table = _numbers(_LONGLEY).reshape(16, 7)
    return DataSet(
        name="Longley",
        x=table[:, 1:],
        y=table[:, 0],
        coefficients=np.array(
            [
                *(-3482258.63459582, 15.0618722713733, -0.358191792925910e-01),
                *(-2.02022980381683, -1.03322686717359, -0.511041056535807e-01),
                1829.15146461355,
            ]
        ),
        errors=np.array(
            [
                *(890420.383607373, 84.9149257747669, 0.334910077722432e-01),
                *(0.488399681651699, 0.214274163161675, 0.226073200069370, 455.478499142212),
            ]
        ),
        residual_deviation=304.854073561965,
        r_squared=0.995479004577296,
    )


def _filip() -> DataSet:
    table = _numbers(_FILIP).reshape(82, 2)
    return DataSet(
        name="Filip",
        x=table[:, 1],
        y=table[:, 0],
        coefficients=np.array(
            [
                *(-1467.48961422980, -2772.17959193342, -2316.37108160893, -1127.97394098372),
                *(-354.478233703349, -75.1242017393757, -10.8753180355343, -1.06221498588947),
                *(-0.670191154593408e-01, -0.246781078275479e-02, -0.402962525080404e-04),
            ]
        ),
        errors=np.array(
            [
                *(298.084530995537, 559.779865474950, 466.477572127796, 227.204274477751),
                *(71.6478660875927, 15.2897178747400, 2.23691159816033, 0.221624321934227),
                *(0.142363763154724e-01, 0.535617408889821e-03, 0.896632837373868e-05),
            ]
        ),
        residual_deviation=0.334801051324544e-02,
        r_squared=0.996727416185620,
    )


def _wampler(number: int) -> DataSet:
    deviation, r_squared, scale = {
        1: (0.0, 1.0, 0.0),
        2: (0.0, 1.0, 0.0),
        3: (2360.14502379268, 0.999995559025820, 1.0),
        4: (236014.502379268, 0.957478440825662, 1e2),
        5: (23601450.2379268, 0.224668921574940e-02, 1e4),
    }[number]
    return DataSet(
        name=f"Wampler{number}",
        x=np.arange(21.0),
        y=_numbers(_WAMPLER[number]),
        coefficients=np.array([1.0, 0.1, 0.01, 0.001, 0.0001, 0.00001]) ** (number == 2),
        errors=np.array(_WAMPLER_ERRORS) * scale,
        residual_deviation=deviation,
        r_squared=r_squared,
    )


DATA_SETS = {
    data.name: data for data in (_longley(), _filip(), *(_wampler(k) for k in range(1, 6)))
}

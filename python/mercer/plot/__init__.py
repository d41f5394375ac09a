"""Pictures of models, with matplotlib (``pip install 'mercer[plot]'``).

Every function draws on ``ax``, or on a new figure when none is given, and returns the Axes, so that titles, limits and labels
can be changed afterwards. Colours can be told apart with any colour vision, and in print.

>>> import matplotlib
>>> matplotlib.use("Agg")
>>> import numpy as np
>>> import mercer
>>> x = np.linspace(0, 6, 200)[:, None]
>>> model = mercer.KernelRegressor(features=50).fit(x, np.sin(x[:, 0]))
>>> ax = mercer.plot.fan(model, x, np.sin(x[:, 0]))
>>> _ = ax.set_title("A wave")
"""

from __future__ import annotations

from ._calibration import calibration
from ._decision import decision
from ._fan import fan
from ._field import field
from ._forecast import forecast
from ._kernel_error import kernel_error
from ._learning_curve import learning_curve
from ._residuals import residuals
from ._spectrum import spectrum
from ._training import training

__all__ = [
    "calibration",
    "decision",
    "fan",
    "field",
    "forecast",
    "kernel_error",
    "learning_curve",
    "residuals",
    "spectrum",
    "training",
]

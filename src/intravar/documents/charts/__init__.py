"""Charts as SVG: axes, marks, bands, rows and bins, without a library.

A chart opens offline, says in words what it shows (`title` and `desc`), and is the same picture in
a page, in a PDF and in Word. Colours are names (`var(--one)`): a page resolves them for light and
dark, :func:`~intravar.documents.colours.on_paper` puts the light ones into a picture that
stands alone. Marks look as a class of `charts.css` says (`point`, `hollow`, `line`, `limit`,
`band`, `fill` ...); `colour` names another colour, for instance that of a method.

Examples
--------
>>> from intravar.documents.charts import Plot
>>> plot = Plot(640, 300, x=(0, 1000), y=(0, 0.5))
>>> plot.axes("patients", "error")
>>> plot.line([(100, 0.4), (400, 0.2), (900, 0.1)], colour="accent")
>>> "<desc>The error falls" in plot.svg("Error by size", "The error falls to 0.1.")
True

A labelled row per name is :func:`row_plot`.
"""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach_stub(__name__, __file__)

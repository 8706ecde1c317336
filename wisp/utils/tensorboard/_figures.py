"""Figures of Matplotlib's as images."""

import wisp


def render(figures, close):
    """The pixels of figures: (N, H, W, 3)."""
    try:
        from matplotlib import pyplot
        from matplotlib.backends.backend_agg import FigureCanvasAgg
    except ImportError as error:
        raise ImportError("add_figure() draws figures of Matplotlib's: pip install matplotlib") from error
    images = []
    for figure in figures:
        canvas = FigureCanvasAgg(figure)
        canvas.draw()
        width, height = canvas.get_width_height()
        pixels = wisp.tensor(bytearray(canvas.buffer_rgba()), dtype=wisp.uint8).reshape(height, width, 4)
        images.append(pixels[..., :3])
        if close:
            pyplot.close(figure)
    return wisp.stack(images)

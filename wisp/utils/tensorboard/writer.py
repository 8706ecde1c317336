"""Writers of event files for TensorBoard."""

import os
import time
import warnings

from wisp.utils.tensorboard import summary
from wisp.utils.tensorboard._media import as_tensor
from wisp.utils.tensorboard._proto import chunk, integer
from wisp.utils.tensorboard._records import EventFile, timed

__all__ = ["FileWriter", "SummaryWriter"]


class FileWriter:
    """Writes events to a file in a folder; see `SummaryWriter`, which makes them.

    Args:
        log_dir: the folder.
        max_queue: how many events wait before they are written.
        flush_secs: how many seconds they wait at most.
        filename_suffix: the end of the file's name.
    """

    def __init__(self, log_dir, max_queue=10, flush_secs=120, filename_suffix=""):
        self._log_dir = str(log_dir)
        self._settings = self._log_dir, max_queue, flush_secs, filename_suffix
        self.event_writer = EventFile(*self._settings)

    def get_logdir(self):
        """The folder."""
        return self._log_dir

    def add_event(self, event, step=None, walltime=None):
        """Writes an encoded event, or a protocol buffer object of one, at a step and a time (now, unless given)."""
        self.event_writer.add(timed(_encoded(event), step, walltime))

    def add_summary(self, summary, global_step=None, walltime=None):
        """Writes an encoded summary, or a protocol buffer object of one."""
        self.add_event(chunk(5, _encoded(summary)), global_step, walltime)

    def add_graph(self, graph_profile, walltime=None):
        """Writes the events of a graph."""
        for event in graph_profile:
            self.add_event(event, None, walltime)

    def add_onnx_graph(self, graph, walltime=None):
        """Writes the event of a graph that was read from an ONNX file."""
        self.add_event(graph, None, walltime)

    def flush(self):
        """Waits until everything is in the file."""
        self.event_writer.flush()

    def close(self):
        """Writes what is left and closes the file."""
        self.event_writer.close()

    def reopen(self):
        """Goes on in a new file, if this one is closed."""
        self.event_writer.close()
        self.event_writer = EventFile(*self._settings)


def _encoded(message):
    return message if isinstance(message, bytes) else message.SerializeToString()


class SummaryWriter:
    """Writes what TensorBoard shows: numbers, histograms, pictures, texts, graphs.

    A call encodes its values and returns; a thread in the background writes them. Nothing but wisp is needed to write.

    Args:
        log_dir: the folder; ``runs/<date and time>_<host><comment>`` unless given.
        comment: the end of the folder's name, if that is not given.
        purge_step: from this step on, what an earlier (crashed) run has written is hidden.
        max_queue: how many events wait before they are written.
        flush_secs: how many seconds they wait at most.
        filename_suffix: the end of the name of every file.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder, SummaryWriter(folder) as writer:
    ...     for step in range(3):
    ...         writer.add_scalar("loss", 1 / (step + 1), step)
    """

    def __init__(self, log_dir=None, comment="", purge_step=None, max_queue=10, flush_secs=120, filename_suffix=""):
        self.log_dir = _default_folder(comment) if not log_dir else str(log_dir)
        self.purge_step = purge_step
        self._settings = max_queue, flush_secs, filename_suffix
        self.file_writer = self.all_writers = None
        self._layout = {}
        self._get_file_writer()

    def _get_file_writer(self):
        """The writer of the folder itself; opened anew after close()."""
        if self.file_writer is None:
            self.file_writer = FileWriter(self.log_dir, *self._settings)
            self.all_writers = {self.log_dir: self.file_writer}
            if self.purge_step is not None:
                self.file_writer.add_event(chunk(3, "brain.Event:2"), self.purge_step)
                self.file_writer.add_event(chunk(7, integer(1, 1)), self.purge_step)  # a session starts
                self.purge_step = None
        return self.file_writer

    def _add(self, encoded, global_step=None, walltime=None):
        self._get_file_writer().add_summary(encoded, global_step, walltime)

    def get_logdir(self):
        """The folder."""
        return self.log_dir

    # --- numbers

    def add_scalar(self, tag, scalar_value, global_step=None, walltime=None, new_style=False, double_precision=False):
        """Adds a number.

        Args:
            tag: its name; a slash makes groups.
            scalar_value: the number, or a tensor of one element.
            global_step: the step of training it belongs to.
            walltime: the time in seconds since 1970; now, unless given.
            new_style: write it as a tensor, which loads faster.
            double_precision: write it with 64 bits (new style only).
        """
        encoded = summary.scalar(tag, scalar_value, new_style=new_style, double_precision=double_precision)
        self._add(encoded, global_step, walltime)

    def add_scalars(self, main_tag, tag_scalar_dict, global_step=None, walltime=None):
        """Adds several numbers that are shown in one chart; each is a run of its own.

        Args:
            main_tag: the name of the chart.
            tag_scalar_dict: the numbers by name.
            global_step: the step they belong to.
            walltime: the time; now, unless given.
        """
        self._get_file_writer()
        walltime = time.time() if walltime is None else walltime
        for tag, value in tag_scalar_dict.items():
            folder = f"{self.log_dir}/{main_tag.replace('/', '_')}_{tag}"
            if folder not in self.all_writers:
                self.all_writers[folder] = FileWriter(folder, *self._settings)
            self.all_writers[folder].add_summary(summary.scalar(main_tag, value), global_step, walltime)

    def add_tensor(self, tag, tensor, global_step=None, walltime=None):
        """Adds a tensor."""
        self._add(summary.tensor_proto(tag, tensor), global_step, walltime)

    def add_histogram(self, tag, values, global_step=None, bins="tensorflow", walltime=None, max_bins=None):
        """Adds a histogram.

        Args:
            tag: its name.
            values: the numbers it is of.
            global_step: the step they belong to.
            bins: how many bins, or their edges, or "tensorflow" (bins that grow by a tenth, around 0), or a rule of
                NumPy's by name ("auto", "fd", ...), for which NumPy is needed.
            walltime: the time; now, unless given.
            max_bins: join neighbouring bins until there are about this many.
        """
        self._add(summary.histogram(tag, values, bins, max_bins), global_step, walltime)

    def add_histogram_raw(
        self, tag, min, max, num, sum, sum_squares, bucket_limits, bucket_counts, global_step=None, walltime=None
    ):
        """Adds a histogram that is computed already: upper limits of bins, and how many values lie in each."""
        encoded = summary.histogram_raw(tag, min, max, num, sum, sum_squares, bucket_limits, bucket_counts)
        self._add(encoded, global_step, walltime)

    def add_hparams(self, hparam_dict, metric_dict, hparam_domain_discrete=None, run_name=None, global_step=None):
        """Adds hyperparameters and what came of them, as a run of its own.

        Args:
            hparam_dict: the hyperparameters by name: numbers, texts, bools.
            metric_dict: the results by name, numbers.
            hparam_domain_discrete: all values that a hyperparameter may have, by name.
            run_name: the name of the run; the time, unless given.
            global_step: the step the results belong to.
        """
        encoded = summary.hparams(hparam_dict, metric_dict, hparam_domain_discrete)
        folder = os.path.join(self._get_file_writer().get_logdir(), run_name or str(time.time()))
        with SummaryWriter(log_dir=folder) as writer:
            for part in encoded:
                writer._add(part, global_step)
            for name, value in metric_dict.items():
                writer.add_scalar(name, value, global_step)

    # --- pictures, sounds, texts

    def add_image(self, tag, img_tensor, global_step=None, walltime=None, dataformats="CHW"):
        """Adds an image.

        Args:
            tag: its name.
            img_tensor: bytes, or floating point from 0 to 1.
            global_step: the step it belongs to.
            walltime: the time; now, unless given.
            dataformats: what its dimensions are: an order of CHW, NCHW or HW.
        """
        self._add(summary.image(tag, img_tensor, dataformats=dataformats), global_step, walltime)

    def add_images(self, tag, img_tensor, global_step=None, walltime=None, dataformats="NCHW"):
        """Adds several images, side by side; see `add_image`."""
        self._add(summary.image(tag, img_tensor, dataformats=dataformats), global_step, walltime)

    def add_image_with_boxes(
        self, tag, img_tensor, box_tensor, global_step=None, walltime=None, rescale=1, dataformats="CHW", labels=None
    ):
        """Adds an image with frames.

        Args:
            tag: its name.
            img_tensor: the image.
            box_tensor: a row (left, top, right, bottom) of pixels for every frame.
            global_step: the step it belongs to.
            walltime: the time; now, unless given.
            rescale: make it larger or smaller by this factor.
            dataformats: what its dimensions are.
            labels: a text, or one for every frame; Pillow is needed to draw them.
        """
        labels = [labels] if isinstance(labels, str) else labels
        self._add(summary.image_boxes(tag, img_tensor, box_tensor, rescale, dataformats, labels), global_step, walltime)

    def add_figure(self, tag, figure, global_step=None, close=True, walltime=None):
        """Adds a figure of Matplotlib's, or a list of them as images side by side.

        Args:
            tag: its name.
            figure: the figure.
            global_step: the step it belongs to.
            close: close it afterwards.
            walltime: the time; now, unless given.
        """
        from wisp.utils.tensorboard._figures import render

        if isinstance(figure, list):
            self.add_images(tag, render(figure, close), global_step, walltime, dataformats="NHWC")
        else:
            self.add_image(tag, render([figure], close)[0], global_step, walltime, dataformats="HWC")

    def add_video(self, tag, vid_tensor, global_step=None, fps=4, walltime=None):
        """Adds videos (N, T, C, H, W), side by side, as an animated GIF; Pillow is needed to make it."""
        self._add(summary.video(tag, vid_tensor, fps), global_step, walltime)

    def add_audio(self, tag, snd_tensor, global_step=None, sample_rate=44100, walltime=None):
        """Adds a sound: numbers from -1 to 1, `sample_rate` a second."""
        self._add(summary.audio(tag, snd_tensor, sample_rate), global_step, walltime)

    def add_text(self, tag, text_string, global_step=None, walltime=None):
        """Adds a text, shown as Markdown."""
        self._add(summary.text(tag, text_string), global_step, walltime)

    # --- models and data

    def add_graph(self, model, input_to_model=None, verbose=False, use_strict_trace=True):
        """Adds the graph of a module: its submodules in the order of their calls, with the shapes of their results.

        Args:
            model: the module.
            input_to_model: a tensor, or a tuple of arguments, that it is called with once.
            verbose: print the nodes.
            use_strict_trace: accepted; a call is followed whatever it returns.
        """
        from wisp.utils.tensorboard._graph import graph

        if not hasattr(model, "forward"):
            raise TypeError(f"add_graph(): expected a module, got {type(model).__name__}")
        self._get_file_writer().add_graph(graph(model, () if input_to_model is None else input_to_model, verbose))

    def add_onnx_graph(self, prototxt):
        """Adds the graph of a model in an ONNX file, by its path."""
        from wisp.utils.tensorboard._onnx import onnx_graph

        self._get_file_writer().add_onnx_graph(onnx_graph(prototxt))

    def add_embedding(
        self, mat, metadata=None, label_img=None, global_step=None, tag="default", metadata_header=None
    ):  # fmt: skip
        """Adds points of many dimensions, for the projector.

        Args:
            mat: a row for every point.
            metadata: a label for every point, or a list of them.
            label_img: a picture (C, H, W) for every point.
            global_step: the step they belong to.
            tag: the name of the embedding.
            metadata_header: the names of the columns of `metadata`, if it has several.
        """
        from wisp.utils.tensorboard import _projector

        mat = as_tensor(mat)
        step = f"{0 if global_step is None else int(global_step):05d}"
        folder = f"{step}/{self._encode(tag)}"
        path = os.path.join(self._get_file_writer().get_logdir(), folder)
        if os.path.exists(path):
            warnings.warn("Embedding dir exists, did you set global_step for add_embedding()?", stacklevel=2)
        label_img = None if label_img is None else as_tensor(label_img)
        size = _projector.write_embedding(path, mat, metadata, metadata_header, label_img)
        listed = os.path.join(self._get_file_writer().get_logdir(), "projector_config.pbtxt")
        with open(listed, "a", encoding="utf8") as out:
            out.write(_projector.entry(f"{tag}:{step}", folder, metadata is not None, size))

    @staticmethod
    def _encode(rawstr):
        """A tag as the name of a folder."""
        from urllib.parse import quote

        return quote(rawstr, safe="").replace("%", "%%")

    def add_pr_curve(
        self, tag, labels, predictions, global_step=None, num_thresholds=127, weights=None, walltime=None
    ):  # fmt: skip
        """Adds a curve of precision and recall.

        Args:
            tag: its name.
            labels: 0 or 1 for every sample.
            predictions: the predicted probability of 1.
            global_step: the step it belongs to.
            num_thresholds: at how many thresholds it is computed.
            weights: how much every sample counts.
            walltime: the time; now, unless given.
        """
        self._add(summary.pr_curve(tag, labels, predictions, num_thresholds, weights), global_step, walltime)

    def add_pr_curve_raw(
        self, tag, true_positive_counts, false_positive_counts, true_negative_counts, false_negative_counts, precision,
        recall, global_step=None, num_thresholds=127, weights=None, walltime=None,
    ):  # fmt: skip
        """Adds a curve of precision and recall that is computed already."""
        counts = true_positive_counts, false_positive_counts, true_negative_counts, false_negative_counts
        encoded = summary.pr_curve_raw(tag, *counts, precision, recall, num_thresholds, weights)
        self._add(encoded, global_step, walltime)

    def add_custom_scalars_multilinechart(self, tags, category="default", title="untitled"):
        """Adds a chart of several numbers (their tags) to the dashboard of custom charts."""
        self._add(summary.custom_scalars({category: {title: ["Multiline", tags]}}))

    def add_custom_scalars_marginchart(self, tags, category="default", title="untitled"):
        """Adds a chart of a number between two others (three tags) to the dashboard of custom charts."""
        if len(tags) != 3:
            raise AssertionError(f"expected three tags of a margin chart, got {len(tags)}")
        self._add(summary.custom_scalars({category: {title: ["Margin", tags]}}))

    def add_custom_scalars(self, layout):
        """Sets the dashboard of custom charts.

        Args:
            layout: ``{category: {title: ["Multiline", tags] or ["Margin", three tags]}}``.
        """
        self._add(summary.custom_scalars(layout))

    def add_mesh(
        self, tag, vertices, colors=None, faces=None, config_dict=None, global_step=None, walltime=None
    ):  # fmt: skip
        """Adds points in space (B, N, 3), their colours, the triangles between them, and settings of the viewer."""
        self._add(summary.mesh(tag, vertices, colors, faces, config_dict), global_step, walltime)

    # --- the files

    def flush(self):
        """Waits until everything is in the files."""
        for writer in (self.all_writers or {}).values():
            writer.flush()

    def close(self):
        """Writes what is left and closes the files; adding more opens new ones."""
        writers, self.file_writer, self.all_writers = self.all_writers or {}, None, None
        for writer in writers.values():
            writer.close()

    def __enter__(self):
        return self

    def __exit__(self, exc_type, exc_val, exc_tb):
        self.close()


def _default_folder(comment):
    import socket
    from datetime import datetime

    now = datetime.now().strftime("%b%d_%H-%M-%S")
    return os.path.join("runs", f"{now}_{socket.gethostname()}{comment}")

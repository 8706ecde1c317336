"""Exporting single operators: every one that has samples, on some of them."""

import itertools

import pytest

onnx = pytest.importorskip("onnx")

import wisp
from tests.onnx_exports import check, check_other_sizes, tensors_in, with_tensors
from tests.ops.sampling import load_all, resolve
from wisp.onnx._export.lowerings import COMPLEX, LOWERINGS, TABLE, is_rename

SAMPLES = load_all()
# Operators that cannot be exported, and why.
UNSUPPORTED = {
    "_fused_update": "training only", "_standard_gamma_grad": "a derivative that no model computes forwards",
    "linalg_ldl_factor": "no LDL factorisation", "linalg_ldl_factor_ex": "no LDL factorisation",
    "linalg_ldl_solve": "no LDL factorisation",
}  # fmt: skip
# Operators of which so many samples cannot be exported.
PARTLY = {
    "tensor_split": 1,  # into a number of pieces that only the values tell
    "view": 2,  # bits as numbers of another dtype: from version 26 on
}
# Operators of which only so many samples are checked.
ONLY = {
    "fft_hfft": 3, "fft_hfft2": 3,  # onnxruntime's transforms of many numbers are exact to three digits
    "sum": 20,  # then numbers beyond the range of the integers that they are cast to
}  # fmt: skip
# Operators whose results are not determined by matrices that have equal rows.
OF_MATRICES = {"geqrf", "qr", "lu_unpack", "svd", "matrix_exp"}
# Samples that are left out, and why.
LEFT_OUT = {
    "batch_norm": "training, in which running statistics are results too",
    "dropout": "random", "alpha_dropout": "random",
}  # fmt: skip


def is_plain(values):
    """Without what runtimes treat in different ways: infinite values and NaN, tensors without elements."""
    return all(not t.is_complex() and t.numel() and bool(t.isfinite().all()) for t in tensors_in(values))


def comparable(result):
    return bool(tensors_in([result])) and is_plain([result])


def built(entry, name, i, sample, dtype):
    """(function of tensors, tensors) of a sample."""
    args, kwargs, _ = sample.build(wisp, dtype, f"{name}/{i}/{dtype}")

    def call(*given):
        more, keywords = with_tensors([args, kwargs], iter([t.clone() for t in given]))
        return resolve(wisp, entry.call, name)(*more, **keywords)

    return call, tuple(tensors_in([args, kwargs]))


def calls(name):
    """(function of tensors, tensors, tolerance) of samples that can be exported."""
    entry = SAMPLES[name]
    for i, sample in enumerate(entry.make()):
        dtypes = sample.dtypes or entry.dtypes
        dtype = "float32" if "float32" in dtypes else dtypes[0]
        call, tensors = built(entry, name, i, sample, dtype)
        if tensors and is_plain(tensors) and comparable(call(*tensors)):
            yield call, tensors, max(sample.tol or 0, 1e-4)


def is_of_matrices(name):
    return name in OF_MATRICES or name.startswith("linalg_")


@pytest.mark.parametrize("name", sorted(set(SAMPLES) - set(UNSUPPORTED) - set(LEFT_OUT)))
def test_operator(name):
    """All samples; the first one also with other sizes."""
    samples = list(itertools.islice(calls(name), ONLY.get(name)))
    if not samples:
        pytest.skip("no sample has real tensors as arguments and results")
    checked = 0
    for call, tensors, tolerance in samples:
        is_first = checked == 0
        try:
            exported = wisp.onnx.export(call, tensors, dynamic_axes=None if is_first else {})
        except wisp.onnx.UnsupportedOperatorError:
            continue
        check(exported, call, tensors, tolerance=tolerance)
        if is_first:
            check_other_sizes(exported, call, tensors, tolerance=tolerance, most=1, drawn=is_of_matrices(name))
        checked += 1
    assert len(samples) - checked == PARTLY.get(name, 0)


def is_missing_kernel(error):
    """Whether onnxruntime has no kernel for a dtype that the standard allows."""
    return type(error).__name__ == "NotImplemented" or "does not support double" in str(error)


@pytest.mark.parametrize("name", sorted(set(SAMPLES) - set(UNSUPPORTED) - set(LEFT_OUT)))
def test_other_dtypes(name):
    entry, seen = SAMPLES[name], {"float32", "bfloat16", "complex64", "complex128"}
    for i, sample in enumerate(entry.make()):
        for dtype in sorted(set(sample.dtypes or entry.dtypes) - seen):
            call, tensors = built(entry, name, i, sample, dtype)
            if not tensors or not is_plain(tensors) or not comparable(call(*tensors)):
                continue
            seen.add(dtype)
            tolerance = max(sample.tol or 0, 5e-3 if dtype == "float16" else 1e-4)
            exported = wisp.onnx.export(call, tensors, dynamic_axes={})
            try:
                check(exported, call, tensors, tolerance=tolerance)
            except Exception as error:
                if not is_missing_kernel(error):
                    raise


# Operators that need a newer version than the oldest one, of those that can be exported.
NEEDS = {
    **dict.fromkeys(("index_add", "scatter_add", "embedding_bag", "bincount", "histc", "histogram", "histogramdd",
                     "_histogramdd", "multilabel_margin_loss", "grid_sample", "grid_sampler", "grid_sampler_2d"), 16),
    **dict.fromkeys(("stft", "fft_hfft", "fft_hfft2", "fft_hfftn", "fft_irfft", "fft_irfft2", "fft_irfftn"), 17),
    **dict.fromkeys(("fold", "index_reduce", "scatter_reduce", "_upsample_bilinear2d_aa",
                     "_upsample_bicubic2d_aa"), 18),
    "grid_sampler_3d": 20,
}  # fmt: skip


@pytest.mark.parametrize("name", sorted(set(SAMPLES) - set(UNSUPPORTED) - set(LEFT_OUT)))
def test_oldest_version(name):
    """One sample in the oldest version that can express it."""
    for call, tensors, tolerance in itertools.islice(calls(name), 1):
        exported = wisp.onnx.export(call, tensors, dynamic_axes={}, opset_version=NEEDS.get(name, 13))
        check(exported, call, tensors, tolerance=tolerance)


@pytest.mark.parametrize("name", sorted(UNSUPPORTED))
def test_unsupported(name):
    for call, tensors, _ in calls(name):
        with pytest.raises(wisp.onnx.UnsupportedOperatorError):
            wisp.onnx.export(call, tensors)


def takes_tensors(row):
    return any("Tensor" in param["type"] for param in row["params"])


def test_notes_of_the_operator_table_are_true():
    """ "- reason" stands where there is no way to write an operator, the name of a node where that is one."""
    wrong = []
    for name, row in TABLE.items():
        written = name in LOWERINGS or name in COMPLEX or is_rename(name)
        # What takes no tensors is computed when the model is written, unless it is drawn.
        possible = row["composite"] or written or not (takes_tensors(row) or row["random"])
        is_node = row["onnx"][0] not in "+-"
        unfit = is_node and not (onnx.defs.has(row["onnx"]) and (written or row["composite"]))
        if unfit or possible == (row["onnx"][0] == "-") and not row["composite"]:
            wrong.append((name, row["onnx"]))
    assert not wrong


def test_notes_agree_with_what_is_exported_of_the_samples():
    for name in set(SAMPLES) & set(TABLE) - set(LEFT_OUT):
        refused = name in UNSUPPORTED
        exported = not refused and any(True for _ in itertools.islice(calls(name), 1))
        note = TABLE[name]["onnx"]
        assert not (refused and note[0] != "-") and not (exported and note[0] == "-"), (name, note)

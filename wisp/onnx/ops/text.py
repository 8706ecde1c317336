"""Strings, and counts of sequences of words or numbers."""

import re
import unicodedata
from itertools import pairwise

import wisp
from wisp.onnx._values import Carried, flat_words, strings


def _concat(node, a, b):
    shape = wisp.broadcast_shapes(a.shape, b.shape)
    left, right = (flat_words(x.replaced(x.data.expand(shape))) for x in (a, b))
    return strings([x + y for x, y in zip(left, right)], shape)


def _split(node, x):
    """The parts of strings along a new last axis, filled up with empty ones, and how many parts each string has."""
    limit = -1 if node["maxsplit"] is None else node["maxsplit"]
    parts = [word.split(node["delimiter"] or None, limit) for word in flat_words(x)]
    longest = max((len(p) for p in parts), default=0)
    words = [word for p in parts for word in (*p, *[""] * (longest - len(p)))]
    counts = wisp.tensor([len(p) for p in parts], dtype=wisp.int64).reshape(x.shape)
    return strings(words, (*x.shape, longest)), counts


def _full_match(node, x):
    """Which strings a pattern matches as a whole. Patterns are Python's, which include what the standard allows."""
    pattern = re.compile(node["pattern"])
    found = [pattern.fullmatch(word) is not None for word in flat_words(x)]
    return wisp.tensor(found, dtype=wisp.bool).reshape(x.shape)


_CASES = {"NONE": str, "LOWER": str.lower, "UPPER": str.upper}


def _normalize(node, x):
    """Words without accents and without those that are to be left out, in upper or lower case if wanted."""
    if node["case_change_action"] not in _CASES:
        raise ValueError(f"unknown case_change_action {node['case_change_action']!r}")
    change = _CASES[node["case_change_action"]]
    form = str if node["is_case_sensitive"] else str.lower
    stops = {form(word) for word in node["stopwords"] or []}
    words = [_plain(word) for word in flat_words(x)]
    kept = [change(word) for word in words if form(word) not in stops] or [""]
    return strings(kept, (len(kept),) if len(x.shape) == 1 else (1, len(kept)))


def _plain(word):
    """A word with its accents taken off."""
    if word.isascii():
        return word
    return "".join(c for c in unicodedata.normalize("NFKD", word) if not unicodedata.combining(c))


def _tf_idf(node, x):
    """How often each n-gram of a pool occurs in rows of words or numbers, also with gaps between its parts, weighted."""
    words = x.tolist() if isinstance(x, Carried) else x.to(wisp.int64).tolist()
    rows = words if len(x.shape) == 2 else [words if isinstance(words, list) else [words]]
    columns, size = _pool(node), max(node["ngram_indexes"], default=-1) + 1
    counts = wisp.stack([_counts(node, row, columns, size) for row in rows])
    if node["mode"] == "IDF":
        counts = (counts > 0).to(wisp.float32)
    if node["mode"] != "TF" and node["weights"]:
        places = wisp.tensor(node["ngram_indexes"])
        counts = counts * wisp.zeros(size).scatter(0, places, wisp.tensor(node["weights"]))
    return counts if len(x.shape) == 2 else counts[0]


def _pool(node):
    """The column of each n-gram of the pool."""
    items = node["pool_strings"] if node["pool_strings"] is not None else node["pool_int64s"]
    starts = [*node["ngram_counts"], len(items)]
    grams = []
    for size, (start, end) in enumerate(pairwise(starts), 1):
        grams += [tuple(items[i : i + size]) for i in range(start, end, size)]
    return dict(zip(grams, node["ngram_indexes"]))


def _counts(node, row, columns, size):
    """How often n-grams occur in a row, by the column that each belongs to."""
    found = []
    for length in range(node["min_gram_length"], node["max_gram_length"] + 1):
        for gap in range(1, node["max_skip_count"] + 2 if length > 1 else 2):
            for start in range(len(row) - gap * (length - 1)):
                gram = tuple(row[start : start + gap * (length - 1) + 1 : gap])
                if gram in columns:
                    found.append(columns[gram])
    return wisp.bincount(wisp.tensor(found, dtype=wisp.int64), minlength=size).to(wisp.float32)


OPERATORS = {
    "RegexFullMatch": [(20, _full_match)],
    "StringConcat": [(20, _concat)],
    "StringNormalizer": [(10, _normalize)],
    "StringSplit": [(20, _split)],
    "TfIdfVectorizer": [(9, _tf_idf)],
}
KNOW_TYPES = set(OPERATORS)

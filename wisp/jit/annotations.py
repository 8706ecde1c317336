"""Names of types, as programs import them for annotations."""

from typing import Any, Dict, List, Optional, Tuple, Union  # noqa: UP035 (they are asked for by these names)

__all__ = ["Any", "Dict", "List", "Optional", "Tuple", "Union"]

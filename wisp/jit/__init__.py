"""Compiled programs: functions and modules as graphs that run, are saved and loaded without their Python code.

Names are imported on first use.
"""

from importlib import import_module

_HOMES = {
    "_errors": ("Error",),
    "_execution": (
        "enable_onednn_fusion", "fuser", "onednn_fusion_enabled", "optimized_execution",
        "last_executed_optimized_graph", "set_fusion_strategy", "strict_fusion",
    ),
    "_files": ("load", "save"),
    "_freeze": ("freeze", "optimize_for_inference", "run_frozen_optimizations"),
    "_futures": ("Future", "_fork", "_wait", "fork", "wait"),
    "_html": ("graph_html",),
    "_marks": (
        "Attribute", "Final", "annotate", "export", "ignore", "interface", "is_scripting", "isinstance", "script_method",
        "unused", "_unchecked_cast", "_uninitialized", "_unwrap_optional",
    ),
    "_module": ("RecursiveScriptModule", "ScriptFunction", "ScriptModule", "TopLevelTracedModule", "TracedModule"),
    "_record": ("is_tracing",),
    "_script": ("CompilationUnit", "CompileError", "FrontendError", "_overload", "_overload_method", "script"),
    "_views": ("export_opnames",),
    "_trace": ("TracerWarning", "TracingCheckError", "_script_if_tracing", "script_if_tracing", "trace", "trace_module"),
}  # fmt: skip
_HOME_OF = {name: module for module, names in _HOMES.items() for name in names}

__all__ = [name for name in _HOME_OF if name[0] != "_"]


def __getattr__(name):
    if name in _HOME_OF:
        value = globals()[name] = getattr(import_module(f"wisp.jit.{_HOME_OF[name]}"), name)
        return value
    from wisp._missing import MissingName

    raise MissingName(__name__, name)


def __dir__():
    return sorted({*globals(), *_HOME_OF})

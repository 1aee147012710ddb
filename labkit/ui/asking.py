"""A cell that waits for the learner: it stops the notebook, and where somebody sits in front it shows a form."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from IPython.core.getipython import get_ipython

from labkit.errors import LabError

BY_CALL = "fill in each ... and run the cell again"


def stopped(error: type[LabError], what: str, form: Callable[[Any, str], Any]) -> LabError:
    """The error to raise where a cell says nothing yet.  `form` makes one, from the module `forms` and a line.

    Where a form can be filled in, the line stands in it and goes with it; the error stops the notebook
    all the same.  Elsewhere the error is the line.
    """
    shell = get_ipython()
    # A notebook server names the session; papermill, nbval and a bare kernel have none, and nobody to type.
    if shell is None or "JPY_SESSION_NAME" not in os.environ:
        return error(what, BY_CALL)
    try:
        from labkit.ui import forms
    except ImportError:
        return error(what, BY_CALL)  # there is no ipywidgets
    raised = error(what, f"use the form below, or {BY_CALL}")
    form(forms, f"{error.__name__}: {raised}").show()
    _hide(shell, raised)
    return raised


def _hide(shell: Any, error: LabError) -> None:
    """Let an error stop the notebook unseen: as an error its line would outlive the form, and in red."""

    def unseen(shell: Any, kind: type, value: BaseException, traceback: Any, tb_offset: Any = None) -> None:
        shell.set_custom_exc((), None)
        if value is not error:  # the cell caught ours, and this is another
            shell.showtraceback((kind, value, traceback), tb_offset=tb_offset)

    shell.set_custom_exc((type(error),), unseen)

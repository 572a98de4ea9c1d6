"""pygal without its import hook.

The hook looks for map plugins. It slows every later import, and Python warns about it because it is outdated. Nothing
else is imported here, so that no import meets the hook.
"""

import sys

import pygal
from pygal.style import CleanStyle

sys.meta_path[:] = [finder for finder in sys.meta_path if type(finder).__module__ != pygal.__name__]

__all__ = ["CleanStyle", "pygal"]

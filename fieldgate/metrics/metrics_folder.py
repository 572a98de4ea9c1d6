"""The folder in which the processes of a server share their metrics."""

import os
import tempfile

FOLDER_VARIABLE = "PROMETHEUS_MULTIPROC_DIR"  # read by prometheus-client, when it is imported


def create_metrics_folder() -> None:
    """Create a folder for this server in its temporary folder, with which it is deleted."""
    os.environ[FOLDER_VARIABLE] = tempfile.mkdtemp(prefix="metrics-")

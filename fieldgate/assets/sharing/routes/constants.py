"""Paths, limits and messages that several modules of sharing routes use."""

from fieldgate.assets.schemas import ASSETS_PATH
from fieldgate.i18n.messages import Message

TAG = "Sharing"
ASSIGNMENTS_PATH = ASSETS_PATH + "{uid}/permission-assignments/"
BATCH_PATH = "/api/v2/permission-assignments/"
MAX_LIST_BYTES = 4 * 1024 * 1024  # 4 MiB, of a JSON body with a list

OWNER_PROTECTED = Message("The owner's permissions cannot be removed.")

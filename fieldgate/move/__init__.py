"""Move in from KoboToolbox or another Fieldgate, and out into a folder.

- A source (`server_source`, `folder_source`) lists its assets, collections first, and reads them one by one as
  `SourceAsset` (`source_assets`): checked, bounded, without control characters. Addresses are built from uids; links of
  the source are never followed. `folder_writer` writes what `folder_source` reads.
- `people` finds who is meant here: by a table, by username, or by creating them with one-time links.
- `plan` is pure: what the source has, what was moved last and what is here decide what to do.
- `asset_mover` does it, one asset per transaction: asset, version, deployment and assignments by the functions that
  requests use, and a row of `moved_assets`. So the run can be killed at any point and started again. A dry run does
  the same and rolls each transaction back.
- `report` shows the result as a table and as a workbook.

Assignments are those that the source lists. What is inherited from a collection or passed on by a team is never stored
as direct. Collections are moved first and are in no other collection, so circles have no effect.
"""

-- Counts what was logged lately into the rollups.
select request_rollup_fold()

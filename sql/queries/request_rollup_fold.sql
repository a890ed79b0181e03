-- Counts new log rows into the rollups.
select request_rollup_fold()

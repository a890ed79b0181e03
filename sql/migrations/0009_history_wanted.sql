-- The blocks that somebody asked for last, so that whoever looks can tell how much of the work is done.
alter table history_coverage add column wanted int8range;

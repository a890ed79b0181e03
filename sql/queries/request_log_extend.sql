-- Makes partitions of the log ahead of time.
-- $1 weeks integer, this one included
-- made not null
select request_log_extend($1) as made

-- Makes missing rate windows from the log, on first use and after a crash of PostgreSQL.
-- $1 organizations text[]
select rate_window_prime($1)

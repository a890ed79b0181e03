-- Tells the server's time, Unix milliseconds.
-- lane read
-- not null now_ms
select floor(extract(epoch from clock_timestamp()) * 1000)::bigint as now_ms

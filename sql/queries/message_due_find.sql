-- Counts due messages up to a maximum, and reads how long the oldest has been due, in seconds.
-- lane background
-- $1 most bigint
-- not null due
select count(*)::integer as due, extract(epoch from now() - min(m.due_at))::double precision as oldest_sec
from (select due_at from message where due_at <= now() limit $1) m

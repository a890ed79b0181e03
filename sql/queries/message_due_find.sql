-- How many messages are due, counted no further than so many, and since when the first of them is, in seconds.
-- lane background
-- $1 most bigint
-- not null due
select count(*)::integer as due, extract(epoch from now() - min(m.due_at))::double precision as oldest_sec
from (select due_at from message where due_at <= now() limit $1) m

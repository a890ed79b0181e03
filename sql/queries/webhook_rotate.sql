-- Rotates a webhook's secret; the previous one stays valid for some seconds.
-- lane read
-- $1 organization_id text
-- $2 id text
-- $3 overlap_sec double precision
update webhook w set generation = w.generation + 1, overlap_until = now() + make_interval(secs => $3)
where w.organization_id = $1 and w.id = $2
returning w.id

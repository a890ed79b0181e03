-- Releases the leases of a process on subjects.
-- lane background
-- $1 chain_id bigint
-- $2 contract text, hexadecimal without prefix as all bytes here
-- $3 stream text
-- $4 subjects text[], '' for everybody
-- $5 holder text
select lease_release('history', concat_ws(':', p.id, $3::text, lower(u.subject)), $5) as released
from history_place p
cross join unnest($4::text[]) u (subject)
where p.chain_id = $1 and p.contract = decode($2, 'hex')

-- Leaves the work on some subjects to others.
-- $1 chain_id bigint
-- $2 contract text, hexadecimal without prefix as all bytes here
-- $3 stream text
-- $4 subjects text[], '' for everybody
-- $5 holder text
update history_coverage c
set lease_holder = null, lease_until = null
from history_place p
where
  p.chain_id = $1 and p.contract = decode($2, 'hex') and c.place = p.id and c.stream = $3 and c.lease_holder = $5
  and c.subject = any (array(select decode(u.subject, 'hex') from unnest($4::text[]) u (subject)))

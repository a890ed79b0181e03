-- Records up to which block a subject's rows agree with the chain's state.
-- lane background
-- $1 chain_id bigint
-- $2 contract text, hexadecimal without prefix as all bytes here
-- $3 stream text
-- $4 subject text
-- $5 checked_to bigint
insert into history_coverage as c (subject, place, stream, checked_to)
values (decode($4, 'hex'), history_place_id($1, decode($2, 'hex')), $3, $5)
on conflict (subject, place, stream) do update
set checked_to = greatest(c.checked_to, excluded.checked_to)

-- True if two endpoints agreed on a block of a subject, or of all subjects: a single endpoint cannot change it.
create or replace function history_is_agreed(p_place integer, p_stream text, p_subject bytea, p_block bigint)
returns boolean
language sql stable as $$
  select exists (
    select from history_coverage c
    where c.place = p_place and c.stream = p_stream and c.subject in (p_subject, '') and c.agreed @> p_block
  )
$$;

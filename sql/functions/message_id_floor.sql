-- Returns the lowest id of messages of this time or later: ids begin with the time of creation in milliseconds, which
-- is never before the message's own time.
create or replace function message_id_floor(p_at timestamptz) returns uuid language sql immutable as $$
  select (
    lpad(to_hex(least(greatest(floor(extract(epoch from p_at) * 1000), 0), 281474976710655)::bigint), 12, '0')
    || repeat('0', 20)
  )::uuid
$$;

-- Follows a wallet in a target from now on (a market, or a portfolio), and stores the day of its first snapshot once
-- known (null: not yet), and how many endpoints gave it. A day that more endpoints give replaces it, and deletes
-- snapshots of a market before the new day.
-- lane read
-- null p_first_day
create or replace function snapshot_series_store(
  p_chain_id bigint, p_name text, p_wallet text, p_first_day integer, p_witnesses integer
)
returns void
language plpgsql as $$
declare
  v_place integer := history_place_id(p_chain_id, decode(p_name, 'hex'));
begin
  insert into snapshot_series as s (wallet, place, first_day, witnesses)
  values (decode(p_wallet, 'hex'), v_place, p_first_day, p_witnesses)
  on conflict (wallet, place) do update set first_day = excluded.first_day, witnesses = excluded.witnesses
  where excluded.first_day is not null and (s.first_day is null or s.witnesses < excluded.witnesses);
  if p_witnesses > 1 then
    delete from lending_snapshot d
    where d.wallet = decode(p_wallet, 'hex') and d.place = v_place and d.day < p_first_day;
  end if;
end
$$;

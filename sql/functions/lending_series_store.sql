-- Follows a wallet in a market from now on, and notes the day of its first snapshot once that is known (null: not yet).
create or replace function lending_series_store(p_chain_id bigint, p_contract text, p_wallet text, p_first_day integer)
returns void
language plpgsql as $$
declare
  v_place smallint := history_place_id(p_chain_id, decode(p_contract, 'hex'));
begin
  insert into lending_series as s (wallet, place, first_day)
  values (decode(p_wallet, 'hex'), v_place, p_first_day)
  on conflict (wallet, place) do update set first_day = excluded.first_day
  where s.first_day is null and excluded.first_day is not null;
end
$$;

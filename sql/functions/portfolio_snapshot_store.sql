-- Stores wallets' portfolio snapshots at a midnight with the number of endpoints that gave them, if the block that was
-- read is still the one of that midnight; else nothing. Stored rows stay, unless fewer endpoints gave them. Returns
-- whether it was that block. A net worth that cannot be told is an empty text. Bytes are in hexadecimal without prefix.
-- lane read
create or replace function portfolio_snapshot_store(
  p_chain_id bigint, p_name text, p_day integer, p_hash text, p_wallets text[], p_net_worths text[], p_assets text[],
  p_debts text[], p_held text[], p_liquidity text[], p_supplied text[], p_unpriced integer[], p_row_counts integer[],
  p_gaps text[], p_witnesses integer
) returns boolean
language plpgsql as $$
declare
  v_place integer := history_place_id(p_chain_id, decode(p_name, 'hex'));
begin
  perform from midnight m
  where m.chain_id = p_chain_id and m.day = p_day and m.hash = decode(p_hash, 'hex') for share;
  if not found then
    return false;
  end if;
  insert into portfolio_snapshot as s (
    wallet, place, day, net_worth, assets, debt, held, liquidity, supplied, unpriced, row_count, gaps, witnesses
  )
  select
    decode(u.wallet, 'hex'), v_place, p_day, nullif(u.net_worth, '')::numeric, u.assets::numeric, u.debt::numeric,
    u.held::numeric, u.liquidity::numeric, u.supplied::numeric, u.unpriced, u.row_count, u.gaps,
    p_witnesses
  from unnest(
    p_wallets, p_net_worths, p_assets, p_debts, p_held, p_liquidity, p_supplied, p_unpriced, p_row_counts, p_gaps
  ) u (wallet, net_worth, assets, debt, held, liquidity, supplied, unpriced, row_count, gaps)
  on conflict (wallet, place, day) do update
  set net_worth = excluded.net_worth, assets = excluded.assets, debt = excluded.debt, held = excluded.held,
    liquidity = excluded.liquidity, supplied = excluded.supplied, unpriced = excluded.unpriced,
    row_count = excluded.row_count, gaps = excluded.gaps, witnesses = excluded.witnesses
  where s.witnesses < excluded.witnesses;
  return true;
end
$$;

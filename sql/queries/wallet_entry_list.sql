-- Lists entries of wallets in a target up to a block, such as markets, the oldest first, with whether all or any of them
-- are stored. `no` is the wallet of a row: its position in the request, from 1.
-- lane copy
-- $1 chain_id bigint
-- $2 contract text, hexadecimal without prefix as all bytes here
-- $3 stream text
-- $4 wallets text[]
-- $5 from_block bigint, the first block that must be complete
-- $6 to_blocks bigint[], the last one for each wallet
-- not null no, covered, begun
-- null entry
with place as (
  select p.id from history_place p where p.chain_id = $1 and p.contract = decode($2, 'hex')
),
asked as (
  select a.no, decode(a.wallet, 'hex') as wallet, a.to_block
  from unnest($4::text[], $6::bigint[]) with ordinality a (wallet, to_block, no)
)
select a.no::int, f.covered, f.begun, e.entry
from asked a
cross join lateral (
  select
    coalesce(range_agg(c.blocks) @> int8range($5, a.to_block, '[]'), false) as covered,
    count(*) filter (where not isempty(c.blocks)) > 0 as begun
  from place join history_coverage c on c.place = place.id
  where c.stream = $3 and c.subject in (a.wallet, '')
) f
left join lateral (
  select w.block, w.entry
  from place join wallet_entry w on w.place = place.id
  where w.wallet = a.wallet and w.block <= a.to_block
) e on true
order by a.no, e.block, e.entry

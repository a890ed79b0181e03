-- Forgets the history of a chain; gives how much there was of it.
-- $1 chain_id bigint
-- events not null
-- flows not null
-- prices not null
select f.events, f.flows, f.prices from history_forget($1) f

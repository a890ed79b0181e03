-- runs with: 18
-- Messages whose tries are over without success are few, and an organization looks for them.
create index message_dead on message (organization_id, no) where outcome = 'dead';

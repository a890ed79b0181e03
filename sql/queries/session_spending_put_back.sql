-- Puts back what was taken and then not charged.
-- $1 organization_id text
-- $2 session_id text
-- $3 credits bigint
update session_spending set credits = credits - $3
where organization_id = $1 and session_id = $2 and credits >= $3

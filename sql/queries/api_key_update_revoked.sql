-- Revokes a key from its next request on; a second time keeps the first moment.
-- $1 organization_id text
-- $2 id text
update api_key set revoked_at = coalesce(revoked_at, now())
where organization_id = $1 and id = $2
returning organization_id, id, name, last4, created_at, revoked_at, expires_at

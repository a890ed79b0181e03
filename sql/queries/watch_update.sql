-- Changes a trigger, and re-arms it if requested or if it had expired: its previous state is discarded. A trigger that
-- resumes, or moves to another partition, is evaluated from now on: it is not blind at once, even if the partition was
-- not evaluated for long, and earlier events do not concern it. Locks its state first, as the commit of a block does,
-- which may then pause the trigger.
-- lane read
-- $1 organization_id text
-- $2 id text
-- $3 clause jsonb | null
-- $4 sets_clear boolean
-- $5 clear numeric | null
-- $6 for_blocks smallint | null
-- $7 finality text | null
-- $8 sets_webhook boolean
-- $9 webhook_id text | null
-- $10 sets_name boolean
-- $11 name text | null
-- $12 sets_expiry boolean
-- $13 expires_at timestamptz | null
-- $14 pauses boolean | null, false lets it go on, unless its organization cannot pay
-- $15 arms boolean
with locked as (
  select s.organization_id, s.id from watch_state s where s.organization_id = $1 and s.id = $2 for no key update
),
changed as (
  update watch w
  set clause = coalesce($3, w.clause), clear = case when $4 then $5 else w.clear end,
    for_blocks = coalesce($6, w.for_blocks), finality = coalesce($7, w.finality),
    webhook_id = case when $8 then $9 else w.webhook_id end, name = case when $10 then $11 else w.name end,
    expires_at = case when $12 then $13 else w.expires_at end,
    paused_for = case
      when $14 then 'owner'
      when not $14 and w.paused_for = 'owner' then (
        select 'credits' from spending_limit l
        where l.organization_id = w.organization_id and l.scope = '' and l.period = 0 and l.most <= l.spent
      )
      else w.paused_for
    end,
    active_at = case
      when $7 <> w.finality or (not $14 and w.paused_for = 'owner') or ($12 and w.expires_at <= now()) then now()
      else w.active_at
    end
  from locked l
  where w.organization_id = l.organization_id and w.id = l.id
  returning w.organization_id, w.id, w.active_at = now() as begins
),
armed as (
  update watch_state s
  set edition = s.edition + 1, phase = 'armed', held_blocks = 0, since_block = null
  from changed c
  where ($15 or c.begins) and s.organization_id = c.organization_id and s.id = c.id
)
select c.id from changed c

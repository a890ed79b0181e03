-- Reads whether the operator switched a feature off.
-- lane read
-- $1 feature text
-- not null is_off
select exists (select from feature_disabled f where f.feature = $1) as is_off

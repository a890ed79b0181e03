-- Histories can be switched off.

alter table feature_disabled drop constraint feature_disabled_feature_check;
alter table feature_disabled add constraint feature_disabled_feature_check
  check (feature in ('snapshots', 'mcp', 'history'));

-- How many different endpoints gave what is kept for ever. What one alone gave is read again as soon as another one can
-- serve, and then agreed on or replaced; of what was kept before nobody knows.
alter table price_at add column witnesses smallint not null default 1;
alter table midnight add column witnesses smallint not null default 1;
alter table lending_snapshot add column witnesses smallint not null default 1;
-- Of the first day.
alter table lending_series add column witnesses smallint not null default 1;

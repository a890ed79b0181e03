-- Lists every signing key with retired ones, the current key first.
-- lane read
select id, public_key, private_key, created_at, retired_at
from instance_key
order by retired_at desc nulls first, created_at desc

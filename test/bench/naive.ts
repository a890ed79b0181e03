import postgres from 'postgres'
import { parseDatabaseUrl } from '../../src/db/address.ts'

/**
 * What the gate is measured against: the same promises kept by four plain statements, one after another, over a
 * pool of 16, each committed by itself, in tables of its own.
 */
const SCHEMA = `
drop schema if exists naive cascade;
create schema naive;
create table naive.organization (
  id int primary key, balance bigint not null check (balance >= 0), rate_limit int not null,
  window_start timestamptz not null default now(), used int not null default 0);
create table naive.api_key (key text primary key, organization_id int not null references naive.organization);
create table naive.request_log (
  id bigint generated always as identity primary key, organization_id int not null, path text not null,
  status int not null, credits int not null, requested_at timestamptz not null default now());
create index on naive.request_log (organization_id, requested_at desc);
`

const FIND = `select o.id from naive.api_key k join naive.organization o on o.id = k.organization_id where k.key = $1`
const TAKE = `
update naive.organization set
  used = case when window_start < now() - interval '1 second' then 1 else used + 1 end,
  window_start = case when window_start < now() - interval '1 second' then now() else window_start end
where id = $1 returning used <= rate_limit as admitted`
const DEBIT = `update naive.organization set balance = balance - 1 where id = $1 and balance >= 1 returning balance`
const LOG = `insert into naive.request_log (organization_id, path, status, credits) values ($1, $2, 200, 1)`

const { listeners, user, password, database } = parseDatabaseUrl(process.env['BENCH_DATABASE_URL'] ?? '')
const sql = postgres({ ...listeners[0], user, password, database, max: 16, onnotice: () => {} })
const keys: readonly string[] = JSON.parse(process.env['BENCH_KEYS'] ?? '[]')

await sql.unsafe(SCHEMA)
await sql`insert into naive.organization (id, balance, rate_limit)
  select n, 1000000000, 1000000000 from generate_series(1, ${keys.length}) n`
await sql`insert into naive.api_key select key, n from unnest(${[...keys]}::text[]) with ordinality as t (key, n)`

const run = async (text: string, params: (string | number)[]) => (await sql.unsafe(text, params, { prepare: true }))[0]
const refuse = (status: number) => new Response('{}', { status })

const server = Bun.serve({
  port: 0,
  hostname: '127.0.0.1',
  async fetch(request) {
    const key = request.headers.get('authorization')?.slice('Bearer '.length) ?? ''
    const organization = await run(FIND, [key])
    if (organization === undefined) return refuse(401)
    const id = organization['id']
    if ((await run(TAKE, [id]))?.['admitted'] !== true) return refuse(429)
    const debit = await run(DEBIT, [id])
    if (debit === undefined) return refuse(402)
    await run(LOG, [id, '/v1/bench/constant'])
    return new Response(JSON.stringify({ data: { ok: true }, request_id: crypto.randomUUID() }), {
      headers: { 'content-type': 'application/json; charset=utf-8', 'x-credits-remaining': debit['balance'] },
    })
  },
})
console.log(JSON.stringify({ port: server.port }))

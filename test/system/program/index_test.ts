import { afterAll, beforeAll, beforeEach, expect, test } from 'bun:test'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { TOPICS } from '../../../src/family/aave_v3/event/abi.ts'
import { MARKETS } from '../../devnet/aave_v3/addresses.ts'
import { toWalletAddress, UNISWAP_V3 } from '../../devnet/addresses.ts'
import { DEVNET_ROW } from '../../devnet/chain.ts'
import { type Devnet, startDevnet } from '../../devnet/mod.ts'
import { MORPHO } from '../../devnet/morpho_blue/calls.ts'
import { UNISWAP_V4 } from '../../devnet/uniswap_v4/addresses.ts'
import { mintEach } from '../../devnet/uniswap_v4/mint_each.ts'
import { type TestDatabase, testDatabase } from '../../support/database.ts'
import { startLogProxy } from '../../support/family/aave_v3/event/log_proxy.ts'
import { readLogs } from '../../support/family/aave_v3/event/support.ts'
import { type FaultyRpc, startFaultyRpc } from '../../support/rpc.ts'
import { waitFor } from '../../support/wait_for.ts'
import { buildWhatIsStale } from './builds.ts'
import { executableProgram, type Finished, type Program, runCommand } from './program.ts'

const DEPTH = 10
const BUILD_LIMIT_MS = 120_000
const FULL = '[########################] 100 %'
const V4_POOLS = ['plain', 'native', 'feeTaking'] as const
const EMPTY = '[------------------------]   0 %'

await buildWhatIsStale()

let devnet: Devnet
let upstream: FaultyRpc
let database: TestDatabase
let program: Program
/** Blocks that are final, and so how many a whole history has. */
let final = 0

beforeAll(async () => {
  // Not the shared one: the markets move its time and its prices.
  devnet = await startDevnet()
  await mintEach(await devnet.uniswapV4(), { names: V4_POOLS, owner: toWalletAddress('v4 index') })
  await devnet.aave()
  final = Number(await devnet.rpc.call<string>('eth_blockNumber')) - DEPTH
  upstream = await startFaultyRpc(devnet.rpcUrl)
  database = await testDatabase()
  program = executableProgram({ CHAINS: '1', CHAINS_FILE: '../chains.json', DATABASE_URL: database.url })
  const chain = { ...DEVNET_ROW, finality: { depth: DEPTH }, rpcUrls: [upstream.url] }
  writeFileSync(join(program.directory, '../chains.json'), JSON.stringify({ chains: [chain] }))
}, BUILD_LIMIT_MS)
beforeEach(async () => {
  await database.db.run(
    'truncate history_chain, history_coverage, lending_event, position_flow, liquidity_change, wallet_entry',
    [],
  )
  upstream.rule(() => undefined)
  upstream.reset()
})
afterAll(async () => {
  await upstream?.stop()
  await database?.close()
  program?.remove()
  await devnet?.stop()
}, BUILD_LIMIT_MS)

const run = (...words: string[]): Promise<Finished> => runCommand(program, ['index', ...words])
const done = (stdout: string): Finished => ({ status: 0, stdout, stderr: '' })

function asksForLogs(): boolean {
  return upstream.seen.some(({ method }) => method === 'eth_getLogs')
}

async function countRows(table: string): Promise<number> {
  const [row] = await database.db.run<{ readonly rows: number }>(`select count(*)::int as rows from ${table}`, [])
  return row?.rows ?? 0
}

/** The contracts of all histories, as the status names them. */
const POOLS = (['main', 'lido', 'etherfi'] as const).map((market) => MARKETS[market].pool.toLowerCase()).sort()
const MANAGER = UNISWAP_V3.manager.toLowerCase()
const V4_MANAGER = UNISWAP_V4.positionManager.toLowerCase()
const STREAMS = [
  ...POOLS.map((pool) => `aave_v3_lending ${pool}`),
  `morpho_blue_market ${MORPHO.toLowerCase()}`,
  `uniswap_v4_change ${V4_MANAGER}`,
  `uniswap_v4_transfer ${V4_MANAGER}`,
  `uniswap_v3_flow ${MANAGER}`,
]

test('nothing is stored at first, and the status asks no endpoint', async () => {
  expect(await run('--status')).toEqual(done('No history is stored yet\n'))
  expect(await run('--status', '--json')).toEqual(done('[]\n'))
  expect(upstream.seen).toEqual([])
}, 30_000)

test('every history is indexed ahead with progress, and the next run reads nothing again', async () => {
  const titles = [
    ...['uniswap-v3 uniswap_v3', 'uniswap-v4 transfers', 'uniswap-v4 changes'],
    ...['aave-v3 main', 'aave-v3 lido', 'aave-v3 etherfi', 'morpho-blue markets'],
  ]
  const status = STREAMS.map((stream) => `${FULL}  chain 1 ${stream}  0 blocks left, 0 subjects alone\n`)
  const first = await run()
  expect(first).toMatchObject({ status: 0, stderr: '' })
  const lines = first.stdout.split('\n')
  expect(lines.slice(0, titles.length).sort()).toEqual(titles.map((title) => `${title} on chain 1: complete`).sort())
  expect(lines.slice(titles.length).join('\n')).toBe(status.join(''))
  expect(asksForLogs()).toBe(true)
  expect(await countRows('liquidity_change')).toBeGreaterThan(V4_POOLS.length)

  expect(await run('--status')).toEqual(done(status.join('')))
  upstream.reset()
  expect(await run()).toEqual(first)
  expect(asksForLogs()).toBe(false)
}, 60_000)

test('one family alone is indexed, and --json prints only JSON', async () => {
  const { status, stdout, stderr } = await run('--family', 'uniswap-v3', '--chain', '1', '--json')
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
  expect(JSON.parse(stdout)).toEqual([
    {
      chain_id: 1,
      contract: MANAGER,
      stream: 'uniswap_v3_flow',
      percent: 100,
      blocks_left: 0,
      subjects: 0,
      final_block: final,
      stopped: false,
    },
  ])
  await database.db.run('update history_chain set stopped_at = now()', [])
  const stopped = '0 subjects alone  STOPPED: a final block was replaced; rebuild with --forget\n'
  expect(await run('--status')).toEqual(done(`${FULL}  chain 1 uniswap_v3_flow ${MANAGER}  0 blocks left, ${stopped}`))
}, 30_000)

test('--forget deletes the history of a stopped chain, keeps other chains, and the history is indexed again', async () => {
  await run('--family', 'uniswap-v3')
  const flows = await countRows('position_flow')
  expect(flows).toBeGreaterThan(0)
  await database.db.run(
    `with other as (insert into history_place (chain_id, contract) values (2, '\\x02') returning id)
     insert into position_flow (token_id, place, block, log_index, kind, liquidity, amount0, amount1, tx_hash)
     select 1, id, 1, 0, 'increase', 1, 1, 1, '\\x01' from other`,
    [],
  )
  await database.db.run("update history_chain set anchor_hash = '\\x01', previous_number = null", [])
  const refused = await run('--family', 'uniswap-v3')
  expect(refused.stderr).toContain(
    'is not part of the chain any more; if the chain is correct, rebuild it with --forget',
  )
  upstream.reset()

  expect(await run('--chain', '1', '--forget')).toEqual(
    done(`Forgot the history of chain 1: ${flows} rows, 0 prices\n`),
  )
  expect(upstream.seen).toEqual([])
  expect([await countRows('position_flow'), await countRows('history_coverage')]).toEqual([1, 0])
  expect(await database.db.run('select anchor_number, stopped_at, epoch from history_chain', [])).toEqual([
    { anchor_number: null, stopped_at: null, epoch: '1' },
  ])
  expect((await run('--family', 'uniswap-v3')).status).toBe(0)
  expect(await countRows('position_flow')).toBe(flows + 1)
  expect(await run('--chain', '1', '--forget', '--json')).toEqual(
    done(`${JSON.stringify({ chain_id: 1, rows: flows, prices: 0 }, null, 2)}\n`),
  )
}, 90_000)

test('a stopped run reports the stop, status 1, and the next run continues from there', async () => {
  upstream.rule(({ method }) => (method === 'eth_getLogs' ? { kind: 'hang' } : undefined))
  const child = Bun.spawn([...program.command, 'index', '--family', 'uniswap-v3'], {
    cwd: program.directory,
    env: { ...program.env },
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'pipe',
  })
  await waitFor('a request for logs', asksForLogs, 20_000)
  child.kill('SIGINT')
  expect([await child.exited, await new Response(child.stderr).text()]).toEqual([
    1,
    'walletscope: Stopped; the next run continues from here\n',
  ])
  const status = await run('--status')
  expect(status.stdout).toMatch(/ {2}chain 1 uniswap_v3_flow 0x[0-9a-f]{40} {2}\d+ blocks left, 0 subjects alone\n$/)
  expect(status.stdout).toStartWith(EMPTY)
  upstream.rule(() => undefined)
  expect((await run('--family', 'uniswap-v3')).status).toBe(0)
}, 60_000)

test('a check that fails although two endpoints agree ends the run at once, with its name as our fault', async () => {
  const aave = await devnet.aave()
  const supply = { market: 'main', wallet: aave.wallets.supplier, asset: 'usdc', amount: 10n ** 9n } as const
  for (let times = 0; times < 3; times++) {
    await aave.supply(supply)
    await aave.warp(10_000)
  }
  await devnet.rpc.call('anvil_mine', `0x${DEPTH.toString(16)}`)
  const updates = await readLogs(devnet, [{ addresses: [MARKETS.main.pool], topics: [[TOPICS.update]] }])
  const [before, lost, after] = updates.slice(-3)
  // Neither endpoint returns the log, so they agree.
  const proxies = [startLogProxy(devnet.rpcUrl), startLogProxy(devnet.rpcUrl)]
  for (const proxy of proxies) {
    proxy.drop(({ blockNumber, logIndex }) => blockNumber === lost?.blockNumber && logIndex === lost.logIndex)
  }
  const other = executableProgram({ CHAINS: '1', CHAINS_FILE: '../chains.json', DATABASE_URL: database.url })
  const chain = { ...DEVNET_ROW, finality: { depth: DEPTH }, rpcUrls: proxies.map(({ url }) => url) }
  writeFileSync(join(other.directory, '../chains.json'), JSON.stringify({ chains: [chain] }))
  try {
    const { status, stderr } = await runCommand(other, ['index', '--family', 'aave-v3'])
    expect(status).toBe(1)
    const place = `blocks ${before?.blockNumber} to ${after?.blockNumber}`
    const [logged = '', ...said] = stderr.trimEnd().split('\n')
    expect(JSON.parse(logged)).toMatchObject({
      level: 'error',
      msg: 'A history check failed twice with agreeing endpoints: they are wrong alike, or this is a bug',
      chainId: 1,
      stream: 'aave_v3_lending',
      check: 'index',
      fromBlock: before?.blockNumber,
    })
    expect(said).toEqual([
      'walletscope: Cannot continue indexing aave-v3 main on chain 1: The history of chain 1 (Ethereum) cannot be completed. ' +
        `The check "index" fails in ${place} although different endpoints gave the same logs: they may be wrong alike, so add another to RPC_URL_1; if that does not help, it is a bug to report`,
    ])
  } finally {
    other.remove()
    for (const proxy of proxies) await proxy.stop()
  }
}, 60_000)

test.each([
  { words: ['--chain', '5'], says: 'Cannot find a history to index: expected a served chain and its protocol' },
  { words: ['--family', 'kamino'], says: 'Cannot find a history to index: expected a served chain and its protocol' },
  { words: ['--chain', 'one'], says: '--chain' },
  { words: ['--loud'], says: '--loud' },
  { words: ['--forget'], says: 'expected --forget with --chain and nothing else' },
  { words: ['--forget', '--chain', '1', '--status'], says: 'expected --forget with --chain and nothing else' },
  { words: ['--forget', '--chain', '1', '--family', 'aave-v3'], says: 'expected --forget with --chain' },
])(
  'wrong usage is reported in one line, status 2: $words',
  async ({ words, says }) => {
    const { status, stdout, stderr } = await run(...words)
    expect({ status, stdout }).toEqual({ status: 2, stdout: '' })
    expect(stderr).toMatch(/^walletscope: .+\n$/)
    expect(stderr).toContain(says)
    expect(asksForLogs()).toBe(false)
  },
  30_000,
)

test('HISTORY_REQUESTS_PER_SECOND bounds the requests that the endpoint gets', async () => {
  const limited = { ...program, env: { ...program.env, HISTORY_REQUESTS_PER_SECOND: '1' } }
  const startedMs = performance.now()
  expect(await runCommand(limited, ['index'])).toMatchObject({ status: 0, stderr: '' })
  const elapsedMs = performance.now() - startedMs
  const asked = upstream.seen.filter(({ method }) => method === 'eth_getLogs').length
  // One may start at once; a busy machine only takes longer. Without the limit all of them take about a second.
  expect(asked).toBeGreaterThan(5)
  expect(elapsedMs).toBeGreaterThan((asked - 1) * 1_000)
}, 120_000)

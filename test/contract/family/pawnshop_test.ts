import { afterAll, beforeAll, expect, test } from 'bun:test'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { Glob } from 'bun'
import { type Address, decodeEventLog, encodeFunctionData, type Hex, numberToHex, parseAbi } from 'viem'
import { indexCommand } from '../../../src/command/history.ts'
import { createOutput } from '../../../src/command/print.ts'
import { type Config, readConfig } from '../../../src/config/config.ts'
import { checkBackup } from '../../../src/db/backup/read.ts'
import { FAMILIES } from '../../../src/family/mod.ts'
import { deployAll } from '../../devnet/aave_v3/deploy.ts'
import { type DevnetToken, TOKENS, toWalletAddress } from '../../devnet/addresses.ts'
import { ownCreationCode } from '../../devnet/artifacts.ts'
import { DEVNET_ROW } from '../../devnet/chain.ts'
import { type Devnet, startDevnet } from '../../devnet/mod.ts'
import { type Account, createAccount, readBooks } from '../../support/account/scene.ts'
import { type TestDatabase, temporaryDirectory, testDatabase } from '../../support/database.ts'
import { callTool, connectMcp } from '../../support/mcp.ts'
import { type FaultyRpc, startFaultyRpc } from '../../support/rpc.ts'
import type { RpcLog } from '../../support/rpc_log.ts'
import { serveCommand } from '../../support/serve_command.ts'
import { waitFor } from '../../support/wait_for.ts'
import { createBackup, streamBytes } from '../db/backup/scene.ts'
import { PAWNSHOP } from './pawnshop/mod.ts'

const ROOT = join(import.meta.dir, '../../..')
const LIMIT_MS = 120_000
const DEPTH = 10
const [ALICE, BOB] = [toWalletAddress('alice'), toWalletAddress('bob')]
const COUNTERS = [1, 2].map((number) => numberToHex(number, { size: 32 })) as [Hex, Hex]
const { usdc, weth } = TOKENS
const ABI = parseAbi([
  'function lend(bytes32 counter, address asset, uint256 amount, uint256 cents)',
  'function redeem(bytes32 counter, address asset, uint256 amount)',
  'event Lent(address indexed wallet, bytes32 indexed counter, address asset, uint256 amount)',
  'event Redeemed(address indexed wallet, bytes32 indexed counter, address asset, uint256 amount)',
  'event Appraised(address indexed wallet, bytes32 indexed counter, uint256 cents)',
])

let devnet: Devnet
let endpoint: FaultyRpc
let database: TestDatabase
let account: Account
let config: Config
let shop: Address
let url = ''
let served: ReturnType<typeof serveCommand.run> | undefined
const stop = new AbortController()
const printed: string[] = []

const io = {
  out: (text: string) => void printed.push(text),
  err: () => {},
  stdout: () => createOutput(process.stdout, 1),
  stdin: () => Readable.from([]),
  config: () => config,
  environment: {},
  stop: stop.signal,
}

beforeAll(async () => {
  devnet = await startDevnet()
  ;[shop] = (await deployAll(devnet.send, [ownCreationCode('Pawnshop')])) as [Address]
  endpoint = await startFaultyRpc(devnet.rpcUrl)
  await lend(ALICE, { counter: COUNTERS[0], asset: usdc.address, amount: 250_000_000n, cents: 40_005n })
  await lend(BOB, { counter: COUNTERS[0], asset: usdc.address, amount: 1_000_000n, cents: 200n })
  await lend(ALICE, { counter: COUNTERS[1], asset: weth.address, amount: 5n * 10n ** 17n, cents: 210_000n })
  await redeem(ALICE, { counter: COUNTERS[0], asset: usdc.address, amount: 100_000_000n })
  await mine(DEPTH)
  await redeem(ALICE, { counter: COUNTERS[1], asset: weth.address, amount: 2n * 10n ** 17n })

  database = await testDatabase()
  const migration = readFileSync(join(import.meta.dir, 'pawnshop/migration.sql'), 'utf8')
  await database.db.run(`do $migration$ begin ${migration} end $migration$`, [])
  account = await createAccount(database.db, { credits: 10_000 })
  const row = { ...DEVNET_ROW, reuseMs: 0, finality: { depth: DEPTH }, rpcUrls: [endpoint.url], pawnshop: { shop } }
  config = readConfig(
    { PORT: '0', DATABASE_URL: database.url, DATA_DIR: temporaryDirectory(), CHAINS: '1', CHAINS_FILE: 'chains.json' },
    () => JSON.stringify({ chains: [row] }),
    [...FAMILIES, PAWNSHOP],
  )
  served = serveCommand.run({ positionals: [], options: {}, flags: new Set(), json: false }, io)
  await waitFor('a service', () => printed.some((line) => line.startsWith('walletscope listens on ')), LIMIT_MS)
  url =
    printed
      .find((line) => line.startsWith('walletscope listens on '))
      ?.split(' ')
      .at(-1) ?? ''
}, LIMIT_MS)
afterAll(async () => {
  stop.abort()
  await served
  await endpoint?.stop()
  await database?.close()
  await devnet?.stop()
}, LIMIT_MS)

interface Act {
  readonly counter: Hex
  readonly asset: Address
  readonly amount: bigint
}

async function lend(from: Address, { counter, asset, amount, cents }: Act & { readonly cents: bigint }): Promise<void> {
  const args = [counter, asset, amount, cents] as const
  await devnet.send([{ from, to: shop, data: encodeFunctionData({ abi: ABI, functionName: 'lend', args }) }])
}

async function redeem(from: Address, { counter, asset, amount }: Act): Promise<void> {
  const args = [counter, asset, amount] as const
  await devnet.send([{ from, to: shop, data: encodeFunctionData({ abi: ABI, functionName: 'redeem', args }) }])
}

const mine = (blocks: number): Promise<unknown> => devnet.rpc.call('anvil_mine', numberToHex(blocks))

/** A success; while the history is read in the background, asks again as `Retry-After` says. */
async function get(path: string): Promise<{ readonly body: Body; readonly headers: Headers }> {
  for (;;) {
    const response = await fetch(`${url}${path}`, { headers: { authorization: `Bearer ${account.key}` } })
    const body = (await response.json()) as Body
    if (response.status === 200) return { body, headers: response.headers }
    if (response.status !== 503) throw new Error(`${path}: ${response.status} ${JSON.stringify(body)}`)
    await Bun.sleep(1_000 * Number(response.headers.get('retry-after') ?? 1))
  }
}

interface Body {
  readonly data: readonly Record<string, unknown>[]
  readonly pagination?: { readonly total: number; readonly next_page: string | null }
}

const EVENTS = `/v1/lending/pawnshop/position/1/events?wallet=${ALICE}`
const APPRAISALS = `/v1/lending/pawnshop/position/1/appraisals?wallet=${ALICE}`

/** What a shop logged about a wallet, by viem and the node alone, oldest first. */
async function readTruth(wallet: Address) {
  const logs = await devnet.rpc.call<RpcLog[]>('eth_getLogs', { address: shop, fromBlock: '0x0', toBlock: 'latest' })
  return logs.flatMap(({ blockNumber, logIndex, transactionHash, data, topics }) => {
    const event = decodeEventLog({ abi: ABI, data, topics: topics as [Hex, ...Hex[]] })
    if (event.args.wallet !== wallet) return []
    return { ...event, blockNumber: Number(blockNumber), logIndex: Number(logIndex), transactionHash }
  })
}

const PRICED = new Map<Address, DevnetToken>([usdc, weth].map((token) => [token.address, token]))

/** Events as the route must answer them. */
async function readEvents(wallet: Address, counter?: Hex) {
  const events = (await readTruth(wallet)).flatMap(({ eventName, args, ...at }) => {
    if (eventName === 'Appraised' || (counter !== undefined && args.counter !== counter)) return []
    const { usd, address, symbol, name, decimals } = PRICED.get(args.asset) ?? { ...usdc, usd: 0 }
    const amount = Number(args.amount) / 10 ** decimals
    return {
      type: eventName === 'Lent' ? 'borrow' : 'repay',
      ...at,
      asset: { address, symbol, name, decimals, logoURI: null },
      amount: String(amount),
      amountUSD: (amount * usd).toFixed(6),
      priceUSD: usd.toFixed(6),
      counterparty: wallet,
    }
  })
  return events.reverse()
}

const untimed = ({ body }: { readonly body: Body }) => body.data.map(({ timestamp: _, ...event }) => event)

async function readAppraisals(wallet: Address) {
  return (await readTruth(wallet)).flatMap(({ eventName, args, blockNumber, transactionHash }) => {
    if (eventName !== 'Appraised') return []
    return { counter: args.counter, blockNumber, transactionHash, usd: (Number(args.cents) / 100).toFixed(2) }
  })
}

/** Blocks of the rows that are stored. */
async function readStoredBlocks(table: 'lending_event' | 'pawn_appraisal'): Promise<number[]> {
  const rows = await database.db.run<{ block: string }>(`select block from ${table} order by block`, [])
  return rows.map(({ block }) => Number(block))
}

async function height(): Promise<number> {
  return Number(await devnet.rpc.call<Hex>('eth_blockNumber'))
}

async function index(...flags: string[]): Promise<string> {
  const before = printed.length
  const options = { family: 'pawnshop', chain: '1', ...(flags.includes('forget') && { family: undefined }) }
  await indexCommand.run({ positionals: [], options, flags: new Set(flags), json: false }, io)
  return printed.slice(before).join('\n')
}

test(
  'its events are answered over HTTP as its contract logged them, charged and logged',
  async () => {
    const { body, headers } = await get(EVENTS)
    expect(untimed({ body })).toEqual(await readEvents(ALICE))
    expect(body.data).toHaveLength(4)
    expect(body.pagination?.total).toBe(4)
    expect(headers.get('x-as-of')).toContain(String(await height()))
    const one = await get(`${EVENTS}&counter=${COUNTERS[1]}&limit=1`)
    expect(untimed(one)).toEqual((await readEvents(ALICE, COUNTERS[1])).slice(0, 1))
    expect(one.body.pagination).toMatchObject({ total: 2, next_page: expect.stringContaining('page=2') })
    const second = await get(`${EVENTS}&counter=${COUNTERS[1]}&limit=1&page=2`)
    expect(untimed(second)).toEqual((await readEvents(ALICE, COUNTERS[1])).slice(1))
    expect(untimed(await get(`${EVENTS}&type=repay`))).toHaveLength(2)
    expect((await get(APPRAISALS)).body.data).toEqual(await readAppraisals(ALICE))

    const books = await readBooks(database.db, account.organizationId)
    expect(books.charged).toBe(4 * 3 + 1)
    const log = await get('/v1/usage/logs?range=1h&path=/v1/lending/pawnshop/position/{chain_id}/events')
    expect(log.body.data.filter(({ credits_charged }) => credits_charged === 3)).toHaveLength(4)
  },
  LIMIT_MS,
)

test(
  'only what is final is stored, in the table of all lending families and in its own, and read once',
  async () => {
    const final = (await height()) - DEPTH
    const blocks = (await readTruth(ALICE)).filter(({ blockNumber }) => blockNumber <= final)
    const of = (...names: readonly string[]) =>
      blocks.filter(({ eventName }) => names.includes(eventName)).map(({ blockNumber }) => blockNumber)
    expect(await readStoredBlocks('lending_event')).toEqual(of('Lent', 'Redeemed'))
    expect(await readStoredBlocks('pawn_appraisal')).toEqual(of('Appraised'))
    expect(of('Lent', 'Redeemed')).toHaveLength(3)
    // The end of a block that was asked about is remembered.
    await mine(1)
    endpoint.reset()
    expect(untimed(await get(EVENTS))).toEqual(await readEvents(ALICE))
    const asked = endpoint.seen.filter(({ method }) => method === 'eth_getLogs')
    expect(asked.length).toBeGreaterThan(0)
    expect(asked.filter(({ params: [filter] }) => Number((filter as { fromBlock: Hex }).fromBlock) <= final)).toEqual(
      [],
    )
  },
  LIMIT_MS,
)

test(
  'all that is made from the list of families has it',
  async () => {
    const document = (await (await fetch(`${url}/openapi.json`)).json()) as { paths: Record<string, unknown> }
    expect(Object.keys(document.paths).filter((path) => path.includes('pawnshop'))).toHaveLength(2)
    expect(untimed(await get(EVENTS.replace('pawnshop', 'lending_p')))).toEqual(await readEvents(ALICE))
    const client = await connectMcp({ url: `${url}/mcp`, headers: { authorization: `Bearer ${account.key}` } })
    const { data } = await callTool(client, 'list_pawnshop_events', {
      chain_id: 1,
      wallet: ALICE,
      counter: COUNTERS[1],
    })
    expect(data.data).toHaveLength(2)
    await client.close()
  },
  LIMIT_MS,
)

test(
  'its history goes back with the chain’s, to the last block that still is one, and is read anew',
  async () => {
    await mine(DEPTH)
    await get(EVENTS)
    const first = (await height()) - DEPTH
    const before = await devnet.rpc.call<Hex>('evm_snapshot')
    await lend(ALICE, { counter: COUNTERS[0], asset: usdc.address, amount: 7_000_000n, cents: 900n })
    await mine(2 * DEPTH)
    await Promise.all([get(EVENTS), get(APPRAISALS)])
    const stored = [await readStoredBlocks('lending_event'), await readStoredBlocks('pawn_appraisal')].flat()
    expect(stored.filter((block) => block > first)).toHaveLength(2)

    await devnet.rpc.call('evm_revert', before)
    await mine(DEPTH)
    await lend(ALICE, { counter: COUNTERS[1], asset: usdc.address, amount: 9_000_000n, cents: 1_100n })
    await mine(3 * DEPTH)
    const events = await get(EVENTS)
    expect(untimed(events)).toEqual(await readEvents(ALICE))
    expect(events.body.data[0]).toMatchObject({ type: 'borrow', amount: '9' })
    expect((await get(APPRAISALS)).body.data).toEqual(await readAppraisals(ALICE))
    const [row] = await database.db.run<{ epoch: string }>('select epoch from history_chain where chain_id = 1', [])
    expect(Number(row?.epoch)).toBe(1)
  },
  LIMIT_MS,
)

test(
  'it is read ahead, backed up and forgotten by the commands for all families',
  async () => {
    expect(await index()).toContain('pawnshop loans on chain 1: complete')
    const rows = {
      lending_event: await readStoredBlocks('lending_event'),
      pawn_appraisal: await readStoredBlocks('pawn_appraisal'),
    }
    // Bob's rows are stored too, although no request named him.
    expect(rows.lending_event).toHaveLength(6)
    expect(rows.pawn_appraisal).toHaveLength(4)
    const { end } = await checkBackup(streamBytes(await createBackup(database.url)))
    expect(end.rows).toMatchObject({ lending_event: 6, pawn_appraisal: 4 })
    expect(await index('forget')).toStartWith('Forgot the history of chain 1: 10 rows')
    expect([await readStoredBlocks('lending_event'), await readStoredBlocks('pawn_appraisal')]).toEqual([[], []])
    expect(untimed(await get(EVENTS))).toEqual(await readEvents(ALICE))
  },
  LIMIT_MS,
)

test('a family with a past is a folder, a migration and one line: nothing else knows of it', () => {
  const texts = [...new Glob('{src,sql}/**/*').scanSync(ROOT)].filter((path) =>
    /pawnshop|pawn_/i.test(readFileSync(join(ROOT, path), 'utf8')),
  )
  expect(texts).toEqual([])
  expect(readdirSync(join(import.meta.dir, 'pawnshop')).sort()).toEqual([
    ...['event', 'math', 'migration.sql', 'mod.ts', 'present', 'read', 'routes', 'table'],
  ])
})

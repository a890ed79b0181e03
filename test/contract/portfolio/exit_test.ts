import { afterAll, beforeAll, expect, test } from 'bun:test'
import * as v from 'valibot'
import { type Address, formatUnits, type Hex, toFunctionSelector, toHex, zeroAddress } from 'viem'
import { executeUnits } from '../../../src/chain/call/exit/execute.ts'
import { LENS_RUNTIME } from '../../../src/chain/call/exit/lens_artifact.ts'
import type { ExitUnit } from '../../../src/chain/call/exit/step.ts'
import { createChainClient } from '../../../src/chain/evm/evm_client.ts'
import type { Holdings } from '../../../src/family/holding.ts'
import type { FinanceClient } from '../../../src/finance/chain.ts'
import { createWork } from '../../../src/lib/async/work.ts'
import { silentLog } from '../../../src/lib/log.ts'
import { toUnitKey } from '../../../src/portfolio/exit/attribute.ts'
import { exitOutput } from '../../../src/portfolio/exit/schema.ts'
import { ASSETS } from '../../devnet/aave_v3/addresses.ts'
import { transferCall } from '../../devnet/aave_v3/calls.ts'
import { BANK, TOKENS } from '../../devnet/addresses.ts'
import { createRandom, type Random } from '../../devnet/random.ts'
import type { Transaction } from '../../devnet/transaction.ts'
import { sellCalls } from '../../devnet/uniswap_v3_calls.ts'
import { caseCount } from '../../support/cases.ts'
import { startFaultyRpc } from '../../support/rpc.ts'
import { createPatientClock } from '../../support/test_clock.ts'
import { breaksRule, createRule, drawOrder, listBlocks, mergeUnits, sumOutcome } from './exit_order.ts'
import { type ExitWorld, PANCAKESWAP_ID, raw, startExitWorld, type Wire, type WireRow } from './exit_world.ts'
import { readInNextBlock } from './next_block.ts'
import { allRows, countedClient, e6 } from './support.ts'

const SEED = 20_261_130
const WALLETS = caseCount(400, 12)
/** Those whose own money is counted. */
const DEBTORS = caseCount(400, 4)
/** Those that also sell what arrives. */
const SELLERS = 400
/** Random drains of reserves. */
const DRAINS = caseCount(200, 8)
/** Random orders of the steps of random wallets. */
const ORDERS = caseCount(500, 24)
const DRAINED = ['dai', 'usdt', 'usdc', 'wbtc'] as const

let world: ExitWorld

beforeAll(async () => {
  world = await startExitWorld({ seed: SEED, count: WALLETS })
}, 300_000)

afterAll(() => world?.close(), 60_000)

/** The part of a row that `/v1/portfolio/assets` has too. */
function toBook(row: {
  readonly kind: string
  readonly token: object
  readonly position: Readonly<Record<string, string>> | null
  readonly book: WireRow['book']
}) {
  const { kind, token, position, book } = row
  return { kind, token, position, book }
}

function toRowKey({
  kind,
  token,
  position,
}: {
  readonly kind: string
  readonly token: { readonly id: string }
  readonly position: Readonly<Record<string, string>> | null
}): string {
  return JSON.stringify([kind, token.id, position])
}

/** The figures are sums of the rows, and what is left out of them is told. */
function expectSums({ rows, arrives_usd, book_usd, blocked_usd, walked_away_usd, complete }: Wire): void {
  const sum = (list: readonly (string | null)[]) => list.reduce((all, text) => all + e6(text ?? '0.000000'), 0n)
  const error = sum(rows.map(({ arrives }) => arrives?.usd ?? null)) - e6(arrives_usd ?? '')
  // Each row is rounded for itself.
  expect(error >= -BigInt(rows.length) && error <= BigInt(rows.length)).toBeTrue()
  expect(e6(blocked_usd ?? '')).toBe(e6(book_usd ?? '') - e6(arrives_usd ?? '') + e6(walked_away_usd))
  for (const { book, arrives, blocked_by, detail, kind } of rows) {
    const isWhole = raw(arrives) >= raw(book)
    expect({ isWhole, detail: detail !== null, kind }).toEqual({ isWhole: blocked_by === null, detail: !isWhole, kind })
  }
  expect(complete).toBeTrue()
}

test('what arrives is what really doing it brings, and what is lent is what really repaying takes, to the wei', async () => {
  const { aave, bring, createExits, devnet, listTransactions, named, wallets } = world
  const portfolio = createExits()
  const { found: answers, timeSec } = await readInNextBlock(devnet, async () => {
    const told = new Map<Address, Wire>()
    for (const wallet of [...wallets, ...named]) {
      const query = `wallet=${wallet}&chain_id=1`
      const { reply } = await portfolio.exit(query)
      const answer = v.parse(exitOutput, { data: reply.data }).data
      told.set(wallet, answer)
      const rows = (await allRows(portfolio, query)).map(({ amount, value_usd: usd, ...row }) =>
        toBook({ ...row, book: { ...amount, usd } }),
      )
      // Pages are of positions, whose parts are told apart on them.
      const [book, listed] = [answer.rows.map(toBook), rows].map((list) =>
        list.map((row) => JSON.stringify(row)).sort(),
      )
      expect({ wallet, book }).toEqual({ wallet, book: listed })
      const { net_worth_usd } = (await portfolio.balance(query)).reply.data as { readonly net_worth_usd: string }
      expect({ wallet, book: answer.book_usd }).toEqual({ wallet, book: net_worth_usd })
      expectSums(answer)
    }
    return told
  })
  const counts: Record<string, number> = {}
  for (const [wallet, answer] of answers) {
    const { rows, outside } = answer
    const tokens = [...new Set(rows.map(({ token }) => token.id as Address))]
    const grown = await bring(await listTransactions(wallet, rows), tokens, wallet, timeSec)
    const sum = (kinds: readonly string[]) =>
      tokens.map((id) =>
        rows.reduce((total, row) => {
          const isOwn = row.token.id === id && kinds.includes(row.kind)
          return isOwn ? total + raw(row.arrives) : total
        }, 0n),
      )
    const told = { wallet, answer: JSON.stringify(rows.filter(({ blocked_by }) => blocked_by !== null)) }
    expect({ ...told, arrives: sum(['liquidity', 'supplied']) }).toEqual({ ...told, arrives: grown[0] ?? [] })
    expect({ ...told, repaid: sum(['borrowed']).map((each) => -each) }).toEqual({ ...told, repaid: grown[1] ?? [] })
    const lent = tokens.map((id) =>
      outside.reduce((all, each) => all + (each.token.id === id ? raw(each.amount) : 0n), 0n),
    )
    expect({ ...told, lent }).toEqual({ ...told, lent: sum(['borrowed']) })
    for (const { from } of outside) {
      const key = from === null ? 'made up' : 'lent'
      counts[key] = (counts[key] ?? 0) + 1
    }
    for (const { blocked_by, position } of rows) {
      const key = `${position?.['family'] ?? 'wallet'} ${blocked_by ?? 'arrives'}`
      counts[key] = (counts[key] ?? 0) + 1
      if (position?.['part'] === 'rewards') counts['rewards'] = (counts['rewards'] ?? 0) + 1
    }
  }
  console.log(`${answers.size} wallets`, counts)
  const insolvent = answers.get(aave.wallets.insolvent)
  const account = insolvent?.rows.filter(({ position }) => position !== null) ?? []
  const net = account.reduce((sum, { book }) => sum + e6(book.usd ?? '0.000000'), 0n)
  expect(net).toBeLessThan(-900n * 10n ** 6n)
  // It is summed exactly and rounded once; each of these values is rounded by itself.
  const difference = e6(insolvent?.walked_away_usd ?? '') + net
  expect(2n * (difference < 0n ? -difference : difference)).toBeLessThanOrEqual(BigInt(account.length + 1))
  expect(account.map(({ arrives, blocked_by }) => ({ arrives, blocked_by }))).toEqual(
    account.map(() => ({ arrives: null, blocked_by: 'insolvent' })),
  )
  expect(insolvent).toMatchObject({ blocked_usd: '0.000000', outside: [] })
  for (const money of ['lent', 'made up']) expect(counts[money]).toBeGreaterThan(2)
  expect(counts['aave-v3 paused']).toBeGreaterThan(0)
  for (const family of ['aave-v3', 'morpho-blue']) expect(counts[`${family} no_liquidity`]).toBeGreaterThan(0)
  for (const family of ['uniswap-v3', 'uniswap-v4', 'slipstream'])
    expect(counts[`${family} arrives`]).toBeGreaterThan(9)
  expect(counts['rewards']).toBeGreaterThan(1)
  expect(counts['uniswap-v4 hook_forbids']).toBeGreaterThan(0)
}, 1_800_000)

test('own money brings what the wallet’s own transactions do, and all with exactly what is lacking, but not with a unit less', async () => {
  const { bring, createExits, devnet, listOwnTransactions, named, wallets } = world
  const portfolio = createExits()
  const { found: answers, timeSec } = await readInNextBlock(devnet, async () => {
    const told = new Map<Address, { readonly answer: Wire; readonly free: ReadonlyMap<string, bigint> }>()
    for (const wallet of [...wallets.slice(0, DEBTORS), ...named]) {
      const query = `wallet=${wallet}&chain_id=1`
      const answer = v.parse(exitOutput, { data: (await portfolio.exit(query)).reply.data }).data
      if (answer.outside.length > 0) expect({ wallet, ...answer.own_money }).not.toEqual({ wallet })
      if (answer.own_money === null) continue
      const book = await allRows(portfolio, query)
      const free = book.map((row) => [toRowKey(row), row.limited_by === null ? 0n : raw(row.withdrawable)] as const)
      told.set(wallet, { answer, free: new Map(free) })
    }
    return told
  })
  const snapshot = await devnet.rpc.call<Hex>('evm_snapshot')
  const counts = { whole: 0, lacking: 0, unknown: 0, fewer: 0 }
  for (const [wallet, { answer, free }] of answers) {
    const { rows, own_money: own } = answer
    const tokens = [...new Set(rows.map(({ token }) => token.id as Address))]
    const transactions = await listOwnTransactions(wallet, rows, (row) => free.get(toRowKey(row)) ?? 0n)
    const bringWith = async (amounts: ReadonlyMap<Address, bigint>) => {
      const gifts = [...amounts].map(([token, amount]) => transferCall({ token, from: BANK, to: wallet, amount }))
      return (await bring([...gifts, ...transactions], tokens, wallet, timeSec))[0] ?? []
    }
    const sum = (getAmount: (row: WireRow) => bigint) =>
      tokens.map((id) =>
        rows.reduce((all, row) => {
          if (row.token.id !== id || row.position === null) return all
          return row.kind === 'borrowed' ? all - getAmount(row) : all + getAmount(row)
        }, 0n),
      )
    // Aave rounds each withdrawal: of a supply that leaves in up to three parts, two units may come or go.
    const inParts = tokens.map(
      (id) => 2n * BigInt(rows.filter((row) => row.token.id === id && (free.get(toRowKey(row)) ?? 0n) > 0n).length),
    )
    /** By how much more than rounding explains the wallet gets another amount than what is told, by token. */
    const listDifferences = async (amounts: ReadonlyMap<Address, bigint>, getTold: (row: WireRow) => bigint) => {
      const brought = await bringWith(amounts)
      return sum(getTold).map((amount, index) => {
        const difference = (brought[index] ?? 0n) - amount - (amounts.get(tokens[index] ?? '0x') ?? 0n)
        const most = inParts[index] ?? 0n
        return difference >= -most && difference <= most ? 0n : difference
      })
    }
    const none = tokens.map(() => 0n)
    const told = { wallet, own: JSON.stringify(own), rows: JSON.stringify(rows.filter(({ position }) => position)) }
    const alone = await listDifferences(new Map(), (row) => raw(row.arrives_by_own_money ?? null))
    expect({ ...told, alone }).toEqual({ ...told, alone: none })
    if (own?.lacking == null) {
      counts.unknown++
      console.log('not found', told)
    } else if (own.lacking.length === 0) counts.whole++
    else {
      counts.lacking++
      const lacking = new Map(own.lacking.map(({ token, amount }) => [token.id as Address, raw(amount)]))
      const whole = await listDifferences(lacking, (row) => raw(row.arrives))
      expect({ ...told, whole }).toEqual({ ...told, whole: none })
      for (const [token, amount] of lacking) {
        const fewer = new Map([...lacking, [token, amount - 1n]])
        const differences = await listDifferences(fewer, (row) => raw(row.arrives))
        expect({ ...told, token, differences }).not.toEqual({ ...told, token, differences: none })
        counts.fewer++
      }
    }
  }
  const [found] = [...answers].flatMap(([wallet, { answer }]) => {
    const [first, ...others] = answer.own_money?.lacking ?? []
    return first && others.length === 0 ? [{ wallet, ...first }] : []
  })
  if (found === undefined) throw new Error('Expected a wallet that lacks one token')
  const { wallet, token, amount } = found
  await devnet.rpc.call('evm_setNextBlockTimestamp', toHex(timeSec))
  await devnet.send([transferCall({ token: token.id as Address, from: BANK, to: wallet, amount: raw(amount) - 1n })])
  const { reply } = await createExits().exit(`wallet=${wallet}&chain_id=1`)
  const unit = formatUnits(1n, token.decimals ?? 0)
  expect(v.parse(exitOutput, { data: reply.data }).data.own_money).toMatchObject({
    lacking: [{ token, amount: { raw: '1', amount: unit } }],
    detail: `Bring ${unit} ${token.symbol}`,
  })
  await devnet.rpc.call('evm_revert', snapshot)
  console.log(`${answers.size} debtors`, counts)
  expect(counts.whole).toBeGreaterThan(0)
  expect(counts.lacking).toBeGreaterThan(2)
  // What a few tries do not settle is told so; it is rare.
  expect(counts.unknown).toBeLessThanOrEqual(answers.size / 50)
}, 1_800_000)

const UNFUNDED = 'No contract was found that lends'

/** What of a row does not depend on whether all fits in one call, as own money does. */
function toFunded({ arrives_by_own_money: _, ...row }: WireRow): Omit<WireRow, 'arrives_by_own_money'> {
  return row
}

/** A client of an endpoint that grants 10 million gas. */
function createLimitedClient(): FinanceClient {
  const limit = (url: string, init: RequestInit): Promise<Response> => {
    const request = JSON.parse(String(init.body)) as { readonly method: string; readonly params: readonly object[] }
    const [call, ...others] = request.params
    const params = request.method === 'eth_call' ? [{ ...call, gas: toHex(10_000_000) }, ...others] : request.params
    const headers = { 'content-type': 'application/json' }
    return fetch(url, { method: 'POST', headers, body: JSON.stringify({ ...request, params }) })
  }
  const { chain } = world.lister.client
  return createChainClient({ chain, clock: createPatientClock(), log: silentLog, fetch: limit })
}

test('simulated calls of the wallet bring the same as the executed exit, and so do protocols asked for themselves', async () => {
  const { createExits, devnet, lister, named, wallets } = world
  const rpc = await startFaultyRpc(devnet.rpcUrl)
  // It refuses exits alone, so that the book is read alike, for which the executor tries each position by itself.
  const isExit = ([call, , overrides]: readonly unknown[]) => {
    const { data = '' } = (call ?? {}) as { readonly data?: string }
    return JSON.stringify(overrides ?? '').includes(LENS_RUNTIME) && data.slice(42, 44) === '00'
  }
  let simulates = true
  rpc.rule(({ method, params }) => {
    if (method === 'eth_simulateV1' && !simulates) return { kind: 'error', error: { code: -32_601, message: 'none' } }
    return isExit(params) ? { kind: 'no_overrides', how: 'refuse' } : undefined
  })
  const behind = { ...lister.client.chain, rpcUrls: [rpc.url] }
  const executing = createExits()
  const simulating = createExits(countedClient(behind).client)
  const asking = createExits(countedClient(behind).client)
  const block = await devnet.client.getBlockNumber()
  const ask = async ({ exit }: typeof executing, wallet: Address) => {
    const { reply } = await exit(`wallet=${wallet}&chain_id=1&at_block=${block}`)
    return v.parse(exitOutput, { data: reply.data }).data
  }
  const limited = createExits(createLimitedClient())
  const counts = { simulated: 0, asked: 0, limited: 0, costly: 0 }
  for (const wallet of [...wallets, ...named]) {
    const executed = await ask(executing, wallet)
    simulates = false
    const asked = await ask(asking, wallet)
    simulates = true
    const simulated = await ask(simulating, wallet)
    // A MasterChef does not answer what it pays.
    const isOwn = ({ position }: WireRow) =>
      position?.['family'] === 'uniswap-v3' && BigInt(position['token_id'] ?? 0) < PANCAKESWAP_ID
    const toOwn = ({ rows }: Wire) => rows.filter(isOwn).map(toFunded)
    expect({ wallet, rows: toOwn(asked) }).toEqual({ wallet, rows: toOwn(executed) })
    if (asked.executed_as === 'protocol_multicall') counts.asked++
    const { rows } = await ask(limited, wallet)
    const executedRows = new Map(executed.rows.map((row) => [toRowKey(row), toFunded(row)]))
    for (const row of rows) {
      if (row.blocked_by === 'too_costly') counts.costly++
      else {
        expect({ wallet, row: executedRows.get(toRowKey(row)) }).toEqual({ wallet, row: toFunded(row) })
        counts.limited++
      }
    }
    // No storage is made up for the wallet's own calls.
    if (simulated.rows.some(({ detail }) => detail?.includes(UNFUNDED))) continue
    const like = { executed_as: executed.executed_as, own_money: executed.own_money }
    expect({ wallet, ...simulated, ...like }).toEqual({ wallet, ...executed })
    // A lender that takes part in none of several accounts is not always there.
    if (simulated.own_money?.lacking) expect<unknown>(simulated.own_money).toEqual(executed.own_money)
    if (simulated.executed_as === 'simulated') counts.simulated++
  }
  console.log('alike', counts)
  expect(counts.simulated).toBeGreaterThan(20)
  expect(counts.asked).toBeGreaterThan(5)
  expect(counts.limited).toBeGreaterThan(20 * counts.costly)
  await rpc.stop()
}, 1_800_000)

/** What the wallet sends after its exit to sell what the answer says that it sells. */
function listSales(wallet: Address, { sold }: Sale): Transaction[] {
  const pools = new Map(Object.values(world.devnet.pools).map((pool) => [pool.address, pool]))
  return sold.flatMap(({ token, amount, brings, pools: hops }) => {
    if (brings === null) return []
    const isNative = token.id === zeroAddress
    const traded = isNative ? TOKENS.weth.address : (token.id as Address)
    const path = hops.map((hop) => {
      const pool = pools.get(hop as Address)
      if (pool === undefined) throw new Error(`Cannot find the pool ${hop}`)
      return pool
    })
    const wrap = { from: wallet, to: traded, data: DEPOSIT, value: raw(amount) }
    return [
      ...(isNative ? [wrap] : []),
      ...(path.length === 0 ? [] : sellCalls({ owner: wallet, token: traded, amount: raw(amount), pools: path })),
    ]
  })
}

type Sale = NonNullable<Wire['sale']>
const DEPOSIT = toFunctionSelector('deposit()')

for (const name of ['usdc', 'weth'] as const) {
  test(`what arrives, sold for ${name}, brings what really selling it brings, to the wei`, async () => {
    const { bring, createExits, devnet, listTransactions, named, wallets } = world
    const into = TOKENS[name].address
    const portfolio = createExits()
    const { found: answers, timeSec } = await readInNextBlock(devnet, async () => {
      const told = new Map<Address, Wire>()
      for (const wallet of [...wallets.slice(0, SELLERS), ...named]) {
        const asked = name === 'usdc' ? 'USDC' : into
        const { reply } = await portfolio.exit(`wallet=${wallet}&chain_id=1&sell_into=${asked}`)
        told.set(wallet, v.parse(exitOutput, { data: reply.data }).data)
      }
      return told
    })
    const counts: Record<string, number> = {}
    const count = (key: string) => {
      counts[key] = (counts[key] ?? 0) + 1
    }
    for (const [wallet, { rows, sale, outside }] of answers) {
      if (sale === undefined) throw new Error('Expected a sale')
      const tokens = [...new Set([into, ...rows.map(({ token }) => token.id as Address)])]
      const transactions = [...(await listTransactions(wallet, rows)), ...listSales(wallet, sale)]
      const [grown = []] = await bring(transactions, tokens, wallet, timeSec)
      const sold = new Map(sale.sold.map((each) => [each.token.id, each]))
      const brought = sale.sold.reduce((sum, { brings }) => sum + raw(brings), 0n)
      const expected = tokens.map((id) => {
        const withdrawn = rows
          .filter((row) => row.token.id === id && row.position !== null && row.kind !== 'borrowed')
          .reduce((sum, { arrives }) => sum + raw(arrives), 0n)
        const sale = sold.get(id)
        return withdrawn + (id === into ? brought : 0n) - (sale?.brings === null ? 0n : raw(sale?.amount ?? null))
      })
      const told = { wallet, sold: sale.sold }
      expect({ ...told, expected }).toEqual({ ...told, expected: grown })
      // In the end there is what is in the wallet already too, less what is owed in it.
      const isInto = ({ token }: { readonly token: { readonly id: string } }) => token.id === into
      const own = rows.filter((row) => isInto(row) && row.kind !== 'borrowed' && row.arrives?.usd != null)
      const owed = outside.filter(isInto).reduce((sum, { amount }) => sum + raw(amount), 0n)
      const end = own.reduce((sum, { arrives }) => sum + raw(arrives), brought) - owed
      const left = sale.owed.filter(isInto).reduce((sum, { amount }) => sum + raw(amount), 0n)
      expect(raw(sale.brings) - left).toBe(end)
      for (const { token, pools, brings, blocked_by, price_impact_percentage: impact } of sale.sold) {
        count(`${pools.length} pools, ${blocked_by ?? 'sold'}`)
        if (token.id === zeroAddress && brings !== null) count('native')
        if (pools.length > 0 && brings !== null) expect(Number(impact)).toBeGreaterThanOrEqual(0)
      }
    }
    console.log(`${answers.size} wallets`, counts)
    expect(counts['1 pools, sold']).toBeGreaterThan(9)
    expect(counts['2 pools, sold']).toBeGreaterThan(9)
    expect(counts['native']).toBeGreaterThan(0)
  }, 900_000)
}

function shuffle<T>(items: readonly T[], random: Random): T[] {
  const left = [...items]
  return items.map(() => left.splice(random.below(left.length), 1)[0] as T)
}

test(`of reserves that were drained in ${DRAINS} ways what arrives is what really doing it brings, to the wei`, async () => {
  const { devnet, createExits, wallets, drain, bring, listTransactions } = world
  const random = createRandom(SEED + 1)
  let short = 0
  for (let way = 0; way < DRAINS; way++) {
    const snapshot = await devnet.rpc.call<Hex>('evm_snapshot')
    const assets = shuffle(DRAINED, random).slice(0, 1 + random.below(2))
    for (const asset of assets) await drain(asset, random.pick([3n, 50n, 5_000n, 10n ** 12n]))
    const portfolio = createExits()
    const wallet = random.pick(wallets)
    const { found: rows, timeSec } = await readInNextBlock(devnet, async () => {
      const { reply } = await portfolio.exit(`wallet=${wallet}&chain_id=1`)
      return v.parse(exitOutput, { data: reply.data }).data.rows
    })
    const tokens = [...new Set(rows.map(({ token }) => token.id as Address))]
    const grown = await bring(await listTransactions(wallet, rows), tokens, wallet, timeSec)
    const sum = (kinds: readonly string[]) =>
      tokens.map((id) =>
        rows.reduce((all, row) => (row.token.id === id && kinds.includes(row.kind) ? all + raw(row.arrives) : all), 0n),
      )
    const told = { wallet, assets, blocked: JSON.stringify(rows.filter(({ blocked_by }) => blocked_by !== null)) }
    expect({ ...told, arrives: sum(['liquidity', 'supplied']) }).toEqual({ ...told, arrives: grown[0] ?? [] })
    expect({ ...told, repaid: sum(['borrowed']).map((each) => -each) }).toEqual({ ...told, repaid: grown[1] ?? [] })
    const drained = assets.map((asset): string => ASSETS[asset].address)
    if (rows.some(({ token, blocked_by }) => blocked_by === 'no_liquidity' && drained.includes(token.id))) short++
    await devnet.rpc.call('evm_revert', snapshot)
  }
  console.log(`${short} of ${DRAINS} drains left a wallet short`)
  expect(short).toBeGreaterThan(0)
}, 900_000)

test(`in ${ORDERS} orders that are permitted the same arrives, and in none that is forbidden more`, async () => {
  const { createExits, lister, wallets } = world
  const random = createRandom(SEED + 2)
  const clock = createPatientClock()
  const seen: Holdings[] = []
  const portfolio = createExits(lister.client, { clock, seen: (holdings) => void seen.push(holdings) })
  const work = createWork(new AbortController().signal)
  const counts = { moved: 0, bound: 0, forbidden: 0, less: 0 }
  for (let drawn = 0; drawn < ORDERS; ) {
    const wallet = random.pick(wallets)
    seen.length = 0
    await portfolio.exit(`wallet=${wallet}&chain_id=1`)
    // A read that reveals tokens of the wallet is followed by another one.
    const listed = seen.flatMap(({ listExits }) => listExits?.() ?? [])
    const units = [...new Map(listed.map((exit) => [toUnitKey(exit.position), exit])).values()]
    const lenders = [...new Set(seen.flatMap((each) => each.lenders ?? []))]
    const block = seen.at(-1)?.block
    if (block === undefined || units.length === 0) continue
    drawn++
    const run = async (unit: ExitUnit) => {
      const query = { wallet, units: [unit], lenders, block, clock, untilMs: clock.monotonicMs() + 60_000 }
      const outcome = await lister.client.read((endpoint, own) => executeUnits(endpoint, query, own), { work })
      return outcome.units[0] ?? { kind: 'unsupported' as const }
    }
    const chosen = listBlocks(units)
    const expected = sumOutcome(units, chosen, await run(mergeUnits(units, chosen)))
    const rule = createRule(expected.bound)
    expect(breaksRule(chosen, rule)).toBeFalse()
    const order = drawOrder(chosen, { rule, random })
    const permitted = sumOutcome(units, order, await run(mergeUnits(units, order)))
    expect({ wallet, order, ...permitted }).toEqual({ wallet, order, ...expected })
    if (order.some((each, index) => each !== chosen[index])) counts.moved++
    counts.bound += expected.bound.size

    const debts = chosen.filter(({ unit, kind }) => kind === 'borrowed' && !expected.bound.has(unit))
    const isDebtor = ({ unit }: (typeof chosen)[number]) => debts.some((debt) => debt.unit === unit)
    const account = chosen.filter(isDebtor)
    if (account.every(({ kind }) => kind === 'borrowed')) continue
    let wrong = account
    while (!breaksRule(wrong, rule)) wrong = shuffle(account, random)
    const forbidden = sumOutcome(units, wrong, await run(mergeUnits(units, wrong)))
    counts.forbidden++
    for (const [key, amount] of forbidden.arrived) {
      expect(amount, `${key} of ${wallet}`).toBeLessThanOrEqual(expected.arrived.get(key) ?? 0n)
    }
    if ([...forbidden.arrived].some(([key, amount]) => amount < (expected.arrived.get(key) ?? 0n))) counts.less++
  }
  console.log(`${ORDERS} orders`, counts)
  expect(counts.moved).toBeGreaterThan(ORDERS / 2)
  expect(counts.less).toBeGreaterThan(ORDERS / 8)
}, 900_000)

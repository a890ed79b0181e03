import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import * as v from 'valibot'
import { type Address, type Hex, zeroHash } from 'viem'
import { type Citation, createCitingClient } from '../../../../src/chain/receipt/citing.ts'
import type { WatchableFamily } from '../../../../src/family/contract.ts'
import { LENDING_FIGURES } from '../../../../src/family/lending/watched.ts'
import { MORPHO_BLUE } from '../../../../src/family/morpho_blue/mod.ts'
import { createWatcher } from '../../../../src/family/morpho_blue/watch.ts'
import type { ConfirmedFigures, Watcher, WatchSubject } from '../../../../src/family/watch.ts'
import { multiplyRational, rational } from '../../../../src/lib/number/rational.ts'
import { toWalletAddress } from '../../../devnet/addresses.ts'
import { createDevnetChain } from '../../../devnet/chain.ts'
import { type Devnet, startDevnet } from '../../../devnet/mod.ts'
import { MORPHO, type MorphoMarket } from '../../../devnet/morpho_blue/calls.ts'
import type { MorphoDevnet } from '../../../devnet/morpho_blue/mod.ts'
import type { MorphoRandom } from '../../../devnet/morpho_blue/random.ts'
import { createRandom } from '../../../devnet/random.ts'
import { callRoute } from '../../../support/call_route.ts'
import { caseCount } from '../../../support/cases.ts'
import { createFamilyRoutes } from '../../../support/family.ts'
import { createForecastWatcher, readNewestBlock, type WatchedClause } from '../../../support/forecast_watcher.ts'
import { startFaultyRpc } from '../../../support/rpc.ts'
import { slowClock } from '../../../support/test_clock.ts'
import { createClient, DEPLOYMENT, patient } from './support.ts'

const FIGURES = Object.keys(LENDING_FIGURES)
const ROUNDS = caseCount(400, 14)

let devnet: Devnet
let morpho: MorphoDevnet
let random: MorphoRandom
let markets: readonly MorphoMarket[]

beforeAll(async () => {
  devnet = await startDevnet({ ageSec: 9 * 365 * 86_400 })
  morpho = await devnet.morpho()
  random = await morpho.startRandom({ seed: 24, count: 12 })
  for (let round = 0; round < 6; round++) await random.round()
  markets = [...Object.values(morpho.markets), ...random.markets]
}, 300_000)
afterAll(() => devnet?.stop())

// Its past is years long.
const chain = () => createDevnetChain(devnet, { maxBlockAgeSec: 100 * 365 * 86_400 })
const client = () => createClient(chain())
const rows = () => [[devnet.chainId, { morphoBlue: DEPLOYMENT }]] as const
const listWallets = (): Address[] => [...random.wallets, ...Object.values(morpho.wallets)]
const toSubjects = (wallets: readonly Address[]): WatchSubject[] =>
  [...new Set(wallets)].flatMap((wallet) => markets.map(({ id }) => ({ wallet, market_id: id })))

function watcherOver(served = client()): Watcher {
  const [clients, deployments] = [new Map([[devnet.chainId, served]]), new Map([[devnet.chainId, DEPLOYMENT]])]
  return createWatcher({ clients, deployments, clock: slowClock })
}

function watched(): WatchableFamily {
  const setup = { chainIds: [devnet.chainId], servesSolana: false, connect: () => ({}) as never }
  const found = MORPHO_BLUE.configure(new Map(rows())).watch(setup)
  if (found === undefined) throw new Error('Cannot watch Morpho')
  return found
}

function formatFigures(found: ConfirmedFigures | 'gone' | undefined) {
  if (found === undefined || found === 'gone') throw new Error('Expected figures')
  return Object.fromEntries(FIGURES.map((figure) => [figure, found.text(figure)]))
}

interface Shown {
  readonly positions: readonly Readonly<
    Record<string, string | null> & { readonly liquidatable_because: readonly string[] }
  >[]
  readonly calculations: readonly (Readonly<Record<string, string>> | null)[]
}

describe('confirm()', () => {
  test('cites the same for wallets read together as for wallets read alone', async () => {
    const place = { block: await readNewestBlock(devnet.rpc, devnet.chainId) }
    const listCited = async (wallets: readonly Address[]) => {
      const citing = createCitingClient(client())
      await watcherOver().confirm(toSubjects(wallets), { client: citing.client, ...place }, patient)
      return citing.listCitations()
    }
    const wallets = listWallets().slice(0, 5)
    const alone: Citation[] = []
    for (const wallet of wallets) alone.push(...(await listCited([wallet])))
    const named = (some: readonly Citation[]) =>
      some.map(({ lens, call, answer }) => `${lens} ${call} ${answer}`).sort()
    expect(named(await listCited(wallets))).toEqual(named(alone))
    expect(alone.length).toBe(wallets.length)
  })

  test('gives the figures of the list at the same block, digit by digit, null where the list has null', async () => {
    const [list] = createFamilyRoutes(MORPHO_BLUE, { rows: rows(), clients: [client()] })
    if (list === undefined) throw new Error('Cannot find the list')
    const block = await readNewestBlock(devnet.rpc, devnet.chainId)
    const subjects = toSubjects(listWallets())
    const confirmed = await watcherOver().confirm(subjects, { client: client(), block }, patient)
    const counts = { held: 0, unknown: 0, called: 0 }
    for (const [index, subject] of subjects.entries()) {
      const [, query = ''] = watched().answerPath(subject, devnet.chainId, block.number).split('?')
      const { reply } = await callRoute(list, { query })
      const [entry] = (reply as unknown as { readonly data: readonly Shown[] }).data
      const [position, calculations] = [entry?.positions[0], entry?.calculations[0]]
      if (position === undefined) {
        const nothing = ['MAX', '0.000000', '0.000000', '0.000000', '0.0000', false, 'MAX']
        expect(Object.values(formatFigures(confirmed[index]))).toEqual(nothing)
        continue
      }
      counts.held++
      if (calculations === null) counts.unknown++
      expect(formatFigures(confirmed[index])).toEqual({
        health_factor: position['healthFactor'] ?? null,
        net_worth_usd: position['netWorthUSD'] ?? null,
        total_collateral_usd: position['totalCollateralUSD'] ?? null,
        total_debt_usd: position['totalDebtUSD'] ?? null,
        current_ltv_percentage: calculations?.['currentLtvPercentage'] ?? null,
        is_liquidatable: position.liquidatable_because.length > 0,
        due_in_sec: 'MAX',
      })
      if (position.liquidatable_because.length > 0) counts.called++
    }
    expect(counts.held).toBeGreaterThan(40)
    expect(counts.unknown).toBeGreaterThan(0)
    expect(counts.called).toBeGreaterThan(0)
  }, 120_000)

  test('a market that does not exist is gone; calls of eight wallets share a request', async () => {
    const proxy = await startFaultyRpc(devnet.rpcUrl)
    try {
      const served = createClient({ ...chain(), rpcUrls: [proxy.url] })
      const place = { client: served, block: await readNewestBlock(devnet.rpc, devnet.chainId) }
      const [market] = markets
      const many = Array.from({ length: 64 }, (_, index) => toWalletAddress(`morpho watched ${index}`))
      const subjects = many.map((wallet) => ({ wallet, market_id: market?.id ?? zeroHash }))
      const never = { wallet: toWalletAddress('morpho watched 0'), market_id: zeroHash }
      const confirmed = await watcherOver(served).confirm([...subjects, never], place, patient)
      expect(confirmed.at(-1)).toBe('gone')
      expect(confirmed.slice(0, -1).every((each) => each !== 'gone' && each.value('health_factor') === 'MAX')).toBe(
        true,
      )
      expect(proxy.seen.filter(({ method }) => method === 'eth_call').length).toBe(8)
    } finally {
      await proxy.stop()
    }
  }, 60_000)
})

describe('forecaster', () => {
  test(`selects every subject that crosses a level in ${ROUNDS} rounds of prices, loans, liquidations and time`, async () => {
    const drawn = createRandom(2_413)
    const watcher = watcherOver()
    // Fees accrue to their recipient without an event of the recipient.
    const wallets = listWallets().filter((wallet) => wallet !== morpho.wallets.feeRecipient)
    const subjects = toSubjects(wallets)
    const start = { client: client(), block: await readNewestBlock(devnet.rpc, devnet.chainId) }
    const begun = await watcher.confirm(subjects, start, patient)
    const clauses = subjects.flatMap((subject, index): WatchedClause[] => {
      const found = begun[index]
      if (found === undefined || found === 'gone') return []
      return FIGURES.flatMap((figure): WatchedClause[] => {
        const value = found.value(figure)
        if (value === undefined) return []
        if (typeof value === 'boolean') return [{ subject, figure }]
        const around = rational(BigInt(90 + drawn.below(20)), 100n)
        const below = value === 'MAX' || value.numerator === 0n ? rational(3n, 2n) : multiplyRational(value, around)
        return [{ subject, figure, below }]
      })
    })
    const screened = createForecastWatcher({ watcher, client: client(), rpc: devnet.rpc, clauses })
    let [confirmed, crossings] = [0, 0]
    let before: readonly (boolean | undefined)[] = []
    for (let at = 0; at < ROUNDS; at++) {
      await random.round()
      const block = await readNewestBlock(devnet.rpc, devnet.chainId)
      const step = await screened.step(block)
      const told = step.exact.map((truth, index) => truth ?? step.screened[index])
      expect({ block: block.number, truths: step.screened }).toEqual({ block: block.number, truths: told })
      if (at > 0) {
        confirmed += step.confirmed
        crossings += told.filter((truth, index) => truth !== before[index]).length
      }
      before = told
    }
    expect(crossings).toBeGreaterThan(ROUNDS)
    expect(confirmed / (ROUNDS - 1) / clauses.length).toBeLessThan(0.6)
  }, 900_000)
})

describe('watched()', () => {
  test('takes what the list takes, in one form', () => {
    const parse = (value: unknown) => {
      const result = v.safeParse(watched().subject(devnet.chainId), value)
      return result.success ? result.output : undefined
    }
    const [market] = markets
    const id = market?.id ?? zeroHash
    const wallet = toWalletAddress('morpho watched 0')
    expect(parse({ market_id: `0x${id.slice(2).toUpperCase()}` as Hex, wallet })).toEqual({ wallet, market_id: id })
    expect(parse({ wallet })).toBeUndefined()
    expect(parse({ wallet, market_id: MORPHO })).toBeUndefined()
    expect(watched().events).toEqual([])
  })
})

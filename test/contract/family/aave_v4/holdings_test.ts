import { afterAll, beforeAll, expect, test } from 'bun:test'
import { type Address, numberToHex, toFunctionSelector } from 'viem'
import { createHoldingsReader } from '../../../../src/family/aave_v4/holdings.ts'
import { createSpokeReader } from '../../../../src/family/aave_v4/read/read.ts'
import { createWatcher } from '../../../../src/family/aave_v4/watch.ts'
import type { Holdings } from '../../../../src/family/holding.ts'
import { createWork } from '../../../../src/lib/async/work.ts'
import { ACCESS_MANAGER, recordSnapshot, recordTargets } from '../../../devnet/aave_v4/record.ts'
import { placeReplay, type RecordedCall } from '../../../devnet/aave_v4/replay.ts'
import { readVectors, type Snapshot } from '../../../devnet/aave_v4/vectors.ts'
import { readNewestBlock } from '../../../support/forecast_watcher.ts'
import { slowClock } from '../../../support/test_clock.ts'
import { createCaller, listWallets, type ReplayedChain, startReplayedChain, toRow, type WireAsset } from './support.ts'

const LIMIT_MS = 120_000
const patient = createWork(new AbortController().signal)

let chain: ReplayedChain
/** A snapshot in which some reserve has no price, and one in which all have. */
let dead: Snapshot
let alive: Snapshot

beforeAll(async () => {
  chain = await startReplayedChain()
  const { snapshots } = readVectors()
  const isDead = ({ world }: Snapshot) =>
    Object.values(world.spokes).some(({ reserves }) => reserves.some(({ price }) => price === null))
  const [withoutPrice, withPrices] = [snapshots.find(isDead), snapshots.find((each) => !isDead(each))]
  if (withoutPrice === undefined || withPrices === undefined) throw new Error('Expected both kinds of snapshots')
  dead = withoutPrice
  alive = withPrices
}, LIMIT_MS)
afterAll(() => chain?.anvil.stop(), LIMIT_MS)

/** Clients and deployments; only the first `count` spokes are known. */
function createParts(snapshot: Snapshot, count = Number.POSITIVE_INFINITY) {
  const spokes = toRow(snapshot)
    .aaveV4.spokes.slice(0, count)
    .map((spoke) => ({ ...spoke, address: spoke.address as Address, startBlock: 0 }))
  return {
    clients: new Map([[1, chain.client]]),
    deployments: new Map([[1, { accessManager: ACCESS_MANAGER, spokes }]]),
    clock: slowClock,
  }
}

async function readHoldings(snapshot: Snapshot, wallet: Address, count?: number): Promise<Holdings> {
  const { client } = chain
  const reader = createHoldingsReader(createSpokeReader(createParts(snapshot, count)))
  const read = await reader.open(wallet, { client }, patient)
  if (read === undefined) throw new Error('Expected spokes')
  return client.read((endpoint, work) => read({ endpoint, positionsMax: 100 }, work), { work: patient })
}

test(
  'the rows of a portfolio are those of the list, each with what a withdrawal of it pays',
  async () => {
    await chain.place(alive)
    const { list } = createCaller(chain, alive)
    let rowCount = 0
    for (const wallet of listWallets(alive)) {
      const { rows, ownTokens, notRead } = await readHoldings(alive, wallet)
      const { data } = await list(`wallet=${wallet}`)
      const toKey = (kind: string, market: string, { hub, reserveId }: Readonly<Record<string, unknown>>) =>
        `${kind} ${market} ${hub}-${reserveId}`
      const listed = data.flatMap(({ positions }) =>
        positions.flatMap(({ marketId, suppliedAssets, borrowedAssets }) => {
          const supplied = suppliedAssets.map((asset): [string, WireAsset] => [
            toKey('supplied', marketId, asset),
            asset,
          ])
          const owed = borrowedAssets.map((asset): [string, WireAsset] => [toKey('borrowed', marketId, asset), asset])
          return [...supplied, ...owed]
        }),
      )
      const byKey = new Map(listed)
      expect([rows.length, ownTokens, notRead]).toEqual([listed.length, [], []])
      for (const { kind, amount, token, position, withdrawable } of rows) {
        const asset = byKey.get(`${kind} ${position['market_id']} ${position['part']}`)
        const [whole = '', fraction = ''] = (asset?.amount ?? '').split('.')
        expect(BigInt(whole + fraction.padEnd(token.decimals ?? 0, '0'))).toBe(amount)
        if (kind === 'supplied') {
          expect(asset?.withdrawable?.raw).toBe(String(withdrawable === undefined ? amount : withdrawable.amount))
          expect(asset?.['limited_by']).toBe((withdrawable?.limitedBy ?? null) as never)
        }
        rowCount++
      }
    }
    expect(rowCount).toBeGreaterThan(100)
  },
  LIMIT_MS,
)

test(
  'a debt or a supply without a price is a row without one, and what backs it cannot be withdrawn',
  async () => {
    await chain.place(dead)
    const held = await Promise.all(listWallets(dead).map((wallet) => readHoldings(dead, wallet)))
    const unpriced = held.flatMap(({ rows }) => rows.filter(({ price }) => price.kind === 'missing'))
    expect(unpriced.length).toBeGreaterThan(5)
    expect(held.flatMap(({ rows }) => rows).some(({ withdrawable }) => withdrawable?.limitedBy === 'price')).toBe(true)
  },
  LIMIT_MS,
)

test(
  'spokes that the access manager names and this release does not know are named, debts first',
  async () => {
    await chain.place(alive)
    const [wallet] = listWallets(alive)
    if (wallet === undefined) throw new Error('Expected a wallet')
    const [, , third, fourth] = toRow(alive).aaveV4.spokes
    const { notRead } = await readHoldings(alive, wallet, 2)
    expect(notRead).toEqual(
      [third, fourth].map((spoke) => `debts in aave-v4 spoke ${spoke?.address}, which this release does not know`),
    )
  },
  LIMIT_MS,
)

test(
  'a manager that names no known spoke, or none at all, makes the portfolio say that some may be missing',
  async () => {
    await chain.place(alive)
    const [wallet] = listWallets(alive)
    if (wallet === undefined) throw new Error('Expected a wallet')
    const stranger = recordTargets(ACCESS_MANAGER, [toRow(alive).aaveV4.accessManager])
    const silent = stranger.map((call) => ({ ...call, answer: '0x' as const, reverts: true }))
    for (const calls of [stranger, silent]) {
      await placeReplay(chain.rpc, calls)
      const { notRead } = await readHoldings(alive, wallet)
      expect(notRead).toEqual(['debts in spokes of aave-v4 that were added since this release'])
    }
  },
  LIMIT_MS,
)

/** A revision of a spoke and a hub that does not tell its own. */
const REVISIONS: readonly (readonly [string, Partial<RecordedCall>])[] = [
  ['SPOKE_REVISION()', { answer: numberToHex(2, { size: 32 }) }],
  ['SPOKE_REVISION()', { answer: '0x', reverts: true }],
  ['HUB_REVISION()', { answer: numberToHex(2, { size: 32 }) }],
  ['HUB_REVISION()', { answer: '0x', reverts: true }],
]

test(
  'what contracts of an unknown revision let go is unknown, also if they tell none',
  async () => {
    const [wallet] = listWallets(alive)
    if (wallet === undefined) throw new Error('Expected a wallet')
    for (const [signature, change] of REVISIONS) {
      await chain.place(alive)
      const selector = toFunctionSelector(signature)
      const changed = recordSnapshot(alive).filter(({ data }) => data === selector)
      expect(changed.length).toBeGreaterThan(0)
      await placeReplay(
        chain.rpc,
        changed.map((call) => ({ ...call, ...change })),
      )
      const { rows } = await readHoldings(alive, wallet)
      const supplied = rows.filter(({ kind }) => kind === 'supplied')
      expect(supplied.length).toBeGreaterThan(0)
      for (const { withdrawable } of supplied)
        expect(withdrawable).toEqual({ amount: undefined, limitedBy: 'revision' })
      const { data } = await createCaller(chain, alive).list(`wallet=${wallet}`)
      const positions = data.flatMap((each) => each.positions)
      expect(positions.length).toBeGreaterThan(0)
      for (const { suppliedAssets, ...position } of positions) {
        expect(position).toMatchObject({ healthFactorAfterRefresh: null, riskPremiumAfterRefresh: null })
        for (const asset of suppliedAssets) expect(asset).toMatchObject({ withdrawable: null, limited_by: 'revision' })
      }
    }
  },
  LIMIT_MS,
)

test(
  'triggers see the figures of the list, also of a wallet without a position and of one that cannot be valued',
  async () => {
    await chain.place(dead)
    const watcher = createWatcher(createParts(dead))
    const { list } = createCaller(chain, dead)
    const block = await readNewestBlock(chain.rpc, 1)
    const subjects = listWallets(dead).map((wallet) => ({ wallet, market_id: 'main' }))
    const confirmed = await watcher.confirm(subjects, { client: chain.client, block }, patient)
    const kinds = new Set<string>()
    for (const [index, { wallet }] of subjects.entries()) {
      const figures = confirmed[index]
      if (figures === undefined || figures === 'gone') throw new Error('Expected figures')
      const answer = await list(`wallet=${wallet}&market_id=main`).catch(() => undefined)
      const position = answer?.data[0]?.positions[0]
      const kind = answer === undefined ? 'unknown' : position === undefined ? 'empty' : 'held'
      kinds.add(kind)
      const expected = { unknown: null, empty: 'MAX', held: position?.['healthFactor'] }[kind]
      expect(figures.text('health_factor')).toBe(expected as never)
      expect(figures.text('total_debt_usd')).toBe(
        { unknown: null, empty: '0.000000', held: position?.['totalDebtUSD'] }[kind] as never,
      )
    }
    expect(kinds).toEqual(new Set(['held', 'unknown', 'empty']))
  },
  LIMIT_MS,
)

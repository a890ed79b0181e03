import { expect, test } from 'bun:test'
import type { Hex } from 'viem'
import {
  createChangeFilters,
  decodeChanges,
  type PositionChange,
} from '../../../../src/family/morpho_midnight/event/change.ts'
import { createEntryFilters, decodeEntries } from '../../../../src/family/morpho_midnight/event/entry.ts'
import { MIDNIGHT_EVENTS } from '../../../../src/family/morpho_midnight/event/log.ts'
import { replayChanges } from '../../../../src/family/morpho_midnight/event/replay.ts'
import type { HistoryLog, LogFilter } from '../../../../src/history/stream.ts'
import { decodeData, readVectors } from '../../../devnet/morpho_midnight/vectors.ts'

const vectors = readVectors()
const midnight = vectors.midnight.toLowerCase() as Hex
const target = { chainId: 31_337, contract: midnight, startBlock: 1 }
const wallets = vectors.wallets.map((wallet) => wallet.toLowerCase() as Hex)

/** The logs of the vectors as histories have them. */
const logs: readonly HistoryLog[] = vectors.logs.map((log): HistoryLog => {
  const [blockNumber, logIndex, topics] = log
  const hash: Hex = `0x${blockNumber.toString(16).padStart(64, '0')}`
  const place = {
    blockNumber,
    logIndex,
    blockHash: hash,
    transactionHash: hash,
    transactionIndex: 0,
    timestampSec: null,
  }
  return { ...place, address: midnight, topics, data: decodeData(log) }
})

function isMatch({ topics }: HistoryLog, filters: readonly LogFilter[]): boolean {
  return filters.some((filter) =>
    filter.topics.every((wanted, index) => wanted === null || wanted.includes(topics[index] ?? '0x')),
  )
}

/** The changes of a wallet up to a block, from the logs that its filters find. */
function readChanges(wallet: Hex, toBlock: number): readonly PositionChange[] {
  const found = logs.filter((log) => log.blockNumber <= toBlock && isMatch(log, createChangeFilters(target, [wallet])))
  return decodeChanges(target, found).filter((change) => change.wallet === wallet)
}

interface Words {
  readonly credit: bigint
  readonly pendingFee: bigint
  readonly debt: bigint
  readonly collaterals: string
}

const NOTHING: Words = { credit: 0n, pendingFee: 0n, debt: 0n, collaterals: '' }

function toText(collaterals: readonly (readonly [string, bigint])[]): string {
  return collaterals
    .map(([token, amount]) => `${token.toLowerCase()}:${amount}`)
    .sort()
    .join()
}

/** What the contract had stored of every wallet in every market, and what the replay of `changes` says. */
function compare(wallet: number, checkpoint: number, changes: readonly PositionChange[]): readonly boolean[] {
  const replayed = replayChanges(changes)
  const { positions = [] } = vectors.checkpoints[checkpoint] ?? {}
  return vectors.markets.map(({ id, collateralParams }, market) => {
    const stored = positions.find((each) => each.wallet === wallet && each.market === market)
    const { collaterals, ...words } = replayed.get(id) ?? { ...NOTHING, collaterals: new Map<Hex, bigint>() }
    const told: Words = { ...words, collaterals: toText([...collaterals]) }
    const truth: Words =
      stored === undefined
        ? NOTHING
        : {
            credit: BigInt(stored.credit),
            pendingFee: BigInt(stored.pendingFee),
            debt: BigInt(stored.debt),
            collaterals: toText(
              stored.collateral.map(({ index, raw }) => [collateralParams[index]?.token ?? '', BigInt(raw)] as const),
            ),
          }
    return Bun.deepEquals(told, truth)
  })
}

test('the replay of every life equals what the contract had stored, at each checkpoint', () => {
  let compared = 0
  for (const [index, checkpoint] of vectors.checkpoints.entries()) {
    for (const [number, wallet] of wallets.entries()) {
      const same = compare(number, index, readChanges(wallet, checkpoint.block))
      expect(same).toEqual(vectors.markets.map(() => true))
      compared += same.length
    }
  }
  expect(compared).toBe(4 * 12 * 6)
})

test('without any one of its changes a life is another', () => {
  const last = vectors.checkpoints.length - 1
  let left = 0
  for (const [number, wallet] of wallets.entries()) {
    const changes = readChanges(wallet, vectors.checkpoints[last]?.block ?? 0)
    for (const change of changes) {
      const others = changes.filter((each) => each.logIndex !== change.logIndex || each.block !== change.block)
      expect(compare(number, last, others)).toContain(false)
      left++
    }
  }
  expect(left).toBeGreaterThan(200)
})

test('markets that a wallet entered itself are found by two events that strangers cannot make', () => {
  const { take, supplyCollateral } = MIDNIGHT_EVENTS.topics
  for (const { wallet: number, bySupplyCollateral, byTakeAsTaker, byTakeAsMaker } of vectors.found) {
    const wallet = wallets[number] ?? '0x'
    const filters = createEntryFilters(target, [wallet])
    const entries = decodeEntries(
      target,
      logs.filter((log) => isMatch(log, filters)),
    )
    const markets = entries.map(({ entry }) => vectors.markets.findIndex(({ id }) => id === entry))
    expect(markets.toSorted()).toEqual([...new Set([...bySupplyCollateral, ...byTakeAsTaker])].sort())
    expect(entries.every((entry) => entry.wallet === wallet)).toBe(true)
    const bought = new Set(readChanges(wallet, 10 ** 9).flatMap(({ kind, market }) => (kind === 'buy' ? market : [])))
    const credited = vectors.checkpoints.flatMap(({ positions }) =>
      positions.filter((each) => each.wallet === number && each.credit !== '0').map(({ market }) => market),
    )
    for (const market of credited) expect(bought).toContain(vectors.markets[market]?.id ?? '0x')
    const isEntered = (market: number) => [...bySupplyCollateral, ...byTakeAsTaker, ...byTakeAsMaker].includes(market)
    expect(credited.every(isEntered)).toBe(true)
  }
  const global = createEntryFilters(target, null)
  const all = logs.filter((log) => isMatch(log, global))
  expect(all.every(({ topics: [event] }) => event === take || event === supplyCollateral)).toBe(true)
  expect(new Set(decodeEntries(target, all).map(({ wallet }) => wallet))).toContain(wallets[11] ?? '0x')
})

test('what changes nothing is no change, and a log of another shape is refused', () => {
  const zero = logs.filter(({ topics: [event] }) => event === MIDNIGHT_EVENTS.topics.take)
  const stranger = vectors.stranger.toLowerCase() as Hex
  const byStranger = zero.filter(({ topics }) => topics[3]?.endsWith(stranger.slice(2)))
  expect(byStranger.length).toBeGreaterThan(0)
  expect(decodeChanges(target, byStranger)).toEqual([])
  const [log] = zero
  if (log === undefined) throw new Error('Expected a log')
  expect(() => decodeChanges(target, [{ ...log, data: '0x' }])).toThrow('does not have the shape of take')
  expect(decodeChanges(target, [{ ...log, address: '0x01' }])).toEqual([])
})

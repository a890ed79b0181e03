import { describe, expect, test } from 'bun:test'
import type { Hex } from 'viem'
import {
  type ClaimBlock,
  listClaimBlocks,
  matchClaims,
} from '../../../../../src/family/liquidity/enumerable/position_history/claims.ts'
import type { WalletEvent } from '../../../../../src/family/liquidity/position_history/custody_event.ts'
import { GAUGE_LOG } from '../../../../../src/family/slipstream/event.ts'
import { type HistoryLog, IncompleteError } from '../../../../../src/history/stream.ts'
import { groupBy } from '../../../../../src/lib/group_by.ts'
import recorded from '../../../../support/family/slipstream/claims.json'

/*
 * What real gauges logged, against the differences of token balances, and what the state says of each position.
 */

type World = (typeof recorded.worlds)[number]

const toWord = (digits: string) => digits.padStart(64, '0')
const toHash = (index: number): Hex => `0x${index.toString(16).padStart(64, '0')}`

function listLogs({ flows }: World): HistoryLog[] {
  return flows.flatMap(({ gauge, block, logs }, transaction) =>
    logs.map((text): HistoryLog => {
      const [logIndex = '', topics = '', data = ''] = text.split(' ')
      const [topic = '', ...more] = topics.split(',')
      return {
        address: gauge as Hex,
        topics: [topic as Hex, ...more.map((each): Hex => `0x${toWord(each)}`)],
        data: data === '' ? '0x' : `0x${toWord(data)}`,
        blockNumber: block,
        blockHash: toHash(block),
        transactionHash: toHash(transaction),
        transactionIndex: 0,
        logIndex: Number(logIndex),
        timestampSec: block,
      }
    }),
  )
}

const { payments } = GAUGE_LOG
if (payments === undefined) throw new Error('Gauges pay wallets')
const { decode } = payments

/** A world's blocks with payments, of each wallet at each gauge. */
function listBlocks(world: World): readonly ClaimBlock[] {
  return Object.values(groupToObject(listLogs(world), ({ address }) => address)).flatMap((logs) =>
    Object.values(groupToObject(decode(logs), ({ wallet }) => wallet)).flatMap((rows) => listClaimBlocks(rows, [])),
  )
}

function groupToObject<Item>(items: readonly Item[], toKey: (item: Item) => string): Record<string, Item[]> {
  return Object.fromEntries([...groupBy(items, toKey)].map(([key, group]) => [key, [...group]]))
}

const toDues = (dues: readonly (readonly string[])[]) =>
  dues.map(([id = '', amount = '']) => ({ tokenId: BigInt(id), amount: BigInt(amount) }))

describe.each(recorded.worlds.map((world) => [world.generation, world] as const))('generation %s', (_, world) => {
  test('claims are what arrived, and those of one position need no state', () => {
    const blocks = listBlocks(world)
    const flows = new Map(world.flows.map((flow) => [flow.block, flow]))
    let alone = 0
    for (const { block, claims, tokenIds } of blocks) {
      const { paid = '', dues = [] } = flows.get(block) ?? {}
      expect([block, claims.reduce((sum, { amount }) => sum + amount, 0n)]).toEqual([block, BigInt(paid)])
      for (const [id = '', amount] of dues) if (amount !== '0') expect(tokenIds).toContain(BigInt(id))
      if (tokenIds.length > 1) continue
      alone++
      expect(dues.filter(([, amount]) => amount !== '0')).toEqual([[String(tokenIds[0]), paid]])
    }
    const expected = world.flows.filter(({ paid }) => paid !== '0').map(({ block }) => block)
    expect(blocks.map(({ block }) => block).toSorted((a, b) => a - b)).toEqual(expected)
    expect(alone).toBeGreaterThan(0)
  })

  test('what the state says each position was due tells claims of one block apart', () => {
    const flows = new Map(world.flows.map((flow) => [flow.block, flow]))
    let together = 0
    for (const { block, claims } of listBlocks(world)) {
      const dues = toDues(flows.get(block)?.dues ?? [])
      for (const { tokenId, amount } of dues) {
        const own = matchClaims(claims, dues, tokenId)
        expect([block, tokenId, own?.reduce((sum, each) => sum + each.amount, 0n)]).toEqual([block, tokenId, amount])
      }
      const [first, ...rest] = dues.filter(({ amount }) => amount !== 0n)
      if (first === undefined || rest.length === 0) continue
      together++
      // One unit less, or one position less, and nothing is told.
      const less = [{ ...first, amount: first.amount - 1n }, ...rest]
      expect(matchClaims(claims, less, first.tokenId)).toBeUndefined()
      expect(matchClaims(claims, rest, first.tokenId)).toBeUndefined()
      expect(matchClaims(claims.slice(1), [first, ...rest], first.tokenId)).toBeUndefined()
    }
    expect(together).toBeGreaterThan(0)
  })

  test('stakes take turns, and the events of a position are those of its wallets that name it', () => {
    const logs = listLogs(world)
    const byId = GAUGE_LOG.decode('0x', logs, new Map()).rows
    expect(byId).toEqual(decode(logs).filter((row): row is WalletEvent & { tokenId: bigint } => row.kind !== 'reward'))
    const sides = new Map<string, string>()
    for (const { tokenId, kind } of byId) {
      if (kind === 'update') continue
      expect(sides.get(String(tokenId)) ?? 'unstake').not.toBe(kind)
      sides.set(String(tokenId), kind)
    }
    expect(byId.some(({ kind, amount }) => kind === 'update' && amount > 0n)).toBe(world.generation === 'v3')
  })
})

test('a truncated log is no event', () => {
  const [world] = recorded.worlds
  const claim = world && listLogs(world).find(({ topics }) => topics.length === 2)
  if (claim === undefined) throw new Error('Cannot find a claim')
  expect(() => decode([{ ...claim, data: '0x' }])).toThrow(IncompleteError)
  expect(() => decode([{ ...claim, topics: claim.topics.slice(0, 1) }])).toThrow(IncompleteError)
})

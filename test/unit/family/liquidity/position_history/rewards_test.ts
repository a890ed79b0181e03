import { describe, expect, test } from 'bun:test'
import type { Hex } from 'viem'
import type { CustodyEvent } from '../../../../../src/family/liquidity/position_history/custody_event.ts'
import type { CustodyMark } from '../../../../../src/family/liquidity/position_history/custody_mark.ts'
import { computeRewardIncome } from '../../../../../src/family/liquidity/position_history/pnl.ts'
import { MASTER_CHEF_LOG } from '../../../../../src/family/uniswap_v3/event.ts'
import { type HistoryLog, IncompleteError } from '../../../../../src/history/stream.ts'
import { groupBy } from '../../../../../src/lib/group_by.ts'
import recorded from '../../../../support/family/uniswap_v3/masterchef_flows.json'

/*
 * What real MasterChefs logged, of npm and of the repository, against the differences of token balances.
 */

type World = (typeof recorded.worlds)[number]

const toWord = (digits: string) => digits.padStart(64, '0')
const toHash = (index: number): Hex => `0x${index.toString(16).padStart(64, '0')}`

/** The logs of a world's transactions, each with the hash of its place. */
function listLogs({ contracts, flows }: World): HistoryLog[] {
  return flows.flatMap(({ block, logs }, transaction) =>
    logs.map((text, logIndex): HistoryLog => {
      const [who = '', topic = '', topics = '', data = ''] = text.split(' ')
      return {
        address: (who === 'chef' ? contracts.masterChef : contracts.reward) as Hex,
        topics: [topic as Hex, ...topics.split(',').map((each): Hex => `0x${toWord(each)}`)],
        data: data === '' ? '0x' : `0x${data.split(',').map(toWord).join('')}`,
        blockNumber: block,
        blockHash: toHash(block),
        transactionHash: toHash(transaction),
        transactionIndex: 0,
        logIndex,
        timestampSec: block,
      }
    }),
  )
}

/** What a history decodes: first without receipts, then with those of the transactions that need them. */
function decode(world: World): readonly CustodyEvent[] {
  const all = listLogs(world)
  const masterChef = world.contracts.masterChef as Hex
  const own = all.filter(({ address }) => address === masterChef)
  const first = MASTER_CHEF_LOG.decode(masterChef, own, new Map())
  expect(first.rows).toEqual([])
  const receipts = groupBy(all, ({ transactionHash }) => transactionHash)
  const needed = new Map(first.unsettled.map((hash) => [hash, receipts.get(hash) ?? []]))
  const { rows, unsettled } = MASTER_CHEF_LOG.decode(masterChef, own, needed)
  expect(unsettled).toEqual([])
  return rows
}

const toMark = (event: CustodyEvent): CustodyMark => ({
  event: { ...event, custodian: { address: '0x', kind: 'masterchef' } },
  timestampSec: 0n,
  ...(event.token && {
    reward: { token: event.token, decimals: 18, price: { units: 25n, scale: 1, source: 'feed' } },
  }),
})

for (const world of recorded.worlds) {
  describe(`MasterChef: ${world.masterChef}`, () => {
    const rows = decode(world)

    test('each transaction paid the wallet the rewards that are decoded', () => {
      const byTransaction = groupBy(rows, ({ transactionHash }) => transactionHash)
      let paying = 0
      for (const [index, { op, id, paid }] of world.flows.entries()) {
        if (op !== 'harvest' && op !== 'unstake') continue
        const rewards = (byTransaction.get(toHash(index)) ?? []).filter(({ kind }) => kind === 'reward')
        expect([index, ...rewards.map(({ tokenId }) => String(tokenId))]).toEqual([index, ...rewards.map(() => id)])
        expect([index, rewards.reduce((sum, { amount }) => sum + amount, 0n)]).toEqual([index, BigInt(paid)])
        if (paid !== '0') paying++
      }
      expect(paying).toBeGreaterThan(20)
    })

    test('income of each life is all that it was paid, and its stakes lead to where it is', () => {
      let [lives, moved] = [0, 0]
      for (const [tokenId, events] of groupBy(rows, (each) => each.tokenId)) {
        const isStaked = world.staked.includes(String(tokenId))
        const marks = events.filter(({ kind }) => kind !== 'update').map(toMark)
        const paid = world.flows
          .filter(({ op, id }) => id === String(tokenId) && (op === 'harvest' || op === 'unstake'))
          .reduce((sum, each) => sum + BigInt(each.paid), 0n)
        // $2.50 a token, millionths, half up.
        const usdE6 = (paid * 25n + 5n * 10n ** 12n) / 10n ** 13n
        expect([tokenId, computeRewardIncome({ marks }, { isStaked })]).toEqual([tokenId, { usdE6 }])
        expect(computeRewardIncome({ marks }, { isStaked: !isStaked })).toHaveProperty('because')
        if (marks.filter(({ event }) => event.kind === 'stake').length > 1) moved++
        lives++
      }
      expect({ areMany: lives > 50, areMoved: moved > 5 }).toEqual({ areMany: true, areMoved: true })
    })

    test('a reward without the transfer that paid it is incomplete', () => {
      const all = listLogs(world)
      const masterChef = world.contracts.masterChef as Hex
      const own = all.filter(({ address }) => address === masterChef)
      const { unsettled } = MASTER_CHEF_LOG.decode(masterChef, own, new Map())
      const cut = groupBy(own, ({ transactionHash }) => transactionHash)
      const receipts = new Map(unsettled.map((hash) => [hash, cut.get(hash) ?? []]))
      expect(() => MASTER_CHEF_LOG.decode(masterChef, own, receipts)).toThrow(IncompleteError)
    })
  })
}

test('what can be claimed counts, and a price that is missing is a reason, not zero', () => {
  const [world] = recorded.worlds
  const event = world && decode(world).find(({ kind, amount }) => kind === 'reward' && amount > 0n)
  if (event === undefined) throw new Error('Cannot test without a reward')
  const mark = toMark({ ...event, amount: 2n * 10n ** 18n })
  const token = { decimals: 18, price: { units: 3n, scale: 0 } }
  const sides = (['stake', 'unstake'] as const).map((kind) => toMark({ ...event, kind, amount: 0n }))
  const [staked, left] = sides
  if (staked === undefined || left === undefined) throw new Error('Cannot test without sides')
  const rewards = [{ amount: 10n ** 18n, token }]
  expect(computeRewardIncome({ marks: [staked, mark] }, { isStaked: true, rewards })).toEqual({ usdE6: 8_000_000n })
  expect(computeRewardIncome({ marks: [staked, mark, left] }, undefined)).toEqual({ usdE6: 5_000_000n })
  const unpriced = { ...mark, reward: { token: '0x1', decimals: 18, price: { because: 'it has no feed' } } } as const
  expect(computeRewardIncome({ marks: [staked, unpriced] }, { isStaked: true })).toEqual({
    because: 'a reward in token 0x1 has no price at its block: it has no feed',
  })
  const none = [{ amount: 1n, token: { decimals: 18, price: undefined } }]
  expect(computeRewardIncome({ marks: [staked] }, { isStaked: true, rewards: none })).toHaveProperty('because')
  // Nothing to claim needs no price.
  const nothing = [{ amount: 0n, token: { decimals: 18, price: undefined } }]
  expect(computeRewardIncome({ marks: [staked] }, { isStaked: true, rewards: nothing })).toEqual({ usdE6: 0n })
  expect(computeRewardIncome({ because: 'it is not read', isLasting: true }, undefined)).toHaveProperty('because')
})

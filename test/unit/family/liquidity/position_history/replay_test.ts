import { expect, test } from 'bun:test'
import { type Address, numberToHex } from 'viem'
import { replayHistory } from '../../../../../src/family/liquidity/position_history/pnl.ts'
import type { PositionFlow } from '../../../../../src/family/liquidity/position_history/position_flow.ts'
import {
  type BlockFacts,
  toPnlFlows,
  valueFlowsInSteps,
} from '../../../../../src/family/liquidity/position_history/valued_flows.ts'
import type { Steps } from '../../../../../src/lib/async/cooperative.ts'
import { createRandom } from '../../../../support/history/simulation/random.ts'
import { replay } from '../../../finance/math/pnl/replayed.ts'

const FLOWS = 4_800
const TOKENS = [
  { address: `0x${'11'.repeat(20)}` as Address, decimals: 18 },
  { address: `0x${'22'.repeat(20)}` as Address, decimals: 6 },
] as const
const SUBJECT = { tokens: TOKENS, tickLower: -200_000, tickUpper: 200_000 }

/** A history of deposits, withdrawals and collects in turn, each in a block of its own and at prices of its own. */
function longLife(): { readonly rows: readonly PositionFlow[]; readonly facts: ReadonlyMap<number, BlockFacts> } {
  const random = createRandom(7)
  const facts = new Map<number, BlockFacts>()
  let held = 0n
  const rows = Array.from({ length: FLOWS }, (_, index): PositionFlow => {
    const kind = (['increase', 'decrease', 'collect'] as const)[index % 3] ?? 'collect'
    const some = 1n + BigInt(random.below(1_000_000_007))
    const liquidity = { increase: 10n ** 18n + some, decrease: 1n + held / (2n + (some % 9n)), collect: 0n }[kind]
    held += kind === 'decrease' ? -liquidity : liquidity
    const block = 1_000 + index
    const timestampSec = 1_700_000_000 + 12 * index
    facts.set(block, {
      timestampSec: BigInt(timestampSec),
      own: [
        { units: 200_000_000_000n + some, scale: 8, source: 'feed' },
        { units: 100_000_000n + (some % 1_000n), scale: 8, source: 'feed' },
      ],
    })
    return {
      tokenId: 1n,
      block,
      logIndex: index % 7,
      kind,
      liquidity,
      timestampSec,
      amount0: 10n ** 15n + some,
      amount1: 10n ** 9n + some,
      transactionHash: numberToHex(index + 1, { size: 32 }),
    }
  })
  return { rows, facts }
}

/** How many times others had a turn while something was done. */
async function countTurns(work: () => Promise<unknown>): Promise<number> {
  let turns = 0
  let isOver = false
  const tick = () => {
    turns++
    if (!isOver) setImmediate(tick)
  }
  setImmediate(tick)
  await work()
  isOver = true
  return turns
}

/** What work in steps gives, and how many steps it took. */
function done<T>(work: Steps<T>): { readonly value: T; readonly steps: number } {
  for (let steps = 1; ; steps++) {
    const { done: isDone, value } = work.next()
    if (isDone === true) return { value, steps }
  }
}

test('a history of 4,800 flows is priced and replayed cooperatively, once, and extended by its new flows', async () => {
  const { rows, facts } = longLife()
  const { value: life, steps } = done(valueFlowsInSteps(rows, { subject: SUBJECT, facts }))
  expect(steps).toBeGreaterThanOrEqual(FLOWS / 256)

  const truth = replay([...toPnlFlows(life, TOKENS)])
  const whole = replayHistory(life, { subject: SUBJECT })
  expect(await countTurns(() => whole.ledger())).toBeGreaterThanOrEqual(FLOWS / 16)
  expect(await whole.ledger()).toEqual(truth)
  expect(await countTurns(() => whole.ledger())).toBeLessThanOrEqual(1)

  const first = 4_700
  const before = replayHistory(life.slice(0, first), { subject: SUBJECT })
  await before.ledger()
  const extended = replayHistory(life, { subject: SUBJECT, before })
  expect(await countTurns(() => extended.ledger())).toBeLessThanOrEqual(2 + (FLOWS - first) / 16)
  expect(await extended.ledger()).toEqual(truth)
  expect([extended.liquidity, extended.withdrawn]).toEqual([whole.liquidity, whole.withdrawn])
}, 30_000)

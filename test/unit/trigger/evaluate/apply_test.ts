import { expect, test } from 'bun:test'
import type { PinnedBlock } from '../../../../src/chain/block.ts'
import type { SubjectEvent } from '../../../../src/family/watch.ts'
import { applyEvents } from '../../../../src/trigger/evaluate/apply.ts'
import type { WatchedTrigger } from '../../../../src/trigger/evaluate/watchlist.ts'
import { createRule, type TriggerReorgState, type TriggerTransition } from '../../../../src/trigger/step.ts'
import type { Trigger } from '../../../../src/trigger/trigger.ts'
import { ARMED } from '../../../support/trigger/scene.ts'

const HASH = `0x${'11'.repeat(32)}` as const
const TRIGGER: Trigger = {
  organizationId: 'org',
  id: 'trg',
  family: 'aave-v3',
  subject: { wallet: '0x0000000000000000000000000000000000000001' },
  clause: { event: ['supply'] },
  clear: null,
  forBlocks: 1,
  finality: 'latest',
  name: null,
}

test('of the events of a block the first ten are told', () => {
  const reorgState: TriggerReorgState = { state: ARMED, notified: [], undecided: [], trail: [] }
  const entry: WatchedTrigger = {
    trigger: TRIGGER,
    rule: createRule(TRIGGER),
    subject: {
      family: TRIGGER.family,
      subject: TRIGGER.subject,
      entries: new Set(),
      confirmedAt: 0n,
      triedAt: 0n,
      isApart: false,
      isDue: false,
      phase: 0,
    },
    expiresAtMs: Number.POSITIVE_INFINITY,
    activeAtSec: 0,
    unseen: undefined,
    reorgState,
    stored: reorgState,
  }
  const block: PinnedBlock = { chainId: 1, number: 12n, hash: HASH, parentHash: HASH, timestampSec: 12n }
  const eventsAt = (blockNumber: number, count: number): SubjectEvent[] =>
    Array.from({ length: count }, (_, index) => ({
      subject: TRIGGER.subject,
      type: 'supply',
      blockNumber,
      blockHash: HASH,
      transactionHash: `0x${index}`,
      logIndex: index,
    }))
  const told: (TriggerTransition & { readonly block: bigint })[] = []
  const getTime = (number: number) => BigInt(number)
  const apply = (
    watched: WatchedTrigger,
    result: { reorgState: TriggerReorgState; transitions: readonly TriggerTransition[] },
    source: { block: { number: bigint } },
  ) => {
    watched.reorgState = result.reorgState
    told.push(...result.transitions.map((each) => ({ ...each, block: source.block.number })))
  }
  applyEvents(entry, [...eventsAt(10, 1_000), ...eventsAt(11, 3), ...eventsAt(12, 11)], { block, getTime, apply })
  const countAt = (number: bigint) => told.filter((each) => each.block === number).length
  expect([10n, 11n, 12n].map(countAt)).toEqual([10, 3, 10])
  expect(told.map(({ change }) => change)).toEqual(Array.from({ length: 23 }, (_, index) => index + 1))
})

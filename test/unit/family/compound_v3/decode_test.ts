import { expect, test } from 'bun:test'
import { type Hex, numberToHex, pad, zeroAddress } from 'viem'
import { decodeLogs } from '../../../../src/family/compound_v3/event/decode.ts'
import { createFilters } from '../../../../src/family/compound_v3/event/log.ts'
import type { HistoryLog } from '../../../../src/history/stream.ts'
import { FLOW_LOGS, FLOW_WALLETS, type FlowLog } from '../../../devnet/compound_v3/flows.ts'
import { WORLDS, type World } from '../../../devnet/compound_v3/vectors.ts'

const [world] = WORLDS as [World]
const TARGET = {
  chainId: 1,
  contract: world.comet.toLowerCase() as Hex,
  startBlock: 1,
  base: world.base.toLowerCase() as Hex,
  collaterals: world.collaterals.map(({ asset }) => asset.toLowerCase() as Hex),
}
const hash = pad('0x01')

function toHistoryLog(
  { block, topics, data }: Pick<FlowLog, 'block' | 'topics' | 'data'>,
  logIndex: number,
): HistoryLog {
  const place = { blockHash: hash, transactionHash: hash, transactionIndex: 0, timestampSec: null }
  return { ...place, address: TARGET.contract, topics, data, blockNumber: block, logIndex }
}

const logs = FLOW_LOGS.map(toHistoryLog)
const ACTS = new Map(FLOW_LOGS.map(({ block, act }) => [block, act]))

function readRows(wallet: Hex, some = logs) {
  const filters = createFilters(TARGET, [wallet])
  const found = some.filter(({ topics }) =>
    filters.some((filter) =>
      filter.topics.every((wanted, at) => wanted === null || wanted.includes(topics[at] ?? '0x')),
    ),
  )
  return decodeLogs(TARGET, found, { subjects: [wallet] }).rows
}

test('a debt repaid whole is a repayment alone, and what comes in before any debt is a supply', () => {
  const seen = new Set<string>()
  for (const wallet of FLOW_WALLETS) {
    const base = readRows(wallet).filter(({ asset }) => asset === TARGET.base)
    for (const { kind, block } of base.filter((row) => ACTS.get(row.block) === 'repayAll')) {
      expect([block, kind]).toEqual([block, 'repay'])
      seen.add('repay')
    }
    const [first] = base
    if (first?.kind === 'supply') seen.add('supply')
    expect(['supply', 'borrow', 'receive']).toContain(first?.kind ?? '')
  }
  expect([...seen].sort()).toEqual(['repay', 'supply'])
})

const [WALLET, OTHER] = FLOW_WALLETS as [Hex, Hex]
const findTopic = (act: string, size: number) =>
  FLOW_LOGS.find((log) => log.act === act && log.topics.length === size)?.topics[0] ?? '0x'
const TOPICS = { supply: findTopic('repayAll', 3), transfer: findTopic('transfer', 3) }
const word = (amount: bigint) => numberToHex(amount, { size: 32 })

/** A supply by a wallet, and how much of it the market says that it added to the supplied balance. */
function supply(amount: bigint, supplied: bigint, gap = 1): readonly HistoryLog[] {
  const [wallet, zero] = [pad(WALLET), pad(zeroAddress)]
  return [
    toHistoryLog({ block: 9, topics: [TOPICS.supply, wallet, wallet], data: word(amount) }, 4),
    toHistoryLog({ block: 9, topics: [TOPICS.transfer, zero, wallet], data: word(supplied) }, 4 + gap),
  ]
}

test('a supply beyond a debt is two events, which rounding alone does not make of one', () => {
  const read = (some: readonly HistoryLog[]) =>
    readRows(WALLET, [...some]).map(({ kind, amount, logIndex }) => [kind, amount, logIndex])
  expect(read(supply(1_000n, 400n))).toEqual([
    ['repay', 600n, 4],
    ['supply', 400n, 5],
  ])
  for (const lost of [0n, 1n, 3n]) expect(read(supply(1_000n, 1_000n - lost))).toEqual([['supply', 1_000n, 4]])
  expect(read(supply(1_000n, 996n))).toHaveLength(2)
  // A transfer that is not right behind it is one of its own.
  expect(read(supply(1_000n, 1_000n, 2))).toEqual([
    ['repay', 1_000n, 4],
    ['receive', 1_000n, 6],
  ])
})

test('rows of other wallets that a log names are left out unless all are asked for', () => {
  const all = decodeLogs(TARGET, logs, { subjects: null }).rows
  for (const wallet of [WALLET, OTHER]) expect(readRows(wallet)).toEqual(all.filter((row) => row.wallet === wallet))
})

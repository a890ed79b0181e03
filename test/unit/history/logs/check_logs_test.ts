import { expect, test } from 'bun:test'
import type { Hex } from 'viem'
import { checkLogs, orderLogs } from '../../../../src/history/logs/check_logs.ts'
import type { HistoryLog } from '../../../../src/history/stream.ts'

const POOL = `0x${'aa'.repeat(20)}` as Hex
const word = (value: number) => `0x${value.toString(16).padStart(64, '0')}` as Hex
const FILTER = { addresses: [POOL], topics: [[word(1), word(2)], null, [word(7)]] }
const RANGE = { fromBlock: 10, toBlock: 20 }

function log(changes: Partial<HistoryLog> = {}): HistoryLog {
  const blockNumber = changes.blockNumber ?? 12
  return {
    address: POOL,
    topics: [word(1), word(5), word(7)],
    data: '0x',
    blockNumber,
    blockHash: word(1_000 + blockNumber),
    transactionHash: word(blockNumber * 100 + (changes.transactionIndex ?? 0)),
    transactionIndex: 0,
    logIndex: 0,
    timestampSec: 1_700_000_000 + blockNumber,
    ...changes,
  }
}

const HONEST = [
  log({ blockNumber: 10, logIndex: 3 }),
  log({ blockNumber: 12, logIndex: 1 }),
  log({ blockNumber: 12, logIndex: 4, topics: [word(2), word(9), word(7), word(8)] }),
  log({ blockNumber: 12, logIndex: 5, transactionIndex: 2 }),
  log({ blockNumber: 20 }),
]

test('honest logs pass, and so do none', () => {
  checkLogs(HONEST, FILTER, RANGE)
  checkLogs([], FILTER, RANGE)
  checkLogs([log()], FILTER, { blockHash: word(1_012), number: 12 })
})

test.each<[string, readonly HistoryLog[]]>([
  ['outside the range', [log({ blockNumber: 9 })]],
  ['outside the range', [log({ blockNumber: 21 })]],
  ['the filter does not want', [log({ address: `0x${'ab'.repeat(20)}` })]],
  ['the filter does not want', [log({ topics: [word(3), word(5), word(7)] })]],
  ['the filter does not want', [log({ topics: [word(1), word(5), word(6)] })]],
  ['the filter does not want', [log({ topics: [word(1), word(5)] })]],
  ['out of order', [log({ blockNumber: 13 }), log({ blockNumber: 12 })]],
  ['out of order', [log({ logIndex: 2 }), log({ logIndex: 1 })]],
  ['out of order', [log({ transactionIndex: 2 }), log({ logIndex: 1, transactionIndex: 1 })]],
  ['a log index twice', [log({ logIndex: 2 }), log({ logIndex: 2 })]],
  ['one block with two hashes', [log(), log({ logIndex: 1, blockHash: word(5) })]],
  ['one block with two times', [log(), log({ logIndex: 1, timestampSec: 5 })]],
  ['two transactions at one place', [log(), log({ logIndex: 1, transactionHash: word(5) })]],
  [
    'two transactions at one place',
    [log({ transactionHash: word(5) }), log({ logIndex: 1, transactionIndex: 1, transactionHash: word(5) })],
  ],
  [
    'one transaction at two places',
    [log({ transactionHash: word(5) }), log({ blockNumber: 13, transactionHash: word(5) })],
  ],
])('refuses %s', (what, logs) => {
  expect(() => checkLogs(logs, FILTER, RANGE)).toThrow(what)
})

test('refuses a log of another block than the one that was asked for by its hash', () => {
  expect(() => checkLogs([log()], FILTER, { blockHash: word(1_013), number: 12 })).toThrow('outside the range')
  expect(() => checkLogs([log()], FILTER, { blockHash: word(1_012), number: 13 })).toThrow('outside the range')
})

test('logs in any order, some twice or without a time, are put in order and pass', () => {
  const timeless = HONEST.map((each, index) => (index % 2 === 0 ? { ...each, timestampSec: null } : each))
  for (const honest of [HONEST, timeless]) {
    for (const given of [
      honest,
      honest.toReversed(),
      [...honest, ...honest.slice(1, 3)],
      [...honest.slice(0, 1), ...honest],
    ]) {
      expect(orderLogs(given)).toEqual(honest)
      checkLogs(orderLogs(given), FILTER, RANGE)
    }
  }
})

test('one position with two logs, or one log with two times, is refused in any order', () => {
  for (const change of [{ topics: [word(2), word(5), word(7)] }, { timestampSec: 5 }]) {
    const logs = orderLogs([...HONEST, log({ blockNumber: 12, logIndex: 1, ...change })])
    expect(() => checkLogs(logs, FILTER, RANGE)).toThrow('The endpoint gave')
  }
})

test('logs of no transaction may come in several blocks, with any index', () => {
  const system = (changes: Partial<HistoryLog>) => log({ transactionHash: word(0), ...changes })
  checkLogs([system({}), system({ blockNumber: 17 })], FILTER, RANGE)
  checkLogs([system({ transactionIndex: 0xffffffff }), log({ logIndex: 1 })], FILTER, RANGE)
  checkLogs([log(), system({ logIndex: 1 }), system({ logIndex: 2, transactionIndex: 9 })], FILTER, RANGE)
  expect(() => checkLogs([system({}), system({})], FILTER, RANGE)).toThrow('a log index twice')
})

import { expect, test } from 'bun:test'
import { parseLogs } from '../../../../src/history/logs/parse_logs.ts'
import { EMITTER } from '../../../support/history/scene.ts'
import { toHash } from '../../../support/history/simulation/chain.ts'

const LOG = {
  address: EMITTER,
  topics: [toHash(1), toHash(3)],
  data: '0x00ff' as const,
  blockNumber: '0x10',
  blockHash: toHash(16),
  transactionHash: toHash(2),
  transactionIndex: '0x0',
  logIndex: '0xa',
}

test('a log is read as it was mined, with or without its time', () => {
  const parsed = { ...LOG, blockNumber: 16, transactionIndex: 0, logIndex: 10, timestampSec: null }
  expect(parseLogs([LOG, { ...LOG, removed: false, blockTimestamp: null }])).toEqual([parsed, parsed])
  expect(parseLogs([{ ...LOG, blockTimestamp: '0x64' }])).toEqual([{ ...parsed, timestampSec: 100 }])
})

test.each([
  ['numbers', { blockNumber: 16, logIndex: 10, blockTimestamp: 100 }],
  ['leading zeros', { blockNumber: `0x${'10'.padStart(64, '0')}`, logIndex: '0x000A' }],
  ['capitals', { logIndex: '0xA', blockHash: LOG.blockHash.toUpperCase().replace('X', 'x') }],
])('a log with %s is the same log', (_, change) => {
  const [plain, other] = parseLogs([
    { ...LOG, blockTimestamp: '0x64' },
    { ...LOG, blockTimestamp: '0x64', ...change },
  ])
  expect(other).toEqual(plain)
})

test.each(['0x0', 0, '', '100', '0x', 'now', -5, 1.5, {}, '0x100000000000000'])(
  'a time of %p is none, and the log is read',
  (blockTimestamp) => {
    expect(parseLogs([{ ...LOG, blockTimestamp }])[0]?.timestampSec).toBeNull()
  },
)

test('a log without data or of no transaction is read', () => {
  const { data: _, ...rest } = LOG
  expect(parseLogs([rest, { ...rest, data: null }, { ...rest, data: '' }]).map(({ data }) => data)).toEqual([
    '0x',
    '0x',
    '0x',
  ])
  const [system] = parseLogs([{ ...LOG, transactionHash: null, transactionIndex: undefined }])
  expect(system).toMatchObject({ transactionHash: `0x${'0'.repeat(64)}`, transactionIndex: 0 })
})

test.each([
  ['a negative number', { logIndex: -1 }],
  ['a number without prefix', { blockNumber: '10' }],
  ['nothing for a number', { logIndex: undefined }],
  ['a number that is not exact', { blockNumber: '0x100000000000000' }],
  ['half a byte', { data: '0x0' }],
  ['a hash that is too short', { blockHash: '0x12' }],
  ['five topics', { topics: Array.from({ length: 5 }, () => toHash(1)) }],
  ['what was taken back', { removed: true }],
] as const)('%s is no log', (_, change) => {
  expect(() => parseLogs([{ ...LOG, ...change }])).toThrow(TypeError)
})

import { expect, test } from 'bun:test'
import { parseLogs } from '../../../src/history/logs/parse_logs.ts'
import { EMITTER } from '../scene.ts'
import { toHash } from '../simulation/chain.ts'

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
  ['a number', { logIndex: 10 }],
  ['a number without prefix', { blockNumber: '10' }],
  ['nothing for a number', { transactionIndex: undefined }],
  ['a number that is not exact', { blockTimestamp: '0x100000000000000' }],
  ['half a byte', { data: '0x0' }],
  ['a hash that is too short', { blockHash: '0x12' }],
  ['five topics', { topics: Array.from({ length: 5 }, () => toHash(1)) }],
  ['what was taken back', { removed: true }],
] as const)('%s is no log', (_, change) => {
  expect(() => parseLogs([{ ...LOG, ...change }])).toThrow(TypeError)
})

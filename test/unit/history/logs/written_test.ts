import { expect, test } from 'bun:test'
import { isSameText, readWritten, takeWritten, toWritten } from '../../../../src/history/logs/written.ts'
import type { HistoryLog } from '../../../../src/history/stream.ts'
import { UpstreamError } from '../../../../src/lib/error.ts'
import { word } from '../../../support/history/simulation/chain.ts'

const write = (block: number) =>
  JSON.stringify({
    address: `0x${'11'.repeat(20)}`,
    topics: [word(block)],
    data: '0x',
    blockNumber: `0x${block.toString(16)}`,
    blockHash: word(block),
    transactionHash: word(100 + block),
    transactionIndex: '0x0',
    logIndex: '0x0',
  })
const keep = (logs: readonly HistoryLog[]) => logs
const take = (...blocks: readonly number[]) => {
  const written = takeWritten(`[${blocks.map(write).join()}]`, keep)
  if (written === undefined) throw new Error('Expected a list to be taken')
  return written
}

test('the text of logs is the same wherever it is divided, and differs by a log, its place or a digit', () => {
  const read = [take(1, 2), take(), take(3)]
  expect(isSameText(read, [take(1), take(2, 3)])).toBe(true)
  expect(isSameText(read, [take(1, 2, 3), take(), take()])).toBe(true)
  for (const other of [[take(1, 2)], [take(1, 3), take(2)], [take(1, 2), take(4)], [], [take(1, 2), toWritten([])]])
    expect(isSameText(read, other)).toBe(false)
  expect(isSameText([toWritten([])], [toWritten([])])).toBe(false)
})

test('taken logs are counted at once, and parsed and checked when they are asked for', async () => {
  const parts = [take(7, 8), take(), take(9)]
  expect(parts.map(({ count }) => count)).toEqual([2, 0, 1])
  expect((await readWritten(parts)).map(({ blockNumber }) => blockNumber)).toEqual([7, 8, 9])
  const refuse = () => {
    throw new UpstreamError('Not these')
  }
  await expect(takeWritten(`[${write(1)}]`, refuse)?.read()).rejects.toThrow('Not these')
})

test.each(['[{]', '[1]', '[{"logIndex":"0x0"}]', `[${write(1)},]`])('%s cannot be read', async (text) => {
  const written = takeWritten(text, keep)
  await expect(written?.read()).rejects.toBeInstanceOf(UpstreamError)
})

test('nothing but a list is taken, and no list of thousands', () => {
  expect(takeWritten('{"logIndex":1}', keep)).toBeUndefined()
  expect(takeWritten(`[${Array.from({ length: 5_001 }, () => '{"logIndex":0}').join()}]`, keep)).toBeUndefined()
})

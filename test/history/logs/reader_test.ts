import { expect, test } from 'bun:test'
import { createLearnedSource, type LogsOutcome } from '../../../src/history/logs/reader.ts'
import { LogsRefusedError } from '../../../src/history/logs/refusal.ts'
import type { LogSource } from '../../../src/history/logs/source.ts'
import { systemClock } from '../../../src/lib/clock.ts'

const PATIENT = new AbortController().signal

test('once a cap is known, longer ranges that still wait for their turn are divided without asking', async () => {
  const cap = 2_000
  const asked: number[] = []
  const source: LogSource = {
    ...{ index: 0, usable: true, header: async () => undefined, receipt: async () => undefined },
    async logs(_, range) {
      if (!('fromBlock' in range)) throw new Error('Expected a range')
      const blocks = range.toBlock - range.fromBlock + 1
      asked.push(blocks)
      await Bun.sleep(1)
      if (blocks > cap) throw new LogsRefusedError(-32_000, { kind: 'range', blocks: cap })
      return []
    },
  }
  const outcomes: LogsOutcome[] = []
  const learned = createLearnedSource({
    ...{ source, clock: systemClock, sleep: (ms) => Bun.sleep(ms), record: (outcome) => outcomes.push(outcome) },
  })
  const request = { key: 'k', filters: [{ addresses: [], topics: [] }], firstBlocks: 1_000, turn: 0 }
  // The first piece is short enough, so all others are made four times as long.
  await learned.read({ ...request, range: { fromBlock: 1, toBlock: 201_000 } }, PATIENT)
  const refused = asked.filter((blocks) => blocks > cap)
  expect(learned.cap).toBe(cap)
  expect(outcomes.filter((outcome) => outcome === 'refused').length).toBe(refused.length)
  // Of 50 only the eight that were under way at once, and the next, which starts before the first refusal is read.
  expect(refused.length).toBeLessThanOrEqual(9)
  expect(asked.filter((blocks) => blocks <= cap).reduce((sum, blocks) => sum + blocks, 0)).toBe(201_000)
})

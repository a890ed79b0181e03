import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { growWindow, nextLength, shrinkWindow, startWindow } from '../../../../src/history/logs/limits.ts'
import { splitRange } from '../../../../src/history/range.ts'

test('a window grows while answers are sparse, and aims at 2,000 logs', () => {
  const start = startWindow(10_000, undefined)
  expect(growWindow(start, { blocks: 10_000, logs: 0 }).blocks).toBe(40_000)
  expect(growWindow(start, { blocks: 10_000, logs: 400 }).blocks).toBe(40_000)
  expect(growWindow(start, { blocks: 10_000, logs: 1_600 }).blocks).toBe(12_500)
  expect(growWindow(start, { blocks: 10_000, logs: 2_500 }).blocks).toBe(8_000)
  expect(growWindow(start, { blocks: 10_000, logs: 9_000 }).blocks).toBe(5_000)
})

test('a window that was too long once grows slower from then on', () => {
  for (const reaction of [{ kind: 'late' }, { kind: 'results', blocks: undefined }] as const) {
    const halved = shrinkWindow(startWindow(10_000, undefined), reaction, 10_000)
    const grown = growWindow(halved, { blocks: 5_000, logs: 0 })
    expect(grown.blocks).toBe(7_500)
    expect(growWindow(grown, { blocks: 7_500, logs: 0 }).blocks).toBe(11_250)
  }
})

test('a short range at the end of the work changes nothing, unless it was dense', () => {
  const start = startWindow(10_000, undefined)
  expect(growWindow(start, { blocks: 10, logs: 0 })).toBe(start)
  expect(growWindow(start, { blocks: 1_000, logs: 4_000 }).blocks).toBe(5_000)
})

test('a stated cap only tightens, and no growth passes it', () => {
  const capped = shrinkWindow(startWindow(10_000, undefined), { kind: 'range', blocks: 2_000 }, 10_000)
  expect(capped).toMatchObject({ blocks: 2_000, cap: 2_000 })
  expect(growWindow(capped, { blocks: 2_000, logs: 0 })).toEqual(capped)
  expect(shrinkWindow(capped, { kind: 'range', blocks: 5_000 }, 10_000)).toEqual(capped)
  expect(shrinkWindow(capped, { kind: 'range', blocks: 10 }, 2_000)).toMatchObject({ blocks: 10, cap: 10 })
})

test('a cap that is longer than what is asked for makes nothing longer', () => {
  const short = shrinkWindow(startWindow(10_000, undefined), { kind: 'results', blocks: 10 }, 10_000)
  expect(shrinkWindow(short, { kind: 'range', blocks: 2_000 }, 5_000)).toMatchObject({ blocks: 10, cap: 2_000 })
})

test('a refusal without a number tries the next usual cap', () => {
  const step = shrinkWindow(startWindow(25_000, undefined), { kind: 'range', blocks: undefined }, 25_000)
  expect(step.cap).toBe(20_000)
  expect(shrinkWindow(step, { kind: 'range', blocks: undefined }, 20_000).cap).toBe(10_000)
  expect(shrinkWindow(step, { kind: 'range', blocks: undefined }, 1).cap).toBe(1)
})

test('refusals without a number go down the usual lengths one by one, and a cap in doubt is tried at the next one up', () => {
  const usual = [1_000_000, 500_000, 100_000, 50_000, 20_000, 10_000, 5_000, 3_000, 2_000, 1_000, 500, 100, 10, 5, 1]
  const caps: number[] = []
  for (let window = startWindow(2_000_000, undefined), blocks = 2_000_000; blocks > 1; blocks = window.blocks) {
    window = shrinkWindow(window, { kind: 'range', blocks: undefined }, blocks)
    caps.push(window.cap ?? 0)
  }
  expect(caps).toEqual(usual)
  expect(usual.map(nextLength)).toEqual([2_000_000, ...usual.slice(0, -1)])
})

test('too many results halve this window or take the proposed length, and leave the cap alone', () => {
  const capped = startWindow(8_000, 8_000)
  expect(shrinkWindow(capped, { kind: 'results', blocks: undefined }, 8_000)).toMatchObject({
    blocks: 4_000,
    cap: 8_000,
  })
  expect(shrinkWindow(capped, { kind: 'results', blocks: 123 }, 8_000)).toMatchObject({ blocks: 123, cap: 8_000 })
  expect(shrinkWindow(startWindow(1, undefined), { kind: 'results', blocks: undefined }, 1).blocks).toBe(1)
  expect(shrinkWindow(capped, { kind: 'late' }, 8_000)).toMatchObject({ blocks: 4_000, cap: 8_000 })
  expect(shrinkWindow(capped, { kind: 'rate', pauseMs: 1 }, 8_000)).toBe(capped)
})

test('pieces cover a range once, newest first, and shifted edges fall into the middle of the others', () => {
  fc.assert(
    fc.property(
      fc.nat(5_000),
      fc.integer({ min: 1, max: 700 }),
      fc.nat(3_000),
      fc.boolean(),
      (fromBlock, blocks, more, shift) => {
        const toBlock = fromBlock + more
        const pieces = splitRange({ fromBlock, toBlock }, blocks, shift)
        expect(pieces[0]?.toBlock).toBe(toBlock)
        expect(pieces.at(-1)?.fromBlock).toBe(fromBlock)
        for (const [index, piece] of pieces.entries()) {
          expect(piece.toBlock - piece.fromBlock + 1).toBeLessThanOrEqual(blocks)
          const next = pieces[index + 1]
          if (next !== undefined) expect(next.toBlock).toBe(piece.fromBlock - 1)
        }
      },
    ),
  )
  const edges = (shift: boolean) => splitRange({ fromBlock: 1, toBlock: 100 }, 10, shift).map((each) => each.toBlock)
  expect(edges(true).filter((edge) => edge !== 100 && edges(false).includes(edge))).toEqual([])
})

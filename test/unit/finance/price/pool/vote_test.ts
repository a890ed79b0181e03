import { describe, expect, test } from 'bun:test'
import type { Address } from 'viem'
import {
  comparePrices,
  decidePrice,
  isNear,
  type PoolVoice,
  takeMedian,
} from '../../../../../src/finance/price/pool/vote.ts'
import type { Decimal } from '../../../../../src/lib/number/decimal.ts'

const usd = (value: number): Decimal => ({ units: BigInt(Math.round(value * 1e9)), scale: 9 })
const dollars = (value: number) => BigInt(Math.round(value * 1e6)) * 10n ** 12n
const pool = (index: number): Address => `0x${String(index).padStart(40, '0')}`

function voice(index: number, price: number, depth: number, over: Partial<PoolVoice> = {}): PoolVoice {
  return {
    pool: pool(index),
    mean: usd(price),
    recent: usd(price),
    bestBid: usd(price),
    stood: dollars(depth),
    seen: dollars(depth),
    half: dollars(depth * 10),
    stoodHalf: dollars(depth * 10),
    ...over,
  }
}

function decided(voices: readonly PoolVoice[]) {
  const verdict = decidePrice(voices)
  if (verdict === undefined) return undefined
  const number = ({ units, scale }: Decimal) => Number(units) / 10 ** scale
  return {
    price: number(verdict.price),
    debtPrice: number(verdict.debtPrice),
    bound: Number(verdict.bound) / 1e18,
    marks: verdict.marks,
    pools: verdict.pools,
  }
}

describe('decidePrice()', () => {
  test('takes the median by depth, and bounds by the pools near it', () => {
    const voices = [voice(1, 2, 600), voice(2, 2.02, 700), voice(3, 20, 900)]
    expect(decided(voices)).toEqual({
      price: 2.02,
      debtPrice: 2.02,
      bound: 13_000,
      marks: [],
      pools: [pool(1), pool(2)],
    })
  })

  test('weighs a pool by the lesser of what stood and what was seen', () => {
    const honest = voice(1, 2, 1_100)
    // Neither dollars of half an hour that left nor dollars of a moment outweigh 1,100 that do both.
    expect(decided([honest, voice(2, 20, 0, { stood: dollars(60_000), seen: dollars(900) })])).toMatchObject({
      price: 2,
      debtPrice: 2,
    })
    expect(decided([honest, voice(2, 0.02, 0, { stood: dollars(900), seen: dollars(60_000) })])).toMatchObject({
      debtPrice: 2,
      marks: ['disputed'],
      pools: [pool(1)],
    })
  })

  test('takes the lower of two medians', () => {
    expect(decided([voice(1, 2, 1_000), voice(2, 3, 1_000)])?.price).toBe(2)
    expect(decided([voice(1, 2, 1_000), voice(2, 3, 1_000.000_001)])?.price).toBe(3)
  })

  test.each([
    [1_000, []],
    [999.999_999, ['thin']],
    [10, ['thin']],
  ] as const)('marks %d dollars of depth %p', (depth, marks) => {
    expect(decided([voice(1, 2, depth)])?.marks).toEqual([...marks])
  })

  test('is by bids alone below ten dollars of depth, and nothing without them', () => {
    const shallow = { stood: dollars(9), seen: dollars(9) }
    expect(decided([voice(1, 2, 0, { ...shallow, half: dollars(10), bestBid: usd(1.9) })])).toEqual({
      price: 1.9,
      debtPrice: 1.9,
      bound: 10,
      marks: ['one_sided'],
      pools: [pool(1)],
    })
    expect(decided([voice(1, 2, 0, { ...shallow, half: dollars(9.999_999) })])).toBeUndefined()
    expect(decided([voice(1, 2, 0, { ...shallow, half: dollars(10), bestBid: undefined })])).toBeUndefined()
    expect(decided([])).toBeUndefined()
  })

  test('is by what stood for most of the window where the looks found nothing; the pool then pays nothing', () => {
    const empty = voice(1, 2, 0, { stood: dollars(500), seen: 0n, half: 0n })
    expect(decided([empty])).toMatchObject({ price: 2, bound: 0, marks: ['thin'] })
  })

  test('leaves out pools with less than a tenth of what is needed together', () => {
    const crumbs = Array.from({ length: 30 }, (_, index) => voice(index + 2, 3, 99.999))
    expect(decided([voice(1, 2, 1_000), ...crumbs])).toMatchObject({ price: 2, pools: [pool(1)] })
    const voters = crumbs.map((each) => ({ ...each, stood: dollars(100), seen: dollars(100) }))
    expect(decided([voice(1, 2, 1_000), ...voters])?.price).toBe(3)
  })

  test('needs the depth near the median: pools that all disagree are thin', () => {
    const voices = [voice(1, 1, 500), voice(2, 2, 900), voice(3, 4, 500)]
    expect(decided(voices)).toMatchObject({ price: 2, marks: ['thin'], pools: [pool(2)] })
  })

  test('counts an asset at the recent price if that is lower, and a debt if it is higher', () => {
    expect(decided([voice(1, 2, 2_000, { recent: usd(1.99) })])).toMatchObject({ price: 1.99, debtPrice: 2, marks: [] })
    expect(decided([voice(1, 2, 2_000, { recent: usd(1) })])).toMatchObject({
      price: 1,
      debtPrice: 2,
      marks: ['moved'],
    })
    expect(decided([voice(1, 2, 2_000, { recent: usd(8) })])).toMatchObject({
      price: 2,
      debtPrice: 8,
      marks: ['moved'],
    })
  })

  test('is disputed if what the looks found says another price', () => {
    const honest = voice(1, 2, 0, { stood: dollars(500), seen: dollars(60_000) })
    const hostile = voice(2, 0.02, 1_300)
    expect(decided([honest, hostile])).toMatchObject({
      price: 0.02,
      debtPrice: 2,
      marks: ['disputed'],
      pools: [pool(2)],
    })
    const high = voice(3, 20, 0, { stood: dollars(1), seen: dollars(60_000) })
    expect(decided([voice(1, 2, 2_000), high])).toMatchObject({ price: 2, debtPrice: 20, marks: ['disputed'] })
    // Below 1,000 dollars the looks have no veto.
    const faint = voice(3, 20, 0, { stood: dollars(1), seen: dollars(999) })
    expect(decided([faint, voice(1, 2, 500)])).toMatchObject({ price: 2, debtPrice: 2, marks: ['thin'] })
  })

  test('bounds each pool by the lesser of what was seen and what stood', () => {
    const voices = [
      voice(1, 2, 1_000, { half: dollars(700) }),
      voice(2, 2, 1_000, { stoodHalf: dollars(50), half: dollars(1e6) }),
    ]
    expect(decided(voices)?.bound).toBe(750)
  })

  test('leaves pools without a past out of the vote', () => {
    const young = voice(2, 9, 50_000, { mean: undefined, recent: undefined })
    expect(decided([voice(1, 2, 1_000), young])).toMatchObject({ price: 2, debtPrice: 2, marks: [] })
  })
})

test('takeMedian() is the least value with half of the weight at or below it', () => {
  const votes = (...rows: readonly (readonly [number, bigint])[]) =>
    takeMedian(rows.map(([price, weight]) => ({ price: usd(price), weight })))
  expect(votes([3, 1n], [1, 1n], [2, 2n])).toEqual(usd(2))
  expect(votes([3, 1n], [1, 1n])).toEqual(usd(1))
  expect(votes([3, 3n], [1, 2n])).toEqual(usd(3))
  expect(votes()).toBeUndefined()
})

test('isNear() is within 513 ticks, whatever the scales', () => {
  const [one, ratio] = [{ units: 1n, scale: 0 }, 1.0001 ** 513]
  const at = (value: number) => ({ units: BigInt(Math.round(value * 1e12)), scale: 12 })
  for (const [a, b] of [
    [one, at(ratio - 1e-9)],
    [at(ratio - 1e-9), one],
    [at(1 / ratio + 1e-9), one],
  ] as const) {
    expect(isNear(a, b)).toBe(true)
  }
  for (const [a, b] of [
    [one, at(ratio + 1e-9)],
    [at(1 / ratio - 1e-9), one],
  ] as const) {
    expect(isNear(a, b)).toBe(false)
  }
  expect(comparePrices({ units: 20n, scale: 1 }, { units: 2n, scale: 0 })).toBe(0)
  expect(comparePrices({ units: 3n, scale: 1 }, { units: 2n, scale: 0 })).toBeLessThan(0)
  expect(comparePrices({ units: 3n, scale: 0 }, { units: 29n, scale: 1 })).toBeGreaterThan(0)
})

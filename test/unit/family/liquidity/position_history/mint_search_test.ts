import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import {
  type Mint,
  type MintBracket,
  narrowBracket,
  nextWindow,
} from '../../../../../src/family/liquidity/position_history/mint_block.ts'
import { caseCount } from '../../../../support/cases.ts'

/** Looks for a mint among all mints of a chain, `blocks` at a time; a window without any doubles the next. */
function search(
  mints: readonly Mint[],
  tokenId: bigint,
  { to, blocks }: { readonly to: number; readonly blocks: number },
) {
  let bracket: MintBracket = { tokenId, from: 0, to }
  let [probes, length] = [0, blocks]
  for (; bracket.from <= bracket.to && probes < 1_000; probes++) {
    const window = nextWindow(bracket, { blocks: length, probes })
    expect(window.fromBlock).toBeLessThanOrEqual(window.toBlock)
    expect(window.toBlock - window.fromBlock).toBeLessThan(length)
    const seen = mints.slice(findFrom(mints, window.fromBlock), findFrom(mints, window.toBlock + 1))
    const next = narrowBracket(bracket, window, seen)
    if (next === undefined) return { broken: true, probes }
    if (typeof next === 'number') return { block: next, probes: probes + 1 }
    length = seen.length === 0 ? length * 2 : blocks
    bracket = next
  }
  return { probes }
}

/** Index of the first mint from a block on, by halving: a chain has hundreds of thousands. */
function findFrom(mints: readonly Mint[], block: number): number {
  let [low, high] = [0, mints.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if ((mints[middle] as Mint).block < block) low = middle + 1
    else high = middle
  }
  return low
}

const MINTS = fc.array(fc.integer({ min: 0, max: 400 }), { minLength: 1, maxLength: 300 }).map((gaps) => {
  let block = 0
  return gaps.map((gap, index): Mint => {
    block += gap
    return { tokenId: BigInt(index + 1), block }
  })
})

describe('the search for a mint', () => {
  test('finds every mint of any chain, and ends for an id that was never minted', () => {
    fc.assert(
      fc.property(MINTS, fc.nat(), fc.integer({ min: 1, max: 700 }), fc.nat(5_000), (mints, pick, blocks, more) => {
        const mint = mints[pick % mints.length] as Mint
        const to = (mints.at(-1)?.block ?? 0) + more
        expect(search(mints, mint.tokenId, { to, blocks }).block).toBe(mint.block)
        const never = search(mints, BigInt(mints.length + 1), { to, blocks })
        expect(never).toEqual({ probes: expect.any(Number) })
        expect(never.probes).toBeLessThan(1_000)
      }),
      { numRuns: caseCount(400) },
    )
  })

  test('needs few windows in a long chain', () => {
    let state = 5
    const mints: Mint[] = []
    for (let block = 12_000_000; block < 22_000_000; block += 1 + (state % 61)) {
      state = (state * 48_271) % 2_147_483_647
      mints.push({ tokenId: BigInt(mints.length + 1), block })
    }
    const looks = Array.from({ length: 50 }, (_, index) => {
      const mint = mints[Math.floor((mints.length * index) / 50)] as Mint
      const found = search(mints, mint.tokenId, { to: 22_000_000, blocks: 500 })
      expect(found.block).toBe(mint.block)
      return found.probes
    })
    expect(Math.max(...looks)).toBeLessThan(25)
  }, 60_000)

  test('draws no conclusion from mints out of order', () => {
    const mints = [
      { tokenId: 3n, block: 1 },
      { tokenId: 9n, block: 2 },
    ]
    expect(narrowBracket({ tokenId: 5n, from: 0, to: 9 }, { fromBlock: 0, toBlock: 4 }, mints)).toBeUndefined()
  })
})

import { expect, test } from 'bun:test'
import { joinPages } from '../../../../src/family/liquidity/list/records.ts'

const BLOCK = { chainId: 1, number: 1n, timestampSec: 1n, parentHash: '0x' } as const

/** A page of one token, one pool of it and one position, whose reward is in it too. */
function toPage(name: string) {
  return {
    block: BLOCK,
    taken: 1,
    tokens: [name],
    pools: [{ name, token0: 0, token1: 0 }],
    positions: [
      { name, pool: 0, rewards: [{ token: 0, words: [1n] }] },
      { name, pool: 0 },
    ],
    broken: [],
  }
}

test('pages are joined with the numbers of tokens and pools that their places have in the whole', () => {
  const { tokens, pools, positions, taken } = joinPages([
    { page: toPage('a') },
    { page: toPage('b') },
  ] as never) as ReturnType<typeof toPage>
  expect({ tokens, taken }).toEqual({ tokens: ['a', 'b'], taken: 2 })
  for (const { name, token0, token1 } of pools) expect([tokens[token0], tokens[token1]]).toEqual([name, name])
  for (const { name, pool, rewards = [] } of positions) {
    expect(pools[pool]?.name).toBe(name)
    for (const { token } of rewards) expect(tokens[token]).toBe(name)
  }
  expect(positions.map((each) => 'rewards' in each)).toEqual([true, false, true, false])
})

import { describe, expect, test } from 'bun:test'
import { readRows } from '../../../../src/portfolio/routes/rows.ts'
import type { AssetsRead, HeldAsset } from '../../../../src/portfolio/sum/row.ts'

const { signal } = new AbortController()

function createAsset(part: string): HeldAsset {
  return {
    chainId: 1,
    kind: 'liquidity',
    token: { address: '0x0000000000000000000000000000000000000001', symbol: 'T', name: '', decimals: 6 },
    amount: 1_000_000n,
    price: { kind: 'price', price: { units: 1n, scale: 0, source: 'stablecoin' } },
    isUnlisted: false,
    refused: undefined,
    position: { family: 'uniswap-v3', part },
  }
}

const READ: AssetsRead = {
  block: { chainId: 1, number: 9n },
  assets: [createAsset('owed')],
  itemize: () => Promise.resolve([createAsset('fees'), createAsset('withdrawn')]),
  tokensAsked: 0,
  isUnsourced: false,
  notRead: [],
}

function read(isItemized: boolean) {
  const portfolio = () => ({
    reader: { read: () => Promise.resolve({ reads: [{ ...READ, untilMs: 0 }], unread: [] }) },
    listFamilies: () => [],
    listTokenLists: () => [],
    listOmitted: () => [],
  })
  const options = { chainIds: [1], nativeDoubles: new Map(), portfolio }
  return readRows(options, { wallet: '0x', allow_partial: false, include_unlisted: false, isItemized }, signal)
}

describe('readRows()', () => {
  test('tells parts of positions apart only where rows are shown', async () => {
    const listParts = async (isItemized: boolean) =>
      (await read(isItemized)).rows.map(({ position }) => position?.['part'])
    expect(await listParts(true)).toEqual(['fees', 'withdrawn'])
    expect(await listParts(false)).toEqual(['owed'])
  })
})

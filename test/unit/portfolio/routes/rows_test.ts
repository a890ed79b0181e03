import { describe, expect, test } from 'bun:test'
import { createRateReader } from '../../../../src/finance/currency/rate.ts'
import { createWork } from '../../../../src/lib/async/work.ts'
import { assetsRoute } from '../../../../src/portfolio/routes/assets.ts'
import { readRows } from '../../../../src/portfolio/routes/rows.ts'
import type { AssetsRead, HeldAsset, Row } from '../../../../src/portfolio/sum/row.ts'
import { callRoute } from '../../../support/call_route.ts'
import { createFixedClock } from '../../../support/test_clock.ts'

const work = createWork(new AbortController().signal)

const UNIT = 1_000_000n
const WALLET = '0x0000000000000000000000000000000000000009'

function createAsset(part: string, amount = 1n, id = '7'): HeldAsset {
  return {
    chainId: 1,
    kind: 'liquidity',
    token: { address: '0x0000000000000000000000000000000000000001', symbol: 'T', name: '', decimals: 6 },
    amount: amount * UNIT,
    price: { kind: 'price', price: { units: 1n, scale: 0, source: 'stablecoin' } },
    isUnlisted: false,
    refused: undefined,
    position: { family: 'uniswap-v3', token_id: id, part },
  }
}

const READ: AssetsRead = {
  block: { chainId: 1, number: 9n },
  assets: [createAsset('principal'), createAsset('owed', 5n), createAsset('owed', 1n, '8')],
  itemize: () =>
    Promise.resolve([
      createAsset('principal'),
      createAsset('fees', 2n),
      createAsset('withdrawn', 3n),
      createAsset('owed', 1n, '8'),
    ]),
  tokensAsked: 0,
  isUnsourced: false,
  notRead: [],
}

/** The same before any history is read. */
const UNTOLD: AssetsRead = { ...READ, itemize: () => Promise.resolve(READ.assets) }

const options = {
  rates: () => createRateReader({ clients: new Map(), clock: createFixedClock() }),
  chainIds: [1],
  nativeDoubles: new Map(),
  portfolio: () => ({
    reader: { read: () => Promise.resolve({ reads: [{ ...READ, untilMs: 0 }], unread: [] }) },
    listFamilies: () => [],
    listTokenLists: () => [],
    listOmitted: () => [],
  }),
}

const listParts = (rows: readonly Row[]) =>
  rows.map(({ position, amount }) => `${position?.['token_id']} ${position?.['part']} ${amount / UNIT}`)

describe('readRows()', () => {
  test('tells parts of the rows that are shown apart, in the place of the whole', async () => {
    const { rows, divide } = await readRows(
      options,
      { wallet: '0x', allow_partial: false, include_unlisted: false },
      work,
    )
    expect(listParts(rows)).toEqual(['7 principal 1', '7 owed 5', '8 owed 1'])
    expect(listParts(await divide(rows.toReversed()))).toEqual([
      '8 owed 1',
      '7 fees 2',
      '7 withdrawn 3',
      '7 principal 1',
    ])
    expect(listParts(await divide(rows.slice(0, 1)))).toEqual(['7 principal 1'])
  })
})

describe('the route of the rows', () => {
  test('has pages that do not move when parts are told apart between two of them, at one price', async () => {
    const isTold = { value: false }
    const moving = () => ({
      ...options.portfolio(),
      reader: {
        read: () => Promise.resolve({ reads: [{ ...(isTold.value ? READ : UNTOLD), untilMs: 0 }], unread: [] }),
      },
    })
    const route = assetsRoute({ ...options, portfolio: moving })
    const ask = async (page: number) => {
      const answer = await callRoute(route, { query: `wallet=${WALLET}&limit=1&page=${page}` })
      const rows = answer.reply.data as readonly { readonly position: Record<string, string> }[]
      return {
        parts: rows.map(({ position: { token_id, part } }) => `${token_id} ${part}`),
        total: answer.reply.pagination?.total,
        credits: answer.credits,
      }
    }
    expect(await ask(1)).toEqual({ parts: ['7 owed'], total: 3, credits: 2 })
    isTold.value = true
    expect(await ask(1)).toEqual({ parts: ['7 fees', '7 withdrawn'], total: 3, credits: 2 })
    expect(await ask(2)).toEqual({ parts: ['7 principal'], total: 3, credits: 2 })
    expect(await ask(3)).toEqual({ parts: ['8 owed'], total: 3, credits: 2 })
    expect(await ask(4)).toEqual({ parts: [], total: 3, credits: 0 })
  })
})

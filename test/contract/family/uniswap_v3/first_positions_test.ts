import { afterAll, beforeAll, expect, test } from 'bun:test'
import { createChainClient } from '../../../../src/chain/evm/evm_client.ts'
import { silentLog } from '../../../../src/lib/log.ts'
import { BANK, toWalletAddress } from '../../../devnet/addresses.ts'
import { createDevnetChain } from '../../../devnet/chain.ts'
import { type Devnet, startDevnet } from '../../../devnet/mod.ts'
import { caseCount } from '../../../support/cases.ts'
import { DEPLOYMENT } from '../../../support/family/uniswap_v3/support.ts'
import { createHurriedClock } from '../../../support/test_clock.ts'
import { ask, createRoutes, getIds } from './ask.ts'

/** A list of 1,000 used to take three round trips and 0.94 MB for ten rows. */
const COUNT = caseCount(1_000, 400)
/** The first hundred are whole, 940 bytes each, and all others brief. */
const BYTES_MAX = 100_000 + 150 * COUNT

const owner = toWalletAddress('owner of many')

let devnet: Devnet
let minted: readonly bigint[]
/** The twentieth position, which the manager enumerates last. */
let moved: bigint

/** This file has its own chain, because hundreds of positions would slow down other tests. */
beforeAll(async () => {
  devnet = await startDevnet()
  minted = await devnet.mintMany(owner, COUNT)
  const stored = await devnet.v3.readPositions(minted.slice(0, 3))
  for (const position of stored) await devnet.v3.decreaseLiquidity({ ...position })
  moved = minted[19] ?? 0n
}, 180_000)

afterAll(async () => {
  await devnet.stop()
})

/** Creates the list's route, with the method and the length of the answer of each request to the node. */
function listing(reuseMs = 0) {
  const answers: { readonly method: string; readonly bytes: number }[] = []
  const chain = createDevnetChain(devnet, { reuseMs })
  const client = createChainClient({
    chain,
    clock: createHurriedClock(),
    log: silentLog,
    async fetch(url, { method, headers, body }) {
      const asked = JSON.parse(body) as { readonly method: string }
      const response = await fetch(url, { method, headers, body })
      const bytes = await response.arrayBuffer()
      if (asked.method !== 'eth_chainId') answers.push({ method: asked.method, bytes: bytes.byteLength })
      return { ok: response.ok, status: response.status, headers: response.headers, arrayBuffer: async () => bytes }
    },
  })
  const { list } = createRoutes([client], [DEPLOYMENT])
  return {
    answers,
    async read(query: string) {
      const answer = await ask(list, `wallet=${owner}${query}`)
      return { ids: getIds(answer), counts: answer.reply.counts, data: answer.reply.data }
    },
  }
}

const COUNTS = { totalActive: COUNT - 3, totalInactive: 3, total: COUNT, errors: 0, spams: [] }

test(`a page of a wallet of ${COUNT} positions takes one request of ${BYTES_MAX} bytes at most`, async () => {
  const { answers, read } = listing()
  const first = await read('&limit=10')
  expect(first.ids).toEqual(minted.slice(3, 13).map(String))
  expect(first.counts).toEqual({ ...COUNTS, filtered: COUNT - 3 })
  expect(answers.map(({ method }) => method)).toEqual(['eth_call'])
  expect(answers[0]?.bytes).toBeLessThan(BYTES_MAX)
})

test('further pages and closed positions of the first hundred come from the same read', async () => {
  const { answers, read } = listing(600_000_000)
  await read('&limit=10')
  for (const page of [2, 10]) {
    const start = 3 + (page - 1) * 10
    expect((await read(`&limit=10&page=${page}`)).ids).toEqual(minted.slice(start, start + 10).map(String))
  }
  const closed = await read('&status=inactive')
  expect(closed.ids).toEqual(minted.slice(0, 3).map(String))
  expect(closed.counts).toEqual({ ...COUNTS, filtered: 3 })
  expect(answers).toHaveLength(1)
})

test('a later page takes one more request, in which all are read whole', async () => {
  const { answers, read } = listing(600_000_000)
  expect((await read('&limit=10&page=20')).ids).toEqual(minted.slice(193, 203).map(String))
  expect(answers.map(({ method }) => method)).toEqual(['eth_call', 'eth_call'])
  await read('&limit=10&page=39')
  expect(answers).toHaveLength(2)
})

test('full=true takes the whole list in one request', async () => {
  const { answers, read } = listing()
  const { data } = await read('&limit=1&full=true')
  expect(data).toHaveLength(1)
  // The others are about the history of that one.
  expect(answers.filter(({ method, bytes }) => method === 'eth_call' && bytes > BYTES_MAX)).toHaveLength(1)
})

test('a page is the same where the manager enumerates in another order, after one more request', async () => {
  const before = await listing().read('&limit=25')
  await devnet.v3.transfer({ tokenId: moved, owner, to: BANK })
  await devnet.v3.transfer({ tokenId: moved, owner: BANK, to: owner })
  const { answers, read } = listing()
  expect((await read('&limit=10')).ids).toEqual(before.ids.slice(0, 10))
  expect(answers).toHaveLength(1)
  const page = await read('&limit=25')
  expect(page.ids).toEqual(before.ids)
  expect(page.ids).toContain(String(moved))
  expect(answers).toHaveLength(3)
})

import { expect, test } from 'bun:test'
import { type Hex, toHex } from 'viem'
import type { Chain } from '../../../src/chain/chain.ts'
import { createCoverage } from '../../../src/history/coverage.ts'
import { createFinalityTracker } from '../../../src/history/finality.ts'
import { createWork } from '../../../src/lib/async/work.ts'
import { UnavailableError } from '../../../src/lib/error.ts'
import { silentLog } from '../../../src/lib/log.ts'
import { createTestClient } from '../../support/history/scene.ts'
import type { Fault, SeenRequest } from '../../support/rpc.ts'
import { slowClock } from '../../support/test_clock.ts'
import { CHAIN_ID, setStage } from './stage.ts'

const never = createWork(new AbortController().signal)
const HEAD = 100
const TAG = { tag: 'finalized' } as const

const stage = setStage({ endpoints: 3, prepare: (rpc) => rpc.call('anvil_mine', toHex(HEAD)) })

/** The newest block and the final one, as history would build on them. */
async function readTip(finality: Chain['finality'], endpoints = 1, first = 0) {
  const urls = stage.proxies.slice(first, first + endpoints).map(({ url }) => url)
  const client = createTestClient(urls, { chainId: CHAIN_ID, finality })
  stage.closers.push(() => client.close())
  const coverage = createCoverage(stage.database.db, 'test')
  const tracker = createFinalityTracker({ coverage, clock: slowClock, log: silentLog })
  const { block, finalized } = await tracker.readTip(client, never)
  return { block: Number(block.number), finalized: Number(finalized.number), hash: finalized.hash }
}

/** Answers a question for the final block with the header of another block. */
async function finalIs(number: number): Promise<(request: SeenRequest) => Fault | undefined> {
  const header = await stage.rpc.call<object>('eth_getBlockByNumber', toHex(Math.min(number, HEAD)), false)
  const result = { ...header, number: toHex(number) }
  return (request) => (asksForFinal(request) ? { kind: 'result', result } : undefined)
}

function asksForFinal({ method, params }: SeenRequest): boolean {
  return method === 'eth_getBlockByNumber' && params[0] === 'finalized'
}

async function readHash(number: number): Promise<Hex> {
  return (await stage.rpc.call<{ readonly hash: Hex }>('eth_getBlockByNumber', toHex(number), false)).hash
}

test('the tag says which block is final', async () => {
  stage.proxies[0]?.rule(await finalIs(60))
  expect(await readTip(TAG)).toEqual({ block: HEAD, finalized: 60, hash: await readHash(60) })
  expect((await createCoverage(stage.database.db, 'test').readAnchorState(CHAIN_ID)).anchor).toMatchObject({
    number: 60,
    isStopped: false,
  })
})

test.each([HEAD - 7, HEAD, HEAD + 1, HEAD + 1_000])(
  'a tag that is too new, or above the head, is not believed: of block %i the eighth before the head is final',
  async (number) => {
    stage.proxies[0]?.rule(await finalIs(number))
    expect(await readTip(TAG)).toEqual({ block: HEAD, finalized: HEAD - 8, hash: await readHash(HEAD - 8) })
  },
)

test('a depth of less than eight blocks is eight, and no block before the first is final', async () => {
  expect((await readTip({ depth: HEAD + 1 })).finalized).toBe(0)
  expect((await readTip({ depth: 9 })).finalized).toBe(HEAD - 9)
  expect((await readTip({ depth: 0 })).finalized).toBe(HEAD - 8)
  // What was final stays so.
  expect((await readTip({ depth: 9 })).finalized).toBe(HEAD - 8)
})

test.each<readonly [string, Fault]>([
  ['knows no final block', { kind: 'result', result: null }],
  [
    'refuses the tag',
    { kind: 'error', error: { code: -32602, message: 'invalid argument 0: hex string without 0x prefix' } },
  ],
  ['has not heard of finality', { kind: 'error', error: { code: -32601, message: 'finalized block not found' } }],
])('an endpoint that %s: another one says it, and alone it is 503', async (_, fault) => {
  stage.proxies[0]?.rule((request) => (asksForFinal(request) ? fault : undefined))
  stage.proxies[1]?.rule(await finalIs(60))
  expect(await readTip(TAG, 2)).toMatchObject({ finalized: 60 })
  await expect(readTip(TAG)).rejects.toBeInstanceOf(UnavailableError)
  // No endpoint needs the tag if the chain is configured with a depth.
  expect((await readTip({ depth: 40 })).finalized).toBe(60)
})

const FALSE_HASH = `0x${'bad0'.repeat(16)}` as Hex

/** Says that a block has another hash, whenever it is asked for it. */
function another(number: number): (request: SeenRequest) => Fault | undefined {
  const change = (block: unknown) =>
    Number((block as { readonly number: Hex }).number) === number ? { ...(block as object), hash: FALSE_HASH } : block
  return ({ method }) => (method === 'eth_getBlockByNumber' ? { kind: 'change', change } : undefined)
}

/** Says that the chain is so much longer. */
function tooHigh({ method, params }: SeenRequest): Fault | undefined {
  const change = (block: unknown) => ({ ...(block as object), number: toHex(HEAD + 1e9) })
  return method === 'eth_getBlockByNumber' && params[0] === 'latest' ? { kind: 'change', change } : undefined
}

async function readAnchor() {
  return (await createCoverage(stage.database.db, 'test').readAnchorState(CHAIN_ID)).anchor
}

test('a false hash for the tag alone is not believed: the block is asked for by its number', async () => {
  const final = await finalIs(60)
  const change = (block: unknown) => ({ ...(block as object), number: toHex(60), hash: FALSE_HASH })
  stage.proxies[0]?.rule((request) => (asksForFinal(request) ? { kind: 'change', change } : undefined))
  stage.proxies[1]?.rule(final)
  expect(await readTip(TAG, 2)).toMatchObject({ finalized: 60, hash: await readHash(60) })
  expect(await readAnchor()).toMatchObject({ number: 60, hash: await readHash(60), witnesses: 2 })
})

test('two endpoints with different final blocks: neither is believed, 503 names the check, and it goes on when they agree', async () => {
  for (const liar of [0, 1]) {
    stage.proxies[liar]?.rule(another(60))
    const reading = readTip({ depth: 40 }, 2)
    await expect(reading).rejects.toThrow('(check "final block")')
    await expect(reading).rejects.toBeInstanceOf(UnavailableError)
    await expect(reading).rejects.toMatchObject({ retryAfterSec: 15 })
    expect(await readAnchor()).toBeUndefined()
    stage.proxies[liar]?.rule(() => undefined)
  }
  expect(await readTip({ depth: 40 }, 2)).toMatchObject({ finalized: 60, hash: await readHash(60) })
})

test.each([0, 1, 2])('of three endpoints, two that agree are believed (the liar is number %i)', async (liar) => {
  stage.proxies[liar]?.rule(another(60))
  expect(await readTip({ depth: 40 }, 3)).toMatchObject({ finalized: 60, hash: await readHash(60) })
})

test.each([0, 1])(
  'a head that is far too high moves no anchor beyond the other head (the liar is number %i)',
  async (liar) => {
    stage.proxies[liar]?.rule(tooHigh)
    expect((await readTip({ depth: 9 }, 2)).finalized).toBeLessThan(HEAD)
    expect((await readAnchor())?.number).toBeLessThan(HEAD)
  },
)

async function anchorAt(number: number, hash: Hex, witnesses = 1): Promise<void> {
  await createCoverage(stage.database.db, 'test').moveAnchor(CHAIN_ID, { number, hash, witnesses }, 0)
}

test('a false anchor is rolled back to the previous one', async () => {
  await anchorAt(50, await readHash(50), 2)
  await anchorAt(55, FALSE_HASH, 2)
  expect(await readTip({ depth: 40 }, 2)).toMatchObject({ finalized: 60 })
  expect(await readAnchor()).toMatchObject({ number: 60, previous: { number: 50 } })
})

test('an anchor beyond every head is rolled back, and two endpoints outrank one', async () => {
  await anchorAt(1e9, FALSE_HASH)
  expect((await readTip({ depth: 40 })).finalized).toBe(60)
  expect(await readAnchor()).toMatchObject({ number: 60, previous: undefined })
  await stage.database.db.run('delete from history_chain', [])
  await anchorAt(55, FALSE_HASH)
  expect((await readTip({ depth: 40 }, 2)).finalized).toBe(60)
})

test('a false anchor that two had and nothing before it stops the chain, until the endpoints have it again', async () => {
  await anchorAt(55, FALSE_HASH, 2)
  for (let time = 0; time < 2; time++) {
    const reading = readTip({ depth: 40 }, 2)
    await expect(reading).rejects.toThrow('is stopped')
    await expect(reading).rejects.toMatchObject({ retryAfterSec: 60 })
  }
  expect((await readAnchor())?.isStopped).toBe(true)
  await stage.database.db.run(`update history_chain set anchor_hash = '\\x${(await readHash(55)).slice(2)}'`, [])
  expect((await readTip({ depth: 40 }, 2)).finalized).toBe(60)
  expect((await readAnchor())?.isStopped).toBe(false)
})

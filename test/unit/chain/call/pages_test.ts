import { describe, expect, test } from 'bun:test'
import type { Block, PinnedBlock } from '../../../../src/chain/block.ts'
import { type LensPage, type LensPageRequest, readPages } from '../../../../src/chain/call/pages.ts'
import { RpcRefusedError } from '../../../../src/chain/rpc/client.ts'
import { UpstreamError } from '../../../../src/lib/error.ts'

interface Scripted extends LensPage {
  readonly all: number
  readonly entries: readonly number[]
}

const PARENT = `0x${'ab'.repeat(32)}` as const
const PIN: PinnedBlock = {
  chainId: 1,
  number: 8n,
  timestampSec: 1n,
  parentHash: PARENT,
  hash: `0x${'cd'.repeat(32)}`,
}

/** Reads the numbers 0 to `count`, at most `able` of them at a time, and writes down what was asked. */
function scripted(options: {
  readonly count: number
  readonly pageSize: number
  /** At the block that is pinned. @default {count} */
  readonly countPinned?: number
  readonly countMin?: number
  readonly able?: (request: LensPageRequest) => number
  readonly getBlock?: (request: LensPageRequest) => Partial<Block>
}) {
  const { count, pageSize, countPinned = count, countMin, able = () => Number.POSITIVE_INFINITY } = options
  const { getBlock: blockOf = () => ({}) } = options
  const asked: LensPageRequest[] = []
  const observed: bigint[] = []
  let running = 0
  let runningMost = 0
  let pinned = 0
  const pages = readPages<Scripted>({
    pageSize,
    ...(countMin === undefined ? {} : { countMin }),
    async read(request) {
      asked.push(request)
      running += 1
      runningMost = Math.max(runningMost, running)
      await Bun.sleep(1)
      running -= 1
      const { start, end, block: at } = request
      const all = at === 'latest' ? count : countPinned
      const taken = Math.max(0, Math.min(end, all, start + able(request)) - start)
      const block = { chainId: 1, number: at === 'latest' ? 7n : 8n, timestampSec: 1n, parentHash: PARENT }
      const entries = Array.from({ length: taken }, (_, index) => start + index)
      return { block: { ...block, ...blockOf(request) }, taken, all, entries }
    },
    observeBlock: ({ number }) => void observed.push(number),
    async pin() {
      pinned += 1
      return PIN
    },
    count: ({ all }) => all,
  })
  return { pages, asked, observed, pinned: () => pinned, runningMost: () => runningMost }
}

/** The numbers from 0 to `count`. */
function upTo(count: number): number[] {
  return Array.from({ length: count }, (_, at) => at)
}

describe('readPages()', () => {
  test.each([0, 1, 9, 10])('reads %d entries of a page of ten in one request, at the latest block', async (count) => {
    const { pages, asked, observed, pinned } = scripted({ count, pageSize: 10 })
    expect((await pages).map(({ page }) => page.entries)).toEqual([upTo(count)])
    expect(asked).toEqual([{ start: 0, end: 10, block: 'latest' }])
    expect([observed, pinned()]).toEqual([[7n], 0])
  })

  test.each([11, 20, 40, 41, 95])(
    'reads each of %d entries once and in order, all at one block pinned by its hash',
    async (count) => {
      const { pages, asked, observed, pinned } = scripted({ count, pageSize: 10 })
      expect((await pages).flatMap(({ page }) => page.entries)).toEqual(upTo(count))
      expect((await pages).every(({ start, page }) => page.entries.every((entry) => entry >= start))).toBe(true)
      expect(asked.map(({ block }) => block)).toEqual(['latest', ...Array(Math.ceil(count / 10)).fill(PIN)])
      expect([observed, pinned()]).toEqual([[7n], 1])
    },
  )

  test('pins at once if one page is known to be too short', async () => {
    const { pages, asked, observed } = scripted({ count: 25, countMin: 25, pageSize: 10 })
    expect((await pages).flatMap(({ page }) => page.entries)).toEqual(upTo(25))
    expect([asked.map(({ block }) => block), observed]).toEqual([[PIN, PIN, PIN], []])
    const short = scripted({ count: 10, countMin: 10, pageSize: 10 })
    await short.pages
    expect([short.asked.length, short.pinned()]).toEqual([1, 0])
  })

  test.each([
    [20, 19],
    [20, 21],
    [20, 5],
    [20, 55],
    [11, 10],
  ])('counts anew at the block that is pinned: %d became %d', async (count, countPinned) => {
    const { pages } = scripted({ count, countPinned, pageSize: 10 })
    expect((await pages).flatMap(({ page }) => page.entries)).toEqual(upTo(countPinned))
  })

  test('requests no more than the first page contained, and continues after a page that ended early', async () => {
    const able = ({ start, block }: LensPageRequest) => (block === 'latest' ? 6 : start === 6 ? 4 : 5)
    const { pages, asked } = scripted({ count: 20, pageSize: 10, able })
    expect((await pages).flatMap(({ page }) => page.entries)).toEqual(upTo(20))
    expect(asked.slice(1).every(({ start, end }) => end - start <= 6)).toBe(true)
  })

  test('reads eight pages at a time', async () => {
    const { pages, runningMost } = scripted({ count: 200, pageSize: 10 })
    await pages
    expect(runningMost()).toBe(8)
  })

  test.each([
    ['of another height', { number: 9n }],
    ['of another time', { timestampSec: 2n }],
    ['of another parent', { parentHash: PIN.hash }],
  ])('refuses a page %s, from an endpoint that ignores the pin', async (_, other) => {
    const getBlock = ({ start }: LensPageRequest) => (start === 20 ? other : {})
    await expect(scripted({ count: 30, pageSize: 10, getBlock }).pages).rejects.toThrow(UpstreamError)
  })

  test.each([0, 10])('gives up if not even one entry fits, at entry %d', async (stuck) => {
    const able = ({ start }: LensPageRequest) => (start === stuck ? 0 : 10)
    await expect(scripted({ count: 30, pageSize: 10, able }).pages).rejects.toThrow(RpcRefusedError)
    await expect(scripted({ count: 30, countMin: 30, pageSize: 10, able }).pages).rejects.toThrow(RpcRefusedError)
  })
})

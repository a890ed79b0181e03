import { describe, expect, test } from 'bun:test'
import { RpcRefusedError } from '../../src/chain/client.ts'
import { type LensPage, type PageRequest, readPages } from '../../src/chain/lens_pages.ts'
import { UpstreamError } from '../../src/lib/error.ts'

interface Scripted extends LensPage {
  readonly entries: readonly number[]
}

const HASH = `0x${'ab'.repeat(32)}` as const

/** Reads the numbers 0 to `count`, at most `able` of them at a time, and writes down what was asked. */
function scripted(options: {
  readonly count: number
  readonly pageSize: number
  readonly able?: (request: PageRequest) => number
  readonly numberOf?: (request: PageRequest) => bigint
}) {
  const { count, pageSize, able = () => Number.POSITIVE_INFINITY, numberOf = () => 7n } = options
  const asked: PageRequest[] = []
  let running = 0
  let runningMost = 0
  const pages = readPages<Scripted>({
    pageSize,
    async read(request) {
      asked.push(request)
      running += 1
      runningMost = Math.max(runningMost, running)
      await Bun.sleep(1)
      running -= 1
      const { start, end } = request
      const taken = Math.max(0, Math.min(end, count, start + able(request)) - start)
      const block = { chainId: 1, number: numberOf(request), timestampSec: 1n, parentHash: HASH }
      return { block, taken, entries: Array.from({ length: taken }, (_, index) => start + index) }
    },
    count: () => count,
  })
  return { pages, asked, runningMost: () => runningMost }
}

describe('readPages()', () => {
  test.each([0, 1, 9, 10, 11, 20, 95])('reads each of %d entries once and in order', async (count) => {
    const { pages, asked } = scripted({ count, pageSize: 10 })
    expect((await pages).flatMap(({ page }) => page.entries)).toEqual(Array.from({ length: count }, (_, at) => at))
    expect((await pages).every(({ start, page }) => page.entries.every((entry) => entry >= start))).toBe(true)
    expect(asked).toHaveLength(Math.max(1, Math.ceil(count / 10)))
  })

  test('pins every page after the first to its block', async () => {
    const { pages, asked } = scripted({ count: 30, pageSize: 10 })
    await pages
    expect(asked.map(({ block }) => block)).toEqual(['latest', 7n, 7n])
  })

  test('asks for no more than the first page could hold, and carries on where a page ended early', async () => {
    const able = ({ start }: PageRequest) => (start === 0 ? 6 : 4)
    const { pages, asked } = scripted({ count: 20, pageSize: 10, able })
    expect((await pages).flatMap(({ page }) => page.entries)).toEqual(Array.from({ length: 20 }, (_, at) => at))
    expect(asked.slice(1).every(({ start, end }) => end - start <= 6)).toBe(true)
  })

  test('reads four pages at a time', async () => {
    const { pages, runningMost } = scripted({ count: 200, pageSize: 10 })
    await pages
    expect(runningMost()).toBe(4)
  })

  test('refuses pages of different blocks', async () => {
    const numberOf = ({ start }: PageRequest) => (start === 20 ? 8n : 7n)
    await expect(scripted({ count: 30, pageSize: 10, numberOf }).pages).rejects.toThrow(UpstreamError)
  })

  test.each([0, 10])('gives up where not even one entry fits, at entry %d', async (stuck) => {
    const able = ({ start }: PageRequest) => (start === stuck ? 0 : 10)
    await expect(scripted({ count: 30, pageSize: 10, able }).pages).rejects.toThrow(RpcRefusedError)
  })
})

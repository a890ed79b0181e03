import { expect, test } from 'bun:test'
import { join } from 'node:path'

interface Past {
  readonly positions: readonly unknown[]
  readonly failure?: object
}
interface PastReader {
  readPast(
    moments: readonly number[],
    options: {
      readonly positions: readonly unknown[]
      readonly signal: AbortSignal
      read(moment: number): Promise<object>
      onPast(past: Past): void
    },
  ): Promise<void>
}

const PATH: string = join(import.meta.dir, '../../../../src/dashboard/explore/liquidity/past.ts')
const { readPast } = (await import(PATH)) as PastReader

const MOMENTS = [40, 30, 20, 10]

/** Reads the moments; those in `failing` fail. */
function setUp() {
  const paid: number[] = []
  let past: Past = { positions: [] }
  const controller = new AbortController()
  const run = (failing: readonly number[] = [], onRead = () => {}) =>
    readPast(MOMENTS, {
      positions: past.positions,
      signal: controller.signal,
      read: async (moment) => {
        if (failing.includes(moment)) return { ok: false, code: 'SERVICE_UNAVAILABLE' }
        paid.push(moment)
        onRead()
        return { ok: true, body: { data: moment } }
      },
      onPast: (next) => {
        past = next
      },
    })
  return { paid, run, controller, read: () => past }
}

test('a further run pays only for the moments that are left', async () => {
  const { paid, run, read } = setUp()
  await run([20])
  expect(read()).toMatchObject({ positions: [40, 30], failure: { code: 'SERVICE_UNAVAILABLE' } })
  await run()
  expect(read()).toEqual({ positions: MOMENTS })
  expect(paid).toEqual(MOMENTS)
})

test('nothing more is paid once its part of the page is gone', async () => {
  const { paid, run, controller } = setUp()
  await run([], () => controller.abort())
  expect(paid).toEqual([40])
})

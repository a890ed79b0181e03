import { expect, test } from 'bun:test'
import { readAt } from '../../../src/family/moment.ts'
import { createWork } from '../../../src/lib/async/work.ts'
import { UnavailableError, UpstreamError } from '../../../src/lib/error.ts'

/** Reads these places as they are now. */
function read<T>(places: readonly object[], reading: Promise<T>): Promise<T> {
  const past = { resolve: async () => places }
  return readAt({ targets: places, moment: {}, past, work: createWork(new AbortController().signal) }, () => reading)
}

async function failure(reading: Promise<unknown>): Promise<Error> {
  try {
    await reading
  } catch (error) {
    if (error instanceof Error) return error
  }
  throw new Error('Expected a failure')
}

test('readAt() says how to leave a chain out if others were asked too, and keeps when to come back', async () => {
  const dead = new UnavailableError('Cannot read chain 10', { retryAfterSec: 7 })
  const error = await failure(read([{}, {}], Promise.reject(dead)))
  expect(error).toBeInstanceOf(UnavailableError)
  expect(error).toMatchObject({
    message: 'Cannot read chain 10: leave it out with the "chain_id" parameter or try again',
    retryAfterSec: 7,
  })
})

test('readAt() passes on every other error unchanged', async () => {
  const dead = new UnavailableError('Cannot read chain 10')
  expect(await failure(read([{}], Promise.reject(dead)))).toBe(dead)
  const broken = new UpstreamError('Cannot use an answer')
  expect(await failure(read([{}, {}], Promise.reject(broken)))).toBe(broken)
  expect(await read([{}, {}], Promise.resolve('read'))).toBe('read')
})

import { describe, expect, test } from 'bun:test'
import { join } from 'node:path'

interface Failure {
  readonly ok: false
  readonly status: number
  readonly code: string
  readonly retryAfterSec?: number
}
type Outcome = Failure | { readonly ok: true }
interface Submission {
  createSubmission(
    createKey?: () => string,
  ): (request: object, send: (key: string) => Promise<Outcome>) => Promise<Outcome | undefined>
  describeUncertainty(failure: Failure): { readonly title: string } | undefined
}

// The pages have a configuration of their own.
const PATH: string = join(import.meta.dir, '../../../src/dashboard/lib/submission.ts')
const { createSubmission, describeUncertainty } = (await import(PATH)) as Submission

const GRANT = { path: 'grants', method: 'POST', body: { credits: 500 } }
const LOST: Failure = { ok: false, status: 0, code: 'NO_ANSWER' }
const DONE: Failure = { ok: false, status: 409, code: 'INVALID_REQUEST' }

function setUp() {
  let count = 0
  const submit = createSubmission(() => `key ${++count}`)
  const keys: string[] = []
  const send = (request: object, outcome: Outcome | Promise<Outcome> = { ok: true }) =>
    submit(request, async (key) => {
      keys.push(key)
      return outcome
    })
  return { keys, send }
}

describe('a filled form', () => {
  test('is sent once by a double click', async () => {
    const { keys, send } = setUp()
    const answer = Promise.withResolvers<Outcome>()
    const first = send(GRANT, answer.promise)
    expect(await send(GRANT)).toBeUndefined()
    answer.resolve({ ok: true })
    expect(await first).toEqual({ ok: true })
    expect(keys).toEqual(['key 1'])
  })

  test('keeps its key until the change is known to be made, and a changed one has another', async () => {
    const { keys, send } = setUp()
    await send(GRANT, LOST)
    await send({ ...GRANT, body: { credits: 501 } })
    await send(GRANT, LOST)
    await send(GRANT)
    await send(GRANT, LOST)
    await send(GRANT, DONE)
    await send(GRANT)
    expect(keys).toEqual(['key 1', 'key 2', 'key 1', 'key 1', 'key 3', 'key 3', 'key 4'])
  })

  test('has a random key by default', async () => {
    const keys: string[] = []
    for (const submit of [createSubmission(), createSubmission()]) {
      await submit(GRANT, async (key) => {
        keys.push(key)
        return LOST
      })
    }
    expect(keys).toEqual([expect.stringMatching(/^[0-9a-f]{32}$/), expect.stringMatching(/^[0-9a-f]{32}$/)])
    expect(keys[0]).not.toBe(keys[1])
  })
})

test('a change without an answer may have been made, and only a refusal says that it was not', () => {
  const title = (failure: Omit<Failure, 'ok'>) => describeUncertainty({ ok: false, ...failure })?.title
  for (const [status, code] of [
    [0, 'NO_ANSWER'],
    [502, 'HTTP_502'],
    [503, 'SERVICE_UNAVAILABLE'],
    [500, 'INTERNAL_ERROR'],
  ] as const)
    expect(title({ status, code })).toBe('It may have been done')
  expect(title({ status: 409, code: 'INVALID_REQUEST', retryAfterSec: 1 })).toBe('It may have been done')
  expect(title(DONE)).toBe('It was done before')
  for (const status of [400, 401, 402, 404, 422, 429]) expect(title({ status, code: 'X' })).toBeUndefined()
})

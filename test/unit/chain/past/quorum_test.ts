import { expect, test } from 'bun:test'
import type { Chain } from '../../../../src/chain/chain.ts'
import { isCacheableForever, noteWitnesses, readByQuorum } from '../../../../src/chain/past/quorum.ts'
import { type ChainClient, ChainUnavailableError, type Endpoint } from '../../../../src/chain/rpc/client.ts'
import { untilAborted } from '../../../../src/lib/async/abort.ts'
import { createWork, noteUnwitnessed, type Work } from '../../../../src/lib/async/work.ts'
import { AbortedError, UnavailableError, UpstreamError } from '../../../../src/lib/error.ts'
import { createTestClock } from '../../../support/test_clock.ts'

/** Answer of one endpoint; an error is thrown. */
type Answer = string | Error | 'never'

const never = createWork(new AbortController().signal)

/**
 * A chain whose endpoints answer so, each read trying them in their order; who was asked, and what the log was told.
 */
function open(...answers: readonly Answer[]) {
  const clock = createTestClock()
  const asked: number[] = []
  const warned: Record<string, unknown>[] = []
  const log = { debug() {}, info() {}, error() {}, warn: (fields: Record<string, unknown>) => void warned.push(fields) }
  const chain = { id: 5, name: 'Test', rpcUrls: answers.map((_, index) => `http://${index}.test/`) } as unknown as Chain
  const client: ChainClient = {
    chain,
    clock,
    log,
    background: [],
    async read(attempt, { work }) {
      let failure: Error = new UnavailableError('Cannot read chain 5')
      for (const index of answers.keys()) {
        try {
          return await attempt({ index } as Endpoint, work)
        } catch (error) {
          if (error instanceof AbortedError) throw error
          if (!(error instanceof UpstreamError)) failure = error as Error
        }
      }
      throw failure
    },
  }
  const read = (options: { readonly quorum?: number; readonly work?: Work } = {}) =>
    readByQuorum(
      client,
      async ({ index }, within) => {
        asked.push(index)
        const answer = answers[index]
        if (answer === 'never') return await untilAborted(new Promise<never>(() => {}), within.signal)
        if (typeof answer !== 'string') throw answer
        return { answer }
      },
      { work: never, what: 'the state', toText: (value) => value.answer, ...options },
    )
  return { read, asked, warned, client, clock }
}

const gone = () => new UpstreamError('The endpoint failed')

test('two agreeing endpoints decide, and no other endpoint is asked', async () => {
  const { read, asked, warned } = open('a', 'a', 'b')
  expect(await read()).toEqual({ value: { answer: 'a' }, endpoints: [0, 1] })
  expect([asked, warned]).toEqual([[0, 1], []])
})

test('if two endpoints disagree a third decides, and the log names the wrong one', async () => {
  for (const [answers, wrong] of [
    [['b', 'a', 'a'], 0],
    [['a', 'b', 'a'], 1],
  ] as const) {
    const { read, asked, warned } = open(...answers)
    const { value, endpoints } = await read()
    expect([value.answer, endpoints.toSorted(), asked]).toEqual([
      'a',
      [0, 1, 2].filter((each) => each !== wrong),
      [0, 1, 2],
    ])
    expect(warned).toEqual([
      { msg: 'An RPC endpoint contradicted others', chainId: 5, endpoint: wrong + 1, what: 'the state' },
    ])
  }
})

test('if no endpoint is left to decide, the error names all that disagree', async () => {
  for (const answers of [
    ['a', 'b'],
    ['a', 'b', 'c'],
    ['a', gone(), 'b'],
  ]) {
    const { read, warned } = open(...answers)
    const said = [...answers.keys()].filter((index) => typeof answers[index] === 'string')
    const failure = await read().catch((error: unknown) => error)
    expect(failure).toMatchObject({ reason: 'disputed' })
    expect(failure).toMatchObject({
      message:
        `Cannot believe the state of chain 5 (Test): endpoints ${said.map((each) => each + 1).join(' and ')} ` +
        'contradict each other (second witness)',
    })
    const endpoints = said.map((each) => each + 1)
    expect(warned).toEqual([{ msg: 'RPC endpoints contradicted each other', chainId: 5, endpoints, what: 'the state' }])
  }
})

test("one endpoint's answer is returned with one witness if the others fail or are late, or there are none", async () => {
  expect(await open('a').read()).toEqual({ value: { answer: 'a' }, endpoints: [0] })
  expect(await open(gone(), 'a').read()).toEqual({ value: { answer: 'a' }, endpoints: [1] })
  const late = open('never', 'a')
  const reading = late.read()
  let isSettled = false
  void reading.then(() => {
    isSettled = true
  })
  await late.clock.advance(999)
  expect(isSettled).toBe(false)
  await late.clock.advance(1)
  expect(await reading).toEqual({ value: { answer: 'a' }, endpoints: [1] })
  expect(late.clock.pending).toBe(0)
})

test('a quorum of three waits for three answers, a quorum of one asks one endpoint', async () => {
  expect((await open('a', 'a', 'a', 'b').read({ quorum: 3 })).endpoints).toEqual([0, 1, 2])
  const { read, asked } = open('a', 'b')
  expect((await read({ quorum: 1 })).endpoints).toEqual([0])
  expect(asked).toEqual([0])
  await expect(open('a', 'a', 'b').read({ quorum: 3 })).rejects.toMatchObject({ reason: 'disputed' })
})

test('if no endpoint answers, a failure takes precedence over pruned state', async () => {
  const [shallow, silent] = [
    new ChainUnavailableError('pruned', 'No endpoint keeps block 5'),
    new UnavailableError('Cannot read chain 5'),
  ]
  expect(await readFailure(shallow, silent)).toBe(silent)
  expect(await readFailure(silent, shallow)).toBe(silent)
  expect(await readFailure(shallow, shallow)).toBe(shallow)
})

test('an error of the program itself passes through, unless an endpoint has answered', async () => {
  const fault = new TypeError('That is no function')
  expect(await readFailure(fault, new UnavailableError('Cannot read chain 5'))).toBe(fault)
})

/** Returns the error of a quorum whose two reads fail with these errors. */
async function readFailure(...failures: readonly Error[]): Promise<unknown> {
  const { client } = open('a', 'b')
  let reader = 0
  const failing: ChainClient = {
    ...client,
    async read() {
      throw failures[reader++]
    },
  }
  const options = { work: never, what: 'the state', toText: String }
  return await readByQuorum(failing, async () => '', options).catch((error: unknown) => error)
}

test('a read ends when its caller leaves', async () => {
  const leaving = new AbortController()
  const reading = open('never', 'never').read({ work: createWork(leaving.signal) })
  leaving.abort()
  await expect(reading).rejects.toBeInstanceOf(AbortedError)
})

test('endpoints are asked on behalf of the requesters of the read, and what is noted there is noted for it', async () => {
  const { client } = open('a', 'a')
  const work = createWork(new AbortController().signal, { requesters: new Set(['organization']) })
  const seen: string[][] = []
  const attempt = async (_: Endpoint, within: Work) => {
    seen.push([...within.requesters])
    noteUnwitnessed(within, [7])
    return 'a'
  }
  await readByQuorum(client, attempt, { work, what: 'the state', toText: String })
  expect(seen).toEqual([['organization'], ['organization']])
  expect([...work.unwitnessed]).toEqual([7])
})

test('one witness of the past is noted; without any, nothing rests on the word of one', () => {
  const { client } = open('a')
  const note = (witnesses: number) => {
    const work = createWork(new AbortController().signal)
    noteWitnesses(client, witnesses, work)
    return [...work.unwitnessed]
  }
  expect([0, 1, 2, 3].map(note)).toEqual([[], [5], [], []])
})

test('a value is permanent with two witnesses, or with the only endpoint', () => {
  const lasts = (endpoints: number, witnesses: number) =>
    isCacheableForever(open(...Array.from({ length: endpoints }, () => 'a')).client, witnesses)
  expect([lasts(1, 0), lasts(1, 1), lasts(2, 1), lasts(2, 2), lasts(5, 1), lasts(5, 2)]).toEqual([
    ...[false, true, false, true, false, true],
  ])
})

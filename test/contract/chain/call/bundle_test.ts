import { expect, test } from 'bun:test'
import { type Hex, numberToHex, size } from 'viem'
import { callBundled } from '../../../../src/chain/call/bundle/bundle.ts'
import { type LensAccess, type LensMode, readByLens } from '../../../../src/chain/call/lens.ts'
import { type Endpoint, RevertError } from '../../../../src/chain/rpc/client.ts'
import { createWork, type Work } from '../../../../src/lib/async/work.ts'
import { AbortedError, UpstreamError } from '../../../../src/lib/error.ts'
import { useFaultyChain } from '../../../support/endpoint.ts'
import type { SeenRequest } from '../../../support/rpc.ts'
import { slowClock } from '../../../support/test_clock.ts'
import { waitFor } from '../../../support/wait_for.ts'

const never = createWork(new AbortController().signal)

/** Answers its call data. */
const ECHO: Hex = '0x366000600037366000f3'
/**
 * Answers its call data, but by the first byte of that: 1 reverts with it, 2 burns all gas, 3 counts its calls in
 * storage and answers how many there were, 4 answers it when only 10 million gas are left, 5 answers 300,000 zeros.
 */
const LENS: Hex = `0x${[
  ...['60003560f81c', '8060011460', '33', '57', '8060021460', '3e', '57', '8060031460', '40', '57'],
  ...['8060041460', '53', '57', '8060051460', '67', '57', '366000600037366000f3'],
  ...['5b366000600037366000fd', '5bfe', '5b6000546001018060005560005260206000f3'],
  ...['5b629896805a11605357366000600037366000f3', '5b620493e06000f3'],
].join('')}`
const [REVERTS, BURNS, COUNTS, THIRSTS, FILLS] = ['01', '02', '03', '04', '05'] as const

const chain = useFaultyChain()

/** Data of a unique call. */
function question(index: number, tag = '00'): Hex {
  return `0x${tag}${index.toString(16).padStart(8, '0')}`
}

function ask(data: Hex, options: { readonly work?: Work; readonly endpoint?: Endpoint } = {}): Promise<Hex> {
  const { work = never, endpoint = chain.endpoint } = options
  return callBundled(endpoint, { runtime: LENS, data, block: 'latest' }, work)
}

/** Concurrent calls. The first eight find no running calls and are sent alone. */
function crowd(count: number, getTag: (index: number) => string = () => '00'): Hex[] {
  return Array.from({ length: count }, (_, index) => question(index, getTag(index)))
}

function isBundle({ params }: SeenRequest): boolean {
  return Object.keys((params[2] ?? {}) as object).length > 1
}

const bundles = () => chain.rpc.seen.filter(isBundle).length

test('callBundled() sends the calls of few callers alone, and those of many eight at a time', async () => {
  expect(await Promise.all(crowd(8).map((data) => ask(data)))).toEqual(crowd(8))
  expect([chain.rpc.seen.length, bundles()]).toEqual([8, 0])
  chain.rpc.reset()
  // Long enough for all that go together to arrive before the first is answered.
  chain.rpc.rule(() => ({ kind: 'delay', ms: 100 }))
  expect(await Promise.all(crowd(33).map((data) => ask(data)))).toEqual(crowd(33))
  // Eight alone, three times eight, and one that is left.
  expect([chain.rpc.seen.length, bundles()]).toEqual([12, 3])
  expect(chain.rpc.depth()).toBe(1)
})

test('callBundled() gives each call the answer or revert that it gets alone', async () => {
  const questions = crowd(40, (index) => (index % 3 === 1 ? REVERTS : '00'))
  const outcomes = await Promise.allSettled(questions.map((data) => ask(data)))
  for (const [index, outcome] of outcomes.entries()) {
    const data = questions[index]
    if (index % 3 !== 1) expect(outcome).toEqual({ status: 'fulfilled', value: data as Hex })
    else expect(outcome).toMatchObject({ status: 'rejected', reason: { data } })
  }
  expect(outcomes.filter(({ status }) => status === 'rejected')).toHaveLength(13)
  expect(bundles()).toBe(4)
})

test('callBundled() undoes what one call changes before the next one', async () => {
  expect(await ask(question(0, COUNTS))).toBe(numberToHex(1, { size: 32 }))
  const counts = await Promise.all(crowd(24, () => COUNTS).map((data) => ask(data)))
  expect(new Set(counts)).toEqual(new Set([numberToHex(1, { size: 32 })]))
  expect(bundles()).toBe(2)
})

test.each([
  ['one burns all gas', [BURNS], 1],
  ['one takes more than its share', [THIRSTS], 0],
  // The first two leave less than a question is granted.
  ['three burn all gas', [BURNS, BURNS, BURNS], 6],
] as const)('callBundled() shares gas: the others have their answers if %s', async (_, tags, again) => {
  const questions = crowd(16, (index) => tags[index - 10] ?? '00')
  const outcomes = await Promise.allSettled(questions.map((data) => ask(data)))
  for (const [index, outcome] of outcomes.entries()) {
    if (tags[index - 10] === BURNS) expect(outcome).toMatchObject({ status: 'rejected' })
    else expect(outcome).toEqual({ status: 'fulfilled', value: questions[index] as Hex })
  }
  // Eight were sent alone before the bundle, and those that it could not answer after it.
  expect([chain.rpc.seen.length, bundles()]).toEqual([8 + 1 + again, 1])
  // The endpoint's health is not affected.
  chain.rpc.reset()
  await Promise.all(crowd(16).map((data) => ask(data)))
  expect(bundles()).toBe(1)
})

test('callBundled() sends calls alone whose answers do not fit into one', async () => {
  const answers = await Promise.all(crowd(16, () => FILLS).map((data) => ask(data)))
  expect(answers.map(size)).toEqual(Array(16).fill(300_000))
  // Four fill a million bytes.
  expect([chain.rpc.seen.length, bundles()]).toEqual([8 + 1 + 4, 1])
})

test('callBundled() asks several lenses in one call, never mixes blocks, and sends work in the background alone', async () => {
  const before = crowd(8).map((data) => ask(data))
  const at = (runtime: Hex, block: bigint | 'latest') =>
    crowd(4).map((data) => callBundled(chain.endpoint, { runtime, data, block }, never))
  const mixed = [at(LENS, 'latest'), at(ECHO, 'latest'), at(LENS, 0n)]
  const background = crowd(4).map((data) => ask(data, { endpoint: { ...chain.endpoint, priority: 'background' } }))
  for (const answers of [...mixed, background]) expect(await Promise.all(answers)).toEqual(crowd(4))
  await Promise.all(before)
  expect(chain.rpc.seen).toHaveLength(8 + 2 + 4)
  expect(bundles()).toBe(2)
})

test('callBundled() waits for the end of the turn if the read is bundled, however few calls there are', async () => {
  const willing: Endpoint = { ...chain.endpoint, bundling: 'always' }
  const lenses = [LENS, ECHO, `${ECHO}00`, `${ECHO}01`] as const
  const asked = lenses.map((runtime, index) =>
    callBundled(willing, { runtime, data: question(index), block: 'latest' }, never),
  )
  asked.push(ask(question(4)))
  expect(await Promise.all(asked)).toEqual(crowd(5))
  expect([chain.rpc.seen.length, bundles()]).toEqual([2, 1])
  chain.rpc.reset()
  const background: Endpoint = { ...willing, priority: 'background' }
  const apart = [willing, background].flatMap((endpoint) => [0, 1].map((index) => ask(question(index), { endpoint })))
  expect(await Promise.all(apart)).toEqual([...crowd(2), ...crowd(2)])
  expect([chain.rpc.seen.length, bundles()]).toEqual([2, 2])
})

test('callBundled() never mixes requesters, so that the slow call of one delays no other', async () => {
  const workFor = (asker: string) => createWork(new AbortController().signal, { requesters: new Set([asker]) })
  const slow = question(99)
  chain.rpc.rule(({ params }) => (JSON.stringify(params).includes(slow.slice(2)) ? { kind: 'hang' } : undefined))
  const leaving = new AbortController()
  const work = createWork(leaving.signal, { requesters: new Set(['slow']) })
  const hostile = [...crowd(10), slow].map((data) => ask(data, { work }).catch((error: unknown) => error))
  const honest = crowd(6).map((data) => ask(data, { work: workFor('honest') }))
  expect(await Promise.all(honest)).toEqual(crowd(6))
  expect(bundles()).toBe(2)
  leaving.abort()
  await Promise.all(hostile)
})

test('callBundled() sends the calls of a late bundle alone until they are answered', async () => {
  const slow = question(9)
  const isSlow = ({ params }: SeenRequest) => JSON.stringify(params).includes(slow.slice(2))
  chain.rpc.rule((request) => (isSlow(request) ? { kind: 'http', status: 504, body: '' } : undefined))
  const first = await Promise.allSettled(crowd(16).map((data) => ask(data)))
  expect(first.filter(({ status }) => status === 'rejected')).toHaveLength(8)
  chain.rpc.reset()
  // Eight are running, so additional ones are bundled.
  chain.rpc.rule((request) => (isSlow(request) ? { kind: 'http', status: 504, body: '' } : { kind: 'delay', ms: 50 }))
  const before = crowd(8).map((data) => ask(data))
  const again = await Promise.allSettled([8, 9, 10, 11].map((index) => ask(question(index))))
  expect(again.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled', 'fulfilled'])
  await Promise.all(before)
  expect(bundles()).toBe(0)
  const crowded = crowd(8).map((data) => ask(data))
  await Promise.all([8, 10, 11].map((index) => ask(question(index))))
  await Promise.all(crowded)
  expect(bundles()).toBe(1)
})

test.each([
  ['refuses', { kind: 'error', error: { code: -32602, message: 'too many overrides' } }],
  ['ignores', { kind: 'result', result: '0x' }],
  ['reverts', { kind: 'error', error: { code: 3, message: 'execution reverted', data: '0x' } }],
] as const)(
  'callBundled() sends calls alone if the endpoint %s a bundle, and tries none for a while',
  async (_, fault) => {
    chain.rpc.rule((request) => (isBundle(request) ? fault : undefined))
    expect(await Promise.all(crowd(24).map((data) => ask(data)))).toEqual(crowd(24))
    expect([chain.rpc.seen.length, bundles()]).toEqual([8 + 2 + 16, 2])
    chain.rpc.reset()
    expect(await Promise.all(crowd(24).map((data) => ask(data)))).toEqual(crowd(24))
    expect([chain.rpc.seen.length, bundles()]).toEqual([24, 0])
  },
)

test.each([
  ['is down', { kind: 'http', status: 500, body: '' }],
  ['answers other numbers than it says', { kind: 'result', result: '0x01000000ff00' }],
  ['answers more than was asked', { kind: 'result', result: `0x${'010000000100'.repeat(9)}` }],
  ['answers half a length', { kind: 'result', result: '0x010000' }],
] as const)('callBundled() fails all calls of a bundle with one error if the endpoint %s', async (_, fault) => {
  chain.rpc.rule((request) => (isBundle(request) ? fault : undefined))
  const outcomes = await Promise.allSettled(crowd(16).map((data) => ask(data)))
  const errors = outcomes.flatMap((outcome) => (outcome.status === 'rejected' ? [outcome.reason as Error] : []))
  expect(errors).toHaveLength(8)
  expect(errors[0]).toBeInstanceOf(UpstreamError)
  expect(errors[0]).not.toBeInstanceOf(RevertError)
  // Each caller rotates, and one failure of the endpoint is counted.
  expect(new Set(errors).size).toBe(1)
})

test('callBundled() continues for the others if some leave, and aborts a request that all have left', async () => {
  chain.rpc.rule((request) => (isBundle(request) ? { kind: 'hang' } : undefined))
  const leaving = new AbortController()
  const before = crowd(8).map((data) => ask(data))
  const left = crowd(4).map((data) => ask(data, { work: createWork(leaving.signal) }).catch((error: unknown) => error))
  const last = new AbortController()
  const staying = ask(question(99), { work: createWork(last.signal) }).catch((error: unknown) => error)
  await waitFor('the bundle is sent', () => bundles() === 1)
  leaving.abort()
  for (const each of left) expect(await each).toBeInstanceOf(AbortedError)
  await Promise.all(before)
  await Bun.sleep(50)
  expect(chain.rpc.waiting()).toBe(1)
  last.abort()
  expect(await staying).toBeInstanceOf(AbortedError)
  await waitFor('the request has ended', () => chain.rpc.waiting() === 0)
})

test('callBundled() sends nothing for callers that leave before their turn', async () => {
  const before = crowd(8).map((data) => ask(data))
  const leaving = new AbortController()
  const left = crowd(6).map((data) => ask(data, { work: createWork(leaving.signal) }).catch((error: unknown) => error))
  leaving.abort()
  for (const each of left) expect(await each).toBeInstanceOf(AbortedError)
  await Promise.all(before)
  expect([chain.rpc.seen.length, bundles()]).toEqual([8, 0])
})

test('a lens call is bundled only by override, and only if it is light', async () => {
  const run = async (way: LensMode, isLight: boolean) => {
    chain.rpc.reset()
    const asked = crowd(24).map((data) => {
      const read = ({ call }: LensAccess) => call({ data, block: 'latest', isLight })
      const reading = { topic: 'test', runtime: LENS, chainId: 1, modes: [way], clock: slowClock, read }
      return readByLens(chain.endpoint, reading, never)
    })
    expect(await Promise.all(asked)).toEqual(crowd(24))
    return bundles()
  }
  expect([await run('override', true), await run('override', false), await run('deployless', true)]).toEqual([2, 0, 0])
})

test('callBundled() sends nothing alone for callers that left while their bundle was running', async () => {
  const leaving = new AbortController()
  const done = async () => leaving.abort()
  chain.rpc.rule((request) => (isBundle(request) ? { kind: 'meanwhile', done } : undefined))
  const before = crowd(8).map((data) => ask(data))
  const burning = ask(question(8, BURNS)).catch((error: unknown) => error)
  const left = ask(question(9), { work: createWork(leaving.signal) }).catch((error: unknown) => error)
  expect(await left).toBeInstanceOf(AbortedError)
  expect(await burning).toBeInstanceOf(Error)
  await Promise.all(before)
  expect([chain.rpc.seen.length, bundles()]).toEqual([8 + 1 + 1, 1])
})

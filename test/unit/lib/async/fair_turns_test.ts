import { expect, test } from 'bun:test'
import { createFairTurns } from '../../../../src/lib/async/fair_queue.ts'
import { settle } from '../../../support/test_clock.ts'

const patient = new AbortController().signal

/** Turns whose tasks end when the test says so, in the order in which they began. */
function open(getLimit: () => number) {
  const turns = createFairTurns(getLimit)
  const begun: string[] = []
  const ends = new Map<string, () => void>()
  const run = (name: string, signal = patient) =>
    turns
      .run(
        () => {
          begun.push(name)
          return new Promise<void>((resolve) => ends.set(name, resolve))
        },
        { signal, requester: name[0] },
      )
      .catch(() => undefined)
  return { begun, run, end: (name: string) => ends.get(name)?.() }
}

test('requesters alternate, and no more run than the limit', async () => {
  const { begun, run, end } = open(() => 2)
  for (const name of ['a1', 'a2', 'a3', 'a4', 'b1']) void run(name)
  await settle()
  expect(begun).toEqual(['a1', 'a2'])
  end('a1')
  await settle()
  end('a2')
  await settle()
  expect(begun).toEqual(['a1', 'a2', 'a3', 'b1'])
})

test('a task that leaves in the tick in which its turn comes gives the turn to the next', async () => {
  const leaving = new AbortController()
  let isEnding = false
  let asked = 0
  // The limit is asked for again right after the turn was granted.
  const { begun, run, end } = open(() => {
    if (isEnding && ++asked === 2) leaving.abort()
    return 1
  })
  void run('a1')
  const left = run('b1', leaving.signal)
  void run('c1')
  await settle()
  isEnding = true
  end('a1')
  await left
  await settle()
  expect(begun).toEqual(['a1', 'c1'])
})

test('one that left before its turn takes none', async () => {
  const { begun, run, end } = open(() => 1)
  const leaving = new AbortController()
  void run('a1')
  const left = run('b1', leaving.signal)
  void run('c1')
  leaving.abort()
  await left
  end('a1')
  await settle()
  expect(begun).toEqual(['a1', 'c1'])
})

import { expect, test } from 'bun:test'
import { noteUnwitnessed } from '../../../../src/lib/async/work.ts'
import { createClient } from '../../../support/client.ts'
import { createFixture, WALLET } from '../../../support/http/fixture.ts'

const LIST = `/v1/positions/uniswap-v3?wallet=${WALLET}`
const HEADER = 'x-unwitnessed'

test.each([[[[10], []]], [[[], [10]]]])('of two reads of one block, %j, each answer says its own', async (notes) => {
  const { app, happenings } = createFixture()
  const call = createClient(app.handler)
  const held = Promise.withResolvers<void>()
  const begun = Promise.withResolvers<void>()
  const left = [...notes]
  happenings.held = held.promise
  happenings.instead = async (work) => {
    noteUnwitnessed(work, left.shift() ?? [])
    if (left.length === 0) begun.resolve()
  }
  const answers = notes.map(() => call(LIST, { key: 'good' }))
  // Both are read before either is presented.
  await begun.promise
  held.resolve()
  const told = (await Promise.all(answers)).map(({ headers }) => headers.get(HEADER))
  expect(told).toEqual(notes.map(([chainId]) => (chainId === undefined ? null : String(chainId))))
})

test('an answer that is given again says again what it rests on', async () => {
  const { app, happenings, clock } = createFixture()
  const call = createClient(app.handler)
  happenings.instead = async (work) => noteUnwitnessed(work, [10, 1])
  happenings.untilMs = clock.monotonicMs() + 1_000
  const repeated = { key: 'good', headers: { 'idempotency-key': 'one' } }
  const answers = [await call(LIST, { key: 'good' }), await call(LIST, { key: 'good' }), await call(LIST, repeated)]
  happenings.untilMs = 0
  await clock.advance(1_000)
  answers.push(await call(LIST, repeated))
  expect(answers.map(({ headers }) => headers.get(HEADER))).toEqual(['1,10', '1,10', '1,10', '1,10'])
  expect(happenings.reads).toBe(1)
  happenings.instead = undefined
  expect((await call(LIST, { key: 'good' })).headers.get(HEADER)).toBeNull()
})

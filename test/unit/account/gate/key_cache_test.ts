import { expect, test } from 'bun:test'
import { createKeyCache, type KeyCache, type KeyRecord } from '../../../../src/account/gate/key_cache.ts'
import { systemClock } from '../../../../src/lib/clock.ts'

function fact(organizationId: string): KeyRecord {
  return {
    organizationId,
    apiKeyId: 'key',
    refusal: '',
    rateLimit: 5,
    expiresAtMs: 0,
    networks: undefined,
    endpoints: undefined,
    creditsPerDay: undefined,
  }
}

/** Takes in that the keys `a` and `b` belong to organizations of these names, as of `epoch`. */
function learn(facts: KeyCache, epoch: number, { since = facts.epoch, changed = [] as string[] } = {}): boolean {
  const keys = ['a', 'b'].map((name) => ({ name, record: fact(name) }))
  return facts.addRecords({ epoch, changed, endpointsOff: ['GET /v1/off'], featuresOff: ['mcp'], keys }, since)
}

function found(facts: KeyCache): string {
  return ['a', 'b'].filter((hash) => facts.find(hash) !== undefined).join('')
}

test('a record is found until its organization changes', () => {
  const facts = createKeyCache({ clock: systemClock })
  expect(found(facts)).toBe('')
  expect(learn(facts, 5)).toBe(true)
  expect([found(facts), facts.epoch, facts.switchedOff.endpoints.has('GET /v1/off')]).toEqual(['ab', 5, true])
  facts.note({ epoch: 7, changed: ['a', 'c'] }, 5)
  expect([found(facts), facts.epoch, facts.has('a')]).toEqual(['b', 7, true])
  expect(learn(facts, 7)).toBe(true)
  expect(found(facts)).toBe('ab')
})

test('a change of all organizations invalidates every record', () => {
  const facts = createKeyCache({ clock: systemClock })
  learn(facts, 5)
  facts.note({ epoch: 6, changed: ['*'] }, 5)
  expect(found(facts)).toBe('')
})

test('records that were read before a known change are not used', () => {
  const facts = createKeyCache({ clock: systemClock })
  facts.note({ epoch: 9, changed: ['a'] }, 0)
  expect(learn(facts, 8, { since: 0 })).toBe(false)
  expect([found(facts), facts.epoch]).toEqual(['', 9])
})

test('an older answer about changes does not undo a newer one', () => {
  const facts = createKeyCache({ clock: systemClock })
  learn(facts, 5)
  facts.note({ epoch: 7, changed: ['a'] }, 5)
  learn(facts, 7)
  facts.note({ epoch: 6, changed: ['a', 'b'] }, 5)
  expect([found(facts), facts.epoch]).toEqual(['ab', 7])
})

test('a lower change number means another database, and no record is used', () => {
  const facts = createKeyCache({ clock: systemClock })
  learn(facts, 5)
  facts.note({ epoch: 3, changed: ['*'] }, 5)
  expect([found(facts), facts.epoch]).toEqual(['', 3])
  expect(learn(facts, 3)).toBe(true)
  expect(found(facts)).toBe('ab')
})

test('a record expires after a minute', () => {
  let nowMs = 0
  const facts = createKeyCache({ clock: { ...systemClock, monotonicMs: () => nowMs } })
  learn(facts, 5)
  nowMs = 59_999
  expect(found(facts)).toBe('ab')
  nowMs = 60_000
  expect([found(facts), facts.has('a')]).toEqual(['', true])
})

test('beyond the limit of records the latest are kept', () => {
  const facts = createKeyCache({ clock: systemClock, entriesMax: 1 })
  learn(facts, 5)
  expect(found(facts)).toBe('b')
})

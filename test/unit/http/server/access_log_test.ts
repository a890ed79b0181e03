import { expect, test } from 'bun:test'
import { createAccessLog } from '../../../../src/http/server/access_log.ts'
import { silentLog } from '../../../../src/lib/log.ts'
import { createTestClock } from '../../../support/test_clock.ts'

const CALLER = { organizationId: 'org_1', apiKeyId: 'key_1' }
const REQUEST = {
  requestId: 'req_1',
  route: 'GET /v1/x',
  status: 200,
  latencyMs: 66.546718,
  credits: 2,
  caller: CALLER,
}
const LINE = {
  msg: 'Answered a request',
  requestId: 'req_1',
  route: 'GET /v1/x',
  status: 200,
  latencyMs: 66.5,
  credits: 2,
}

function createScene(isOn: boolean) {
  const lines: object[] = []
  const clock = createTestClock()
  const add = (level: string) => (fields: object) => void lines.push({ level, ...fields })
  const log = { ...silentLog, info: add('info'), debug: add('debug') }
  return { lines, clock, logAccess: createAccessLog({ log, clock, isOn }) }
}

test('a request is logged at debug, and at info if that is wanted, with its caller and rounded time', () => {
  const known = { ...LINE, organization: 'org_1', key: 'key_1' }
  for (const [isOn, level] of [
    [false, 'debug'],
    [true, 'info'],
  ] as const) {
    const { lines, logAccess, clock } = createScene(isOn)
    logAccess(REQUEST)
    logAccess({ ...REQUEST, caller: undefined })
    expect(lines).toEqual([
      { level, ...known },
      { level, ...LINE },
    ])
    expect(clock.pending).toBe(isOn ? 1 : 0)
  }
})

test('lines are bounded in a second, those of strangers more, and what was left out is counted', async () => {
  const { lines, clock, logAccess } = createScene(true)
  for (let sent = 0; sent < 60; sent++) logAccess({ ...REQUEST, caller: undefined })
  expect(lines).toHaveLength(50)
  for (let sent = 0; sent < 1_000; sent++) logAccess(REQUEST)
  expect(lines).toHaveLength(1_000)
  await clock.advance(1_000)
  expect(lines.splice(0).at(-1)).toEqual({ level: 'info', msg: 'Left out lines of answered requests', lines: 60 })
  logAccess(REQUEST)
  await clock.advance(1_000)
  expect(lines).toHaveLength(1)
  expect(clock.pending).toBe(0)
})

import { expect, test } from 'bun:test'
import type { Plane } from '../../../../src/http/plane/plane.ts'
import { createAccessLog } from '../../../../src/http/server/access_log.ts'
import { silentLog } from '../../../../src/lib/log.ts'
import { callTool } from '../../../support/mcp.ts'
import { createMcpScene, ITEM } from '../../../support/mcp_scene.ts'
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

test('lines are bounded in a second, those of strangers apart, and what was left out is counted', async () => {
  const { lines, clock, logAccess } = createScene(true)
  for (let sent = 0; sent < 60; sent++) logAccess({ ...REQUEST, caller: undefined })
  expect(lines).toHaveLength(50)
  for (let sent = 0; sent < 1_000; sent++) logAccess(REQUEST)
  expect(lines).toHaveLength(1_050)
  logAccess(REQUEST)
  await clock.advance(1_000)
  expect(lines.splice(0).at(-1)).toEqual({ level: 'info', msg: 'Left out lines of answered requests', lines: 11 })
  logAccess(REQUEST)
  await clock.advance(1_000)
  expect(lines).toHaveLength(1)
  expect(clock.pending).toBe(0)
})

test('no flood elsewhere hides refused logins, and no refused logins hide one that succeeds', () => {
  const { lines, logAccess } = createScene(true)
  const [operator, callers] = [createPlane('/admin'), createPlane('/dashboard')]
  const send = (count: number, request: Partial<typeof REQUEST> & { readonly plane?: Plane }) => {
    for (let sent = 0; sent < count; sent++) logAccess({ ...REQUEST, caller: undefined, ...request })
    return lines.splice(0).length
  }
  expect(send(1_100, { caller: CALLER })).toBe(1_000)
  expect(send(60, { status: 404 })).toBe(50)
  expect(send(60, { status: 401 })).toBe(50)
  expect(send(60, { status: 401, plane: callers })).toBe(50)
  expect(send(60, { status: 401, plane: operator })).toBe(50)
  expect(send(1, { status: 200, plane: operator })).toBe(1)
})

test('the line of a tool says where its call came from', async () => {
  const { connect, lines } = createMcpScene()
  const client = await connect('good')
  await callTool(client, ITEM, { id: 1 })
  await client.close()
  const answered = lines.map((line) => JSON.parse(line)).filter(({ credits }) => credits > 0)
  expect(answered).toEqual([expect.objectContaining({ msg: LINE.msg, status: 200, from: '127.0.0.1' })])
})

function createPlane(prefix: string): Plane {
  return { prefix, takesIdempotencyKey: false, endpoints: [], find: () => expect.unreachable() }
}

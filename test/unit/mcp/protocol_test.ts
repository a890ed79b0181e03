import { expect, test } from 'bun:test'
import type { Route } from '../../../src/http/route/route.ts'
import { createMcp } from '../../../src/mcp/gateway.ts'
import { WALLET } from '../../support/http/fixture.ts'
import { createMcpScene, LIST, listRows, toCallMessage } from '../../support/mcp_scene.ts'
import { createTestClock } from '../../support/test_clock.ts'

const CODES: Readonly<Record<string, string>> = { uniswap_positions: 'first', uniswap_position: 'second' }

/** Two routes of the fixture as the protocols of one tool. */
function createSharedScene() {
  const share = (route: Route): Route => {
    const code = CODES[route.operation ?? '']
    if (code === undefined) return route
    return { ...route, tool: { name: LIST, title: 'Positions', description: 'Both.', protocol: { code, name: code } } }
  }
  return createMcpScene({
    gateway: (routes) =>
      createMcp({ routes: routes.map(share), origins: [], sessionId: () => 'session', clock: createTestClock() }),
  })
}

test('a tool leads to the route of the protocol that its call names, with its price and its path in the log', async () => {
  const made = createSharedScene()
  const one = await made.post(toCallMessage(LIST, { protocol: 'second', id: 5 }))
  expect(one.body.result.structuredContent.data).toEqual({ token_id: '5', chain_id: 1 })
  const list = await made.post(toCallMessage(LIST, { protocol: 'first', wallet: WALLET, limit: 2 }))
  expect(list.body.result.structuredContent.data).toHaveLength(2)
  expect(listRows(made)).toEqual([
    ['GET /mcp/v1/positions/uniswap-v3/{id}', 200, 2],
    ['GET /mcp/v1/positions/uniswap-v3', 200, 4],
  ])
})

test('a call that names no protocol of its tool is told which there are, free of charge, and is logged', async () => {
  const made = createSharedScene()
  const cases: readonly [given: object, code: string][] = [
    [{ id: 5 }, 'MISSING_PARAMETER'],
    [{ id: 5, protocol: 'third' }, 'INVALID_PARAMETER'],
    [{ id: 5, protocol: ['second'] }, 'INVALID_PARAMETER'],
  ]
  for (const [given, code] of cases) {
    const { status, body } = await made.post(toCallMessage(LIST, given))
    expect([status, body.result.isError, body.result._meta['walletscope/code']]).toEqual([200, true, code])
    expect(body.result.content[0].text).toMatch(
      /arameter "protocol"(?: is missing)?: expected one of "second", "first"/,
    )
  }
  const batch = await made.post([toCallMessage(LIST, {}, 1), toCallMessage(LIST, { protocol: 'second', id: 5 }, 2)])
  expect(batch.headers.get('x-credits-charged')).toBe('2')
  expect(listRows(made).filter(([path]) => path === 'POST /mcp')).toEqual(Array(4).fill(['POST /mcp', 400, 0]))
  expect(made.happenings.reads).toBe(1)
})

test('a field of another protocol is refused by the route, as a field that it does not have', async () => {
  const made = createSharedScene()
  const { body } = await made.post(toCallMessage(LIST, { protocol: 'second', id: 5, wallet: WALLET }))
  expect(body.result.content[0].text).toContain('Unknown field "wallet"')
  expect(made.happenings.reads).toBe(0)
})

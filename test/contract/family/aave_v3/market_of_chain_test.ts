import { describe, expect, test } from 'bun:test'
import { AAVE_V3 } from '../../../../src/family/aave_v3/mod.ts'
import type { Route } from '../../../../src/http/route/route.ts'
import { MARKETS } from '../../../devnet/aave_v3/addresses.ts'
import { DEVNET_ROW } from '../../../devnet/chain.ts'
import { callRoute, toRouteFailure } from '../../../support/call_route.ts'
import { createFamilyRoutes } from '../../../support/family.ts'
import { createTestClient } from '../../../support/history/scene.ts'

const WALLET = `0x${'ab'.repeat(20)}`
/** Chain 2 has one market of its own, chain 3 none at all. Nothing is asked of either. */
const ROUTES = createFamilyRoutes(AAVE_V3, {
  rows: [
    [1, DEVNET_ROW],
    [2, { aaveV3: [{ market: 'island', poolAddressesProvider: MARKETS.v3_0.provider }] }],
    [3, {}],
  ],
  clients: [1, 2, 3].map((chainId) => createTestClient(['http://127.0.0.1:9/'], { chainId })),
})

describe.each(['events', 'snapshots'])('%s', (name) => {
  const route = ROUTES.find(({ path }) => path.endsWith(`/position/:chain_id/${name}`)) as Route
  const refusal = async (chainId: number, query: string) => {
    const question = { params: { chain_id: `${chainId}` }, query: `wallet=${WALLET}${query}` }
    const error = await callRoute(route, question).catch((thrown: unknown) => thrown)
    const { status, code, message } = toRouteFailure(error, route)
    return { status, code, message }
  }

  test('of a market that the chain does not have are refused, naming those that it has', async () => {
    expect(await refusal(1, '&market_id=island')).toEqual({
      status: 400,
      code: 'INVALID_PARAMETER',
      message:
        'Cannot read parameter "market_id": expected a market of chain 1 ("main", "lido", "etherfi"), got "island"',
    })
    expect(await refusal(2, '')).toMatchObject({
      status: 400,
      message: 'Cannot read parameter "market_id": expected a market of chain 2 ("island"), got "main"',
    })
  })

  test('on a chain without any market are refused, naming the chains that have one', async () => {
    expect(await refusal(3, '')).toMatchObject({
      status: 400,
      message: expect.stringMatching(/^Cannot read parameter "chain_id": .*\(1, 2\), got "3"$/),
    })
  })
})

import { afterAll, beforeAll, expect, test } from 'bun:test'
import type { Address } from 'viem'
import { listRoute } from '../../../../src/family/liquidity/routes/list.ts'
import { positionRoute } from '../../../../src/family/liquidity/routes/position.ts'
import { PROTOCOL } from '../../../../src/family/uniswap_v4/protocol.ts'
import { createPositionReader } from '../../../../src/family/uniswap_v4/read/read.ts'
import type { FinanceClient } from '../../../../src/finance/chain.ts'
import { CodedError } from '../../../../src/lib/error.ts'
import { toWalletAddress, UNISWAP_V3 } from '../../../devnet/addresses.ts'
import { createDevnetChain } from '../../../devnet/chain.ts'
import { type Devnet, startDevnet } from '../../../devnet/mod.ts'
import { rangeAround } from '../../../devnet/ticks.ts'
import { UNISWAP_V4 } from '../../../devnet/uniswap_v4/addresses.ts'
import { callRoute } from '../../../support/call_route.ts'
import { countedClient } from '../../../support/family/uniswap_v3/support.ts'
import { slowClock } from '../../../support/test_clock.ts'
import { createFindEveryId, DEPLOYMENT } from './support.ts'

const OTHER_CHAIN = 10
const BUILD_LIMIT_MS = 120_000
const OWNER = toWalletAddress('v4 on two chains')

/** Managers of two chains, which number their positions each for itself. */
let devnets: readonly Devnet[]
let clients: readonly FinanceClient[]
let onBoth: bigint
/** Of the second chain alone. */
let onOne: bigint

beforeAll(async () => {
  devnets = await Promise.all([startDevnet(), startDevnet({ chainId: OTHER_CHAIN })])
  clients = devnets.map((devnet) => countedClient(createDevnetChain(devnet)).client)
  const minted = await Promise.all(devnets.map((devnet, index) => mint(devnet, index + 1)))
  ;[onBoth = 0n, onOne = 0n] = minted[1] ?? []
  expect(minted[0]).toEqual([onBoth])
}, BUILD_LIMIT_MS)
afterAll(async () => {
  for (const devnet of devnets ?? []) await devnet.stop()
}, BUILD_LIMIT_MS)

async function mint(devnet: Devnet, count: number): Promise<bigint[]> {
  const { pools, mintMany } = await devnet.uniswapV4()
  const request = { pool: pools.plain, ...rangeAround(pools.plain, -600, 600), liquidity: 10n ** 12n, recipient: OWNER }
  return await mintMany(Array.from({ length: count }, () => request))
}

function routes() {
  const reader = createPositionReader({
    clients: new Map(clients.map((client) => [client.chain.id, client])),
    deployments: new Map(clients.map(({ chain }) => [chain.id, [DEPLOYMENT]])),
    clock: slowClock,
    find: async (asked, ...others) => {
      const devnet = devnets.find(({ chainId }) => chainId === asked.client.chain.id)
      return devnet === undefined ? [] : await createFindEveryId(devnet)(asked, ...others)
    },
  })
  const histories = () => {
    throw new Error('Expected no question about a life')
  }
  const options = { chainIds: [1, OTHER_CHAIN], reader: () => reader, histories }
  return { list: listRoute(PROTOCOL, options), one: positionRoute(PROTOCOL, options) }
}

async function refused(id: bigint, query = ''): Promise<CodedError> {
  const error = await callRoute(routes().one, { params: { id: String(id) }, query }).then(String, (thrown) => thrown)
  if (!(error instanceof CodedError)) throw new Error(`Expected a refusal, got ${error}`)
  return error
}

const wherever = (data: unknown) => {
  const { chain_id, token_id } = data as { readonly chain_id: number; readonly token_id: string }
  return [chain_id, BigInt(token_id)]
}

test('an id on several chains is refused with their names, and answered for the named chain', async () => {
  const { code, message } = await refused(onBoth)
  expect(code).toBe('MISSING_PARAMETER')
  expect(message).toBe(
    `Position ${onBoth} needs parameter "chain_id": it was found on chain 1 manager ${UNISWAP_V4.positionManager}, ` +
      `chain ${OTHER_CHAIN} manager ${UNISWAP_V4.positionManager}`,
  )
  const { one } = routes()
  for (const chainId of [1, OTHER_CHAIN]) {
    const { reply } = await callRoute(one, { params: { id: String(onBoth) }, query: `chain_id=${chainId}` })
    expect(wherever(reply.data)).toEqual([chainId, onBoth])
    expect(reply.asOf?.map((each) => each.chainId)).toEqual([chainId])
  }
})

test('an id on one chain needs no chain_id, and does not exist on the other chain', async () => {
  const { reply } = await callRoute(routes().one, { params: { id: String(onOne) } })
  expect(wherever(reply.data)).toEqual([OTHER_CHAIN, onOne])
  expect((await refused(onOne, 'chain_id=1')).code).toBe('NOT_FOUND')
})

test('a wallet is listed on both chains, sorted by chain', async () => {
  const { reply, credits } = await callRoute(routes().list, { query: `wallet=${OWNER}` })
  expect((reply.data as unknown[]).map(wherever)).toEqual([
    [1, onBoth],
    [OTHER_CHAIN, onBoth],
    [OTHER_CHAIN, onOne],
  ])
  expect(credits).toBe(6)
  expect(reply.asOf?.map(({ chainId }) => chainId).sort()).toEqual([1, OTHER_CHAIN])
})

test('an id of Uniswap V3 does not exist in V4, and its manager is no manager of V4', async () => {
  const [first] = devnets
  const v3 = Object.values(first?.positions ?? {}).find((id) => id > onOne) ?? 0n
  expect(v3).toBeGreaterThan(onOne)
  expect((await refused(v3)).code).toBe('NOT_FOUND')
  const manager: Address = UNISWAP_V3.manager
  const { code, message } = await refused(v3, `manager_address=${manager}`)
  expect(code).toBe('INVALID_PARAMETER')
  expect(message).toContain(`${UNISWAP_V4.positionManager} on chain 1`)
  expect(message).toContain(`got "${manager}"`)
})

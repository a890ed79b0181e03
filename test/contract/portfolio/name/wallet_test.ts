import { afterAll, beforeAll, expect, test } from 'bun:test'
import { exclusiveAave } from '../../../devnet/aave_v3/shared.ts'
import { WALLETS } from '../../../devnet/addresses.ts'
import type { Devnet } from '../../../devnet/mod.ts'
import { DEMO_NAME, placeNames } from '../../../devnet/names.ts'
import { decodePayload, rowOver, type Stage, stageOver } from '../../receipt/stage.ts'

const HEADER = 'x-wallet'
const TOLD = `${DEMO_NAME}=${WALLETS.provider}`

let devnet: Devnet
let stage: Stage

beforeAll(async () => {
  devnet = (await exclusiveAave()).devnet
  await placeNames(devnet)
  stage = stageOver([rowOver([devnet.rpcUrl])])
}, 60_000)

afterAll(async () => {
  await stage?.close()
  await devnet?.stop()
})

/** The body without what names the request. */
function content({ body: { request_id: _, ...rest } }: Awaited<ReturnType<Stage['get']>>): unknown {
  return rest
}

test.each(['/v1/positions/uniswap-v3?limit=1&', '/v1/lending/aave-v3?market_id=main&', '/v1/lending/aave-v4?'])(
  '%swallet=name.eth is answered as of its address, which a header says, in one round trip more',
  async (path) => {
    const byAddress = await stage.get(`${path}wallet=${WALLETS.provider}`)
    const asked = stage.requests.length
    const byName = await stage.get(`${path}wallet=${DEMO_NAME}`)
    expect(byName.status).toBe(200)
    expect(content(byName)).toEqual(content(byAddress))
    expect(byName.headers.get(HEADER)).toBe(TOLD)
    expect(byAddress.headers.get(HEADER)).toBeNull()
    expect(stage.requests.length - asked).toBeGreaterThan(1)
    expect(byName.text).not.toContain(DEMO_NAME)
  },
)

test('links hold the address alone', async () => {
  const { body } = await stage.get(`/v1/positions/uniswap-v3?wallet=Provider.eth&limit=1`)
  expect(body.pagination.next_page).toContain(`wallet=${WALLETS.provider}`)
})

test('a receipt holds the address alone', async () => {
  const { body, headers } = await stage.get(
    `/v1/positions/uniswap-v3?wallet=${DEMO_NAME}&chain_id=1&limit=1&receipt=true`,
  )
  expect(headers.get(HEADER)).toBe(TOLD)
  const text = JSON.stringify(decodePayload(body.receipt))
  expect(text).toContain(`wallet=${WALLETS.provider}`)
  expect(text).not.toContain(DEMO_NAME)
})

test('wallets of a batch may be names', async () => {
  const [byName, byAddress] = [
    await stage.post('/v1/lending/aave-v3/batch', { wallets: [WALLETS.single, DEMO_NAME] }),
    await stage.post('/v1/lending/aave-v3/batch', { wallets: [WALLETS.single, WALLETS.provider] }),
  ]
  expect(byName.status).toBe(200)
  expect(content(byName)).toEqual(content(byAddress))
  expect(byName.headers.get(HEADER)).toBe(TOLD)
  expect(byAddress.headers.get(HEADER)).toBeNull()
})

test('agents may name wallets, too', async () => {
  const { data } = await stage.tool('list_liquidity_positions', { protocol: 'uniswap-v3', wallet: DEMO_NAME })
  expect(data[0].wallet).toBe(WALLETS.provider)
})

test.each([
  ['a name that is not registered', `/v1/portfolio/balance?wallet=missing.eth`, 404, 'not registered'],
  ['a name without an address', `/v1/portfolio/balance?wallet=empty.eth`, 404, 'no Ethereum address'],
  ['no name at all', `/v1/portfolio/balance?wallet=a..eth`, 400, 'expected an address, or an ENS name'],
  ['a name on Solana', `/v1/lending/kamino?wallet=${DEMO_NAME}`, 400, 'expected a Solana address'],
  ['a name where a route has no wallet', `/v1/names?name=${DEMO_NAME}&wallet=${DEMO_NAME}`, 400, 'wallet'],
  ['another mistake', `/v1/portfolio/balance?wallet=${DEMO_NAME}&chain_id=5`, 400, 'chain_id'],
])('%s is refused, and charged nothing', async (_, path, status, words) => {
  const answer = await stage.get(path)
  expect([answer.status, answer.headers.get('x-credits-charged')]).toEqual([status, '0'])
  expect(answer.body.error.message).toContain(words)
})

test('more than five names are refused', async () => {
  const wallets = Array.from({ length: 6 }, (_, index) => `name${index}.eth`)
  const { status, body } = await stage.post('/v1/lending/aave-v3/batch', { wallets })
  expect(status).toBe(400)
  expect(body.error.message).toContain('expected at most 5 names')
})

test('a key that cannot pay asks no endpoint', async () => {
  const asked = stage.requests.length
  const { status } = await stage.get(`/v1/portfolio/balance?wallet=${DEMO_NAME}`, 'unknown')
  expect(status).toBe(401)
  expect(stage.requests.length).toBe(asked)
})

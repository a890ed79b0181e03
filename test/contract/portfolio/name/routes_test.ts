import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { type Address, checksumAddress, type Hex, keccak256, slice, toHex } from 'viem'
import { createChainClient } from '../../../../src/chain/evm/evm_client.ts'
import type { FinanceClient } from '../../../../src/finance/chain.ts'
import { createWork } from '../../../../src/lib/async/work.ts'
import { silentLog } from '../../../../src/lib/log.ts'
import { createNameReader, createWalletNameReader, nameRoute } from '../../../../src/portfolio/name/routes.ts'
import { createDevnetChain } from '../../../devnet/chain.ts'
import { type Devnet, startDevnet } from '../../../devnet/mod.ts'
import { DEMO_NAME, placeNames, placeUniversalResolver } from '../../../devnet/names.ts'
import { callRoute, toRouteFailure } from '../../../support/call_route.ts'
import { withLensMode } from '../../../support/lens_mode.ts'
import { type FaultyRpc, startFaultyRpc } from '../../../support/rpc.ts'
import { createHurriedClock, slowClock } from '../../../support/test_clock.ts'

const patient = createWork(new AbortController().signal)

let devnet: Devnet
let rpc: FaultyRpc
let client: FinanceClient

beforeAll(async () => {
  devnet = await startDevnet()
  await placeNames(devnet)
  rpc = await startFaultyRpc(devnet.rpcUrl)
  client = createChainClient({
    chain: createDevnetChain(devnet, { rpcUrls: [rpc.url] }),
    clock: createHurriedClock(),
    log: silentLog,
  })
}, 60_000)

afterAll(async () => {
  await rpc?.stop()
  await devnet?.stop()
})

function routeOver(clients: readonly FinanceClient[]) {
  const connect = () => ({ clients: new Map(clients.map((each) => [each.chain.id, each])), clock: slowClock })
  const route = nameRoute({ connect })
  if (route === undefined) throw new Error('There is no such route')
  return route
}

async function ask(name: string, clients = [client]) {
  const route = routeOver(clients)
  try {
    const { reply, credits, creditsMin } = await callRoute(route, { query: new URLSearchParams({ name }).toString() })
    return { data: reply.data, credits: [creditsMin, credits], asOf: reply.asOf }
  } catch (error) {
    const { status, code, message } = toRouteFailure(error, route)
    return { status, code, message }
  }
}

/** A name as DNS writes it. */
function dnsName(name: string): Hex {
  return toHex(
    Uint8Array.from([...name.split('.').flatMap((label) => [label.length, ...new TextEncoder().encode(label)]), 0]),
  )
}

function hashedWallet(name: string): Address {
  return checksumAddress(slice(keccak256(dnsName(name)), 12))
}

test('a name resolves to its wallet in one call, for one credit', async () => {
  const seen = rpc.seen.length
  expect(await ask(DEMO_NAME)).toEqual({
    data: { name: DEMO_NAME, wallet: devnet.wallets.provider },
    credits: [1, 1],
    asOf: [{ chainId: 1, blockNumber: await devnet.client.getBlockNumber() }],
  })
  expect(rpc.seen.slice(seen).filter(({ method }) => method === 'eth_call').length).toBe(1)
})

test.each(['Provider.ETH', 'ＰＲＯＶＩＤＥＲ.eth'])('%s is folded to its normal form', async (name) => {
  expect((await ask(name)).data).toEqual({ name: DEMO_NAME, wallet: devnet.wallets.provider })
})

test('letters of all scripts and emoji are names', async () => {
  expect((await ask('GRÖSSE🦊.eth'.replace('SS', 'ß'))).data).toEqual({
    name: 'größe🦊.eth',
    wallet: devnet.wallets.spammed,
  })
})

test.each(['a.wild.eth', 'a.b.wild.eth', 'wild.eth'])('%s is asked of the resolver of its parent', async (name) => {
  expect((await ask(name)).data).toEqual({ name, wallet: hashedWallet(name) })
})

test.each([
  ['nobody.eth', 'it is not registered, or it has no resolver'],
  ['bare.eth', 'it is not registered, or it has no resolver'],
  ['below.provider.eth', 'it is not registered, or it has no resolver'],
  ['empty.eth', 'it is registered, but has no Ethereum address'],
  ['none.wild.eth', 'it is registered, but has no Ethereum address'],
  ['offchain.wild.eth', 'it is resolved outside the chain, and such look-ups are not followed'],
  ['silent.wild.eth', 'its resolver does not answer'],
  ['short.wild.eth', 'its resolver does not answer'],
  ['broken.eth', 'its resolver does not answer'],
])('%s has no wallet: %s', async (name, why) => {
  const message = `Cannot find a wallet for "${name}": ${why}`
  expect(await ask(name)).toMatchObject({ status: 404, code: 'NOT_FOUND', message })
})

test.each(['eth', 'a..eth', '.eth', 'a b.eth', 'a_b.et_h', 'pаypal.eth', `${'a'.repeat(252)}.eth`])(
  '%s is no name',
  async (name) => {
    const message = expect.stringContaining('expected an ENS name such as vitalik.eth, of at most 255 bytes')
    expect(await ask(name)).toMatchObject({ status: 400, code: 'INVALID_PARAMETER', message })
  },
)

test('a name of 255 bytes in 126 labels is looked up', async () => {
  expect(await ask(`${'a.'.repeat(125)}a.eth`)).toMatchObject({ status: 404 })
})

test('every lens mode returns the same wallet', async () => {
  for (const way of ['override', 'deployless'] as const) {
    const read = createNameReader({ client: withLensMode(client, way), clock: slowClock })
    expect(await read('a.wild.eth', patient)).toMatchObject({ wallet: hashedWallet('a.wild.eth') })
    expect(await read('offchain.wild.eth', patient)).toMatchObject({ unresolved: expect.stringContaining('outside') })
  }
})

test('names are not served without Ethereum', async () => {
  expect(await ask(DEMO_NAME, [])).toMatchObject({ code: 'API_ENDPOINT_NOT_CONFIGURED' })
})

test('a name in a request is 503 where Ethereum does not answer, with what to send in its place', async () => {
  const chain = createDevnetChain(devnet, { rpcUrls: ['http://127.0.0.1:9'] })
  const silent = createChainClient({ chain, clock: createHurriedClock(), log: silentLog })
  const read = createWalletNameReader({ connect: () => ({ clients: new Map([[1, silent]]), clock: slowClock }) })
  await expect(read(DEMO_NAME, patient)).rejects.toMatchObject({
    code: 'SERVICE_UNAVAILABLE',
    message: expect.stringMatching(
      new RegExp(`^Cannot read chain 1 .*, which tells the wallet of "${DEMO_NAME}": send its address, or try again$`),
    ),
  })
})

test('on an Ethereum without ENS the answer says so, and nothing about the name', async () => {
  const bare = await startDevnet()
  try {
    const chain = createDevnetChain(bare)
    const other = createChainClient({ chain, clock: createHurriedClock(), log: silentLog })
    const message = `Cannot find a wallet for "${DEMO_NAME}": the chain has no contracts of ENS`
    expect(await ask(DEMO_NAME, [other])).toMatchObject({ status: 404, message })
  } finally {
    await bare.stop()
  }
}, 60_000)

describe('where the Universal Resolver has code', () => {
  const moved: Address = '0x2222222222222222222222222222222222222222'
  let own: Devnet
  let ownRpc: FaultyRpc
  let ownClient: FinanceClient

  beforeAll(async () => {
    own = await startDevnet()
    await placeNames(own)
    const names = { [DEMO_NAME]: moved, 'ur.integration-tests.eth': moved, 'a.b.deep.eth': own.wallets.single }
    await placeUniversalResolver(own, names)
    ownRpc = await startFaultyRpc(own.rpcUrl)
    const chain = createDevnetChain(own, { rpcUrls: [ownRpc.url] })
    ownClient = createChainClient({ chain, clock: createHurriedClock(), log: silentLog })
  }, 60_000)

  afterAll(async () => {
    await ownRpc?.stop()
    await own?.stop()
  })

  test.each([DEMO_NAME, 'ur.integration-tests.eth'])(
    '%s is the wallet that it says, whatever the first registry keeps, in one call',
    async (name) => {
      const seen = ownRpc.seen.length
      expect((await ask(name, [ownClient])).data).toEqual({ name, wallet: moved })
      expect(ownRpc.seen.slice(seen).filter(({ method }) => method === 'eth_call').length).toBe(1)
    },
  )

  test('a name of several labels is asked as a whole', async () => {
    expect((await ask('a.b.deep.eth', [ownClient])).data).toMatchObject({ wallet: own.wallets.single })
  })

  test.each([
    // The first registry knows a wallet for this one.
    ['größe🦊.eth', 'it is not registered, or it has no resolver'],
    ['a.wild.eth', 'it is not registered, or it has no resolver'],
    ['empty.names.eth', 'it is registered, but has no Ethereum address'],
    ['none.names.eth', 'it is registered, but has no Ethereum address'],
    ['odd.names.eth', 'it is registered, but has no Ethereum address'],
    ['offchain.names.eth', 'it is resolved outside the chain, and such look-ups are not followed'],
    ['silent.names.eth', 'its resolver does not answer'],
    ['short.names.eth', 'its resolver does not answer'],
    ['broken.names.eth', 'its resolver does not answer'],
  ])('%s has no wallet: %s', async (name, why) => {
    const message = `Cannot find a wallet for "${name}": ${why}`
    expect(await ask(name, [ownClient])).toMatchObject({ status: 404, code: 'NOT_FOUND', message })
  })

  test('every lens mode returns the same wallet', async () => {
    for (const way of ['override', 'deployless'] as const) {
      const read = createNameReader({ client: withLensMode(ownClient, way), clock: slowClock })
      expect(await read(DEMO_NAME, patient)).toMatchObject({ wallet: moved })
    }
  })
})

import { beforeAll, expect, test } from 'bun:test'
import type { Address } from 'viem'
import type { PinnedBlock } from '../../../../src/chain/block.ts'
import { createChainClient } from '../../../../src/chain/evm/evm_client.ts'
import { readBlock } from '../../../../src/chain/evm/read_block.ts'
import { createWitnessedClient } from '../../../../src/chain/quorum/witnessed_client.ts'
import { createRecorder } from '../../../../src/chain/receipt/recorder.ts'
import { AAVE_V3 } from '../../../../src/family/aave_v3/mod.ts'
import { createLendingReader } from '../../../../src/family/aave_v3/read/read.ts'
import { snapshotMarket } from '../../../../src/family/aave_v3/snapshot.ts'
import type { FinanceClient } from '../../../../src/finance/chain.ts'
import { createWork } from '../../../../src/lib/async/work.ts'
import { silentLog } from '../../../../src/lib/log.ts'
import { MARKETS } from '../../../devnet/aave_v3/addresses.ts'
import { sharedAave } from '../../../devnet/aave_v3/shared.ts'
import { createDevnetChain } from '../../../devnet/chain.ts'
import type { Devnet } from '../../../devnet/mod.ts'
import { callRoute } from '../../../support/call_route.ts'
import { createFamilyRoutes } from '../../../support/family.ts'
import { createFixedClock, settle } from '../../../support/test_clock.ts'
import { createPortfolio } from '../../portfolio/support.ts'

const never = createWork(new AbortController().signal)
const DAY_SEC = 86_400

let devnet: Devnet
let wallet: Address
let block: PinnedBlock
let nowSec = 0
/** No time passes: a day later than the block, so that it is no young one. */
const clock = createFixedClock(
  () => nowSec * 1_000,
  () => 0,
)

beforeAll(async () => {
  const shared = await sharedAave()
  devnet = shared.devnet
  wallet = shared.aave.wallets.borrower
  const number = await shared.aave.blockNumber()
  await devnet.rpc.call('anvil_mine', '0x3')
  const client = createChainClient({ chain: createDevnetChain(devnet), clock, log: silentLog })
  const read = () => readThrough(client, number)
  nowSec = Number((await devnet.client.getBlock()).timestamp) + DAY_SEC
  block = await read()
  client.close()
}, 180_000)

function readThrough(client: FinanceClient, number: bigint): Promise<PinnedBlock> {
  return client.read((endpoint) => readBlock(endpoint, { chainId: 1, number }, never), { work: never })
}

/** Rounds in which requests are sent (all answers of a round come together), calls, and headers. */
type Costs = readonly [rounds: number, calls: number, headers: number]

/** Measures a read over so many endpoints, of which nothing is known yet but the chain that they serve. */
async function measure(
  read: (client: FinanceClient) => Promise<unknown>,
  { endpoints, isWitnessed }: { readonly endpoints: number; readonly isWitnessed: boolean },
): Promise<Costs> {
  const requests = new Map<string, number>()
  let held: (() => Promise<() => void>)[] = []
  let rounds = 0
  let isMeasured = false
  const send = (url: string, init: RequestInit): Promise<Response> => {
    if (!isMeasured) return fetch(url, init)
    const { method } = JSON.parse(String(init.body)) as { readonly method: string }
    requests.set(method, (requests.get(method) ?? 0) + 1)
    return new Promise((resolve, reject) => {
      held.push(async () => {
        const answer = await fetch(url, init).catch((error: unknown) => () => reject(error))
        return typeof answer === 'function' ? answer : () => resolve(answer)
      })
    })
  }
  const chain = createDevnetChain(devnet, {
    rpcUrls: Array.from({ length: endpoints }, (_, index) => `${devnet.rpcUrl}?${index}`),
    maxBlockAgeSec: 10 * DAY_SEC,
    blockTimeMs: 1_000,
  })
  const plain = createChainClient({ chain, clock, log: silentLog, fetch: send })
  const client = isWitnessed ? createWitnessedClient(plain) : plain
  for (let index = 0; index < endpoints; index++) await client.background[index]?.request(HEIGHT, never)
  isMeasured = true
  let isDone = false
  const done = read(client).finally(() => {
    isDone = true
  })
  done.catch(() => {})
  while (!isDone) {
    await settle(30)
    if (held.length === 0) continue
    rounds++
    const sent = held.splice(0)
    for (const answer of await Promise.all(sent.map((each) => each()))) answer()
  }
  held = []
  await done
  plain.close()
  const count = (method: string) => requests.get(method) ?? 0
  return [rounds, count('eth_call'), count('eth_getBlockByNumber')]
}

const HEIGHT = { method: 'eth_blockNumber', params: [], parse: String } as const

function list(client: FinanceClient, startBlock: number, query = ''): Promise<unknown> {
  const aaveV3 = (['main', 'lido'] as const).map((market) => ({
    market,
    poolAddressesProvider: MARKETS[market].provider,
    startBlock,
  }))
  const [route] = createFamilyRoutes(AAVE_V3, { rows: [[1, { aaveV3 }]], clients: [client] })
  if (route === undefined) throw new Error('There is no list')
  return callRoute(route, { query: `wallet=${wallet}&chain_id=1${query}` })
}

function readMidnight(client: FinanceClient): Promise<unknown> {
  const deployments = [{ market: 'main', poolAddressesProvider: MARKETS.main.provider, startBlock: 1 }]
  const reader = createLendingReader({
    clients: new Map([[1, client]]),
    deployments: new Map([[1, deployments]]),
    clock,
  })
  return snapshotMarket(reader, { client, deployments }).readFigures({ day: 1, block }, [wallet], never)
}

const past = () => `&at_block=${block.number}`

/**
 * The costs of reads over one endpoint and over two, without witnesses and with them. Of two endpoints the other one is
 * probed meanwhile, which takes a header. A live read is the same, and no read takes a round more.
 */
const READS: readonly [
  string,
  (client: FinanceClient) => Promise<unknown>,
  Readonly<Record<'alone' | 'aloneWitnessed' | 'both' | 'bothWitnessed', Costs>>,
][] = [
  [
    'a list',
    (client) => list(client, 1),
    { alone: [1, 1, 0], aloneWitnessed: [1, 1, 0], both: [1, 1, 1], bothWitnessed: [1, 1, 1] },
  ],
  [
    'a past list',
    (client) => list(client, 1, past()),
    { alone: [2, 1, 1], aloneWitnessed: [2, 2, 1], both: [2, 1, 3], bothWitnessed: [2, 2, 3] },
  ],
  [
    'a past list without first blocks',
    (client) => list(client, 0, past()),
    { alone: [3, 2, 1], aloneWitnessed: [3, 2, 1], both: [3, 3, 3], bothWitnessed: [3, 3, 3] },
  ],
  [
    'a balance',
    (client) => createPortfolio([client]).balance(`wallet=${wallet}&chain_id=1`),
    { alone: [2, 2, 0], aloneWitnessed: [2, 2, 0], both: [2, 2, 1], bothWitnessed: [2, 2, 1] },
  ],
  [
    'a past balance',
    (client) => createPortfolio([client]).balance(`wallet=${wallet}&chain_id=1${past()}`),
    { alone: [4, 3, 1], aloneWitnessed: [4, 3, 1], both: [4, 4, 3], bothWitnessed: [4, 4, 3] },
  ],
  [
    'a midnight',
    readMidnight,
    { alone: [1, 1, 0], aloneWitnessed: [1, 2, 0], both: [1, 2, 1], bothWitnessed: [1, 4, 1] },
  ],
  [
    'a receipt',
    (client) => list(createRecorder(client).client, 1),
    { alone: [2, 2, 1], aloneWitnessed: [2, 2, 1], both: [2, 2, 2], bothWitnessed: [2, 2, 2] },
  ],
  [
    'a receipt of a past list',
    (client) => list(createRecorder(client).client, 1, past()),
    { alone: [2, 2, 1], aloneWitnessed: [2, 3, 1], both: [2, 2, 3], bothWitnessed: [2, 3, 3] },
  ],
]

test.each(READS)('what witnesses cost: %s', async (_, read, expected) => {
  expect({
    alone: await measure(read, { endpoints: 1, isWitnessed: false }),
    aloneWitnessed: await measure(read, { endpoints: 1, isWitnessed: true }),
    both: await measure(read, { endpoints: 2, isWitnessed: false }),
    bothWitnessed: await measure(read, { endpoints: 2, isWitnessed: true }),
  }).toEqual(expected)
})

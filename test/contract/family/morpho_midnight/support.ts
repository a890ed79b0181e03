import type { Address, Hex } from 'viem'
import type { PinnedBlock } from '../../../../src/chain/block.ts'
import { createChainClient, type EvmClient } from '../../../../src/chain/evm/evm_client.ts'
import { readBlock } from '../../../../src/chain/evm/read_block.ts'
import type { Holdings } from '../../../../src/family/holding.ts'
import { createHoldingsReader } from '../../../../src/family/morpho_midnight/holdings.ts'
import { createEnteredMarketsReader } from '../../../../src/family/morpho_midnight/read/entered.ts'
import { createLifeStream } from '../../../../src/family/morpho_midnight/read/lives.ts'
import { createPositionReader } from '../../../../src/family/morpho_midnight/read/read.ts'
import type { FinanceChain } from '../../../../src/finance/chain.ts'
import { createHistory, type HistoryService } from '../../../../src/history/mod.ts'
import type { History } from '../../../../src/history/stream.ts'
import { createWork } from '../../../../src/lib/async/work.ts'
import { silentLog } from '../../../../src/lib/log.ts'
import { type Anvil, startAnvil } from '../../../devnet/anvil.ts'
import { BLOCK_AGE_SEC_MAX } from '../../../devnet/chain.ts'
import { emitLogs, mineAt, placeCheckpoint } from '../../../devnet/morpho_midnight/mod.ts'
import { readVectors, type VectorLog } from '../../../devnet/morpho_midnight/vectors.ts'
import { createRpc, type Rpc } from '../../../devnet/rpc.ts'
import { createSend, type Send } from '../../../devnet/transaction.ts'
import { type TestDatabase, testDatabase } from '../../../support/database.ts'
import { readHoldings } from '../../../support/holdings.ts'
import { createHurriedClock, createPatientClock } from '../../../support/test_clock.ts'

const CHAIN_ID = 31_337
/** Before everything that happened in the vectors. */
const GENESIS_SEC = 1_790_000_000

export const vectors = readVectors()
export const patient = createWork(new AbortController().signal)
export const DEPLOYMENTS = new Map([[CHAIN_ID, { midnight: vectors.midnight, startBlock: 1 }]])

/** A chain on which Midnight emitted the logs of the vectors, and answers what it answered at each checkpoint. */
export interface MidnightChain {
  readonly anvil: Anvil
  readonly rpc: Rpc
  readonly send: Send
  /** Block of each checkpoint. */
  readonly blocks: readonly number[]
}

/** Starts it; `select` leaves logs out. */
export async function startMidnightChain(select: (log: VectorLog) => boolean = () => true): Promise<MidnightChain> {
  const anvil = await startAnvil({ chainId: CHAIN_ID, hardfork: 'cancun', timestampSec: GENESIS_SEC })
  const rpc = createRpc(anvil.rpcUrl)
  const send = createSend(rpc)
  const { checkpoints, midnight } = vectors
  const blocks: number[] = []
  for (const [index, checkpoint] of checkpoints.entries()) {
    const from = checkpoints[index - 1]?.block ?? 0
    const logs = vectors.logs.filter(([block]) => block > from && block <= checkpoint.block)
    await emitLogs({ rpc, send }, { address: midnight, logs: logs.filter(select) })
    await placeCheckpoint(rpc, vectors, { checkpoint })
    blocks.push(await mineAt(rpc, checkpoint.time))
  }
  return { anvil, rpc, send, blocks }
}

/** A process over such a chain. */
export interface MidnightReader {
  readonly client: EvmClient<FinanceChain>
  readonly history: HistoryService
  readonly database: TestDatabase
  /** At most so many markets. @default 2,000 */
  read(wallet: Address, block?: number, positionsMax?: number): Promise<Holdings>
  close(): Promise<void>
}

/** Starts it; `wrap` stands between it and its histories. */
export async function startReader(
  rpcUrls: readonly string[],
  wrap: (history: History) => History = (history) => history,
  limits?: Parameters<typeof createLifeStream>[1],
): Promise<MidnightReader> {
  const client = createChainClient({
    chain: {
      id: CHAIN_ID,
      name: 'Devnet',
      rpcUrls,
      reuseMs: 0,
      maxBlockAgeSec: BLOCK_AGE_SEC_MAX,
      finality: { depth: 0 },
      prices: {
        usdFeeds: {},
        stablecoins: Object.values(vectors.tokens).flatMap((tokens) => tokens.map(({ address }) => address)),
      },
      tokens: { addresses: [], names: [], added: [] },
      spamTokens: [],
    },
    clock: createHurriedClock(),
    log: silentLog,
  })
  const clients = new Map([[CHAIN_ID, client]])
  const database = await testDatabase()
  const { db } = database
  const history = createHistory({
    clients,
    db,
    clock: createPatientClock(),
    log: silentLog,
    holder: crypto.randomUUID(),
  })
  const reader = createPositionReader({ clients, deployments: DEPLOYMENTS, clock: createHurriedClock() })
  const entered = createEnteredMarketsReader({ lives: createLifeStream(reader, limits), history: wrap(history), db })
  const holdings = createHoldingsReader({ reader, entered })
  return {
    client,
    history,
    database,
    async read(wallet, number, positionsMax = 2_000) {
      const pinned = number === undefined ? undefined : await readPinned(client, number)
      const held = await readHoldings(holdings, client, { wallet, positionsMax, ...(pinned && { block: pinned }) })
      if (held === undefined) throw new Error('Expected Midnight')
      return held
    },
    async close() {
      await history.close()
      client.close()
      await database.close()
    },
  }
}

/** Reads a block by its number. */
export function readPinned(client: EvmClient<FinanceChain>, number: number): Promise<PinnedBlock> {
  const query = { chainId: CHAIN_ID, number: BigInt(number) }
  return client.read((endpoint, within) => readBlock(endpoint, query, within), { work: patient, past: 'header' })
}

/** The market of the vectors with this id. */
export function findMarket(id: string | undefined) {
  const index = vectors.markets.findIndex((market) => market.id === (id as Hex))
  const market = vectors.markets[index]
  if (market === undefined) throw new Error(`Cannot find market ${id}`)
  return { index, market }
}

import { type Address, encodeFunctionData, type Hex, toHex } from 'viem'
import { createChainClient, type EvmClient } from '../../../../../src/chain/evm/evm_client.ts'
import { readLatestBlock } from '../../../../../src/chain/evm/read_block.ts'
import { createOwnedFinder } from '../../../../../src/family/uniswap_v4/read/owned/mod.ts'
import type { FindOwnedIds } from '../../../../../src/family/uniswap_v4/read/ownership.ts'
import type { UniswapV4Deployment } from '../../../../../src/family/uniswap_v4/table.ts'
import type { FinanceChain } from '../../../../../src/finance/chain.ts'
import { createHistory, type HistoryService } from '../../../../../src/history/mod.ts'
import { createWork } from '../../../../../src/lib/async/work.ts'
import { silentLog } from '../../../../../src/lib/log.ts'
import { createDevnetChain } from '../../../../devnet/chain.ts'
import type { Devnet } from '../../../../devnet/mod.ts'
import { POSITION_MANAGER_ABI } from '../../../../devnet/uniswap_v4/abi.ts'
import { UNISWAP_V4 } from '../../../../devnet/uniswap_v4/addresses.ts'
import type { TestDatabase } from '../../../../support/database.ts'
import { createHurriedClock, slowClock } from '../../../../support/test_clock.ts'
import { createTestReader, DEPLOYMENT } from '../support.ts'

/** Blocks that are not final. */
export const DEPTH = 8

const patient = createWork(new AbortController().signal)

/** A process that lists wallets' positions without a cache: it finds each list anew. */
export interface Lister {
  readonly client: EvmClient<FinanceChain>
  readonly history: HistoryService
  readonly find: FindOwnedIds
  /** Ids at the newest block or a past one, ascending, or why there are none. */
  ask(wallet: Address, blockNumber?: bigint): Promise<readonly bigint[] | string>
  close(): Promise<void>
}

/** Starts it over endpoints of a devnet. */
export function startLister(
  devnet: Devnet,
  options: {
    readonly database: TestDatabase
    readonly rpcUrls: readonly string[]
    readonly deployment?: UniswapV4Deployment
    readonly waitMs?: number
  },
): Lister {
  const { database, rpcUrls, deployment = DEPLOYMENT, waitMs } = options
  const { db } = database
  const chain = createDevnetChain(devnet, { rpcUrls, finality: { depth: DEPTH } })
  const client = createChainClient({ chain, clock: createHurriedClock(), log: silentLog })
  const clients = new Map([[chain.id, client]])
  const history = createHistory({ clients, db, clock: slowClock, log: silentLog, holder: crypto.randomUUID() })
  const find = createOwnedFinder({ history, db, clock: slowClock, ...(waitMs !== undefined && { waitMs }) })
  return {
    client,
    history,
    find,
    async ask(wallet, blockNumber) {
      const { reader, places } = createTestReader(client, { find, deployment })
      const block = blockNumber === undefined ? undefined : await blockAt(devnet, blockNumber)
      try {
        const at = block === undefined ? places : places.map((place) => ({ ...place, block }))
        const reads = await reader.readWallet(wallet, { targets: at, work: patient })
        const found = reads.flatMap(({ positions, spams, unreadable }) => [...positions, ...spams, ...unreadable])
        return found.map(({ tokenId }) => tokenId).sort((a, b) => Number(a - b))
      } catch (error) {
        return error instanceof Error ? error.message : String(error)
      }
    },
    async close() {
      await history.close()
      client.close()
    },
  }
}

/** A block by its number, as readings name it. */
export async function blockAt({ rpc, chainId }: Devnet, number: bigint) {
  const header = await rpc.call<{ hash: Hex; parentHash: Hex; timestamp: Hex }>(
    'eth_getBlockByNumber',
    toHex(number),
    false,
  )
  const { hash, parentHash, timestamp } = header
  return { chainId, number, hash, parentHash, timestampSec: BigInt(timestamp) }
}

/** Reads the newest block of a lister's chain. */
export function readNewest({ client }: Lister) {
  return client.read((endpoint, within) => readLatestBlock(endpoint, client.chain.id, within), { work: patient })
}

/** Reads the ids of a wallet from the manager itself, id by id. */
export async function readTruth({ rpc }: Devnet, wallet: Address, blockNumber?: bigint): Promise<bigint[]> {
  const at = blockNumber === undefined ? 'latest' : toHex(blockNumber)
  const abi = POSITION_MANAGER_ABI
  const call = (data: Hex) => ({ method: 'eth_call', params: [{ to: UNISWAP_V4.positionManager, data }, at] })
  const [next] = await rpc.batch<Hex>([call(encodeFunctionData({ abi, functionName: 'nextTokenId' }))])
  const ids = Array.from({ length: Number(next) - 1 }, (_, index) => BigInt(index + 1))
  // A burned id has no owner, and reverts.
  const owners = await Promise.all(
    ids.map((id) => {
      const { method, params } = call(encodeFunctionData({ abi, functionName: 'ownerOf', args: [id] }))
      return rpc.call<Hex>(method, ...params).catch(() => '0x')
    }),
  )
  return ids.filter((_, index) => owners[index]?.slice(26) === wallet.slice(2).toLowerCase())
}

import { type Hex, numberToHex, toEventSelector } from 'viem'
import { createChainClient, type EvmClient } from '../../../src/chain/evm/evm_client.ts'
import { LENDING_EVENTS, type LendingEvent } from '../../../src/family/lending/lending_event.ts'
import type { FinanceChain } from '../../../src/finance/chain.ts'
import type { HistoryLog, Stream, StreamTarget } from '../../../src/history/stream.ts'
import { IncompleteError } from '../../../src/history/stream.ts'
import { type Log, silentLog } from '../../../src/lib/log.ts'
import type { Rpc } from '../../devnet/rpc.ts'
import type { RpcLog } from '../rpc_log.ts'
import { createHurriedClock } from '../test_clock.ts'
import { waitFor } from '../wait_for.ts'

/** A contract that logs what it is told: for each 96 bytes of its input one log of two topics and a word of data. */
export const EMITTER = `0x${'e0'.repeat(20)}` as Hex
const EMITTER_CODE = '0x60005b36811015602557602081604001600037806020013581356020' + '6000a2606001600256' + '5b00'
const SENDER = `0x${'5e'.repeat(20)}` as Hex

/** Each thing that happens is two logs of one transaction, as a pool and its token log it. */
export const POOL_TOPIC = toEventSelector('event Pool(address indexed wallet, uint256 amount)')
export const TOKEN_TOPIC = toEventSelector('event Token(address indexed wallet, uint256 amount)')

/** The wallet with this number. */
export function toWallet(number: number): Hex {
  return numberToHex(0xa11ce000 + number, { size: 20 })
}

/** A wallet as a topic of a log. */
export function toTopic(wallet: Hex): Hex {
  return `0x${wallet.slice(2).padStart(64, '0')}`
}

/** Something that a wallet does. */
export interface Act {
  readonly wallet: Hex
  readonly amount: bigint
}

/** Puts the emitter on a chain. */
export async function deployEmitter(rpc: Rpc): Promise<void> {
  await rpc.call('anvil_setCode', EMITTER, EMITTER_CODE)
}

/** One transaction in a block of its own. */
export async function act(rpc: Rpc, acts: readonly Act[]): Promise<void> {
  const words = acts.flatMap(({ wallet, amount }) =>
    [POOL_TOPIC, TOKEN_TOPIC].flatMap((topic) => [topic, toTopic(wallet), numberToHex(amount, { size: 32 })]),
  )
  const data = `0x${words.map((word) => word.slice(2)).join('')}`
  const hash = await rpc.call('eth_sendTransaction', {
    from: SENDER,
    to: EMITTER,
    data,
    gas: '0xf42400',
    gasPrice: '0x0',
  })
  await waitFor('a mined transaction', async () => (await rpc.call('eth_getTransactionReceipt', hash)) !== null)
}

/** So many blocks in which up to three of four wallets do something. */
export async function actInBlocks(rpc: Rpc, blocks: number): Promise<void> {
  for (let block = 1; block <= blocks; block++) {
    const acts = Array.from({ length: 1 + (block % 3) }, (_, index) => ({
      wallet: toWallet((block + index) % 4),
      amount: BigInt(block * 10 + index),
    }))
    await act(rpc, acts)
  }
}

/** Follows the emitter: a row for every log of the pool, which must have one of the token right after it. */
export const EMITTED: Stream<LendingEvent> = {
  name: 'emitted',
  table: LENDING_EVENTS,
  filters: (place, subjects) => [
    {
      addresses: [place.contract],
      topics: [[POOL_TOPIC, TOKEN_TOPIC], ...(subjects === null ? [] : [subjects.map(toTopic)])],
    },
  ],
  decode(_, logs) {
    const rows: LendingEvent[] = []
    for (const [index, log] of logs.entries()) {
      const isPool = log.topics[0] === POOL_TOPIC
      const other = logs[isPool ? index + 1 : index - 1]
      const isPaired =
        other?.transactionHash === log.transactionHash &&
        other.logIndex === log.logIndex + (isPool ? 1 : -1) &&
        other.data === log.data
      if (!isPaired) throw new IncompleteError('pairing', { fromBlock: log.blockNumber, toBlock: log.blockNumber })
      if (isPool) rows.push(toRow(log))
    }
    return { rows, unsettled: [] }
  },
}

function toRow(log: HistoryLog): LendingEvent {
  return {
    wallet: `0x${log.topics[1]?.slice(26) ?? ''}`,
    market: null,
    block: log.blockNumber,
    logIndex: log.logIndex,
    leg: 0,
    kind: 'supply',
    asset: EMITTER,
    amount: BigInt(log.data),
    counterparty: null,
    transactionHash: log.transactionHash,
    timestampSec: log.timestampSec,
    indexRay: null,
  }
}

/** Where the emitter is followed. */
export function toTarget(chainId: number, startBlock = 1): StreamTarget {
  return { chainId, contract: EMITTER, startBlock }
}

/** A wallet's acts up to a block, from every transaction's own receipt: what the rows must be. */
export async function readTruth(rpc: Rpc, wallet: Hex, toBlock: number): Promise<readonly string[]> {
  const blocks = await rpc.batch<{ readonly logs: readonly RpcLog[] }[]>(
    Array.from({ length: toBlock }, (_, index) => ({
      method: 'eth_getBlockReceipts',
      params: [numberToHex(index + 1)],
    })),
  )
  return blocks
    .flat()
    .flatMap(({ logs }) => logs)
    .filter(({ topics }) => topics[0] === POOL_TOPIC && topics[1] === toTopic(wallet))
    .map((log) => `${Number(log.blockNumber)}:${Number(log.logIndex)}:${BigInt(log.data)}`)
}

/** Rows in the words of `readTruth`, oldest first. */
export function describeRows(rows: readonly LendingEvent[]): readonly string[] {
  return [...rows]
    .sort((a, b) => a.block - b.block || a.logIndex - b.logIndex)
    .map(({ block, logIndex, amount }) => `${block}:${logIndex}:${amount}`)
}

/** A client whose blocks may be of any age. */
export function createTestClient(
  rpcUrls: readonly string[],
  {
    chainId,
    finality = { depth: 10 },
    log = silentLog,
  }: { readonly chainId: number; readonly finality?: FinanceChain['finality']; readonly log?: Log },
): EvmClient<FinanceChain> {
  const chain: FinanceChain = {
    id: chainId,
    name: `Devnet ${chainId}`,
    rpcUrls,
    reuseMs: 0,
    maxBlockAgeSec: 1e9,
    finality,
    prices: { usdFeeds: {}, stablecoins: [] },
    tokens: { addresses: [], names: [], added: [] },
    spamTokens: [],
  }
  return createChainClient({ chain, clock: createHurriedClock(), log })
}

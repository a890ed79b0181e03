import * as v from 'valibot'
import { type Address, type Hex, keccak256, pad, toHex } from 'viem'
import type { PinnedBlock } from '../../../src/chain/block.ts'
import { createChainClient } from '../../../src/chain/evm/evm_client.ts'
import type { Endpoint } from '../../../src/chain/rpc/client.ts'
import type { WatchableFamily } from '../../../src/family/contract.ts'
import type {
  ConfirmedFigures,
  FigureValue,
  SubjectEvent,
  Watcher,
  WatchSubject,
  WatchTarget,
} from '../../../src/family/watch.ts'
import type { FinanceChain, FinanceClient } from '../../../src/finance/chain.ts'
import type { Work } from '../../../src/lib/async/work.ts'
import { silentLog } from '../../../src/lib/log.ts'
import { formatRational, rational } from '../../../src/lib/number/rational.ts'
import { startAnvil } from '../../devnet/anvil.ts'
import { createRpc, type Rpc } from '../../devnet/rpc.ts'
import { createHurriedClock } from '../test_clock.ts'

/*
 * A family that does not exist, over a real contract: accounts have units, a unit has a price, and the level of an
 * account is their product. A transaction with a key and a value sets it, which is logged.
 */

const METER: Address = '0x00000000000000000000000000000000000A3E7e'
/** Sent a key it gives the value; sent a key and a value it stores and logs them. */
const CODE = [
  // if (calldatasize == 32) goto get
  '36602014601d57',
  // sstore(key, value); mstore(0, value); log1(0, 32, key)
  '6020356000355560203560005260003560206000a100',
  // get: return sload(key)
  '5b6000355460005260206000f3',
].join('')
const PRICE = pad('0x01')
const SENDER = '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266'

export interface Meter {
  readonly url: string
  readonly rpc: Rpc
  /** Mines a block in which the price is this. */
  price(price: number): Promise<bigint>
  /** Mines a block in which an account has these units. */
  units(account: string, units: number): Promise<bigint>
  mine(): Promise<bigint>
  /** Takes back the newest blocks. */
  rollBack(blocks: number): Promise<void>
  client(url?: string, chain?: Partial<FinanceChain>): FinanceClient
  stop(): Promise<void>
}

export const METER_CHAIN_ID = 31_337

/** Starts a chain with the contract; a unit costs 1. */
export async function startMeter(): Promise<Meter> {
  const anvil = await startAnvil({ chainId: METER_CHAIN_ID, hardfork: 'cancun' })
  const rpc = createRpc(anvil.rpcUrl)
  await rpc.call('anvil_setCode', METER, `0x${CODE}`)
  await rpc.call('evm_setAutomine', false)
  let seconds = 0

  async function mine(): Promise<bigint> {
    // Another time makes another block of the same height.
    const { timestamp } = await rpc.call<{ timestamp: Hex }>('eth_getBlockByNumber', 'latest', false)
    seconds = Math.max(seconds, Number(timestamp), Math.ceil(Date.now() / 1_000)) + 1
    await rpc.call('evm_setNextBlockTimestamp', seconds)
    await rpc.call('evm_mine')
    return BigInt(await rpc.call<Hex>('eth_blockNumber'))
  }

  async function set(key: Hex, value: number): Promise<bigint> {
    const data = `${key}${pad(toHex(value)).slice(2)}`
    await rpc.call('eth_sendTransaction', { from: SENDER, to: METER, data, gas: '0x30d40', gasPrice: '0x0' })
    return await mine()
  }

  await set(PRICE, 1)
  return {
    url: anvil.rpcUrl,
    rpc,
    price: (price) => set(PRICE, price),
    units: (account, units) => set(keyOf(account), units),
    mine,
    rollBack: async (blocks) => void (await rpc.call('anvil_rollback', blocks)),
    client: (url = anvil.rpcUrl, chain = {}) => clientOf(url, chain),
    stop: () => anvil.stop(),
  }
}

/** A client of the chain. */
export function clientOf(url: string, overrides: Partial<FinanceChain> = {}): FinanceClient {
  const chain: FinanceChain = {
    id: METER_CHAIN_ID,
    name: 'Meter',
    rpcUrls: [url],
    reuseMs: 0,
    maxBlockAgeSec: 100_000,
    finality: { depth: 2 },
    prices: { usdFeeds: {}, stablecoins: [] },
    tokens: { addresses: [], names: [], added: [] },
    spamTokens: [],
    ...overrides,
  }
  return createChainClient({ chain, clock: createHurriedClock(), log: silentLog })
}

function keyOf(account: string): Hex {
  return keccak256(toHex(account))
}

async function valueAt(endpoint: Endpoint, { key, block }: { key: Hex; block: PinnedBlock }, work: Work) {
  return BigInt(await endpoint.call({ to: METER, data: key, block }, work))
}

/** Levels, in hundredths; an account without units is as if it had the highest one. */
function levelOf(units: bigint, price: bigint): FigureValue {
  return units === 0n ? 'MAX' : rational(units * price, 100n)
}

/** What a watcher was asked, for tests that count. */
export interface MeterAsked {
  confirmed: number
  shared: number
}

/** Reads accounts; without a screen if that is not wanted. */
export function meterWatcher(
  asked: MeterAsked = { confirmed: 0, shared: 0 },
  options: { readonly screen?: boolean } = {},
): Watcher {
  const filters = () => [{ addresses: [METER.toLowerCase() as Hex], topics: [] }]
  const read = <T>({ client, block }: WatchTarget, of: (endpoint: Endpoint, work: Work) => Promise<T>, work: Work) =>
    client.read(of, { work, priority: 'background', past: block })
  const screen: Watcher['forecaster'] = {
    async readShared(_, place, work) {
      asked.shared++
      const price = await read(
        place,
        (endpoint, within) => valueAt(endpoint, { key: PRICE, block: place.block }, within),
        work,
      )
      return { estimate: (memo) => levelOf(memo as bigint, price) }
    },
    filters,
    toTouchedCheck(logs) {
      const keys = new Set(logs.map(({ topics: [key] }) => key))
      return ({ account = '' }) => keys.has(keyOf(account))
    },
  }
  return {
    chainIds: new Set([METER_CHAIN_ID]),
    async confirm(subjects, place, work) {
      const keys = [PRICE, ...subjects.map(({ account = '' }) => keyOf(account))]
      const [price = 0n, ...units] = await read(
        place,
        (endpoint, within) => Promise.all(keys.map((key) => valueAt(endpoint, { key, block: place.block }, within))),
        work,
      )
      // Endpoints of a loaded machine may be too late, and are asked again.
      asked.confirmed += subjects.length
      return units.map((each): ConfirmedFigures => {
        const level = levelOf(each, price)
        const text = typeof level === 'object' ? formatRational(level, { digits: 2 }) : 'MAX'
        return { value: () => level, text: () => text, memo: each }
      })
    },
    ...(options.screen !== false && { forecaster: screen }),
    events: {
      filters,
      async read(logs, subjects) {
        const byKey = new Map(subjects.map((subject) => [keyOf(subject['account'] ?? ''), subject]))
        return logs.flatMap(({ topics: [key], blockNumber, blockHash, transactionHash, logIndex }): SubjectEvent[] => {
          const subject: WatchSubject | undefined = key && byKey.get(key)
          return subject === undefined
            ? []
            : [{ subject, type: 'Set', blockNumber, blockHash, transactionHash, logIndex }]
        })
      },
    },
  }
}

/** The family as configuration would have it. */
export function meterFamily(): WatchableFamily {
  return {
    family: 'meter',
    chainIds: [METER_CHAIN_ID],
    subject: () => v.strictObject({ account: v.string() }),
    figures: { level: 'number' },
    events: ['Set'],
    answerPath: ({ account }, _, blockNumber) => `/v1/meter?account=${account}&at_block=${blockNumber}`,
    watcher: () => meterWatcher(),
  }
}

import type * as v from 'valibot'
import { type Address, decodeFunctionResult, encodeFunctionData, type Hex, parseAbi, toHex } from 'viem'
import { createChainClient, type EvmClient } from '../../../../../src/chain/evm/evm_client.ts'
import { MORPHO_BLUE } from '../../../../../src/family/morpho_blue/mod.ts'
import type { listOutput } from '../../../../../src/family/morpho_blue/present/schema.ts'
import type { FinanceChain } from '../../../../../src/finance/chain.ts'
import { createHistory, type HistoryService } from '../../../../../src/history/mod.ts'
import type { Reply, Route } from '../../../../../src/http/route/route.ts'
import { silentLog } from '../../../../../src/lib/log.ts'
import { MULTICALL3 } from '../../../../devnet/addresses.ts'
import { createDevnetChain } from '../../../../devnet/chain.ts'
import type { Devnet } from '../../../../devnet/mod.ts'
import { MORPHO, MORPHO_ABI, type MorphoMarket } from '../../../../devnet/morpho_blue/calls.ts'
import { callRoute, toRouteFailure } from '../../../../support/call_route.ts'
import type { TestDatabase } from '../../../../support/database.ts'
import { createFamilyRoutes } from '../../../../support/family.ts'
import { createHurriedClock, createPatientClock } from '../../../../support/test_clock.ts'
import { DEPLOYMENT, patient } from '../support.ts'

/** Blocks that are not final, so that every list ends in what is read live. */
export const DEPTH = 12
const VIRTUAL_SHARES = 10n ** 6n

/** The list as it is answered. */
export type Wire = v.InferOutput<typeof listOutput>['data']

/** A process that lists wallets' markets. */
export interface Lister {
  readonly route: Route
  readonly client: EvmClient<FinanceChain>
  readonly history: HistoryService
  /** The answer, or how it failed. */
  ask(query: Readonly<Record<string, string | number | undefined>>): Promise<Listed>
  close(): Promise<void>
}

export interface Listed {
  readonly status: number
  readonly code?: string
  readonly message?: string
  readonly retryAfter?: string | undefined
  readonly data: Wire
  readonly reply: Reply
  readonly credits: number
}

/** Starts it over endpoints of the devnet. */
export function startLister(
  devnet: Devnet,
  options: {
    readonly database: TestDatabase
    readonly rpcUrls?: readonly string[]
    readonly overrides?: Partial<FinanceChain>
    /** Other chains that are served. */
    readonly more?: readonly EvmClient<FinanceChain>[]
    /** Chains that have Morpho. @default the devnet's */
    readonly having?: readonly number[]
  },
): Lister {
  const { database, rpcUrls = [devnet.rpcUrl], overrides = {}, more = [], having = [devnet.chainId] } = options
  const chain = createDevnetChain(devnet, { rpcUrls, finality: { depth: DEPTH }, ...overrides })
  const client = createChainClient({ chain, clock: createHurriedClock(), log: silentLog })
  const all = [client, ...more]
  const { db } = database
  const clients = new Map(all.map((each) => [each.chain.id, each]))
  const history = createHistory({
    clients,
    db,
    clock: createPatientClock(),
    log: silentLog,
    holder: crypto.randomUUID(),
  })
  const rows = having.map((id) => [id, { morphoBlue: DEPLOYMENT }] as const)
  const [route] = createFamilyRoutes(MORPHO_BLUE, { rows, clients: all, db, history })
  if (route?.path !== '/v1/lending/morpho-blue') throw new Error('Expected the list first')
  return {
    route,
    client,
    history,
    async ask(asked) {
      const given = Object.entries(asked).flatMap(([name, value]): [string, string][] =>
        value === undefined ? [] : [[name, String(value)]],
      )
      try {
        const query = new URLSearchParams(given).toString()
        const { reply, credits } = await callRoute(route, { query }, patient.signal)
        return { status: 200, data: reply.data as Wire, reply, credits }
      } catch (error) {
        const { status, code, message, headers } = toRouteFailure(error, route)
        const nothing = { data: [], reply: { data: [] }, credits: 0 }
        return { ...nothing, status, code, message, retryAfter: headers['retry-after'] }
      }
    },
    async close() {
      await history.close()
      client.close()
    },
  }
}

const ABI = parseAbi([
  'struct Call { address target; bool allowFailure; bytes callData; }',
  'struct Result { bool success; bytes returnData; }',
  'function aggregate3(Call[] calls) payable returns (Result[] results)',
])

/** What `position` and `market` of the contract say of a wallet after it accrued, in raw units; nothing if it is empty. */
export interface Truth {
  readonly supplied: bigint
  readonly owed: bigint
  readonly collateral: bigint
}

/** Of every market that it has something in, by id: one market after the other, whether it ever was there or not. */
export async function readTruth(
  devnet: Devnet,
  {
    markets,
    wallet,
    block,
  }: { readonly markets: readonly MorphoMarket[]; readonly wallet: Address; readonly block: number },
): Promise<ReadonlyMap<Hex, Truth>> {
  const calls = markets.flatMap(({ id, params }) => [
    encodeFunctionData({ abi: MORPHO_ABI, functionName: 'accrueInterest', args: [params] }),
    encodeFunctionData({ abi: MORPHO_ABI, functionName: 'market', args: [id] }),
    encodeFunctionData({ abi: MORPHO_ABI, functionName: 'position', args: [id, wallet] }),
  ])
  const list = calls.map((callData) => ({ target: MORPHO, allowFailure: true, callData }))
  const data = encodeFunctionData({ abi: ABI, functionName: 'aggregate3', args: [list] })
  const answer = await devnet.rpc.call<Hex>('eth_call', { to: MULTICALL3, data, gas: toHex(100_000_000) }, toHex(block))
  const results = decodeFunctionResult({ abi: ABI, functionName: 'aggregate3', data: answer })
  return new Map(
    markets.flatMap(({ id }, index) => {
      const [market, position] = [
        results[3 * index + 1]?.returnData ?? '0x',
        results[3 * index + 2]?.returnData ?? '0x',
      ]
      const [supplyAssets, supplyTotal, borrowAssets, borrowTotal] = decodeFunctionResult({
        abi: MORPHO_ABI,
        functionName: 'market',
        data: market,
      })
      const [supplyShares, borrowShares, collateral] = decodeFunctionResult({
        abi: MORPHO_ABI,
        functionName: 'position',
        data: position,
      })
      if (supplyShares + borrowShares + collateral === 0n) return []
      const supplied = (supplyShares * (supplyAssets + 1n)) / (supplyTotal + VIRTUAL_SHARES)
      const owed = ceilDiv(borrowShares * (borrowAssets + 1n), borrowTotal + VIRTUAL_SHARES)
      return [[id, { supplied, owed, collateral }] as const]
    }),
  )
}

function ceilDiv(a: bigint, b: bigint): bigint {
  return (a + b - 1n) / b
}

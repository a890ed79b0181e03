import type { Address } from 'viem'
import { createChainClient } from '../../../../../src/chain/evm/evm_client.ts'
import { readBlock } from '../../../../../src/chain/evm/read_block.ts'
import type { FinanceChain, FinanceClient } from '../../../../../src/finance/chain.ts'
import type { PoolPriceOutcome } from '../../../../../src/finance/price/pool/pool_price.ts'
import { readPoolPrices } from '../../../../../src/finance/price/pool/read_pool_prices.ts'
import type { UsdPrice } from '../../../../../src/finance/price/price.ts'
import { createWork, type Work } from '../../../../../src/lib/async/work.ts'
import { silentLog } from '../../../../../src/lib/log.ts'
import type { Decimal } from '../../../../../src/lib/number/decimal.ts'
import { TOKENS, UNISWAP_V3 } from '../../../../devnet/addresses.ts'
import { BLOCK_AGE_SEC_MAX } from '../../../../devnet/chain.ts'
import { slowClock } from '../../../../support/test_clock.ts'
import { GENESIS_SEC, type Stage, type World } from './stage.ts'

/** Time stands still for the client: only its budgets run. */
const clock = { ...slowClock, now: () => GENESIS_SEC * 1_000 }
const patient: Work = createWork(new AbortController().signal)
export const QUOTES = [TOKENS.weth, TOKENS.usdc, TOKENS.dai] as const

/** What an endpoint lacks or answers wrongly. */
export interface EndpointFaults {
  /** Blocks whose state it keeps. @default all */
  readonly keepsBlocks?: number
  /** True if it refuses logs. */
  readonly hasNoLogs?: boolean
  /** True if it answers calls at a height from its newest block. */
  readonly answersNow?: boolean
  /** Called with each request. */
  readonly onRequest?: (method: string, params: readonly unknown[]) => void
}

/** A chain whose pools price tokens. */
export function stageChain({ rpcUrl }: Stage, blockTimeMs = 12_000): FinanceChain {
  const usdFeeds = Object.values(TOKENS).map(({ address, feed }) => [address, { feed, heartbeatSec: 86_400 }])
  return {
    id: 1,
    name: 'Stage',
    nativeCurrency: { symbol: 'ETH', decimals: 18, wrapped: TOKENS.weth.address },
    rpcUrls: [rpcUrl],
    blockTimeMs,
    reuseMs: 0,
    maxBlockAgeSec: BLOCK_AGE_SEC_MAX,
    finality: { depth: 0 },
    prices: {
      usdFeeds: Object.fromEntries(usdFeeds),
      stablecoins: [],
      uniswapV3Factory: UNISWAP_V3.factory,
      quotes: QUOTES.map(({ address }) => address),
    },
    tokens: { addresses: [], names: [], added: [] },
    spamTokens: [],
  }
}

/** A client over an endpoint with faults. */
export function stageClient(stage: Stage, faults: EndpointFaults = {}, blockTimeMs?: number): FinanceClient {
  const faulty = async (url: string, init: RequestInit): Promise<Response> => {
    const body = JSON.parse(String(init.body)) as { id: number; method: string; params: unknown[] }
    const { method, params } = body
    faults.onRequest?.(method, params)
    const refuse = (message: string) => Response.json({ jsonrpc: '2.0', id: body.id, error: { code: -32000, message } })
    if (method === 'eth_getLogs' && faults.hasNoLogs) return refuse('query timeout')
    const at = params[1]
    if (method === 'eth_call' && typeof at === 'string' && at.startsWith('0x')) {
      if (faults.answersNow)
        return fetch(url, { ...init, body: JSON.stringify({ ...body, params: params.with(1, 'latest') }) })
      const head = Number(await stage.client.getBlockNumber())
      if (head - Number(at) > (faults.keepsBlocks ?? Number.POSITIVE_INFINITY)) return refuse('missing trie node')
    }
    return fetch(url, init)
  }
  return createChainClient({ chain: stageChain(stage, blockTimeMs), clock, log: silentLog, fetch: faulty })
}

/** Asks for the prices of tokens at the newest block, or at a height. */
export async function askPrices(
  client: FinanceClient,
  tokens: readonly { readonly address: Address; readonly decimals: number }[],
  number: bigint | 'latest' = 'latest',
): Promise<PoolPriceOutcome[]> {
  const { chain } = client
  return await client.read(
    async (endpoint, work) => {
      const block = await readBlock(endpoint, { chainId: chain.id, number }, work)
      return await readPoolPrices({ endpoint, block }, { chain, tokens, clock }, work)
    },
    { work: patient, budgetMs: 60_000 },
  )
}

/** A holder's tokens in every scene; the bound decides how much of them counts. */
export const HELD = 4_000

/** A price as factors of the right one, and what a holder of 4,000 tokens counts, dollars. */
export interface Asked {
  readonly asset: number | undefined
  readonly debt: number | undefined
  readonly holder: number
  readonly bound: number
  readonly marks: readonly string[]
  readonly outcome: PoolPriceOutcome
}

export async function ask(world: World, faults: EndpointFaults = {}, blockTimeMs?: number): Promise<Asked> {
  const client = stageClient(world.stage, faults, blockTimeMs)
  const [outcome] = await askPrices(client, [{ address: world.token, decimals: 18 }])
  if (outcome === undefined) throw new Error('Nothing was answered')
  if (outcome.kind === 'missing') {
    return { asset: undefined, debt: undefined, holder: 0, bound: 0, marks: outcome.marks ?? [], outcome }
  }
  const { price, debtPrice, boundUsd, marks } = outcome
  const [asset, debt, bound] = [price, debtPrice, boundUsd].map(toNumber)
  return {
    asset: (asset ?? 0) / world.usd,
    debt: (debt ?? 0) / world.usd,
    holder: Math.min(HELD * (asset ?? 0), bound ?? 0),
    bound: bound ?? 0,
    marks,
    outcome,
  }
}

export function toNumber({ units, scale }: Decimal | UsdPrice): number {
  return Number(units) / 10 ** scale
}

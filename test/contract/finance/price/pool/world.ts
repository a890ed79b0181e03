import { type Address, encodeAbiParameters, encodeFunctionData, getAddress, type Hex, parseAbi, toHex } from 'viem'
import type { Block } from '../../../../../src/chain/block.ts'
import type { LensMode } from '../../../../../src/chain/call/lens.ts'
import { createChainClient } from '../../../../../src/chain/evm/evm_client.ts'
import { readBlock } from '../../../../../src/chain/evm/read_block.ts'
import type { ChainPrices, FinanceChain, FinanceClient } from '../../../../../src/finance/chain.ts'
import type { PoolPriceOutcome } from '../../../../../src/finance/price/pool/pool_price.ts'
import { readPoolPrices } from '../../../../../src/finance/price/pool/read_pool_prices.ts'
import { createWork, type Work } from '../../../../../src/lib/async/work.ts'
import { silentLog } from '../../../../../src/lib/log.ts'
import { BANK, TOKENS, UNISWAP_V3 } from '../../../../devnet/addresses.ts'
import { ownCreationCode } from '../../../../devnet/artifacts.ts'
import { createDevnetChain } from '../../../../devnet/chain.ts'
import { fundBank } from '../../../../devnet/contracts.ts'
import type { Devnet } from '../../../../devnet/mod.ts'
import type { Pool } from '../../../../devnet/uniswap_v3_calls.ts'
import { withLensMode } from '../../../../support/lens_mode.ts'
import { createHurriedClock, slowClock } from '../../../../support/test_clock.ts'

const ABI = parseAbi(['function increaseObservationCardinalityNext(uint16 next)'])

export const QUOTES = [TOKENS.weth, TOKENS.usdc, TOKENS.dai] as const
export const patient: Work = createWork(new AbortController().signal)

/** The devnet as a chain whose pools price tokens. */
export function pooledChain(devnet: Devnet, prices: Partial<ChainPrices> = {}): FinanceChain {
  const chain = createDevnetChain(devnet)
  const quotes = QUOTES.map(({ address }) => address)
  return { ...chain, prices: { ...chain.prices, uniswapV3Factory: UNISWAP_V3.factory, quotes, ...prices } }
}

export function createClient(chain: FinanceChain): FinanceClient {
  return createChainClient({ chain, clock: createHurriedClock(), log: silentLog })
}

/** Creates a token with a large balance of the bank. */
export async function newToken(devnet: Devnet, decimals: number): Promise<Address> {
  const parameters = [{ type: 'string' }, { type: 'string' }, { type: 'uint8' }] as const
  const data = ownCreationCode('Token', encodeAbiParameters(parameters, ['Pump', 'PUMP', decimals]))
  const [receipt] = await devnet.send([{ from: BANK, data }])
  const token = getAddress(receipt?.contractAddress ?? '0x')
  await devnet.send(fundBank(token))
  return token
}

/** Creates a pool with `dollars` of the quote token, and as much of the token, over all prices. */
export async function newPool(
  devnet: Devnet,
  token: { readonly address: Address; readonly decimals: number; readonly usd: number },
  options: {
    readonly quote?: { readonly address: Address; readonly decimals: number; readonly usd: number }
    readonly fee?: number | undefined
    readonly dollars: number
    readonly observations?: number
  },
): Promise<Pool> {
  const { quote = TOKENS.usdc, fee = 3_000, dollars, observations = 100 } = options
  const [amountA, amountB] = [toRaw(dollars / token.usd, token.decimals), toRaw(dollars / quote.usd, quote.decimals)]
  const pool = await devnet.v3.createPool({ tokenA: token.address, tokenB: quote.address, fee, amountA, amountB })
  const data = encodeFunctionData({
    abi: ABI,
    functionName: 'increaseObservationCardinalityNext',
    args: [observations],
  })
  await devnet.send([{ from: BANK, to: pool.address, data }])
  const edge = Math.floor(887_272 / pool.tickSpacing) * pool.tickSpacing
  const [amount0, amount1] = pool.token0 === token.address ? [amountA, amountB] : [amountB, amountA]
  await devnet.v3.mint({ pool, tickLower: -edge, tickUpper: edge, amount0, amount1, recipient: BANK })
  return pool
}

export function toRaw(amount: number, decimals: number): bigint {
  return (BigInt(Math.round(amount * 1e6)) * 10n ** BigInt(decimals)) / 1_000_000n
}

/** Time passes, and a block is made. */
export async function pass(devnet: Devnet, seconds: number): Promise<void> {
  await devnet.rpc.call('evm_increaseTime', toHex(seconds))
  await devnet.rpc.call('evm_mine')
}

export async function priced(
  client: FinanceClient,
  tokens: readonly { readonly address: Address; readonly decimals: number }[],
  { way, number = 'latest' }: { readonly way?: LensMode; readonly number?: bigint | 'latest' } = {},
): Promise<PoolPriceOutcome[]> {
  const { chain } = client
  return await withLensMode(client, way).read(
    async (endpoint, work) => {
      const block: Block = await readBlock(endpoint, { chainId: chain.id, number }, work)
      return await readPoolPrices({ endpoint, block }, { chain, tokens, clock: slowClock }, work)
    },
    { work: patient },
  )
}

/** Gas of a call of code at an address. */
export async function estimateGas(devnet: Devnet, code: Hex, data: Hex): Promise<number> {
  const to = '0x00000000000000000000000000000000000057a7'
  const { gasUsed } = await devnet.rpc.call<{ readonly gasUsed: Hex }>(
    'debug_traceCall',
    { to, data, gas: '0x2faf080' },
    'latest',
    { stateOverrides: { [to]: { code } }, tracer: 'callTracer', tracerConfig: { onlyTopCall: true } },
  )
  return Number(gasUsed)
}

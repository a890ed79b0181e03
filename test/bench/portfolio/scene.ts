import { readFileSync } from 'node:fs'
import { type Address, toHex } from 'viem'
import { readConfig } from '../../../src/config/config.ts'
import type { FinanceChain } from '../../../src/finance/chain.ts'
import { createTokenList } from '../../../src/finance/token/list/list.ts'
import { newPool, QUOTES } from '../../contract/finance/price/pool/world.ts'
import { mintCall } from '../../contract/finance/token/balance/world.ts'
import { SCENARIO_SEC } from '../../devnet/aave_v3/scenario.ts'
import { BANK, TOKENS, toWalletAddress, UNISWAP_V3 } from '../../devnet/addresses.ts'
import { fundBank, tokenCreationCode } from '../../devnet/contracts.ts'
import { type Devnet, startDevnet } from '../../devnet/mod.ts'
import { placeContractsAt } from '../../devnet/place.ts'
import type { Pool } from '../../devnet/uniswap_v3_calls.ts'
import { environment } from '../answers/service.ts'

/** How many of the listed tokens each wallet has. */
export const HELD = 25
export const POSITIONS = 100
/** One that nothing is built in for, so that Morpho Blue can be left out. */
export const CHAIN_ID = 31_337

/** Ethereum's tokens. */
export const LISTED = createTokenList({ id: 1, prices: { usdFeeds: {}, stablecoins: [] } }).addresses

const DAY_SEC = 86_400

/** Wallets of a chain on which every token of the built-in list of Ethereum stands. */
export interface PortfolioScene {
  readonly devnet: Devnet
  /** As `serve` would have it from the devnet itself. */
  readonly chain: FinanceChain
  readonly wallets: {
    /** Tokens alone. */
    readonly tokens: Address
    /** Positions and Aave too. */
    readonly full: Address
    /** And a token that only its pools price. */
    readonly pooled: Address
    /** `manyTokens` alone. */
    readonly many: Address
  }
  /** The token that only its pools price: one with each of three quote tokens, of 12 candidates. */
  readonly pooledToken: Address
  /** Tokens of a wallet that have one pool each, with US dollars. */
  readonly manyTokens: readonly { readonly token: Address; readonly pool: Pool }[]
  /** What the service is configured by, over an endpoint that replays the devnet; `row` is laid over the chain's. */
  env(url: string, row: object): Promise<Readonly<Record<string, string>>>
}

/**
 * Builds it, with so many tokens that have a pool of their own. With `days` so many blocks follow, one a day, and there
 * is no Aave, which brings the chain's time to the present.
 */
export async function portfolioScene(days: number, manyCount = 0): Promise<PortfolioScene> {
  const devnet = await startDevnet({ chainId: CHAIN_ID, ageSec: days === 0 ? SCENARIO_SEC : (days + 2) * DAY_SEC })
  try {
    const { rpc, send } = devnet
    const aave = days === 0 ? await devnet.aave() : undefined
    const codes = await rpc.batch<string>(LISTED.map((token) => ({ method: 'eth_getCode', params: [token, 'latest'] })))
    const absent = LISTED.filter((_, index) => codes[index] === '0x')
    const placements = absent.map((address, index) => ({
      address,
      creationCode: tokenCreationCode({ name: `Token ${index}`, symbol: `T${index}`, decimals: 18 }),
    }))
    for (let from = 0; from < placements.length; from += 100)
      await placeContractsAt({ rpc, send }, { placements: placements.slice(from, from + 100), owner: BANK })

    const held = absent.slice(0, HELD)
    const env = (url: string, row: object) =>
      environment({
        url,
        chainId: CHAIN_ID,
        row: { ...createChainRow(held), ...(days > 0 && { aaveV3: undefined }), ...row },
      })
    const config = readConfig(await env(devnet.rpcUrl, {}), (path) => readFileSync(path, 'utf8'))
    const chain = config.chains.find(({ id }) => id === CHAIN_ID)
    const pooledToken = absent.at(-1)
    if (chain === undefined || pooledToken === undefined) throw new Error('Cannot find a token without a price')
    await send(fundBank(pooledToken))
    for (const quote of QUOTES)
      await newPool(devnet, { address: pooledToken, decimals: 18, usd: 2 }, { quote, dollars: 1_000_000 })
    const manyTokens: PortfolioScene['manyTokens'][number][] = []
    for (const token of absent.slice(HELD, HELD + manyCount)) {
      await send(fundBank(token))
      const own = { address: token, decimals: 18, usd: 2 }
      const pool = await newPool(devnet, own, { dollars: 1_000_000, observations: 1 })
      manyTokens.push({ token, pool })
    }

    const [tokens, full, pooled, many] = [
      toWalletAddress('bench tokens'),
      toWalletAddress('bench full'),
      toWalletAddress('bench pooled'),
      toWalletAddress('bench many'),
    ]
    await send(manyTokens.map(({ token }) => mintCall(token, many, 10n ** 20n)))
    const wallets = [tokens, full, pooled]
    await send(wallets.flatMap((wallet) => held.map((token) => mintCall(token, wallet, 10n ** 20n))))
    await send([mintCall(pooledToken, pooled, 10n ** 20n)])
    for (const wallet of [full, pooled]) {
      await devnet.mintMany(wallet, POSITIONS)
      await aave?.supply({ market: 'main', wallet, asset: 'usdc', amount: 5_000_000_000n })
      await aave?.supply({ market: 'main', wallet, asset: 'weth', amount: 2n * 10n ** 18n })
    }
    // An hour for pools to have a price.
    await rpc.call('anvil_mine', toHex(2), toHex(3_600))
    if (days > 0) {
      await rpc.call('anvil_mine', toHex(days + 1), toHex(DAY_SEC))
      // The last midnight has passed on chain as well.
      await rpc.call('evm_setNextBlockTimestamp', Math.floor(Date.now() / 1_000))
      await rpc.call('evm_mine')
    }
    return { devnet, chain, wallets: { tokens, full, pooled, many }, pooledToken, manyTokens, env }
  } catch (error) {
    await devnet.stop()
    throw error
  }
}

/** The chain's row with a feed for these tokens; without Morpho Blue, whose history answers wait for. */
export function createChainRow(held: readonly Address[]): object {
  const feeds = Object.values(TOKENS).map(({ address, feed }) => [address, feed])
  const usdFeeds = Object.fromEntries([...feeds, ...held.map((token) => [token, TOKENS.usdc.feed])])
  const quotes = QUOTES.map(({ address }) => address)
  const wrappedNative = TOKENS.weth.address
  const prices = { usdFeeds, wrappedNative, uniswapV3Factory: UNISWAP_V3.factory, quotes }
  return { blockTimeMs: 0, finality: { depth: 0 }, tokens: LISTED, morphoBlue: undefined, prices }
}

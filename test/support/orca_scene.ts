import { deriveMetadataAddress } from '../../src/chain/solana/token.ts'
import { derivePositionAddress, deriveTickArrayAddress } from '../../src/family/orca_whirlpool/read/account_cache.ts'
import { reserveBytes, type ServedAccounts, toFakeAddress, toServedAccount } from './kamino.ts'
import { FEED, MAX_PRICE_AGE_SEC, WALLET } from './kamino_scene.ts'
import { dynamicArrayBytes, poolBytes, positionBytes, WHIRLPOOL } from './orca.ts'
import { METADATA, metadataBytes, mintBytes, TOKEN, tokenAccountBytes } from './solana_token.ts'

const SOL = 'So11111111111111111111111111111111111111112'
const USDC = 'EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v'
const REWARD = toFakeAddress('ORCA mint')
/** Kamino's main market, whose reserves price SOL and USDC by the feed of Kamino's scene. */
const MAIN = '7u3HeHxYDLhnCoErrtycNokbQYbWGzLs6JSDqGAv5PfF'
const RESERVES = {
  [SOL]: 'd4A2prbA2whesmvHaL88BH6Ewn5N4bTSU2Ze8P6Bc4Q',
  [USDC]: 'D6q6wuQSrifJKZYpR1M8R4YawnLDtDsMmWM1NbBmgJ59',
} as const

/** The token of the scene's position. */
export const ORCA_MINT = toFakeAddress('token of the Orca position')
const POOL = toFakeAddress('SOL/USDC pool')
const [LOWER, UPPER, SPACING] = [-20_480, -17_408, 64]

/** One position in range, of Kamino's wallet: SOL and USDC at 150 dollars, with fees and a reward that grow. */
export function orcaScene(nowSec: number = Math.floor(Date.now() / 1_000)): ServedAccounts {
  const position = derivePositionAddress(WHIRLPOOL, ORCA_MINT)
  const vault = toFakeAddress('reward vault')
  const growthB = 1_000_000n << 20n
  const tick = (index: number) => ({ index, outsideA: 0n, outsideB: 0n, rewards: [0n, 0n, 0n] })
  const arrays = [LOWER, UPPER].map((index) => {
    const start = Math.floor(index / (88 * SPACING)) * 88 * SPACING
    const bytes = dynamicArrayBytes({ start, pool: POOL, tickSpacing: SPACING, ticks: [tick(index)] })
    const address = deriveTickArrayAddress(WHIRLPOOL, { pool: POOL, tickSpacing: SPACING, tick: index })
    return [address, toServedAccount(bytes, WHIRLPOOL)] as const
  })
  const token = (mint: string, decimals: number, symbol: string, name: string): ServedAccounts => ({
    [mint]: toServedAccount(mintBytes({ decimals, supply: 10n ** 15n }), TOKEN),
    [deriveMetadataAddress(mint)]: toServedAccount(metadataBytes({ mint, symbol, name }), METADATA),
  })
  const reserve = (mint: keyof typeof RESERVES, decimals: number, entry: number): ServedAccounts => ({
    [RESERVES[mint]]: toServedAccount(
      reserveBytes({
        market: MAIN,
        mint,
        decimals,
        maxPriceAgeSec: MAX_PRICE_AGE_SEC,
        scopeFeed: FEED,
        scopeChain: [entry],
      }),
    ),
  })
  return {
    ...Object.fromEntries(arrays),
    ...token(SOL, 9, 'SOL', 'Wrapped SOL'),
    ...token(USDC, 6, 'USDC', 'USD Coin'),
    ...token(REWARD, 6, 'ORCA', 'Orca'),
    ...reserve(SOL, 9, 7),
    ...reserve(USDC, 6, 13),
    [vault]: toServedAccount(tokenAccountBytes({ mint: REWARD, owner: POOL, amount: 5_000_000_000n }), TOKEN),
    [toFakeAddress('account of the Orca position')]: toServedAccount(
      tokenAccountBytes({ mint: ORCA_MINT, owner: WALLET }),
      TOKEN,
    ),
    [ORCA_MINT]: toServedAccount(mintBytes({ decimals: 0 }), TOKEN),
    [POOL]: toServedAccount(
      poolBytes({
        tickSpacing: SPACING,
        feeRate: 400,
        liquidity: 40_000_000_000_000n,
        // √0.15, in Q64.64: 150 USDC of 6 decimals for a SOL of 9.
        sqrtPrice: 7_144_393_258_922_745_604n,
        tick: -18_973,
        mintA: SOL,
        vaultA: toFakeAddress('SOL vault'),
        growthA: 2_000_000n << 20n,
        mintB: USDC,
        vaultB: toFakeAddress('USDC vault'),
        growthB,
        rewardsUpdatedAt: BigInt(nowSec - 3_600),
        rewards: [{ mint: REWARD, vault, emissionsX64: 100n << 64n, growthX64: 5n << 50n }],
      }),
      WHIRLPOOL,
    ),
    [position]: toServedAccount(
      positionBytes({
        pool: POOL,
        mint: ORCA_MINT,
        liquidity: 60_000_000_000n,
        lower: LOWER,
        upper: UPPER,
        checkpointA: 0n,
        owedA: 18_250_000n,
        checkpointB: 0n,
        owedB: 2_910_000n,
        rewards: [{ checkpoint: 0n, owed: 1_250_000n }],
      }),
      WHIRLPOOL,
    ),
  }
}

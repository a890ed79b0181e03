import { deriveMetadataAddress } from '../../src/chain/solana/token.ts'
import vectors from './family/orca_whirlpool/vectors.json'
import { type ServedAccounts, toServedAccount } from './kamino.ts'
import {
  bundleBytes,
  dynamicArrayBytes,
  fixedArrayBytes,
  poolBytes,
  positionBytes,
  type TickFixture,
  WHIRLPOOL,
} from './orca.ts'
import {
  type FeeFixture,
  METADATA,
  metadataBytes,
  mintBytes,
  TOKEN,
  TOKEN_2022,
  tokenAccountBytes,
} from './solana_token.ts'

/** A state of the program, and what the program itself wrote and paid for it. */
export interface OrcaCase {
  readonly name: string
  readonly kind: string
  readonly wallet: string
  readonly slot: string
  readonly epoch: string
  readonly unixTs: string
  readonly tokenId: string
  readonly bundleIndex?: number
  readonly addresses: {
    readonly pool: string
    readonly position: string
    readonly positionMint: string
    readonly nftProgram: string
    readonly nftAccount: string
    readonly bundle: string | null
    readonly lowerArray: string
    readonly upperArray: string
  }
  readonly arrays: { readonly lower: string; readonly upper: string }
  readonly tokenA: OrcaToken
  readonly tokenB: OrcaToken
  readonly rewardTokens: readonly OrcaToken[]
  readonly pool: {
    readonly tickSpacing: number
    readonly feeTierIndex: number
    readonly feeRate: number
    readonly liquidity: string
    readonly sqrtPrice: string
    readonly tick: number
    readonly mintA: string
    readonly vaultA: string
    readonly growthA: string
    readonly mintB: string
    readonly vaultB: string
    readonly growthB: string
    readonly rewardsUpdatedAt: string
    readonly rewards: readonly {
      readonly mint: string
      readonly vault: string
      readonly emissionsX64: string
      readonly growthX64: string
    }[]
  }
  readonly position: {
    readonly liquidity: string
    readonly lower: number
    readonly upper: number
    readonly checkpointA: string
    readonly owedA: string
    readonly checkpointB: string
    readonly owedB: string
    readonly rewards: readonly { readonly checkpoint: string; readonly owed: string }[]
  }
  readonly lower: OrcaTick | null
  readonly upper: OrcaTick | null
  readonly rewardVaults: readonly string[]
  readonly expected: {
    readonly feeA: string
    readonly feeB: string
    readonly rewards: readonly string[]
    readonly amountA: string | null
    readonly amountB: string | null
    readonly receivedA: string | null
    readonly receivedB: string | null
    readonly receivedFeeA: string
    readonly receivedFeeB: string
    readonly receivedRewards: readonly string[]
  }
}

interface OrcaToken {
  readonly mint: string
  readonly program: string
  readonly decimals: number
  readonly symbol: string
  readonly name: string
  readonly fee?: { readonly older: WrittenFee; readonly newer: WrittenFee } | null
}

interface WrittenFee {
  readonly epoch: string
  readonly max: string
  readonly bps: number
}

interface OrcaTick {
  readonly index: number
  readonly net: string
  readonly gross: string
  readonly outsideA: string
  readonly outsideB: string
  readonly rewards: readonly string[]
}

/** All states, in their order. */
export const ORCA_CASES: readonly OrcaCase[] = vectors.cases

/** The state of that name. */
export function orcaCase(name: string): OrcaCase {
  const found = ORCA_CASES.find((each) => each.name === name)
  if (found === undefined) throw new Error(`There is no vector ${name}`)
  return found
}

/** The accounts of a state: position, pool, ticks, token, mints, names and what pays rewards. */
export function orcaAccounts(
  state: OrcaCase,
  { program = WHIRLPOOL }: { readonly program?: string } = {},
): ServedAccounts {
  const { addresses, arrays, pool, wallet, rewardVaults } = state
  const tokens = [state.tokenA, state.tokenB, ...state.rewardTokens]
  const accounts: ServedAccounts = {
    [addresses.pool]: toServedAccount(orcaPoolBytes(state), program),
    [addresses.position]: toServedAccount(orcaPositionBytes(state), program),
    [addresses.nftAccount]: toServedAccount(
      tokenAccountBytes({
        mint: addresses.positionMint,
        owner: wallet,
        state: state.kind === 'locked' ? 2 : 1,
        isExtended: addresses.nftProgram === TOKEN_2022,
      }),
      addresses.nftProgram,
    ),
    [addresses.positionMint]: toServedAccount(mintBytes({ decimals: 0 }), addresses.nftProgram),
  }
  if (addresses.bundle !== null) {
    accounts[addresses.bundle] = toServedAccount(
      bundleBytes({ mint: addresses.positionMint, places: [state.bundleIndex ?? 0] }),
      program,
    )
  }
  for (const [end, address] of [['lower', addresses.lowerArray] as const, ['upper', addresses.upperArray] as const]) {
    const tick = state[end]
    if (tick === null) continue
    const span = 88 * pool.tickSpacing
    const start = Math.floor(tick.index / span) * span
    const both = [state.lower, state.upper].filter((each): each is OrcaTick => each !== null)
    const ticks = both.filter(({ index }) => Math.floor(index / span) * span === start).map(orcaTick)
    const bytes = arrays[end] === 'fixed' ? fixedArrayBytes : dynamicArrayBytes
    accounts[address] = toServedAccount(
      bytes({ start, pool: addresses.pool, tickSpacing: pool.tickSpacing, ticks }),
      program,
    )
  }
  for (const token of tokens) Object.assign(accounts, tokenAccounts(token))
  for (const [index, { vault, mint }] of pool.rewards.entries()) {
    const token = state.rewardTokens[index]
    const bytes = tokenAccountBytes({ mint, owner: addresses.pool, amount: BigInt(rewardVaults[index] ?? 0) })
    accounts[vault] = toServedAccount(bytes, token?.program === 'token2022' ? TOKEN_2022 : TOKEN)
  }
  return accounts
}

/** A pool as the program's account has it. */
export function orcaPoolBytes({ pool }: OrcaCase): Uint8Array {
  return poolBytes({
    ...pool,
    liquidity: BigInt(pool.liquidity),
    sqrtPrice: BigInt(pool.sqrtPrice),
    growthA: BigInt(pool.growthA),
    growthB: BigInt(pool.growthB),
    rewardsUpdatedAt: BigInt(pool.rewardsUpdatedAt),
    rewards: pool.rewards.map((reward) => ({
      ...reward,
      emissionsX64: BigInt(reward.emissionsX64),
      growthX64: BigInt(reward.growthX64),
    })),
  })
}

/** A position as the program's account has it. */
export function orcaPositionBytes({ position, addresses }: OrcaCase): Uint8Array {
  return positionBytes({
    pool: addresses.pool,
    mint: addresses.positionMint,
    lower: position.lower,
    upper: position.upper,
    liquidity: BigInt(position.liquidity),
    checkpointA: BigInt(position.checkpointA),
    owedA: BigInt(position.owedA),
    checkpointB: BigInt(position.checkpointB),
    owedB: BigInt(position.owedB),
    rewards: position.rewards.map(({ checkpoint, owed }) => ({ checkpoint: BigInt(checkpoint), owed: BigInt(owed) })),
  })
}

function orcaTick({ index, net, gross, outsideA, outsideB, rewards }: OrcaTick): TickFixture {
  return {
    index,
    net: BigInt(net),
    gross: BigInt(gross),
    outsideA: BigInt(outsideA),
    outsideB: BigInt(outsideB),
    rewards: rewards.map(BigInt),
  }
}

function tokenAccounts({ mint, program, decimals, symbol, name, fee }: OrcaToken): ServedAccounts {
  if (program === 'token') {
    return {
      [mint]: toServedAccount(mintBytes({ decimals }), TOKEN),
      [deriveMetadataAddress(mint)]: toServedAccount(metadataBytes({ mint, symbol, name }), METADATA),
    }
  }
  const named = { symbol, name }
  const bytes = mintBytes(
    fee ? { decimals, named, fees: { older: toFee(fee.older), newer: toFee(fee.newer) } } : { decimals, named },
  )
  return { [mint]: toServedAccount(bytes, TOKEN_2022) }
}

function toFee({ epoch, max, bps }: WrittenFee): FeeFixture {
  return { epoch: BigInt(epoch), max: BigInt(max), bps }
}

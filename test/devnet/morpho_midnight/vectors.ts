import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Address, encodeAbiParameters, type Hex, parseAbiParameters } from 'viem'

/** A world of the real contract and what it answered, as the file has it: integers beyond 2^53 are texts. */
export interface Vectors {
  readonly midnight: Address
  readonly wallets: readonly Address[]
  readonly stranger: Address
  readonly markets: readonly VectorMarket[]
  readonly tokens: Readonly<
    Record<'loan' | 'collateral', readonly { readonly address: Address; readonly decimals: number }[]>
  >
  readonly checkpoints: readonly Checkpoint[]
  readonly found: readonly {
    readonly wallet: number
    readonly bySupplyCollateral: readonly number[]
    readonly byTakeAsMaker: readonly number[]
    readonly byTakeAsTaker: readonly number[]
  }[]
  readonly logs: readonly VectorLog[]
}

/** Block, index in it, topics, and words of the data. */
export type VectorLog = readonly [number, number, readonly Hex[], string]

export interface VectorMarket {
  readonly id: Hex
  readonly chainId: number
  readonly midnight: Address
  readonly loanToken: Address
  readonly collateralParams: readonly {
    readonly token: Address
    readonly lltv: string
    readonly liquidationCursor: string
    readonly oracle: Address
  }[]
  readonly maturity: string
  readonly rcfThreshold: string
  readonly enterGate: Address
  readonly liquidatorGate: Address
}

/** State at a block; any pair of wallet and market that is not listed has nothing. */
export interface Checkpoint {
  readonly block: number
  readonly time: number
  readonly markets: readonly {
    readonly market: number
    readonly totalUnits: string
    readonly lossFactor: string
    readonly withdrawable: string
    readonly continuousFeeCredit: string
    readonly settlementFeeCbp: readonly number[]
    readonly continuousFee: number
    readonly tickSpacing: number
    readonly prices: readonly (string | null)[]
  }[]
  readonly positions: readonly VectorPosition[]
}

export interface VectorPosition {
  readonly wallet: number
  readonly market: number
  readonly credit: string
  readonly pendingFee: string
  readonly lastLossFactor: string
  readonly lastAccrual: string
  readonly debt: string
  readonly collateralBitmap: string
  readonly collateral: readonly { readonly index: number; readonly raw: string }[]
  readonly view: { readonly credit: string; readonly pendingFee: string; readonly accruedFee: string }
  readonly isHealthy: boolean | null
  readonly maxDebt: string | null
  readonly liquidateUnhealthy?: string
  readonly liquidateAfterMaturity?: string
  readonly executed: {
    readonly repayAll?: { readonly paid: string; readonly oneMore: string; readonly debtAfter: string }
    readonly thenCollateral?: readonly ReceivedCollateral[]
    readonly collateral?: readonly ReceivedCollateral[]
    readonly withdrawAll?: { readonly creditThen: string; readonly paid: string; readonly limitedBy: string }
  }
}

interface ReceivedCollateral {
  readonly index: number
  readonly ok: boolean
  readonly received: string
}

/** Reads them. */
export function readVectors(): Vectors {
  return JSON.parse(readFileSync(join(import.meta.dir, 'vectors.json'), 'utf8')) as Vectors
}

const TERMS = parseAbiParameters([
  'Market market',
  'struct Market { uint256 chainId; address midnight; address loanToken; Collateral[] collateralParams; uint256 maturity; uint256 rcfThreshold; address enterGate; address liquidatorGate; }',
  'struct Collateral { address token; uint256 lltv; uint256 liquidationCursor; address oracle; }',
])

/** The terms of a market as they stand on the chain. */
export function encodeTerms({ chainId, collateralParams, maturity, rcfThreshold, ...terms }: VectorMarket): Hex {
  const collaterals = collateralParams.map(({ lltv, liquidationCursor, ...each }) => ({
    ...each,
    lltv: BigInt(lltv),
    liquidationCursor: BigInt(liquidationCursor),
  }))
  const numbers = { chainId: BigInt(chainId), maturity: BigInt(maturity), rcfThreshold: BigInt(rcfThreshold) }
  return encodeAbiParameters(TERMS, [{ ...terms, ...numbers, collateralParams: collaterals }])
}

/** The data of a log. */
export function decodeData([, , , words]: VectorLog): Hex {
  return `0x${words
    .split(' ')
    .map((word) => word.padStart(64, '0'))
    .join('')}`
}

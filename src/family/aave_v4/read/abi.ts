import { type Address, type Hex, toFunctionSelector } from 'viem'
import type { Block } from '../../../chain/block.ts'
import { decodeLensPage, type LensCursor, readOptional } from '../../../chain/call/cursor.ts'
import { encodeArray, encodeCall } from '../../../chain/call/words.ts'
import { readToken } from '../../../finance/token/token.ts'
import { UpstreamError } from '../../../lib/error.ts'
import type { AccountData, Configuration, HubAsset, RawHolding, RawReserve, SpokeTerms } from '../math/state.ts'

const READ = toFunctionSelector('read(address manager, address[] at, address[] wallets, uint256 bytesMax)')

/** Records of the lens, by their first byte. */
const RECORD = { spoke: 1, reserve: 2, account: 3, broken: 4 } as const

/** Call data to read `wallets` in `spokes`. `bytesMax` limits the answer, bytes. */
export function encodeRead(query: {
  readonly accessManager: Address
  readonly spokes: readonly Address[]
  readonly wallets: readonly Address[]
  readonly bytesMax: number
}): Hex {
  const { accessManager, spokes, wallets, bytesMax } = query
  return encodeCall(READ, accessManager, encodeArray(spokes), encodeArray(wallets), BigInt(bytesMax))
}

/** A wallet's account in a spoke; `wallet` and `spoke` are indexes into the request. */
type RawAccount = ReturnType<typeof readAccount>

/** The result of one reading of a chain; the same for every mode of reading. */
export interface RawRead {
  readonly block: Block
  /** Number of wallets that this page covers, including those without a position. */
  readonly taken: number
  /** Spokes that the access manager names; undefined if it does not answer. */
  readonly named: readonly Address[] | undefined
  /** True for each spoke that answered, in the order of the request. */
  readonly answered: readonly boolean[]
  readonly spokes: readonly (SpokeTerms & { readonly spoke: number })[]
  readonly reserves: readonly RawReserve[]
  readonly accounts: readonly RawAccount[]
  readonly broken: readonly { readonly wallet: number; readonly spoke: number }[]
}

/** Decodes the lens' answer. The head of `lens.sol` describes its layout. Throws `UpstreamError` for another layout. */
export function decodeLens(answer: Hex): RawRead {
  const { from, block, taken } = decodeLensPage(answer)
  const hasManager = from.number(1) === 1
  const named = Array.from({ length: from.number(1) }, () => from.address())
  const answered = Array.from({ length: from.number(1) }, () => from.number(1) === 1)
  const spokes: (SpokeTerms & { readonly spoke: number })[] = []
  const reserves: RawReserve[] = []
  const accounts: RawAccount[] = []
  const broken: { readonly wallet: number; readonly spoke: number }[] = []
  while (!from.isAtEnd()) {
    const record = from.number(1)
    if (record === RECORD.spoke) spokes.push(readSpoke(from))
    else if (record === RECORD.reserve) reserves.push(readReserve(from))
    else if (record === RECORD.account) accounts.push(readAccount(from))
    else if (record === RECORD.broken) broken.push({ wallet: from.number(4), spoke: from.number(1) })
    else throw new UpstreamError(`Cannot decode the lens: unknown record ${record}`)
  }
  if ([...accounts, ...broken].some(({ wallet }) => wallet >= taken)) {
    throw new UpstreamError('Cannot decode the lens: a record names a wallet beyond the page')
  }
  return { block, taken, named: hasManager ? named : undefined, answered, spokes, reserves, accounts, broken }
}

function readSpoke(from: LensCursor) {
  const [spoke, revision] = [from.number(1), from.number(8)]
  const liquidation = readOptional(from, () => ({
    targetHealthFactorWad: from.uint(16),
    greatestBonusAtWad: from.uint(16),
    leastBonusFactorBps: from.uint(2),
  }))
  return { spoke, revision, liquidation, lends: from.number(1) === 1 }
}

const PAUSED = 1

function readReserve(from: LensCursor): RawReserve {
  return {
    spoke: from.number(1),
    id: from.number(2),
    hub: from.address(),
    assetId: from.number(2),
    decimals: from.number(1),
    collateralRiskBps: from.uint(3),
    isPaused: (from.number(1) & PAUSED) !== 0,
    latestKey: from.number(4),
    latest: readConfiguration(from),
    price: readOptional(from, () => from.uint(32)),
    asset: readOptional(from, () => readAsset(from)),
    token: readToken(from),
  }
}

function readAsset(from: LensCursor): HubAsset {
  return {
    revision: from.number(8),
    liquidity: from.uint(16),
    addedShares: from.uint(16),
    drawnShares: from.uint(16),
    premiumShares: from.uint(16),
    feeBps: from.uint(2),
    drawnRateRay: from.uint(16),
    drawnIndexRay: from.uint(16),
    addedAssets: from.uint(32),
    spoke: {
      drawnShares: from.uint(16),
      premiumShares: from.uint(16),
      premiumThresholdBps: from.uint(3),
      isActive: from.number(1) === 1,
      isHalted: from.number(1) === 1,
    },
  }
}

function readConfiguration(from: LensCursor): Configuration {
  return { collateralFactorBps: from.uint(2), liquidationBonusBps: from.uint(4) }
}

function readAccount(from: LensCursor) {
  return {
    wallet: from.number(4),
    spoke: from.number(1),
    /** Premium by which its debts grow, hundredths of a percent; undefined if the spoke does not return it. */
    riskPremiumBps: readOptional(from, () => from.uint(4)),
    /** Undefined if the spoke cannot value the account. */
    data: from.number(1) === 1 ? readAccountData(from) : undefined,
    holdings: Array.from({ length: from.number(2) }, () => readHolding(from)),
  }
}

function readAccountData(from: LensCursor): AccountData {
  const data = {
    riskPremiumBps: from.uint(32),
    collateralFactorWad: from.uint(32),
    healthFactorWad: from.uint(32),
    collateralValue: from.uint(32),
    debtValueRay: from.uint(32),
  }
  // The numbers of collaterals and debts.
  from.skip(64)
  return data
}

function readHolding(from: LensCursor): RawHolding {
  const reserveId = from.number(2)
  const flags = from.number(1)
  return {
    reserveId,
    isCollateral: (flags & 1) !== 0,
    isBorrowing: (flags & 2) !== 0,
    hasAnswered: (flags & 4) !== 0,
    drawnShares: from.uint(16),
    premiumShares: from.uint(16),
    premiumOffsetRay: BigInt.asIntN(256, from.uint(32)),
    suppliedShares: from.uint(16),
    key: from.number(4),
    own: readConfiguration(from),
    supplied: from.uint(32),
    drawn: from.uint(32),
    premium: from.uint(32),
  }
}
